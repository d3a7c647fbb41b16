//! The compiled patterns. Rule: immutable; the strategy is chosen here, once, and named.

use crate::blocks::{Blocks, Folding, REACH, Shape};
use crate::fragment::{self, Census, Window};
use crate::look::Lens;
use crate::program::Program;
use crate::scanner::Scanner;
use crate::segment::{Case, LOOKBACK_MAX, Link, Piece};
use crate::set::{Anchor, Pattern, PatternSet};
use std::collections::BTreeMap;

/// The length of a block, where a segment has so many fixed bytes.
const BLOCK: u32 = 4;
/// The furthest stride.
const STRIDE_MAX: u32 = Lens::STRIDE_MAX;
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
        let plan = Plan::new(&patterns);
        let pattern_count = patterns.len();
        let mut database = Database {
            program,
            segments: Vec::new(),
            groups: Vec::new(),
            tail_bytes: 0,
            patterns: pattern_count,
        };
        let mut windows: BTreeMap<Shape, Vec<(u32, Window)>> = BTreeMap::new();
        for (number, pattern) in patterns.into_iter().enumerate() {
            for (at, piece) in pattern.pieces.iter().enumerate() {
                let anchor = if at == 0 { pattern.anchor } else { Anchor::Anywhere };
                let Some((shape, window)) = plan.window(piece, pattern.case, anchor) else { continue };
                let segment = Segment {
                    pattern: number as u32,
                    atoms: piece.atoms,
                    rank: if at == 0 { Rank::First } else { Rank::Follower },
                    link: piece.link,
                    prefix_min: window.prefix_min,
                    prefix_width: window.prefix_width,
                    length_max: piece.length_max,
                    anchor,
                };
                // The byte before the start counts too: it may have to be an edge.
                let lookback = window.prefix_min + window.prefix_width + window.bytes.len() as u32 + 1;
                database.tail_bytes = database.tail_bytes.max(piece.atom_bytes_max.max(lookback) as usize);
                windows.entry(shape).or_default().push((database.segments.len() as u32, window));
                database.segments.push(segment);
            }
        }
        database.segments.shrink_to_fit();
        database.groups = windows.iter().map(|(shape, windows)| Blocks::new(*shape, windows)).collect();
        database
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

/// Which shape each segment is searched in: chosen for all of them together.
struct Plan {
    census: Census,
    /// The stride of each group of blocks of four.
    strides: BTreeMap<(Folding, u64), u32>,
}

impl Plan {
    fn new(patterns: &[Pattern]) -> Self {
        let mut plan = Plan { census: Census::new(), strides: BTreeMap::new() };
        for pattern in patterns {
            for (at, piece) in pattern.pieces.iter().enumerate() {
                let anchor = if at == 0 { pattern.anchor } else { Anchor::Anywhere };
                plan.census.count(&piece.fragments);
                let length = fragment::length_max(&piece.fragments) as u32;
                if length >= BLOCK {
                    // A pass more costs as much as the looks it takes, so one pass with the stride that the shortest
                    // allows is cheaper than two.
                    let stride =
                        plan.strides.entry((folding(pattern.case), until(anchor))).or_insert(STRIDE_MAX);
                    *stride = (*stride).min(length - BLOCK + 1);
                }
            }
        }
        plan
    }

    fn window(&self, piece: &Piece, case: Case, anchor: Anchor) -> Option<(Shape, Window)> {
        let (folding, until) = (folding(case), until(anchor));
        let longest = fragment::length_max(&piece.fragments);
        let block = BLOCK.min(longest as u32);
        let stride = if block == BLOCK { *self.strides.get(&(folding, until))? } else { 1 };
        let shape = Shape { stride, block, folding, until };
        let reach = if block == BLOCK && longest >= shape.window_length() + REACH { REACH } else { 0 };
        let window =
            fragment::choose(&piece.fragments, shape.window_length() + reach, block as usize, &self.census)?;
        Some((shape, window))
    }
}

fn folding(case: Case) -> Folding {
    match case {
        Case::Sensitive => Folding::None,
        Case::Insensitive => Folding::Ascii,
    }
}

/// Up to where windows of a pattern with this anchor are searched for.
fn until(anchor: Anchor) -> u64 {
    match anchor {
        Anchor::Anywhere => u64::MAX,
        Anchor::Within { last, .. } => {
            let end = last.saturating_add(u64::from(LOOKBACK_MAX));
            PROLOGUES.into_iter().find(|prologue| end <= *prologue).unwrap_or(u64::MAX)
        }
    }
}
