//! The table of blocks, more or less: a Bloom filter. Rule: what is in it is found; a few others are too.
//!
//! The three bits for a block stand in one 32-bit word, and the third says which block of its window it is: a look is one
//! read, and tells where windows may begin.

use super::{Hits, LOOKS_MAX, Lens, SLACK, Speed};
use lockgate_stored::{Reader, Stored, Unfit, Writer};

/// Multipliers of the two hashes: odd, with bits all over.
const MIX: (u32, u32) = (0x9e37_79b1, 0x85eb_ca6b);
/// The least and the most words of a table. One for ClamAV's patterns (512 KiB) fits a second cache; the most is 4 MiB.
const WORDS_MIN: usize = 1 << 8;
const WORDS_MAX: usize = 1 << 20;
/// Up to so many (32 KiB) a table is near whatever else is read, and may be sparser.
const WORDS_NEAR: usize = 1 << 13;

/// Above the turns that a hit tells of stands its place.
const TOLD_AT: u32 = Lens::STRIDE_MAX;
/// How many windows hits are told apart into at once.
pub const WINDOWS_MAX: usize = 1024;

/// Where windows may begin.
#[derive(Debug)]
pub struct Windows {
    starts: [u32; WINDOWS_MAX + SLACK],
}

impl Windows {
    /// None.
    pub const fn new() -> Self {
        Windows { starts: [0; WINDOWS_MAX + SLACK] }
    }

    /// The first so many.
    pub fn first(&self, count: usize) -> &[u32] {
        &self.starts[..count]
    }
}

/// A block, and how many others of its window are before it.
pub type Turned = (u32, u32);

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
    /// A table of these blocks (of which the lens's bytes count) in order, sized so that it stays sparse.
    pub fn new(lens: Lens, blocks: &[Turned]) -> Self {
        let count = blocks.chunk_by(|(one, _), (other, _)| one == other).count();
        let near = (count * 8 / 7).next_power_of_two().min(WORDS_NEAR);
        let words_count = (count * 2 / 7).next_power_of_two().max(near).clamp(WORDS_MIN, WORDS_MAX);
        let mut table = Bloom {
            lens,
            speed: Speed::detect(),
            words: vec![0; words_count].into_boxed_slice(),
            shift: 32 - words_count.trailing_zeros(),
            seed: 0,
        };
        let fillings = FILLINGS.map(|filling| table.block(filling));
        let chance = fillings.into_iter().filter(|filling| blocks.iter().all(|(block, _)| block != filling));
        let chance: Vec<u32> = chance.collect();
        for attempt in 1..=16u32 {
            table.seed = attempt.wrapping_mul(0x5bd1_e995);
            table.words.fill(0);
            for (block, turn) in blocks {
                let (at, bits) = table.place(*block);
                let third = (bits[2] + turn) & 31;
                table.words[at] |= 1 << bits[0] | 1 << bits[1] | 1 << third;
            }
            if chance.iter().all(|filling| table.turns(*filling) == 0) {
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

    /// How many others may be before a block in its window, a bit for each number: none, if it is in no window.
    #[inline]
    fn turns(&self, block: u32) -> u32 {
        let (at, [first, second, third]) = self.place(block);
        let word = self.words[at];
        if word >> first & word >> second & 1 == 0 { 0 } else { word.rotate_right(third) & self.all_turns() }
    }

    /// The bits of all turns there are.
    fn all_turns(&self) -> u32 {
        (1 << self.lens.stride) - 1
    }

    /// Whether a block is in it at this place of its window, or looks like one that is.
    #[inline]
    pub fn holds(&self, (block, turn): Turned) -> bool {
        self.turns(block) >> turn & 1 == 1
    }

    /// Word and bits of a block.
    #[inline]
    fn place(&self, block: u32) -> (usize, [u32; 3]) {
        let block = block ^ self.seed;
        let bits = block.wrapping_mul(MIX.1);
        ((block.wrapping_mul(MIX.0) >> self.shift) as usize, [bits >> 27, bits >> 22 & 31, bits >> 17 & 31])
    }

    /// Takes up to [`LOOKS_MAX`] looks at a chunk, from `first` (a place behind a block, at least 4) by the stride. Returns how
    /// many of them hit; looks past the chunk's end are not taken. A hit is for [`Self::windows`].
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
            let turns = self.turns(self.block(four));
            hits.places[count] = ((done * stride) as u32) << TOLD_AT | turns;
            count += usize::from(turns != 0);
            done += 1;
        }
        count
    }

    /// How many windows may begin where these hits of looks from `first` on tell, and where each does. Of more hits than
    /// [`WINDOWS_MAX`] for each turn the others are left out.
    #[inline]
    pub fn windows(&self, told: &[u32], first: usize, windows: &mut Windows) -> usize {
        let Lens { stride, block, .. } = self.lens;
        let told = &told[..told.len().min(WINDOWS_MAX / stride as usize)];
        let first = (first as u32).wrapping_sub(block);
        #[cfg(target_arch = "x86_64")]
        if self.speed == Speed::Avx512 {
            // SAFETY: `detect` found the instructions that the function is compiled for.
            return unsafe { avx512::windows(told, (first, stride), windows) };
        }
        let mut count = 0;
        for told in told {
            for turn in 0..stride {
                windows.starts[count] = (told >> TOLD_AT).wrapping_add(first).wrapping_sub(turn);
                count += (told >> turn & 1) as usize;
            }
        }
        count
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! Sixteen looks at once.

    use super::super::{Hits, Lens};
    use super::{Bloom, MIX, TOLD_AT, WINDOWS_MAX, Windows};
    use std::arch::x86_64::*;

    /// What is read for sixteen looks.
    const LOADED_BYTES: usize = 128;

    /// By the stride: sixteen blocks so far apart, of two loads of 64 bytes.
    static PICKS: [[u8; 64]; Lens::STRIDE_MAX as usize + 1] = {
        let mut picks = [[0; 64]; Lens::STRIDE_MAX as usize + 1];
        let mut place = 0;
        while place < 64 * picks.len() {
            let (stride, at) = (place / 64, place % 64);
            picks[stride][at] = (at / 4 * stride + at % 4) as u8;
            place += 1;
        }
        picks
    };

    /// Takes as many of the looks as whole vectors cover, and returns how many, and how many hit.
    #[target_feature(enable = "avx512f,avx512vbmi")]
    pub fn look(table: &Bloom, chunk: &[u8], first: usize, looks: usize, hits: &mut Hits) -> (usize, usize) {
        let stride = table.lens.stride as usize;
        // SAFETY: each has the 64 bytes that are read.
        let picks = unsafe { _mm512_loadu_si512(PICKS[stride].as_ptr().cast()) };
        let fold = _mm512_set1_epi32(table.lens.fold as i32);
        let narrow = _mm_cvtsi32_si128(32 - 8 * table.lens.block as i32);
        let seed = _mm512_set1_epi32(table.seed as i32);
        let mix = (_mm512_set1_epi32(MIX.0 as i32), _mm512_set1_epi32(MIX.1 as i32));
        let shift = _mm_cvtsi32_si128(table.shift as i32);
        let one = _mm512_set1_epi32(1);
        let all_turns = _mm512_set1_epi32(table.all_turns() as i32);
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        // Where each look is, from the first one on, above room for its turns.
        let mut place = _mm512_mullo_epi32(lanes, _mm512_set1_epi32((stride as i32) << TOLD_AT));
        let sixteen = _mm512_set1_epi32((16 * stride as i32) << TOLD_AT);
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
            let turns = _mm512_rorv_epi32(word, _mm512_srli_epi32(bits, 17));
            let known = _mm512_test_epi32_mask(both, one);
            let hit = _mm512_mask_test_epi32_mask(known, turns, all_turns);
            // Its place or those of its turns that count.
            let told = _mm512_ternarylogic_epi32::<0xf8>(place, turns, all_turns);
            place = _mm512_add_epi32(place, sixteen);
            // SAFETY: at most `looks` ≤ LOOKS_MAX hits come before these sixteen end, and SLACK is room for the rest.
            unsafe {
                let to = hits.places.as_mut_ptr().add(count);
                _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(hit, told));
            }
            count += hit.count_ones() as usize;
            done += 16;
        }
        (done, count)
    }

    /// As [`Bloom::windows`]; each of the turns that a hit tells of is a byte farther.
    #[target_feature(enable = "avx512f")]
    pub fn windows(told: &[u32], (first, stride): (u32, u32), windows: &mut Windows) -> usize {
        if told.len() * stride as usize > WINDOWS_MAX {
            return 0;
        }
        let one = _mm512_set1_epi32(1);
        let mut count = 0;
        for told in told.chunks(16) {
            let lanes = ((1u32 << told.len()) - 1) as __mmask16;
            // SAFETY: only as many lanes are read as there are hits.
            let told = unsafe { _mm512_maskz_loadu_epi32(lanes, told.as_ptr().cast()) };
            let place = _mm512_srli_epi32::<TOLD_AT>(told);
            let mut window = _mm512_add_epi32(place, _mm512_set1_epi32(first as i32));
            let mut turn = one;
            for _ in 0..stride {
                let here = _mm512_test_epi32_mask(told, turn);
                // SAFETY: less than WINDOWS_MAX were written before, and SLACK is room for these sixteen.
                unsafe {
                    let to = windows.starts.as_mut_ptr().add(count);
                    _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(here, window));
                }
                count += here.count_ones() as usize;
                turn = _mm512_slli_epi32::<1>(turn);
                window = _mm512_sub_epi32(window, one);
            }
        }
        count
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
            let mut blocks: Vec<Turned> =
                (0..200).map(|at| (narrow(four(at * 11)), at as u32 % stride)).collect();
            blocks.sort_unstable();
            let mut table = Bloom::new(lens, &blocks);
            assert!(blocks.iter().all(|block| table.holds(*block)));
            let mut found = Vec::new();
            for speed in [Speed::Portable, Speed::detect()] {
                table.speed = speed;
                let (mut hits, mut windows, mut starts) = (Hits::new(), Windows::new(), Vec::new());
                for first in (5..=chunk.len()).step_by(LOOKS_MAX * stride as usize) {
                    let count = table.look(&chunk, first, 1600, &mut hits);
                    for told in hits.first(count).chunks(WINDOWS_MAX / stride as usize) {
                        let count = table.windows(told, first, &mut windows);
                        starts.extend_from_slice(windows.first(count));
                    }
                }
                // Sixteen at once come in another order.
                starts.sort_unstable();
                found.push(starts);
            }
            for place in (5..=chunk.len()).step_by(stride as usize) {
                let here = narrow(four(place - 4));
                let start = |turn: u32| (place as u32).wrapping_sub(block + turn);
                let mut turns = (0..stride).filter(|turn| table.holds((here, *turn)));
                assert!(turns.all(|turn| found[0].binary_search(&start(turn)).is_ok()));
            }
            assert!(!found[0].is_empty());
            assert_eq!(found[0], found[1], "stride {stride}, block {block}");
        }
    }
}
