//! The table of blocks, more or less: a Bloom filter. Rule: what is in it is found; a few others are too.
//!
//! The three bits for a block stand in one 32-bit word: a look is one read.

use super::{Hits, LOOKS_MAX, Lens, Speed};
use lockgate_stored::{Reader, Stored, Unfit, Writer};

/// Multipliers of the two hashes: odd, with bits all over.
const MIX: (u32, u32) = (0x9e37_79b1, 0x85eb_ca6b);
/// The least and the most words of a table. One for ClamAV's patterns (512 KiB) fits a second cache; the most is 4 MiB.
const WORDS_MIN: usize = 1 << 8;
const WORDS_MAX: usize = 1 << 20;
/// Up to so many (32 KiB) a table is near whatever else is read, and may be sparser.
const WORDS_NEAR: usize = 1 << 13;

/// Which blocks there are, more or less.
#[derive(Debug)]
pub struct Bloom {
    lens: Lens,
    speed: Speed,
    words: Box<[u32]>,
    shift: u32,
    seed: u32,
}

/// Blocks that fill content by the page. The table is seeded so that none of them hits by chance.
const FILLINGS: [u32; 8] =
    [0, u32::MAX, 0x2020_2020, 0x9090_9090, 0xcccc_cccc, 0x4141_4141, 0x3030_3030, 0x3d3d_3d3d];

impl Bloom {
    /// A table of these blocks (of which the lens's bytes count), sized so that it stays sparse.
    pub fn new(lens: Lens, blocks: &[u32]) -> Self {
        let near = (blocks.len() * 8 / 7).next_power_of_two().min(WORDS_NEAR);
        let words_count = (blocks.len() * 2 / 7).next_power_of_two().max(near).clamp(WORDS_MIN, WORDS_MAX);
        let mut table = Bloom {
            lens,
            speed: Speed::detect(),
            words: vec![0; words_count].into_boxed_slice(),
            shift: 32 - words_count.trailing_zeros(),
            seed: 0,
        };
        let fillings = FILLINGS.map(|filling| table.block(filling));
        let chance = fillings.into_iter().filter(|filling| !blocks.contains(filling));
        let chance: Vec<u32> = chance.collect();
        for attempt in 1..=16u32 {
            table.seed = attempt.wrapping_mul(0x5bd1_e995);
            table.words.fill(0);
            for block in blocks {
                let (at, bits) = table.place(*block);
                table.words[at] |= bits;
            }
            if !chance.iter().any(|filling| table.holds(*filling)) {
                break;
            }
        }
        table
    }

    /// The size in bytes.
    pub fn size(&self) -> usize {
        self.words.len() * 4
    }

    /// Four bytes, made the block that is hashed.
    #[inline]
    pub fn block(&self, four: u32) -> u32 {
        (four | self.lens.fold) >> (32 - 8 * self.lens.block)
    }

    /// Whether a block is in it, or looks like one that is.
    #[inline]
    pub fn holds(&self, block: u32) -> bool {
        let (at, bits) = self.place(block);
        self.words[at] & bits == bits
    }

    /// Word and bits of a block.
    #[inline]
    fn place(&self, block: u32) -> (usize, u32) {
        let block = block ^ self.seed;
        let bits = block.wrapping_mul(MIX.1);
        let bits = 1 << (bits >> 27) | 1 << (bits >> 22 & 31) | 1 << (bits >> 17 & 31);
        ((block.wrapping_mul(MIX.0) >> self.shift) as usize, bits)
    }

    /// Takes up to [`LOOKS_MAX`] looks at a chunk, from `first` (a place behind a block, at least 4) by the stride. Returns how
    /// many of them hit; looks past the chunk's end are not taken.
    #[inline]
    pub fn look(&self, chunk: &[u8], first: usize, looks: usize, hits: &mut Hits) -> usize {
        let stride = self.lens.stride as usize;
        if first < 4 || first > chunk.len() {
            return 0;
        }
        let looks = looks.min((chunk.len() - first) / stride + 1).min(LOOKS_MAX);
        let (mut done, mut count) = match self.speed {
            Speed::Portable => (0, 0),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the function is compiled for.
            Speed::Avx512 => unsafe { avx512::look(self, chunk, first, looks, hits) },
        };
        while done < looks {
            let place = first + done * stride;
            let four = chunk[place - 4..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
            hits.places[count] = place as u32;
            count += usize::from(self.holds(self.block(four)));
            done += 1;
        }
        count
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! Sixteen looks at once.

    use super::super::Hits;
    use super::{Bloom, MIX};
    use std::arch::x86_64::*;

    /// What is read for sixteen looks.
    const LOADED_BYTES: usize = 128;

    /// Takes as many of the looks as whole vectors cover, and returns how many, and how many hit.
    #[target_feature(enable = "avx512f,avx512vbmi")]
    pub fn look(table: &Bloom, chunk: &[u8], first: usize, looks: usize, hits: &mut Hits) -> (usize, usize) {
        let stride = table.lens.stride as usize;
        // Sixteen blocks, a stride apart, of two loads of 64 bytes: a stride is at most 8.
        let mut picks = [0u8; 64];
        for (at, pick) in picks.iter_mut().enumerate() {
            *pick = (at / 4 * stride + at % 4) as u8;
        }
        // SAFETY: `picks` has the 64 bytes that are read.
        let picks = unsafe { _mm512_loadu_si512(picks.as_ptr().cast()) };
        let fold = _mm512_set1_epi32(table.lens.fold as i32);
        let narrow = _mm_cvtsi32_si128(32 - 8 * table.lens.block as i32);
        let seed = _mm512_set1_epi32(table.seed as i32);
        let mix = (_mm512_set1_epi32(MIX.0 as i32), _mm512_set1_epi32(MIX.1 as i32));
        let shift = _mm_cvtsi32_si128(table.shift as i32);
        let one = _mm512_set1_epi32(1);
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let lanes = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(stride as i32));
        let (mut done, mut count) = (0, 0);
        while done + 16 <= looks {
            let start = first - 4 + done * stride;
            if start + LOADED_BYTES > chunk.len() {
                break;
            }
            // SAFETY: both loads end within the chunk, as was just checked.
            let (before, behind) = unsafe {
                let from = chunk.as_ptr().add(start);
                (_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(64).cast()))
            };
            let four = _mm512_permutex2var_epi8(before, picks, behind);
            let block = _mm512_xor_si512(_mm512_srl_epi32(_mm512_or_si512(four, fold), narrow), seed);
            let at = _mm512_srl_epi32(_mm512_mullo_epi32(block, mix.0), shift);
            // Two gathers of eight take half the time of one of sixteen, on a Zen 4 at least.
            // SAFETY: `shift` leaves as many bits as the table has words (a power of two), so each index is within.
            let (low, high) = unsafe {
                let words = table.words.as_ptr().cast();
                (
                    _mm256_i32gather_epi32::<4>(words, _mm512_castsi512_si256(at)),
                    _mm256_i32gather_epi32::<4>(words, _mm512_extracti64x4_epi64::<1>(at)),
                )
            };
            let word = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            let bits = _mm512_mullo_epi32(block, mix.1);
            // A rotation brings the bit asked for to the lowest place.
            let both = _mm512_and_si512(
                _mm512_rorv_epi32(word, _mm512_srli_epi32(bits, 27)),
                _mm512_rorv_epi32(word, _mm512_srli_epi32(bits, 22)),
            );
            let all = _mm512_and_si512(both, _mm512_rorv_epi32(word, _mm512_srli_epi32(bits, 17)));
            let hit = _mm512_test_epi32_mask(all, one);
            let place = _mm512_add_epi32(lanes, _mm512_set1_epi32((start + 4) as i32));
            // SAFETY: at most `looks` ≤ LOOKS_MAX hits come before these sixteen end, and SLACK is room for the rest.
            unsafe {
                let to = hits.places.as_mut_ptr().add(count);
                _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(hit, place));
            }
            count += hit.count_ones() as usize;
            done += 16;
        }
        (done, count)
    }
}

impl Bloom {
    /// Whether it is looked into through this lens.
    pub fn is_for(&self, lens: Lens) -> bool {
        self.lens == lens
    }
}

impl Stored for Bloom {
    const BYTES_MIN: usize = Lens::BYTES_MIN + 8;

    fn store(&self, to: &mut Writer<'_>) {
        // The shift follows from the words, and the speed from the machine.
        let Self { lens, words, shift: _, seed, speed: _ } = self;
        lens.store(to);
        seed.store(to);
        words.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let (lens, seed) = (Lens::load(from)?, u32::load(from)?);
        let words: Box<[u32]> = Stored::load(from)?;
        // The loop reads the words that these numbers lead to without looking at the table's length.
        let is_size = words.len().is_power_of_two() && (WORDS_MIN..=WORDS_MAX).contains(&words.len());
        let is_lens = (1..=Lens::STRIDE_MAX).contains(&lens.stride) && (1..=4).contains(&lens.block);
        if !is_size || !is_lens {
            return Err(Unfit("a table of a size that there is none of"));
        }
        let shift = 32 - words.len().trailing_zeros();
        Ok(Self { lens, words, shift, seed, speed: Speed::detect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::Dice;

    #[test]
    fn all_instructions_find_the_same_places() {
        let chunk = Dice(1).bytes(5000, 16);
        for (stride, block, fold) in
            [(8, 4, 0), (7, 4, 0x2020_2020), (3, 4, 0), (1, 2, 0), (1, 1, 0), (1, 3, 0)]
        {
            let lens = Lens { stride, block, fold };
            let four = |at: usize| u32::from_le_bytes(*chunk[at..].first_chunk().unwrap());
            let narrow = |four: u32| (four | fold) >> (32 - 8 * block);
            let blocks: Vec<u32> = (0..200).map(|at| narrow(four(at * 11))).collect();
            let mut table = Bloom::new(lens, &blocks);
            let mut found = Vec::new();
            for speed in [Speed::Portable, Speed::detect()] {
                table.speed = speed;
                let mut hits = Hits::new();
                let count = table.look(&chunk, 5, 1600, &mut hits);
                found.push(hits.first(count).to_vec());
            }
            assert!(!found[0].is_empty());
            assert_eq!(found[0], found[1], "stride {stride}, block {block}");
        }
    }
}
