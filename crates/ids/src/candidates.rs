//! The rules that one transaction may be about: [`Candidates`]. Rule: a rule is told once, when the last of what it asks holds.

use crate::database::{Compiled, CompiledList, Database};
use crate::decision::Decision;
use crate::evaluate::{Answer, Piece, Variables, holds, holds_with};
use crate::flow::{Facts, locked};
use crate::memory::Memory;
use crate::views::ViewId;
use lockgate_model::{Direction, TransactionId, Wish};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How many rules one transaction may be about at a time.
const CANDIDATES_MAX: usize = 4096;
/// What all rules together may cost for one view, or one piece of it, in steps: some two milliseconds.
const STEPS_OF_VIEW_MAX: u64 = 100_000;
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
    /// What it has read, where one list reads and another asks.
    variables: Option<Box<Variables>>,
}

impl Open {
    fn ask(&mut self, rule: &Compiled, list: &CompiledList, piece: Piece<'_>, steps: &mut u64) -> Answer {
        if !rule.shares_variables {
            return holds(&list.tests, &list.of_decoded, piece, steps);
        }
        let variables = self.variables.get_or_insert_default();
        holds_with(&list.tests, &list.of_decoded, piece, steps, variables)
    }
}

/// The rules that one transaction may be about.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    open: BTreeMap<u32, Open>,
    /// Those that are done with.
    told: Vec<u32>,
    /// Those of which the bytes of the connection held.
    raw_told: Vec<u32>,
    /// Views that have been there, whole.
    kept: Vec<(ViewId, Box<[u8]>)>,
    kept_bytes: usize,
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
        found.sort_unstable();
        found.dedup();
        let mut steps = STEPS_OF_VIEW_MAX;
        for rule in found.drain(..) {
            self.consider(asking, rule, &mut steps);
        }
        for (rule, open) in &mut self.open {
            let compiled = &asking.database.rules[*rule as usize];
            let mut offset = None;
            for (list, bit) in compiled.lists.iter().zip(0..).filter(|(list, _)| list.view == view) {
                if open.held & 1 << bit != 0 {
                    continue;
                }
                match open.ask(compiled, list, piece, &mut steps) {
                    Answer::Yes { offset: at } => {
                        open.held |= 1 << bit;
                        offset = offset.or(at);
                    }
                    Answer::No => {}
                    Answer::Spent => self.is_spent = true,
                }
            }
            let wanted = compiled.content_lists();
            if open.held & wanted == wanted {
                self.ready.push(Told {
                    rule: *rule,
                    view,
                    offset,
                    wish: compiled.signature.wish,
                    transaction: asking.transaction,
                    direction: asking.direction,
                });
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

    /// Decides on rules that hold in the bytes of the connection, of which no packet is seen.
    pub fn decide_raw(
        &mut self,
        asking: Asking<'_>,
        found: Vec<(u32, Option<u64>)>,
    ) -> Vec<(u32, Option<u64>, Wish)> {
        let Asking { database, facts, direction, memory, .. } = asking;
        let mut told = Vec::new();
        for (rule, offset) in found {
            let is_told = self.raw_told.contains(&rule);
            if self.is_passed || is_told {
                continue;
            }
            let decision = database.decide(rule, &mut locked(memory), facts.pair(direction));
            match decision.in_proxy() {
                Some(Wish::Pass) => self.is_passed = true,
                Some(wish) => told.push((rule, offset, wish)),
                None => continue,
            }
            self.raw_told.push(rule);
        }
        told
    }

    /// A view that has ended is kept for rules that turn up later.
    pub fn keep(&mut self, view: ViewId, bytes: &[u8]) {
        if self.kept_bytes + bytes.len() <= KEPT_BYTES_MAX {
            self.kept_bytes += bytes.len();
            self.kept.push((view, bytes.into()));
        } else {
            self.is_spent = true;
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
        let mut open = Open::default();
        for (list, bit) in compiled.lists.iter().zip(0..) {
            let kept = self.kept.iter().filter(|(view, _)| *view == list.view);
            for (_, bytes) in kept {
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
