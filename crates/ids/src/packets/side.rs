//! One side of a stream as it is: [`Side`]. Rule: what is held of it is bounded, and a rule that may hold is asked again as long
//! as what it was found by is held.

use crate::database::Database;
use crate::evaluate::{Answer, Piece, Variables, holds_with};
use crate::ruleset::sticky::Sticky;
use crate::search::{Patterns, Search};
use lockgate_matcher as matcher;

/// How much of a side is looked at in one piece: what a rule asks is found if it is no farther apart than half of it.
pub(crate) const WINDOW_BYTES: usize = 8 << 10;
/// How much goes when that is full.
const STEP_BYTES: usize = WINDOW_BYTES / 2;
/// How many rules a side may be about at a time.
const OPEN_MAX: usize = 1024;
/// How many rules may hold before the next packet.
const READY_MAX: usize = 1024;
/// What all rules together may cost for one piece, in steps.
const STEPS_MAX: u64 = 100_000;

/// A rule whose pattern was found.
#[derive(Clone, Copy, Debug)]
struct Open {
    rule: u32,
    /// How much of the side had come by then; `None` where it is asked of all that comes.
    since: Option<u64>,
}

/// A rule whose contents are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub rule: u32,
    /// Where the first of them was found, in the side's bytes.
    pub offset: Option<u64>,
}

/// One side of a stream.
#[derive(Debug, Default)]
pub(crate) struct Side {
    search: Option<matcher::Scanner>,
    held: Vec<u8>,
    /// Where in the stream `held` begins.
    base: u64,
    open: Vec<Open>,
    ready: Vec<Ready>,
    found: Patterns,
    /// Whether something came since the last packet.
    pub is_new: bool,
    /// Whether a rule was not asked for want of room or steps.
    pub is_spent: bool,
}

impl Side {
    /// Bytes of the side, and the search for all that it may be about, the same each time. `is_last` says whether no more are at hand,
    /// `concerns` whether a rule is about the flow at all.
    pub fn push(
        &mut self,
        database: &Database,
        search: Option<&Search>,
        (offset, bytes, is_last): (u64, &[u8], bool),
        concerns: &dyn Fn(u32) -> bool,
    ) {
        if self.base + self.held.len() as u64 != offset {
            self.restart(offset);
        }
        self.is_new = true;
        let mut left = bytes;
        while !left.is_empty() {
            let (now, rest) = left.split_at(left.len().min(self.room()));
            search.into_iter().for_each(|search| self.begin(search));
            self.hold(now);
            if let Some(search) = search {
                self.find(search, now, concerns);
            }
            self.ask(database, is_last && rest.is_empty());
            left = rest;
        }
    }

    /// How much is looked at at a time, of what comes next.
    pub fn room(&self) -> usize {
        WINDOW_BYTES.checked_sub(self.held.len()).filter(|room| *room > 0).unwrap_or(STEP_BYTES)
    }

    /// The next bytes, no more than there is room for, in which another search has found patterns of these rules; by its own the side is
    /// searched for what begins before them, as far as that may reach. `is_last` says whether no more are at hand.
    pub fn push_searched(
        &mut self,
        database: &Database,
        (bytes, is_last): (&[u8], bool),
        found: impl Iterator<Item = u32>,
        (own, reach): (Option<&Search>, usize),
        concerns: &dyn Fn(u32) -> bool,
    ) {
        self.is_new = true;
        let own = own.filter(|_| reach > 0);
        own.into_iter().for_each(|own| self.begin(own));
        self.hold(bytes);
        if let Some(own) = own {
            self.find(own, bytes.get(..reach).unwrap_or(bytes), concerns);
        }
        self.open(found, concerns);
        self.ask(database, is_last);
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.held.len() >= WINDOW_BYTES {
            self.held.drain(..STEP_BYTES);
            self.base += STEP_BYTES as u64;
        }
        if !self.held.is_empty() && self.held.capacity() < WINDOW_BYTES {
            self.held.reserve_exact(WINDOW_BYTES - self.held.len());
        }
        self.held.extend_from_slice(bytes);
    }

    /// Bytes are missing: what comes is not behind what is held.
    fn restart(&mut self, offset: u64) {
        self.held.clear();
        self.open.clear();
        self.search = None;
        self.base = offset;
    }

    /// Begins with its own search, behind what another has searched: what may go on from there is taken up.
    fn begin(&mut self, search: &Search) {
        if self.search.is_none() {
            let mut state = search.begin();
            let tail = self.held.len().saturating_sub(search.longest);
            search.scan(&mut state, &self.held[tail..], &mut Patterns::default());
            self.search = Some(state);
        }
    }

    /// Searches bytes that are held, behind those that were searched before.
    fn find(&mut self, search: &Search, bytes: &[u8], concerns: &dyn Fn(u32) -> bool) {
        let Some(state) = &mut self.search else { return };
        let mut found = std::mem::take(&mut self.found);
        search.scan(state, bytes, &mut found);
        self.open(search.rules(&found), concerns);
        found.clear();
        self.found = found;
    }

    /// Rules whose patterns were found in what came last.
    fn open(&mut self, rules: impl Iterator<Item = u32>, concerns: &dyn Fn(u32) -> bool) {
        let since = self.base + self.held.len() as u64;
        for rule in rules {
            let is_open = self.open.iter().any(|open| open.rule == rule);
            if !is_open && concerns(rule) {
                self.add(Open { rule, since: Some(since) });
            }
        }
    }

    fn add(&mut self, open: Open) {
        self.is_spent |= self.open.len() >= OPEN_MAX;
        self.open.truncate(OPEN_MAX - 1);
        self.open.push(open);
    }

    /// A rule that no pattern of the bytes is searched for: it is asked of what is held and of all that comes, until it holds.
    pub fn keep_asking(&mut self, database: &Database, rule: u32) {
        self.open.retain(|open| open.rule != rule);
        self.add(Open { rule, since: None });
        self.ask(database, true);
    }

    /// The rules that may hold are asked of what is held.
    ///
    /// What has come is all there is as far as rules ask for an end: a segment mostly ends where a message does.
    fn ask(&mut self, database: &Database, is_last: bool) {
        let Self { held, base, open, ready, is_spent, .. } = self;
        let piece = Piece { bytes: held, base: *base, is_last };
        let mut steps = STEPS_MAX;
        open.retain(|one| {
            match payload_holds(database, one.rule, piece, &mut steps, &mut Variables::default()) {
                Answer::Yes { offset } => {
                    let has_room = ready.len() < READY_MAX;
                    if has_room {
                        ready.push(Ready { rule: one.rule, offset });
                    }
                    *is_spent |= !has_room;
                    false
                }
                Answer::No => one.since.is_none_or(|since| since > *base),
                Answer::Spent => {
                    *is_spent = true;
                    false
                }
            }
        });
    }

    /// What holds by now.
    pub fn take_ready(&mut self) -> Vec<Ready> {
        std::mem::take(&mut self.ready)
    }

    /// What is held, for rules that are asked at this moment.
    pub fn piece(&self) -> Piece<'_> {
        Piece { bytes: &self.held, base: self.base, is_last: true }
    }
}

/// Whether a piece of payload is as a rule asks.
pub(crate) fn payload_holds(
    database: &Database,
    rule: u32,
    piece: Piece<'_>,
    steps: &mut u64,
    variables: &mut Variables,
) -> Answer {
    let compiled = &database.rules[rule as usize];
    let mut first = None;
    let lists = compiled.lists.iter();
    for list in lists.filter(|list| database.views.sticky(list.view) == Sticky::Payload) {
        match holds_with(&list.tests, &list.of_decoded, piece, steps, variables) {
            Answer::Yes { offset } => first = first.or(offset),
            answer => return answer,
        }
    }
    Answer::Yes { offset: first }
}
