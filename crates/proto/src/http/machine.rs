//! What requests and responses share: a head, a body, the next head. Rule: each byte is used once, in one state.

use super::body::{Body, Piece};
use super::fields::field_line;
use super::lines::{Lines, OddLines};
use super::refusal::Oddities;
use super::{Disposition, Fields, Frame, Framing, Limits, Refusal, Step};

/// Empty lines passed over before a message: some programs send one too many behind a body (RFC 9112 section 2.2).
const EMPTY_LINES_MAX: usize = 4;

/// What is different between requests and responses.
pub(crate) trait Kind {
    /// A start line.
    type Start;
    /// A head.
    type Head;
    /// What becomes of odd lines of a head.
    const ODD_LINES: OddLines;

    /// Whether a start line may begin so.
    fn begins_with(&self, byte: u8) -> bool;

    /// How much of a line stands before what may be a start line; all of it where that is nowhere.
    fn junk_bytes(&self, _line: &[u8]) -> usize {
        0
    }

    /// Reads a start line.
    fn start(&self, line: &[u8], oddities: &mut Oddities) -> Result<Self::Start, Refusal>;

    /// Makes the head, and says how the body is framed.
    fn head(
        &mut self,
        start: Self::Start,
        fields: Fields,
        oddities: &mut Oddities,
    ) -> Result<(Self::Head, Framing), Refusal>;
}

#[derive(Debug)]
pub(crate) struct Machine<K: Kind> {
    pub(crate) kind: K,
    limits: Limits,
    oddities: Oddities,
    lines: Lines,
    awaited: Awaited<K::Start>,
}

#[derive(Debug)]
enum Awaited<S> {
    StartLine { empty_lines: usize },
    Fields { start: S, fields: Fields, bytes: usize },
    Body(Body),
    Nothing(Refusal),
}

/// Where a connection stands when it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Between,
    UntilClose,
    Within,
}

impl<K: Kind> Machine<K> {
    pub(crate) fn new(kind: K, disposition: Disposition, limits: Limits) -> Self {
        Self {
            kind,
            limits,
            oddities: Oddities::new(disposition),
            lines: Lines::default(),
            awaited: Awaited::StartLine { empty_lines: 0 },
        }
    }

    pub(crate) fn noted(&self) -> &[Refusal] {
        self.oddities.noted()
    }

    pub(crate) fn place(&self) -> Place {
        match &self.awaited {
            Awaited::StartLine { .. } if !self.lines.has_begun() => Place::Between,
            Awaited::Body(Body::UntilClose) => Place::UntilClose,
            _ => Place::Within,
        }
    }

    /// Whether all that comes is refused.
    pub(crate) fn is_spent(&self) -> bool {
        matches!(self.awaited, Awaited::Nothing(_))
    }

    /// The message has ended; the next begins.
    pub(crate) fn end(&mut self) {
        self.awaited = Awaited::StartLine { empty_lines: 0 };
    }

    pub(crate) fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a, K::Head> {
        match self.advance(input) {
            Ok(step) => step,
            Err(refusal) => {
                self.awaited = Awaited::Nothing(refusal);
                Step { consumed: 0, frame: Frame::Refused(refusal) }
            }
        }
    }

    fn advance<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a, K::Head>, Refusal> {
        match &mut self.awaited {
            Awaited::Nothing(refusal) => Err(*refusal),
            Awaited::Body(body) => {
                let (consumed, piece) =
                    body.step(input, &mut self.lines, &self.limits, &mut self.oddities)?;
                let frame = match piece {
                    Piece::NeedInput => Frame::NeedInput,
                    Piece::Content(content) => Frame::Body(content),
                    Piece::Trailers(fields) => Frame::Trailers(fields),
                    Piece::End => {
                        self.end();
                        Frame::End
                    }
                };
                Ok(Step { consumed, frame })
            }
            Awaited::StartLine { .. } | Awaited::Fields { .. } => self.head(input),
        }
    }

    fn head<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a, K::Head>, Refusal> {
        let mut consumed = 0;
        let is_first =
            matches!(self.awaited, Awaited::StartLine { empty_lines: 0 }) && !self.lines.has_begun();
        if is_first && !input.is_empty() {
            self.oddities.forget();
        }
        loop {
            let (bytes_max, too_long) = match &self.awaited {
                Awaited::Fields { bytes, .. } => {
                    // The empty line is no field, so it needs no room.
                    (self.limits.head_bytes_max.saturating_sub(*bytes).max(2), Refusal::HeadTooLong)
                }
                _ => (self.limits.start_line_bytes_max, Refusal::StartLineTooLong),
            };
            let rest = input.get(consumed..).unwrap_or_default();
            self.first_byte(rest)?;
            let (length, line) =
                self.lines.step(rest, bytes_max, too_long, K::ODD_LINES, &mut self.oddities)?;
            consumed += length;
            let Some(line) = line else { return Ok(Step { consumed, frame: Frame::NeedInput }) };
            if let Some((head, framing)) = self.line(&line.text, line.bytes)? {
                self.awaited = Awaited::Body(Body::new(framing));
                return Ok(Step { consumed, frame: Frame::Head(Box::new(head), framing) });
            }
        }
    }

    /// What is not HTTP at all, such as TLS, is known by its first byte, and need not be waited for up to a line's end.
    fn first_byte(&mut self, rest: &[u8]) -> Result<(), Refusal> {
        match (&self.awaited, rest.first()) {
            (Awaited::StartLine { .. }, Some(byte)) if !self.lines.has_begun() => {
                if matches!(byte, b'\r' | b'\n') || self.kind.begins_with(*byte) {
                    return Ok(());
                }
                self.oddities.met(Refusal::BadStartLine)
            }
            _ => Ok(()),
        }
    }

    /// A line of a head; the empty one ends it.
    fn line(&mut self, line: &[u8], line_bytes: usize) -> Result<Option<(K::Head, Framing)>, Refusal> {
        match &mut self.awaited {
            Awaited::StartLine { empty_lines } if line.is_empty() => {
                *empty_lines += 1;
                if *empty_lines > EMPTY_LINES_MAX {
                    self.oddities.met(Refusal::BadStartLine)?;
                }
            }
            Awaited::StartLine { empty_lines } => {
                let junk = if self.oddities.forgives() { self.kind.junk_bytes(line) } else { 0 };
                if junk > 0 {
                    self.oddities.note(Refusal::BadStartLine);
                }
                if junk == line.len() && *empty_lines < EMPTY_LINES_MAX {
                    *empty_lines += 1;
                    return Ok(None);
                }
                let line = line.get(junk..).filter(|line| !line.is_empty()).unwrap_or(line);
                let start = self.kind.start(line, &mut self.oddities)?;
                self.awaited = Awaited::Fields { start, fields: Fields::new(), bytes: 0 };
            }
            Awaited::Fields { fields, bytes, .. } if !is_empty(line, line_bytes, &self.oddities) => {
                *bytes = bytes.saturating_add(line_bytes);
                field_line(fields, line, K::ODD_LINES, self.limits.fields_max, &mut self.oddities)?;
            }
            Awaited::Fields { .. } => {
                let fields = std::mem::replace(&mut self.awaited, Awaited::StartLine { empty_lines: 0 });
                if let Awaited::Fields { start, fields, .. } = fields {
                    return self.kind.head(start, fields, &mut self.oddities).map(Some);
                }
            }
            Awaited::Body(_) | Awaited::Nothing(_) => {}
        }
        Ok(None)
    }
}

/// Whether a line ends a head. A spectator takes more for the empty one, as some clients do: CRs alone, or one blank before a
/// bare LF.
fn is_empty(line: &[u8], line_bytes: usize, oddities: &Oddities) -> bool {
    if line.is_empty() || !oddities.forgives() {
        return line.is_empty();
    }
    let is_bare = line_bytes == line.len() + 1;
    line.iter().all(|byte| *byte == b'\r') || is_bare && matches!(line, b" " | b"\t")
}
