//! The same places, found by vector instructions: 64 bytes, or sixteen cores, at once. Rule: what comes of them is what comes of
//! the portable code.

use super::super::windows::{
    CLASSES, EDGES_MIX, LONG_MIX, SHIFTS, TO_LONG_BIT, TO_LONG_SLOT, TO_SHIFT, TO_SLOT,
};
use super::*;
use std::arch::x86_64::*;

/// The portable code, made of other instructions.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub fn mark_by_bits(near: &Near<'_>, classes: Option<&Classes>, masks: &mut Masks) {
    mark(near, classes, masks);
}

/// The same, 64 places at once.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,popcnt")]
pub fn mark_by_vectors(near: &Near<'_>, classes: Option<&Classes>, masks: &mut Masks) {
    let space = _mm512_set1_epi8(b' ' as i8);
    let mut next = _mm512_cmpeq_epi8_mask(load(near, 0), space);
    for at in 0..near.masks {
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
fn mark_short(near: &Near<'_>, classes: &Classes, short: &mut Bits) {
    let [[one, two, three], [other_one, other_two, other_three]] = &classes.sets;
    let set = [table(one), table(two), table(three)];
    let other_set = [table(other_one), table(other_two), table(other_three)];
    for (at, mask) in short.iter_mut().enumerate().take(near.masks) {
        let at = at * MASK;
        let bytes = [load(near, at), load(near, at + 1), load(near, at + 2)];
        let [first, second, third] = bytes;
        let high = _mm512_or_si512(_mm512_or_si512(first, second), third);
        *mask = if _mm512_movepi8_mask(high) == 0 {
            shared_of_ascii(&set, bytes) | shared_of_ascii(&other_set, bytes)
        } else {
            shared(&set, bytes) | shared(&other_set, bytes)
        };
    }
}

/// Where three bytes have a group in common.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn shared([one, two, three]: &[Table; 3], [first, second, third]: [__m512i; 3]) -> u64 {
    let both = _mm512_and_si512(groups(one, first), groups(two, second));
    _mm512_test_epi8_mask(both, groups(three, third))
}

/// The same where all are ASCII.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn shared_of_ascii([one, two, three]: &[Table; 3], [first, second, third]: [__m512i; 3]) -> u64 {
    let both = _mm512_and_si512(groups_of_ascii(one, first), groups_of_ascii(two, second));
    _mm512_test_epi8_mask(both, groups_of_ascii(three, third))
}

/// The instructions of [`Speed::Vectors`]. Whoever has one knows that they are there.
#[derive(Clone, Copy)]
pub struct Vectors(());

impl Vectors {
    /// # Safety
    ///
    /// [`Speed::detect`] found them.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }
}

impl Sieve for Vectors {
    #[inline(always)]
    fn take(self, mask: u64, base: u16, places: &mut Places, count: usize) -> usize {
        // SAFETY: the instructions are there.
        unsafe { take(mask, base, places, count) }
    }

    #[inline(always)]
    fn part(
        self,
        near: &Near<'_>,
        marked: &Bits,
        cores: &Cores,
        room: &mut Room,
        parted: [&mut Places; 3],
    ) -> [usize; 3] {
        // SAFETY: the instructions are there.
        unsafe {
            let count = take_cores(near, marked, room);
            part(cores, room, count, parted)
        }
    }

    #[inline(always)]
    fn long(self, near: &Near<'_>, side: Side, longs: &Longs, places: &mut Places, count: usize) -> usize {
        // SAFETY: the instructions are there.
        unsafe { long(near, side, longs, places, count) }
    }

    #[inline(always)]
    fn between<const BYTES: usize, const SLOTS: usize>(
        self,
        near: &Near<'_>,
        edges: &Edges<BYTES, SLOTS>,
        elsewhere: &Bits,
        places: &mut Places,
        count: usize,
    ) -> usize {
        // SAFETY: the instructions are there.
        unsafe { between(near, edges, elsewhere, places, count) }
    }
}

/// How many places are looked up at once.
const LANES: usize = 16;

/// The places of all bits, and the four bytes at each; how many.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn take_cores(near: &Near<'_>, marked: &Bits, room: &mut Room) -> usize {
    /// Where the bytes of sixteen fours stand.
    const FOURS: [u8; MASK] = {
        let mut bytes = [0; MASK];
        let mut at = 0;
        while at < MASK {
            bytes[at] = (at / 4 + at % 4) as u8;
            at += 1;
        }
        bytes
    };
    // SAFETY: `FOURS` has the 64 bytes that are read.
    let each = unsafe { _mm512_loadu_si512(FOURS.as_ptr().cast()) };
    let mut count = 0;
    for (mask, base) in marked.iter().zip((0..).step_by(MASK)) {
        take(*mask, base as u16, &mut room.places, count);
        for quarter in (0..MASK).step_by(LANES) {
            let bits = (mask >> quarter) as u16;
            let fours = _mm512_permutexvar_epi8(each, load(near, base + quarter));
            if let Some(room) = room.fours.get_mut(count..).and_then(|fours| fours.first_chunk_mut::<LANES>())
            {
                // SAFETY: there is room for sixteen of four bytes.
                unsafe {
                    _mm512_storeu_si512(room.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(bits, fours))
                };
            }
            count += bits.count_ones() as usize;
        }
    }
    count
}

/// Parts places by the kinds that their cores have; how many have each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn part(cores: &Cores, room: &Room, marked: usize, parted: [&mut Places; 3]) -> [usize; 3] {
    let mix = _mm512_set1_epi32(cores.mix as i32);
    let shifts = _mm512_set1_epi32(SHIFTS as i32);
    let kinds = [Kind::Behind, Kind::Before, Kind::Core].map(|kind| _mm512_set1_epi32(1 << kind as u32));
    let [behind, before, core] = parted;
    let mut counts = [0; 3];
    let (all_fours, all_places) = (room.fours.as_chunks::<LANES>().0, room.places.as_chunks::<LANES>().0);
    for ((fours, places), from) in all_fours.iter().zip(all_places).zip((0..marked).step_by(LANES)) {
        let there = first_of(marked - from);
        // SAFETY: sixteen of four bytes are read.
        let hash = _mm512_mullo_epi32(unsafe { _mm512_loadu_si512(fours.as_ptr().cast()) }, mix);
        let slots = looked_up(&cores.slots, _mm512_srli_epi32::<TO_SLOT>(hash));
        let has = _mm512_srlv_epi32(slots, _mm512_and_si512(_mm512_srli_epi32::<TO_SHIFT>(hash), shifts));
        let bits = kinds.map(|kind| _mm512_mask_test_epi32_mask(there, has, kind));
        let places = sixteen(places);
        counts[0] = keep(behind, counts[0], bits[0], places);
        counts[1] = keep(before, counts[1], bits[1], places);
        counts[2] = keep(core, counts[2], bits[2], places);
    }
    counts
}

/// Keeps those of so many places where a long window may stand; how many.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn long(near: &Near<'_>, side: Side, longs: &Longs, places: &mut Places, count: usize) -> usize {
    let [mix, other_mix] = LONG_MIX.map(|mix| _mm512_set1_epi32(mix as i32));
    let one = _mm512_set1_epi32(1);
    let mut kept = 0;
    for from in (0..count).step_by(LANES) {
        let Some(chunk) = places.get(from..).and_then(|places| places.first_chunk()) else { break };
        let here = sixteen(chunk);
        let at = _mm512_cvtepu16_epi32(here);
        let core = near_at::<BEFORE>(near, at);
        let other = match side {
            Side::Behind => near_at::<{ BEFORE + CORE_BYTES }>(near, at),
            Side::Before => near_at::<0>(near, at),
        };
        let hash = _mm512_add_epi32(_mm512_mullo_epi32(core, mix), _mm512_mullo_epi32(other, other_mix));
        let slots = looked_up(&longs.bits, _mm512_srli_epi32::<TO_LONG_SLOT>(hash));
        // A shift of a vector's words by more than they have bits is none, but of a rotation it is what is left over.
        let bit = _mm512_rolv_epi32(one, _mm512_srli_epi32::<TO_LONG_BIT>(hash));
        let holds = _mm512_mask_test_epi32_mask(first_of(count - from), slots, bit);
        kept = keep(places, kept, holds, here);
    }
    kept
}

/// Keeps those of so many places where a short window has the right bytes around it, or that are looked at elsewhere; how many.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn between<const BYTES: usize, const SLOTS: usize>(
    near: &Near<'_>,
    edges: &Edges<BYTES, SLOTS>,
    elsewhere: &Bits,
    places: &mut Places,
    count: usize,
) -> usize {
    let (mix, low, classes) = (
        _mm512_set1_epi32(EDGES_MIX as i32),
        _mm512_set1_epi32((u32::MAX >> (32 - 8 * BYTES as u32)) as i32),
        _mm512_set1_epi32(CLASSES as i32 - 1),
    );
    let to_slot = _mm_cvtsi32_si128((u32::BITS - SLOTS.ilog2()) as i32);
    let class = |byte| _mm512_and_si512(_mm512_xor_si512(byte, _mm512_srli_epi32::<4>(byte)), classes);
    let mut kept = 0;
    for from in (0..count).step_by(LANES) {
        let Some(chunk) = places.get(from..).and_then(|places| places.first_chunk()) else { break };
        let here = sixteen(chunk);
        let at = _mm512_cvtepu16_epi32(here);
        // The byte before and three of the window; all but its first byte, and the one behind.
        let before = near_at::<{ BEFORE - 1 }>(near, at);
        let window = near_at::<BEFORE>(near, at);
        let behind = near_at::<{ BEFORE + 1 }>(near, at);
        let hash = _mm512_mullo_epi32(_mm512_and_si512(window, low), mix);
        let slots = looked_up(&edges.slots, _mm512_srl_epi32(hash, to_slot));
        let behind = _mm512_srl_epi32(behind, _mm_cvtsi32_si128(8 * (BYTES as i32 - 1)));
        let behind = _mm512_srlv_epi32(slots, class(behind));
        let before = _mm512_srlv_epi32(_mm512_srli_epi32::<CLASSES>(slots), class(before));
        let holds = _mm512_test_epi32_mask(_mm512_and_si512(behind, before), _mm512_set1_epi32(1));
        let holds = (holds | those_with(elsewhere, at)) & first_of(count - from);
        kept = keep(places, kept, holds, here);
    }
    kept
}

/// So many of sixteen, a bit for each.
fn first_of(count: usize) -> u16 {
    u16::MAX >> (LANES - count.min(LANES))
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn sixteen(places: &[u16; LANES]) -> __m256i {
    // SAFETY: they have the 32 bytes that are read.
    unsafe { _mm256_loadu_si256(places.as_ptr().cast()) }
}

/// Writes those of sixteen places that have a bit behind others; how many there are then.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn keep(places: &mut Places, count: usize, bits: u16, sixteen: __m256i) -> usize {
    if let Some(room) = places.get_mut(count..).and_then(|places| places.first_chunk_mut::<LANES>()) {
        // SAFETY: there is room for sixteen places.
        unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), _mm256_maskz_compress_epi16(bits, sixteen)) };
    }
    count + bits.count_ones() as usize
}

/// What sixteen slots of a table have. Their numbers are taken as far as there are slots.
#[inline]
#[target_feature(enable = "avx512f")]
fn looked_up<const SLOTS: usize>(table: &[u32; SLOTS], slots: __m512i) -> __m512i {
    const { assert!(SLOTS.is_power_of_two()) };
    let slots = _mm512_and_si512(slots, _mm512_set1_epi32(SLOTS as i32 - 1));
    // SAFETY: each number is less than there are slots.
    unsafe { _mm512_i32gather_epi32::<4>(slots, table.as_ptr().cast()) }
}

/// Four bytes so far behind the beginning of `near` from sixteen places on. Places are taken as far as there are any.
#[inline]
#[target_feature(enable = "avx512f")]
fn near_at<const FROM: usize>(near: &Near<'_>, places: __m512i) -> __m512i {
    const { assert!(FROM + size_of::<u32>() <= BEFORE + 2 * MASK) };
    let at = _mm512_min_epu32(places, _mm512_set1_epi32((near.masks * MASK) as i32));
    // SAFETY: the bytes are as many as there are places, those before the first, and two masks'. Four of them are read, not
    // further behind a place than these reach, and no place is behind the last.
    unsafe { _mm512_i32gather_epi32::<1>(at, near.bytes.as_ptr().add(FROM).cast()) }
}

/// Which of sixteen places have a bit. Places are taken as far as there are any.
#[inline]
#[target_feature(enable = "avx512f")]
fn those_with(bits: &Bits, places: __m512i) -> u16 {
    let at = _mm512_and_si512(_mm512_srli_epi32::<5>(places), _mm512_set1_epi32(BATCH as i32 / 32 - 1));
    // SAFETY: there are half as many words of 64 bits, and each number is less than that.
    let words = unsafe { _mm512_i32gather_epi32::<4>(at, bits.as_ptr().cast()) };
    _mm512_test_epi32_mask(words, _mm512_rolv_epi32(_mm512_set1_epi32(1), places))
}

/// The places of a mask's bits, all at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn take(mask: u64, base: u16, places: &mut Places, count: usize) -> usize {
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
        // SAFETY: there is room for 64 places of two bytes.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), low) };
        if mask.count_ones() as usize > MASK / 2 {
            let high = wide(_mm512_extracti64x4_epi64::<1>(packed));
            // SAFETY: the same.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().add(MASK / 2).cast(), high) };
        }
    }
    count + mask.count_ones() as usize
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(near: &Near<'_>, at: usize) -> __m512i {
    let bytes = near.block(at);
    // SAFETY: `bytes` has the 64 bytes that are read.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// A table for all bytes, in four registers.
type Table = [__m512i; 4];

#[inline]
#[target_feature(enable = "avx512f")]
fn table(table: &[u8; 256]) -> Table {
    let quarter = |at: usize| {
        // SAFETY: the table has 256 bytes, of which the 64 from each quarter on are read.
        unsafe { _mm512_loadu_si512(table.as_ptr().add(at * MASK).cast()) }
    };
    [quarter(0), quarter(1), quarter(2), quarter(3)]
}

/// What a table has for each byte.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn groups(table: &Table, bytes: __m512i) -> __m512i {
    let [_, _, high, highest] = *table;
    let other = _mm512_permutex2var_epi8(high, bytes, highest);
    _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), groups_of_ascii(table, bytes), other)
}

/// The same where all are ASCII.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn groups_of_ascii([low, lower, ..]: &Table, bytes: __m512i) -> __m512i {
    _mm512_permutex2var_epi8(*low, bytes, *lower)
}
