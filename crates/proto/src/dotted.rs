//! Content that ends with a line of one dot: SMTP's DATA, POP3's multi-line replies. Rule: only CR LF . CR LF ends it.

use crate::line_ends::{At, Refusal, Stop, plain_run};

/// What becomes of content with a bare CR or LF, or with a NUL at the start of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnds {
    /// It is refused: [`Text::Refused`].
    #[default]
    Refuse,
    /// It passes as content and is noted: [`Dotted::noted`]. Safe only where the content leaves counted (BDAT, a
    /// file); [`Stuffing`](crate::smtp::Stuffing) refuses it.
    Pass,
}

/// What stands at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// All input has been used.
    NeedInput,
    /// Content, dot stuffing removed; with the CR LF of the last line, without the dot line.
    Content(&'a [u8]),
    /// The dot line has come.
    End,
    /// The content must be refused; the rest of it, up to its end, is used without a word.
    Refused(Refusal),
}

/// Removes the dot stuffing of one mail (RFC 5321 section 4.5.2, RFC 1939 section 3).
#[derive(Debug)]
pub struct Dotted {
    place: Place,
    line_ends: LineEnds,
    fate: Fate,
    line_bytes: u64,
    line_bytes_max: u64,
    noted: Option<Refusal>,
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

impl Dotted {
    /// At the start of the content. No line may be longer than `line_bytes_max`; `u64::MAX` spares the counting.
    pub fn new(line_ends: LineEnds, line_bytes_max: u64) -> Self {
        Self {
            place: Place::Text(At::LineStart),
            line_ends,
            fate: Fate::Relayed,
            line_bytes: 0,
            line_bytes_max,
            noted: None,
        }
    }

    /// The first thing that passed under [`LineEnds::Pass`].
    pub fn noted(&self) -> Option<Refusal> {
        self.noted
    }

    /// Bytes of the input used, and what they came to. All input is used in the end; content comes as slices of it.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> (usize, Text<'a>) {
        let mut consumed = 0;
        loop {
            let rest = input.get(consumed..).unwrap_or_default();
            let Some(&byte) = rest.first() else { return (consumed, Text::NeedInput) };
            let (used, text) = match self.place {
                Place::AfterDot => self.after_dot(byte),
                Place::AfterDotCr => self.after_dot_cr(byte),
                Place::Text(at) => self.text(at, rest),
            };
            consumed += used;
            match text {
                Some(Text::Content(_)) if self.fate == Fate::Discarded => {}
                Some(Text::Content(content)) if self.has_long_line(content) => {
                    self.fate = Fate::Discarded;
                    return (consumed, Text::Refused(Refusal::LongLine));
                }
                Some(text) => return (consumed, text),
                None => {}
            }
        }
    }

    /// `\r` may be the end; anything else is the content of a line that had its dot stuffed.
    fn after_dot<'a>(&mut self, byte: u8) -> (usize, Option<Text<'a>>) {
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

    fn after_dot_cr<'a>(&mut self, byte: u8) -> (usize, Option<Text<'a>>) {
        if byte == b'\n' {
            return (1, Some(Text::End));
        }
        self.place = Place::Text(At::AfterCr);
        match self.line_ends {
            LineEnds::Refuse => (0, None),
            // The CR had to wait until it was known not to be the end, and its byte is gone.
            LineEnds::Pass => (0, Some(Text::Content(b"\r"))),
        }
    }

    fn text<'a>(&mut self, mut at: At, rest: &'a [u8]) -> (usize, Option<Text<'a>>) {
        let (used, stop) = plain_run(rest, &mut at);
        self.place = Place::Text(at);
        if used > 0 {
            return (used, rest.get(..used).map(Text::Content));
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
            return (0, Some(Text::Refused(refusal)));
        }
        self.noted.get_or_insert(refusal);
        self.place = Place::Text(At::Within);
        (used, (used > 0).then(|| rest.get(..used).map(Text::Content)).flatten())
    }

    fn has_long_line(&mut self, content: &[u8]) -> bool {
        if self.line_bytes_max == u64::MAX {
            return false;
        }
        for line in content.split_inclusive(|b| *b == b'\n') {
            self.line_bytes = self.line_bytes.saturating_add(line.len() as u64);
            if self.line_bytes > self.line_bytes_max {
                return true;
            }
            if line.ends_with(b"\n") {
                self.line_bytes = 0;
            }
        }
        false
    }
}
