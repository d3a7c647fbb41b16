//! Of spaces only one in a row: [`squeeze`]. Rule: what is left stands in one piece from each space that is left out to the next.

use super::speed::{Speed, spaces};

/// How many bytes are looked at at once.
const BLOCK: usize = 64;

/// A stretch of bytes that was copied whole: where it stood, where it stands, how long it is.
pub(super) type Stretch = (usize, usize, usize);

/// Appends bytes, of spaces only one in a row, where the last byte before them may be a space. Says which stretches were copied.
pub(super) fn squeeze(
    from: &[u8],
    is_behind_space: bool,
    out: &mut Vec<u8>,
    copied: &mut dyn FnMut(Stretch),
) {
    squeeze_at(Speed::detect(), from, is_behind_space, out, copied);
}

fn squeeze_at(
    speed: Speed,
    from: &[u8],
    is_behind_space: bool,
    out: &mut Vec<u8>,
    copied: &mut dyn FnMut(Stretch),
) {
    match speed {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the instructions that the function is compiled for.
        Speed::Vectors => unsafe { x86_64::squeeze(from, is_behind_space, out, copied) },
        _ => squeeze_by(from, is_behind_space, out, copied, spaces, pack),
    }
}

/// The loop; `find` says which bytes of a block are spaces, `pack` moves those that are kept together.
#[inline(always)]
fn squeeze_by(
    from: &[u8],
    is_behind_space: bool,
    out: &mut Vec<u8>,
    copied: &mut dyn FnMut(Stretch),
    find: impl Fn(&[u8; BLOCK]) -> u64,
    pack: impl Fn(&[u8; BLOCK], u64, &mut [u8; BLOCK]),
) {
    let start = out.len();
    // A block is written whole, whatever of it counts.
    out.resize(start + from.len() + BLOCK, 0);
    let mut carry = u64::from(is_behind_space);
    let (mut write, mut begin, mut stands) = (start, 0, start);
    let mut last = [0; BLOCK];
    for base in (0..from.len()).step_by(BLOCK) {
        let block = from[base..].first_chunk().unwrap_or_else(|| {
            let rest = &from[base..];
            last[..rest.len()].copy_from_slice(rest);
            &last
        });
        let there = u64::MAX >> (BLOCK - (from.len() - base).min(BLOCK));
        let found = find(block);
        let mut second = found & (found << 1 | carry);
        carry = found >> (BLOCK - 1);
        let kept = there & !second;
        if let Some(room) = out.get_mut(write..).and_then(|out| out.first_chunk_mut()) {
            pack(block, kept, room);
        }
        write += kept.count_ones() as usize;
        while second != 0 {
            let end = base + second.trailing_zeros() as usize;
            if end > begin {
                copied((begin, stands, end - begin));
            }
            (stands, begin) = (stands + end - begin, end + 1);
            second &= second - 1;
        }
    }
    if from.len() > begin {
        copied((begin, stands, from.len() - begin));
    }
    out.truncate(write);
}

/// Moves the bytes of a mask together.
#[inline(always)]
fn pack(block: &[u8; BLOCK], kept: u64, out: &mut [u8; BLOCK]) {
    if kept == u64::MAX {
        *out = *block;
        return;
    }
    let mut write = 0;
    for (byte, at) in block.iter().zip(0..) {
        // No more are kept than there are.
        out[write % BLOCK] = *byte;
        write += (kept >> at & 1) as usize;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::{BLOCK, Stretch, squeeze_by};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
    pub fn squeeze(from: &[u8], is_behind_space: bool, out: &mut Vec<u8>, copied: &mut dyn FnMut(Stretch)) {
        let find = |block: &[u8; BLOCK]| _mm512_cmpeq_epi8_mask(load(block), _mm512_set1_epi8(b' ' as i8));
        let pack = |block: &[u8; BLOCK], kept, out: &mut [u8; BLOCK]| {
            let packed = _mm512_maskz_compress_epi8(kept, load(block));
            // SAFETY: `out` has room for the 64 bytes that are written.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), packed) };
        };
        squeeze_by(from, is_behind_space, out, copied, find, pack);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(block: &[u8; BLOCK]) -> __m512i {
        // SAFETY: `block` has the 64 bytes that are read.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_spaces_one_is_left_and_stretches_are_copies() {
        let mut word = 1_u32;
        for length in (0..200).chain([1000]) {
            let from: Vec<u8> = (0..length)
                .map(|_| {
                    word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"  ab\0"[(word >> 24) as usize % 5]
                })
                .collect();
            for is_behind_space in [true, false] {
                let mut expected = b"before".to_vec();
                let mut is_space = is_behind_space;
                for byte in &from {
                    expected.extend((*byte != b' ' || !is_space).then_some(*byte));
                    is_space = *byte == b' ';
                }
                for speed in [Speed::Portable, Speed::detect()] {
                    let mut out = b"before".to_vec();
                    let mut stretches = Vec::new();
                    squeeze_at(speed, &from, is_behind_space, &mut out, &mut |stretch| {
                        stretches.push(stretch)
                    });
                    assert_eq!(out, expected, "{length} bytes, {speed:?}");
                    let all: Vec<u8> = stretches
                        .iter()
                        .flat_map(|(begin, _, bytes)| &from[*begin..begin + bytes])
                        .copied()
                        .collect();
                    assert_eq!(all, expected[6..]);
                    assert!(
                        stretches.iter().all(|(begin, stands, bytes)| from[*begin..begin + bytes]
                            == out[*stands..stands + bytes])
                    );
                }
            }
        }
    }
}
