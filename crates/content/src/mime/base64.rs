//! Base64 (RFC 2045 section 6.8) as mail programs read it. Rule: junk is skipped and noted, clean lines never leave SIMD.

use super::again::{Doubt, Doubts};
use super::base64_simd;
use super::oddity::{Oddities, Oddity};

/// What a character stands for that is none of the 64.
pub(super) const INVALID: u8 = 0xff;

/// The value of each character.
pub(super) const VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [INVALID; 256];
    let mut at = 0;
    while at < alphabet.len() {
        values[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    values
}

/// One stream of base64.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Base64 {
    /// The bits of the characters of a quantum that is not yet complete.
    bits: u32,
    /// How many characters those are, 0 to 3.
    characters: u8,
    pad: Pad,
    reading: Reading,
    /// A line has ended within the quantum.
    is_broken: bool,
    /// How many bytes were read.
    at: u64,
    /// What other readers may read otherwise.
    pub doubts: Doubts,
    /// Much of what was last decoded had to go the slow way.
    pub is_slow: bool,
    /// What was met.
    pub oddities: Oddities,
}

/// How the stream is read, where readers differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reading {
    /// As one row of characters, whatever stands between them.
    #[default]
    Joined,
    /// Line by line: what a line has beyond whole quanta is dropped.
    ByLine,
    /// Padding before the end stands for zeros.
    PadsAsZeros,
}

/// Where the stream stands with padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pad {
    /// None yet, or data came after it.
    #[default]
    None,
    /// One has come, and another is due.
    Due,
    /// All that were due have come.
    Complete,
}

/// How much room the output needs for any progress.
pub(super) const ROOM_BYTES_MIN: usize = base64_simd::SLACK_BYTES;

impl Base64 {
    /// To be read in that way.
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    /// Decodes as much as there is room for: how many bytes were used, and how many came out.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        let (mut used, mut made, mut slow) = (0, 0, 0);
        while used < input.len() && made + ROOM_BYTES_MIN <= output.len() {
            if self.characters == 0 {
                let bulk = base64_simd::decode(&input[used..], &mut output[made..]);
                if bulk.made > 0 {
                    if self.pad == Pad::Due {
                        self.doubts.note(Doubt::PadInside, self.at + used as u64);
                    }
                    self.resume();
                }
                used += bulk.used;
                made += bulk.made;
            }
            let Some(character) = input.get(used) else { break };
            if made + ROOM_BYTES_MIN > output.len() {
                break;
            }
            made += self.take(*character, self.at + used as u64, &mut output[made..]);
            used += 1;
            slow += 1;
        }
        self.at += used as u64;
        self.is_slow = slow > used / 8;
        (used, made)
    }

    /// The end: an unfinished quantum gives the whole bytes that are in it.
    pub(super) fn finish(&mut self, output: &mut [u8]) -> usize {
        self.flush(output)
    }

    /// One character on the slow path, and where it stands.
    fn take(&mut self, character: u8, at: u64, output: &mut [u8]) -> usize {
        let value = match character {
            b'=' if self.reading == Reading::PadsAsZeros => 0,
            _ => VALUES[usize::from(character)],
        };
        if value != INVALID {
            if self.is_broken {
                self.oddities.note(Oddity::Base64BrokenLine);
                self.doubts.note(Doubt::BrokenLine, at);
                self.is_broken = false;
            }
            if self.pad == Pad::Due {
                self.doubts.note(Doubt::PadInside, at);
            }
            self.resume();
            self.bits = self.bits << 6 | u32::from(value);
            self.characters += 1;
            return if self.characters == 4 { self.flush(output) } else { 0 };
        }
        match character {
            b'=' => self.take_pad(at, output),
            b'\r' | b'\n' if self.characters > 0 => {
                if self.reading == Reading::ByLine {
                    (self.bits, self.characters) = (0, 0);
                } else {
                    self.is_broken = true;
                }
                0
            }
            // White space of every sort.
            b'\t'..=b'\r' | b' ' => 0,
            _ => {
                self.oddities.note(Oddity::Base64Junk);
                self.doubts.note(Doubt::Junk, at);
                0
            }
        }
    }

    fn take_pad(&mut self, at: u64, output: &mut [u8]) -> usize {
        match (self.characters, self.pad) {
            (2, _) => {
                self.pad = Pad::Due;
                self.flush(output)
            }
            (3, _) => {
                self.pad = Pad::Complete;
                self.flush(output)
            }
            (0, Pad::Due) => {
                self.pad = Pad::Complete;
                0
            }
            // Nothing can end here, so it is junk like any other.
            (characters, pad) => {
                self.oddities.note(Oddity::Base64PadMisplaced);
                if characters > 0 || pad == Pad::None {
                    self.doubts.note(Doubt::PadInside, at);
                }
                0
            }
        }
    }

    /// Data comes: behind padding it is another piece, which some readers read and some do not.
    fn resume(&mut self) {
        if self.pad != Pad::None {
            self.oddities.note(Oddity::Base64AfterPad);
            self.pad = Pad::None;
        }
    }

    /// Gives the bytes of the quantum and starts the next.
    fn flush(&mut self, output: &mut [u8]) -> usize {
        self.is_broken = false;
        let characters = u32::from(std::mem::take(&mut self.characters));
        let bits = std::mem::take(&mut self.bits) << (6 * (4 - characters));
        let bytes = (characters * 6 / 8) as usize;
        output[..bytes].copy_from_slice(&bits.to_be_bytes()[1..=bytes]);
        bytes
    }
}

/// Decodes what is at hand as a whole; for encoded words.
pub(super) fn decode_all(text: &[u8]) -> Vec<u8> {
    let mut output = vec![0; text.len() + ROOM_BYTES_MIN];
    let mut base64 = Base64::default();
    let (_, mut made) = base64.decode(text, &mut output);
    made += base64.finish(&mut output[made..]);
    output.truncate(made);
    output
}

#[cfg(test)]
mod tests {
    use super::super::transfer::Transfer;
    use super::*;

    fn decode(chunks: &[&[u8]]) -> (Vec<u8>, Vec<Oddity>) {
        Transfer::Base64(Base64::default()).decoded(chunks.iter().copied(), 200)
    }

    #[test]
    fn quanta_and_what_bends_them() {
        use Oddity::*;
        let cases: &[(&[u8], &[u8], &[Oddity])] = &[
            (b"", b"", &[]),
            (b"YQ==", b"a", &[]),
            (b"YWI=", b"ab", &[]),
            (b"YWJj", b"abc", &[]),
            (b"YWJj\r\nZGVm\r\n", b"abcdef", &[]),
            (b"Y\nW\nJ\nj", b"abc", &[Base64BrokenLine]),
            (b"YWI\n", b"ab", &[]),
            (b"YWI\n=", b"ab", &[]),
            (b"YWI", b"ab", &[]),
            (b"YQ", b"a", &[]),
            (b"Y", b"", &[]),
            (b"Y.W!J\x80j", b"abc", &[Base64Junk]),
            (b"YQ==YmM=", b"abc", &[Base64AfterPad]),
            (b"YQ=\r\n=\r\n", b"a", &[]),
            (b"YWJj====", b"abc", &[Base64PadMisplaced]),
            (b"Y=WJj", b"abc", &[Base64PadMisplaced]),
            (b"YQ===", b"a", &[Base64PadMisplaced]),
            (b"YWI==", b"ab", &[Base64PadMisplaced]),
        ];
        for (text, bytes, oddities) in cases {
            let name = text.escape_ascii().to_string();
            assert_eq!(decode(&[text]), (bytes.to_vec(), oddities.to_vec()), "{name}");
            for at in 0..text.len() {
                let (a, b) = text.split_at(at);
                assert_eq!(decode(&[a, b]), (bytes.to_vec(), oddities.to_vec()), "{name} at {at}");
            }
        }
    }

    #[test]
    fn readings() {
        let cases: &[(Reading, &[u8], &[u8])] = &[
            (Reading::ByLine, b"YWJjX\nZGVmX\n", b"abcdef"),
            (Reading::ByLine, b"Y\r\n\r\nYWJj\r\nZA==", b"abcd"),
            (Reading::PadsAsZeros, b"QU=BQUE=", b"A@\x01AA\0"),
            (Reading::Joined, b"YWJjX\nZGVm", b"abc\x5d\x91\x95"),
        ];
        for (reading, text, bytes) in cases {
            let mut base64 = Base64::new(*reading);
            let mut output = [0; 200];
            let (used, mut made) = base64.decode(text, &mut output);
            assert_eq!(used, text.len());
            made += base64.finish(&mut output[made..]);
            let expected = bytes.escape_ascii().to_string();
            assert!(
                output[..made].escape_ascii().to_string().starts_with(&expected),
                "{}",
                text.escape_ascii()
            );
        }
    }

    #[test]
    fn every_line_length_and_every_junk_character() {
        let bytes: Vec<u8> = (0..1000_u32).map(|n| (n * 7 + n / 3) as u8).collect();
        let plain = encode(&bytes);
        for length in 1..120 {
            for end in ["\n", "\r\n", " \r\n"] {
                let lines: Vec<&[u8]> = plain.chunks(length).collect();
                let (decoded, oddities) = decode(&[&lines.join(end.as_bytes())]);
                assert_eq!(decoded, bytes, "{length} {end:?}");
                assert_eq!(oddities.is_empty(), length % 4 == 0, "{length} {end:?}");
            }
        }
        for junk in (0..=255).filter(|c| VALUES[usize::from(*c)] == INVALID && *c != b'=') {
            for at in [0, 1, 31, 32, 33, 63, 64, 500] {
                let mut text = plain.clone();
                text.insert(at, junk);
                assert_eq!(decode(&[&text]).0, bytes, "{junk} at {at}");
            }
        }
    }

    fn encode(bytes: &[u8]) -> Vec<u8> {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = Vec::new();
        for group in bytes.chunks(3) {
            let mut padded = [0; 4];
            padded[1..=group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes(padded);
            for at in 0..=group.len() {
                text.push(alphabet[(bits >> (18 - 6 * at)) as usize & 63]);
            }
        }
        text
    }
}
