//! Pairs of bytes, at every place. Rule: exact as to pairs; what classes let through is looked up.
//!
//! Each pair belongs to one of eight classes, with the bytes that may stand before it, or to one of eight others if any may. Tables say
//! of a byte which classes have it as the first of the pair, as the second, and one and two places before: vector registers hold them all,
//! so that 64 places are told apart at once.

use super::{Hits, LOOKS_MAX, Speed};
use crate::classes::{KNOWN, Shares, Tables, deal};
use crate::wildcard::Cell;
use lockgate_stored::{Reader, Stored, Unfit, Writer};

/// How many bytes a pair has.
const PAIR: usize = 2;
/// The bits of the exact table, by the pair as a number, little end first.
const WORDS: usize = (1 << 16) / 64;

/// Which pairs there are, and which in order each of them is.
#[derive(Debug)]
pub struct Pairs {
    exact: Box<[u64; WORDS]>,
    /// How many are in the words before.
    before: Box<[u16; WORDS]>,
    speed: Speed,
    /// The classes of pairs of which is known what stands before them …
    known: Box<Tables<KNOWN>>,
    /// … and of those of which it is not, if there are any.
    alone: Option<Box<Tables<PAIR>>>,
}

impl Pairs {
    /// Bytes on the heap.
    pub const SIZE: usize =
        size_of::<[u64; WORDS]>() + size_of::<[u16; WORDS]>() + size_of::<Tables<KNOWN>>();

    /// These pairs, all of which is known, and what stands before them.
    pub(crate) fn new(known: impl Iterator<Item = [Cell; KNOWN]>, shares: &Shares) -> Self {
        let mut sorted: Vec<[Cell; KNOWN]> = known.collect();
        sorted.sort_unstable_by_key(|cells| cells.map(|cell| (cell.value, cell.mask)));
        sorted.dedup();
        let mut exact = Box::new([0; WORDS]);
        for [.., first, second] in &sorted {
            let number = usize::from(u16::from_le_bytes([first.value, second.value]));
            exact[number / 64] |= 1 << (number % 64);
        }
        let is_alone = |cells: &[Cell; KNOWN]| cells[..KNOWN - PAIR].iter().all(|cell| cell.mask == 0);
        let (alone, known): (Vec<_>, Vec<_>) = sorted.into_iter().partition(is_alone);
        let alone = (!alone.is_empty()).then(|| {
            let [.., first, second] = deal(alone, shares);
            Box::new([first, second])
        });
        let (before, known) = (counted(&exact), Box::new(deal(known, shares)));
        Pairs { before, exact, speed: Speed::detect(), known, alone }
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
            Speed::Avx512 => unsafe {
                match &self.alone {
                    None => avx512::look::<0>(self, &[], chunk, (place, end), hits, count),
                    Some(alone) => avx512::look::<PAIR>(self, alone, chunk, (place, end), hits, count),
                }
            },
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
    use super::{KNOWN, PAIR, Pairs, Tables};
    use std::arch::x86_64::*;

    /// How many places are told apart at once.
    const LANES: usize = 64;

    /// Looks at the places from the first to before the second, as far as vectors reach. Returns up to where, and how many hits there are then.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1")]
    pub fn look<const ALONE: usize>(
        pairs: &Pairs,
        alone: &Tables<ALONE>,
        chunk: &[u8],
        (mut place, end): (usize, usize),
        hits: &mut Hits,
        mut count: usize,
    ) -> (usize, usize) {
        let (known, only) = (load(&pairs.known), load(alone));
        while place < end {
            // The last vector looks at some places again.
            let Some(first) = place.min(end.saturating_sub(LANES)).checked_sub(KNOWN) else { break };
            let Some(bytes) = chunk.get(first..).and_then(|bytes| bytes.first_chunk()) else { break };
            let again = place - KNOWN - first;
            let mut mask = match is_ascii(bytes) {
                true => passing::<ALONE, true>(&known, &only, bytes),
                false => passing::<ALONE, false>(&known, &only, bytes),
            };
            mask = mask >> again << again;
            while mask != 0 {
                count = pairs.look_at(chunk, first + KNOWN + mask.trailing_zeros() as usize, hits, count);
                mask &= mask - 1;
            }
            place = first + KNOWN + LANES;
        }
        (place, count)
    }

    /// Whether all bytes are characters of ASCII.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn is_ascii(bytes: &[u8; LANES + KNOWN - 1]) -> bool {
        // SAFETY: there are 64 bytes from the last of the known places on.
        let (first, last) = unsafe {
            let from = bytes.as_ptr();
            (_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(KNOWN - 1).cast()))
        };
        _mm512_movepi8_mask(_mm512_or_si512(first, last)) == 0
    }

    /// Which of the places behind the known bytes some class lets through. No closures here: they would not be inlined, since what calls
    /// them is not compiled for these instructions.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn passing<const ALONE: usize, const ASCII: bool>(
        known: &[[__m512i; 4]; KNOWN],
        only: &[[__m512i; 4]; ALONE],
        bytes: &[u8; LANES + KNOWN - 1],
    ) -> u64 {
        let mask = in_classes::<KNOWN, ASCII>(known, bytes, 0);
        if ALONE > 0 { mask | in_classes::<ALONE, ASCII>(only, bytes, KNOWN - PAIR) } else { mask }
    }

    /// The same by these tables, which are for the places from `first` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn in_classes<const PLACES: usize, const ASCII: bool>(
        tables: &[[__m512i; 4]; PLACES],
        bytes: &[u8; LANES + KNOWN - 1],
        first: usize,
    ) -> u64 {
        let mut classes = _mm512_set1_epi8(-1);
        for (place, table) in tables.iter().enumerate() {
            // SAFETY: of the known places none is farther than the last, from which on there are 64 bytes.
            let bytes =
                unsafe { _mm512_loadu_si512(bytes.as_ptr().add((first + place).min(KNOWN - 1)).cast()) };
            let own = if ASCII { of_ascii(table, bytes) } else { of(table, bytes) };
            classes = _mm512_and_si512(classes, own);
        }
        _mm512_test_epi8_mask(classes, classes)
    }

    /// Tables of 256 bytes, in registers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load<const PLACES: usize>(tables: &Tables<PLACES>) -> [[__m512i; 4]; PLACES] {
        let mut registers = [[_mm512_setzero_si512(); 4]; PLACES];
        for place in 0..PLACES {
            let from = tables[place].as_ptr();
            // SAFETY: each quarter of a table has the 64 bytes that are read.
            registers[place] = unsafe {
                [
                    _mm512_loadu_si512(from.cast()),
                    _mm512_loadu_si512(from.add(64).cast()),
                    _mm512_loadu_si512(from.add(128).cast()),
                    _mm512_loadu_si512(from.add(192).cast()),
                ]
            };
        }
        registers
    }

    /// What the table says of 64 characters of ASCII: half of it is enough.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi")]
    fn of_ascii(table: &[__m512i; 4], bytes: __m512i) -> __m512i {
        _mm512_permutex2var_epi8(table[0], bytes, table[1])
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
    const BYTES_MIN: usize = 8 + WORDS * 8 + KNOWN * 256 + 1;

    fn store(&self, to: &mut Writer<'_>) {
        // What is before follows from the words, and the speed from the machine.
        let Self { exact, before: _, speed: _, known, alone } = self;
        u64::store_all(&exact[..], to);
        known.iter().for_each(|table| table.store(to));
        alone.as_deref().map(|alone| alone.to_vec()).store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let exact: Result<Box<[u64; WORDS]>, _> = u64::load_all(WORDS, from)?.try_into();
        let mut known = Box::new([[0; 256]; KNOWN]);
        for table in &mut *known {
            *table = <[u8; 256]>::load(from)?;
        }
        let alone = Option::<Vec<[u8; 256]>>::load(from)?.map(|alone| alone.try_into().map(Box::new));
        let unfit = "a table of a size that there is none of";
        let exact = exact.map_err(|_| Unfit(unfit))?;
        let alone = alone.transpose().map_err(|_| Unfit(unfit))?;
        Ok(Self { before: counted(&exact), exact, speed: Speed::detect(), known, alone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Folding;
    use crate::rates::Rates;
    use crate::tests::random::Dice;

    fn shares() -> Shares {
        Shares::new(&Rates::new(Folding::None))
    }

    #[test]
    fn all_instructions_find_the_same_places() {
        let mut dice = Dice(1);
        let chunk = dice.bytes(5000, 256);
        let mut next = || dice.roll(256) as u8;
        for count in [1, 8, 9, 300, 65_536] {
            let listed: Vec<[u8; 2]> = match count {
                65_536 => (0..=u16::MAX).map(u16::to_le_bytes).collect(),
                _ => (0..count).map(|_| [next(), next()]).collect(),
            };
            // Nothing is known of what stands before them.
            let known =
                |[first, second]: &[u8; 2]| [Cell::ANY, Cell::ANY, Cell::exact(*first), Cell::exact(*second)];
            let mut pairs = Pairs::new(listed.iter().map(known), &shares());
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
        let mut pairs = Pairs::new(known, &shares());
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
