//! The rules that one transaction may be about: [`Candidates`]. Rule: a rule is told once, when the last of what it asks holds.

use crate::database::{Compiled, CompiledList, Database};
use crate::decision::Decision;
use crate::evaluate::{Answer, Piece, Variables, holds, holds_with};
use crate::flow::{Facts, locked};
use crate::head::Head;
use crate::memory::Memory;
use crate::views::ViewId;
use lockgate_model::{Direction, TransactionId, Wish};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;

/// How many rules one transaction may be about at a time.
const CANDIDATES_MAX: usize = 4096;
/// What all rules together may cost for one view, or one piece of it, in steps: some two milliseconds.
const STEPS_OF_VIEW_MAX: u64 = 100_000;
/// What they may cost for a head, all of its views together.
const STEPS_OF_HEAD_MAX: u64 = 16 * STEPS_OF_VIEW_MAX;
/// What is kept of buffers for rules that ask of them later.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// A rule that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub rule: u32,
    /// The view that was the last to hold.
    pub view: ViewId,
    /// Where the first content was found in it.
    pub offset: Option<u64>,
    /// What it wants.
    pub wish: Wish,
    /// Of which transaction, and which way that went.
    pub transaction: TransactionId,
    pub direction: Direction,
}

/// A rule that a transaction may be about.
#[derive(Debug, Default)]
struct Open {
    /// Which of its lists have held: a bit for each.
    held: u64,
    /// Which views it looks at, a bit for each: others may have it, too.
    views: u64,
    /// Which of its lists are to hold.
    wanted: u64,
    /// What it has read, where one list reads and another asks.
    variables: Option<Box<Variables>>,
}

impl Open {
    fn is_whole(&self) -> bool {
        self.held & self.wanted == self.wanted
    }

    /// Asks what has not held so far. Where the first content was found, and whether it cost too much.
    fn look(
        &mut self,
        rule: &Compiled,
        view: ViewId,
        piece: Piece<'_>,
        steps: &mut u64,
    ) -> (Option<u64>, bool) {
        let (mut offset, mut is_spent) = (None, false);
        if self.views & bit_of(view) == 0 {
            return (offset, is_spent);
        }
        for (list, bit) in rule.lists.iter().zip(0..).filter(|(list, _)| list.view == view) {
            if self.held & 1 << bit != 0 {
                continue;
            }
            match self.ask(rule, list, piece, steps) {
                Answer::Yes { offset: at } => {
                    self.held |= 1 << bit;
                    offset = offset.or(at);
                }
                Answer::No => {}
                Answer::Spent => is_spent = true,
            }
        }
        (offset, is_spent)
    }

    fn ask(&mut self, rule: &Compiled, list: &CompiledList, piece: Piece<'_>, steps: &mut u64) -> Answer {
        if !rule.shares_variables {
            return holds(&list.tests, &list.of_decoded, piece, steps);
        }
        let variables = self.variables.get_or_insert_default();
        holds_with(&list.tests, &list.of_decoded, piece, steps, variables)
    }
}

/// The bit that a view has among 64.
fn bit_of(view: ViewId) -> u64 {
    1 << (view.0 % 64)
}

/// The rules that one transaction may be about.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    open: BTreeMap<u32, Open>,
    /// Those that are done with.
    told: Vec<u32>,
    /// Those decided on of which the bytes of the connection held.
    raw_decided: BTreeSet<u32>,
    /// Those of which they hold and that wait for what else is noted of the flow, and where each held.
    raw_waiting: BTreeMap<u32, Option<u64>>,
    /// Views that have been there, whole: where the bytes of each are.
    kept: Vec<(ViewId, Range<usize>)>,
    kept_bytes: Vec<u8>,
    /// Those of which all holds.
    ready: Vec<Told>,
    is_passed: bool,
    /// Whether something was not asked for want of room or steps.
    pub is_spent: bool,
}

/// What all questions of a transaction are asked with.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub database: &'a Database,
    pub facts: &'a Facts,
    pub direction: Direction,
    pub transaction: TransactionId,
    pub memory: &'a Mutex<Memory>,
}

impl Candidates {
    /// A view is there, whole or a piece of it, and these rules' patterns were found in it.
    pub fn look(&mut self, asking: Asking<'_>, view: ViewId, piece: Piece<'_>, found: &mut Vec<u32>) {
        self.look_at(asking, &[(view, piece)], STEPS_OF_VIEW_MAX, found);
    }

    /// All views of a head are there, and these rules' patterns were found in them.
    pub fn look_at_head(&mut self, asking: Asking<'_>, head: &Head, found: &mut Vec<u32>) {
        let pieces: Vec<_> = head.pieces().collect();
        self.look_at(asking, &pieces, STEPS_OF_HEAD_MAX, found);
        self.is_spent |= head.is_spent;
    }

    fn look_at(
        &mut self,
        asking: Asking<'_>,
        pieces: &[(ViewId, Piece<'_>)],
        mut steps: u64,
        found: &mut Vec<u32>,
    ) {
        found.sort_unstable();
        found.dedup();
        for rule in found.drain(..) {
            self.consider(asking, rule, &mut steps);
        }
        let views = pieces.iter().fold(0, |views, (view, _)| views | bit_of(*view));
        // What holds already may wait for something else that is there by now.
        let concerns = |open: &Open| open.views & views != 0 || open.is_whole();
        for (rule, open) in self.open.iter_mut().filter(|(_, open)| concerns(open)) {
            let compiled = &asking.database.rules[*rule as usize];
            for (view, piece) in pieces {
                let (offset, is_spent) = open.look(compiled, *view, *piece, &mut steps);
                self.is_spent |= is_spent;
                if open.is_whole() {
                    self.ready.push(Told {
                        rule: *rule,
                        view: *view,
                        offset,
                        wish: compiled.signature.wish,
                        transaction: asking.transaction,
                        direction: asking.direction,
                    });
                    break;
                }
            }
        }
    }

    /// The rules that hold by now, the one first that goes before others.
    pub fn conclude(&mut self, asking: Asking<'_>) -> Vec<Told> {
        let mut told = Vec::new();
        if !self.ready.is_empty() {
            let mut ready = std::mem::take(&mut self.ready);
            ready.sort_by_key(|ready| ready.rule);
            ready.dedup_by_key(|ready| ready.rule);
            ready.into_iter().for_each(|ready| self.decide(asking, ready, &mut told));
        }
        told
    }

    /// Decides on rules that hold in the bytes of the connection, of which no packet is seen: once on each, however often it holds.
    pub fn decide_raw(
        &mut self,
        asking: Asking<'_>,
        found: Vec<(u32, Option<u64>)>,
    ) -> Vec<(u32, Option<u64>, Wish)> {
        let Asking { database, facts, direction, memory, .. } = asking;
        for (rule, offset) in found.into_iter().filter(|(rule, _)| !self.raw_decided.contains(rule)) {
            if self.raw_waiting.len() < CANDIDATES_MAX || self.raw_waiting.contains_key(&rule) {
                self.raw_waiting.entry(rule).or_insert(offset);
            } else {
                self.is_spent = true;
            }
        }
        let mut told = Vec::new();
        for (rule, offset) in std::mem::take(&mut self.raw_waiting) {
            if self.is_passed {
                break;
            }
            let decision = database.decide(rule, &mut locked(memory), facts.pair(direction));
            if decision == Decision::NotNow {
                self.raw_waiting.insert(rule, offset);
                continue;
            }
            self.raw_decided.insert(rule);
            match decision.in_proxy() {
                Some(Wish::Pass) => self.is_passed = true,
                Some(wish) => told.push((rule, offset, wish)),
                None => {}
            }
        }
        told
    }

    /// A view that has ended is kept for rules that turn up later.
    pub fn keep(&mut self, view: ViewId, bytes: &[u8]) {
        let from = self.kept_bytes.len();
        if from + bytes.len() > KEPT_BYTES_MAX {
            self.is_spent = true;
            return;
        }
        self.kept_bytes.extend_from_slice(bytes);
        self.kept.push((view, from..self.kept_bytes.len()));
    }

    /// The same for all views of a head.
    pub fn keep_head(&mut self, head: Head) {
        let from = self.kept_bytes.len();
        if from + head.bytes.len() > KEPT_BYTES_MAX {
            self.is_spent = true;
        } else if from == 0 && self.kept.is_empty() {
            (self.kept_bytes, self.kept) = (head.bytes, head.places);
        } else {
            self.kept_bytes.extend_from_slice(&head.bytes);
            let moved = |(view, place): (ViewId, Range<usize>)| (view, from + place.start..from + place.end);
            self.kept.extend(head.places.into_iter().map(moved));
        }
    }

    /// What has come so far is asked of a rule that turns up.
    fn consider(&mut self, asking: Asking<'_>, rule: u32, steps: &mut u64) {
        let compiled = &asking.database.rules[rule as usize];
        if self.open.contains_key(&rule)
            || self.told.contains(&rule)
            || !asking.facts.concern(compiled, asking.direction)
            || asking.facts.is_too_soon(compiled, &locked(asking.memory))
        {
            return;
        }
        if self.open.len() >= CANDIDATES_MAX {
            self.is_spent = true;
            return;
        }
        let mut open = Open { wanted: compiled.content_lists(), ..Open::default() };
        for (list, bit) in compiled.lists.iter().zip(0..) {
            open.views |= bit_of(list.view);
            let kept = self.kept.iter().filter(|(view, _)| *view == list.view);
            for bytes in kept.filter_map(|(_, place)| self.kept_bytes.get(place.clone())) {
                match open.ask(compiled, list, Piece::whole(bytes), steps) {
                    Answer::Yes { .. } => open.held |= 1 << bit,
                    Answer::No => {}
                    Answer::Spent => self.is_spent = true,
                }
            }
        }
        self.open.insert(rule, open);
    }

    /// All that a rule asks of buffers holds: what it asks of the flow, and how often it is to be told.
    fn decide(&mut self, asking: Asking<'_>, ready: Told, told: &mut Vec<Told>) {
        if self.is_passed {
            return;
        }
        let Asking { database, facts, direction, memory, .. } = asking;
        let compiled: &Compiled = &database.rules[ready.rule as usize];
        let mut memory = locked(memory);
        if compiled.asked.is_some() {
            // The packet that brought this has the last word.
            self.open.remove(&ready.rule);
            self.told.push(ready.rule);
            self.is_spent |= !memory.wait_for_packet(ready);
            return;
        }
        let decision = database.decide(ready.rule, &mut memory, facts.pair(direction));
        if decision == Decision::NotNow {
            return;
        }
        self.open.remove(&ready.rule);
        self.told.push(ready.rule);
        match decision.in_proxy() {
            Some(Wish::Pass) => self.is_passed = true,
            Some(wish) => told.push(Told { wish, ..ready }),
            None => {}
        }
    }
}
