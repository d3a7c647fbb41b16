//! Macros: the compressed containers and the `dir` stream of MS-OVBA. Rule: the source is given as text, whatever else is wrong.

use super::outbox::Outbox;
use super::parser::Parser;
use crate::decoder::Entry;
use crate::field::{u16_le, u32_le};
use lockgate_model::Reason;

/// What one chunk unpacks to, and its header (section 2.4.1.1.4).
const CHUNK_BYTES: usize = 4096;
const CHUNK_HEADER_BYTES: usize = 2;
/// The byte that a container begins with (section 2.4.1.1.1).
const SIGNATURE: u8 = 1;

/// Unpacks one compressed container.
#[derive(Default)]
pub(super) struct Container {
    has_begun: bool,
    chunk: Vec<u8>,
}

/// How unpacking goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Fine,
    Damaged,
}

impl Container {
    /// Reads on; what a whole chunk unpacks to is given.
    pub(super) fn push(&mut self, mut input: &[u8], give: &mut dyn FnMut(&[u8])) -> Health {
        while let Some((first, rest)) = input.split_first() {
            if !self.has_begun {
                if *first != SIGNATURE {
                    return Health::Damaged;
                }
                self.has_begun = true;
                input = rest;
                continue;
            }
            let needed = self.needed() - self.chunk.len();
            let now = needed.min(input.len());
            self.chunk.extend_from_slice(&input[..now]);
            input = &input[now..];
            if self.chunk.len() == CHUNK_HEADER_BYTES && self.header() >> 12 & 7 != 3 {
                return Health::Damaged;
            }
            if self.chunk.len() == self.needed() && self.unpack(give) == Health::Damaged {
                return Health::Damaged;
            }
        }
        Health::Fine
    }

    /// The container ends here: what is there of the last chunk is given, too.
    pub(super) fn finish(&mut self, give: &mut dyn FnMut(&[u8])) -> Health {
        if !self.has_begun {
            return Health::Damaged;
        }
        if self.chunk.len() > CHUNK_HEADER_BYTES {
            self.unpack(give);
            return Health::Damaged;
        }
        if self.chunk.is_empty() { Health::Fine } else { Health::Damaged }
    }

    fn header(&self) -> u16 {
        u16_le(&self.chunk, 0)
    }

    /// How many bytes the chunk has, with its header.
    fn needed(&self) -> usize {
        match self.chunk.len() {
            0..CHUNK_HEADER_BYTES => CHUNK_HEADER_BYTES,
            _ => usize::from(self.header() & 0x0fff) + 3,
        }
    }

    /// A chunk is there (section 2.4.1.3.2).
    fn unpack(&mut self, give: &mut dyn FnMut(&[u8])) -> Health {
        let header = self.header();
        let chunk = std::mem::take(&mut self.chunk);
        let data = &chunk[CHUNK_HEADER_BYTES..];
        if header >> 15 == 0 {
            give(data);
            return Health::Fine;
        }
        let mut output = Vec::with_capacity(CHUNK_BYTES);
        let health = unpack_tokens(data, &mut output);
        give(&output);
        health
    }
}

/// Flags, each followed by eight tokens: a byte, or a place to copy from (section 2.4.1.3.5).
fn unpack_tokens(mut data: &[u8], output: &mut Vec<u8>) -> Health {
    while let Some((flags, rest)) = data.split_first() {
        data = rest;
        for bit in 0..8 {
            if data.is_empty() {
                break;
            }
            if flags >> bit & 1 == 0 {
                output.push(data[0]);
                data = &data[1..];
            } else {
                if data.len() < 2 {
                    return Health::Damaged;
                }
                let (offset, length) = copy_token(u16_le(data, 0), output.len());
                data = &data[2..];
                let Some(from) = output.len().checked_sub(offset) else { return Health::Damaged };
                let length = length.min(CHUNK_BYTES.saturating_sub(output.len()));
                for at in from..from + length {
                    output.push(output[at]);
                }
            }
            if output.len() > CHUNK_BYTES {
                return Health::Damaged;
            }
        }
    }
    Health::Fine
}

/// How far back and how much (section 2.4.1.3.19): the further the chunk, the more bits for the offset.
fn copy_token(token: u16, position: usize) -> (usize, usize) {
    let bits = position.max(16).next_power_of_two().trailing_zeros().clamp(4, 12);
    let length = (token & (0xffff >> bits)) + 3;
    let offset = (token >> (16 - bits)) + 1;
    (offset.into(), length.into())
}

/// A module's stream, whose source begins at an offset that the `dir` stream tells; else it is looked for.
pub(super) struct Module {
    label: String,
    place: Place,
    container: Container,
}

enum Place {
    Skip(u64),
    /// The last few bytes, where the offset is not known.
    Search(Vec<u8>),
    Source,
    Over,
}

/// What the source of each module begins with, as the first chunk has it: a byte of flags is among the letters.
const BEGIN: &[u8] = b"\0Attribut\0e";
/// The signature and the header of the chunk come before that.
const BEFORE_BYTES: usize = 3;

impl Module {
    /// Of that label; the offset is that of the compressed source.
    pub(super) fn new(label: String, offset: Option<u32>) -> Self {
        let place = offset.map_or(Place::Search(Vec::new()), |offset| Place::Skip(offset.into()));
        Self { label, place, container: Container::default() }
    }

    fn begin(&mut self, out: &mut Outbox) {
        self.place = Place::Source;
        out.open(Entry { label: self.label.clone(), ..Entry::default() });
    }

    fn search(&mut self, input: &[u8], out: &mut Outbox) {
        let Place::Search(held) = &mut self.place else { return };
        held.extend_from_slice(input);
        match memchr::memmem::find(held, BEGIN).filter(|at| *at >= BEFORE_BYTES) {
            Some(at) => {
                let source = held.split_off(at - BEFORE_BYTES);
                self.begin(out);
                self.source(&source, out);
            }
            None => {
                let rest = held.len().saturating_sub(BEGIN.len() + BEFORE_BYTES);
                held.drain(..rest);
            }
        }
    }

    fn source(&mut self, input: &[u8], out: &mut Outbox) {
        if self.container.push(input, &mut |bytes| out.bytes(bytes)) == Health::Damaged {
            self.place = Place::Over;
            out.broken(Reason::Damaged);
        }
    }
}

impl Parser for Module {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        match &mut self.place {
            Place::Skip(left) => {
                let used = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= used as u64;
                if *left == 0 {
                    self.begin(out);
                }
                return used;
            }
            Place::Search(_) => self.search(input, out),
            Place::Source => self.source(input, out),
            Place::Over => {}
        }
        input.len()
    }

    fn finish(&mut self, out: &mut Outbox) {
        match self.place {
            Place::Source if self.container.finish(&mut |bytes| out.bytes(bytes)) == Health::Fine => {
                out.close()
            }
            Place::Source => out.broken(Reason::Truncated),
            Place::Skip(_) => out.incomplete(Reason::Damaged),
            Place::Search(_) | Place::Over => {}
        }
        self.place = Place::Over;
    }

    fn nanos_per_kib(&self) -> u32 {
        3_000
    }
}

/// Where a module's source begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModuleOffset {
    /// The stream's name, in lower case.
    pub(super) stream: String,
    pub(super) offset: u32,
}

/// What an unpacked `dir` stream says of modules (section 2.3.4.2): records of a number, a length, and that many bytes.
pub(super) fn modules(mut dir: &[u8]) -> Vec<ModuleOffset> {
    const VERSION: u16 = 0x0009;
    const STREAM: u16 = 0x001a;
    const STREAM_UNICODE: u16 = 0x0032;
    const OFFSET: u16 = 0x0031;
    let mut modules = Vec::new();
    let mut stream = String::new();
    while dir.len() >= 6 {
        let (id, length) = (u16_le(dir, 0), u32_le(dir, 2) as usize);
        // The length of this one does not count its last two bytes.
        let length = length.saturating_add(if id == VERSION { 2 } else { 0 });
        let Some(data) = dir.get(6..length.saturating_add(6)) else { break };
        match id {
            STREAM => stream = String::from_utf8_lossy(data).to_lowercase(),
            STREAM_UNICODE => {
                let units: Vec<u16> = data.chunks_exact(2).map(|pair| u16_le(pair, 0)).collect();
                stream = String::from_utf16_lossy(&units).to_lowercase();
            }
            OFFSET => {
                modules.push(ModuleOffset { stream: std::mem::take(&mut stream), offset: u32_le(data, 0) })
            }
            _ => {}
        }
        dir = dir.get(6 + length..).unwrap_or_default();
    }
    modules
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::decoder::Decoder;
    use crate::document::parser::ParserDecoder;
    use crate::samples::{children, complains, prose};
    use crate::trace::assert_cut_invariant;

    /// A container that says each byte for itself but for runs.
    pub(in crate::document) fn compress(content: &[u8]) -> Vec<u8> {
        let mut container = vec![SIGNATURE];
        for piece in content.chunks(CHUNK_BYTES / 2) {
            let mut data = Vec::new();
            let mut at = 0;
            while at < piece.len() {
                let flags_at = data.len();
                data.push(0);
                for bit in 0..8 {
                    if at == piece.len() {
                        break;
                    }
                    let run =
                        piece[at..].iter().take_while(|b| at > 0 && **b == piece[at - 1]).count().min(18);
                    if run >= 3 {
                        data[flags_at] |= 1 << bit;
                        // One back: all bits of the offset are 0.
                        data.extend_from_slice(&(run as u16 - 3).to_le_bytes());
                        at += run;
                    } else {
                        data.push(piece[at]);
                        at += 1;
                    }
                }
            }
            container.extend_from_slice(&(0xb000 | (data.len() as u16 - 1)).to_le_bytes());
            container.extend_from_slice(&data);
        }
        container
    }

    fn unpack(container: &[u8]) -> (Vec<u8>, Health) {
        let mut output = Vec::new();
        let mut container_state = Container::default();
        let first = container_state.push(container, &mut |b| output.extend_from_slice(b));
        let last = container_state.finish(&mut |b| output.extend_from_slice(b));
        (output, if first == Health::Fine { last } else { first })
    }

    #[test]
    fn the_manuals_examples() {
        // MS-OVBA, sections 3.2.1 to 3.2.3.
        let none = b"\x01\x19\xb0\x00abcdefgh\x00ijklmnop\x00qrstuv.";
        assert_eq!(unpack(none), (b"abcdefghijklmnopqrstuv.".to_vec(), Health::Fine));
        let normal =
            b"\x01\x2f\xb0\x00#aaabcde\x82f\x00p ag\xb3\x00\x08\x38\x00ijaaklo\x8a\x00\x01\x70\x00,\x71\
            rgst\x00\x02uv";
        assert_eq!(unpack(normal).1, Health::Damaged, "this one is cut short");
        let most = b"\x01\x03\xb0\x02a\x45\x00";
        assert_eq!(unpack(most), (vec![b'a'; 73], Health::Fine));
    }

    #[test]
    fn modules_are_given_as_text() {
        let mut source = b"Attribute VB_Name = \"Module1\"\r\n".to_vec();
        source.extend(prose(1, 9_000));
        source.extend(vec![b'x'; 500]);
        let container = compress(&source);
        assert_eq!(&container[3..14], BEGIN);
        let stream = [&b"performance cache\x01\0Attribut"[..], &container].concat();
        for offset in [None, Some(stream.len() as u32 - container.len() as u32)] {
            let open =
                || Box::new(ParserDecoder::of(Module::new("m".to_owned(), offset))) as Box<dyn Decoder>;
            let said = assert_cut_invariant(&open, &stream);
            assert_eq!(children(&said), [("m".to_owned(), source.clone())]);
            assert!(!complains(&said));
            let said = assert_cut_invariant(&open, &stream[..stream.len() - 5]);
            assert!(complains(&said), "cut off");
        }
        let open =
            || Box::new(ParserDecoder::of(Module::new("m".to_owned(), Some(999_999)))) as Box<dyn Decoder>;
        assert!(complains(&assert_cut_invariant(&open, &stream)), "behind its end");
    }

    #[test]
    fn the_dir_stream_tells_offsets() {
        let mut dir = b"\x01\0\x04\0\0\0\x01\0\0\0\x09\0\x04\0\0\0\x01\0\0\0\x02\0".to_vec();
        dir.extend_from_slice(b"\x1a\0\x02\0\0\0M1\x32\0\x04\0\0\0M\x002\0\x31\0\x04\0\0\0\x05\x01\0\0");
        assert_eq!(modules(&dir), [ModuleOffset { stream: "m2".to_owned(), offset: 0x105 }]);
    }
}
