//! How often bytes stand in content, estimated. Rule: a guess costs speed only, never a match.
//!
//! The estimate is a chain: how often a byte stands behind the one before it. `pairs.bin` holds that for each pair, counted
//! by the example `frequencies` over Windows programs, Linux libraries, markup with scripts, and text. What words are made of is
//! far more frequent than a chain knows: of four bytes in a row `fours.bin` says it, by their hash, counted over the same kinds.

use crate::blocks::Folding;

/// For each pair of bytes, the first times 256: minus the logarithm of its share of all pairs, in eighths of a bit.
static PAIRS: &[u8; 65536] = include_bytes!("pairs.bin");

/// The bits of the hash of four bytes.
const FOUR_BITS: u32 = 18;
/// For each hash of four bytes: minus the logarithm of its share of all places, in eighths of a bit.
static FOURS: &[u8; 1 << FOUR_BITS] = include_bytes!("fours.bin");
/// A hash that has no more is that of many that are rare: it says less of each than the chain.
const FOUR_SHARE_MIN: f32 = 2.0 / (1 << FOUR_BITS) as f32;

/// The share that so many eighths of a bit stand for.
fn share_of(eighths: u8) -> f32 {
    (-f32::from(eighths) / 8.0).exp2()
}

/// Shares of pairs, and of bytes behind bytes.
pub(crate) struct Rates {
    folding: Folding,
    pairs: Box<[f32]>,
    behind: Box<[f32]>,
    /// The shares of hashes of four bytes, if more than pairs is asked: in eighths of a bit, and what these stand for.
    fours: Option<(&'static [u8; 1 << FOUR_BITS], [f32; 256])>,
}

impl Rates {
    /// The shares in content as it is, or folded.
    pub fn new(folding: Folding) -> Self {
        let fold = usize::from(folding.mask() as u8);
        let share: [f32; 256] = std::array::from_fn(|eighths| share_of(eighths as u8));
        let mut pairs = vec![0.0; 65536].into_boxed_slice();
        for (pair, eighths) in PAIRS.iter().enumerate() {
            pairs[pair | fold << 8 | fold] += share[usize::from(*eighths)];
        }
        let mut behind = pairs.clone();
        for row in behind.chunks_exact_mut(256) {
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|share| *share /= sum.max(f32::MIN_POSITIVE));
        }
        Rates { folding, pairs, behind, fours: None }
    }

    /// The shares in programs and archives as they are, where many patterns are made of the same words. Some rare bytes pass for
    /// frequent ones, whose hash they share.
    pub fn with_fours() -> Self {
        Rates {
            fours: Some((FOURS, std::array::from_fn(|eighths| share_of(eighths as u8)))),
            ..Self::new(Folding::None)
        }
    }

    /// The share of each byte.
    pub fn bytes(&self) -> [f32; 256] {
        std::array::from_fn(|byte| self.of(&[byte as u8]))
    }

    /// How rare the rarest eight of these bytes are, in bits: with more in a row long texts would be rare, and many of them stand
    /// in every program.
    pub fn bits(&self, bytes: &[u8]) -> f32 {
        let few = bytes.windows(bytes.len().clamp(1, 8));
        few.map(|few| -self.of_chain(few).log2()).fold(0.0, f32::max)
    }

    /// The share of places where these bytes stand.
    pub fn of(&self, bytes: &[u8]) -> f32 {
        let Some((eighths, shares)) = self.fours.as_ref().filter(|_| bytes.len() >= 4) else {
            return self.of_chain(bytes);
        };
        let behind =
            |bytes: &[u8]| -> f32 { bytes.windows(2).map(|pair| self.behind[place(pair)]).product() };
        let of_four = |four: &[u8]| {
            let word = four.first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
            let hash = word.wrapping_mul(0x9e37_79b1) >> (32 - FOUR_BITS);
            match shares[usize::from(eighths[hash as usize])] {
                share if share > FOUR_SHARE_MIN => share,
                share => share.min(self.of_chain(four)),
            }
        };
        // The rarest four say most.
        bytes.windows(4).enumerate().fold(1.0, |least, (at, four)| {
            least.min(of_four(four) * behind(&bytes[..=at]) * behind(&bytes[at + 3..]))
        })
    }

    /// The share by pairs alone.
    fn of_chain(&self, bytes: &[u8]) -> f32 {
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

/// Where a pair stands in the tables.
fn place(pair: &[u8]) -> usize {
    usize::from(pair[0]) << 8 | usize::from(pair[1])
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
        // Words are made of what stands together far more often than by chance.
        let fours = Rates::with_fours();
        assert!(fours.of(b"tion") > 4.0 * plain.of(b"tion"));
        assert!(fours.of(b"function") > 4.0 * fours.of(b"fonctuin"));
        assert_eq!(fours.of(b"abc"), plain.of(b"abc"));
        let folded = Rates::new(Folding::Ascii);
        assert_eq!(folded.of(b"THE"), folded.of(b"the"));
    }
}
