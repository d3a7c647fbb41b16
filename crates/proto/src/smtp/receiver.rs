//! What a client sends, framed: lines, mail content, its end. Rule: only CR LF . CR LF ends a mail.
//!
//! The caller sets what is awaited ([`Receiver::expect_data`] and so on), gives bytes to [`Receiver::step`] until it
//! says [`Frame::NeedInput`], and drops `consumed` bytes each time. All bytes given are used in the end; content comes
//! as slices of them, nothing is copied, only a command line that is cut in two is kept.

pub use crate::dotted::LineEnds;
use crate::dotted::{Dotted, Text};
use crate::line_ends::Refusal;
pub use crate::lines::BadLine;
use crate::lines::{LineBuffer, LineEnd, LineStep};

/// Limits on what a client sends; content has its own limit, `SIZE`, which is the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A command with its CR LF. RFC 5321 section 4.5.3.1.4 asks for 512, and extensions add to it.
    pub command_line_bytes_max: usize,
    /// A line of an AUTH dialogue with its CR LF (RFC 4954 section 4).
    pub auth_line_bytes_max: usize,
    /// A line of mail content with its CR LF. RFC 5321 section 4.5.3.1.6 says 1000; real mail has longer ones, and
    /// content streams whatever the length, so none is set at first.
    pub text_line_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { command_line_bytes_max: 2048, auth_line_bytes_max: 12_288, text_line_bytes_max: u64::MAX }
    }
}

/// What stands at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// All input has been used; nothing is complete.
    NeedInput,
    /// A line, without its CR LF. It holds no CR, LF or NUL.
    Line(Vec<u8>),
    /// A line that must be answered with 500 ([`Session::bad_line`](super::Session::bad_line)).
    BadLine(BadLine),
    /// Bytes of the mail, dot stuffing removed; with the CR LF of the last line, without the dot line.
    Content(&'a [u8]),
    /// The mail (DATA) or the chunk (BDAT) has ended; commands are awaited again.
    EndOfContent,
    /// The mail must be refused: answer 550 at its end. What follows, up to the true end, is swallowed here, so
    /// that nothing of it is taken for a command: no `Content` follows, only `EndOfContent`. A client that ends its
    /// mail with LF . LF never comes to that end: where nothing has come for a few seconds, answer and close.
    Refused(Refusal),
}

/// How much of the input a step used, and what it came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Bytes of the input used.
    pub consumed: usize,
    /// What it came to.
    pub frame: Frame<'a>,
}

/// Frames one client's bytes.
#[derive(Debug)]
pub struct Receiver {
    limits: Limits,
    awaited: Awaited,
    line: LineBuffer,
    noted: Option<Refusal>,
}

#[derive(Debug)]
enum Awaited {
    Command,
    AuthLine,
    Data(Dotted),
    Chunk { bytes_left: u64 },
}

impl Receiver {
    /// Awaits commands.
    pub fn new(limits: Limits) -> Self {
        Self { limits, awaited: Awaited::Command, line: LineBuffer::default(), noted: None }
    }

    /// Commands come next.
    pub fn expect_commands(&mut self) {
        self.awaited = Awaited::Command;
    }

    /// A line of an AUTH dialogue comes next, and more until [`Receiver::expect_commands`].
    pub fn expect_auth_line(&mut self) {
        self.awaited = Awaited::AuthLine;
    }

    /// A mail comes next, ended by a line with a dot (RFC 5321 section 4.1.1.4).
    pub fn expect_data(&mut self, line_ends: LineEnds) {
        self.noted = None;
        self.awaited = Awaited::Data(Dotted::new(line_ends, self.limits.text_line_bytes_max));
    }

    /// So many bytes of a mail come next (RFC 3030 section 2). Their end needs no
    /// further byte: after the last of them, and for none at all, a step without input says `EndOfContent`.
    pub fn expect_chunk(&mut self, bytes: u64) {
        self.awaited = Awaited::Chunk { bytes_left: bytes };
    }

    /// Forgets a line begun, for what stood behind STARTTLS (RFC 3207 section 4.2). The caller drops its own input.
    pub fn discard_pending(&mut self) {
        self.line = LineBuffer::default();
    }

    /// The first thing that passed under [`LineEnds::Pass`] in this mail.
    pub fn noted(&self) -> Option<Refusal> {
        match &self.awaited {
            Awaited::Data(data) => data.noted(),
            _ => self.noted,
        }
    }

    /// What stands at the front of the input.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a> {
        match &mut self.awaited {
            Awaited::Command => self.line(input, self.limits.command_line_bytes_max),
            Awaited::AuthLine => self.line(input, self.limits.auth_line_bytes_max),
            Awaited::Data(data) => {
                let (consumed, text) = data.step(input);
                let frame = match text {
                    Text::NeedInput => Frame::NeedInput,
                    Text::Content(content) => Frame::Content(content),
                    Text::Refused(refusal) => Frame::Refused(refusal),
                    Text::End => {
                        self.noted = data.noted();
                        self.awaited = Awaited::Command;
                        Frame::EndOfContent
                    }
                };
                Step { consumed, frame }
            }
            Awaited::Chunk { bytes_left: 0 } => {
                self.awaited = Awaited::Command;
                Step { consumed: 0, frame: Frame::EndOfContent }
            }
            Awaited::Chunk { .. } if input.is_empty() => Step { consumed: 0, frame: Frame::NeedInput },
            Awaited::Chunk { bytes_left } => {
                let length = usize::try_from(*bytes_left).map_or(input.len(), |left| left.min(input.len()));
                *bytes_left -= length as u64;
                let content = input.get(..length).unwrap_or_default();
                Step { consumed: length, frame: Frame::Content(content) }
            }
        }
    }

    fn line<'a>(&mut self, input: &[u8], bytes_max: usize) -> Step<'a> {
        let (consumed, step) = self.line.step(input, bytes_max, LineEnd::CrLf);
        let frame = match step {
            LineStep::NeedInput => Frame::NeedInput,
            LineStep::Line(line) => Frame::Line(line),
            LineStep::Bad(why) => Frame::BadLine(why),
        };
        Step { consumed, frame }
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
