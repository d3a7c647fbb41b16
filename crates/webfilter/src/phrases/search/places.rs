//! Where windows may stand in a reading: [`Masks`], [`Batch`]. Rule: no branch depends on what a page says, so that the processor
//! runs ahead over many places at once.
//!
//! A bit mask tells for 64 places at once which of them a kind may begin at. These places are read off the mask, and filters
//! keep of them what is gone through later. Unsafe code stands here only.

use super::classes::Classes;
use super::windows::{BEFORE, BEHIND, CORES, Filter, Kind, LONG, SHORT};

/// How many places are looked at before what was kept is gone through.
pub(super) const BATCH: usize = 16 * MASK;
/// The places of one mask.
pub(super) const MASK: usize = 64;
/// How many places are taken from a mask at once.
const TAKEN: usize = 8;

/// The bytes of a batch's places, and some before and behind them. Outside the text they are zero, which is no space.
pub(super) type Near = [u8; BEFORE + BATCH + 2 * MASK];
/// Places of a batch, and room behind the last.
type Places = [u16; BATCH + MASK];
/// As many masks as a batch has.
pub(super) type Bits = [u64; BATCH / MASK];

/// Which instructions the loops are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speed {
    Portable,
    /// Those that find and count bits by themselves, and shift by any register.
    #[cfg(target_arch = "x86_64")]
    Bits,
    /// And those that compare 64 bytes at once, and look 64 up.
    #[cfg(target_arch = "x86_64")]
    Vectors,
}

impl Speed {
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let bits = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            let vectors = is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2");
            match (bits, vectors) {
                (true, true) => return Self::Vectors,
                (true, false) => return Self::Bits,
                _ => {}
            }
        }
        Self::Portable
    }
}

/// Where windows may stand, a bit for each place of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Masks {
    /// The first of four that are no spaces.
    cores: Bits,
    /// What the classes let through.
    short: Bits,
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Sought {
    /// Of shortest windows, if there are any.
    pub classes: Option<Classes>,
    /// What all cores have.
    pub cores: Filter<CORES>,
    pub behind: Filter<LONG>,
    pub before: Filter<LONG>,
    /// What is looked for at the beginning of a page.
    pub open: Open,
}

/// Short windows that are still looked for: in a page words come again, and most need to be found once.
#[derive(Clone, Debug)]
pub(in crate::phrases) struct Open {
    pub(super) core: Filter<SHORT>,
    pub(super) three: Filter<SHORT>,
    pub(super) two: Filter<SHORT>,
}

/// The places that were kept of a batch, by kind; room that is used again.
pub(super) struct Batch {
    masks: Masks,
    /// Those that are marked, and those that have a core.
    places: Places,
    cores: Places,
    kept: [Places; 5],
    counts: [usize; 5],
}

impl Batch {
    pub fn new() -> Self {
        let masks = Masks { cores: [0; _], short: [0; _] };
        Self { masks, places: [0; _], cores: [0; _], kept: [[0; _]; 5], counts: [0; 5] }
    }

    /// The places that were kept of a kind, in order.
    pub fn kept(&self, kind: Kind) -> &[u16] {
        &self.kept[kind as usize][..self.counts[kind as usize]]
    }

    /// Of a batch's places those where windows may stand, if they are wanted.
    pub fn look(&mut self, sought: &Sought, open: &Open, near: &Near, wanted: &Bits, speed: Speed) {
        match speed {
            Speed::Portable => {
                mark(near, sought.classes.as_ref(), &mut self.masks);
                self.keep(sought, open, near, wanted, take);
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the functions are compiled for.
            Speed::Bits => unsafe {
                x86_64::mark_by_bits(near, sought.classes.as_ref(), &mut self.masks);
                self.keep_by_bits(sought, open, near, wanted);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the functions are compiled for.
            Speed::Vectors => unsafe {
                x86_64::mark_by_vectors(near, sought.classes.as_ref(), &mut self.masks);
                self.keep_by_vectors(sought, open, near, wanted);
            },
        }
    }

    /// The portable code, made of other instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn keep_by_bits(&mut self, sought: &Sought, open: &Open, near: &Near, wanted: &Bits) {
        self.keep(sought, open, near, wanted, take);
    }

    /// The same, with places taken 64 at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
    fn keep_by_vectors(&mut self, sought: &Sought, open: &Open, near: &Near, wanted: &Bits) {
        let take = |mask, base, places: &mut Places, count| x86_64::take(mask, base, places, count);
        self.keep(sought, open, near, wanted, take);
    }

    #[inline(always)]
    fn keep(
        &mut self,
        sought: &Sought,
        open: &Open,
        near: &Near,
        wanted: &Bits,
        take: impl Fn(u64, u16, &mut Places, usize) -> usize,
    ) {
        let [behind, before, core, three, two] = &mut self.kept;
        let marked = take_all(&self.masks.cores, wanted, &mut self.places, &take);
        let mut count = 0;
        for place in &self.places[..marked] {
            add(&mut self.cores, &mut count, *place, sought.cores.holds(word_at(near, *place)));
        }
        let mut counts = [0; 5];
        for place in &self.cores[..count] {
            let word = word_at(near, *place);
            add(behind, &mut counts[0], *place, sought.behind.holds(word));
            add(before, &mut counts[1], *place, sought.before.holds(word_before(near, *place)));
            add(core, &mut counts[2], *place, open.core.holds(word));
        }
        if sought.classes.is_some() {
            let marked = take_all(&self.masks.short, wanted, &mut self.places, &take);
            for place in &self.places[..marked] {
                let word = word_at(near, *place);
                add(three, &mut counts[3], *place, open.three.holds(word));
                add(two, &mut counts[4], *place, open.two.holds(word));
            }
        }
        self.counts = counts;
    }
}

/// Adds a place to others, or something that means nothing.
#[inline(always)]
fn add(places: &mut Places, count: &mut usize, place: u16, is_one: bool) {
    // No more are kept than there are.
    places[*count % BATCH] = place;
    *count += usize::from(is_one);
}

/// What stands at a place.
#[inline(always)]
fn word_at(near: &Near, at: u16) -> u64 {
    let at = usize::from(at) % BATCH + BEFORE;
    near[at..at + BEHIND].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// What stands around it.
#[inline(always)]
fn word_before(near: &Near, at: u16) -> u64 {
    let at = usize::from(at) % BATCH;
    near[at..at + BEFORE + 4].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// The places of all masks, as far as they are wanted; how many.
#[inline(always)]
fn take_all(
    masks: &Bits,
    wanted: &Bits,
    places: &mut Places,
    take: &impl Fn(u64, u16, &mut Places, usize) -> usize,
) -> usize {
    let mut count = 0;
    for ((mask, wanted), base) in masks.iter().zip(wanted).zip((0..).step_by(MASK)) {
        count = take(mask & wanted, base, places, count);
    }
    count
}

/// Writes the places of a mask's bits behind those that there are, and some that mean nothing; how many there are then.
#[inline(always)]
fn take(mut mask: u64, base: u16, places: &mut Places, count: usize) -> usize {
    let end = count + mask.count_ones() as usize;
    let mut at = count;
    while at < end {
        let Some(eight) = places.get_mut(at..).and_then(|places| places.first_chunk_mut::<TAKEN>()) else {
            break;
        };
        for place in eight {
            *place = base + mask.trailing_zeros() as u16;
            mask &= mask.wrapping_sub(1);
        }
        at += TAKEN;
    }
    end
}

/// Marks where windows may stand.
#[inline(always)]
fn mark(near: &Near, classes: Option<&Classes>, masks: &mut Masks) {
    let mut next = spaces(block(near, 0));
    for at in 0..BATCH / MASK {
        let here = next;
        next = spaces(block(near, (at + 1) * MASK));
        masks.cores[at] = first_of_four(here, next);
        masks.short[at] = classes.map_or(0, |classes| {
            (0..MASK).fold(0, |mask, bit| {
                let place = BEFORE + at * MASK + bit;
                mask | u64::from(classes.holds([near[place], near[place + 1], near[place + 2]])) << bit
            })
        });
    }
}

/// The first of each four bytes that are no spaces, where the spaces are known, and those that follow.
#[inline(always)]
fn first_of_four(spaces: u64, next: u64) -> u64 {
    let others = !(u128::from(spaces) | u128::from(next) << 64);
    let two = others & others >> 1;
    (two & two >> 2) as u64
}

/// The bytes of 64 places.
#[inline(always)]
fn block(near: &Near, at: usize) -> &[u8; MASK] {
    const NONE: &[u8; MASK] = &[0; MASK];
    near[BEFORE + at..].first_chunk().unwrap_or(NONE)
}

/// Which of 64 bytes are spaces, a bit for each.
#[inline(always)]
fn spaces(bytes: &[u8; MASK]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let eights = bytes.as_chunks::<8>().0.iter().zip((0..64).step_by(8));
    eights.fold(0, |mask, (eight, shift)| {
        let other = u64::from_le_bytes(*eight) ^ 0x2020_2020_2020_2020;
        // The highest bit of each byte that is zero, and no other; then these eight bits side by side.
        let zero = !((other & LOW).wrapping_add(LOW) | other | LOW);
        mask | ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << shift
    })
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::*;
    use std::arch::x86_64::*;

    /// The portable code, made of other instructions.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub fn mark_by_bits(near: &Near, classes: Option<&Classes>, masks: &mut Masks) {
        mark(near, classes, masks);
    }

    /// The same, 64 places at once.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,popcnt")]
    pub fn mark_by_vectors(near: &Near, classes: Option<&Classes>, masks: &mut Masks) {
        let space = _mm512_set1_epi8(b' ' as i8);
        let mut next = _mm512_cmpeq_epi8_mask(load(near, 0), space);
        for at in 0..BATCH / MASK {
            let here = next;
            next = _mm512_cmpeq_epi8_mask(load(near, (at + 1) * MASK), space);
            masks.cores[at] = first_of_four(here, next);
        }
        match classes {
            Some(classes) => mark_short(near, classes, &mut masks.short),
            None => masks.short = [0; _],
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn mark_short(near: &Near, classes: &Classes, short: &mut Bits) {
        let sets = classes.sets.each_ref().map(|[one, two, three]| [table(one), table(two), table(three)]);
        for (at, mask) in short.iter_mut().enumerate() {
            let bytes = [0, 1, 2].map(|turn| load(near, at * MASK + turn));
            let is_ascii = bytes.iter().all(|bytes| _mm512_movepi8_mask(*bytes) == 0);
            *mask = sets.iter().fold(0, |mask, [one, two, three]| {
                let [first, second, third] = bytes;
                let groups = |table, bytes| {
                    if is_ascii { groups_of_ascii(table, bytes) } else { groups(table, bytes) }
                };
                let both = _mm512_and_si512(groups(one, first), groups(two, second));
                mask | _mm512_test_epi8_mask(both, groups(three, third))
            });
        }
    }

    /// The places of a mask's bits, all at once.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    pub fn take(mask: u64, base: u16, places: &mut Places, count: usize) -> usize {
        const EACH: [u8; MASK] = {
            let mut each = [0; MASK];
            let mut at = 0;
            while at < MASK {
                each[at] = at as u8;
                at += 1;
            }
            each
        };
        if let Some(room) = places.get_mut(count..).and_then(|places| places.first_chunk_mut::<MASK>()) {
            // SAFETY: `EACH` has the 64 bytes that are read.
            let each = unsafe { _mm512_loadu_si512(EACH.as_ptr().cast()) };
            let packed = _mm512_maskz_compress_epi8(mask, each);
            let base = _mm512_set1_epi16(base as i16);
            let wide = |half| _mm512_add_epi16(_mm512_cvtepu8_epi16(half), base);
            let low = wide(_mm512_castsi512_si256(packed));
            let high = wide(_mm512_extracti64x4_epi64::<1>(packed));
            // SAFETY: there is room for 64 places of two bytes.
            unsafe {
                _mm512_storeu_si512(room.as_mut_ptr().cast(), low);
                _mm512_storeu_si512(room.as_mut_ptr().add(MASK / 2).cast(), high);
            }
        }
        count + mask.count_ones() as usize
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(near: &Near, at: usize) -> __m512i {
        let bytes = block(near, at);
        // SAFETY: `bytes` has the 64 bytes that are read.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// A table for all bytes, in four registers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn table(table: &[u8; 256]) -> [__m512i; 4] {
        let quarter = |at: usize| {
            // SAFETY: the table has 256 bytes, of which the 64 from each quarter on are read.
            unsafe { _mm512_loadu_si512(table.as_ptr().add(at * 64).cast()) }
        };
        [quarter(0), quarter(1), quarter(2), quarter(3)]
    }

    /// What a table has for each byte.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn groups(table: &[__m512i; 4], bytes: __m512i) -> __m512i {
        let [_, _, high, highest] = *table;
        let other = _mm512_permutex2var_epi8(high, bytes, highest);
        _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), groups_of_ascii(table, bytes), other)
    }

    /// The same where all are ASCII.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn groups_of_ascii([low, lower, ..]: &[__m512i; 4], bytes: __m512i) -> __m512i {
        _mm512_permutex2var_epi8(*low, bytes, *lower)
    }
}

#[cfg(test)]
mod tests {
    use super::super::windows::word;
    use super::*;

    #[test]
    fn all_instructions_mark_the_same_places() {
        let mut word = 1_u32;
        let near: Near = std::array::from_fn(|_| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"  abcxyz\xc3\xa4\xff\0"[(word >> 24) as usize % 12]
        });
        let windows =
            [&b"abc"[..], b"xyz", b"\xc3\xa4a", b"ab ", b"\xff\xff\0", b"ccc", b"xxa", b"zay", b"byb"];

        let words: Vec<u64> = windows.iter().map(|window| self::word(window)).collect();
        let classes = Classes::new(&words[2..], &words[..2]);
        let mut expected = Batch::new().masks;
        mark(&near, Some(&classes), &mut expected);
        for place in 0..BATCH {
            let bit = |masks: &[u64]| masks[place / MASK] >> (place % MASK) & 1 == 1;
            let four = &near[BEFORE + place..BEFORE + place + 4];
            assert_eq!(bit(&expected.cores), !four.contains(&b' '), "{place}");
            assert!(
                bit(&expected.short) || !windows.iter().any(|window| four.starts_with(window)),
                "{place}"
            );
        }
        #[cfg(target_arch = "x86_64")]
        if Speed::detect() == Speed::Vectors {
            let mut masks = Batch::new().masks;
            // SAFETY: the instructions are there.
            unsafe { x86_64::mark_by_vectors(&near, Some(&classes), &mut masks) };
            assert!(masks == expected);
        }
    }

    #[test]
    fn places_are_those_of_the_bits() {
        let mut places: Places = [0; _];
        for mask in [0, 1, 1 << 63, u64::MAX, 0x00ff_00ff_1234_8001] {
            let count = take(mask, 128, &mut places, 0);
            let expected: Vec<u16> =
                (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| 128 + bit).collect();
            assert_eq!(places[..count], expected);
        }
    }
}
