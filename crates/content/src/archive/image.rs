//! Disc images (ISO 9660, ECMA-167), which say what they are behind 32 KiB of anything. Rule: one look, nothing held.
//!
//! No first bytes tell a disc from any other data, so every part of no other type is watched until that place. There
//! is no decoder for discs yet; this one says so, and does not let them pass as data.

use crate::decoder::{Decoder, Event, More, Step};
use lockgate_model::Reason;

/// Where the first volume descriptor's identifier stands: in sector 16, behind a byte of type.
const PLACE: u64 = 16 * 2048 + 1;
/// ISO 9660, and the beginning of an extended area, as UDF has it.
const IDENTIFIERS: [&[u8]; 2] = [b"CD001", b"BEA01"];
const IDENTIFIER_BYTES: usize = 5;

/// Data that may turn out to be a disc.
#[derive(Debug, Default)]
pub struct ImageDecoder {
    position: u64,
    seen: [u8; IDENTIFIER_BYTES],
    expect: Expect,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expect {
    #[default]
    Identifier,
    Nothing,
}

impl ImageDecoder {
    /// Awaits the first byte.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Decoder for ImageDecoder {
    fn step(&mut self, input: &[u8], more: More, _scratch: &mut [u8]) -> Step {
        if self.expect == Expect::Nothing || input.is_empty() && more == More::Ended {
            return Step::new(0, Event::End);
        }
        if input.is_empty() {
            return Step::new(0, Event::NeedInput);
        }
        let end = PLACE + IDENTIFIER_BYTES as u64;
        let length = usize::try_from(end - self.position).unwrap_or(usize::MAX).min(input.len());
        let skipped = usize::try_from(PLACE.saturating_sub(self.position)).unwrap_or(usize::MAX).min(length);
        let known = self.position.saturating_sub(PLACE) as usize;
        let found = &input[skipped..length];
        self.seen[known..known + found.len()].copy_from_slice(found);
        self.position += length as u64;
        if self.position < end {
            return Step::new(length, Event::Working);
        }
        self.expect = Expect::Nothing;
        let is_disc = IDENTIFIERS.contains(&&self.seen[..]);
        Step::new(length, if is_disc { Event::Incomplete(Reason::Unsupported) } else { Event::Working })
    }

    fn nanos_per_kib(&self) -> u32 {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::noise;
    use crate::trace::{Said, assert_cut_invariant, trace};

    fn open() -> Box<dyn Decoder> {
        Box::new(ImageDecoder::new())
    }

    #[test]
    fn discs_are_told() {
        for identifier in IDENTIFIERS {
            let disc = [&noise(1, PLACE as usize)[..], identifier, &noise(2, 5000)].concat();
            let told = [Said::Incomplete(Reason::Unsupported), Said::End];
            assert_eq!(assert_cut_invariant(&open, &disc), told);
            for at in PLACE as usize - 1..PLACE as usize + 6 {
                assert_eq!(trace(&mut *open(), [&disc[..at], &disc[at..]]), told, "cut at {at}");
            }
        }
        assert_eq!(assert_cut_invariant(&open, &noise(3, 40_000)), [Said::End]);
        assert_eq!(assert_cut_invariant(&open, b"short"), [Said::End]);
    }
}
