//! Compressed RTF (MS-OXRTFCP), as Outlook keeps the text of a mail. Rule: one child, as far as it can be read.

use super::outbox::Outbox;
use super::parser::Parser;
use crate::decoder::Entry;
use crate::field::{Field, u32_le};
use lockgate_model::Reason;

/// What the dictionary begins with (section 2.1.3.1.4).
const BEGIN: &[u8] =
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \
\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \
\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";
const DICTIONARY_BYTES: usize = 4096;
/// Sizes, how it is compressed, a check sum.
const HEADER_BYTES: usize = 16;

/// A text on its way.
pub(super) struct CompressedRtf {
    label: String,
    header: Field,
    place: Place,
    dictionary: Vec<u8>,
    at: usize,
    flags: u8,
    flag_count: u8,
    /// The first byte of a reference.
    reference: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    Compressed,
    Plain,
    Over,
}

impl CompressedRtf {
    /// Awaits the header; the child is called so.
    pub(super) fn new(label: String) -> Self {
        let mut header = Field::default();
        header.begin(HEADER_BYTES as u64, HEADER_BYTES);
        let (at, flags, flag_count) = (BEGIN.len(), 0, 0);
        Self {
            label,
            header,
            place: Place::Header,
            dictionary: Vec::new(),
            at,
            flags,
            flag_count,
            reference: None,
        }
    }

    fn begin(&mut self, out: &mut Outbox) {
        out.open(Entry { label: self.label.clone(), ..Entry::default() });
        self.place = match u32_le(self.header.bytes(), 8) {
            0x7546_5a4c => {
                self.dictionary = vec![0; DICTIONARY_BYTES];
                self.dictionary[..BEGIN.len()].copy_from_slice(BEGIN);
                Place::Compressed
            }
            0x414c_454d => Place::Plain,
            _ => {
                out.broken(Reason::Unsupported);
                Place::Over
            }
        };
    }

    fn byte(&mut self, byte: u8, made: &mut Vec<u8>) {
        self.dictionary[self.at] = byte;
        self.at = (self.at + 1) % DICTIONARY_BYTES;
        made.push(byte);
    }

    fn compressed(&mut self, input: &[u8], out: &mut Outbox) {
        let mut made = Vec::new();
        for byte in input {
            if self.flag_count == 0 {
                (self.flags, self.flag_count) = (*byte, 8);
                continue;
            }
            if self.flags & 1 == 0 {
                self.byte(*byte, &mut made);
            } else if let Some(first) = self.reference.take() {
                let offset = usize::from(first) << 4 | usize::from(byte >> 4);
                if offset == self.at {
                    self.place = Place::Over;
                    break;
                }
                for n in 0..usize::from(byte & 15) + 2 {
                    self.byte(self.dictionary[(offset + n) % DICTIONARY_BYTES], &mut made);
                }
            } else {
                self.reference = Some(*byte);
                continue;
            }
            self.flags >>= 1;
            self.flag_count -= 1;
        }
        out.bytes(&made);
        if self.place == Place::Over {
            out.close();
            self.dictionary = Vec::new();
        }
    }
}

impl Parser for CompressedRtf {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        match self.place {
            Place::Header => {
                let used = self.header.take(input);
                if self.header.is_whole() {
                    self.begin(out);
                }
                return used;
            }
            Place::Compressed => self.compressed(input, out),
            Place::Plain => out.bytes(input),
            Place::Over => {}
        }
        input.len()
    }

    fn finish(&mut self, out: &mut Outbox) {
        match self.place {
            Place::Header | Place::Compressed => out.broken(Reason::Truncated),
            Place::Plain => out.close(),
            Place::Over => {}
        }
        (self.place, self.dictionary) = (Place::Over, Vec::new());
    }

    fn nanos_per_kib(&self) -> u32 {
        5_000
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::decoder::Decoder;
    use crate::document::parser::ParserDecoder;
    use crate::samples::{children, complains};
    use crate::trace::assert_cut_invariant;

    /// Every byte for itself, and the end.
    pub(in crate::document) fn compress(text: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        for group in text.chunks(8) {
            data.push(if group.len() < 8 { 1 << group.len() } else { 0 });
            data.extend_from_slice(group);
        }
        if text.len().is_multiple_of(8) {
            data.push(1);
        }
        let end = (BEGIN.len() + text.len()) % DICTIONARY_BYTES;
        data.extend_from_slice(&[(end >> 4) as u8, (end << 4) as u8]);
        let mut bytes = (data.len() as u32 + 12).to_le_bytes().to_vec();
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(b"LZFu\0\0\0\0");
        [bytes, data].concat()
    }

    fn open() -> Box<dyn Decoder> {
        Box::new(ParserDecoder::of(CompressedRtf::new("rtf".to_owned())))
    }

    #[test]
    fn texts() {
        assert_eq!(BEGIN.len(), 207);
        // The manual's example (section 4.1).
        let example = b"\x2d\0\0\0\x2b\0\0\0LZFu\xf1\xc5\xc7\xa7\x03\0\x0a\0rcpg125\x422\x0a\xf3 hel\x09\0 bw\x05\xb0ld}\x0a\x80\x0f\xa0";
        let said = assert_cut_invariant(&open, example);
        assert_eq!(
            children(&said),
            [("rtf".to_owned(), b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n".to_vec())]
        );
        assert!(!complains(&said));
        assert!(complains(&assert_cut_invariant(&open, &example[..30])));
        for length in [0, 5, 8, 6000] {
            let text = vec![b'x'; length];
            let said = assert_cut_invariant(&open, &compress(&text));
            assert!(children(&said)[0].1 == text && !complains(&said));
        }
        let said = assert_cut_invariant(&open, b"\0\0\0\0\0\0\0\0MELA\0\0\0\0plain");
        assert_eq!(children(&said)[0].1, b"plain");
        assert!(complains(&assert_cut_invariant(&open, b"\0\0\0\0\0\0\0\0????\0\0\0\0plain")));
    }
}
