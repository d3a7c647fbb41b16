//! yEnc (<http://www.yenc.org/yenc-draft.1.3.txt>). Rule: what stands between its control lines is data, whatever it looks like.

use super::limits::BEGIN_LINE_BYTES_MAX;
use super::oddity::{Oddities, Oddity};
use super::transfer::{copy, gather_line};

/// What a line begins with that announces data.
pub(super) const BEGIN: &[u8] = b"=ybegin ";
/// How far bytes are shifted, and how much further those behind an escape.
const SHIFT: u8 = 42;
const ESCAPED_SHIFT: u8 = 64;

/// Data behind the line that announces it, up to the one that ends it.
#[derive(Debug, Default)]
pub(super) struct Yenc {
    at: At,
    /// A control line, as far as it has come, without its mark.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    LineStart,
    Line,
    /// Behind an equals sign; one at the beginning of a line may begin a control line.
    Mark {
        is_first: bool,
    },
    Control,
}

/// How a piece of it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub used: usize,
    pub made: usize,
    /// The line that ends it was used.
    pub is_ended: bool,
}

impl Yenc {
    /// Decodes as much as there is room for.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let (mut used, mut made) = (0, 0);
        while let (Some(byte), true) = (input.get(used).copied(), made < output.len()) {
            match self.at {
                At::LineStart | At::Line => {
                    let room = (input.len() - used).min(output.len() - made);
                    let near = &input[used..used + room];
                    let run = memchr::memchr3(b'=', b'\r', b'\n', near).unwrap_or(near.len());
                    for (to, from) in output[made..made + run].iter_mut().zip(near) {
                        *to = from.wrapping_sub(SHIFT);
                    }
                    (used, made) = (used + run, made + run);
                    let is_first = self.at == At::LineStart && run == 0;
                    match near.get(run) {
                        None => self.at = At::Line,
                        Some(b'=') => self.at = At::Mark { is_first },
                        Some(_) => self.at = At::LineStart,
                    }
                    used += usize::from(run < near.len());
                }
                At::Mark { is_first: true } if byte == b'y' => {
                    (self.at, used) = (At::Control, used + 1);
                }
                At::Mark { .. } => {
                    output[made] = byte.wrapping_sub(SHIFT).wrapping_sub(ESCAPED_SHIFT);
                    (self.at, used, made) = (At::Line, used + 1, made + 1);
                }
                At::Control => {
                    let rest = &input[used..];
                    let line_end = memchr::memchr(b'\n', rest);
                    let room = BEGIN_LINE_BYTES_MAX.saturating_sub(self.control.len());
                    let near = line_end.unwrap_or(rest.len());
                    self.control.extend_from_slice(&rest[..near.min(room)]);
                    used += line_end.map_or(rest.len(), |at| at + 1);
                    if line_end.is_some() {
                        self.at = At::LineStart;
                        let control = std::mem::take(&mut self.control);
                        if control.starts_with(b"end") {
                            return Run { used, made, is_ended: true };
                        }
                    }
                }
            }
        }
        Run { used, made, is_ended: false }
    }

    /// The input has ended: whether that was in the line that ends the data.
    pub(super) fn finish(&self) -> bool {
        self.at == At::Control && self.control.starts_with(b"end")
    }
}

/// What a line that announces data says; `None` where it is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Announced {
    pub name: Vec<u8>,
    /// It is one of several pieces.
    pub is_piece: bool,
}

impl Announced {
    /// Reads the line: `=ybegin line=128 size=123456 name=a.bin`.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let rest = line.strip_prefix(BEGIN)?;
        let at = memchr::memmem::find(rest, b"name=").unwrap_or(rest.len());
        let (parameters, name) = rest.split_at(at);
        let says = |key: &[u8]| memchr::memmem::find(parameters, key).is_some();
        let name = name.get(b"name=".len()..).unwrap_or_default().trim_ascii();
        (says(b"line=") || says(b"size=")).then(|| Self { name: name.to_vec(), is_piece: says(b"part=") })
    }
}

/// One body that says that it is yEnc.
#[derive(Debug, Default)]
pub(super) struct Body {
    place: Place,
    line: Vec<u8>,
    yenc: Yenc,
    /// What was met.
    pub oddities: Oddities,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// No line yet that is not blank.
    #[default]
    Before,
    Data,
    /// It is none, or no more.
    Plain,
}

/// How much room the output needs for any progress.
pub(super) const ROOM_BYTES_MIN: usize = BEGIN_LINE_BYTES_MAX + 1;

impl Body {
    /// Decodes as much as there is room for: how many bytes were used, and how many came out.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        let (mut used, mut made) = (0, 0);
        while used < input.len() && made + ROOM_BYTES_MIN <= output.len() {
            let rest = &input[used..];
            match self.place {
                Place::Plain => {
                    let length = copy(rest, &mut output[made..]);
                    return (used + length, made + length);
                }
                Place::Data => {
                    let run = self.yenc.decode(rest, &mut output[made..]);
                    (used, made) = (used + run.used, made + run.made);
                    if run.is_ended {
                        (self.place, self.yenc) = (Place::Before, Yenc::default());
                    }
                }
                Place::Before => {
                    let (taken, is_whole) = gather_line(&mut self.line, rest, BEGIN_LINE_BYTES_MAX);
                    used += taken;
                    if is_whole {
                        made += self.take_line(&mut output[made..]);
                    }
                }
            }
        }
        (used, made)
    }

    /// The end: what is left is the last line.
    pub(super) fn finish(&mut self, output: &mut [u8]) -> usize {
        if self.place == Place::Before { self.take_line(output) } else { 0 }
    }

    fn take_line(&mut self, output: &mut [u8]) -> usize {
        let line = std::mem::take(&mut self.line);
        if line.trim_ascii().is_empty() {
            return 0;
        }
        if Announced::read(line.trim_ascii_end()).is_some() {
            self.place = Place::Data;
            return 0;
        }
        self.oddities.note(Oddity::YencNot);
        self.place = Place::Plain;
        output[..line.len()].copy_from_slice(&line);
        line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::transfer::Transfer;
    use super::*;

    fn decode(text: &[u8], chunk_bytes: usize) -> (Vec<u8>, Option<Oddity>) {
        let body = Transfer::Yenc(Body::default());
        let (all, oddities) = body.decoded(text.chunks(chunk_bytes), ROOM_BYTES_MIN);
        (all, oddities.first().copied())
    }

    #[test]
    fn bodies() {
        let cases: &[(&[u8], &[u8], Option<Oddity>)] = &[
            (b"", b"", None),
            (b"\r\n=ybegin line=128 size=3 name=x\r\n\x8b\x8c\x8d\r\n=yend size=3\r\n", b"abc", None),
            (b"=ybegin line=9 size=3 name=x\n\x8b\n\x8c=\x6a\n=yend size=3", b"ab\0", None),
            (b"=ybegin part=1 line=9 size=3 name=x\n=ypart begin=1 end=1\n\x8b\n=yend\n", b"a", None),
            (
                b"=ybegin line=9 size=1 name=x\n\x8b=y\n=yend\n\n=ybegin line=9 size=1 name=y\n\x8c",
                b"a\x0fb",
                None,
            ),
            (b"=ybegin line=9 size=1 name=x\n\x8b\n=yend\nmore\n\x8b", b"amore\n\x8b", Some(Oddity::YencNot)),
            (b"=ybegins\nx", b"=ybegins\nx", Some(Oddity::YencNot)),
            (b"plain", b"plain", Some(Oddity::YencNot)),
        ];
        for (text, bytes, oddity) in cases {
            for chunk_bytes in [1, 2, 3, 7, 8192] {
                let (found, said) = decode(text, chunk_bytes);
                assert_eq!(
                    (found.escape_ascii().to_string(), said),
                    (bytes.escape_ascii().to_string(), *oddity),
                    "{} by {chunk_bytes}",
                    text.escape_ascii()
                );
            }
        }
    }
}
