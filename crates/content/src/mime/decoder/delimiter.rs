//! Which lines divide a body. Rule: each byte is weighed once, and the same whatever chunk it came in.
//!
//! [`MimeDecoder::scan`] decides all that it can from what is at hand. What it cannot decide is held, byte by byte, by
//! [`MimeDecoder::weigh`], until it is a delimiter line or content.

use super::{MimeDecoder, Place};
use crate::decoder::{Event, More, Step};
use crate::mime::boundary::{Delimiter, Kind, Prefix, Rest};
use crate::mime::limits::DELIMITER_LINE_BYTES_MAX;
use crate::mime::oddity::Oddity;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What every delimiter line begins with, and no line of base64.
static HYPHENS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"--"));

/// How the fields begin that parts have; others are not for them (RFC 2045 section 3).
const PART_FIELD: &[u8] = b"content-";

impl MimeDecoder {
    /// Finds how much of the input is clear of delimiters.
    pub(super) fn scan(&mut self, input: &[u8]) {
        if self.stack.is_empty() {
            self.clear = input.len();
            return;
        }
        if self.body_start && input.first() == Some(&b'-') {
            self.is_candidate = true;
            return;
        }
        self.body_start = false;
        self.clear = self.clear_bytes(input);
        self.is_candidate = self.clear == 0;
    }

    /// How many bytes there are before what may be a delimiter line, with the line end before it. Some readers end a
    /// line at a bare CR, too; so it does here.
    fn clear_bytes(&self, input: &[u8]) -> usize {
        let mut from = 0;
        while let Some(at) = HYPHENS.find(&input[from..]).map(|at| from + at) {
            let line_end = match input[..at] {
                [.., b'\r', b'\n'] => 2,
                [.., b'\n' | b'\r'] => 1,
                _ => 0,
            };
            if line_end > 0 && !self.is_plain(&input[at..]) {
                return at - line_end;
            }
            // In a row of hyphens only the first two can begin a line.
            from = at + input[at..].iter().take_while(|b| **b == b'-').count();
        }
        input.len() - undecided(input)
    }

    /// Whether it is clear from what is at hand that a line which begins so is no delimiter: most are decided here.
    pub(super) fn is_plain(&self, rest: &[u8]) -> bool {
        let Some(line) = rest.strip_prefix(b"--") else { return rest.len() > 1 };
        let line = &line[..line.len().min(DELIMITER_LINE_BYTES_MAX)];
        match self.stack.prefix([line, &[]]) {
            Prefix::Part(length) if length < line.len() => {}
            _ => return false,
        }
        if !self.seeks() {
            return true;
        }
        let next = memchr::memchr(b'\n', line).and_then(|line_end| line.get(line_end + 1));
        next.is_some_and(|byte| !byte.eq_ignore_ascii_case(&PART_FIELD[0]))
    }

    /// Weighs what may be a delimiter line.
    pub(super) fn weigh(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        let mut used = 0;
        while let Some(wanted) = self.wanted() {
            match input.get(used) {
                Some(byte) if wanted.contains(byte) => {
                    self.held.push(*byte);
                    used += 1;
                }
                None if more == More::Follows => return Step::new(used, Event::NeedInput),
                _ => return self.reject(used),
            }
        }
        if self.line_end().is_some() {
            return self.look_ahead(input, used, more, scratch);
        }
        let rest = &input[used..];
        let room = DELIMITER_LINE_BYTES_MAX.saturating_sub(self.held.len());
        let near = &rest[..rest.len().min(room)];
        let line_end = memchr::memchr(b'\n', near);
        let run = &near[..line_end.unwrap_or(near.len())];
        // More of the line may come, and there is room for it.
        let is_open =
            line_end.is_none() && run.len() == rest.len() && run.len() < room && more == More::Follows;
        let line = &self.held[self.line_at() + 2..];
        let prefix = self.stack.prefix([line, run]);
        let is_possible = match prefix {
            Prefix::Part(length) => self.seeks() || is_open && length == line.len() + run.len(),
            Prefix::Whole => true,
        };
        if !is_possible {
            return self.reject(used);
        }
        if prefix != Prefix::Whole
            && let Some(at) = bare_cr(line, run, rest)
        {
            // It ends the line for some readers, and may begin the next delimiter.
            self.held.extend_from_slice(&run[..at]);
            return self.reject(used + at);
        }
        self.held.extend_from_slice(run);
        used += run.len();
        if is_open {
            return Step::new(used, Event::NeedInput);
        }
        let line = &self.held[self.line_at() + 2..];
        match self.stack.delimiter(line.strip_suffix(b"\r").unwrap_or(line)) {
            Some(delimiter) => {
                self.in_long_line = line_end.is_none();
                self.divide(delimiter, used + usize::from(line_end.is_some()), scratch)
            }
            None if self.seeks() && line_end.is_some() => {
                self.held.push(b'\n');
                self.look_ahead(input, used + 1, more, scratch)
            }
            None => self.reject(used),
        }
    }

    /// Whether a delimiter is looked for that no header announces: where there should be nothing but delimiters.
    /// Readers that take another word of the header for the boundary than we do see parts there.
    fn seeks(&self) -> bool {
        self.is_undivided || matches!(self.place, Place::Beside { .. })
    }

    /// A line that begins with two hyphens, in a place where parts are looked for: a part follows if the next line is
    /// a header field that parts have.
    fn look_ahead(&mut self, input: &[u8], mut used: usize, more: More, scratch: &mut [u8]) -> Step {
        let line_at = self.line_at() + 2;
        let Some(line_end) = self.line_end() else { return self.reject(used) };
        while let Some(wanted) = PART_FIELD.get(self.held.len() - line_end - 1) {
            match input.get(used) {
                Some(byte) if byte.eq_ignore_ascii_case(wanted) => {
                    self.held.push(*byte);
                    used += 1;
                }
                None if more == More::Follows => return Step::new(used, Event::NeedInput),
                _ => return self.reject(used),
            }
        }
        self.oddities.note(Oddity::BoundaryUnannounced);
        if !self.stack.add(&self.held[line_at..line_end]) {
            return self.reject(used);
        }
        let field = self.held[line_end + 1..].to_vec();
        let delimiter = Delimiter { level: self.stack.depth() - 1, kind: Kind::Part, rest: Rest::Blank };
        let step = self.divide(delimiter, used, scratch);
        if let Place::Header(reader) = &mut self.place {
            reader.push(&field);
        }
        step
    }

    /// Where in the held bytes the line ends, if it does.
    fn line_end(&self) -> Option<usize> {
        let line_at = self.line_at();
        Some(line_at + memchr::memchr(b'\n', self.held.get(line_at..)?)?)
    }

    /// What the next byte must be for a delimiter line; `None` once its two hyphens are held.
    fn wanted(&self) -> Option<&'static [u8]> {
        let needs_line_end = !self.body_start && !matches!(self.place, Place::Header(_));
        match self.held.as_slice() {
            [] if needs_line_end => Some(b"\r\n"),
            [b'\r'] => Some(b"\n-"),
            held if held.len() < self.line_at() + 2 => Some(b"-"),
            _ => None,
        }
    }

    /// Where in the held bytes the line begins: behind the line end before it.
    fn line_at(&self) -> usize {
        match self.held.as_slice() {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        }
    }

    /// It is no delimiter line: what is held is content, apart from a line end behind it, which may begin another.
    fn reject(&mut self, used: usize) -> Step {
        self.is_candidate = false;
        self.body_start = false;
        self.given = 0;
        self.content = self.held.len();
        if let Place::Header(reader) = &mut self.place {
            reader.begin_line();
            // There is no line end in it, so the reader has no reason to stop.
            reader.push(&self.held);
            if !self.in_junk {
                self.held.clear();
                self.content = 0;
            }
        } else {
            self.content -= undecided(self.held.get(self.line_at() + 2..).unwrap_or_default());
        }
        Step::new(used, Event::Working)
    }
}

/// Where in the second piece of a line a CR shows that no LF follows: at its beginning, if the CR ends the first piece.
/// The rest is that piece and what follows it.
fn bare_cr(first: &[u8], second: &[u8], rest: &[u8]) -> Option<usize> {
    if first.ends_with(b"\r") && rest.first().is_some_and(|byte| *byte != b'\n') {
        return Some(0);
    }
    let at = memchr::memchr(b'\r', second)?;
    (at + 1 < second.len()).then_some(at)
}

/// How many bytes at the end may begin a delimiter line with the line end before it.
pub(super) fn undecided(input: &[u8]) -> usize {
    let tail = input
        .strip_suffix(b"-")
        .filter(|tail| tail.ends_with(b"\n") || tail.ends_with(b"\r"))
        .unwrap_or(input);
    let hyphen = input.len() - tail.len();
    match tail {
        [.., b'\r', b'\n'] => hyphen + 2,
        [.., b'\n' | b'\r'] => hyphen + 1,
        _ => 0,
    }
}
