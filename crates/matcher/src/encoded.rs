//! Runs of base64 and of text, where most patterns cannot match. Rule: says what bytes are, never what they mean.

/// Bytes that are asked about at once.
const BLOCK_BYTES: usize = 64;

/// What a run is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// Base64.
    Encoded,
    /// ASCII that is printed, and the white space between.
    Text,
}

impl Alphabet {
    /// All, each within the next.
    pub const ALL: [Self; 2] = [Self::Encoded, Self::Text];

    /// Whether a byte belongs to it.
    #[inline(always)]
    pub const fn has(self, byte: u8) -> bool {
        match self {
            Self::Encoded => is_encoded(byte),
            Self::Text => is_text(byte),
        }
    }
}

#[inline(always)]
const fn is_text(byte: u8) -> bool {
    (byte.wrapping_sub(b' ') < 95) | (byte == b'\t') | (byte == b'\r') | (byte == b'\n')
}

/// Whether a byte belongs to base64: its alphabet, its padding, and the line ends between (RFC 4648, RFC 2045).
#[inline(always)]
const fn is_encoded(byte: u8) -> bool {
    let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    // '/' stands right before the digits. No short circuits: the compiler is to make vector instructions of it.
    let is_digit = byte.wrapping_sub(b'/') < 11;
    is_letter | is_digit | (byte == b'+') | (byte == b'=') | (byte == b'\r') | (byte == b'\n')
}

/// How many bytes at the start are of an alphabet, in whole blocks.
pub(crate) fn run_length(bytes: &[u8], alphabet: Alphabet) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi")
        {
            // SAFETY: the processor has AVX-512 with byte permutations, as was just asked.
            return unsafe { avx512::run_length(bytes, alphabet) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as was just asked.
            return unsafe { run_length_avx2(bytes, alphabet) };
        }
    }
    run_length_portable(bytes, alphabet)
}

/// The portable code, for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_length_avx2(bytes: &[u8], alphabet: Alphabet) -> usize {
    run_length_portable(bytes, alphabet)
}

#[inline(always)]
fn run_length_portable(bytes: &[u8], alphabet: Alphabet) -> usize {
    match alphabet {
        Alphabet::Encoded => run_length_of(bytes, is_encoded),
        Alphabet::Text => run_length_of(bytes, is_text),
    }
}

#[inline(always)]
fn run_length_of(bytes: &[u8], has: impl Fn(u8) -> bool) -> usize {
    let blocks = bytes.as_chunks::<BLOCK_BYTES>().0.iter();
    let is_run = |block: &&[u8; BLOCK_BYTES]| block.iter().fold(true, |all, byte| all & has(*byte));
    blocks.take_while(is_run).count() * BLOCK_BYTES
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! A block at once, by a table of the ASCII characters.

    use super::{Alphabet, BLOCK_BYTES};
    use std::arch::x86_64::*;

    /// Stands for a byte that is not of an alphabet, as it does in bytes that are not ASCII.
    const OTHER: u8 = 0x80;

    const KINDS: [[u8; 128]; 2] = [kinds(Alphabet::Encoded), kinds(Alphabet::Text)];

    const fn kinds(alphabet: Alphabet) -> [u8; 128] {
        let mut kinds = [OTHER; 128];
        let mut byte = 0;
        while byte < kinds.len() {
            if alphabet.has(byte as u8) {
                kinds[byte] = 0;
            }
            byte += 1;
        }
        kinds
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    pub fn run_length(bytes: &[u8], alphabet: Alphabet) -> usize {
        // SAFETY: both halves have the 64 bytes that are read.
        let (low, high) = unsafe {
            let from = KINDS[alphabet as usize].as_ptr();
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
    fn alphabets_and_nothing_else() {
        let all: Vec<u8> = (0..=255).filter(|byte| Alphabet::Encoded.has(*byte)).collect();
        assert_eq!(all, b"\n\r+/0123456789=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
        for byte in 0..=255_u8 {
            let is_text = byte.is_ascii_graphic() || b" \t\r\n".contains(&byte);
            assert_eq!(Alphabet::Text.has(byte), is_text, "{byte:#x}");
            assert!(is_text || !Alphabet::Encoded.has(byte), "each is within the next");
        }
    }

    #[test]
    fn a_run_ends_before_the_block_of_another_byte() {
        for (alphabet, other) in [(Alphabet::Encoded, b' '), (Alphabet::Text, 0x7f)] {
            for at in 0..300 {
                let mut bytes = vec![b'Q'; 300];
                bytes[at] = other;
                let expected = if at < 256 { at / BLOCK_BYTES * BLOCK_BYTES } else { 256 };
                assert_eq!(run_length(&bytes, alphabet), expected, "{alphabet:?} {at}");
                assert_eq!(run_length_portable(&bytes, alphabet), expected, "{alphabet:?} {at}");
                bytes[at] = 0x80 | b'Q';
                assert_eq!(run_length(&bytes, alphabet), expected, "{alphabet:?} {at}");
            }
        }
    }
}
