//! A body, taken out of its framing. Rule: content is passed as slices of the input, and a chunk ends where it says.

use super::fields::field_line;
use super::framing::hexadecimal;
use super::lines::{Line, Lines, OddLines};
use super::refusal::Oddities;
use super::trailers::allowed;
use super::{Disposition, Fields, Framing, Limits, Refusal};

/// A body that is being read.
#[derive(Debug)]
pub(crate) enum Body {
    /// So many bytes to come.
    Length { bytes_left: u64 },
    /// In chunks.
    Chunked(Chunk),
    /// Until the connection is closed.
    UntilClose,
}

/// Where a chunked body stands.
#[derive(Debug)]
pub(crate) enum Chunk {
    Size,
    Data { bytes_left: u64 },
    EndCr,
    EndLf,
    Trailers { fields: Fields, bytes: usize },
}

/// What a step of a body came to.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    NeedInput,
    Content(&'a [u8]),
    Trailers(Fields),
    End,
}

impl Body {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::Length { bytes_left: 0 },
            Framing::Length(bytes_left) => Self::Length { bytes_left },
            Framing::Chunked => Self::Chunked(Chunk::Size),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// Bytes of the input used, and what they came to.
    pub(crate) fn step<'a>(
        &mut self,
        input: &'a [u8],
        lines: &mut Lines,
        limits: &Limits,
        oddities: &mut Oddities,
    ) -> Result<(usize, Piece<'a>), Refusal> {
        match self {
            Self::Length { bytes_left: 0 } => Ok((0, Piece::End)),
            Self::Length { bytes_left } => Ok(content(input, bytes_left)),
            Self::UntilClose if input.is_empty() => Ok((0, Piece::NeedInput)),
            Self::UntilClose => Ok((input.len(), Piece::Content(input))),
            Self::Chunked(_) => self.chunked(input, lines, limits, oddities),
        }
    }

    fn chunked<'a>(
        &mut self,
        input: &'a [u8],
        lines: &mut Lines,
        limits: &Limits,
        oddities: &mut Oddities,
    ) -> Result<(usize, Piece<'a>), Refusal> {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let Self::Chunked(chunk) = self else {
                // A spectator has lost its way: the rest is content, whatever it is.
                let piece = if rest.is_empty() { Piece::NeedInput } else { Piece::Content(rest) };
                return Ok((input.len(), piece));
            };
            match chunk {
                Chunk::Data { bytes_left: 0 } => *chunk = Chunk::EndCr,
                Chunk::Data { bytes_left } => {
                    let (length, piece) = content(rest, bytes_left);
                    return Ok((used + length, piece));
                }
                Chunk::EndCr | Chunk::EndLf => {
                    let Some(byte) = rest.first() else { return Ok((used, Piece::NeedInput)) };
                    *self = chunk_end(chunk, *byte, oddities)?;
                    used += 1;
                }
                Chunk::Size | Chunk::Trailers { .. } => {
                    let (bytes_max, too_long) = chunk.line_limit(limits);
                    let (length, line) =
                        lines.step(rest, bytes_max, too_long, OddLines::Refused, oddities)?;
                    used += length;
                    let Some(line) = line else { return Ok((used, Piece::NeedInput)) };
                    if let Some(piece) = self.line(&line, limits, oddities)? {
                        return Ok((used, piece));
                    }
                }
            }
        }
    }

    /// A line between chunks or behind them.
    fn line(
        &mut self,
        line: &Line<'_>,
        limits: &Limits,
        oddities: &mut Oddities,
    ) -> Result<Option<Piece<'static>>, Refusal> {
        if let Self::Chunked(Chunk::Trailers { fields, bytes }) = self {
            *bytes = bytes.saturating_add(line.bytes);
            if !line.text.is_empty() {
                field_line(fields, &line.text, OddLines::Refused, limits.fields_max, oddities)?;
                return Ok(None);
            }
            let trailers = allowed(std::mem::take(fields));
            *self = Self::Length { bytes_left: 0 };
            return Ok(Some(if trailers.is_empty() { Piece::End } else { Piece::Trailers(trailers) }));
        }
        if oddities.forgives() && line.text.contains(&b';') {
            oddities.note(Refusal::ChunkExtension);
        }
        *self = match size(&line.text).or_else(|| oddities.forgives().then(|| seen_size(&line.text))?) {
            None if oddities.forgives() && line.text.trim_ascii().is_empty() => {
                oddities.note(Refusal::BadChunk);
                Self::Chunked(Chunk::Size)
            }
            Some(0) => Self::Chunked(Chunk::Trailers { fields: Fields::new(), bytes: 0 }),
            Some(bytes_left) => Self::Chunked(Chunk::Data { bytes_left }),
            None => {
                oddities.met(Refusal::BadChunk)?;
                Self::UntilClose
            }
        };
        Ok(None)
    }
}

impl Chunk {
    /// How long the line may be that is awaited.
    fn line_limit(&self, limits: &Limits) -> (usize, Refusal) {
        match self {
            // The empty line is no field, so it needs no room.
            Self::Trailers { bytes, .. } => {
                (limits.trailer_bytes_max.saturating_sub(*bytes).max(2), Refusal::TrailersTooLong)
            }
            _ => (limits.chunk_line_bytes_max, Refusal::ChunkLineTooLong),
        }
    }
}

/// Behind a chunk stands CR LF. A spectator takes LF alone for it, and behind anything else has lost its way.
fn chunk_end(chunk: &Chunk, byte: u8, oddities: &mut Oddities) -> Result<Body, Refusal> {
    match (chunk, byte) {
        (Chunk::EndCr, b'\r') => Ok(Body::Chunked(Chunk::EndLf)),
        (Chunk::EndLf, b'\n') => Ok(Body::Chunked(Chunk::Size)),
        (_, b'\n') => oddities.met(Refusal::BareLf).map(|()| Body::Chunked(Chunk::Size)),
        _ => oddities.met(Refusal::BadChunk).map(|()| Body::UntilClose),
    }
}

fn content<'a>(input: &'a [u8], bytes_left: &mut u64) -> (usize, Piece<'a>) {
    if input.is_empty() {
        return (0, Piece::NeedInput);
    }
    let length = usize::try_from(*bytes_left).map_or(input.len(), |left| left.min(input.len()));
    *bytes_left -= length as u64;
    (length, Piece::Content(input.get(..length).unwrap_or_default()))
}

/// A chunk's size (RFC 9112 section 7.1): digits, then nothing or an extension, which says nothing to anybody. Blanks may
/// stand before the extension, and some programs pad the digits with them: all peers read the digits before them.
fn size(line: &[u8]) -> Option<u64> {
    let padded = line.split(|byte| *byte == b';').next()?;
    let blanks = padded.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    hexadecimal(padded.get(..padded.len() - blanks)?)
}

/// What a spectator sees in a size that is none: its digits, whatever stands around them. Some clients do so.
fn seen_size(line: &[u8]) -> Option<u64> {
    let is_around = |byte: &u8| byte.is_ascii_whitespace() || byte.is_ascii_control();
    let begun = line.iter().position(|byte| !is_around(byte))?;
    let digits = line.get(begun..)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(digits.len());
    hexadecimal(digits.get(..end)?)
}

/// Chunks by themselves, as a spectator reads them where nobody says for certain whether there are any.
#[derive(Debug)]
pub struct Chunks {
    body: Body,
    lines: Lines,
    limits: Limits,
    oddities: Oddities,
}

impl Default for Chunks {
    fn default() -> Self {
        Self::new()
    }
}

impl Chunks {
    /// Awaits the first chunk's size.
    pub fn new() -> Self {
        Self {
            body: Body::new(Framing::Chunked),
            lines: Lines::default(),
            limits: Limits::default(),
            oddities: Oddities::new(Disposition::Passive),
        }
    }

    /// Bytes of the input used, and the content among them. Behind the last chunk all is content again.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> (usize, Option<&'a [u8]>) {
        match self.body.step(input, &mut self.lines, &self.limits, &mut self.oddities) {
            Ok((used, Piece::Content(content))) => (used, Some(content)),
            Ok((used, Piece::NeedInput | Piece::Trailers(_))) => (used, None),
            Ok((used, Piece::End)) => {
                self.body = Body::UntilClose;
                (used, None)
            }
            // A spectator refuses nothing.
            Err(_) => (input.len(), Some(input)),
        }
    }
}
