//! A file that was dragged into a document: the Object Packager's stream. Rule: what is no such stream is given as it is.
//!
//! No manual describes it. It has a type (2 for an embedded file), a caption, the file's first place, two numbers, the
//! place that it is unpacked to, and its content; strings end with a NUL, numbers are little-endian.

use super::outbox::Outbox;
use super::parser::Parser;
use crate::decoder::Entry;
use crate::field::{label, u16_le, u32_le};
use lockgate_model::Reason;

/// The type of an embedded file.
const EMBEDDED: u16 = 2;
/// The longest of its strings.
const STRING_BYTES_MAX: usize = 1040;

/// A packager's stream on its way.
pub(super) struct Package {
    /// How the child is called where the stream gives no name.
    label: String,
    /// The bytes before the content, until they are understood.
    head: Vec<u8>,
    left: u64,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    Content,
    /// It is something else: all of it is the child.
    Raw,
    Behind,
}

/// What the bytes so far are.
enum Head {
    Unfinished,
    Foreign,
    Whole { name: String, length: usize, content: u64 },
}

impl Package {
    /// Awaits the type.
    pub(super) fn new(label: String) -> Self {
        Self { label, head: Vec::new(), left: 0, place: Place::Head }
    }

    /// Whether all of the content has been given; what follows is not used.
    pub(super) fn is_done(&self) -> bool {
        self.place == Place::Behind
    }

    /// Opens the child if the head is whole; how many bytes of it stand behind the content.
    fn begin(&mut self, out: &mut Outbox) -> usize {
        match head(&self.head) {
            Head::Unfinished => 0,
            Head::Foreign => {
                self.give_raw(out);
                0
            }
            Head::Whole { name, length, content } => {
                let name = Some(name).filter(|name| !name.is_empty());
                out.open(Entry { label: self.label.clone(), name, declared: None });
                self.left = content;
                self.place = Place::Content;
                let head = std::mem::take(&mut self.head);
                let rest = head.get(length..).unwrap_or_default();
                rest.len() - self.content(rest, out)
            }
        }
    }

    fn give_raw(&mut self, out: &mut Outbox) {
        self.place = Place::Raw;
        out.open(Entry { label: self.label.clone(), ..Entry::default() });
        out.bytes(&std::mem::take(&mut self.head));
    }

    fn content(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let used = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
        out.bytes(&input[..used]);
        self.left -= used as u64;
        if self.left == 0 {
            out.close();
            self.place = Place::Behind;
        }
        used
    }
}

impl Parser for Package {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        match self.place {
            Place::Head => {
                self.head.extend_from_slice(input);
                input.len() - self.begin(out).min(input.len())
            }
            Place::Content => self.content(input, out),
            Place::Raw => {
                out.bytes(input);
                input.len()
            }
            Place::Behind => 0,
        }
    }

    fn finish(&mut self, out: &mut Outbox) {
        match self.place {
            Place::Head if self.head.is_empty() => {}
            Place::Head => {
                self.give_raw(out);
                out.close();
            }
            Place::Content => out.broken(Reason::Truncated),
            Place::Raw => out.close(),
            Place::Behind => {}
        }
        self.place = Place::Behind;
    }

    fn nanos_per_kib(&self) -> u32 {
        200
    }
}

/// Reads what stands before the content.
fn head(bytes: &[u8]) -> Head {
    if bytes.len() < 2 {
        return Head::Unfinished;
    }
    if u16_le(bytes, 0) != EMBEDDED {
        return Head::Foreign;
    }
    let mut at = 2;
    let mut strings: [&[u8]; 3] = [&[]; 3];
    for (n, string) in strings.iter_mut().enumerate() {
        if n == 2 {
            // Two numbers, and the length of the last string, which may be 0.
            if bytes.len() < at + 8 {
                return Head::Unfinished;
            }
            let length = u32_le(bytes, at + 4) as usize;
            at += 8;
            if length > STRING_BYTES_MAX {
                return Head::Foreign;
            }
            let Some(found) = bytes.get(at..at + length) else { return Head::Unfinished };
            *string = found;
            at += length;
            break;
        }
        let rest = &bytes[at..];
        match memchr::memchr(0, rest) {
            Some(end) if end <= STRING_BYTES_MAX => {
                *string = &rest[..end];
                at += end + 1;
            }
            None if rest.len() <= STRING_BYTES_MAX => return Head::Unfinished,
            _ => return Head::Foreign,
        }
    }
    if bytes.len() < at + 4 {
        return Head::Unfinished;
    }
    // Windows runs what it has unpacked, by the name that it unpacked it to.
    let names = [strings[2], strings[1], strings[0]].map(base_name);
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    Head::Whole { name, length: at + 4, content: u32_le(bytes, at).into() }
}

/// The last part of a path, as far as it is text.
pub(super) fn base_name(path: &[u8]) -> String {
    let path = &path[..memchr::memchr(0, path).unwrap_or(path.len())];
    let name = path.rsplit(|b| matches!(b, b'\\' | b'/')).next().unwrap_or_default();
    label(&String::from_utf8_lossy(name))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::decoder::Decoder;
    use crate::document::parser::ParserDecoder;
    use crate::samples::{children, complains};
    use crate::trace::assert_cut_invariant;

    /// A packager's stream without its size before it.
    pub(in crate::document) fn package(name: &str, content: &[u8]) -> Vec<u8> {
        let place = format!("C:\\Temp\\{name}\0");
        let mut bytes = b"\x02\0".to_vec();
        bytes.extend_from_slice(format!("{name}\0C:\\Here\\{name}\0").as_bytes());
        bytes.extend_from_slice(b"\0\0\x03\0");
        bytes.extend_from_slice(&(place.len() as u32).to_le_bytes());
        bytes.extend_from_slice(place.as_bytes());
        bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        bytes.extend_from_slice(content);
        bytes
    }

    fn open() -> Box<dyn Decoder> {
        Box::new(ParserDecoder::of(Package::new("p".to_owned())))
    }

    #[test]
    fn packages() {
        let bytes = package("a.exe", b"content");
        let said = assert_cut_invariant(&open, &bytes);
        assert_eq!(children(&said), [("p".to_owned(), b"content".to_vec())]);
        assert!(format!("{said:?}").contains("a.exe"));
        for length in 1..bytes.len() {
            let said = assert_cut_invariant(&open, &bytes[..length]);
            let found = children(&said);
            assert!(complains(&said) || found[0].1 == bytes[..length], "cut off at {length}");
        }
        let said = assert_cut_invariant(&open, b"anything else");
        assert_eq!(children(&said), [("p".to_owned(), b"anything else".to_vec())]);
    }
}
