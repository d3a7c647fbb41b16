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
const STEP_BYTES: usize = 2048;

impl Normaliser {
    /// Hands out the normalised bytes of a chunk, in pieces.
    pub fn push(&mut self, chunk: &[u8], out: &mut dyn FnMut(&[u8])) {
        let mut buffer = [0; STEP_BYTES];
        for piece in chunk.chunks(STEP_BYTES) {
            let mut used = 0;
            for byte in piece {
                let kept = match byte {
                    b'\t'..=b'\r' | b' ' => {
                        if self.after_space {
                            continue;
                        }
                        self.after_space = true;
                        b' '
                    }
                    0x21..=0x7f => {
                        self.after_space = false;
                        byte.to_ascii_lowercase()
                    }
                    _ => continue,
                };
                buffer[used] = kept;
                used += 1;
            }
            if used > 0 {
                out(&buffer[..used]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
