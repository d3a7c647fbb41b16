//! What a POP3 server sends, framed. Rule: only CR LF . CR LF ends a multi-line reply.
//!
//! A mail kept with bare LFs may hold LF . LF within, and a server that knows better does not stuff it; were it taken
//! for the end, the rest of that mail would be read as replies. So content with bare LFs passes, and a server that
//! ends its replies with LF . LF is not understood: the caller's time limit ends the connection. Towards the client
//! [`Stuffing`](super::Stuffing) makes each line end a CR LF, so that the client sees the end where we do.

use crate::dotted::{Dotted, LineEnds, Text};
use crate::lines::{BadLine, LineBuffer, LineEnd, LineStep};

/// Longest status line taken; RFC 2449 section 4 has 512.
pub const STATUS_LINE_BYTES_MAX: usize = 4096;

/// What a status line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `+OK`.
    Ok,
    /// `-ERR`.
    Err,
    /// `+ `: a challenge within AUTH (RFC 5034 section 4).
    Continue,
}

/// The first line of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    /// What it says.
    pub status: Status,
    /// The whole line as it came, without its line end.
    pub line: Vec<u8>,
}

impl StatusLine {
    fn parse(line: Vec<u8>) -> Result<Self, Malformed> {
        let word = line.split(|b| *b == b' ').next().unwrap_or_default();
        let status = match word {
            b"+" => Status::Continue,
            word if word.eq_ignore_ascii_case(b"+OK") => Status::Ok,
            word if word.eq_ignore_ascii_case(b"-ERR") => Status::Err,
            _ => return Err(Malformed::NoStatus),
        };
        if line.iter().any(|b| b.is_ascii_control() && *b != b'\t') {
            return Err(Malformed::Character);
        }
        Ok(Self { status, line })
    }
}

/// Why a server's reply cannot be read. The connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A line that begins with neither `+OK` nor `-ERR`.
    NoStatus,
    /// A control character in a status line.
    Character,
    /// A status line that is too long or has a CR or NUL within.
    Line(BadLine),
}

/// What stands at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// All input has been used; nothing is complete.
    NeedInput,
    /// A status line.
    Status(StatusLine),
    /// Bytes of a multi-line reply, dot stuffing removed; with the CR LF of the last line, without the dot line.
    Content(&'a [u8]),
    /// The multi-line reply has ended; status lines are awaited again.
    EndOfContent,
    /// The reply cannot be read; close.
    Malformed(Malformed),
}

/// How much of the input a step used, and what it came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Bytes of the input used.
    pub consumed: usize,
    /// What it came to.
    pub frame: Frame<'a>,
}

/// Frames one server's bytes. It awaits a status line; the caller says when a multi-line reply follows.
#[derive(Debug, Default)]
pub struct Receiver {
    line: LineBuffer,
    content: Option<Dotted>,
}

impl Receiver {
    /// Awaits the greeting.
    pub fn new() -> Self {
        Self::default()
    }

    /// Behind the status line just given, a multi-line reply comes ([`Follows`](super::Follows)).
    pub fn expect_content(&mut self) {
        self.content = Some(Dotted::new(LineEnds::Pass, u64::MAX));
    }

    /// Whether a reply has begun and not ended.
    pub fn is_within(&self) -> bool {
        self.content.is_some() || self.line.has_begun()
    }

    /// What stands at the front of the input.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a> {
        let Some(content) = &mut self.content else {
            let (consumed, step) = self.line.step(input, STATUS_LINE_BYTES_MAX, LineEnd::LfToo);
            let frame = match step {
                LineStep::NeedInput => Frame::NeedInput,
                LineStep::Bad(why) => Frame::Malformed(Malformed::Line(why)),
                LineStep::Line(line) => StatusLine::parse(line).map_or_else(Frame::Malformed, Frame::Status),
            };
            return Step { consumed, frame };
        };
        let (consumed, text) = content.step(input);
        let frame = match text {
            Text::Content(bytes) => Frame::Content(bytes),
            Text::End => {
                self.content = None;
                Frame::EndOfContent
            }
            // Nothing is refused where bare line ends pass and no line is too long.
            Text::NeedInput | Text::Refused(_) => Frame::NeedInput,
        };
        Step { consumed, frame }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Event {
        Status(Status, Vec<u8>),
        Content(Vec<u8>),
        End,
        Malformed(Malformed),
    }

    /// `+OK` followed by `more` has content behind it.
    fn seen(pieces: &[&[u8]]) -> Vec<Event> {
        let mut receiver = Receiver::new();
        let mut events = Vec::new();
        for piece in pieces {
            let mut rest = *piece;
            loop {
                let Step { consumed, frame } = receiver.step(rest);
                rest = &rest[consumed..];
                match frame {
                    Frame::NeedInput => break,
                    Frame::Status(StatusLine { status, line }) => {
                        if line.ends_with(b"more") {
                            receiver.expect_content();
                        }
                        events.push(Event::Status(status, line));
                    }
                    Frame::Content(bytes) => match events.last_mut() {
                        Some(Event::Content(before)) => before.extend_from_slice(bytes),
                        _ => events.push(Event::Content(bytes.to_vec())),
                    },
                    Frame::EndOfContent => events.push(Event::End),
                    Frame::Malformed(why) => {
                        events.push(Event::Malformed(why));
                        return events;
                    }
                }
            }
            assert!(rest.is_empty());
        }
        events
    }

    fn at_every_cut(input: &[u8]) -> Vec<Event> {
        let whole = seen(&[input]);
        for cut in 0..=input.len() {
            let (a, b) = input.split_at(cut);
            assert_eq!(seen(&[a, b]), whole, "cut at {cut}");
        }
        assert_eq!(seen(&input.chunks(1).collect::<Vec<_>>()), whole);
        whole
    }

    #[test]
    fn replies_are_framed() {
        let input = b"+OK hi <1.2@x>\r\n-ERR no\n+ Y2hh\r\n+OK more\r\na\r\n..\r\n.b\nc\n.\nd\r\n.\r\n+ok more\r\n.\r\n+OK\r\n";
        let expected = [
            Event::Status(Status::Ok, b"+OK hi <1.2@x>".to_vec()),
            Event::Status(Status::Err, b"-ERR no".to_vec()),
            Event::Status(Status::Continue, b"+ Y2hh".to_vec()),
            Event::Status(Status::Ok, b"+OK more".to_vec()),
            Event::Content(b"a\r\n.\r\nb\nc\n.\nd\r\n".to_vec()),
            Event::End,
            Event::Status(Status::Ok, b"+ok more".to_vec()),
            Event::End,
            Event::Status(Status::Ok, b"+OK".to_vec()),
        ];
        assert_eq!(at_every_cut(input), expected);
    }

    #[test]
    fn only_crlf_dot_crlf_ends_content() {
        for ending in
            ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r", "\r\n\0.\r\n", "\r\n.\0\r\n", "\r\n.\r\r\n"]
        {
            let input = [b"+OK more\r\na", ending.as_bytes(), b"+OK false\r\n.\r\n+OK\r\n"].concat();
            let events = at_every_cut(&input);
            assert_eq!(events.len(), 4, "{ending:?}");
            assert_eq!(events.last(), Some(&Event::Status(Status::Ok, b"+OK".to_vec())));
        }
    }

    #[test]
    fn what_is_no_reply_is_named() {
        let long = [b"+OK ".as_slice(), &[b'x'; 5000], b"\r\n"].concat();
        let cases: &[(&[u8], Malformed)] = &[
            (b"hello\r\n", Malformed::NoStatus),
            (b"\r\n", Malformed::NoStatus),
            (b"+OKAY\r\n", Malformed::NoStatus),
            (b"+OK a\x1bb\r\n", Malformed::Character),
            (b"+OK a\rb\r\n", Malformed::Line(BadLine::BareCr)),
            (b"+OK a\0b\r\n", Malformed::Line(BadLine::Nul)),
            (&long, Malformed::Line(BadLine::TooLong)),
        ];
        for (input, expected) in cases {
            assert_eq!(at_every_cut(input), [Event::Malformed(*expected)]);
        }
    }
}
