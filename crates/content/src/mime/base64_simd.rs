//! Base64 in bulk, line after line. Rule: it takes whole quanta of clean characters and stops at whatever else comes.
//!
//! The block decoders are those of Muła and Lemire, "Faster Base64 Encoding and Decoding Using AVX2 Instructions"
//! (2018) and "Base64 encoding and decoding at almost the speed of a memory copy" (2020, AVX-512). They go on over line
//! ends: each block tells how many of its characters are clean, so that the tail of a line costs one block and no loop
//! over characters.

use super::base64::{INVALID, VALUES};

/// How much of the output may be written beyond what is said to be made.
pub(super) const SLACK_BYTES: usize = 64;

/// How much of the input was used, and how many bytes came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bulk {
    pub used: usize,
    pub made: usize,
}

/// Decodes whole quanta, over line ends, until anything else comes or the output has less than [`SLACK_BYTES`] left.
pub(super) fn decode(input: &[u8], output: &mut [u8]) -> Bulk {
    // What the blocks leave: less than one, or a character that is none of the 64.
    let done = blocks(input, output);
    portable(input, output, done)
}

/// As far as whole blocks go, by the widest instructions that the processor has.
fn blocks(input: &[u8], output: &mut [u8]) -> Bulk {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi")
        {
            // SAFETY: the processor has AVX-512 with byte permutations.
            return unsafe { avx512::decode(input, output) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2::decode(input, output) };
        }
    }
    Bulk::default()
}

/// A quantum at a time.
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
mod avx512 {
    use super::{Bulk, INVALID, SLACK_BYTES, VALUES, line_end};
    use std::arch::x86_64::*;

    const BLOCK_CHARACTERS: usize = 64;

    /// How the last line ended. The next one mostly ends like it: then where it goes on is known before the block is.
    #[derive(Clone, Copy)]
    struct Tail {
        /// Characters of the line's last block, whole quanta.
        characters: usize,
        /// What the block and the line end use, and what the block makes.
        done: Bulk,
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    pub(super) fn decode(input: &[u8], output: &mut [u8]) -> Bulk {
        let tables = tables();
        let mut done = Bulk::default();
        let mut tail = Tail { characters: 0, done: Bulk { used: 2, made: 0 } };
        while let Some(block) = input[done.used..].first_chunk::<BLOCK_CHARACTERS>() {
            let Some(room) = output[done.made..].first_chunk_mut::<SLACK_BYTES>() else { break };
            // SAFETY: the block is 64 bytes long; the load needs no alignment.
            let characters = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let values = _mm512_permutex2var_epi8(tables.0, characters, tables.1);
            // The highest bit stands for a character that is none of the 64.
            let invalid = _mm512_movepi8_mask(_mm512_or_si512(values, characters));
            // SAFETY: the room is 64 bytes long; the store needs no alignment.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), pack(values)) };
            if invalid == 0 {
                done.used += BLOCK_CHARACTERS;
                done.made += BLOCK_CHARACTERS / 4 * 3;
                continue;
            }
            // Quanta are packed each by itself, so those before the first bad character are right.
            let clean = invalid.trailing_zeros() as usize;
            if clean == tail.characters && block.get(clean..clean + 2) == Some(b"\r\n") {
                done.used += tail.done.used;
                done.made += tail.done.made;
                continue;
            }
            let quanta = Bulk { used: clean / 4 * 4, made: clean / 4 * 3 };
            done.used += quanta.used;
            done.made += quanta.made;
            let line_end = if clean.is_multiple_of(4) { line_end(&input[done.used..]) } else { 0 };
            if line_end == 0 {
                break;
            }
            done.used += line_end;
            if line_end == 2 {
                tail = Tail { characters: clean, done: Bulk { used: quanta.used + 2, ..quanta } };
            }
        }
        done
    }

    /// The value of each ASCII character, or the highest bit.
    #[target_feature(enable = "avx512f")]
    fn tables() -> (__m512i, __m512i) {
        const OTHER: u8 = 0x80;
        const TABLES: [u8; 128] = {
            let mut tables = [OTHER; 128];
            let mut at = 0;
            while at < tables.len() {
                if VALUES[at] != INVALID {
                    tables[at] = VALUES[at];
                }
                at += 1;
            }
            tables
        };
        // SAFETY: both halves have the 64 bytes that are read.
        unsafe {
            let from = TABLES.as_ptr();
            (_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(64).cast()))
        }
    }

    /// Sixteen quanta of four values each as 48 bytes, and something behind them.
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn pack(values: __m512i) -> __m512i {
        const PICKS: [u8; 64] = {
            let mut picks = [0; 64];
            let mut at = 0;
            while at < 48 {
                picks[at] = (at / 3 * 4 + 2 - at % 3) as u8;
                at += 1;
            }
            picks
        };
        let pairs = _mm512_maddubs_epi16(values, _mm512_set1_epi32(0x0140_0140));
        let quanta = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_1000));
        // SAFETY: `PICKS` has the 64 bytes that are read.
        let picks = unsafe { _mm512_loadu_si512(PICKS.as_ptr().cast()) };
        _mm512_permutexvar_epi8(picks, quanta)
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

    /// Text with line ends and other characters here and there.
    fn text(length: usize, state: &mut u32) -> Vec<u8> {
        let alphabet: Vec<u8> = (0..=255).filter(|c| VALUES[usize::from(*c)] != INVALID).collect();
        let mut text = Vec::new();
        let mut random = || {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (*state >> 12) as usize
        };
        let line = [76, 64, 72, 100, 5][random() % 5];
        while text.len() < length {
            let one = if random().is_multiple_of(997) { random() as u8 } else { alphabet[random() % 64] };
            text.push(one);
            if text.len().is_multiple_of(line + 2) {
                text.extend_from_slice(if random().is_multiple_of(9) { b"\n" } else { b"\r\n" });
            }
        }
        text
    }

    #[test]
    fn all_block_decoders_agree_with_the_portable_one() {
        let mut state = 1_u32;
        for round in 0..3000 {
            let text = text(round % 700, &mut state);
            let decode_with = |decoder: &dyn Fn(&[u8], &mut [u8]) -> Bulk| {
                let mut output = vec![0; 640];
                let bulk = decoder(&text, &mut output);
                output.truncate(bulk.made);
                (bulk, output)
            };
            let expected = decode_with(&|text, output| portable(text, output, Bulk::default()));
            assert_eq!(decode_with(&decode), expected, "{}", text.escape_ascii());
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                let avx2 = |text: &[u8], output: &mut [u8]| {
                    // SAFETY: the processor has AVX2, as was just asked.
                    let done = unsafe { avx2::decode(text, output) };
                    portable(text, output, done)
                };
                assert_eq!(decode_with(&avx2), expected, "{}", text.escape_ascii());
            }
        }
    }
}
