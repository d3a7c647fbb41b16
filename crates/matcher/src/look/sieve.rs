//! A Bloom filter over keys of windows, small enough to be near. Rule: what is in it passes; a few others do too.

use super::Speed;
use lockgate_stored::{Reader, Stored, Unfit, Writer};

/// Multiplier of the keys' hash.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
/// The least and the most words (256 KiB).
const WORDS_MIN: usize = 2;
const WORDS_MAX: usize = 1 << 16;
/// Where the bits of a key are that say which bits of a word they are, below those of the word's number.
const BITS_AT: u32 = 33;
/// How many windows may wait at once …
pub const ROUND: usize = 1024;
/// … and the room that vector code may write beyond.
const SLACK: usize = 8;

/// The hash of some of eight bytes: its higher bits depend on all of them.
#[inline]
pub fn key(eight: u64, mask: u64) -> u64 {
    (eight & mask).wrapping_mul(MIX)
}

/// What is looked at of a place.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// How far before the place eight bytes begin.
    pub back: u32,
    /// Bits that are set in them first …
    pub fold: u64,
    /// … and those that are left then: the key.
    pub mask: u64,
}

/// Windows that have passed: where in the chunk each begins.
#[derive(Debug)]
pub struct Passed {
    starts: [u32; ROUND + SLACK],
    count: usize,
}

impl Passed {
    /// None.
    pub const fn new() -> Self {
        Passed { starts: [0; ROUND + SLACK], count: 0 }
    }

    /// Those from a number on.
    pub fn from(&self, first: usize) -> &[u32] {
        self.starts.get(first..self.count).unwrap_or_default()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Lets go of all.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// Which keys there are, more or less.
#[derive(Debug)]
pub struct Sieve {
    words: Box<[u32]>,
    shift: u32,
    speed: Speed,
}

impl Sieve {
    /// A sieve for these keys, of which there are so many.
    pub fn new(keys: impl Iterator<Item = u64>, count: usize) -> Self {
        let words_count = count.next_power_of_two().clamp(WORDS_MIN, WORDS_MAX);
        let mut words = vec![0; words_count].into_boxed_slice();
        let shift = 64 - words_count.trailing_zeros();
        for key in keys {
            let bits = (key >> BITS_AT) as u32;
            words[(key >> shift) as usize] |=
                1 << (bits & 31) | 1 << (bits >> 5 & 31) | 1 << (bits >> 10 & 31);
        }
        Sieve { words, shift, speed: Speed::detect() }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.words.len() * 4
    }

    /// Whether a key is among them, or looks like one that is.
    #[inline]
    pub fn passes(&self, key: u64) -> bool {
        let word = self.words[(key >> self.shift) as usize];
        let bits = (key >> BITS_AT) as u32;
        word.wrapping_shr(bits) & word.wrapping_shr(bits >> 5) & word.wrapping_shr(bits >> 10) & 1 == 1
    }

    /// Adds the windows at some places of a chunk, or so far before each, that pass. What finds no room, or stands not wholly in
    /// the chunk, is not looked at: whoever asks sees to both.
    #[inline]
    pub fn sift(&self, chunk: &[u8], places: &[u32], probe: Probe, passed: &mut Passed) {
        let places = &places[..places.len().min(ROUND - passed.count.min(ROUND))];
        let done = match self.speed {
            Speed::Portable => 0,
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the function is compiled for.
            Speed::Avx512 => unsafe { avx512::sift(self, chunk, places, probe, passed) },
        };
        for place in &places[done..] {
            let start = place.wrapping_sub(probe.back);
            let eight = chunk.get(start as usize..).and_then(|eight| eight.first_chunk());
            let Some(eight) = eight.map(|eight| u64::from_le_bytes(*eight)) else { continue };
            // No branch waits for the sieve.
            passed.starts[passed.count] = start;
            passed.count += usize::from(self.passes(key(eight | probe.fold, probe.mask)));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! Eight windows at once.

    use super::{BITS_AT, MIX, Passed, Probe, ROUND, Sieve};
    use std::arch::x86_64::*;

    /// Looks at as many of the places as are whole vectors before one that has not all its bytes in the chunk; returns how
    /// many.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn sift(sieve: &Sieve, chunk: &[u8], places: &[u32], probe: Probe, passed: &mut Passed) -> usize {
        let Some(latest) = chunk.len().checked_sub(8) else { return 0 };
        let Ok(latest) = i32::try_from(latest) else { return 0 };
        if places.len().checked_add(passed.count).is_none_or(|needed| needed > ROUND) {
            return 0;
        }
        let (back, latest) = (_mm256_set1_epi32(probe.back as i32), _mm256_set1_epi32(latest));
        let (fold, mask) = (_mm512_set1_epi64(probe.fold as i64), _mm512_set1_epi64(probe.mask as i64));
        let mix = _mm512_set1_epi64(MIX as i64);
        let shift = _mm_cvtsi32_si128(sieve.shift as i32);
        let mut count = passed.count;
        for (eights, places) in places.chunks(8).enumerate() {
            let lanes = ((1u32 << places.len()) - 1) as __mmask8;
            // SAFETY: only as many lanes are read as there are places.
            let place = unsafe { _mm256_maskz_loadu_epi32(lanes, places.as_ptr().cast()) };
            let start = _mm256_sub_epi32(place, back);
            let is_inside = _mm256_mask_cmple_epu32_mask(lanes, start, latest)
                & _mm256_mask_cmpge_epu32_mask(lanes, place, back);
            if is_inside != lanes {
                passed.count = count;
                return eights * 8;
            }
            // Lanes of no place read what nobody asks for.
            let from = _mm256_min_epu32(start, latest);
            // SAFETY: each lane starts at least eight bytes before the chunk's end.
            let (low, high) = unsafe {
                let bytes = chunk.as_ptr().cast();
                (
                    _mm256_i32gather_epi64::<1>(bytes, _mm256_castsi256_si128(from)),
                    _mm256_i32gather_epi64::<1>(bytes, _mm256_extracti128_si256::<1>(from)),
                )
            };
            let eight = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            let key = _mm512_mullo_epi64(_mm512_and_si512(_mm512_or_si512(eight, fold), mask), mix);
            let at = _mm512_cvtepi64_epi32(_mm512_srl_epi64(key, shift));
            // SAFETY: `shift` leaves as many bits as the sieve has words (a power of two), so each index is within.
            let word = unsafe { _mm256_i32gather_epi32::<4>(sieve.words.as_ptr().cast(), at) };
            let bits = _mm512_cvtepi64_epi32(_mm512_srli_epi64(key, BITS_AT));
            // A rotation by a number's lowest five bits brings the bit asked for to the lowest place.
            let both = _mm256_and_si256(
                _mm256_rorv_epi32(word, bits),
                _mm256_rorv_epi32(word, _mm256_srli_epi32(bits, 5)),
            );
            let all = _mm256_and_si256(both, _mm256_rorv_epi32(word, _mm256_srli_epi32(bits, 10)));
            let passes = _mm256_mask_test_epi32_mask(lanes, all, _mm256_set1_epi32(1));
            // SAFETY: less than ROUND pass before these eight, and SLACK is room for the rest.
            unsafe {
                let to = passed.starts.as_mut_ptr().add(count);
                _mm256_storeu_epi32(to.cast(), _mm256_maskz_compress_epi32(passes, start));
            }
            count += passes.count_ones() as usize;
        }
        passed.count = count;
        places.len()
    }
}

impl Stored for Sieve {
    const BYTES_MIN: usize = 8;

    fn store(&self, to: &mut Writer<'_>) {
        // The shift follows from the words, and the speed from the machine.
        let Self { words, shift: _, speed: _ } = self;
        words.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let words: Box<[u32]> = Stored::load(from)?;
        // The loop reads the words that keys lead to without looking at the sieve's length.
        if !words.len().is_power_of_two() || !(WORDS_MIN..=WORDS_MAX).contains(&words.len()) {
            return Err(Unfit("a sieve of a size that there is none of"));
        }
        let shift = 64 - words.len().trailing_zeros();
        Ok(Self { words, shift, speed: Speed::detect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::Dice;

    #[test]
    fn all_instructions_pass_the_same_windows() {
        let chunk = Dice(1).bytes(5000, 16);
        for (fold, mask) in [(0, u64::MAX >> 16), (0x2020_2020_2020_2020, u64::MAX >> 40)] {
            let probe = Probe { back: 7, fold, mask };
            let eight = |start: usize| u64::from_le_bytes(*chunk[start..].first_chunk().unwrap());
            let keys: Vec<u64> = (0..100).map(|at| key(eight(at * 11) | fold, mask)).collect();
            let mut sieve = Sieve::new(keys.iter().copied(), keys.len());
            // Of the last ones not all bytes are in the chunk.
            let places: Vec<u32> = (0..=5010).step_by(2).collect();
            let mut expected: Vec<u32> = places
                .iter()
                .filter_map(|place| place.checked_sub(7))
                .filter(|start| *start <= 4992 && sieve.passes(key(eight(*start as usize) | fold, mask)))
                .collect();
            expected.sort_unstable();
            assert!(expected.len() >= 33);
            for speed in [Speed::Portable, Speed::detect()] {
                sieve.speed = speed;
                let mut found = Vec::new();
                for places in places.chunks(101) {
                    let mut passed = Passed::new();
                    sieve.sift(&chunk, places, probe, &mut passed);
                    found.extend_from_slice(passed.from(0));
                }
                // Eight at once come in another order.
                found.sort_unstable();
                assert_eq!(found, expected, "{speed:?}");
            }
        }
    }
}
