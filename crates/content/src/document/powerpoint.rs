//! The objects in a PowerPoint stream (MS-PPT, section 2.10.34). Rule: records are walked as they come; only objects are opened.

use super::outbox::Outbox;
use super::parser::Parser;
use crate::codec::Outcome;
use crate::codec::inflate::{Inflater, NANOS_PER_KIB, Wrapping};
use crate::decoder::Entry;
use crate::field::{Field, u16_le, u32_le};
use lockgate_model::Reason;

/// A record's header (section 2.3.1): version and instance, type, length.
const HEADER_BYTES: usize = 8;
/// The version of a record that holds records.
const CONTAINER: u16 = 0x0f;
/// An object's storage, or a project of macros or control: an OLE2 file, compressed if its instance is 1.
const OBJECT: u16 = 0x1011;
/// How much is inflated at once.
const ROOM_BYTES: usize = 4 << 10;

/// A stream on its way.
pub(super) struct PowerPoint {
    label: String,
    header: Field,
    left: u64,
    children: u32,
    place: Place,
    inflater: Inflater,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    Skip,
    Stored,
    /// The length that it inflates to comes first.
    Length,
    Deflated,
}

impl PowerPoint {
    /// Awaits the first record of the stream of that path.
    pub(super) fn new(label: String) -> Self {
        let mut header = Field::default();
        header.begin(HEADER_BYTES as u64, HEADER_BYTES);
        let inflater = Inflater::new(Wrapping::Zlib);
        Self { label, header, left: 0, children: 0, place: Place::Header, inflater }
    }

    fn await_header(&mut self) {
        self.place = Place::Header;
        self.header.begin(HEADER_BYTES as u64, HEADER_BYTES);
    }

    fn record(&mut self, out: &mut Outbox) {
        let bytes = self.header.bytes();
        let (version, kind, length) = (u16_le(bytes, 0), u16_le(bytes, 2), u32_le(bytes, 4));
        if version & 0x0f == CONTAINER {
            return self.await_header();
        }
        self.left = length.into();
        self.place = match (kind, version >> 4) {
            (OBJECT, 1) if length >= 4 => Place::Length,
            (OBJECT, _) => Place::Stored,
            _ => Place::Skip,
        };
        if self.place == Place::Length {
            self.header.begin(4, 4);
        }
        if self.place != Place::Skip {
            self.children += 1;
            out.open(Entry { label: format!("{}/object.{}", self.label, self.children), ..Entry::default() });
        }
        if self.left == 0 {
            out.close();
            self.await_header();
        }
    }

    fn deflated(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let now = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
        let mut room = [0; ROOM_BYTES];
        let run = self.inflater.run(&input[..now], &mut room);
        out.bytes(&room[..run.made]);
        self.left -= run.used as u64;
        match run.outcome {
            Outcome::Failed(reason) => {
                out.broken(reason);
                self.skip_rest();
            }
            Outcome::Ended => {
                out.close();
                self.skip_rest();
            }
            Outcome::Going if self.left == 0 && !self.inflater.owes() => {
                out.broken(Reason::Truncated);
                self.skip_rest();
            }
            Outcome::Going => {}
        }
        run.used
    }

    fn skip_rest(&mut self) {
        self.inflater.clear();
        self.place = Place::Skip;
        if self.left == 0 {
            self.await_header();
        }
    }
}

impl Parser for PowerPoint {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        match self.place {
            Place::Header => {
                let used = self.header.take(input);
                if self.header.is_whole() {
                    self.record(out);
                }
                used
            }
            Place::Length => {
                let used = self.header.take(input);
                self.left -= used as u64;
                if self.header.is_whole() {
                    self.inflater.reset();
                    self.place = Place::Deflated;
                }
                used
            }
            Place::Deflated => self.deflated(input, out),
            Place::Skip | Place::Stored => {
                let used = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
                if self.place == Place::Stored {
                    out.bytes(&input[..used]);
                }
                self.left -= used as u64;
                if self.left == 0 {
                    out.close();
                    self.await_header();
                }
                used
            }
        }
    }

    fn finish(&mut self, out: &mut Outbox) {
        if out.is_open() {
            out.broken(Reason::Truncated);
        }
        self.inflater.clear();
    }

    fn owes(&self) -> bool {
        self.place == Place::Deflated && self.inflater.owes()
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::Decoder;
    use crate::document::parser::ParserDecoder;
    use crate::samples::{children, complains, prose, zlib};
    use crate::trace::assert_cut_invariant;

    fn record(version: u16, kind: u16, data: &[u8]) -> Vec<u8> {
        let mut bytes = version.to_le_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    #[test]
    fn objects_are_found() {
        let long = prose(1, 20_000);
        let packed = [&(long.len() as u32).to_le_bytes()[..], &zlib(&long)].concat();
        let atoms =
            [record(0, 4000, b"text"), record(0, OBJECT, b"plain"), record(0x10, OBJECT, &packed)].concat();
        let stream = [record(0x0f, 1000, &atoms), record(0, 1, b"")].concat();
        let open = || Box::new(ParserDecoder::of(PowerPoint::new("p".to_owned()))) as Box<dyn Decoder>;
        let said = assert_cut_invariant(&open, &stream);
        let expected = [("p/object.1".to_owned(), b"plain".to_vec()), ("p/object.2".to_owned(), long)];
        assert_eq!(children(&said), expected);
        assert!(!complains(&said));
        assert!(complains(&assert_cut_invariant(&open, &stream[..stream.len() - 100])));
    }
}
