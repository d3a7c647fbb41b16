//! Lines of a head and of a chunked body. Rule: a line ends where all see its end, is bounded, and is copied only when it
//! came cut.

use super::Refusal;
use super::refusal::Oddities;
use std::borrow::Cow;

/// A line that has begun, and what it has taken of its limit.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
    /// Bytes of it that have come; more than are kept where it is too long.
    bytes: usize,
}

/// What becomes of lines that are not as they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OddLines {
    /// They are refused: requests, of which each recipient made its own; trailers, which nobody needs.
    Refused,
    /// They are mended, and noted: in heads of responses LF alone ends a line, a fold is joined with a space, blanks before a
    /// colon are taken away, and what is no field is left out (RFC 9112 sections 2.2, 5.1, 5.2). Who reads on reads
    /// lines that we have written, so they have one reading again.
    Mended,
}

impl OddLines {
    /// What is met where it can be mended.
    pub(crate) fn met(self, oddity: Refusal, oddities: &mut Oddities) -> Result<(), Refusal> {
        match self {
            Self::Refused => oddities.met(oddity),
            Self::Mended => {
                oddities.note(oddity);
                Ok(())
            }
        }
    }
}

/// A line without its end, and the bytes that it took with it.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) text: Cow<'a, [u8]>,
    pub(crate) bytes: usize,
}

impl Lines {
    /// Whether part of a line has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.bytes > 0
    }

    /// Bytes of the input used, and the line that they complete. A line of more than `bytes_max` is `too_long`; a
    /// spectator sees what fits of it.
    pub(crate) fn step<'a>(
        &mut self,
        input: &'a [u8],
        bytes_max: usize,
        too_long: Refusal,
        odd_lines: OddLines,
        oddities: &mut Oddities,
    ) -> Result<(usize, Option<Line<'a>>), Refusal> {
        let end = memchr::memchr(b'\n', input).map(|at| at + 1);
        let piece = input.get(..end.unwrap_or(input.len())).unwrap_or_default();
        let consumed = piece.len();
        let room = bytes_max.saturating_sub(self.begun.len());
        if piece.len() > room {
            oddities.met(too_long)?;
        }
        let kept = piece.get(..room).unwrap_or(piece);
        if end.is_none() {
            self.bytes += consumed;
            self.begun.extend_from_slice(kept);
            return Ok((consumed, None));
        }
        let bytes = std::mem::take(&mut self.bytes) + consumed;
        let text = if self.begun.is_empty() {
            Cow::Borrowed(kept)
        } else {
            self.begun.extend_from_slice(kept);
            Cow::Owned(std::mem::take(&mut self.begun))
        };
        Ok((consumed, Some(Line { text: without_end(text, odd_lines, oddities)?, bytes })))
    }
}

fn without_end<'a>(
    mut line: Cow<'a, [u8]>,
    odd_lines: OddLines,
    oddities: &mut Oddities,
) -> Result<Cow<'a, [u8]>, Refusal> {
    let length = match line.as_ref() {
        [text @ .., b'\r', b'\n'] => text.len(),
        [text @ .., b'\n'] => {
            odd_lines.met(Refusal::BareLf, oddities)?;
            text.len()
        }
        // What is left of a line that is too long.
        text => text.len(),
    };
    match &mut line {
        Cow::Borrowed(text) => *text = text.get(..length).unwrap_or_default(),
        Cow::Owned(text) => text.truncate(length),
    }
    match memchr::memchr2(b'\r', 0, &line).and_then(|at| line.get(at)) {
        None => {}
        Some(b'\r') => oddities.met(Refusal::BareCr)?,
        Some(_) => oddities.met(Refusal::Nul)?,
    }
    Ok(line)
}
