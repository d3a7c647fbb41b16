//! Pairs of bytes, at every place. Rule: exact as to pairs; what classes let through is looked up.
//!
//! Each pair belongs to one of eight classes, with the bytes that may stand before it. Four tables say of a byte which classes have it as the
//! first of the pair, as the second, and one and two places before: vector registers hold them all, so that 64 places are told apart at
//! once. Classes are made so that few places pass.

use super::{Hits, LOOKS_MAX, Speed};
use crate::wildcard::Cell;
use lockgate_stored::{Reader, Stored, Unfit, Writer};

/// How many bytes classes look at: the pair, and those before it.
pub const KNOWN: usize = 4;
/// How many classes: a bit for each in a byte.
const CLASSES: usize = 8;
/// The bits of the exact table, by the pair as a number, little end first.
const WORDS: usize = (1 << 16) / 64;

/// By byte: in which classes it stands at each of the known places.
type Classes = [[u8; 256]; KNOWN];

/// Which pairs there are, and which in order each of them is.
#[derive(Debug)]
pub struct Pairs {
    exact: Box<[u64; WORDS]>,
    /// How many are in the words before.
    before: Box<[u16; WORDS]>,
    speed: Speed,
    classes: Box<Classes>,
}

impl Pairs {
    /// Bytes on the heap.
    pub const SIZE: usize = size_of::<[u64; WORDS]>() + size_of::<[u16; WORDS]>() + size_of::<Classes>();

    /// These pairs, all of which is known, and what stands before them. `rates` says how often each byte stands in content.
    pub(crate) fn new(known: impl Iterator<Item = [Cell; KNOWN]>, rates: &[f32; 256]) -> Self {
        let mut sorted: Vec<[Cell; KNOWN]> = known.collect();
        sorted.sort_unstable_by_key(|cells| cells.map(|cell| (cell.value, cell.mask)));
        sorted.dedup();
        let mut exact = Box::new([0; WORDS]);
        for [.., first, second] in &sorted {
            let number = usize::from(u16::from_le_bytes([first.value, second.value]));
            exact[number / 64] |= 1 << (number % 64);
        }
        let classes = Box::new(classes(sorted, rates));
        Pairs { before: counted(&exact), exact, speed: Speed::detect(), classes }
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
        let end = first + looks.min(chunk.len() - first + 1).min(LOOKS_MAX);
        let (mut place, mut count) = (first, 0);
        // What stands before the first ones came with an earlier chunk.
        while place < end.min(KNOWN) {
            count = self.look_at(chunk, place, hits, count);
            place += 1;
        }
        (place, count) = match self.speed {
            Speed::Portable => (place, count),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the function is compiled for.
            Speed::Avx512 => unsafe { avx512::look(self, chunk, (place, end), hits, count) },
        };
        while place < end {
            count = self.look_at(chunk, place, hits, count);
            place += 1;
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

/// Deals these out, those first that share what is frequent.
fn classes(mut sorted: Vec<[Cell; KNOWN]>, rates: &[f32; 256]) -> Classes {
    let rate = |byte: u8| rates[usize::from(byte)];
    sorted.sort_by(|one, other| rate(other[KNOWN - 2].value).total_cmp(&rate(one[KNOWN - 2].value)));
    let mut classes = [[0; 256]; KNOWN];
    // How often a byte of a class stands at each place.
    let mut weights = [[0.0f32; KNOWN]; CLASSES];
    for cells in sorted {
        let bytes = cells
            .map(|cell| (0..=u8::MAX).filter(|byte| byte & cell.mask == cell.value).collect::<Vec<u8>>());
        let with = |class: usize| -> [f32; KNOWN] {
            std::array::from_fn(|side| {
                let is_new = |byte: &&u8| classes[side][usize::from(**byte)] >> class & 1 == 0;
                weights[class][side] + bytes[side].iter().filter(is_new).map(|byte| rate(*byte)).sum::<f32>()
            })
        };
        let share = |weights: [f32; KNOWN]| weights.iter().product::<f32>();
        let more = |class: usize| share(with(class)) - share(weights[class]);
        let least = (0..CLASSES).min_by(|one, other| more(*one).total_cmp(&more(*other))).unwrap_or(0);
        weights[least] = with(least);
        for (side, bytes) in bytes.iter().enumerate() {
            bytes.iter().for_each(|byte| classes[side][usize::from(*byte)] |= 1 << least);
        }
    }
    classes
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
    use super::{KNOWN, Pairs};
    use std::arch::x86_64::*;

    /// How many places are told apart at once.
    const LANES: usize = 64;

    /// Looks at the places from the first to before the second, as far as vectors reach. Returns up to where, and how many hits there are then.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1")]
    pub fn look(
        pairs: &Pairs,
        chunk: &[u8],
        (mut place, end): (usize, usize),
        hits: &mut Hits,
        mut count: usize,
    ) -> (usize, usize) {
        let mut tables = [[_mm512_setzero_si512(); 4]; KNOWN];
        for (table, class) in tables.iter_mut().zip(&*pairs.classes) {
            load(table, class);
        }
        while place < end {
            // The last vector looks at some places again.
            let Some(first) = place.min(end.saturating_sub(LANES)).checked_sub(KNOWN) else { break };
            let Some(bytes) = chunk.get(first..).and_then(|bytes| bytes.first_chunk()) else { break };
            let again = place - KNOWN - first;
            let mut mask = passing(&tables, bytes) >> again << again;
            while mask != 0 {
                count = pairs.look_at(chunk, first + KNOWN + mask.trailing_zeros() as usize, hits, count);
                mask &= mask - 1;
            }
            place = first + KNOWN + LANES;
        }
        (place, count)
    }

    /// Which of the places behind the known bytes some class lets through. No closures here: they would not be inlined, since what calls
    /// them is not compiled for these instructions.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn passing(tables: &[[__m512i; 4]; KNOWN], bytes: &[u8; LANES + KNOWN - 1]) -> u64 {
        let mut classes = _mm512_set1_epi8(-1);
        for (side, table) in tables.iter().enumerate() {
            // SAFETY: there are 64 bytes from each of the first places on.
            let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().add(side).cast()) };
            classes = _mm512_and_si512(classes, of(table, bytes));
        }
        _mm512_test_epi8_mask(classes, classes)
    }

    /// A table of 256 bytes, in registers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(registers: &mut [__m512i; 4], table: &[u8; 256]) {
        for (register, quarter) in registers.iter_mut().zip(table.as_chunks::<64>().0) {
            // SAFETY: each quarter has the 64 bytes that are read.
            *register = unsafe { _mm512_loadu_si512(quarter.as_ptr().cast()) };
        }
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
    const BYTES_MIN: usize = 8 + WORDS * 8 + KNOWN * 256;

    fn store(&self, to: &mut Writer<'_>) {
        // What is before follows from the words, and the speed from the machine.
        let Self { exact, before: _, speed: _, classes } = self;
        u64::store_all(&exact[..], to);
        classes.iter().for_each(|table| table.store(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let exact: Result<Box<[u64; WORDS]>, _> = u64::load_all(WORDS, from)?.try_into();
        let mut classes = Box::new([[0; 256]; KNOWN]);
        for table in &mut *classes {
            *table = <[u8; 256]>::load(from)?;
        }
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
            // Nothing is known of what stands before them.
            let known =
                |[first, second]: &[u8; 2]| [Cell::ANY, Cell::ANY, Cell::exact(*first), Cell::exact(*second)];
            let mut pairs = Pairs::new(listed.iter().map(known), &[1.0 / 256.0; 256]);
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
    #[test]
    fn what_must_stand_before_a_pair_hides_none() {
        let cells = |text: &[u8; KNOWN]| {
            text.map(|byte| match byte {
                b'.' => Cell::ANY,
                byte => Cell { value: byte & 0xdf, mask: 0xdf },
            })
        };
        let ways = |known: [Cell; KNOWN]| {
            let [third, fourth, first, second] = known;
            [(0, 0), (0, 32), (32, 0), (32, 32)].map(|(one, other)| {
                [third, fourth, Cell::exact(first.value | one), Cell::exact(second.value | other)]
            })
        };
        let known = [b"abcd", b".xyz", b"..qr"].into_iter().flat_map(|text| ways(cells(text)));
        let mut pairs = Pairs::new(known, &[1.0 / 256.0; 256]);
        for length in [2, 3, 4, 5, 63, 64, 67, 68, 69, 130, 131, 132, 133, 500] {
            for (at, found) in (0..length).flat_map(|at| [&b"aBcD"[..], b"xYz", b"Qr"].map(|text| (at, text)))
            {
                let mut chunk = vec![b'-'; length];
                let end = length.min(at + found.len());
                chunk[at..end].copy_from_slice(&found[..end - at]);
                for speed in [Speed::Portable, Speed::detect()] {
                    pairs.speed = speed;
                    let mut hits = Hits::new();
                    let count = pairs.look(&chunk, 2, LOOKS_MAX, &mut hits);
                    let is_found = hits.first(count).contains(&((at + found.len()) as u32));
                    assert_eq!(
                        is_found,
                        at + found.len() <= length,
                        "{found:?} at {at} of {length}, {speed:?}"
                    );
                    assert!(hits.first(count).is_sorted_by(|one, other| one < other));
                }
            }
        }
    }
}
