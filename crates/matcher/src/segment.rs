//! A pattern cut into segments: what is searched and verified by itself. Rule: cutting never changes what matches.
//!
//! A pattern is cut at the gaps that are open or wide; where ends are counted, behind the first cut at each that varies. What is left between two cuts spans a bounded distance.

use crate::program::{Atom, Program, RUN_BYTES_MAX};
use crate::wildcard::{Cell, CountedBy, Node, Wildcard};

/// A gap that varies by more than this is a cut.
pub(crate) const GAP_WIDTH_MAX: u32 = 128;
/// How much the length of a segment may vary in all.
pub(crate) const SEGMENT_WIDTH_MAX: u32 = 256;
/// How far from a segment's start its fragment may end.
pub(crate) const LOOKBACK_MAX: u32 = 160;
/// How much the distance from a segment's start to its fragment may vary.
pub(crate) const PREFIX_WIDTH_MAX: u32 = 64;

/// Whether letters agree with those of the other case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Case {
    /// `a` is not `A`.
    Sensitive,
    /// ASCII letters agree in both cases.
    Insensitive,
}

/// What comes after a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing: the pattern ends.
    Last,
    /// The next segment, at such a distance.
    Gap { min: u32, max: Option<u32> },
}

/// Bytes in a row that each match of a segment has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The least distance from the segment's start …
    pub prefix_min: u32,
    /// … and how much more it may be.
    pub prefix_width: u32,
    /// The bytes; letters in lower case where case is insensitive.
    pub bytes: Vec<u8>,
}

/// A segment as it is cut from the pattern.
#[derive(Debug)]
pub(crate) struct Piece {
    pub atoms: (u32, u32),
    pub link: Link,
    pub fragments: Vec<Fragment>,
    /// The bytes at a fixed distance from the start, as far as fragments are looked for.
    pub head: Vec<Cell>,
    /// The longest atom: so many bytes may be needed again when verification resumes.
    pub atom_bytes_max: u32,
    /// The greatest length of what matches.
    pub length_max: u32,
    /// Which of its matches are told apart.
    pub counted_by: CountedBy,
}

/// Cuts a pattern, and writes its atoms into the program.
pub(crate) fn cut(wildcard: &Wildcard, case: Case, program: &mut Program) -> Vec<Piece> {
    let mut cutter = Cutter::new(program, case, wildcard.counted_by);
    for node in &wildcard.nodes {
        cutter.node(node);
    }
    cutter.close(Link::Last);
    // They wait by the hundred thousand until all are there.
    cutter.pieces.shrink_to_fit();
    cutter.pieces
}

struct Cutter<'a> {
    program: &'a mut Program,
    case: Case,
    counted_by: CountedBy,
    /// What the next piece is counted by.
    piece_counted_by: CountedBy,
    pieces: Vec<Piece>,
    atoms_start: u32,
    cells: Vec<Cell>,
    fragments: Vec<Fragment>,
    head: Vec<Cell>,
    length_min: u32,
    width: u32,
    atom_bytes_max: u32,
}

impl<'a> Cutter<'a> {
    fn new(program: &'a mut Program, case: Case, counted_by: CountedBy) -> Self {
        Cutter {
            atoms_start: program.atom_count(),
            program,
            case,
            counted_by,
            piece_counted_by: CountedBy::Starts,
            pieces: Vec::with_capacity(1),
            cells: Vec::new(),
            fragments: Vec::new(),
            head: Vec::new(),
            length_min: 0,
            width: 0,
            atom_bytes_max: 0,
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Cell(cell) => self.cell(*cell),
            Node::Gap { min, max } if self.counted_by == CountedBy::Ends && *max != Some(*min) => {
                // From which start a piece follows another counts, so that those that follow are told by their starts.
                let width_max = if self.pieces.is_empty() { GAP_WIDTH_MAX } else { 0 };
                self.gap((*min, *max), width_max);
                if !self.is_at_start() {
                    self.piece_counted_by = CountedBy::Ends;
                }
            }
            Node::Gap { min, max } => self.gap((*min, *max), GAP_WIDTH_MAX),
            Node::Near { min, max } => self.gap((*min, Some(*max)), GAP_WIDTH_MAX),
            Node::Choice(branches) => self.choice(branches),
            Node::Not(members) => {
                let length = members.first().map_or(0, Vec::len) as u32;
                self.flush_cells();
                let members = self.with_case(members);
                let (first, count) = self.program.push_branches(&members);
                self.program.push(Atom::Not { first, count });
                self.length_min += length;
                self.atom_bytes_max = self.atom_bytes_max.max(length);
            }
            Node::Edge(edge) if self.length_min == 0 && self.cells.is_empty() && self.pieces.is_empty() => {
                self.program.push(Atom::EdgeBefore(*edge));
            }
            Node::Edge(edge) => {
                self.flush_cells();
                self.program.push(Atom::EdgeAfter(*edge));
            }
        }
    }

    fn cell(&mut self, cell: Cell) {
        let cell = cased(cell, self.case);
        let exact = match self.case {
            Case::Sensitive => cell.mask == 0xff,
            Case::Insensitive => cell.mask | 0x20 == 0xff,
        };
        if exact {
            let byte = if cell.mask == 0xff { cell.value } else { cell.value | 0x20 };
            let begins = self.cells.last().is_none_or(|last| last.mask | 0x20 != 0xff);
            match self.fragments.last_mut() {
                Some(fragment) if !begins => fragment.bytes.push(byte),
                _ => self.fragments.push(Fragment {
                    prefix_min: self.length_min,
                    prefix_width: self.width,
                    bytes: vec![byte],
                }),
            }
        }
        // A gap or group before it leaves a hole: any byte, where the distance is still fixed.
        if self.width == 0 && self.length_min < LOOKBACK_MAX {
            self.head.resize(self.length_min as usize, Cell::ANY);
            self.head.push(cell);
        }
        self.cells.push(cell);
        self.length_min += 1;
    }

    fn gap(&mut self, (min, max): (u32, Option<u32>), width_max: u32) {
        let width = max
            .map(|max| max - min)
            .filter(|width| *width <= width_max && self.width + width <= SEGMENT_WIDTH_MAX);
        match width {
            Some(0) if min <= 8 => {
                for _ in 0..min {
                    self.cell(Cell::ANY);
                }
            }
            Some(width) => {
                self.flush_cells();
                self.program.push(Atom::Gap { min, width });
                self.length_min = self.length_min.saturating_add(min);
                self.width += width;
            }
            None => self.close(Link::Gap { min, max }),
        }
    }

    /// Whether nothing of the next piece has been read.
    fn is_at_start(&self) -> bool {
        self.atoms_start == self.program.atom_count() && self.cells.is_empty()
    }

    fn choice(&mut self, branches: &[Vec<Cell>]) {
        let shortest = branches.iter().map(Vec::len).min().unwrap_or(0) as u32;
        let longest = branches.iter().map(Vec::len).max().unwrap_or(0) as u32;
        if self.width + (longest - shortest) > SEGMENT_WIDTH_MAX {
            self.close(Link::Gap { min: 0, max: Some(0) });
        }
        self.flush_cells();
        let branches = self.with_case(branches);
        let (first, count) = self.program.push_branches(&branches);
        self.program.push(Atom::Choice { first, count });
        self.length_min += shortest;
        self.width += longest - shortest;
        self.atom_bytes_max = self.atom_bytes_max.max(longest);
    }

    fn with_case(&self, branches: &[Vec<Cell>]) -> Vec<Vec<Cell>> {
        branches.iter().map(|row| row.iter().map(|cell| cased(*cell, self.case)).collect()).collect()
    }

    fn flush_cells(&mut self) {
        self.atom_bytes_max = self.atom_bytes_max.max((self.cells.len() as u32).min(RUN_BYTES_MAX as u32));
        self.program.push_cells(&self.cells);
        self.cells.clear();
    }

    fn close(&mut self, link: Link) {
        self.flush_cells();
        let end = self.program.atom_count();
        self.fragments.iter_mut().for_each(|fragment| fragment.bytes.shrink_to_fit());
        self.fragments.shrink_to_fit();
        self.head.shrink_to_fit();
        self.pieces.push(Piece {
            atoms: (self.atoms_start, end),
            link,
            fragments: std::mem::take(&mut self.fragments),
            head: std::mem::take(&mut self.head),
            atom_bytes_max: self.atom_bytes_max.min(255),
            length_max: self.length_min.saturating_add(self.width),
            counted_by: std::mem::take(&mut self.piece_counted_by),
        });
        self.atoms_start = end;
        self.length_min = 0;
        self.width = 0;
        self.atom_bytes_max = 0;
    }
}

/// A letter of an insensitive pattern agrees with both its cases: the bit that tells them apart is masked.
pub(crate) fn cased(cell: Cell, case: Case) -> Cell {
    if case == Case::Insensitive && cell.mask == 0xff && cell.value.is_ascii_alphabetic() {
        Cell { value: cell.value & !0x20, mask: !0x20 }
    } else {
        cell
    }
}

lockgate_stored::stored!(enum Link { 0 => Last, 1 => Gap { min, max } });
