//! What a client sends, framed: lines, mail content, its end. Rule: only CR LF . CR LF ends a mail.
//!
//! The caller sets what is awaited ([`Receiver::expect_data`] and so on), gives bytes to [`Receiver::step`] until it
//! says [`Frame::NeedInput`], and drops `consumed` bytes each time. All bytes given are used in the end; content comes
//! as slices of them, nothing is copied, only a command line that is cut in two is kept.

use crate::line_ends::{At, Refusal, Stop, plain_run};

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

/// What becomes of content with a bare CR or LF, or with a NUL at the start of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnds {
    /// It is refused: [`Frame::Refused`].
    #[default]
    Refuse,
    /// It passes as content and is noted: [`Receiver::noted`]. Safe only where the content leaves counted (BDAT, a
    /// file); [`Stuffing`](super::Stuffing) refuses it.
    Pass,
}

/// Why a line is none. The answer is one 500; the next line is read as if nothing had been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLine {
    /// Longer than its limit; all of it has been dropped.
    TooLong,
    /// It ends with LF alone, so that another server might read it as part of the next.
    BareLf,
    /// A CR within.
    BareCr,
    /// A NUL within.
    Nul,
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
    /// that nothing of it is taken for a command: no `Content` follows, only `EndOfContent`. A client that closes its
    /// mail with LF alone never comes to that end; it runs into the caller's time limit or is closed at once.
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
    Data(Data),
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
        self.awaited = Awaited::Data(Data::new(line_ends));
    }

    /// So many bytes of a mail come next (RFC 3030 section 2). None at all gives `EndOfContent` at once.
    pub fn expect_chunk(&mut self, bytes: u64) {
        self.awaited = Awaited::Chunk { bytes_left: bytes };
    }

    /// Forgets a line begun, for what stood behind STARTTLS (RFC 3207 section 4.2). The caller drops its own input.
    pub fn discard_pending(&mut self) {
        self.line = LineBuffer::default();
    }

    /// The first thing that passed under [`LineEnds::Pass`] in this mail.
    pub fn noted(&self) -> Option<Refusal> {
        self.noted
    }

    /// What stands at the front of the input.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a> {
        match &mut self.awaited {
            Awaited::Command => self.line.step(input, self.limits.command_line_bytes_max),
            Awaited::AuthLine => self.line.step(input, self.limits.auth_line_bytes_max),
            Awaited::Data(data) => {
                let step = data.step(input, self.limits.text_line_bytes_max, &mut self.noted);
                if step.frame == Frame::EndOfContent {
                    self.awaited = Awaited::Command;
                }
                step
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
}

/// A line that has begun. Nothing is allocated while lines come whole.
#[derive(Debug, Default)]
struct LineBuffer {
    begun: Vec<u8>,
    fits: Fits,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Fits {
    #[default]
    Yes,
    No,
}

impl LineBuffer {
    fn step<'a>(&mut self, input: &[u8], bytes_max: usize) -> Step<'a> {
        let end = memchr::memchr(b'\n', input).map(|at| at + 1);
        let piece = input.get(..end.unwrap_or(input.len())).unwrap_or_default();
        if self.begun.len() + piece.len() > bytes_max {
            self.begun = Vec::new();
            self.fits = Fits::No;
        }
        if self.fits == Fits::Yes {
            self.begun.extend_from_slice(piece);
        }
        let frame = if end.is_some() { self.complete() } else { Frame::NeedInput };
        Step { consumed: piece.len(), frame }
    }

    fn complete<'a>(&mut self) -> Frame<'a> {
        let mut line = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.fits) == Fits::No {
            return Frame::BadLine(BadLine::TooLong);
        }
        line.pop();
        if line.pop() != Some(b'\r') {
            return Frame::BadLine(BadLine::BareLf);
        }
        match memchr::memchr2(b'\r', 0, &line).and_then(|at| line.get(at)) {
            None => Frame::Line(line),
            Some(b'\r') => Frame::BadLine(BadLine::BareCr),
            Some(_) => Frame::BadLine(BadLine::Nul),
        }
    }
}

/// A mail in DATA.
#[derive(Debug)]
struct Data {
    place: Place,
    line_ends: LineEnds,
    fate: Fate,
    line_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Text(At),
    /// Behind the dot at the start of a line: it is never content.
    AfterDot,
    /// Behind dot and CR: the end, if LF follows.
    AfterDotCr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Relayed,
    Discarded,
}

impl Data {
    fn new(line_ends: LineEnds) -> Self {
        Self { place: Place::Text(At::LineStart), line_ends, fate: Fate::Relayed, line_bytes: 0 }
    }

    fn step<'a>(&mut self, input: &'a [u8], line_max: u64, noted: &mut Option<Refusal>) -> Step<'a> {
        let mut consumed = 0;
        loop {
            let rest = input.get(consumed..).unwrap_or_default();
            let Some(&byte) = rest.first() else { return Step { consumed, frame: Frame::NeedInput } };
            let (used, frame) = match self.place {
                Place::AfterDot => self.after_dot(byte),
                Place::AfterDotCr => self.after_dot_cr(byte),
                Place::Text(at) => self.text(at, rest, noted),
            };
            consumed += used;
            match frame {
                Some(Frame::Content(_)) if self.fate == Fate::Discarded => {}
                Some(Frame::Content(content)) if self.has_long_line(content, line_max) => {
                    self.fate = Fate::Discarded;
                    return Step { consumed, frame: Frame::Refused(Refusal::LongLine) };
                }
                Some(frame) => return Step { consumed, frame },
                None => {}
            }
        }
    }

    /// `\r` may be the end; anything else is the content of a line that had its dot stuffed.
    fn after_dot<'a>(&mut self, byte: u8) -> (usize, Option<Frame<'a>>) {
        match byte {
            b'\r' => {
                self.place = Place::AfterDotCr;
                return (1, None);
            }
            // The line of content begins with this NUL.
            0 => self.place = Place::Text(At::LineStart),
            _ => self.place = Place::Text(At::Within),
        }
        (0, None)
    }

    fn after_dot_cr<'a>(&mut self, byte: u8) -> (usize, Option<Frame<'a>>) {
        if byte == b'\n' {
            return (1, Some(Frame::EndOfContent));
        }
        self.place = Place::Text(At::AfterCr);
        match self.line_ends {
            LineEnds::Refuse => (0, None),
            // The CR had to wait until it was known not to be the end, and its byte is gone.
            LineEnds::Pass => (0, Some(Frame::Content(b"\r"))),
        }
    }

    fn text<'a>(
        &mut self,
        mut at: At,
        rest: &'a [u8],
        noted: &mut Option<Refusal>,
    ) -> (usize, Option<Frame<'a>>) {
        let (used, stop) = plain_run(rest, &mut at);
        self.place = Place::Text(at);
        if used > 0 {
            return (used, rest.get(..used).map(Frame::Content));
        }
        let (refusal, used) = match stop {
            Stop::Input => return (0, None),
            Stop::Dot => {
                self.place = Place::AfterDot;
                return (1, None);
            }
            Stop::BareCr => (Refusal::BareCr, 0),
            Stop::BareLf => (Refusal::BareLf, 1),
            Stop::Nul => (Refusal::NulAtLineStart, 0),
        };
        if self.fate == Fate::Relayed && self.line_ends == LineEnds::Refuse {
            self.fate = Fate::Discarded;
            return (0, Some(Frame::Refused(refusal)));
        }
        noted.get_or_insert(refusal);
        self.place = Place::Text(At::Within);
        (used, (used > 0).then(|| rest.get(..used).map(Frame::Content)).flatten())
    }

    fn has_long_line(&mut self, content: &[u8], line_max: u64) -> bool {
        if line_max == u64::MAX {
            return false;
        }
        for line in content.split_inclusive(|b| *b == b'\n') {
            self.line_bytes = self.line_bytes.saturating_add(line.len() as u64);
            if self.line_bytes > line_max {
                return true;
            }
            if line.ends_with(b"\n") {
                self.line_bytes = 0;
            }
        }
        false
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
