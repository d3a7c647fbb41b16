//! The same places, found by vector instructions: 64 bytes, or sixteen cores, at once. Rule: what comes of them is what comes of
//! the portable code.

use super::super::classes::Set;
use super::super::windows::{SHIFTS, TO_SHIFT, TO_SLOT};
use super::*;
use std::arch::x86_64::*;

/// Marks where windows may stand, 64 places at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,popcnt")]
pub fn mark(near: &Near, classes: Option<&Classes>, [cores, short]: [&mut [u64]; 2]) {
    let space = _mm512_set1_epi8(b' ' as i8);
    let mut next = _mm512_cmpeq_epi8_mask(load(near, 0), space);
    for (at, cores) in cores.iter_mut().enumerate() {
        let here = next;
        next = _mm512_cmpeq_epi8_mask(load(near, (at + 1) * MASK), space);
        *cores = first_of_four(here, next);
    }
    match classes {
        Some(classes) => mark_short(near, classes, short),
        None => short.fill(0),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn mark_short(near: &Near, classes: &Classes, short: &mut [u64]) {
    let tables = |[one, two, three]: &Set| [table(one), table(two), table(three)];
    let of_ascii = |[one, two, three]: &[Table; 3]| [ascii(one), ascii(two), ascii(three)];
    let (anywhere, beginning) = (tables(&classes.anywhere), tables(&classes.beginning));
    let (anywhere_ascii, beginning_ascii) = (of_ascii(&anywhere), of_ascii(&beginning));
    let space = _mm512_set1_epi8(b' ' as i8);
    // The last byte before the first block.
    let mut before = u64::from(near[BEFORE - 1] == b' ');
    for (at, mask) in short.iter_mut().enumerate() {
        let at = at * MASK;
        let bytes = [load(near, at), load(near, at + 1), load(near, at + 2)];
        let [first, second, third] = bytes;
        let high = _mm512_or_si512(_mm512_or_si512(first, second), third);
        let spaces = _mm512_cmpeq_epi8_mask(first, space);
        let beginnings = spaces << 1 | before;
        before = spaces >> (MASK - 1);
        *mask = if _mm512_movepi8_mask(high) == 0 {
            let numbers = [number(first), number(second), number(third)];
            shared_of_ascii(&anywhere_ascii, numbers)
                | beginnings & shared_of_ascii(&beginning_ascii, numbers)
        } else {
            shared(&anywhere, bytes) | beginnings & shared(&beginning, bytes)
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

/// The same where all are ASCII, by their numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn shared_of_ascii([one, two, three]: &[__m512i; 3], [first, second, third]: [__m512i; 3]) -> u64 {
    let groups = |table: &__m512i, number| _mm512_permutexvar_epi8(number, *table);
    let both = _mm512_and_si512(groups(one, first), groups(two, second));
    _mm512_test_epi8_mask(both, groups(three, third))
}

/// A bit for each place that was taken, one behind the other.
type Flags = [u64; BATCH / MASK + 1];

/// How many places were taken, and which of them are looked at elsewhere, as for [`Batch`].
pub struct Taken {
    count: usize,
    elsewhere: [Flags; 2],
}

/// The places of all masks, and the four bytes at each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
pub fn take_cores(
    near: &Near,
    marked: &Bits,
    elsewhere: &[Bits; 2],
    places: &mut Places,
    fours: &mut Fours,
) -> Taken {
    let mut taken = Taken { count: 0, elsewhere: [[0; _]; 2] };
    let mut count = 0;
    for (at, mask) in marked.iter().copied().enumerate() {
        if mask == 0 {
            continue;
        }
        let base = at * MASK;
        for (flags, bits) in taken.elsewhere.iter_mut().zip(elsewhere) {
            let (word, bit) = (count / MASK, count % MASK);
            let bits = _pext_u64(bits[at], mask);
            flags[word] |= bits << bit;
            flags[word + 1] = bits >> 1 >> (MASK - 1 - bit);
        }
        let of_mask = mask.count_ones() as usize;
        let packed = pack(mask);
        put_places(packed, of_mask, base as u16, places, count);
        if let Some(room) = fours.get_mut(count..).and_then(|fours| fours.first_chunk_mut::<MASK>()) {
            let bytes = [load(near, base), load(near, base + MASK)];
            let (low, high) = room.split_at_mut(MASK / 2);
            put_fours(packed, 0, bytes, low);
            if of_mask > MASK / 2 {
                put_fours(packed, MASK as u8 / 2, bytes, high);
            }
        }
        count += of_mask;
    }
    taken.count = count;
    taken
}

/// Writes the four bytes at each of 32 places of a block, from so many places on, out of it and what follows it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn put_fours(places: __m512i, from: u8, [here, next]: [__m512i; 2], room: &mut [u32]) {
    /// For each byte of sixteen fours: of which it is, and where in it.
    const FOURS: [[u8; MASK]; 2] = {
        let mut bytes = [[0; MASK]; 2];
        let mut at = 0;
        while at < MASK {
            (bytes[0][at], bytes[1][at]) = ((at / 4) as u8, (at % 4) as u8);
            at += 1;
        }
        bytes
    };
    // SAFETY: each has the 64 bytes that are read.
    let [which, within] = FOURS.each_ref().map(|bytes| unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) });
    for (sixteen, from) in room.as_chunks_mut::<LANES>().0.iter_mut().zip((from..).step_by(LANES)) {
        let which = _mm512_add_epi8(which, _mm512_set1_epi8(from as i8));
        let bytes = _mm512_add_epi8(_mm512_permutexvar_epi8(which, places), within);
        let fours = _mm512_permutex2var_epi8(here, bytes, next);
        // SAFETY: there is room for sixteen of four bytes.
        unsafe { _mm512_storeu_si512(sixteen.as_mut_ptr().cast(), fours) };
    }
}

/// How many cores are looked up at once.
const LANES: usize = 16;

/// Parts places by the kinds that their cores have, and of those with more than a core the ones that are looked at elsewhere; how
/// many there are of each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub fn part(
    cores: &Cores,
    fours: &Fours,
    places: &Places,
    taken: &Taken,
    mut parted: [&mut Places; 3],
    there: [&mut Places; 2],
) -> ([usize; 3], [usize; 2]) {
    let mix = _mm512_set1_epi32(cores.mix as i32);
    let shifts = _mm512_set1_epi32(SHIFTS as i32);
    let kinds = [1, 2, 4].map(|kind| _mm512_set1_epi32(kind));
    let (mut counts, mut counts_there) = ([0; 3], [0; 2]);
    let (fours, places) = (fours.as_chunks::<LANES>().0, places.as_chunks::<LANES>().0);
    for ((fours, places), from) in fours.iter().zip(places).zip((0..taken.count).step_by(LANES)) {
        let valid = u16::MAX >> (LANES - (taken.count - from).min(LANES));
        // SAFETY: each has sixteen of what is read. A hash has so few bits left that it is one of the slots.
        let (slots, hash, places) = unsafe {
            let hash = _mm512_mullo_epi32(_mm512_loadu_si512(fours.as_ptr().cast()), mix);
            let slots =
                _mm512_i32gather_epi32::<4>(_mm512_srli_epi32::<TO_SLOT>(hash), cores.slots.as_ptr().cast());
            (slots, hash, _mm256_loadu_si256(places.as_ptr().cast()))
        };
        let shift = _mm512_and_si512(_mm512_srli_epi32::<TO_SHIFT>(hash), shifts);
        let has = _mm512_srlv_epi32(slots, shift);
        let has_kind = kinds.map(|kind| _mm512_mask_test_epi32_mask(valid, has, kind));
        for ((parted, count), has_kind) in parted.iter_mut().zip(&mut counts).zip(has_kind) {
            put(has_kind, places, parted, count);
        }
        let is_there = taken.elsewhere.each_ref().map(|flags| (flags[from / MASK] >> (from % MASK)) as u16);
        // Seldom any.
        if has_kind[0] & is_there[0] | has_kind[1] & is_there[1] != 0 {
            for at in 0..there.len() {
                put(has_kind[at] & is_there[at], places, there[at], &mut counts_there[at]);
            }
        }
    }
    (counts, counts_there)
}

/// Writes those of sixteen places behind others.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn put(which: u16, sixteen: __m256i, places: &mut Places, count: &mut usize) {
    if let Some(room) = places.get_mut(*count..).and_then(|places| places.first_chunk_mut::<LANES>()) {
        // SAFETY: there is room for sixteen places.
        unsafe {
            _mm256_storeu_si256(room.as_mut_ptr().cast(), _mm256_maskz_compress_epi16(which, sixteen));
        }
    }
    *count += which.count_ones() as usize;
}

/// The places of a mask's bits, all at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
pub fn take(mask: u64, base: u16, places: &mut Places, count: usize) -> usize {
    let of_mask = mask.count_ones() as usize;
    put_places(pack(mask), of_mask, base, places, count);
    count + of_mask
}

/// The numbers of a mask's bits, one behind the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
fn pack(mask: u64) -> __m512i {
    const EACH: [u8; MASK] = {
        let mut each = [0; MASK];
        let mut at = 0;
        while at < MASK {
            each[at] = at as u8;
            at += 1;
        }
        each
    };
    // SAFETY: `EACH` has the 64 bytes that are read.
    _mm512_maskz_compress_epi8(mask, unsafe { _mm512_loadu_si512(EACH.as_ptr().cast()) })
}

/// Writes so many places of a block, which begins at `base`, behind those that there are.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn put_places(packed: __m512i, of_mask: usize, base: u16, places: &mut Places, count: usize) {
    if let Some(room) = places.get_mut(count..).and_then(|places| places.first_chunk_mut::<MASK>()) {
        let base = _mm512_set1_epi16(base as i16);
        let wide = |half| _mm512_add_epi16(_mm512_cvtepu8_epi16(half), base);
        let low = wide(_mm512_castsi512_si256(packed));
        // SAFETY: there is room for 64 places of two bytes.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), low) };
        if of_mask > MASK / 2 {
            let high = wide(_mm512_extracti64x4_epi64::<1>(packed));
            // SAFETY: the same.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().add(MASK / 2).cast(), high) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(near: &Near, at: usize) -> __m512i {
    let bytes = block(near, at);
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
    let [low, lower, high, highest] = *table;
    let [ascii, other] =
        [[low, lower], [high, highest]].map(|[first, second]| _mm512_permutex2var_epi8(first, bytes, second));
    _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), ascii, other)
}

/// What a table has for ASCII, by [`number`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn ascii([low, lower, ..]: &Table) -> __m512i {
    // The third quarter of ASCII is capitals and others that fold; of it there is one character, and none like it in the last.
    const EACH: [u8; MASK] = {
        let mut each = [0; MASK];
        let mut number = 0;
        while number < MASK {
            let at = number as u8;
            each[number] = match at {
                0 => b' ',
                1..0x20 => at | 0x20,
                0x20 => b'@',
                _ => at | 0x40,
            };
            number += 1;
        }
        each
    };
    // SAFETY: `EACH` has the 64 bytes that are read.
    let each = unsafe { _mm512_loadu_si512(EACH.as_ptr().cast()) };
    _mm512_permutex2var_epi8(*low, each, *lower)
}

/// The number of an ASCII character among those that both readings are made of, in its lowest six bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn number(bytes: __m512i) -> __m512i {
    // The bit that tells letters stands where another one does that says nothing more.
    const OTHER_OR_SHIFTED: i32 = 0b1101_1000;
    let is_letter = _mm512_srli_epi16::<1>(bytes);
    _mm512_ternarylogic_epi32::<OTHER_OR_SHIFTED>(bytes, is_letter, _mm512_set1_epi8(0x20))
}
