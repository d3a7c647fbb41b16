//! Patterns that are searched for once all that is searched for of their signature has matched: from the beginning of what is
//! held, and on from there. Rule: bounded; where many are asked for, or nothing is held, all that could be are searched for.

use crate::asks::Ask;
use crate::database::{Database, Group, Reading};
use crate::findings::{About, Findings, Found, LaneId};
use lockgate_matcher::{Interest, Match, PatternId, Scanner, Sought};
use lockgate_model::Reason;

/// As many subsignatures are asked for one by one. Each is a pass over what is held, far faster than the one for all others.
const ASKED_MAX: usize = 24;

/// What has been asked for in one part.
#[derive(Default)]
pub(crate) struct Asking {
    /// Signature and subsignature, also of those that are found.
    asked: Vec<(u32, u8)>,
    one: Vec<One>,
    all: Option<Scanner>,
}

/// A pattern that a signature has asked for.
struct One {
    signature: u32,
    scanner: Scanner,
}

/// What a lane tells of its matches to.
pub(crate) struct Told<'a> {
    pub database: &'a Database,
    pub group: &'a Group,
    pub about: &'a About,
    pub findings: &'a mut Findings,
    pub lane: LaneId,
    pub reading: Reading,
}

impl Told<'_> {
    /// A pattern has matched, for all that use it or for one signature only.
    pub fn found(&mut self, found: Match, only: Option<u32>) -> Interest {
        let mut interest = Interest::NoMore;
        let uses = self.group.uses_of(self.group.original(self.reading, found.pattern));
        for usage in uses.iter().filter(|usage| only.is_none_or(|only| usage.signature == only)) {
            let start = found.start + u64::from(usage.lead_bytes);
            let found = Found { usage: *usage, lane: self.lane, start, end: found.end };
            if self.findings.found(self.database, self.about, found) == Interest::More {
                interest = Interest::More;
            }
        }
        interest
    }

    fn scan(&mut self, scanner: &mut Scanner, bytes: Option<&[u8]>, only: Option<u32>) {
        let patterns = &self.group.patterns;
        match bytes {
            Some(bytes) => scanner.scan(patterns, bytes, &mut |found| self.found(found, only)),
            None => scanner.finish(patterns, &mut |found| self.found(found, only)),
        }
    }
}

impl Asking {
    /// The next bytes, for what has been asked for before.
    pub fn read(&mut self, told: &mut Told<'_>, bytes: &[u8]) {
        if let Some(all) = &mut self.all {
            told.scan(all, Some(bytes), None);
        }
        self.one.iter_mut().for_each(|one| told.scan(&mut one.scanner, Some(bytes), Some(one.signature)));
    }

    /// From now on all that could be asked for is searched for. These are the bytes so far.
    pub fn search_all(&mut self, told: &mut Told<'_>, bytes: &[u8]) {
        if self.all.is_some() {
            return;
        }
        self.one = Vec::new();
        for (signature, subsignature) in std::mem::take(&mut self.asked) {
            told.findings.forget(told.lane, signature, subsignature);
        }
        let mut all = Scanner::new(Sought::Deferred);
        told.scan(&mut all, Some(bytes), None);
        self.all = Some(all);
    }

    /// Asks for what signatures have opened the way to. `bytes` is all that has come, if it is held.
    pub fn ask(&mut self, told: &mut Told<'_>, bytes: Option<&[u8]>) {
        while let Some(signature) = told.findings.opened(told.lane) {
            let asks = told.group.asks_of(signature);
            while self.all.is_none() {
                let is_asked = |ask: &&Ask| self.asked.contains(&(signature, ask.subsignature));
                let left: Vec<&Ask> = asks.iter().filter(|ask| !is_asked(ask)).collect();
                let unasked = left.iter().fold(0, |unasked, ask| unasked | 1 << ask.subsignature);
                let may_hold = told.findings.may_hold(told.database, (told.lane, signature), unasked);
                let Some(next) = left.first().filter(|_| may_hold) else { break };
                let Some(bytes) = bytes else {
                    told.findings.undecided.get_or_insert(Reason::Held);
                    break;
                };
                if self.asked.len() == ASKED_MAX {
                    self.search_all(told, bytes);
                    break;
                }
                self.asked.push((signature, next.subsignature));
                for ask in left.iter().filter(|ask| ask.subsignature == next.subsignature) {
                    self.ask_one(told, signature, ask.pattern, bytes);
                }
            }
        }
    }

    fn ask_one(&mut self, told: &mut Told<'_>, signature: u32, pattern: PatternId, bytes: &[u8]) {
        let mut scanner = Scanner::new(Sought::One(pattern));
        told.scan(&mut scanner, Some(bytes), Some(signature));
        self.one.push(One { signature, scanner });
    }

    /// The part has ended; `bytes` is the whole of it, if it is held.
    pub fn finish(&mut self, told: &mut Told<'_>, bytes: Option<&[u8]>) {
        self.ask(told, bytes);
        while let Some(mut one) = self.one.pop() {
            told.scan(&mut one.scanner, None, Some(one.signature));
            self.ask(told, bytes);
        }
        if let Some(mut all) = self.all.take() {
            told.scan(&mut all, None, None);
        }
    }
}
