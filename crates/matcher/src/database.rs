//! The compiled patterns. Rule: immutable; the strategy is chosen here, once, and named.

use crate::blocks::{Blocks, Candidate, Folding, Shape, Sought};
use crate::classes::Shares;
use crate::fragment::{CHECK_BYTES, Check, Window};
use crate::places::Places;
use crate::plan::{Plan, Search};
use crate::program::Program;
use crate::rates::Rates;
use crate::runs::{RUN_LENGTH_MAX, RunPart, RunWindow, Runs};
use crate::scanner::Scanner;
use crate::segment::{Link, Piece};
use crate::set::{Anchor, Call, PatternId, PatternSet};
use crate::short::Short;
use crate::wildcard::{Cell, CountedBy};
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Patterns, compiled: immutable, shared by all streams.
#[derive(Debug)]
pub struct Database {
    pub(crate) program: Program,
    pub(crate) segments: Vec<Segment>,
    /// What is looked at first of each segment, by itself so that it stays near.
    pub(crate) fronts: Vec<Front>,
    pub(crate) groups: Vec<Blocks>,
    pub(crate) shorts: Vec<Short>,
    pub(crate) places: Places,
    pub(crate) runs: Vec<Runs>,
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
    pub length_max: u32,
    pub counted_by: CountedBy,
    pub anchor: Anchor,
    /// Whether the one behind it is searched for only where this one leads to it.
    pub leads: bool,
}

/// Where a segment starts when its window stands somewhere, and an early look at whether it does.
#[derive(Debug)]
pub(crate) struct Front {
    pub prefix_min: u32,
    pub prefix_width: u32,
    pub check: Check,
    /// How long the segment is, if it is what the check says and nothing else; else 0.
    pub whole: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    First,
    Follower,
}

impl Database {
    pub(crate) fn new(set: PatternSet) -> Self {
        let PatternSet { mut program, patterns, content, .. } = set;
        program.shrink();
        let mut plan = Plan::new(&patterns, content);
        let pattern_count = patterns.len();
        let mut database = Database {
            program,
            segments: Vec::new(),
            fronts: Vec::new(),
            groups: Vec::new(),
            shorts: Vec::new(),
            places: Places::default(),
            runs: Vec::new(),
            tail_bytes: 0,
            patterns: pattern_count,
        };
        let mut windows: BTreeMap<Shape, Vec<(u32, Window)>> = BTreeMap::new();
        for (number, pattern) in patterns.iter().enumerate() {
            for (at, piece) in pattern.pieces.iter().enumerate() {
                let (rank, anchor) = match at {
                    0 => (Rank::First, pattern.anchor),
                    _ => (Rank::Follower, Anchor::Anywhere),
                };
                let id = database.segments.len() as u32;
                let window = if anchor.names_places() {
                    let begin = piece.head.first().copied().unwrap_or(Cell::ANY);
                    database.places.add(anchor, id, begin);
                    // The byte before the start counts too: it may have to be an edge.
                    Window { prefix_min: 0, prefix_width: 0, cells: Vec::new() }
                } else {
                    match plan.window(piece, pattern, anchor, rank) {
                        None => continue,
                        Some(Search::Run(byte, window)) => {
                            database.add_run(id, byte, &window, piece.atoms);
                            window
                        }
                        Some(Search::Blocks(shape, window)) => {
                            windows.entry(shape).or_default().push((id, window.clone()));
                            window
                        }
                    }
                };
                let front = database.front(piece, pattern.call, &window);
                database.fronts.push(front);
                let lookback = window.prefix_min + window.prefix_width + window.cells.len() as u32 + 1;
                let lookback = lookback.max(anchor.lookback());
                database.tail_bytes = database.tail_bytes.max(piece.atom_bytes_max.max(lookback) as usize);
                database.segments.push(Segment {
                    pattern: number as u32,
                    atoms: piece.atoms,
                    rank,
                    link: piece.link,
                    length_max: piece.length_max,
                    counted_by: piece.counted_by,
                    anchor,
                    leads: false,
                });
            }
        }
        database.places.sort();
        database.segments.shrink_to_fit();
        database.fronts.shrink_to_fit();
        let shares = LazyCell::new(shares as fn() -> Shares);
        windows.into_iter().for_each(|(shape, windows)| database.add_group(shape, windows, &shares));
        database
    }

    /// What is looked at first of a segment with this window.
    fn front(&self, piece: &Piece, call: Call, window: &Window) -> Front {
        let is_whole = self.program.is_one_run(piece.atoms) && piece.length_max <= CHECK_BYTES;
        Front {
            prefix_min: window.prefix_min,
            prefix_width: window.prefix_width,
            check: match call {
                Call::Always => Check::new(&piece.head, window),
                Call::Asked => Check::alone(&piece.head),
            },
            whole: if is_whole { piece.length_max as u8 } else { 0 },
        }
    }

    /// A window that is one byte again and again.
    fn add_run(&mut self, segment: u32, byte: u8, window: &Window, atoms: (u32, u32)) {
        let literal = self.program.literal(atoms).map(|literal| self.program.bytes(literal));
        let is_run =
            |literal: &&[u8]| literal.len() <= RUN_LENGTH_MAX && literal.iter().all(|other| *other == byte);
        let (length, part) = match literal.filter(is_run) {
            Some(literal) => (literal.len(), RunPart::Whole),
            None => (window.cells.len(), RunPart::Window),
        };
        self.tail_bytes = self.tail_bytes.max(length + 1);
        let known = self.runs.iter().position(|runs| runs.byte() == byte).unwrap_or_else(|| {
            self.runs.push(Runs::new(byte));
            self.runs.len() - 1
        });
        self.runs[known].add(RunWindow { segment, length: length as u32, part });
    }

    /// Windows that are searched in one pass.
    fn add_group(&mut self, shape: Shape, windows: Vec<(u32, Window)>, shares: &LazyCell<Shares>) {
        if shape.when.is_led() {
            for before in windows.iter().filter_map(|(id, _)| id.checked_sub(1)) {
                self.segments[before as usize].leads = true;
            }
        }
        let sought = |(segment, window)| {
            let literal = self.program.literal(self.segments[segment as usize].atoms);
            // A shorter one is looked at whole by its check.
            let literal = literal.filter(|(_, length)| *length > CHECK_BYTES).unwrap_or((0, 0));
            Sought { check: self.fronts[segment as usize].check, segment, window, literal }
        };
        let windows: Vec<Sought> = windows.into_iter().map(sought).collect();
        if !Short::fits(shape) {
            return self.groups.push(Blocks::new(shape, &windows));
        }
        self.shorts.push(Short::new(shape, &windows, shares));
    }

    /// Something of what a candidate's segment is compared with: whoever asks has it near then.
    #[inline]
    pub(crate) fn touch(&self, candidate: &Candidate) -> u8 {
        if candidate.literal.1 > 0 {
            let bytes = self.program.bytes(candidate.literal);
            return bytes.first().unwrap_or(&0) ^ bytes.last().unwrap_or(&0);
        }
        let segment = self.segments.get(candidate.segment as usize);
        segment.map_or(0, |segment| self.program.touch(segment.atoms.0))
    }

    /// The state of a stream that begins.
    pub fn scanner(&self) -> Scanner {
        Scanner::default()
    }

    /// The segments of a pattern, the first first.
    pub(crate) fn segments_of(&self, pattern: PatternId) -> Range<u32> {
        let first = self.segments.partition_point(|segment| segment.pattern < pattern.0);
        let rest = self.segments.get(first..).unwrap_or_default();
        let count = rest.iter().take_while(|segment| segment.pattern == pattern.0).count();
        first as u32..(first + count) as u32
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
        let runs = self.runs.iter().map(|runs| format!("runs of {:02x} × {}", runs.byte(), runs.count()));
        let places = self.places.name();
        let groups = self.shorts.iter().map(Short::name).chain(self.groups.iter().map(Blocks::name));
        places.into_iter().chain(runs).chain(groups).collect()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.program.heap_bytes()
            + self.segments.capacity() * size_of::<Segment>()
            + self.fronts.capacity() * size_of::<Front>()
            + self.places.heap_bytes()
            + self.runs.iter().map(Runs::heap_bytes).sum::<usize>()
            + self.shorts.iter().map(Short::heap_bytes).sum::<usize>()
            + self.groups.iter().map(Blocks::heap_bytes).sum::<usize>()
    }
}

/// How often pairs stand in content; what is short is never folded.
fn shares() -> Shares {
    Shares::new(&Rates::new(Folding::None))
}

/// A tail longer than this no pattern asks for.
const TAIL_BYTES_MAX: usize = 4096;

lockgate_stored::stored!(enum Rank { 0 => First, 1 => Follower });
lockgate_stored::stored!(struct Front { prefix_min, prefix_width, check, whole });
lockgate_stored::stored!(struct Segment { pattern, atoms, rank, link, length_max, counted_by, anchor, leads });
lockgate_stored::stored!(
    struct Database { program, segments, fronts, groups, shorts, places, runs, tail_bytes, patterns },
    sound
);

impl Database {
    /// Whether each number leads to what is there: the scanner does not ask again.
    fn is_sound(&self) -> bool {
        let (count, atoms) = (self.segments.len(), self.program.atom_count());
        let leads_on = |segment: &Segment| {
            segment.atoms.0 <= segment.atoms.1
                && segment.atoms.1 <= atoms
                && (segment.pattern as usize) < self.patterns
        };
        self.fronts.len() == count
            && self.tail_bytes <= TAIL_BYTES_MAX
            && self.segments.iter().all(leads_on)
            // Only another segment of the pattern follows one.
            && self.segments.last().is_none_or(|last| last.link == Link::Last)
            && self.groups.iter().all(|group| group.is_below(count, self.program.byte_count()))
            && self.shorts.iter().all(|short| short.is_below(count))
            && self.places.is_below(count)
            && self.runs.iter().all(|run| run.is_below(count))
    }
}
