//! Quoted-printable (RFC 2045 section 6.7). Rule: what is malformed stands for itself, and is noted.

use super::again::{Doubt, Doubts};
use super::limits::BLANKS_BYTES_MAX;
use super::oddity::{Oddities, Oddity};
use super::words::hex;

/// One stream of quoted-printable.
#[derive(Debug, Default)]
pub(super) struct QuotedPrintable {
    /// What cannot be decided before more comes: blanks that may end a line, or the beginning of an escape.
    held: Vec<u8>,
    /// In a row of blanks too long to be held: what is left of it stands for itself.
    in_blanks: bool,
    reading: Reading,
    /// How many bytes were read.
    at: u64,
    /// What other readers may read otherwise.
    pub doubts: Doubts,
    /// What was met.
    pub oddities: Oddities,
}

/// What becomes of escapes that are none, where readers differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reading {
    /// They stand for themselves.
    #[default]
    AsItStands,
    /// Their equals sign is dropped.
    MarksDropped,
    /// They are dropped, with up to two characters behind the sign.
    EscapesDropped,
    /// As `EscapesDropped`, and so are those in lower case (RFC 2045 section 6.7 forbids them).
    UpperCase,
}

/// How much room the output needs for any progress.
pub(super) const ROOM_BYTES_MIN: usize = BLANKS_BYTES_MAX + 4;

/// What becomes of what is held when a byte comes.
enum Fate {
    /// The byte joins it.
    Hold,
    /// The byte joins it, and all of it is this one byte.
    Byte(u8),
    /// It is dropped, and the byte with it: a soft line break.
    Drop,
    /// The blanks in it are dropped: they end a line. What is left stands for itself.
    Trim,
    /// It stands for itself; the byte is looked at anew.
    Keep,
    /// As `Keep`, and so do the blanks that follow.
    Row,
    /// As `Keep`, and it should not be there.
    Malformed,
    /// All that is held is dropped; the byte is looked at anew.
    Forget,
}

impl QuotedPrintable {
    /// To be read in that way.
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    /// Decodes as much as there is room for: how many bytes were used, and how many came out.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        let (mut used, mut made) = (0, 0);
        while used < input.len() && made + ROOM_BYTES_MIN <= output.len() {
            if self.in_blanks {
                let room = output.len() - made;
                let run = input[used..].iter().take(room).take_while(|b| matches!(b, b' ' | b'\t')).count();
                output[made..made + run].copy_from_slice(&input[used..used + run]);
                used += run;
                made += run;
                self.in_blanks = used == input.len() || run == room;
                continue;
            }
            if self.held.is_empty() {
                let run = plain_run(&input[used..], output.len() - made - ROOM_BYTES_MIN + 1);
                output[made..made + run].copy_from_slice(&input[used..used + run]);
                used += run;
                made += run;
                if let Some(byte @ (b'=' | b' ' | b'\t' | b'\r')) = input.get(used) {
                    self.held.push(*byte);
                    used += 1;
                }
                continue;
            }
            let byte = input[used];
            let fate = self.fate(byte);
            let is_anew =
                matches!(fate, Fate::Keep | Fate::Row | Fate::Malformed | Fate::Trim | Fate::Forget);
            made += self.meet(fate, Some(byte), self.at + used as u64, &mut output[made..]);
            used += usize::from(!is_anew);
        }
        self.at += used as u64;
        (used, made)
    }

    /// The end: an escape that is cut off stands for itself, blanks and a soft line break are nothing.
    pub(super) fn finish(&mut self, output: &mut [u8]) -> usize {
        let fate = match self.held.as_slice() {
            [b'=', digit, ..] if !is_blank(*digit) => Fate::Malformed,
            [b'=', ..] => Fate::Drop,
            _ => Fate::Trim,
        };
        self.meet(fate, None, self.at, output)
    }

    fn fate(&self, byte: u8) -> Fate {
        let last = self.held.last().copied().unwrap_or_default();
        let hex = |digit: u8| {
            hex(digit).filter(|_| self.reading != Reading::UpperCase || !digit.is_ascii_lowercase())
        };
        let fate = match (self.held.as_slice(), byte) {
            ([b'='], _) if hex(byte).is_some() => Fate::Hold,
            ([b'=', high], _) if hex(*high).is_some() => match hex(byte) {
                Some(low) => Fate::Byte(hex(*high).unwrap_or_default() << 4 | low),
                None => Fate::Malformed,
            },
            ([b'=', ..], b'\n') => Fate::Drop,
            ([b'=', ..], b' ' | b'\t' | b'\r') if last != b'\r' => self.hold(Fate::Malformed),
            ([b'=', ..], _) => Fate::Malformed,
            (_, b'\n') => Fate::Trim,
            (_, b' ' | b'\t' | b'\r') if last != b'\r' => self.hold(Fate::Row),
            _ => Fate::Keep,
        };
        match fate {
            Fate::Malformed if self.drops_escapes() => match (self.held.len(), byte) {
                (_, b'=' | b'\r' | b'\n') | (3.., _) => Fate::Forget,
                (2, _) => Fate::Drop,
                _ => Fate::Hold,
            },
            fate => fate,
        }
    }

    fn drops_escapes(&self) -> bool {
        matches!(self.reading, Reading::EscapesDropped | Reading::UpperCase)
    }

    fn hold(&self, otherwise: Fate) -> Fate {
        if self.held.len() < BLANKS_BYTES_MAX { Fate::Hold } else { otherwise }
    }

    /// What is held, and the byte behind it, which stands at that place, come to.
    fn meet(&mut self, fate: Fate, byte: Option<u8>, at: u64, output: &mut [u8]) -> usize {
        match fate {
            Fate::Hold => {
                self.held.extend(byte);
                return 0;
            }
            Fate::Byte(value) => {
                let has_lower = self.held.iter().chain(&byte).any(u8::is_ascii_lowercase);
                if has_lower {
                    self.doubts.note(Doubt::LowerCase, at);
                }
                self.held.splice(.., [value]).for_each(drop);
            }
            Fate::Drop | Fate::Forget => self.held.clear(),
            Fate::Trim => self.held.retain(|b| *b == b'\r'),
            Fate::Keep => {}
            Fate::Row => self.in_blanks = true,
            Fate::Malformed => {
                self.oddities.note(Oddity::QuotedMalformed);
                self.doubts.note(Doubt::Malformed, at);
                if self.reading == Reading::MarksDropped {
                    self.held.remove(0);
                }
            }
        }
        let made = self.held.len();
        output[..made].copy_from_slice(&self.held);
        self.held.clear();
        made
    }
}

/// How many bytes stand for themselves whatever follows, at most `bytes_max`.
fn plain_run(input: &[u8], bytes_max: usize) -> usize {
    let input = &input[..input.len().min(bytes_max)];
    let mut end = 0;
    loop {
        let Some(stop) = memchr::memchr2(b'=', b'\n', &input[end..]).map(|at| end + at) else {
            return trimmed(input, end, input.len());
        };
        let clean = trimmed(input, end, stop);
        if input[stop] == b'=' {
            return stop;
        }
        // A line end: what is before it must end in something else than a blank, a CR apart.
        let line = clean + usize::from(clean < stop && input[clean] == b'\r');
        if line != stop {
            return clean;
        }
        end = stop + 1;
    }
}

/// Where `input[start..end]` ends without the blanks, and the CR behind them, at its end.
fn trimmed(input: &[u8], start: usize, end: usize) -> usize {
    let line = &input[start..end];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    start + line.iter().rposition(|b| !matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::super::transfer::Transfer;
    use super::*;

    fn decode(chunks: &[&[u8]]) -> (Vec<u8>, bool) {
        let quoted = Transfer::Quoted(QuotedPrintable::default());
        let (all, oddities) = quoted.decoded(chunks.iter().copied(), ROOM_BYTES_MIN + 7);
        (all, !oddities.is_empty())
    }

    #[test]
    fn escapes_breaks_and_blanks() {
        let long: Vec<u8> = [b"a".repeat(2000), b" ".repeat(2000), b"b".repeat(10)].concat();
        let cases: &[(&[u8], &[u8], bool)] = &[
            (b"", b"", false),
            (b"plain\r\ntext\n", b"plain\r\ntext\n", false),
            (b"a=3Db=c3=A4", b"a=b\xc3\xa4", false),
            (b"soft=\r\nbreak=\nagain= \t\r\n.", b"softbreakagain.", false),
            (b"blanks \t \r\nat the end  \n x  ", b"blanks\r\nat the end\n x", false),
            (b"a b\tc", b"a b\tc", false),
            (b"=XX=4=G1=", b"=XX=4=G1", true),
            (b"==41", b"=A", true),
            (b"=4", b"=4", true),
            (b"= x", b"= x", true),
            (b"a\rb \rc\r\r\n", b"a\rb \rc\r\r\n", false),
            (b"=\rx", b"=\rx", true),
            (&long, &long, false),
        ];
        for (text, bytes, is_bent) in cases {
            let name = text.escape_ascii().to_string();
            assert_eq!(decode(&[text]), (bytes.to_vec(), *is_bent), "{name}");
            let single: Vec<&[u8]> = text.chunks(1).collect();
            assert_eq!(decode(&single), (bytes.to_vec(), *is_bent), "{name}, byte by byte");
            for at in 0..text.len() {
                let (a, b) = text.split_at(at);
                assert_eq!(decode(&[a, b]), (bytes.to_vec(), *is_bent), "{name} at {at}");
            }
        }
    }

    #[test]
    fn readings() {
        let cases: &[(Reading, &str, &str)] = &[
            (Reading::MarksDropped, "=P=K==03==3D=o", "PK\x03=o"),
            (Reading::EscapesDropped, "= =41=\n=  =42=XX=43==44=X=45", "ABCDE"),
            (Reading::EscapesDropped, "a=0ab", "a\nb"),
            (Reading::UpperCase, "=0a=50=\n=0a=4B", "PK"),
        ];
        for (reading, text, bytes) in cases {
            let mut quoted = QuotedPrintable::new(*reading);
            let mut output = [0; ROOM_BYTES_MIN + 100];
            let (_, mut made) = quoted.decode(text.as_bytes(), &mut output);
            made += quoted.finish(&mut output[made..]);
            assert_eq!(
                output[..made].escape_ascii().to_string(),
                bytes.as_bytes().escape_ascii().to_string(),
                "{text}"
            );
        }
    }
}
