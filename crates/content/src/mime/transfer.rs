//! Content-Transfer-Encodings (RFC 2045 section 6) behind one face. Rule: what needs no decoding is never copied.

use super::again::Doubts;
use super::base64::{self, Base64};
use super::oddity::Oddities;
use super::quoted_printable::{self, QuotedPrintable};
use super::uuencoded::{self, Uuencoded};
use super::yenc;
use crate::decoder::SCRATCH_BYTES_MIN;

/// How the bytes of a part are encoded.
#[derive(Debug, Default)]
pub(super) enum Transfer {
    /// `7bit`, `8bit`, `binary`, and whatever is not known.
    #[default]
    Identity,
    Base64(Base64),
    Quoted(QuotedPrintable),
    Uuencoded(Uuencoded),
    Yenc(yenc::Body),
}

const _: () = assert!(
    base64::ROOM_BYTES_MIN < SCRATCH_BYTES_MIN
        && quoted_printable::ROOM_BYTES_MIN < SCRATCH_BYTES_MIN
        && uuencoded::ROOM_BYTES_MIN < SCRATCH_BYTES_MIN
        && yenc::ROOM_BYTES_MIN < SCRATCH_BYTES_MIN
);

impl Transfer {
    /// Decodes as much as there is room for: how many bytes were used, and how many came out.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        match self {
            Self::Identity => {
                let length = copy(input, output);
                (length, length)
            }
            Self::Base64(base64) => base64.decode(input, output),
            Self::Quoted(quoted) => quoted.decode(input, output),
            Self::Uuencoded(uuencoded) => uuencoded.decode(input, output),
            Self::Yenc(yenc) => yenc.decode(input, output),
        }
    }

    /// The end: what is left of an unfinished group.
    pub(super) fn finish(&mut self, output: &mut [u8]) -> usize {
        match self {
            Self::Identity => 0,
            Self::Base64(base64) => base64.finish(output),
            Self::Quoted(quoted) => quoted.finish(output),
            Self::Uuencoded(uuencoded) => uuencoded.finish(output),
            Self::Yenc(yenc) => yenc.finish(output),
        }
    }

    /// The same encoding, from its beginning; `None` where nothing is encoded.
    pub(super) fn anew(&self) -> Option<Self> {
        match self {
            Self::Base64(_) => Some(Self::Base64(Base64::default())),
            Self::Quoted(_) => Some(Self::Quoted(QuotedPrintable::default())),
            Self::Identity | Self::Uuencoded(_) | Self::Yenc(_) => None,
        }
    }

    /// What a KiB costs at the worst of what was just seen, in nanoseconds.
    pub(super) fn nanos_per_kib(&self) -> u32 {
        match self {
            Self::Identity => 100,
            Self::Base64(base64) if !base64.is_slow => 200,
            Self::Base64(_) | Self::Uuencoded(_) => 10_000,
            Self::Yenc(_) => 1_000,
            // Prose costs a tenth of that, a row of escapes all of it.
            Self::Quoted(_) => 15_000,
        }
    }

    /// What was met.
    pub(super) fn oddities(&self) -> Oddities {
        match self {
            Self::Identity => Oddities::default(),
            Self::Base64(base64) => base64.oddities,
            Self::Quoted(quoted) => quoted.oddities,
            Self::Uuencoded(uuencoded) => uuencoded.oddities,
            Self::Yenc(yenc) => yenc.oddities,
        }
    }

    /// What other readers may read otherwise.
    pub(super) fn doubts(&self) -> Doubts {
        match self {
            Self::Base64(base64) => base64.doubts,
            Self::Quoted(quoted) => quoted.doubts,
            Self::Identity | Self::Uuencoded(_) | Self::Yenc(_) => Doubts::default(),
        }
    }
}

/// Copies what there is room for; answers how much.
pub(super) fn copy(input: &[u8], output: &mut [u8]) -> usize {
    let length = input.len().min(output.len());
    output[..length].copy_from_slice(&input[..length]);
    length
}

/// Takes what is missing of a line, of which so much is held at most: how many bytes were used, and whether it is whole.
pub(super) fn gather_line(line: &mut Vec<u8>, input: &[u8], line_bytes_max: usize) -> (usize, bool) {
    let near = &input[..input.len().min(line_bytes_max.saturating_sub(line.len()))];
    let line_end = memchr::memchr(b'\n', near);
    let taken = line_end.map_or(near.len(), |at| at + 1);
    line.extend_from_slice(&near[..taken]);
    (taken, line_end.is_some() || line.len() == line_bytes_max)
}

#[cfg(test)]
impl Transfer {
    /// What these chunks become, so many bytes at a time, and what was met.
    pub(super) fn decoded<'a>(
        mut self,
        chunks: impl IntoIterator<Item = &'a [u8]>,
        room: usize,
    ) -> (Vec<u8>, Vec<super::oddity::Oddity>) {
        let (mut all, mut output) = (Vec::new(), vec![0; room]);
        for mut rest in chunks {
            while !rest.is_empty() {
                let (used, made) = self.decode(rest, &mut output);
                assert!(used + made > 0, "there is room, so there is progress");
                all.extend_from_slice(&output[..made]);
                rest = &rest[used..];
            }
        }
        let made = self.finish(&mut output);
        all.extend_from_slice(&output[..made]);
        let mut oddities = self.oddities();
        (all, std::iter::from_fn(|| oddities.next()).collect())
    }
}
