//! How common letters are in what people read: [`Prose`]. Rule: an estimate that decides how fast a search is, never what it
//! finds.
//!
//! Lists of unwanted words say little about the pages that are wanted. So the commonest words of some languages and of HTML
//! are here, in the order of how often they are met, which falls as one over the rank (Zipf). Of letters that are in none of
//! these words, each follows the two before it as often as in all words that are known.

use super::windows::{BEHIND, CORE_BYTES, word};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// A language a line, the commonest words first.
const WORDS: &str = include_str!("common-words.txt");
/// How much of what is read each line is about; the last counts for those that follow.
const SHARES: [f64; 3] = [0.6, 0.15, 0.05];
/// How much of what is read is made of other words.
const OTHERS: f64 = 0.4;
/// What is said of letters that were never seen to follow each other.
const UNSEEN: f64 = 0.3;
/// How many different letters are told apart.
const LETTERS: usize = 32;

/// What is known of common words; it is learned once.
static COMMON: LazyLock<Common> = LazyLock::new(Common::new);

/// What is known of words.
pub(super) struct Prose {
    common: &'static Common,
    /// All words.
    follows: Follows,
}

impl Prose {
    /// Of these phrases, and of what is common.
    pub fn new<'a>(phrases: impl Iterator<Item = &'a [u8]>) -> Self {
        let common = &*COMMON;
        let mut follows = common.follows.clone();
        let words = phrases.flat_map(|phrase| phrase.split(|byte| *byte == b' '));
        let words: HashSet<&[u8]> = words.filter(|word| !common.words.contains(word)).collect();
        words.iter().for_each(|word| follows.learn(word));
        Self { common, follows }
    }

    /// Pieces of common words of so many bytes, as the words that are hashed, and how often each is met.
    pub fn common(&self, bytes: usize) -> &[(u64, f64)] {
        self.common.by_bytes.get(bytes).map_or(&[], Vec::as_slice)
    }

    /// How often a window is met, per word.
    pub fn rate(&self, window: &[u8]) -> f64 {
        let mut rate = 1.0;
        let mut from = 0;
        while from < window.len() {
            let inner = from + usize::from(window[from] == b' ');
            let length = window[inner..].iter().position(|byte| *byte == b' ');
            let end = length.map_or(window.len(), |length| inner + length + 1);
            if length != Some(0) && inner < window.len() {
                rate *= self.rate_of_piece(&window[from..end]);
            }
            // The edge of one word is that of the next.
            from = if length.is_some() && end < window.len() { end - 1 } else { end };
        }
        rate
    }

    /// How often a piece of common words is met, per word.
    pub fn rate_in_common(&self, piece: &[u8]) -> f64 {
        self.common.pieces.get(&word(piece)).copied().unwrap_or_default()
    }

    /// How often a piece of one word is met, per word.
    fn rate_of_piece(&self, piece: &[u8]) -> f64 {
        (self.rate_in_common(piece) + OTHERS * self.follows.chance(piece)).min(1.0)
    }
}

/// Common words.
struct Common {
    words: HashSet<&'static [u8]>,
    /// How often a piece of one is met, per word; a space is the word's edge.
    pieces: HashMap<u64, f64>,
    /// The same by how many bytes a piece has, up to a core.
    by_bytes: [Vec<(u64, f64)>; CORE_BYTES + 1],
    follows: Follows,
}

impl Common {
    fn new() -> Self {
        let mut common = Self {
            words: HashSet::new(),
            pieces: HashMap::new(),
            by_bytes: Default::default(),
            follows: Follows::new(),
        };
        for (line, at) in WORDS.lines().zip(0..) {
            let weights: Vec<f64> =
                line.split(' ').zip(3_u16..).map(|(_, rank)| 1.0 / f64::from(rank)).collect();
            let share =
                SHARES.get(at).or(SHARES.last()).copied().unwrap_or_default() / weights.iter().sum::<f64>();
            for (word, weight) in line.split(' ').map(str::as_bytes).zip(weights) {
                common.meet(word, weight * share);
                if common.words.insert(word) {
                    common.follows.learn(word);
                }
            }
        }
        for (word, rate) in &common.pieces {
            let bytes = size_of::<u64>() - word.leading_zeros() as usize / 8;
            if let Some(pieces) = common.by_bytes.get_mut(bytes) {
                pieces.push((*word, *rate));
            }
        }
        common
    }

    /// A word is met so often.
    fn meet(&mut self, word: &[u8], share: f64) {
        let word = edged(word);
        for length in 1..=BEHIND.min(word.len()) {
            for piece in word.windows(length) {
                *self.pieces.entry(self::word(piece)).or_default() += share;
            }
        }
    }
}

/// How many different words have two or three letters in a row.
#[derive(Clone)]
struct Follows {
    pairs: Vec<f64>,
    threes: Vec<f64>,
    words: f64,
}

impl Follows {
    fn new() -> Self {
        let (pairs, threes) = (vec![0.0; LETTERS * LETTERS], vec![0.0; LETTERS * LETTERS * LETTERS]);
        Self { pairs, threes, words: 0.0 }
    }

    /// There is such a word.
    fn learn(&mut self, word: &[u8]) {
        for three in edged(word).windows(3) {
            let [one, two, three] = letters(three);
            self.pairs[one * LETTERS + two] += 1.0;
            self.threes[(one * LETTERS + two) * LETTERS + three] += 1.0;
        }
        self.words += 1.0;
    }

    /// How many of all words have such a piece, as far as three letters in a row tell.
    fn chance(&self, piece: &[u8]) -> f64 {
        let Some(first) = piece.first_chunk::<3>() else { return UNSEEN };
        let threes =
            |[one, two, three]: [usize; 3]| self.threes[(one * LETTERS + two) * LETTERS + three] + UNSEEN;
        let follows = |three: &[u8]| {
            let [one, two, three] = letters(three);
            threes([one, two, three]) / (self.pairs[one * LETTERS + two] + UNSEEN * LETTERS as f64)
        };
        threes(letters(first)) / self.words * piece.windows(3).skip(1).map(follows).product::<f64>()
    }
}

/// A word and its edges.
fn edged(word: &[u8]) -> Vec<u8> {
    [b" ", word, b" "].concat()
}

/// Three letters as numbers.
fn letters(three: &[u8]) -> [usize; 3] {
    let letter = |at: usize| match three.get(at).copied().unwrap_or(b' ') {
        b' ' => 0,
        letter @ b'a'..=b'z' => usize::from(letter - b'a') + 1,
        b'0'..=b'9' => 27,
        other => 28 + usize::from(other >> 6),
    };
    [letter(0), letter(1), letter(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_common() {
        let prose = Prose::new([&b"quite zany words"[..]].into_iter());
        for (common, rare) in [
            (&b" the"[..], &b" zan"[..]),
            (b" with", b"anywith"),
            (b"ther", b"zany"),
            (b" report ", b" quirky "),
            (b" of the ", b" of zany"),
            (b"and", b"zyz"),
            (b"e of t", b"y of z"),
        ] {
            assert!(prose.rate(common) > prose.rate(rare), "{common:?} {rare:?}");
        }
        for odd in [&b""[..], b" ", b"  ", b"a", b"  a", b"a  b", b" a b c d", b"\xff\x80"] {
            assert!((0.0..=1.0).contains(&prose.rate(odd)), "{odd:?}");
        }
    }
}
