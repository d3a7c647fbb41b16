//! OneNote (MS-ONESTORE): the files that a section holds. Rule: each is known by the GUID before it, wherever it stands.

use super::outbox::Outbox;
use super::parser::{Parser, ParserDecoder};
use crate::decoder::{Decoder, Entry};
use crate::field::{Field, u64_le};
use lockgate_model::Reason;
use memchr::memmem;

/// What a file begins with: `{BDE316E7-2665-4511-A4C4-8D4D0B7A9EAC}` (section 2.6.13).
const GUID: [u8; 16] =
    [0xe7, 0x16, 0xe3, 0xbd, 0x65, 0x26, 0x11, 0x45, 0xa4, 0xc4, 0x8d, 0x4d, 0x0b, 0x7a, 0x9e, 0xac];
/// The length, and what is not used.
const HEADER_BYTES: usize = 20;

/// A section on its way.
struct OneNote {
    place: Place,
    /// The end of what came, which may begin a GUID.
    held: Vec<u8>,
    header: Field,
    left: u64,
    files: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Search,
    Header,
    File,
}

/// A decoder of OneNote's sections.
pub fn decoder() -> impl Decoder {
    ParserDecoder::of(OneNote {
        place: Place::Search,
        held: Vec::new(),
        header: Field::default(),
        left: 0,
        files: 0,
    })
}

impl OneNote {
    fn search(&mut self, input: &[u8]) -> usize {
        let before = self.held.len();
        let mut data = std::mem::take(&mut self.held);
        data.extend_from_slice(input);
        if let Some(at) = memmem::find(&data, &GUID) {
            self.place = Place::Header;
            self.header.begin(HEADER_BYTES as u64, HEADER_BYTES);
            return at + GUID.len() - before;
        }
        self.held = data.split_off(data.len().saturating_sub(GUID.len() - 1));
        input.len()
    }

    fn begin(&mut self, out: &mut Outbox) {
        self.left = u64_le(self.header.bytes(), 0);
        self.files += 1;
        out.open(Entry { label: format!("file.{}", self.files), ..Entry::default() });
        self.place = Place::File;
        self.end_if_whole(out);
    }

    fn end_if_whole(&mut self, out: &mut Outbox) {
        if self.left == 0 {
            out.close();
            self.place = Place::Search;
        }
    }
}

impl Parser for OneNote {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        match self.place {
            Place::Search => self.search(input),
            Place::Header => {
                let used = self.header.take(input);
                if self.header.is_whole() {
                    self.begin(out);
                }
                used
            }
            Place::File => {
                let used = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
                out.bytes(&input[..used]);
                self.left -= used as u64;
                self.end_if_whole(out);
                used
            }
        }
    }

    fn finish(&mut self, out: &mut Outbox) {
        if self.place != Place::Search {
            out.broken(Reason::Truncated);
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        200
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{children, complains, noise};
    use crate::trace::{Said, assert_cut_invariant, trace};

    fn open() -> Box<dyn Decoder> {
        Box::new(decoder())
    }

    #[test]
    fn files_come_out() {
        let file = |content: &[u8]| {
            [&GUID[..], &(content.len() as u64).to_le_bytes(), &[0; 12], content, b"\0\0footer"].concat()
        };
        let bytes =
            [noise(1, 5000), file(b"one"), GUID[..7].to_vec(), file(b""), file(&noise(2, 9000))].concat();
        let said = assert_cut_invariant(&open, &bytes);
        let found = children(&said);
        let expected = [&b"one"[..], b"", &noise(2, 9000)];
        assert!(found.iter().map(|c| &c.1[..]).eq(expected) && found[2].0 == "file.3");
        assert!(!complains(&said));
        assert!(complains(&trace(&mut *open(), [&bytes[..bytes.len() - 100]])));
        assert_eq!(assert_cut_invariant(&open, &noise(3, 3000)), [Said::End]);
    }
}
