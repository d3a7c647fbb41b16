//! Lines of uuencoded data, and bodies that are nothing else. Rule: a body that only claims to be uuencoded is read as it is.

use super::limits::BEGIN_LINE_BYTES_MAX;
use super::oddity::{Oddities, Oddity};
use super::transfer::{copy, gather_line};

/// What a line of data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// So many bytes.
    Data(usize),
    /// The line that ends it.
    End,
    /// None that could be there.
    Foreign,
}

/// Whether data could begin with that line, its end taken off.
pub(super) fn is_line(line: &[u8]) -> bool {
    let Some((length, data)) = line.split_first() else { return false };
    let is_data = encoded_length(*length).is_some_and(|due| data.len() <= due + 3 && data.len() * 2 >= due);
    line == b"end" || is_data && data.iter().all(|b| matches!(b, b' '..=b'`'))
}

/// Decodes a line, its end taken off; the output has room for 64 bytes. A space and a grave accent both stand for 0.
/// Blanks that were stripped from the end of a line are made up for.
pub(super) fn decode_line(line: &[u8], output: &mut [u8]) -> Line {
    if line == b"end" {
        return Line::End;
    }
    let Some((length, data)) = line.split_first() else { return Line::Data(0) };
    let Some(due) = encoded_length(*length) else { return Line::Foreign };
    let data = &data[..data.len().min(due)];
    let mut made = 0;
    for at in (0..due).step_by(4) {
        let bits =
            (at..at + 4).fold(0, |bits, at| bits << 6 | u32::from(data.get(at).map_or(0, |b| value(*b))));
        output[made..made + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
        made += 3;
    }
    Line::Data(usize::from(value(*length)))
}

/// How many characters follow a length, and so how long a line is.
fn encoded_length(length: u8) -> Option<usize> {
    matches!(length, b' '..=b'`').then(|| usize::from(value(length)).div_ceil(3) * 4)
}

fn value(character: u8) -> u8 {
    character.wrapping_sub(b' ') & 0x3f
}

/// One body that says that it is uuencoded. Some mailers leave out the lines that begin and end the data.
#[derive(Debug, Default)]
pub(super) struct Uuencoded {
    line: Vec<u8>,
    place: Place,
    /// What was met.
    pub oddities: Oddities,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// No line yet that is not blank.
    #[default]
    Before,
    Data,
    After,
    /// It is not uuencoded at all.
    Plain,
}

/// How much room the output needs for any progress.
pub(super) const ROOM_BYTES_MIN: usize = BEGIN_LINE_BYTES_MAX + 1;

impl Uuencoded {
    /// Decodes as much as there is room for: how many bytes were used, and how many came out.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        let (mut used, mut made) = (0, 0);
        while used < input.len() && made + ROOM_BYTES_MIN <= output.len() {
            let rest = &input[used..];
            if self.place == Place::Plain {
                let length = copy(rest, &mut output[made..]);
                return (used + length, made + length);
            }
            let (taken, is_whole) = gather_line(&mut self.line, rest, BEGIN_LINE_BYTES_MAX);
            used += taken;
            if is_whole {
                made += self.take_line(&mut output[made..]);
            }
        }
        (used, made)
    }

    /// The end: what is left is the last line.
    pub(super) fn finish(&mut self, output: &mut [u8]) -> usize {
        self.take_line(output)
    }

    fn take_line(&mut self, output: &mut [u8]) -> usize {
        let held = std::mem::take(&mut self.line);
        let line = held.trim_ascii_end();
        let is_begin = line.starts_with(b"begin ");
        let mut made = 0;
        match self.place {
            Place::Before if line.is_empty() => {}
            Place::Before if is_begin => self.place = Place::Data,
            Place::Before | Place::Plain if !is_line(line) => {
                self.oddities.note(Oddity::UuencodedNot);
                self.place = Place::Plain;
                made = held.len();
                output[..made].copy_from_slice(&held);
            }
            Place::After => {
                if !line.is_empty() {
                    self.oddities.note(Oddity::UuencodedForeign);
                }
            }
            _ => {
                self.place = Place::Data;
                match decode_line(line, output) {
                    Line::Data(length) => made = length,
                    Line::End => self.place = Place::After,
                    Line::Foreign => self.oddities.note(Oddity::UuencodedForeign),
                }
            }
        }
        self.line = held;
        self.line.clear();
        made
    }
}

#[cfg(test)]
mod tests {
    use super::super::transfer::Transfer;
    use super::*;

    fn decode(text: &[u8], chunk_bytes: usize) -> (Vec<u8>, Option<Oddity>) {
        let body = Transfer::Uuencoded(Uuencoded::default());
        let (all, oddities) = body.decoded(text.chunks(chunk_bytes), ROOM_BYTES_MIN);
        (all, oddities.first().copied())
    }

    #[test]
    fn bodies() {
        let long = "x".repeat(5000);
        let cases: &[(&str, &str, Option<Oddity>)] = &[
            ("", "", None),
            ("\r\n#86)C\r\n#86)C\r\n", "abcabc", None),
            ("begin 644 x\n#86)C\n`\nend\n\n", "abc", None),
            ("begin 644 x\n#86)C\nend\nmore\n", "abc", Some(Oddity::UuencodedForeign)),
            ("#86)C\nprose\n#86)C", "abcabc", Some(Oddity::UuencodedForeign)),
            ("plain text\r\n#86)C\n", "plain text\r\n#86)C\n", Some(Oddity::UuencodedNot)),
            ("plain", "plain", Some(Oddity::UuencodedNot)),
            (&long, &long, Some(Oddity::UuencodedNot)),
        ];
        for (text, bytes, oddity) in cases {
            for chunk_bytes in [1, 2, 3, 7, 8192] {
                let (found, said) = decode(text.as_bytes(), chunk_bytes);
                assert_eq!(
                    (found.escape_ascii().to_string(), said),
                    (bytes.as_bytes().escape_ascii().to_string(), *oddity),
                    "{text}"
                );
            }
        }
    }
}
