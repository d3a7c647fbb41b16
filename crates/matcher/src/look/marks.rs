//! A few pairs of bytes, looked for at every place. Rule: exact, and in order; each byte is read once.
//!
//! Each pair has a bit. Four tables of sixteen say of the halves of two bytes which pairs they fit, so that a vector
//! instruction looks up all halves of a vector at once: a pair stands where its bit is in all four answers.

/// How many pairs there are bits for.
const PAIRS_MAX: usize = 8;
/// How many places are told apart at once.
const BLOCK: usize = 64;

/// By the half of a byte: the pairs that it fits.
type Halves = [u8; 16];

/// Pairs of bytes by which something is known that seldom stands there.
#[derive(Clone, Copy, Debug)]
pub struct Marks<const PAIRS: usize> {
    pairs: [[u8; 2]; PAIRS],
    /// For a pair's first byte and for its second: by the low half, and by the high one.
    tables: [[Halves; 2]; 2],
}

impl<const PAIRS: usize> Marks<PAIRS> {
    /// The mark for each of these pairs, at most eight.
    pub const fn new(pairs: [[u8; 2]; PAIRS]) -> Self {
        const { assert!(PAIRS <= PAIRS_MAX, "a byte has a bit for each of eight pairs") };
        let mut tables = [[[0; 16]; 2]; 2];
        let mut number = 0;
        while number < PAIRS {
            let mut side = 0;
            while side < 2 {
                let byte = pairs[number][side];
                tables[side][0][(byte & 15) as usize] |= 1 << number;
                tables[side][1][(byte >> 4) as usize] |= 1 << number;
                side += 1;
            }
            number += 1;
        }
        Self { pairs, tables }
    }

    /// The first place from `from` on where a pair stands.
    #[inline]
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at += self.quiet(bytes.get(at..)?);
            // Here a pair stands in the next block, or there are fewer bytes than that.
            let rest = bytes.get(at..)?;
            let ahead = rest.get(..=BLOCK).unwrap_or(rest);
            if let Some(found) =
                ahead.windows(2).position(|pair| self.pairs.iter().any(|known| known == pair))
            {
                return Some(at + found);
            }
            if ahead.len() <= BLOCK {
                return None;
            }
            at += BLOCK;
        }
    }

    /// How many of the first places have no pair, in whole blocks as far as that is told quickly.
    #[inline]
    fn quiet(&self, bytes: &[u8]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2::quiet(&self.tables, bytes) };
        }
        self.quiet_portably(bytes)
    }

    /// The same. Nothing in the loop branches, so that the compiler makes it of what vectors each processor has.
    fn quiet_portably(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<{ BLOCK + 1 }>()) {
            let mut has_one = 0;
            for place in 0..BLOCK {
                for [first, second] in &self.pairs {
                    has_one |= u8::from(block[place] == *first) & u8::from(block[place + 1] == *second);
                }
            }
            if has_one != 0 {
                break;
            }
            at += BLOCK;
        }
        at
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! 32 places at once.

    use super::{BLOCK, Halves};
    use std::arch::x86_64::*;

    /// As [`Marks::quiet`](super::Marks::quiet).
    #[target_feature(enable = "avx2")]
    pub fn quiet(tables: &[[Halves; 2]; 2], bytes: &[u8]) -> usize {
        let tables = [[load(&tables[0][0]), load(&tables[0][1])], [load(&tables[1][0]), load(&tables[1][1])]];
        let mut at = 0;
        while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<{ BLOCK + 1 }>()) {
            let (first, second) = (pairs::<0>(&tables, block), pairs::<32>(&tables, block));
            let both = _mm256_or_si256(first, second);
            if _mm256_testz_si256(both, both) == 0 {
                break;
            }
            at += BLOCK;
        }
        at
    }

    /// The bits of the pairs that stand at 32 places from `AT` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn pairs<const AT: usize>(tables: &[[__m256i; 2]; 2], block: &[u8; BLOCK + 1]) -> __m256i {
        const { assert!(AT + 33 <= BLOCK + 1) };
        // SAFETY: behind `AT` the block has the 33 bytes that are read.
        let (here, next) = unsafe {
            let from = block.as_ptr().add(AT);
            (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(1).cast()))
        };
        _mm256_and_si256(fits(&tables[0], here), fits(&tables[1], next))
    }

    /// The pairs that each byte fits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn fits(halves: &[__m256i; 2], bytes: __m256i) -> __m256i {
        let low_half = _mm256_set1_epi8(15);
        let low = _mm256_and_si256(bytes, low_half);
        // Bits of the neighbour come in with the shift; the mask keeps the half alone.
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_half);
        _mm256_and_si256(_mm256_shuffle_epi8(halves[0], low), _mm256_shuffle_epi8(halves[1], high))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(halves: &Halves) -> __m256i {
        // SAFETY: there are the 16 bytes that are read.
        let once = unsafe { _mm_loadu_si128(halves.as_ptr().cast()) };
        _mm256_broadcastsi128_si256(once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::Dice;

    fn compare<const PAIRS: usize>(pairs: [[u8; 2]; PAIRS]) {
        let marks = Marks::new(pairs);
        let mut dice = Dice(1);
        for length in (0..600usize).chain([5000]) {
            let mut bytes = dice.bytes(length, 256);
            // Some of them side by side and one over the other, and some at the edges of blocks.
            for at in [0, 1, 62, 63, 64, 65, 127, 128, 190, length.saturating_sub(2)] {
                if dice.roll(256) < 40
                    && let Some(place) = bytes.get_mut(at..at + 2)
                {
                    place.copy_from_slice(&pairs[dice.roll(PAIRS as u64) as usize]);
                }
            }
            let stands =
                |at: &usize| bytes.get(*at..at + 2).is_some_and(|two| pairs.iter().any(|p| p == two));
            let expected: Vec<usize> = (0..length).filter(stands).collect();
            let step = |from: usize| marks.find(&bytes, from);
            let found: Vec<usize> = std::iter::successors(step(0), |at| step(at + 1)).collect();
            assert_eq!(found, expected, "{PAIRS} pairs in {length} bytes");
            let quiet = marks.quiet_portably(&bytes);
            assert_eq!(quiet, marks.quiet(&bytes));
            assert!(expected.iter().all(|at| *at >= quiet));
        }
    }

    #[test]
    fn pairs_are_found_wherever_they_stand() {
        compare([*b"PK"]);
        compare([*b"7z", *b"Ra", *b"MS", *b"\x60\xea", *b"-l", *b"PK"]);
        compare([[0, 0], [255, 0], [0, 255], [255, 255], [15, 240], [240, 15], *b"aa", *b"ab"]);
    }
}
