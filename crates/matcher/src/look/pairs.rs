//! Pairs of bytes, at every place. Rule: exact; what classes let through is looked up.
//!
//! Each pair belongs to one of eight classes. Two tables say of a byte which classes have it as the first, and as the second:
//! vector registers hold both, so that 64 places are told apart at once. Classes are made so that few places pass.

use super::{Hits, LOOKS_MAX, Speed};
use lockgate_stored::{Reader, Stored, Unfit, Writer};

/// How many classes: a bit for each in a byte.
const CLASSES: usize = 8;
/// The bits of the exact table, by the pair as a number, little end first.
const WORDS: usize = (1 << 16) / 64;

/// Which pairs there are, and which in order each of them is.
#[derive(Debug)]
pub struct Pairs {
    exact: Box<[u64; WORDS]>,
    /// How many are in the words before.
    before: Box<[u16; WORDS]>,
    speed: Speed,
    /// By byte: in which classes it stands first, in which it stands second.
    classes: Box<[[u8; 256]; 2]>,
}

impl Pairs {
    /// Bytes on the heap.
    pub const SIZE: usize =
        size_of::<[u64; WORDS]>() + size_of::<[u16; WORDS]>() + size_of::<[[u8; 256]; 2]>();

    /// These pairs. `rates` says how often each byte stands in content.
    pub fn new(pairs: impl Iterator<Item = [u8; 2]>, rates: &[f32; 256]) -> Self {
        let mut made = Pairs {
            exact: Box::new([0; WORDS]),
            before: Box::new([0; WORDS]),
            speed: Speed::detect(),
            classes: Box::new([[0; 256]; 2]),
        };
        // How often a byte of a class stands first, and second. What many pairs share is dealt out first.
        let mut weights = [[0.0f32; 2]; CLASSES];
        let mut sorted: Vec<[u8; 2]> = pairs.collect();
        let rate = |byte: u8| rates[usize::from(byte)];
        sorted.sort_unstable();
        sorted.dedup();
        sorted.sort_by(|one, other| rate(other[0]).total_cmp(&rate(one[0])));
        for pair in sorted {
            let number = usize::from(u16::from_le_bytes(pair));
            made.exact[number / 64] |= 1 << (number % 64);
            let with = |class: usize| -> [f32; 2] {
                std::array::from_fn(|side| {
                    let has = made.classes[side][usize::from(pair[side])] >> class & 1 == 1;
                    weights[class][side] + if has { 0.0 } else { rate(pair[side]) }
                })
            };
            let more = |class: usize| {
                let ([first, second], [old_first, old_second]) = (with(class), weights[class]);
                first * second - old_first * old_second
            };
            let least = (0..CLASSES).min_by(|one, other| more(*one).total_cmp(&more(*other))).unwrap_or(0);
            weights[least] = with(least);
            for (side, byte) in pair.into_iter().enumerate() {
                made.classes[side][usize::from(byte)] |= 1 << least;
            }
        }
        made.before = counted(&made.exact);
        made
    }

    /// Which in order a pair is of those that there are; any number for another one.
    #[inline]
    pub fn number(&self, pair: [u8; 2]) -> usize {
        let place = usize::from(u16::from_le_bytes(pair));
        let below = self.exact[place / 64] & !(u64::MAX << (place % 64));
        usize::from(self.before[place / 64]) + below.count_ones() as usize
    }

    /// How many pairs there are.
    pub fn count(&self) -> usize {
        self.exact.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    pub fn holds(&self, pair: [u8; 2]) -> bool {
        let place = usize::from(u16::from_le_bytes(pair));
        self.exact[place / 64] >> (place % 64) & 1 == 1
    }

    /// Takes up to [`LOOKS_MAX`] looks at a chunk, from `first`, a place behind a pair. Returns how many of them hit; looks past
    /// the chunk's end are not taken.
    #[inline]
    pub fn look(&self, chunk: &[u8], first: usize, looks: usize, hits: &mut Hits) -> usize {
        if first < 2 || first > chunk.len() {
            return 0;
        }
        let looks = looks.min(chunk.len() - first + 1).min(LOOKS_MAX);
        let (mut done, mut count) = match self.speed {
            Speed::Portable => (0, 0),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the function is compiled for.
            Speed::Avx512 => unsafe { avx512::look(self, chunk, first, looks, hits) },
        };
        while done < looks {
            count = self.look_at(chunk, first + done, hits, count);
            done += 1;
        }
        count
    }

    /// Writes a place behind so many hits; how many there are then.
    #[inline(always)]
    fn look_at(&self, chunk: &[u8], place: usize, hits: &mut Hits, count: usize) -> usize {
        let pair = chunk.get(place - 2..).and_then(|pair| pair.first_chunk());
        hits.places[count] = place as u32;
        count + usize::from(pair.is_some_and(|pair| self.holds(*pair)))
    }
}

/// How many bits are in the words before each.
fn counted(words: &[u64; WORDS]) -> Box<[u16; WORDS]> {
    let (mut before, mut count) = (Box::new([0; WORDS]), 0u16);
    for (before, word) in before.iter_mut().zip(words) {
        *before = count;
        // Behind the last word, where nobody asks, there may be one more than the greatest number.
        count = count.wrapping_add(word.count_ones() as u16);
    }
    before
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! 64 places at once.

    use super::super::Hits;
    use super::Pairs;
    use std::arch::x86_64::*;

    /// Takes as many of the looks as whole vectors cover, and returns how many, and how many hit.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1")]
    pub fn look(pairs: &Pairs, chunk: &[u8], first: usize, looks: usize, hits: &mut Hits) -> (usize, usize) {
        let firsts = load(&pairs.classes[0]);
        let seconds = load(&pairs.classes[1]);
        let (mut done, mut count) = (0, 0);
        while done + 64 <= looks {
            let place = first + done;
            let (Some(before), Some(here)) = (
                chunk.get(place - 2..).and_then(|bytes| bytes.first_chunk::<64>()),
                chunk.get(place - 1..).and_then(|bytes| bytes.first_chunk::<64>()),
            ) else {
                break;
            };
            // SAFETY: both have the 64 bytes that are read.
            let (before, here) = unsafe {
                (_mm512_loadu_si512(before.as_ptr().cast()), _mm512_loadu_si512(here.as_ptr().cast()))
            };
            let mut mask = _mm512_test_epi8_mask(of(&firsts, before), of(&seconds, here));
            while mask != 0 {
                count = pairs.look_at(chunk, place + mask.trailing_zeros() as usize, hits, count);
                mask &= mask - 1;
            }
            done += 64;
        }
        (done, count)
    }

    /// A table of 256 bytes, in registers.
    #[target_feature(enable = "avx512f")]
    fn load(table: &[u8; 256]) -> [__m512i; 4] {
        let (quarters, _) = table.as_chunks::<64>();
        // SAFETY: each quarter has the 64 bytes that are read.
        std::array::from_fn(|at| unsafe { _mm512_loadu_si512(quarters[at].as_ptr().cast()) })
    }

    /// What the table says of 64 bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn of(table: &[__m512i; 4], bytes: __m512i) -> __m512i {
        let low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
        let high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
        _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high)
    }
}

impl Stored for Pairs {
    const BYTES_MIN: usize = 8 + WORDS * 8 + 2 * 256;

    fn store(&self, to: &mut Writer<'_>) {
        // What is before follows from the words, and the speed from the machine.
        let Self { exact, before: _, speed: _, classes } = self;
        u64::store_all(&exact[..], to);
        classes.iter().for_each(|table| table.store(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let exact: Result<Box<[u64; WORDS]>, _> = u64::load_all(WORDS, from)?.try_into();
        let classes = Box::new([<[u8; 256]>::load(from)?, <[u8; 256]>::load(from)?]);
        let exact = exact.map_err(|_| Unfit("a table of a size that there is none of"))?;
        Ok(Self { before: counted(&exact), exact, speed: Speed::detect(), classes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_instructions_find_the_same_places() {
        let mut word = 1u32;
        let mut next = || {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word >> 24) as u8
        };
        let chunk: Vec<u8> = (0..5000).map(|_| next()).collect();
        for count in [1, 8, 9, 300, 65_536] {
            let listed: Vec<[u8; 2]> = match count {
                65_536 => (0..=u16::MAX).map(u16::to_le_bytes).collect(),
                _ => (0..count).map(|_| [next(), next()]).collect(),
            };
            let mut pairs = Pairs::new(listed.iter().copied(), &[1.0 / 256.0; 256]);
            let expected: Vec<u32> = (7..500)
                .filter(|place| listed.contains(&[chunk[place - 2], chunk[place - 1]]))
                .map(|place| place as u32)
                .collect();
            for speed in [Speed::Portable, Speed::detect()] {
                pairs.speed = speed;
                let mut hits = Hits::new();
                let found = pairs.look(&chunk, 7, 493, &mut hits);
                assert_eq!(hits.first(found), expected, "{count} pairs, {speed:?}");
            }
            let mut sorted: Vec<u16> = listed.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            sorted.sort_unstable();
            sorted.dedup();
            for (number, pair) in sorted.iter().enumerate() {
                assert_eq!(pairs.number(pair.to_le_bytes()), number);
            }
        }
    }
}
