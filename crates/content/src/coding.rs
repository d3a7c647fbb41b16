//! Content codings (RFC 9110 section 8.4.1): [`Coding`], [`open_coded`]. Rule: coded content is read with its coding, and no
//! reading without it shows anything else.
//!
//! A client may take no notice of the coding that a server says. What it has then are the coded bytes, which the engines
//! are shown as they are; where they would hold something for such a client (they are an archive, or end like one), the
//! two readings contradict each other. No honest server sends that, so it is told as something that cannot be inspected
//! rather than decoded in both ways.

use crate::codec::gzip::GzipDecoder;
use crate::codec::{brotli, deflate, zstd};
use crate::decoder::{Decoder, Event, Means, More, Step};
use lockgate_model::filetype::Kind;
use lockgate_model::{FileType, Reason};

/// A content coding that is seen through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// `gzip`, or as it was called once, `x-gzip`.
    Gzip,
    /// `deflate`: zlib's format, or raw.
    Deflate,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

impl Coding {
    /// All of them, the best to ask for first.
    pub const ALL: [Self; 4] = [Self::Gzip, Self::Deflate, Self::Brotli, Self::Zstd];

    /// By name, in any case.
    pub fn named(name: &[u8]) -> Option<Self> {
        let is = |coding: &Self| name.eq_ignore_ascii_case(coding.name().as_bytes());
        let known = Self::ALL.into_iter().find(is);
        known.or_else(|| name.eq_ignore_ascii_case(b"x-gzip").then_some(Self::Gzip))
    }

    /// The name in a field.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// A decoder that undoes a coding.
///
/// # Errors
///
/// None yet: it is part of the signature as it is of [`open`](crate::open()).
pub fn open_coding(coding: Coding, means: &Means) -> Result<Box<dyn Decoder>, Reason> {
    Ok(match coding {
        Coding::Gzip => Box::new(GzipDecoder::new()),
        Coding::Deflate => Box::new(deflate::decoder()),
        Coding::Brotli => Box::new(brotli::decoder(&means.pool)),
        Coding::Zstd => Box::new(zstd::decoder(&means.pool)),
    })
}

/// A decoder for a part in this coding whose first bytes look like this type.
///
/// # Errors
///
/// [`Reason::Unsupported`] where they say that it is a container without the coding.
pub fn open_coded(coding: Coding, seems: FileType, means: &Means) -> Result<Box<dyn Decoder>, Reason> {
    let undo = open_coding(coding, means)?;
    if matches!((coding, seems), (Coding::Gzip, FileType::Gzip) | (Coding::Zstd, FileType::Zstd)) {
        return Ok(undo); // Both readings are one.
    }
    if seems.kind() == Kind::Container {
        return Err(Reason::Unsupported);
    }
    match crate::open(seems, means)? {
        Some(other) => Ok(Box::new(TwofoldDecoder::new(undo, other))),
        None => Ok(undo),
    }
}

/// Undoes a coding while another decoder reads the same bytes without it: where that one finds anything, it is told.
struct TwofoldDecoder {
    undo: Box<dyn Decoder>,
    /// Whether the coding has come to its end; the other reading goes on.
    is_undone: bool,
    other: Option<Box<dyn Decoder>>,
    /// Of the input given, how much the other has read.
    ahead: usize,
}

impl TwofoldDecoder {
    fn new(undo: Box<dyn Decoder>, other: Box<dyn Decoder>) -> Self {
        Self { undo, is_undone: false, other: Some(other), ahead: 0 }
    }

    /// A step of the other reading; `None` where it has nothing to say.
    fn look(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Option<Event> {
        let rest = input.get(self.ahead..).unwrap_or_default();
        let other = self.other.as_mut()?;
        if rest.is_empty() && more == More::Follows {
            return None;
        }
        let step = other.step(rest, more, scratch);
        self.ahead += step.consumed;
        match step.event {
            Event::NeedInput => {
                self.ahead = input.len();
                None
            }
            Event::Open(_) | Event::Broken(_) | Event::Incomplete(_) | Event::Anomaly(_) => {
                // Once is enough.
                self.other = None;
                Some(Event::Incomplete(Reason::Unsupported))
            }
            Event::End => {
                self.other = None;
                None
            }
            _ => Some(Event::Working),
        }
    }
}

impl Decoder for TwofoldDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.look(input, more, scratch) {
            return Step::new(0, event);
        }
        if self.is_undone {
            self.ahead = 0;
            let is_over = more == More::Ended || self.other.is_none();
            return Step::new(input.len(), if is_over { Event::End } else { Event::NeedInput });
        }
        let step = self.undo.step(input, more, scratch);
        self.ahead = self.ahead.saturating_sub(step.consumed);
        match step.event {
            Event::End => {
                self.is_undone = true;
                Step::new(step.consumed, Event::Working)
            }
            event => Step::new(step.consumed, event),
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        self.undo.nanos_per_kib() + self.other.as_ref().map_or(0, |other| other.nanos_per_kib())
    }

    fn worked_nanos(&self) -> u64 {
        self.undo.worked_nanos()
    }
}

#[cfg(test)]
mod tests;
