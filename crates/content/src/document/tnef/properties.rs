//! The MAPI properties within TNEF (MS-OXTNEF, section 2.1.3.4). Rule: only attachments, their names and bodies are given; the rest is passed over.

use super::super::lzfu::CompressedRtf;
use super::super::outbox::Outbox;
use super::super::parser::Parser;
use crate::decoder::Entry;
use crate::field::{Field, label, u16_le, u32_le};
use lockgate_model::Reason;

/// Property numbers (MS-OXPROPS).
mod id {
    pub(super) const BODY: u16 = 0x1000;
    pub(super) const RTF: u16 = 0x1009;
    pub(super) const HTML: u16 = 0x1013;
    pub(super) const DATA: u16 = 0x3701;
    pub(super) const FILE_NAME: u16 = 0x3704;
    pub(super) const LONG_FILE_NAME: u16 = 0x3707;
}
/// A type with more than one value has this bit.
const MANY: u16 = 0x1000;
const OBJECT: u16 = 0x000d;
/// Before an object's data: what it is.
const INTERFACE_BYTES: u64 = 16;
/// A file name that is longer is cut.
const NAME_BYTES_MAX: usize = 1024;

/// One list of properties on its way.
pub(super) struct Properties {
    label: String,
    expect: Expect,
    field: Field,
    left: u32,
    kind: u16,
    id: u16,
    values: u32,
    /// Bytes of the value, and of what fills it up to four.
    value: u64,
    padding: u64,
    use_as: Use,
    rtf: Option<CompressedRtf>,
    /// The attachment's name.
    pub(super) name: Option<String>,
    /// The name that its data was given with, if it was given.
    pub(super) given: Option<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Count,
    Tag,
    Guid,
    NameLength,
    Values,
    Length,
    Interface,
    Value,
    Skip(After),
    Nothing,
}

/// What comes behind what is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The name of a named property.
    Name,
    /// The value, or what fills it up.
    Value,
}

/// What is done with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Nothing,
    Child,
    Name,
    Rtf,
}

impl Properties {
    /// Awaits their number; children are called so.
    pub(super) fn new(label: String, name: Option<String>) -> Self {
        let mut properties = Self {
            label,
            expect: Expect::Count,
            field: Field::default(),
            left: 0,
            kind: 0,
            id: 0,
            values: 0,
            value: 0,
            padding: 0,
            use_as: Use::Nothing,
            rtf: None,
            name,
            given: None,
        };
        properties.field.begin(4, 4);
        properties
    }

    fn await_field(&mut self, expect: Expect, length: u64) {
        self.expect = expect;
        self.field.begin(length, NAME_BYTES_MAX);
    }

    fn await_tag(&mut self) {
        if self.left == 0 {
            self.expect = Expect::Nothing;
        } else {
            self.left -= 1;
            self.await_field(Expect::Tag, 4);
        }
    }

    /// A field is whole.
    fn field(&mut self, out: &mut Outbox) {
        let number = u32_le(self.field.bytes(), 0);
        match self.expect {
            Expect::Count => {
                self.left = number;
                self.await_tag();
            }
            Expect::Tag => {
                (self.kind, self.id) = (number as u16, (number >> 16) as u16);
                if self.id >= 0x8000 {
                    self.await_field(Expect::Guid, 20);
                } else {
                    self.begin_values();
                }
            }
            Expect::Guid if u32_le(self.field.bytes(), 16) == 1 => self.await_field(Expect::NameLength, 4),
            Expect::Guid => self.await_field(Expect::Skip(After::Name), 4),
            Expect::NameLength => self.await_field(Expect::Skip(After::Name), filled_up(number.into())),
            Expect::Skip(After::Name) => self.begin_values(),
            Expect::Skip(After::Value) => self.next_value(),
            Expect::Values => {
                self.values = number;
                self.next_value();
            }
            Expect::Length => {
                self.value = number.into();
                self.padding = filled_up(self.value) - self.value;
                let has_interface = self.kind & !MANY == OBJECT && self.value >= INTERFACE_BYTES;
                if has_interface {
                    self.value -= INTERFACE_BYTES;
                    self.await_field(Expect::Interface, INTERFACE_BYTES);
                } else {
                    self.begin_value(out);
                }
            }
            Expect::Interface => self.begin_value(out),
            Expect::Value | Expect::Nothing => {}
        }
    }

    /// Values of fixed size are not needed (MS-OXCDATA, section 2.11.1); others begin with how many there are.
    fn begin_values(&mut self) {
        let size = match self.kind & !MANY {
            0x0002 | 0x0003 | 0x0004 | 0x000a | 0x000b => 4,
            0x0005 | 0x0006 | 0x0007 | 0x0014 | 0x0040 => 8,
            0x0048 => 16,
            0x001e | 0x001f | 0x0102 | OBJECT => return self.await_field(Expect::Values, 4),
            _ => 0,
        };
        if self.kind & MANY != 0 && size > 0 {
            return self.await_field(Expect::Values, 4);
        }
        self.values = 0;
        self.await_field(Expect::Skip(After::Value), size);
    }

    fn next_value(&mut self) {
        if self.values == 0 {
            return self.await_tag();
        }
        let size = match self.kind & !MANY {
            0x0002 | 0x0003 | 0x0004 | 0x000a | 0x000b => 4,
            0x0005 | 0x0006 | 0x0007 | 0x0014 | 0x0040 => 8,
            0x0048 => 16,
            _ => 0,
        };
        if size > 0 {
            let all = size * u64::from(self.values);
            self.values = 0;
            return self.await_field(Expect::Skip(After::Value), all);
        }
        self.values -= 1;
        self.await_field(Expect::Length, 4);
    }

    fn begin_value(&mut self, out: &mut Outbox) {
        let (name, declared) = (self.name.clone(), None);
        let entry = |label: &str, name| Entry { label: label.to_owned(), name, declared };
        self.use_as = match self.id {
            id::DATA => {
                self.given = Some(self.name.clone());
                out.open(entry(&self.label, name));
                Use::Child
            }
            id::BODY | id::HTML => {
                out.open(entry(if self.id == id::BODY { "body" } else { "body.html" }, None));
                Use::Child
            }
            id::RTF => {
                self.rtf = Some(CompressedRtf::new("body.rtf".to_owned()));
                Use::Rtf
            }
            id::LONG_FILE_NAME => Use::Name,
            id::FILE_NAME if self.name.is_none() => Use::Name,
            _ => Use::Nothing,
        };
        self.await_field(Expect::Value, self.value);
    }

    fn value(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let used = self.field.take(input);
        match (self.use_as, &mut self.rtf) {
            (Use::Child, _) => out.bytes(&input[..used]),
            (Use::Rtf, Some(rtf)) => {
                let mut rest = &input[..used];
                while !rest.is_empty() {
                    let used = rtf.push(rest, out);
                    rest = &rest[used..];
                }
            }
            _ => {}
        }
        if self.field.is_whole() {
            self.end_value(out);
        }
        used
    }

    fn end_value(&mut self, out: &mut Outbox) {
        if let Some(mut rtf) = self.rtf.take() {
            rtf.finish(out);
        }
        out.close();
        if self.use_as == Use::Name {
            let name = name(self.field.bytes(), self.kind & !MANY == 0x001f);
            self.name = Some(name).filter(|name| !name.is_empty()).or(self.name.take());
        }
        self.await_field(Expect::Skip(After::Value), self.padding);
    }
}

impl Parser for Properties {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let mut used = 0;
        while used < input.len() && self.expect != Expect::Nothing {
            used += match self.expect {
                Expect::Value => self.value(&input[used..], out),
                _ => {
                    let taken = self.field.take(&input[used..]);
                    if self.field.is_whole() {
                        self.field(out);
                    }
                    taken
                }
            };
        }
        input.len()
    }

    fn finish(&mut self, out: &mut Outbox) {
        // What is to be skipped may be nothing, and is whole without input.
        while self.field.is_whole() && matches!(self.expect, Expect::Skip(_)) {
            self.field(out);
        }
        if self.field.is_whole() && self.expect == Expect::Value {
            self.end_value(out);
        } else if self.expect != Expect::Nothing
            && !(self.expect == Expect::Skip(After::Value) && self.left == 0)
        {
            if let Some(mut rtf) = self.rtf.take() {
                rtf.finish(out);
            }
            out.broken(Reason::Truncated);
        }
        self.expect = Expect::Nothing;
    }

    fn nanos_per_kib(&self) -> u32 {
        self.rtf.as_ref().map_or(500, Parser::nanos_per_kib)
    }
}

/// Up to the next multiple of four.
fn filled_up(length: u64) -> u64 {
    length.next_multiple_of(4)
}

/// A file name, in UTF-16 or in bytes.
fn name(bytes: &[u8], is_wide: bool) -> String {
    if is_wide {
        let units: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16_le(pair, 0)).take_while(|unit| *unit != 0).collect();
        return label(&String::from_utf16_lossy(&units));
    }
    super::super::package::base_name(bytes)
}
