//! lzip: members one behind the other, which make one file. Rule: what lzip would write, and what is wrong with it is said.
//!
//! The format is that of lzip's manual ("File format"), version 1: LZMA with fixed properties and a mark at its end.

use super::lzma::{Halt, Lzma, NANOS_PER_KIB, Properties};
use super::stream::{StreamDecoder, Undo};
use super::{Outcome, Run};
use crate::decoder::More;
use crate::field::{Field, u32_le, u64_le};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

const MAGIC: [u8; 5] = *b"LZIP\x01";
const HEAD_BYTES: u64 = 6;
/// Check sum, size, size of the member.
const TRAILER_BYTES: u64 = 20;
/// lc = 3, lp = 0, pb = 2.
const PROPERTIES_BYTE: u8 = 0x5d;
/// The base-2 logarithms of the least and the largest dictionary.
const DICTIONARY_BITS: std::ops::RangeInclusive<u32> = 12..=29;

/// Members on their way.
pub struct Lzip {
    pool: Arc<Pool>,
    expect: Expect,
    field: Field,
    lzma: Option<Lzma>,
    crc: crc32fast::Hasher,
    made: u64,
    used: u64,
    members: u32,
    failed: Option<Reason>,
    is_full: bool,
    has_rest: bool,
}

/// The next thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Head,
    Stream,
    Trailer,
}

/// Awaits the first member; takes memory when its head is there.
pub fn decoder(pool: &Arc<Pool>) -> StreamDecoder<Lzip> {
    let pool = Arc::clone(pool);
    StreamDecoder::new(Box::new(move || Lzip::new(&pool)))
}

impl Lzip {
    fn new(pool: &Arc<Pool>) -> Self {
        let mut lzip = Self {
            pool: Arc::clone(pool),
            expect: Expect::Head,
            field: Field::default(),
            lzma: None,
            crc: crc32fast::Hasher::new(),
            made: 0,
            used: 0,
            members: 0,
            failed: None,
            is_full: false,
            has_rest: false,
        };
        lzip.field.begin(HEAD_BYTES, HEAD_BYTES as usize);
        lzip
    }

    /// The next byte of a head; the end where it is none behind a member.
    fn head(&mut self, byte: u8) -> Result<Outcome, Reason> {
        let at = self.field.bytes().len();
        if MAGIC.get(at).is_some_and(|magic| *magic != byte) {
            self.has_rest = self.members > 0;
            return if self.has_rest { Ok(Outcome::Ended) } else { Err(Reason::Damaged) };
        }
        self.field.take(&[byte]);
        if self.field.is_whole() {
            let bits = u32::from(byte & 0x1f);
            if !DICTIONARY_BITS.contains(&bits) {
                return Err(Reason::Damaged);
            }
            let base = 1_u32 << bits;
            let dictionary_bytes = base - base / 16 * u32::from(byte >> 5);
            let properties = Properties::from_byte(PROPERTIES_BYTE)?;
            self.lzma = Some(Lzma::new(&self.pool, properties, dictionary_bytes)?);
            (self.expect, self.used, self.made) = (Expect::Stream, HEAD_BYTES, 0);
        }
        Ok(Outcome::Going)
    }

    fn stream(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        let Some(lzma) = &mut self.lzma else { return (0, 0) };
        let (used, made, halt) = lzma.make(input, output);
        self.used += used as u64;
        self.made += made as u64;
        self.crc.update(&output[..made]);
        self.is_full = halt == Halt::Room;
        match halt {
            Halt::Mark if lzma.is_at_rest() => {
                self.lzma = None;
                self.expect = Expect::Trailer;
                self.field.begin(TRAILER_BYTES, TRAILER_BYTES as usize);
            }
            Halt::Mark => self.failed = Some(Reason::Damaged),
            Halt::Failed(reason) => self.failed = Some(reason),
            Halt::Room | Halt::Input => {}
        }
        (used, made)
    }

    fn trailer(&mut self) -> Result<(), Reason> {
        let bytes = self.field.bytes();
        let crc = std::mem::take(&mut self.crc).finalize();
        let is_right = u32_le(bytes, 0) == crc
            && u64_le(bytes, 4) == self.made
            && u64_le(bytes, 12) == self.used + TRAILER_BYTES;
        self.members = self.members.saturating_add(1);
        self.expect = Expect::Head;
        self.field.begin(HEAD_BYTES, HEAD_BYTES as usize);
        if is_right { Ok(()) } else { Err(Reason::Damaged) }
    }

    fn is_between_members(&self) -> bool {
        self.expect == Expect::Head && self.members > 0
    }
}

impl Undo for Lzip {
    const BEHIND: &'static str = "bytes behind the end of a lzip file";

    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        if let Some(reason) = self.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        if input.is_empty() && more == More::Ended && self.is_between_members() {
            self.has_rest = !self.field.bytes().is_empty();
            return Run { used: 0, made: 0, outcome: Outcome::Ended };
        }
        let ((used, made), outcome) = match (self.expect, input.first()) {
            (Expect::Head, Some(byte)) => ((1, 0), self.head(*byte)),
            (Expect::Stream, _) => (self.stream(input, output), Ok(Outcome::Going)),
            (Expect::Trailer, _) => {
                let used = self.field.take(input);
                let sum = if self.field.is_whole() { self.trailer() } else { Ok(()) };
                ((used, 0), sum.map(|()| Outcome::Going))
            }
            (Expect::Head, None) => ((0, 0), Ok(Outcome::Going)),
        };
        match outcome {
            Ok(outcome) => Run { used, made, outcome },
            Err(reason) => {
                self.failed = Some(reason);
                Run { used, made, outcome: Outcome::Failed(reason) }
            }
        }
    }

    fn owes(&self, more: More) -> bool {
        let ends = more == More::Ended && self.is_between_members();
        self.failed.is_some() || self.is_full && self.expect == Expect::Stream || ends
    }

    fn has_rest(&self) -> bool {
        self.has_rest
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::{Decoder, Entry};
    use crate::samples::lzma::lzip;
    use crate::samples::{LONG, assert_flips_told, assert_truncation_told, complains, noise, prose};
    use crate::trace::{Said, assert_cut_invariant};

    fn open() -> Box<dyn Decoder> {
        Box::new(decoder(&Pool::new(64 << 20)))
    }

    #[test]
    fn members_are_read_at_every_cut() {
        for content in [vec![], b"a".to_vec(), prose(1, LONG), noise(2, 3000)] {
            let file = [lzip(1 << 20, &content), lzip(1 << 20, b"")].concat();
            let bytes = (!content.is_empty()).then(|| Said::Bytes(content.clone()));
            let open_said = Said::Open(Entry { label: "1".into(), ..Entry::default() });
            let expected: Vec<_> =
                [open_said].into_iter().chain(bytes).chain([Said::Close, Said::End]).collect();
            assert_eq!(assert_cut_invariant(&open, &file), expected);
        }
    }

    #[test]
    fn nothing_is_damaged_or_cut_short_without_a_word() {
        let file = lzip(1 << 20, &prose(6, 300));
        assert_truncation_told(&open, &file, file.len());
        assert_flips_told(&open, &file);
        for behind in [&b"x"[..], b"\0\0", b"LZI", b"LZIP\0"] {
            let said = assert_cut_invariant(&open, &[&file[..], behind].concat());
            assert!(matches!(said[..], [.., Said::Close, Said::Anomaly(_), Said::End]), "{said:?}");
        }
        assert!(complains(&assert_cut_invariant(&open, b"no such thing")));
    }
}
