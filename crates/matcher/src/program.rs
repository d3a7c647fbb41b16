//! Verification: does a segment match at this offset, and where does it end? Rule: each step is bounded by the pattern.
//!
//! A segment is a row of [`Atom`]s. Verification keeps the set of offsets at which each atom may begin, as [`Span`]s;
//! where bytes are still missing, the spans are kept and verification resumes with the next chunk.

use crate::view::{More, View, agree};
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

/// Where an atom may begin: at any offset of `low..=high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub atom: u32,
    pub low: u64,
    pub high: u64,
}

/// What verification came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It matches; the shortest match ends at `end`, which was certain once the bytes up to `known` were there.
    Match { end: u64, known: u64 },
    /// It doesn't match from this start.
    Dead,
    /// Bytes are missing; the spans say where to go on.
    Wait,
}

/// Which ends of a segment are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Shortest,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Yes,
    No,
    Wait,
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

    /// Verifies the atoms `first..end` from a start. On [`Outcome::Wait`] the spans are left in `spans`.
    pub fn begin(&self, atoms: (u32, u32), start: u64, spans: &mut Vec<Span>, view: &View<'_>) -> Outcome {
        spans.clear();
        // Most candidates are a row of runs, most of them wrong: no set is needed for those.
        let (mut atom, end) = atoms;
        let mut at = start;
        while atom < end {
            let agreement = match self.atoms[atom as usize] {
                Atom::Run(run) => {
                    let agreement = self.compare(run, at, view);
                    if agreement == Agreement::Yes {
                        at += u64::from(run.length);
                    }
                    agreement
                }
                Atom::Gap { min, width: 0 } => {
                    at += u64::from(min);
                    Agreement::Yes
                }
                Atom::Gap { .. } | Atom::EdgeAfter(_) => break,
                group => match self.only_way(group, at, view) {
                    Some(Ok(behind)) => {
                        at = behind;
                        Agreement::Yes
                    }
                    Some(Err(agreement)) => agreement,
                    None => break,
                },
            };
            match agreement {
                Agreement::Yes => atom += 1,
                Agreement::No => return Outcome::Dead,
                Agreement::Wait => break,
            }
        }
        if atom == end && at <= view.end() {
            return Outcome::Match { end: at, known: at };
        }
        spans.push(Span { atom, low: at, high: at });
        self.resume(atoms.1, spans, view)
    }

    /// Where an atom leads from one offset, if that is one place; what it says of it, if nowhere. `None`: it leads to several.
    fn only_way(&self, atom: Atom, at: u64, view: &View<'_>) -> Option<Result<u64, Agreement>> {
        let (mut ways, mut behind) = (0, at);
        let mut advance = |to| {
            ways += 1;
            behind = to;
        };
        match (self.try_at(atom, at, view, &mut advance), ways) {
            (Agreement::Wait, _) => Some(Err(Agreement::Wait)),
            (_, 0) => Some(Err(Agreement::No)),
            (_, 1) => Some(Ok(behind)),
            _ => None,
        }
    }

    /// Goes on from `spans`.
    pub fn resume(&self, end: u32, spans: &mut Vec<Span>, view: &View<'_>) -> Outcome {
        let mut best: Option<(u64, u64)> = None;
        let mut found = |end, known| best = Some(best.map_or((end, known), |best| best.min((end, known))));
        self.go_on((end, Ends::Shortest), spans, view, &mut found);
        match best {
            Some((end, known)) => Outcome::Match { end, known },
            None if spans.is_empty() => Outcome::Dead,
            None => Outcome::Wait,
        }
    }

    /// Where a segment is to be verified from.
    pub fn at_start((first, _): (u32, u32), start: u64) -> Span {
        Span { atom: first, low: start, high: start }
    }

    /// Goes on from `spans` and tells each end with where it is certain; what is left of them waits for bytes.
    pub fn resume_all(
        &self,
        end: u32,
        spans: &mut Vec<Span>,
        view: &View<'_>,
        found: &mut dyn FnMut(u64, u64),
    ) {
        self.go_on((end, Ends::All), spans, view, found);
    }

    fn go_on(
        &self,
        (end, ends): (u32, Ends),
        spans: &mut Vec<Span>,
        view: &View<'_>,
        found: &mut dyn FnMut(u64, u64),
    ) {
        let mut queue = std::mem::take(spans);
        queue.sort_unstable_by_key(|span| (span.atom, span.low));
        let mut queue = queue.into_iter().peekable();
        let mut here: Vec<Span> = Vec::new();
        // An atom leads to the next one only, so what has just been reached comes before all that is queued.
        while let Some(atom) = here.first().or(queue.peek()).map(|span| span.atom) {
            while let Some(span) = queue.next_if(|span| span.atom == atom) {
                here.push(span);
            }
            merge(&mut here);
            for span in std::mem::take(&mut here) {
                if atom == end {
                    finish(ends, span, view, spans, found);
                } else {
                    self.step(span, &mut here, spans, view, found, end);
                }
            }
        }
    }

    /// Tries one atom at each offset of a span: what it leads to goes to `next`, what must wait to `waiting`.
    fn step(
        &self,
        span: Span,
        next: &mut Vec<Span>,
        waiting: &mut Vec<Span>,
        view: &View<'_>,
        found: &mut dyn FnMut(u64, u64),
        end: u32,
    ) {
        let atom = self.atoms[span.atom as usize];
        if let Atom::Gap { min, width } = atom {
            let low = span.low + u64::from(min);
            next.push(Span { atom: span.atom + 1, low, high: span.high + u64::from(min) + u64::from(width) });
            return;
        }
        let mut next_at = span.low;
        while let Some(at) = self.likely(atom, next_at, span.high, view) {
            next_at = at + 1;
            if at > view.end() {
                if view.more() == More::Follows {
                    waiting.push(Span { low: at, ..span });
                }
                return;
            }
            if let Atom::EdgeAfter(edge) = atom {
                // It is the last atom: the match ends here, and the byte after it makes it certain.
                match after(edge, at, view) {
                    Agreement::Yes if span.atom + 1 == end => {
                        found(at, (at + 1).min(view.end()));
                    }
                    Agreement::Wait => waiting.push(Span { low: at, high: at, ..span }),
                    _ => {}
                }
                continue;
            }
            let mut advance = |at: u64| next.push(Span { atom: span.atom + 1, low: at, high: at });
            if self.try_at(atom, at, view, &mut advance) == Agreement::Wait {
                waiting.push(Span { low: at, high: at, ..span });
            }
        }
    }

    /// The first offset of `low..=high` where the atom may begin: of those at hand, one where its first byte stands.
    fn likely(&self, atom: Atom, low: u64, high: u64, view: &View<'_>) -> Option<u64> {
        let mut at = low;
        if let Atom::Run(run) = atom
            && low < high
        {
            let length = usize::try_from(high - low).unwrap_or(usize::MAX).saturating_add(1);
            let (_, here) =
                view.pieces(low, length).filter(|(before, _)| before.is_empty()).unwrap_or_default();
            at += first_likely(self.known(run), here) as u64;
        }
        (at <= high).then_some(at)
    }

    /// The bytes of a run before the first that is not known.
    fn known(&self, Run { at, length, kind }: Run) -> &[u8] {
        let length = usize::from(length);
        let (values, masks) = self.bytes[at as usize..].split_at(length);
        let known = match kind {
            RunKind::Exact => length,
            RunKind::Masked => masks.iter().take(length).take_while(|mask| **mask == 0xff).count(),
        };
        &values[..known]
    }

    /// Tries one atom at one offset.
    fn try_at(&self, atom: Atom, at: u64, view: &View<'_>, advance: &mut dyn FnMut(u64)) -> Agreement {
        let branches = |first: u32, count: u32| &self.runs[first as usize..(first + count) as usize];
        match atom {
            Atom::Run(run) => {
                let agreement = self.compare(run, at, view);
                if agreement == Agreement::Yes {
                    advance(at + u64::from(run.length));
                }
                agreement
            }
            Atom::Choice { first, count } => {
                let mut worst = Agreement::No;
                for &run in branches(first, count) {
                    match self.compare(run, at, view) {
                        Agreement::Yes => advance(at + u64::from(run.length)),
                        Agreement::Wait => worst = Agreement::Wait,
                        Agreement::No => {}
                    }
                }
                worst
            }
            Atom::Not { first, count } => {
                let members = branches(first, count);
                let length = members.first().map_or(0, |run| u64::from(run.length));
                if members.iter().any(|&run| self.compare(run, at, view) == Agreement::Yes) {
                    return Agreement::No;
                }
                if at + length > view.end() {
                    return if view.more() == More::Follows { Agreement::Wait } else { Agreement::No };
                }
                advance(at + length);
                Agreement::Yes
            }
            Atom::EdgeBefore(edge) => {
                let fits = at == 0 || view.byte(at - 1).is_some_and(|byte| is_edge(edge, byte));
                if fits {
                    advance(at);
                }
                Agreement::No
            }
            Atom::EdgeAfter(_) | Atom::Gap { .. } => Agreement::No,
        }
    }

    #[inline]
    fn compare(&self, run: Run, at: u64, view: &View<'_>) -> Agreement {
        let length = usize::from(run.length);
        let Some((first, second)) = view.pieces(at, length) else {
            // Past the end of what is at hand; `pieces` never fails before the tail, which is long enough.
            return if view.more() == More::Follows && at >= view.end() {
                Agreement::Wait
            } else {
                Agreement::No
            };
        };
        let start = run.at as usize;
        let values = &self.bytes[start..start + length];
        let present = first.len() + second.len();
        let agrees = match run.kind {
            RunKind::Exact => {
                agree(first, &values[..first.len()]) && agree(second, &values[first.len()..present])
            }
            RunKind::Masked => {
                let masks = &self.bytes[start + length..start + 2 * length];
                masked(first, &values[..first.len()], &masks[..first.len()])
                    && masked(second, &values[first.len()..present], &masks[first.len()..present])
            }
        };
        match (agrees, present == length) {
            (true, true) => Agreement::Yes,
            (true, false) if view.more() == More::Follows => Agreement::Wait,
            _ => Agreement::No,
        }
    }
}

/// Where bytes may begin: the first two of them stand there, or the first, and no more is at hand. Else behind all.
fn first_likely(run: &[u8], here: &[u8]) -> usize {
    let Some((first, rest)) = run.split_first() else { return 0 };
    let agrees = |at: &usize| match (here.get(at + 1), rest.first()) {
        (Some(byte), Some(second)) => byte == second,
        _ => true,
    };
    memchr::memchr_iter(*first, here).find(agrees).unwrap_or(here.len())
}

/// The end of the pattern is reached from a span: its lowest offset is the shortest match.
fn finish(ends: Ends, span: Span, view: &View<'_>, waiting: &mut Vec<Span>, found: &mut dyn FnMut(u64, u64)) {
    let high = if ends == Ends::All { span.high } else { span.low };
    (span.low..=high.min(view.end())).for_each(|end| found(end, end));
    // A gap at the pattern's end, whose bytes must come before it matches.
    let low = span.low.max(view.end() + 1);
    if low <= high && view.more() == More::Follows {
        waiting.push(Span { low, high, ..span });
    }
}

/// Makes of spans of one atom disjoint ones in order.
fn merge(spans: &mut Vec<Span>) {
    if spans.len() < 2 {
        return;
    }
    spans.sort_unstable_by_key(|span| span.low);
    spans.dedup_by(|next, before| {
        let touches = next.low <= before.high.saturating_add(1);
        if touches {
            before.high = before.high.max(next.high);
        }
        touches
    });
}

fn masked(bytes: &[u8], values: &[u8], masks: &[u8]) -> bool {
    let differing = bytes
        .iter()
        .zip(values)
        .zip(masks)
        .fold(0, |all, ((byte, value), mask)| all | ((byte & mask) ^ value));
    differing == 0
}

fn after(edge: Edge, at: u64, view: &View<'_>) -> Agreement {
    match view.byte(at) {
        Some(byte) if is_edge(edge, byte) => Agreement::Yes,
        Some(_) => Agreement::No,
        None if view.more() == More::Follows => Agreement::Wait,
        None => Agreement::Yes,
    }
}

fn is_edge(edge: Edge, byte: u8) -> bool {
    match edge {
        Edge::Line => matches!(byte, b'\r' | b'\n'),
        Edge::NotAlphanumeric => !byte.is_ascii_alphanumeric(),
        // Not every byte that isn't a letter: what parts words in mails and markup, a few more on the left.
        Edge::Word => b"\n\r \"'-/=>_.<@".contains(&byte),
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
