//! Which bytes the shortest windows are made of: [`Classes`]. Rule: what it passes over is no such window; what it lets through
//! may be none.
//!
//! The windows, of three bytes or of two, are parted into two sets, those that may stand anywhere and those that begin a word, and
//! each set into eight groups. A table for each of their three bytes says in which groups of a set a byte stands there. Where one
//! group has all three, a window may begin. The tables are small enough for a processor's registers.

use super::windows::Entry;

/// How many bytes are looked at.
pub(super) const BYTES: usize = 3;

/// How many groups a set has: a bit of a byte for each.
const GROUPS: usize = 8;
/// How often a byte is met in prose, of 100, about: letters from a to z, a space, others.
const LETTERS: [f64; 26] = [
    6.7, 1.2, 2.4, 3.1, 9.5, 1.7, 1.8, 4.2, 5.8, 0.3, 0.7, 3.3, 2.1, 5.6, 6.2, 1.6, 0.2, 5.3, 5.4, 7.2, 2.4,
    0.9, 1.7, 0.3, 1.6, 0.2,
];
const SPACE: f64 = 17.0;
const OTHER: f64 = 0.1;

/// The groups of a set in which each byte stands, by its place in the window.
pub(super) type Set = [[u8; 256]; BYTES];

/// Both sets.
#[derive(Debug)]
pub(super) struct Classes {
    /// Of what may stand anywhere.
    pub anywhere: Set,
    /// Of what has a space before it.
    pub beginning: Set,
}

impl Classes {
    /// Of these windows, of three bytes and of two.
    pub fn new(threes: &[Entry], twos: &[Entry]) -> Self {
        let those = |entries: &[Entry], begins_word: bool| {
            let those = entries.iter().filter(|entry| (entry.before == Some(b' ')) == begins_word);
            those.map(|entry| first(entry.word)).collect::<Vec<_>>()
        };
        let anywhere = [those(threes, false), those(twos, false)];
        // What may stand anywhere is found at the beginning of a word as well.
        let mut beginning = those(threes, true);
        beginning.retain(|three| !anywhere[0].contains(three));
        let beginning = set(beginning, &those(twos, true));
        let [threes, twos] = anywhere;
        Self { anywhere: set(threes, &twos), beginning }
    }

    /// Whether a window may begin so, at the beginning of a word or elsewhere.
    #[inline(always)]
    pub fn holds(&self, three: [u8; 3], begins_word: bool) -> bool {
        let [first, second, third] = three.map(usize::from);
        let shared = |[one, two, three]: &Set| one[first] & two[second] & three[third] != 0;
        shared(&self.anywhere) | begins_word & shared(&self.beginning)
    }
}

/// The groups of some windows.
fn set(mut threes: Vec<[u8; 3]>, twos: &[[u8; 3]]) -> Set {
    let mut groups = vec![Group::new(); GROUPS];
    // Whatever follows two bytes, so that they share a group.
    if let Some(group) = groups.first_mut().filter(|_| !twos.is_empty()) {
        twos.iter().for_each(|two| *group = group.with(*two));
        group.bytes[2] = [true; 256];
        group.shares[2] = 100.0;
    }
    threes.sort_unstable_by(|one, other| common(other).total_cmp(&common(one)).then(one.cmp(other)));
    threes.dedup();
    for window in threes {
        let cost = |group: &Group| group.with(window).common() - group.common();
        let best = groups.iter_mut().min_by(|one, other| cost(one).total_cmp(&cost(other)));
        if let Some(group) = best {
            *group = group.with(window);
        }
    }
    let mut set = [[0; 256]; BYTES];
    for (group, bit) in groups.iter().zip(0..) {
        for (table, bytes) in set.iter_mut().zip(&group.bytes) {
            for (entry, stands) in table.iter_mut().zip(bytes) {
                *entry |= u8::from(*stands) << bit;
            }
        }
    }
    set
}

/// Windows that share a bit.
#[derive(Clone)]
struct Group {
    bytes: [[bool; 256]; BYTES],
    shares: [f64; BYTES],
}

impl Group {
    fn new() -> Self {
        Self { bytes: [[false; 256]; BYTES], shares: [0.0; BYTES] }
    }

    fn with(&self, window: [u8; 3]) -> Self {
        let mut group = self.clone();
        for ((byte, bytes), total) in window.into_iter().zip(&mut group.bytes).zip(&mut group.shares) {
            let stands = &mut bytes[usize::from(byte)];
            *total += if *stands { 0.0 } else { share(byte) };
            *stands = true;
        }
        group
    }

    /// How often it lets something through, about.
    fn common(&self) -> f64 {
        self.shares.iter().product()
    }
}

fn first(word: u64) -> [u8; 3] {
    let [one, two, three, ..] = word.to_le_bytes();
    [one, two, three]
}

fn common(window: &[u8; 3]) -> f64 {
    window.iter().map(|byte| share(*byte)).product()
}

fn share(byte: u8) -> f64 {
    match byte {
        b' ' => SPACE,
        b'a'..=b'z' => LETTERS.get(usize::from(byte - b'a')).copied().unwrap_or(OTHER),
        _ => OTHER,
    }
}
