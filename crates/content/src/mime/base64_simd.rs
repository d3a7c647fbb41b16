//! Base64 in bulk, line after line. Rule: it takes whole quanta of clean characters and stops at whatever else comes.
//!
//! The block decoder is the one of Muła and Lemire, "Faster Base64 Encoding and Decoding Using AVX2 Instructions"
//! (2018). It goes on over line ends: each block tells how many of its characters are clean, so that the tail of a
//! line costs one block and no loop over characters.

use super::base64::{INVALID, VALUES};

/// How much of the output may be written beyond what is said to be made.
pub(super) const SLACK_BYTES: usize = 32;

/// How much of the input was used, and how many bytes came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bulk {
    pub used: usize,
    pub made: usize,
}

/// Decodes whole quanta, over line ends, until anything else comes or the output has less than [`SLACK_BYTES`] left.
pub(super) fn decode(input: &[u8], output: &mut [u8]) -> Bulk {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        let done = unsafe { avx2::decode(input, output) };
        // Less than a block is left, or a character that is none of the 64.
        return portable(input, output, done);
    }
    portable(input, output, Bulk::default())
}

/// A quantum at a time: what the blocks leave, and all of it where there is no AVX2.
fn portable(input: &[u8], output: &mut [u8], mut done: Bulk) -> Bulk {
    while done.made + SLACK_BYTES <= output.len() {
        let rest = &input[done.used..];
        let Some(quantum) = rest.first_chunk::<4>() else { break };
        let values = quantum.map(|character| VALUES[usize::from(character)]);
        if values.contains(&INVALID) {
            let line_end = line_end(rest);
            if line_end == 0 {
                break;
            }
            done.used += line_end;
            continue;
        }
        let bits = values.iter().fold(0, |bits, value| bits << 6 | u32::from(*value));
        output[done.made..done.made + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
        done.used += 4;
        done.made += 3;
    }
    done
}

/// How long the line end is that the rest begins with; 0 where there is none.
#[inline(always)]
fn line_end(rest: &[u8]) -> usize {
    match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Bulk, SLACK_BYTES, line_end};
    use std::arch::x86_64::*;

    const BLOCK_CHARACTERS: usize = 32;

    #[target_feature(enable = "avx2")]
    pub(super) fn decode(input: &[u8], output: &mut [u8]) -> Bulk {
        let mut done = Bulk::default();
        while let Some(block) = input[done.used..].first_chunk::<BLOCK_CHARACTERS>() {
            let Some(room) = output[done.made..].first_chunk_mut::<SLACK_BYTES>() else { break };
            // SAFETY: the block is 32 bytes long; the load needs no alignment.
            let characters = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
            let (values, invalid) = values(characters);
            // SAFETY: the room is 32 bytes long; the store needs no alignment.
            unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), pack(values)) };
            if invalid == 0 {
                done.used += BLOCK_CHARACTERS;
                done.made += BLOCK_CHARACTERS / 4 * 3;
                continue;
            }
            // Quanta are packed each by itself, so those before the first bad character are right.
            let clean = invalid.trailing_zeros() as usize;
            let quanta = clean / 4;
            done.used += quanta * 4;
            done.made += quanta * 3;
            let line_end = if clean.is_multiple_of(4) { line_end(&input[done.used..]) } else { 0 };
            if line_end == 0 {
                break;
            }
            done.used += line_end;
        }
        done
    }

    /// The value of each character, and a bit for each that has none.
    #[target_feature(enable = "avx2")]
    fn values(characters: __m256i) -> (__m256i, u32) {
        // Two tables by nibble have a bit in common exactly where the character is none of the 64.
        let by_low = _mm256_setr_epi8(
            0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a,
            0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a,
        );
        let by_high = _mm256_setr_epi8(
            0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
            0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
        );
        // What to add to a character for its value, by high nibble; '/' moves to the entry before its own.
        let offsets = _mm256_setr_epi8(
            0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 19, 4, -65, -65, -71, -71, 0, 0,
            0, 0, 0, 0, 0, 0,
        );
        let slash = _mm256_set1_epi8(0x2f);
        // Bits of the neighbour come in with the shift; the mask keeps the nibble alone.
        let high = _mm256_and_si256(_mm256_srli_epi32::<4>(characters), _mm256_set1_epi8(0x0f));
        let low = _mm256_and_si256(characters, _mm256_set1_epi8(0x0f));
        let common = _mm256_and_si256(_mm256_shuffle_epi8(by_low, low), _mm256_shuffle_epi8(by_high, high));
        let good = _mm256_cmpeq_epi8(common, _mm256_setzero_si256());
        let invalid = !(_mm256_movemask_epi8(good) as u32);
        let is_slash = _mm256_cmpeq_epi8(characters, slash);
        let offset = _mm256_shuffle_epi8(offsets, _mm256_add_epi8(is_slash, high));
        (_mm256_add_epi8(characters, offset), invalid)
    }

    /// Eight quanta of four values each as 24 bytes, the rest of the 32 being 0.
    #[target_feature(enable = "avx2")]
    fn pack(values: __m256i) -> __m256i {
        let pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x0140_0140));
        let quanta = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_1000));
        let bytes = _mm256_shuffle_epi8(
            quanta,
            _mm256_setr_epi8(
                2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13,
                12, -1, -1, -1, -1,
            ),
        );
        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_decoder_agrees_with_the_portable_one() {
        let alphabet: Vec<u8> = (0..=255).filter(|c| VALUES[usize::from(*c)] != INVALID).collect();
        let mut state = 1_u32;
        for round in 0..2000 {
            let text: Vec<u8> = (0..round % 200)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let at = state >> 16;
                    if at.is_multiple_of(97) { (at >> 8) as u8 } else { alphabet[at as usize % 64] }
                })
                .collect();
            let (mut a, mut b) = ([0; 256], [0; 256]);
            let bulk = decode(&text, &mut a);
            assert_eq!(bulk, portable(&text, &mut b, Bulk::default()), "{}", text.escape_ascii());
            assert_eq!(a[..bulk.made], b[..bulk.made]);
        }
    }
}
