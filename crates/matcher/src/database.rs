//! The compiled patterns. Rule: immutable; the strategy is chosen here, once, and named.

use crate::blocks::{Blocks, Folding, Shape};
use crate::fragment::{self, Window};
use crate::program::Program;
use crate::scanner::Scanner;
use crate::segment::{Case, Link};
use crate::set::{Anchor, PatternSet};
use std::collections::BTreeMap;

/// The shapes that windows are searched in, the fastest first.
const SHAPES: [Shape; 8] = [
    Shape { stride: 8, block: 4, reach: 4 },
    Shape { stride: 8, block: 4, reach: 0 },
    Shape { stride: 7, block: 4, reach: 0 },
    Shape { stride: 3, block: 4, reach: 0 },
    Shape { stride: 1, block: 4, reach: 0 },
    Shape { stride: 2, block: 2, reach: 0 },
    Shape { stride: 1, block: 2, reach: 0 },
    Shape { stride: 1, block: 1, reach: 0 },
];
/// Patterns anchored before one of these offsets are searched there only.
const PROLOGUES: [u64; 2] = [4096, 65_536];

/// Patterns, compiled: immutable, shared by all streams.
#[derive(Debug)]
pub struct Database {
    pub(crate) program: Program,
    pub(crate) segments: Vec<Segment>,
    pub(crate) groups: Vec<Blocks>,
    tail_bytes: usize,
    patterns: usize,
}

/// What the scanner must know of a segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub pattern: u32,
    pub atoms: (u32, u32),
    /// Whether it is the first of its pattern, or follows another.
    pub rank: Rank,
    pub link: Link,
    /// How far its window is from its start.
    pub prefix_min: u32,
    pub prefix_width: u32,
    pub length_max: u32,
    pub anchor: Anchor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    First,
    Follower,
}

impl Database {
    pub(crate) fn new(set: PatternSet) -> Self {
        let PatternSet { mut program, patterns, .. } = set;
        program.shrink();
        let mut segments = Vec::new();
        let mut windows: BTreeMap<(Shape, Folding, u64), Vec<(u32, Window)>> = BTreeMap::new();
        let mut tail_bytes = 0;
        let pattern_count = patterns.len();
        for (pattern, cut) in patterns.into_iter().enumerate() {
            for (at, piece) in cut.pieces.into_iter().enumerate() {
                let Some((shape, window)) = shaped(&piece.fragments) else { continue };
                let (rank, anchor) =
                    if at == 0 { (Rank::First, cut.anchor) } else { (Rank::Follower, Anchor::Anywhere) };
                let lookback = window.prefix_min + window.prefix_width + window.bytes.len() as u32;
                tail_bytes = tail_bytes.max(piece.atom_bytes_max as usize).max(lookback as usize + 1);
                let folding = if cut.case == Case::Insensitive { Folding::Ascii } else { Folding::None };
                let segment = segments.len() as u32;
                segments.push(Segment {
                    pattern: pattern as u32,
                    atoms: piece.atoms,
                    rank,
                    link: piece.link,
                    prefix_min: window.prefix_min,
                    prefix_width: window.prefix_width,
                    length_max: piece.length_max,
                    anchor,
                });
                windows.entry((shape, folding, until(anchor, lookback))).or_default().push((segment, window));
            }
        }
        segments.shrink_to_fit();
        let groups = windows
            .into_iter()
            .map(|((shape, folding, until), windows)| Blocks::new(shape, folding, until, &windows))
            .collect();
        Database { program, segments, groups, tail_bytes, patterns: pattern_count }
    }

    /// The state of a stream that begins.
    pub fn scanner(&self) -> Scanner {
        Scanner::default()
    }

    /// How many patterns there are.
    pub fn pattern_count(&self) -> usize {
        self.patterns
    }

    /// How many bytes a stream keeps between two chunks.
    pub fn tail_bytes(&self) -> usize {
        self.tail_bytes
    }

    /// The names of the strategies that were chosen, and how many windows each searches for.
    pub fn strategies(&self) -> Vec<String> {
        self.groups.iter().map(Blocks::name).collect()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.program.heap_bytes()
            + self.segments.capacity() * size_of::<Segment>()
            + self.groups.iter().map(Blocks::heap_bytes).sum::<usize>()
    }
}

/// The fastest shape that a segment has a window for.
fn shaped(fragments: &[crate::segment::Fragment]) -> Option<(Shape, Window)> {
    let longest = fragment::length_max(fragments);
    let shape = SHAPES.into_iter().find(|shape| shape.window_length() <= longest)?;
    let window = fragment::choose(fragments, shape.window_length(), shape.block as usize)?;
    Some((shape, window))
}

/// Up to where windows of a pattern with this anchor are searched for.
fn until(anchor: Anchor, lookback: u32) -> u64 {
    match anchor {
        Anchor::Anywhere => u64::MAX,
        Anchor::Within { last, .. } => {
            let end = last.saturating_add(u64::from(lookback));
            PROLOGUES.into_iter().find(|prologue| end <= *prologue).unwrap_or(u64::MAX)
        }
    }
}
