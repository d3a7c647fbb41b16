//! Which bytes of a segment are searched for: those rarest in content. Rule: a guess costs speed only, never a match.

use crate::segment::{Fragment, LOOKBACK_MAX, PREFIX_WIDTH_MAX};
use crate::wildcard::Cell;

/// Bytes in a row of a segment, from which blocks are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The least distance from the segment's start …
    pub prefix_min: u32,
    /// … and how much more it may be.
    pub prefix_width: u32,
    pub bytes: Vec<u8>,
}

/// How often each block stands in the patterns themselves: a block that many share tells them apart badly.
pub(crate) struct Census {
    counts: Vec<u8>,
}

const CENSUS_BITS: u32 = 18;

impl Census {
    pub fn new() -> Self {
        Census { counts: vec![0; 1 << CENSUS_BITS] }
    }

    /// Counts the blocks of a segment.
    pub fn count(&mut self, fragments: &[Fragment]) {
        for fragment in fragments {
            for block in fragment.bytes[..usable(fragment)].windows(4) {
                let count = &mut self.counts[slot(block)];
                *count = count.saturating_add(1);
            }
        }
    }

    /// The logarithm of how often, in eighths of a bit.
    fn commonness(&self, block: &[u8]) -> u32 {
        self.counts[slot(block)].max(1).ilog2() * 8
    }
}

fn slot(block: &[u8]) -> usize {
    let word = block.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
    (word.wrapping_mul(0x9e37_79b1) >> (32 - CENSUS_BITS)) as usize
}

/// The longest run of bytes that can be searched for.
pub(crate) fn length_max(fragments: &[Fragment]) -> usize {
    fragments.iter().map(usable).max().unwrap_or(0)
}

/// The best window of this length, the earliest of equals; there is one if the length is at most [`length_max`].
pub(crate) fn choose(fragments: &[Fragment], length: usize, block: usize, census: &Census) -> Option<Window> {
    let mut best: Option<(u32, &Fragment, usize)> = None;
    let mut rarities = Vec::new();
    for fragment in fragments {
        let bytes = &fragment.bytes[..usable(fragment)];
        rarities.clear();
        rarities.extend(bytes.windows(block).map(|block| rarity(block, census)));
        for (at, window) in rarities.windows(length + 1 - block).enumerate() {
            // A window is as common as its commonest block; many starts to try for each hit are no better.
            let rarity = window.iter().copied().min().unwrap_or(0).saturating_sub(fragment.prefix_width);
            if best.is_none_or(|(most, _, _)| rarity > most) {
                best = Some((rarity, fragment, at));
            }
        }
    }
    best.map(|(_, fragment, at)| Window {
        prefix_min: fragment.prefix_min + at as u32,
        prefix_width: fragment.prefix_width,
        bytes: fragment.bytes[at..at + length].to_vec(),
    })
}

/// Eight bytes of a segment that tell early that it doesn't match: the rarest, better outside of its window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Check {
    value: u64,
    mask: u64,
    /// Their distance from the segment's start.
    pub at: u32,
}

impl Check {
    /// The check for a segment whose fixed beginning is `head`, with this window.
    pub fn new(head: &[Cell], window: &Window) -> Self {
        // A short segment is checked whole: behind it, any byte.
        let mut head = head.to_vec();
        head.resize(head.len().max(8), Cell::ANY);
        let known = window.prefix_min as usize..window.prefix_min as usize + window.bytes.len();
        let weight = |at: usize| {
            let rarity = match (head[at], at.checked_sub(1).map(|before| head[before])) {
                (Cell { mask: 0, .. }, _) => 0,
                (cell, Some(before)) if cell == before => 8,
                (cell, _) => byte_rarity(cell.value),
            };
            // A candidate agrees with half of the window already.
            if known.contains(&at) { rarity / 2 } else { rarity }
        };
        let weights: Vec<u32> = (0..head.len()).map(weight).collect();
        let sums = weights.windows(8).map(|eight| eight.iter().sum::<u32>()).enumerate();
        // The earliest of equals.
        let best = sums.fold((0, 0), |best, (at, sum)| if sum > best.1 { (at, sum) } else { best });
        let eight = head.get(best.0..best.0 + 8).unwrap_or_default();
        let word = |byte: fn(&Cell) -> u8| {
            eight.iter().rev().fold(0, |word, cell| word << 8 | u64::from(byte(cell)))
        };
        Check { value: word(|cell| cell.value), mask: word(|cell| cell.mask), at: best.0 as u32 }
    }

    /// Whether these eight bytes, little end first, may be a match's.
    #[inline]
    pub fn passes(&self, eight: u64) -> bool {
        eight & self.mask == self.value
    }
}

/// How many bytes of a fragment are near enough to the segment's start.
fn usable(fragment: &Fragment) -> usize {
    if fragment.prefix_width > PREFIX_WIDTH_MAX {
        return 0;
    }
    let prefix_max = fragment.prefix_min.saturating_add(fragment.prefix_width);
    fragment.bytes.len().min(LOOKBACK_MAX.saturating_sub(prefix_max) as usize)
}

/// How rare a block is, in eighths of a bit.
fn rarity(block: &[u8], census: &Census) -> u32 {
    let mut before = None;
    let mut sum = 0;
    for &byte in block {
        // A byte likes to stand beside its like: fillings, rulers, tables.
        sum += if before == Some(byte) { 8 } else { byte_rarity(byte) };
        before = Some(byte);
    }
    if block.len() == 4 { sum.saturating_sub(census.commonness(block)) } else { sum }
}

/// Rough figures for programs, text and base64 together.
fn byte_rarity(byte: u8) -> u32 {
    match byte {
        0x00 => 16,
        0xff | b' ' => 32,
        0x01 | 0x02 | 0x48 | 0x8b | b'e' | b't' | b'a' | b'o' | b'\n' | b'0' => 40,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => 48,
        b'"' | b'=' | b'.' | b',' | b'/' | b'<' | b'>' | b'-' | b'_' => 48,
        0x03..=0x10 | 0x80 | 0x89 | 0xe8 => 48,
        _ => 64,
    }
}
