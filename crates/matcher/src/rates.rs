//! How often bytes stand in content, estimated. Rule: a guess costs speed only, never a match.
//!
//! The estimate is a chain: how often a byte stands behind the one before it. `pairs.bin` holds that for each pair, counted
//! by the example `frequencies` over Windows programs, Linux libraries, markup with scripts, and text.

use crate::blocks::Folding;

/// For each pair of bytes, the first times 256: minus the logarithm of its share of all pairs, in eighths of a bit.
static PAIRS: &[u8; 65536] = include_bytes!("pairs.bin");

/// Shares of pairs, and of bytes behind bytes.
pub(crate) struct Rates {
    folding: Folding,
    pairs: Box<[f32]>,
    behind: Box<[f32]>,
}

impl Rates {
    /// The shares in content as it is, or folded.
    pub fn new(folding: Folding) -> Self {
        let fold = usize::from(folding.mask() as u8);
        let share: [f32; 256] = std::array::from_fn(|eighths| (-(eighths as f32) / 8.0).exp2());
        let mut pairs = vec![0.0; 65536].into_boxed_slice();
        for (pair, eighths) in PAIRS.iter().enumerate() {
            pairs[pair | fold << 8 | fold] += share[usize::from(*eighths)];
        }
        let mut behind = pairs.clone();
        for row in behind.chunks_exact_mut(256) {
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|share| *share /= sum.max(f32::MIN_POSITIVE));
        }
        Rates { folding, pairs, behind }
    }

    /// The share of each byte.
    pub fn bytes(&self) -> [f32; 256] {
        std::array::from_fn(|byte| self.of(&[byte as u8]))
    }

    /// How rare the rarest eight of these bytes are, in bits: with more in a row long texts would be rare, and many of them stand
    /// in every program.
    pub fn bits(&self, bytes: &[u8]) -> f32 {
        let few = bytes.windows(bytes.len().clamp(1, 8));
        few.map(|few| -self.of(few).log2()).fold(0.0, f32::max)
    }

    /// The share of places where these bytes stand.
    pub fn of(&self, bytes: &[u8]) -> f32 {
        let fold = usize::from(self.folding.mask() as u8);
        let place = |pair: &[u8]| (usize::from(pair[0]) | fold) << 8 | usize::from(pair[1]) | fold;
        match bytes {
            [] => 1.0,
            [only] => {
                let row = (usize::from(*only) | fold) << 8;
                self.pairs[row..row + 256].iter().sum()
            }
            [first, second, ..] => {
                let rest = bytes[1..].windows(2).fold(1.0, |share, pair| share * self.behind[place(pair)]);
                self.pairs[place(&[*first, *second])] * rest
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_common_is_known() {
        let plain = Rates::new(Folding::None);
        let all: f32 = (0..=255).map(|byte| plain.of(&[byte])).sum();
        assert!((all - 1.0).abs() < 0.05, "{all}");
        assert!(plain.of(&[0; 4]) > 100.0 * plain.of(b"the "));
        assert!(plain.of(b"the ") > 100.0 * plain.of(&[0x93, 0xd7, 0x1c, 0xe5]));
        assert!(plain.of(b"the q") < plain.of(b"the "));
        let folded = Rates::new(Folding::Ascii);
        assert_eq!(folded.of(b"THE"), folded.of(b"the"));
    }
}
