//! TNEF (MS-OXTNEF), as `winmail.dat`: attachments and bodies are children. Rule: an attachment's name is told even where it comes late.

mod properties;

use super::outbox::Outbox;
use super::package::base_name;
use super::parser::{Parser, ParserDecoder};
use crate::decoder::{Decoder, Entry};
use crate::field::{Field, u16_le, u32_le};
use lockgate_model::Reason;
use properties::Properties;

/// The signature and a key.
const BEGIN_BYTES: usize = 6;
/// The level, the attribute, its length.
const HEAD_BYTES: usize = 9;
/// A file name that is longer is cut.
const NAME_BYTES_MAX: usize = 1024;

/// Attributes (section 2.1.3.3); what type they are does not matter.
mod id {
    pub(super) const ATTACHMENT_BEGIN: u16 = 0x9002;
    pub(super) const MESSAGE_PROPERTIES: u16 = 0x9003;
    pub(super) const ATTACHMENT_PROPERTIES: u16 = 0x9005;
    pub(super) const BODY: u16 = 0x800c;
    pub(super) const DATA: u16 = 0x800f;
    pub(super) const TITLE: u16 = 0x8010;
}

/// A file on its way.
struct Tnef {
    expect: Expect,
    field: Field,
    sum: u16,
    attachments: u32,
    name: Option<String>,
    /// The name that the attachment's data was given with, if it was given.
    given: Option<Option<String>>,
    properties: Option<Box<Properties>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Begin,
    Head,
    /// The content of an attribute.
    Content(u16),
    Sum,
    /// It is no TNEF any more.
    Nothing,
}

/// A decoder of TNEF.
pub fn decoder() -> impl Decoder {
    let mut field = Field::default();
    field.begin(BEGIN_BYTES as u64, BEGIN_BYTES);
    ParserDecoder::of(Tnef {
        expect: Expect::Begin,
        field,
        sum: 0,
        attachments: 0,
        name: None,
        given: None,
        properties: None,
    })
}

impl Tnef {
    fn await_field(&mut self, expect: Expect, length: u64) {
        self.expect = expect;
        self.field.begin(length, NAME_BYTES_MAX);
    }

    fn label(&self) -> String {
        format!("attachment.{}", self.attachments)
    }

    /// A field is whole, or an attribute's content.
    fn field(&mut self, out: &mut Outbox) {
        match self.expect {
            Expect::Begin => self.await_field(Expect::Head, HEAD_BYTES as u64),
            Expect::Head => self.head(out),
            Expect::Content(attribute) => {
                self.end_content(attribute, out);
                self.await_field(Expect::Sum, 2);
            }
            Expect::Sum => {
                if u16_le(self.field.bytes(), 0) != self.sum {
                    out.incomplete(Reason::Damaged);
                }
                self.await_field(Expect::Head, HEAD_BYTES as u64);
            }
            Expect::Nothing => {}
        }
    }

    fn head(&mut self, out: &mut Outbox) {
        let bytes = self.field.bytes();
        let (level, attribute, length) =
            (bytes.first().copied().unwrap_or(0), u16_le(bytes, 1), u32_le(bytes, 5));
        if !matches!(level, 1 | 2) {
            out.incomplete(Reason::Damaged);
            self.expect = Expect::Nothing;
            return;
        }
        self.sum = 0;
        match attribute {
            id::ATTACHMENT_BEGIN => {
                self.tell_late_name(out);
                self.attachments += 1;
                (self.name, self.given) = (None, None);
            }
            id::DATA => {
                self.given = Some(self.name.clone());
                out.open(Entry { label: self.label(), name: self.name.clone(), declared: None });
            }
            id::BODY => out.open(Entry { label: "body".to_owned(), ..Entry::default() }),
            id::MESSAGE_PROPERTIES | id::ATTACHMENT_PROPERTIES => {
                self.properties = Some(Box::new(Properties::new(self.label(), self.name.clone())));
            }
            _ => {}
        }
        self.await_field(Expect::Content(attribute), length.into());
    }

    fn content(&mut self, attribute: u16, input: &[u8], out: &mut Outbox) -> usize {
        let used = self.field.take(input);
        let bytes = &input[..used];
        self.sum = bytes.iter().fold(self.sum, |sum, byte| sum.wrapping_add((*byte).into()));
        match (attribute, &mut self.properties) {
            (id::DATA | id::BODY, _) => out.bytes(bytes),
            (_, Some(properties)) => {
                properties.push(bytes, out);
            }
            _ => {}
        }
        if self.field.is_whole() {
            self.field(out);
        }
        used
    }

    fn end_content(&mut self, attribute: u16, out: &mut Outbox) {
        if let Some(mut properties) = self.properties.take() {
            properties.finish(out);
            if attribute == id::ATTACHMENT_PROPERTIES {
                self.given = self.given.take().or(properties.given);
                self.name = properties.name.or(self.name.take());
            }
        }
        if attribute == id::TITLE {
            let name = base_name(self.field.bytes());
            self.name = Some(name).filter(|name| !name.is_empty());
        }
        out.close();
    }

    /// The data has been given by another name than it has: the name follows, so that it can be judged.
    fn tell_late_name(&mut self, out: &mut Outbox) {
        if let Some(given) = self.given.take()
            && self.name.is_some()
            && given != self.name
        {
            out.open(Entry { label: self.label(), name: self.name.take(), declared: None });
            out.close();
        }
    }
}

impl Parser for Tnef {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        match self.expect {
            Expect::Nothing => input.len(),
            Expect::Content(attribute) => self.content(attribute, input, out),
            _ => {
                let used = self.field.take(input);
                if self.field.is_whole() {
                    self.field(out);
                }
                used
            }
        }
    }

    fn finish(&mut self, out: &mut Outbox) {
        if let Expect::Content(attribute) = self.expect {
            if !self.field.is_whole() {
                if let Some(properties) = &mut self.properties {
                    properties.finish(out);
                }
                out.broken(Reason::Truncated);
                self.properties = None;
            }
            self.end_content(attribute, out);
        } else if matches!(self.expect, Expect::Begin | Expect::Sum)
            || self.expect == Expect::Head && !self.field.bytes().iter().all(u8::is_ascii_whitespace)
        {
            out.incomplete(Reason::Truncated);
        }
        self.tell_late_name(out);
    }

    fn nanos_per_kib(&self) -> u32 {
        self.properties.as_ref().map_or(800, |properties| properties.nanos_per_kib())
    }
}

#[cfg(test)]
mod tests;
