//! Does a segment match at this offset, and where does it end? Rule: each step is bounded by the pattern, and what one start
//! has found behind a gap the next one does not look for again.

use super::agree::{Agreement, after};
use super::been::Been;
use super::{Atom, Program};
use crate::view::{More, View};

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
    /// Each, and of a start that comes after others those alone that they do not lead to.
    All,
}

/// Verifies the segments of one stream, one after the other.
#[derive(Default, Debug)]
pub(crate) struct Walk {
    /// What is left of spans that had waited.
    queue: Vec<Span>,
    /// The spans of the atom at hand, and of the one behind it.
    here: Vec<Span>,
    next: Vec<Span>,
    been: Been,
}

/// What one walk is about.
#[derive(Clone, Copy)]
struct Way<'a, 'v> {
    program: &'a Program,
    view: &'a View<'v>,
    /// The atom behind the last.
    end: u32,
    ends: Ends,
    /// What begins later may rely on what this one has seen.
    start: u64,
}

impl Program {
    /// Verifies the atoms `first..end` from a start: decides, or tells from where on sets of places are needed.
    pub fn decide(&self, (first, end): (u32, u32), start: u64, view: &View<'_>) -> Result<Outcome, Span> {
        // Most candidates are a row of runs, most of them wrong.
        let (mut atom, mut at) = (first, start);
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
                Agreement::No => return Ok(Outcome::Dead),
                Agreement::Wait => break,
            }
        }
        if atom == end && at <= view.end() {
            return Ok(Outcome::Match { end: at, known: at });
        }
        Err(Span { atom, low: at, high: at })
    }
}

impl Walk {
    /// Goes on from `spans`. On [`Outcome::Wait`] they say where to go on.
    pub fn resume(&mut self, program: &Program, end: u32, spans: &mut Vec<Span>, view: &View<'_>) -> Outcome {
        let mut best: Option<(u64, u64)> = None;
        let mut found = |end, known| best = Some(best.map_or((end, known), |best| best.min((end, known))));
        // What leads nowhere does so from any start.
        let way = Way { program, view, end, ends: Ends::Shortest, start: 0 };
        self.go_on(way, spans, &mut found);
        match best {
            Some((end, known)) => Outcome::Match { end, known },
            None if spans.is_empty() => {
                self.been.keep(0);
                Outcome::Dead
            }
            None => Outcome::Wait,
        }
    }

    /// Goes on from `spans`, which a start has led to, and tells each end with where it is certain; what is left of them waits
    /// for bytes. An end that an earlier start leads to may be left out.
    pub fn resume_all(
        &mut self,
        program: &Program,
        (start, end): (u64, u32),
        spans: &mut Vec<Span>,
        view: &View<'_>,
        found: &mut dyn FnMut(u64, u64),
    ) {
        self.go_on(Way { program, view, end, ends: Ends::All, start }, spans, found);
        self.been.keep(start);
    }

    fn go_on(&mut self, way: Way<'_, '_>, spans: &mut Vec<Span>, found: &mut dyn FnMut(u64, u64)) {
        self.been.begin();
        self.queue.append(spans);
        // Taken from the end.
        self.queue.sort_unstable_by_key(|span| std::cmp::Reverse((span.atom, span.low)));
        // An atom leads to the next one only, so what has just been reached comes before all that is queued.
        while let Some(atom) = self.here.first().or(self.queue.last()).map(|span| span.atom) {
            while let Some(span) = self.queue.pop_if(|span| span.atom == atom) {
                self.here.push(span);
            }
            merge(&mut self.here);
            for at in 0..self.here.len() {
                let span = self.here[at];
                if atom == way.end {
                    finish(way, span, spans, found);
                } else {
                    self.step(way, span, spans, found);
                }
            }
            self.here.clear();
            std::mem::swap(&mut self.here, &mut self.next);
        }
    }

    /// Tries one atom at each offset of a span: what must wait goes to `waiting`.
    fn step(
        &mut self,
        Way { program, view, end, ends, start }: Way<'_, '_>,
        span: Span,
        waiting: &mut Vec<Span>,
        found: &mut dyn FnMut(u64, u64),
    ) {
        let atom = program.atoms[span.atom as usize];
        let behind = span.atom + 1;
        if let Atom::Gap { min, width } = atom {
            let (low, high) = (span.low + u64::from(min), span.high + u64::from(min) + u64::from(width));
            self.next.extend(self.been.new_in(Span { atom: behind, low, high }, start));
            return;
        }
        let mut next_at = span.low;
        while let Some(at) = program.likely(atom, next_at, span.high, view) {
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
                    Agreement::Yes if behind == end => found(at, (at + 1).min(view.end())),
                    Agreement::Wait => waiting.push(Span { low: at, high: at, ..span }),
                    _ => {}
                }
                continue;
            }
            let mut advance = |at: u64| self.next.push(Span { atom: behind, low: at, high: at });
            match program.try_at(atom, at, view, &mut advance) {
                Agreement::Wait => waiting.push(Span { low: at, high: at, ..span }),
                // Of the last one the first place is the shortest match.
                Agreement::Yes if behind == end && ends == Ends::Shortest && atom.is_run() => return,
                _ => {}
            }
        }
    }
}

/// The end of the pattern is reached from a span: its lowest offset is the shortest match.
fn finish(
    Way { view, ends, .. }: Way<'_, '_>,
    span: Span,
    waiting: &mut Vec<Span>,
    found: &mut dyn FnMut(u64, u64),
) {
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
