//! What segments are made of. Rule: written once, by compiling; a stored one is checked before it is used.
//!
//! A segment is a row of [`Atom`]s. Verification ([`Walk`]) keeps the set of offsets at which each atom may begin, as [`Span`]s;
//! where bytes are still missing, the spans are kept and verification resumes with the next chunk.

mod agree;
mod been;
mod walk;

pub(crate) use walk::{Outcome, Span, Walk};

use crate::wildcard::{Cell, Edge};

/// The longest run compared at once. A run that isn't all there is compared again from its start, so it is short.
pub(crate) const RUN_BYTES_MAX: usize = 64;

/// A piece of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Atom {
    /// These bytes.
    Run(Run),
    /// `min` to `min + width` bytes.
    Gap { min: u32, width: u32 },
    /// One of these runs.
    Choice { first: u32, count: u32 },
    /// As many bytes as the members have, and none of them.
    Not { first: u32, count: u32 },
    /// The byte before must be an edge.
    EdgeBefore(Edge),
    /// The byte after must be an edge.
    EdgeAfter(Edge),
}

impl Atom {
    fn is_run(self) -> bool {
        matches!(self, Atom::Run(_))
    }
}

/// Bytes in [`Program::bytes`]: the values, and for a masked run the masks after them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    at: u32,
    length: u16,
    kind: RunKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunKind {
    Exact,
    Masked,
}

/// The atoms of all segments, and the bytes they refer to.
#[derive(Default, Debug)]
pub(crate) struct Program {
    bytes: Vec<u8>,
    atoms: Vec<Atom>,
    runs: Vec<Run>,
}

impl Program {
    /// How many atoms there are; the next one pushed gets this number.
    pub fn atom_count(&self) -> u32 {
        self.atoms.len() as u32
    }

    /// How many bytes runs refer to.
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.atoms.capacity() * size_of::<Atom>()
            + self.runs.capacity() * size_of::<Run>()
    }

    /// Something of the first and the last byte of an atom that is a run: whoever asks has them near then.
    #[inline]
    pub fn touch(&self, atom: u32) -> u8 {
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or(0);
        match self.atoms.get(atom as usize) {
            Some(Atom::Run(run)) => byte(run.at as usize) ^ byte(run.at as usize + usize::from(run.length)),
            _ => 0,
        }
    }

    /// Where the bytes of these atoms are, and how many, if they are nothing else.
    pub fn literal(&self, (first, end): (u32, u32)) -> Option<(u32, u32)> {
        let atoms = self.atoms.get(first as usize..end as usize)?;
        let (mut from, mut to) = (None, 0);
        for atom in atoms {
            let Atom::Run(Run { at, length, kind: RunKind::Exact }) = atom else { return None };
            if from.is_some() && *at != to {
                return None;
            }
            from = from.or(Some(*at));
            to = at + u32::from(*length);
        }
        from.map(|from| (from, to - from))
    }

    /// So many bytes from there.
    #[inline]
    pub fn bytes(&self, (at, length): (u32, u32)) -> &[u8] {
        self.bytes.get(at as usize..).and_then(|bytes| bytes.get(..length as usize)).unwrap_or_default()
    }

    /// Whether these atoms are some bytes in a row and nothing else.
    pub fn is_one_run(&self, (first, end): (u32, u32)) -> bool {
        matches!(self.atoms.get(first as usize..end as usize), Some([Atom::Run(_)]))
    }

    /// Gives back what was reserved and not used.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.atoms.shrink_to_fit();
        self.runs.shrink_to_fit();
    }

    /// Where the program ends now.
    pub fn mark(&self) -> (usize, usize, usize) {
        (self.bytes.len(), self.atoms.len(), self.runs.len())
    }

    /// Takes back all that was added since.
    pub fn back_to(&mut self, (bytes, atoms, runs): (usize, usize, usize)) {
        self.bytes.truncate(bytes);
        self.atoms.truncate(atoms);
        self.runs.truncate(runs);
    }

    /// Adds an atom.
    pub fn push(&mut self, atom: Atom) {
        self.atoms.push(atom);
    }

    /// Adds cells in a row, as runs of bounded length.
    pub fn push_cells(&mut self, cells: &[Cell]) {
        for cells in cells.chunks(RUN_BYTES_MAX) {
            let run = self.run(cells);
            self.atoms.push(Atom::Run(run));
        }
    }

    /// Adds branches; their place is what [`Atom::Choice`] and [`Atom::Not`] refer to.
    pub fn push_branches(&mut self, branches: &[Vec<Cell>]) -> (u32, u32) {
        let first = self.runs.len() as u32;
        for branch in branches {
            let run = self.run(branch);
            self.runs.push(run);
        }
        (first, branches.len() as u32)
    }

    fn run(&mut self, cells: &[Cell]) -> Run {
        let at = self.bytes.len() as u32;
        self.bytes.extend(cells.iter().map(|cell| cell.value));
        let kind = if cells.iter().all(|cell| cell.mask == 0xff) {
            RunKind::Exact
        } else {
            self.bytes.extend(cells.iter().map(|cell| cell.mask));
            RunKind::Masked
        };
        Run { at, length: cells.len() as u16, kind }
    }
}

lockgate_stored::stored!(struct Program { bytes, atoms, runs }, sound);
lockgate_stored::stored!(struct Run { at, length, kind });
lockgate_stored::stored!(enum RunKind { 0 => Exact, 1 => Masked });
lockgate_stored::stored!(enum Atom {
    0 => Run(run),
    1 => Gap { min, width },
    2 => Choice { first, count },
    3 => Not { first, count },
    4 => EdgeBefore(edge),
    5 => EdgeAfter(edge),
});

impl Program {
    /// Whether each atom and run leads to what is there.
    fn is_sound(&self) -> bool {
        let is_there = |run: &Run| {
            let bytes = usize::from(run.length) << u8::from(run.kind == RunKind::Masked);
            (run.at as usize).checked_add(bytes).is_some_and(|end| end <= self.bytes.len())
        };
        let leads_on = |atom: &Atom| match atom {
            Atom::Run(run) => run.length > 0 && is_there(run),
            Atom::Choice { first, count } | Atom::Not { first, count } => {
                first.checked_add(*count).is_some_and(|end| end as usize <= self.runs.len())
            }
            Atom::Gap { .. } | Atom::EdgeBefore(_) | Atom::EdgeAfter(_) => true,
        };
        self.runs.iter().all(is_there) && self.atoms.iter().all(leads_on)
    }
}
