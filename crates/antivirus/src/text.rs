//! Text as signatures for it expect it: lower case, white space folded. Rule: the same bytes at every cut.
//!
//! ClamAV compares signatures of target 7 (text) with a normalised copy: letters in lower case, each run of white space
//! as one space, control characters and bytes over 0x7f left out.

/// The state between chunks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Normaliser {
    /// Whether the last byte that went out was white space.
    after_space: bool,
}

/// How much is normalised at once.
const STEP_BYTES: usize = 4096;
/// How much is looked at in one go: mostly only letters change.
const BLOCK_BYTES: usize = 32;

/// What each byte becomes; nothing stands for one that is left out.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        folded[byte] = match byte as u8 {
            b'\t'..=b'\r' | b' ' => b' ',
            visible @ 0x21..=0x7f => visible.to_ascii_lowercase(),
            _ => 0,
        };
        byte += 1;
    }
    folded
};

/// Whether normalised text can have such a byte.
pub(crate) fn is_normalised(byte: u8) -> bool {
    FOLDED[usize::from(byte)] == byte && byte != 0
}

impl Normaliser {
    /// Hands out the normalised bytes of a chunk, in pieces.
    pub fn push(&mut self, chunk: &[u8], out: &mut dyn FnMut(&[u8])) {
        let mut buffer = [0; STEP_BYTES];
        for piece in chunk.chunks(STEP_BYTES) {
            let mut used = 0;
            let (blocks, rest) = piece.as_chunks::<BLOCK_BYTES>();
            for block in blocks {
                let into = buffer[used..].first_chunk_mut();
                if into.is_some_and(|into| fold_block(block, self.after_space, into)) {
                    used += BLOCK_BYTES;
                    self.after_space = buffer[used - 1] == b' ';
                } else {
                    used = self.fold(block, &mut buffer, used);
                }
            }
            used = self.fold(rest, &mut buffer, used);
            if used > 0 {
                out(&buffer[..used]);
            }
        }
    }

    /// Byte by byte, behind what is there; without a branch, since nobody can foresee where words end.
    fn fold(&mut self, bytes: &[u8], buffer: &mut [u8; STEP_BYTES], mut used: usize) -> usize {
        for byte in bytes {
            let folded = FOLDED[usize::from(*byte)];
            let (is_kept, is_space) = (folded != 0, folded == b' ');
            buffer[used] = folded;
            used += usize::from(is_kept & !(is_space & self.after_space));
            self.after_space = (is_kept & is_space) | (!is_kept & self.after_space);
        }
        used
    }
}

/// Folds a block in which nothing is left out and no white space follows another; says whether it is such a one. Written
/// so that the compiler makes vector instructions of it.
fn fold_block(block: &[u8; BLOCK_BYTES], after_space: bool, into: &mut [u8; BLOCK_BYTES]) -> bool {
    let is_space = |byte: u8| (byte == b' ') | (byte.wrapping_sub(b'\t') < 5);
    let mut before = [if after_space { b' ' } else { 0 }; BLOCK_BYTES];
    before[1..].copy_from_slice(&block[..BLOCK_BYTES - 1]);
    let mut is_other = false;
    for ((byte, before), into) in block.iter().zip(&before).zip(into) {
        let is_visible = byte.wrapping_sub(0x21) < 0x5f;
        let is_upper = byte.wrapping_sub(b'A') < 26;
        is_other |= !(is_space(*byte) | is_visible) | (is_space(*byte) & is_space(*before));
        *into = if is_space(*byte) { b' ' } else { byte | u8::from(is_upper) << 5 };
    }
    !is_other
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the rule says, a byte at a time.
    fn expected(text: &[u8]) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::new();
        for byte in text {
            match byte {
                b'\t'..=b'\r' | b' ' if out.last() != Some(&b' ') => out.push(b' '),
                0x21..=0x7f => out.push(byte.to_ascii_lowercase()),
                _ => {}
            }
        }
        out
    }

    fn normalised(chunks: &[&[u8]]) -> Vec<u8> {
        let (mut normaliser, mut got) = (Normaliser::default(), Vec::new());
        for chunk in chunks {
            normaliser.push(chunk, &mut |piece| got.extend_from_slice(piece));
        }
        got
    }

    #[test]
    fn what_comes_out_is_normalised_and_nothing_else_is() {
        let all: Vec<u8> = (0..=255).collect();
        let mut out = expected(&all);
        out.sort_unstable();
        out.dedup();
        let normalised: Vec<u8> = (0..=255).filter(|byte| is_normalised(*byte)).collect();
        assert_eq!(normalised, out);
    }

    #[test]
    fn whole_blocks_are_folded_as_single_bytes_are() {
        // Each byte in each place of a block of words, and behind white space at the end of the block before.
        for byte in 0..=255 {
            for place in 0..2 * BLOCK_BYTES {
                let mut text = b"Some words Of A text, on And on. ".repeat(4);
                text[place] = byte;
                assert_eq!(normalised(&[&text]), expected(&text), "{byte:#x} at {place}");
                let (first, second) = text.split_at(place);
                assert_eq!(normalised(&[first, second]), expected(&text), "{byte:#x}, cut at {place}");
            }
        }
    }

    #[test]
    fn random_bytes_are_folded_as_the_rule_says() {
        let mut word = 1u32;
        let mut random = || {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word >> 20) as usize
        };
        let alphabet = b"abcXYZ09<>=\"' \n\t\r\x0b\0\x7f\x80\xc3\xff";
        for letters in [3, 12, alphabet.len()] {
            let text: Vec<u8> = (0..3 * STEP_BYTES)
                .map(|_| {
                    alphabet[(random() % alphabet.len()).min(random() % letters + alphabet.len() - letters)]
                })
                .collect();
            let want = expected(&text);
            assert_eq!(normalised(&[&text]), want);
            for cut in [1, 7, 31, 32, 33, 1000, STEP_BYTES + 1] {
                let chunks: Vec<&[u8]> = text.chunks(cut).collect();
                assert!(normalised(&chunks) == want, "{letters} letters, cut at each {cut}");
            }
        }
    }

    #[test]
    fn folds_the_same_at_every_cut() {
        let text = b"  Sub \t\r\nAutoOpen()\x00\xff  '' Z\x7f";
        let want = b" sub autoopen() '' z\x7f";
        for cut in 1..=text.len() {
            let (mut normaliser, mut got) = (Normaliser::default(), Vec::new());
            for chunk in text.chunks(cut) {
                normaliser.push(chunk, &mut |piece| got.extend_from_slice(piece));
            }
            assert_eq!(got, want, "{cut}");
        }
    }
}
