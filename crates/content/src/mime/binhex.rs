//! BinHex 4.0 (RFC 1741, appendix A). Rule: both forks of a file are children, and a file that ends early is said to.

use super::words::guess;
use crate::decoder::{Entry, Event, More, Step};
use lockgate_model::Reason;

/// What the line before a file begins with; readers look for no more of it.
pub(super) const BEGIN: &[u8] = b"(This file must be converted";
/// What begins and ends a file.
const COLON: u8 = b':';
/// What stands before the number of times that a byte is repeated.
const REPEAT: u8 = 0x90;
/// How much of the header follows the name: a zero, type, creator, flags, the lengths of both forks, a check sum.
const HEADER_REST_BYTES: usize = 1 + 4 + 4 + 2 + 4 + 4 + 2;
const CHECK_SUM_BYTES: u64 = 2;

const INVALID: u8 = 0xff;

/// The value of each character.
const VALUES: [u8; 256] = {
    let alphabet = b"!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";
    let mut values = [INVALID; 256];
    let mut at = 0;
    while at < alphabet.len() {
        values[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    values
};

/// One file, behind the line that announces it.
#[derive(Debug)]
pub(super) struct BinHex {
    characters: Characters,
    place: Place,
    header: Vec<u8>,
    /// How much of the place is still to come.
    left: u64,
    resource_bytes: u64,
    label: String,
    name: Option<String>,
}

/// Where in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the colon.
    Before,
    NameLength,
    Header,
    /// A fork begins next.
    Fork(Fork),
    Content(Fork),
    CheckSum(Fork),
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fork {
    Data,
    Resource,
}

/// The characters as bytes, repetitions undone.
#[derive(Debug, Default)]
struct Characters {
    bits: u32,
    bits_held: u8,
    last: u8,
    /// How many times the last byte is still to be given.
    repeats: u8,
    is_marked: bool,
}

/// Why no more came of the characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// All are used, or there is no more room.
    Dry,
    Colon,
    Foreign,
}

impl BinHex {
    /// For a file that is called so.
    pub(super) fn new(label: String) -> Self {
        Self {
            characters: Characters::default(),
            place: Place::Before,
            header: Vec::new(),
            left: 0,
            resource_bytes: 0,
            label,
            name: None,
        }
    }

    /// Whether what follows is not its own.
    pub(super) fn is_over(&self) -> bool {
        self.place == Place::Over
    }

    /// As [`Decoder::step`](crate::decoder::Decoder::step), until it is over.
    pub(super) fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match self.place {
            Place::Before => self.before(input, more),
            Place::Fork(fork) => {
                self.place = Place::Content(fork);
                let label = match fork {
                    Fork::Data => self.label.clone(),
                    Fork::Resource => format!("{}.resource", self.label),
                };
                Step::new(0, Event::Open(Box::new(Entry { label, name: self.name.clone(), declared: None })))
            }
            Place::Content(fork) if self.left == 0 => {
                (self.place, self.left) = (Place::CheckSum(fork), CHECK_SUM_BYTES);
                Step::new(0, Event::Close)
            }
            Place::CheckSum(fork) if self.left == 0 => {
                self.left = self.resource_bytes;
                self.place = match fork {
                    Fork::Data if self.left > 0 => Place::Fork(Fork::Resource),
                    _ => Place::Over,
                };
                Step::new(0, Event::Working)
            }
            _ => self.read(input, more, scratch),
        }
    }

    /// White space, then the colon.
    fn before(&mut self, input: &[u8], more: More) -> Step {
        let blanks = input.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match input.get(blanks) {
            None if more == More::Follows => return Step::new(blanks, Event::NeedInput),
            Some(&COLON) => {
                (self.place, self.left) = (Place::NameLength, 1);
                return Step::new(blanks + 1, Event::Working);
            }
            // Somebody writes of such files.
            _ => self.place = Place::Over,
        }
        Step::new(blanks, Event::Working)
    }

    /// The next bytes of the place.
    fn read(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(scratch.len());
        let (used, made, stop) = self.characters.fill(input, &mut scratch[..room]);
        self.left -= made as u64;
        if made > 0 {
            let Place::Content(_) = self.place else {
                self.take(&scratch[..made]);
                return Step::new(used, Event::Working);
            };
            return Step::new(used, Event::Output(made));
        }
        let reason = match stop {
            Stop::Dry if used < input.len() => return Step::new(used, Event::Working),
            Stop::Dry if more == More::Follows => return Step::new(used, Event::NeedInput),
            Stop::Dry | Stop::Colon => Reason::Truncated,
            Stop::Foreign => Reason::Damaged,
        };
        let event = match self.place {
            Place::Content(_) => Event::Broken(reason),
            Place::CheckSum(Fork::Resource) => Event::Working,
            Place::CheckSum(Fork::Data) if self.resource_bytes == 0 => Event::Working,
            _ => Event::Incomplete(reason),
        };
        self.place = Place::Over;
        Step::new(used, event)
    }

    /// Bytes of the header, or of a check sum.
    fn take(&mut self, bytes: &[u8]) {
        match self.place {
            Place::NameLength => {
                let length = bytes.first().copied().unwrap_or_default();
                (self.place, self.left) = (Place::Header, u64::from(length) + HEADER_REST_BYTES as u64);
            }
            Place::Header => {
                self.header.extend_from_slice(bytes);
                if self.left == 0 {
                    self.read_header();
                }
            }
            _ => {}
        }
    }

    fn read_header(&mut self) {
        let header = std::mem::take(&mut self.header);
        let (name, rest) = header.split_at(header.len().saturating_sub(HEADER_REST_BYTES));
        let length = |at: usize| {
            rest.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
        };
        self.name = (!name.is_empty()).then(|| guess(name));
        (self.left, self.resource_bytes) = (u64::from(length(11)), u64::from(length(15)));
        self.place = Place::Fork(Fork::Data);
    }
}

impl Characters {
    /// Makes bytes for as long as there is room: how much was used, how much was made, and why it stopped.
    fn fill(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Stop) {
        let (mut used, mut made) = (0, 0);
        while made < output.len() {
            if self.repeats > 0 {
                let times = usize::from(self.repeats).min(output.len() - made);
                output[made..made + times].fill(self.last);
                self.repeats -= times as u8;
                made += times;
                continue;
            }
            if self.bits_held < 8 {
                let Some(character) = input.get(used) else { break };
                let value = VALUES[usize::from(*character)];
                if value == INVALID && !character.is_ascii_whitespace() {
                    // What was made is given first; the character is met again then.
                    let stop = if *character == COLON { Stop::Colon } else { Stop::Foreign };
                    return (used + usize::from(made == 0), made, stop);
                }
                used += 1;
                if value != INVALID {
                    self.bits = self.bits << 6 | u32::from(value);
                    self.bits_held += 6;
                }
                continue;
            }
            self.bits_held -= 8;
            let byte = (self.bits >> self.bits_held) as u8;
            match (std::mem::take(&mut self.is_marked), byte) {
                (false, REPEAT) => self.is_marked = true,
                (true, times @ 1..) => self.repeats = times - 1,
                (is_marked, byte) => {
                    self.last = if is_marked { REPEAT } else { byte };
                    output[made] = self.last;
                    made += 1;
                }
            }
        }
        (used, made, Stop::Dry)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::mime::EmbeddedDecoder;
    use crate::trace::{Said, assert_cut_invariant, trace};

    /// A file with both forks, as the characters between the colons. Check sums are none.
    pub(in crate::mime) fn packed(name: &str, data: &[u8], resource: &[u8]) -> String {
        let alphabet = b"!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";
        let lengths = [data.len() as u32, resource.len() as u32].map(u32::to_be_bytes).concat();
        let plain = [
            &[name.len() as u8],
            name.as_bytes(),
            b"\0TEXTttxt\0\0",
            &lengths,
            b"cc",
            data,
            b"cc",
            resource,
            b"cc",
        ]
        .concat();
        let mut bytes = Vec::new();
        for run in plain.chunk_by(|a, b| a == b) {
            for run in run.chunks(255) {
                match (run[0], run.len()) {
                    (REPEAT, times) => bytes.extend([REPEAT, 0].repeat(times)),
                    (byte, times @ 4..) => bytes.extend([byte, REPEAT, times as u8]),
                    (byte, times) => bytes.extend([byte].repeat(times)),
                }
            }
        }
        let mut text = String::from(":");
        for group in bytes.chunks(3) {
            let mut padded = [0; 4];
            padded[1..=group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes(padded);
            for at in 0..=group.len() {
                text.push(char::from(alphabet[(bits >> (18 - 6 * at)) as usize & 63]));
                if text.len().is_multiple_of(65) {
                    text.push('\n');
                }
            }
        }
        format!("{text}:")
    }

    fn said(text: &str) -> Vec<Said> {
        assert_cut_invariant(&|| Box::new(EmbeddedDecoder::new()), text.as_bytes())
    }

    const ANNOUNCED: &str = "(This file must be converted with BinHex 4.0)\r\n";

    fn entry(label: &str, name: &str) -> Said {
        Said::Open(Entry { label: label.into(), name: Some(name.into()), declared: None })
    }

    #[test]
    fn both_forks() {
        let data = [&b"data"[..], &[REPEAT, REPEAT, 7], &[0; 700], b"end"].concat();
        let text = format!(
            "prose\n{ANNOUNCED}\n {}\nmore\n{ANNOUNCED}{}",
            packed("a.zip", &data, b"rr"),
            packed("b", b"", b"")
        );
        let expected = [
            entry("binhex.1", "a.zip"),
            Said::Bytes(data),
            Said::Close,
            entry("binhex.1.resource", "a.zip"),
            Said::Bytes(b"rr".to_vec()),
            Said::Close,
            entry("binhex.2", "b"),
            Said::Close,
            Said::End,
        ];
        assert_eq!(said(&text), expected);
    }

    #[test]
    fn what_is_cut_or_damaged_is_said() {
        let whole = packed("a.zip", b"some data and more of it", b"resources");
        assert_eq!(said(&format!("{ANNOUNCED}is the line before such a file")), [Said::End]);
        for at in 1..whole.len() {
            let cut = said(&format!("{ANNOUNCED}{}", &whole[..at]));
            let is_told = |said: &Said| matches!(said, Said::Broken(Reason::Truncated) | Said::Incomplete(_));
            assert!(cut.iter().any(is_told) || at + 6 > whole.len(), "cut at {at}");
            let mut bent = whole.clone().into_bytes();
            bent[at] = b'~';
            let bent = trace(&mut EmbeddedDecoder::new(), [ANNOUNCED.as_bytes(), &bent]);
            let is_told = |said: &Said| matches!(said, Said::Broken(Reason::Damaged) | Said::Incomplete(_));
            assert!(bent.iter().any(is_told) || at + 6 > whole.len(), "bent at {at}");
        }
    }
}
