//! Whether an atom agrees with the bytes at an offset, and where it leads. Rule: nothing is kept from one offset to the next.

use super::{Atom, Program, Run, RunKind};
use crate::view::{More, View, agree};
use crate::wildcard::Edge;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    Yes,
    No,
    Wait,
}

impl Program {
    /// Where an atom leads from one offset, if that is one place; what it says of it, if nowhere. `None`: it leads to several.
    pub(super) fn only_way(&self, atom: Atom, at: u64, view: &View<'_>) -> Option<Result<u64, Agreement>> {
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

    /// The first offset of `low..=high` where the atom may begin: of those at hand, one where its first byte stands.
    pub(super) fn likely(&self, atom: Atom, low: u64, high: u64, view: &View<'_>) -> Option<u64> {
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
    pub(super) fn try_at(
        &self,
        atom: Atom,
        at: u64,
        view: &View<'_>,
        advance: &mut dyn FnMut(u64),
    ) -> Agreement {
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
    pub(super) fn compare(&self, run: Run, at: u64, view: &View<'_>) -> Agreement {
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

fn masked(bytes: &[u8], values: &[u8], masks: &[u8]) -> bool {
    let differing = bytes
        .iter()
        .zip(values)
        .zip(masks)
        .fold(0, |all, ((byte, value), mask)| all | ((byte & mask) ^ value));
    differing == 0
}

pub(super) fn after(edge: Edge, at: u64, view: &View<'_>) -> Agreement {
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
