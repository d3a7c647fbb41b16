//! Runs of base64, where most patterns cannot match. Rule: says what bytes are, never what they mean.

/// Bytes that are asked about at once.
const BLOCK_BYTES: usize = 64;

/// Whether a byte belongs to base64: its alphabet, its padding, and the line ends between (RFC 4648, RFC 2045).
#[inline(always)]
pub(crate) const fn is_encoded(byte: u8) -> bool {
    let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    // '/' stands right before the digits. No short circuits: the compiler is to make vector instructions of it.
    let is_digit = byte.wrapping_sub(b'/') < 11;
    is_letter | is_digit | (byte == b'+') | (byte == b'=') | (byte == b'\r') | (byte == b'\n')
}

/// How many bytes at the start are base64, in whole blocks.
pub(crate) fn run_length(bytes: &[u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi")
        {
            // SAFETY: the processor has AVX-512 with byte permutations, as was just asked.
            return unsafe { avx512::run_length(bytes) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as was just asked.
            return unsafe { run_length_avx2(bytes) };
        }
    }
    run_length_portable(bytes)
}

/// The portable code, for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_length_avx2(bytes: &[u8]) -> usize {
    run_length_portable(bytes)
}

#[inline(always)]
fn run_length_portable(bytes: &[u8]) -> usize {
    let blocks = bytes.as_chunks::<BLOCK_BYTES>().0.iter();
    let is_run = |block: &&[u8; BLOCK_BYTES]| block.iter().fold(true, |all, byte| all & is_encoded(*byte));
    blocks.take_while(is_run).count() * BLOCK_BYTES
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! A block at once, by a table of the ASCII characters.

    use super::{BLOCK_BYTES, is_encoded};
    use std::arch::x86_64::*;

    /// Stands for a byte that is not base64, as it does in bytes that are not ASCII.
    const OTHER: u8 = 0x80;

    const KINDS: [u8; 128] = {
        let mut kinds = [OTHER; 128];
        let mut byte = 0;
        while byte < kinds.len() {
            if is_encoded(byte as u8) {
                kinds[byte] = 0;
            }
            byte += 1;
        }
        kinds
    };

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    pub fn run_length(bytes: &[u8]) -> usize {
        // SAFETY: both halves have the 64 bytes that are read.
        let (low, high) = unsafe {
            let from = KINDS.as_ptr();
            (_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(64).cast()))
        };
        let blocks = bytes.as_chunks::<BLOCK_BYTES>().0.iter();
        let is_run = |block: &&[u8; BLOCK_BYTES]| {
            // SAFETY: the block has the 64 bytes that are read.
            let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let kind = _mm512_permutex2var_epi8(low, block, high);
            _mm512_movepi8_mask(_mm512_or_si512(kind, block)) == 0
        };
        blocks.take_while(is_run).count() * BLOCK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_and_nothing_else() {
        let all: Vec<u8> = (0..=255).filter(|byte| is_encoded(*byte)).collect();
        assert_eq!(all, b"\n\r+/0123456789=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    }

    #[test]
    fn a_run_ends_before_the_block_of_another_byte() {
        for at in 0..300 {
            let mut bytes = vec![b'Q'; 300];
            bytes[at] = b' ';
            let expected = if at < 256 { at / BLOCK_BYTES * BLOCK_BYTES } else { 256 };
            assert_eq!(run_length(&bytes), expected, "{at}");
            assert_eq!(run_length_portable(&bytes), expected, "{at}");
            bytes[at] = 0x80 | b'Q';
            assert_eq!(run_length(&bytes), expected, "{at}");
        }
    }
}
