//! Quoted-printable (RFC 2045 section 6.7). Rule: what is malformed stands for itself, and is noted.

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
    /// What was met.
    pub oddities: Oddities,
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
}

impl QuotedPrintable {
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
            let fate = self.fate(input[used]);
            used += usize::from(!matches!(fate, Fate::Keep | Fate::Row | Fate::Malformed | Fate::Trim));
            made += self.meet(fate, input.get(used.wrapping_sub(1)).copied(), &mut output[made..]);
        }
        (used, made)
    }

    /// The end: an escape that is cut off stands for itself, blanks and a soft line break are nothing.
    pub(super) fn finish(&mut self, output: &mut [u8]) -> usize {
        let fate = match self.held.as_slice() {
            [b'=', digit, ..] if !is_blank(*digit) => Fate::Malformed,
            [b'=', ..] => Fate::Drop,
            _ => Fate::Trim,
        };
        self.meet(fate, None, output)
    }

    fn fate(&self, byte: u8) -> Fate {
        let last = self.held.last().copied().unwrap_or_default();
        match (self.held.as_slice(), byte) {
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
        }
    }

    fn hold(&self, otherwise: Fate) -> Fate {
        if self.held.len() < BLANKS_BYTES_MAX { Fate::Hold } else { otherwise }
    }

    fn meet(&mut self, fate: Fate, byte: Option<u8>, output: &mut [u8]) -> usize {
        match fate {
            Fate::Hold => {
                self.held.extend(byte);
                return 0;
            }
            Fate::Byte(byte) => self.held.splice(.., [byte]).for_each(drop),
            Fate::Drop => self.held.clear(),
            Fate::Trim => self.held.retain(|b| *b == b'\r'),
            Fate::Keep => {}
            Fate::Row => self.in_blanks = true,
            Fate::Malformed => self.oddities.note(Oddity::QuotedMalformed),
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
    use super::*;

    fn decode(chunks: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut quoted = QuotedPrintable::default();
        let mut all = Vec::new();
        let mut output = [0; ROOM_BYTES_MIN + 7];
        for chunk in chunks {
            let mut rest = *chunk;
            while !rest.is_empty() {
                let (used, made) = quoted.decode(rest, &mut output);
                all.extend_from_slice(&output[..made]);
                rest = &rest[used..];
            }
        }
        let made = quoted.finish(&mut output);
        all.extend_from_slice(&output[..made]);
        (all, quoted.oddities.next().is_some())
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
}
