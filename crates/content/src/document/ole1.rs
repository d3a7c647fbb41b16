//! An object as OLE 1.0 stores it (MS-OLEDS, section 2.2.4): what RTF has in hexadecimal. Rule: what is no such object is given as it is.

use super::outbox::Outbox;
use super::package::Package;
use super::parser::Parser;
use crate::decoder::Entry;
use crate::field::u32_le;
use lockgate_model::Reason;

/// The format of an object that is embedded (section 2.2.4).
const EMBEDDED: u32 = 2;
/// The longest class, topic or item.
const STRING_BYTES_MAX: usize = 1024;

/// An object on its way.
pub(super) struct Object {
    label: String,
    head: Vec<u8>,
    left: u64,
    place: Place,
}

enum Place {
    Head,
    /// The file that the Object Packager has wrapped.
    Package(Package),
    /// The native data as it is.
    Native,
    /// What stands behind: the picture that is shown, or anything.
    Behind,
    Raw,
    Over,
}

/// What the bytes so far are.
enum Head {
    Unfinished,
    Foreign,
    Whole { is_package: bool, length: usize, native: u64 },
}

impl Object {
    /// Awaits the header.
    pub(super) fn new(label: String) -> Self {
        Self { label, head: Vec::new(), left: 0, place: Place::Head }
    }

    fn begin(&mut self, out: &mut Outbox) {
        let (is_package, length, native) = match head(&self.head) {
            Head::Unfinished => return,
            Head::Foreign => return self.give_raw(out),
            Head::Whole { is_package, length, native } => (is_package, length, native),
        };
        self.left = native;
        self.place = if is_package {
            Place::Package(Package::new(self.label.clone()))
        } else {
            self.open("", out);
            Place::Native
        };
        let head = std::mem::take(&mut self.head);
        let mut rest = head.get(length..).unwrap_or_default();
        while !rest.is_empty() {
            let used = self.push(rest, out);
            rest = &rest[used..];
        }
    }

    fn open(&self, suffix: &str, out: &mut Outbox) {
        out.open(Entry { label: format!("{}{suffix}", self.label), ..Entry::default() });
    }

    fn give_raw(&mut self, out: &mut Outbox) {
        self.place = Place::Raw;
        self.open("", out);
        out.bytes(&std::mem::take(&mut self.head));
    }

    fn behind(&mut self, input: &[u8], out: &mut Outbox) {
        if !out.is_open() {
            self.open("/rest", out);
        }
        out.bytes(input);
    }
}

impl Parser for Object {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let within = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
        let used = match &mut self.place {
            Place::Head => {
                self.head.extend_from_slice(input);
                self.begin(out);
                return input.len();
            }
            Place::Package(package) => {
                let used = package.push(&input[..within], out);
                if package.is_done() || used as u64 == self.left {
                    package.finish(out);
                    self.place = Place::Behind;
                }
                used
            }
            Place::Native => {
                out.bytes(&input[..within]);
                if within as u64 == self.left {
                    out.close();
                    self.place = Place::Behind;
                }
                within
            }
            Place::Behind => {
                self.behind(input, out);
                input.len()
            }
            Place::Raw => {
                out.bytes(input);
                input.len()
            }
            Place::Over => input.len(),
        };
        self.left = self.left.saturating_sub(used as u64);
        used
    }

    fn finish(&mut self, out: &mut Outbox) {
        match &mut self.place {
            Place::Head if !self.head.is_empty() => self.give_raw(out),
            Place::Package(package) => package.finish(out),
            Place::Native if self.left > 0 => out.broken(Reason::Truncated),
            _ => {}
        }
        out.close();
        self.place = Place::Over;
    }

    fn nanos_per_kib(&self) -> u32 {
        200
    }
}

/// Reads the header: a version that nobody looks at, a format, three strings with their lengths, the native data's length.
fn head(bytes: &[u8]) -> Head {
    if bytes.len() < 8 {
        return Head::Unfinished;
    }
    if u32_le(bytes, 4) != EMBEDDED {
        return Head::Foreign;
    }
    let mut at = 8;
    let mut class: &[u8] = &[];
    for n in 0..3 {
        if bytes.len() < at + 4 {
            return Head::Unfinished;
        }
        let length = u32_le(bytes, at) as usize;
        if length > STRING_BYTES_MAX {
            return Head::Foreign;
        }
        let Some(string) = bytes.get(at + 4..at + 4 + length) else { return Head::Unfinished };
        if n == 0 {
            class = string.strip_suffix(b"\0").unwrap_or(string);
        }
        at += 4 + length;
    }
    if bytes.len() < at + 4 {
        return Head::Unfinished;
    }
    let is_package = class.eq_ignore_ascii_case(b"Package");
    Head::Whole { is_package, length: at + 4, native: u32_le(bytes, at).into() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::decoder::Decoder;
    use crate::document::package::tests::package;
    use crate::document::parser::ParserDecoder;
    use crate::samples::{children, complains};
    use crate::trace::assert_cut_invariant;

    /// An embedded object of that class.
    pub(in crate::document) fn object(class: &str, native: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x01\x05\0\0\x02\0\0\0".to_vec();
        bytes.extend_from_slice(&(class.len() as u32 + 1).to_le_bytes());
        bytes.extend_from_slice(class.as_bytes());
        bytes.extend_from_slice(&[0; 9]);
        bytes.extend_from_slice(&(native.len() as u32).to_le_bytes());
        bytes.extend_from_slice(native);
        bytes
    }

    fn open() -> Box<dyn Decoder> {
        Box::new(ParserDecoder::of(Object::new("o".to_owned())))
    }

    #[test]
    fn native_data_and_packages() {
        let own = |label: &str, bytes: &[u8]| (label.to_owned(), bytes.to_vec());
        let bytes = object("Equation.3", b"native");
        assert_eq!(children(&assert_cut_invariant(&open, &bytes)), [own("o", b"native")]);
        let bytes = [&bytes[..], b"picture"].concat();
        assert_eq!(
            children(&assert_cut_invariant(&open, &bytes)),
            [own("o", b"native"), own("o/rest", b"picture")]
        );
        let bytes = [object("package", &[&package("x", b"file")[..], b"wide names"].concat()), b"p".to_vec()]
            .concat();
        let said = assert_cut_invariant(&open, &bytes);
        assert_eq!(children(&said), [own("o", b"file"), own("o/rest", b"wide namesp")]);
        for other in
            [&b"\x01\x05\0\0\x01\0\0\0link"[..], b"anything", b"\x01\x05\0\0\x02\0\0\0\xff\xff\xff\xff"]
        {
            assert_eq!(children(&assert_cut_invariant(&open, other)), [own("o", other)]);
        }
        let bytes = object("Equation.3", b"native");
        let said = assert_cut_invariant(&open, &bytes[..bytes.len() - 1]);
        assert!(complains(&said));
    }
}
