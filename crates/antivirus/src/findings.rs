//! What has matched in one part so far, and what follows from it. Rule: memory is taken for matches only, and bounded
//! by the bytes seen.

use crate::database::{Condition, Database, FIRST_MACRO, Logic, PLAIN, Use};
use crate::held::Whole;
use crate::icons::{self, Groups, Look};
use crate::late::{Ended, Late, LateKind, PLACES_MAX, STEPS_MAX, STEPS_OF_ONE_MAX, compare, follows, search};
use crate::layout::Layout;
use crate::logical::Decide;
use crate::needed::{Needed, Present};
use crate::ruleset::offset::Offset;
use crate::ruleset::target::{Around, Ranges};
use crate::yara::Facts;
use lockgate_matcher::Interest;
use lockgate_model::{Class, FileType, Hit, PartId, Reason};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::RangeInclusive;

/// How many findings a part may have of each class: policy needs one, an analyst a few.
pub(crate) const HITS_MAX: usize = 32;
/// So many expressions read a part each by itself; from there on those whose texts do not stand in it are not run.
const EXPRESSIONS_ALONE: u32 = 2;
/// How many matches wait for the end of a part. Beyond it the oldest counts as found: content that repeats a
/// signature so often near its end is not let through for it.
const CANDIDATES_MAX: usize = 16 << 10;

/// One lane's way of looking at a part, to tell its counts from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneId(pub u8);

/// A logical signature as one lane sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u64);

impl Key {
    fn new(lane: LaneId, signature: u32) -> Self {
        Self(u64::from(lane.0) << 32 | u64::from(signature))
    }

    fn signature(self) -> u32 {
        self.0 as u32
    }

    fn lane(self) -> LaneId {
        LaneId((self.0 >> 32) as u8)
    }

    fn subsignature(self, id: u8) -> u64 {
        self.0 << 8 | u64::from(id)
    }
}

/// A match that must meet something not known yet.
#[derive(Clone, Copy)]
struct Candidate {
    usage: Use,
    lane: LaneId,
    start: u64,
    end: u64,
}

/// Whether a condition is met.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Met {
    Yes,
    No,
    NotYet,
}

/// A match of one pattern, as one signature uses it.
pub(crate) struct Found {
    pub usage: Use,
    pub lane: LaneId,
    /// Where the body starts and ends in what the lane reads.
    pub start: u64,
    pub end: u64,
}

/// What is known of the part as a whole.
pub(crate) struct About {
    pub part: PartId,
    /// The parts that it was found in, the nearest last; none for the root.
    pub around: Box<[Around]>,
    pub layout: Layout,
}

/// Where a subsignature has matched.
type Places = HashMap<u64, Vec<u64>, BuildHasherDefault<Fold>>;

/// What late subsignatures need, and those that are asked for.
#[derive(Default)]
struct LateState {
    /// Where those have matched that others follow from.
    places: Places,
    /// Steps that expressions have taken, and how many have been asked about.
    steps: u64,
    asked: u32,
    /// Which texts stand in what a lane has read, once many expressions are asked about it.
    present: Vec<(LaneId, Present)>,
    /// What a program's icon looks like, once that is asked.
    looks: Option<Vec<Look>>,
    /// Signatures of which all that is searched for has matched, and that ask for more now.
    opened: Vec<(LaneId, u32)>,
    /// The types that the part is to be read as besides its own.
    read_as: Vec<FileType>,
}

/// The state of one part.
#[derive(Default)]
pub(crate) struct Findings {
    matched: HashMap<u64, u64, BuildHasherDefault<Fold>>,
    /// How often each subsignature has matched, where that matters.
    counts: HashMap<u64, u32, BuildHasherDefault<Fold>>,
    /// Most parts need none of it.
    late: Option<Box<LateState>>,
    candidates: Vec<Candidate>,
    prune_at: usize,

    reported: Vec<u32>,
    viruses: usize,
    others: usize,
    /// What has been found and not yet been told.
    pub out: Vec<Hit>,
    /// Why some signature could not be decided.
    pub undecided: Option<Reason>,
}

impl Findings {
    /// A pattern has matched for a signature. Says whether another match of it would change anything.
    pub fn found(&mut self, database: &Database, about: &About, found: Found) -> Interest {
        let Found { usage, lane, start, end } = found;
        let candidate = Candidate { usage, lane, start, end };
        let Some(condition) = condition(database, usage) else {
            return self.take(database, about, &candidate);
        };
        match meets(condition, &candidate, about, None) {
            Met::Yes => {
                self.take(database, about, &candidate);
            }
            Met::No => {}
            Met::NotYet => self.candidates.push(candidate),
        }
        Interest::More
    }

    /// A signature that has come to ask for more than is searched for, in this lane.
    pub fn opened(&mut self, lane: LaneId) -> Option<u32> {
        let opened = &mut self.late.as_mut()?.opened;
        let at = opened.iter().position(|(of, _)| *of == lane)?;
        Some(opened.swap_remove(at).1)
    }

    /// Whether some signature has.
    pub fn has_opened(&self) -> bool {
        self.late.as_ref().is_some_and(|late| !late.opened.is_empty())
    }

    /// Notes a signature that may hold if these subsignatures match that have not been searched for.
    fn open(&mut self, database: &Database, key: Key, unasked: u64) {
        let is_open = || self.may_hold(database, (key.lane(), key.signature()), unasked);
        if key.lane().0 < FIRST_TEXT_LANE && is_open() {
            let (opened, new) =
                (&mut self.late.get_or_insert_default().opened, (key.lane(), key.signature()));
            if opened.last() != Some(&new) {
                opened.push(new);
            }
        }
    }

    /// Whether a signature may hold yet, if these subsignatures match.
    pub fn may_hold(&self, database: &Database, (lane, signature): (LaneId, u32), unasked: u64) -> bool {
        let key = Key::new(lane, signature);
        let logic = database.signatures.get(signature as usize).map_or(PLAIN, |s| s.logic);
        let Some(logic) = database.logics.get(logic as usize) else { return false };
        let matched = self.matched.get(&key.0).copied().unwrap_or(0);
        let count = |id| if unasked >> id & 1 == 1 { u32::MAX } else { self.matches(key, id) };
        logic.may_hold(&database.programs, matched | unasked, &count) && !self.reported.contains(&signature)
    }

    /// Forgets what a subsignature has matched: it is searched for again, from the beginning.
    pub fn forget(&mut self, lane: LaneId, signature: u32, subsignature: u8) {
        let key = Key::new(lane, signature);
        if let Some(matched) = self.matched.get_mut(&key.0) {
            *matched &= !(1 << subsignature);
        }
        self.counts.remove(&key.subsignature(subsignature));
    }

    /// The types that the part is to be read as besides its own.
    pub fn take_types(&mut self) -> Vec<FileType> {
        self.late.as_mut().map(|late| std::mem::take(&mut late.read_as)).unwrap_or_default()
    }

    /// Whether some match waits for something.
    pub fn waits(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// Lets go of candidates that bytes seen since have ruled out. `length` is how many bytes a lane has read.
    pub fn prune(&mut self, database: &Database, about: &About, length: &dyn Fn(LaneId) -> u64) {
        if self.candidates.len() <= self.prune_at {
            return;
        }
        self.candidates.retain(|candidate| may_still_meet(database, candidate, length(candidate.lane)));
        if self.candidates.len() > CANDIDATES_MAX {
            let surplus = self.candidates.len() - CANDIDATES_MAX;
            let oldest: Vec<Candidate> = self.candidates.drain(..surplus).collect();
            for candidate in oldest {
                self.take(database, about, &candidate);
            }
        }
        self.prune_at = (self.candidates.len() * 2).clamp(64, CANDIDATES_MAX);
    }

    /// The program's layout has become known: what waited for it is decided, where it doesn't wait for the end too.
    pub fn layout_known(&mut self, database: &Database, about: &About) {
        self.decide_candidates(database, about, &|_| None);
    }

    /// A lane has ended after so many bytes.
    pub fn lane_ended(&mut self, database: &Database, about: &About, ended: LaneEnded<'_>) {
        let LaneEnded { lane, group, length, whole } = ended;
        self.decide_candidates(database, about, &|of| (of == lane).then_some(length));
        let ended = Ended { whole, layout: &about.layout, length };
        let mut keys: Vec<(Key, u64)> = self
            .matched
            .iter()
            .map(|(key, matched)| (Key(*key), *matched))
            .filter(|(key, _)| key.lane() == lane)
            .collect();
        keys.sort_unstable();
        for (key, matched) in keys {
            if self.holds_at_end(database, about, key, matched, &ended) {
                self.report(database, about, key.signature(), None);
            }
        }
        let vacuous = database.groups.get(usize::from(group)).and_then(Option::as_ref);
        for signature in vacuous.map_or(&[][..], |group| &group.vacuous) {
            let key = Key::new(lane, *signature);
            if !self.matched.contains_key(&key.0) && self.holds_at_end(database, about, key, 0, &ended) {
                self.report(database, about, *signature, None);
            }
        }
    }

    /// A signature is found.
    pub fn report(&mut self, database: &Database, about: &About, signature: u32, offset: Option<u64>) {
        if self.reported.contains(&signature) {
            return;
        }
        if let Some(file_type) = database.handler(signature) {
            self.reported.push(signature);
            let read_as = &mut self.late.get_or_insert_default().read_as;
            if !read_as.contains(&file_type) {
                read_as.push(file_type);
            }
            return;
        }
        let found = match database.class(signature) {
            Class::Virus => &mut self.viruses,
            _ => &mut self.others,
        };
        if *found >= HITS_MAX {
            return;
        }
        *found += 1;
        self.reported.push(signature);
        self.out.push(database.hit(signature, about.part, offset));
    }

    fn decide_candidates(
        &mut self,
        database: &Database,
        about: &About,
        length: &dyn Fn(LaneId) -> Option<u64>,
    ) {
        let mut waiting = std::mem::take(&mut self.candidates);
        waiting.retain(|candidate| {
            let met = condition(database, candidate.usage)
                .map_or(Met::Yes, |condition| meets(condition, candidate, about, length(candidate.lane)));
            if met == Met::Yes {
                self.take(database, about, candidate);
            }
            met == Met::NotYet
        });
        self.candidates = waiting;
    }

    /// A match counts. Says whether another one of the same pattern may count too.
    fn take(&mut self, database: &Database, about: &About, candidate: &Candidate) -> Interest {
        let Candidate { usage, lane, start, .. } = *candidate;
        // Places in a text that was made are none in the file.
        let offset = (lane.0 < FIRST_TEXT_LANE).then_some(start);
        let logic_index = database.signatures.get(usage.signature as usize).map_or(PLAIN, |s| s.logic);
        if logic_index == PLAIN {
            self.report(database, about, usage.signature, offset);
            return Interest::NoMore;
        }
        if logic_index >= FIRST_MACRO {
            self.remember(macro_key(lane, (logic_index - FIRST_MACRO) as u8), start);
            return Interest::More;
        }
        let Some(logic) = database.logics.get(logic_index as usize) else { return Interest::NoMore };
        if logic.container.as_ref().is_some_and(|container| !container.holds(&about.around)) {
            return Interest::NoMore;
        }
        let is_remembered = logic.places >> usage.subsignature & 1 != 0;
        let interest = |more: bool| if more || is_remembered { Interest::More } else { Interest::NoMore };
        let program = database.programs.get(logic.program);
        let key = Key::new(lane, usage.signature);
        if is_remembered {
            self.remember(key.subsignature(usage.subsignature), start);
        }
        let matched = self.matched.entry(key.0).or_insert(0);
        let bit = 1_u64 << usage.subsignature;
        let is_new = *matched & bit == 0;
        *matched |= bit;
        let matched = *matched;
        if logic.count_max > 0 {
            if !self.count(key.subsignature(usage.subsignature), logic.count_max) {
                return interest(false);
            }
        } else if !is_new {
            return interest(false);
        }
        if logic.asked != 0 {
            self.open(database, key, logic.asked);
            let first = key.subsignature(FIRST_SEARCHED);
            // Which match comes last hangs on when it was asked for; which comes first of those searched for does not.
            if logic.asked >> usage.subsignature & 1 == 0 && self.places(first).is_empty() {
                self.remember(first, start);
            }
        }
        let is_early = logic.ranges.is_none()
            && logic.late.is_empty()
            && logic.condition.is_none()
            && logic.icons.is_none();
        if program.decide == Decide::AtOnce && is_early {
            let count = |id| self.matches(key, id);
            if database.programs.holds(program, matched, &count) {
                let first = key.subsignature(FIRST_SEARCHED);
                let offset = offset.map(|last| self.places(first).first().copied().unwrap_or(last));
                self.report(database, about, usage.signature, offset);
            }
        }
        interest(logic.count_max > 0)
    }

    /// Counts a match; says whether that changed the count.
    fn count(&mut self, subsignature: u64, most: u32) -> bool {
        let matches = self.counts.entry(subsignature).or_insert(0);
        let counts = *matches < most;
        *matches += u32::from(counts);
        counts
    }

    fn matches(&self, key: Key, id: u8) -> u32 {
        // Where nothing is counted, one is as good as many.
        self.counts.get(&key.subsignature(id)).copied().unwrap_or(1)
    }

    /// What is remembered.
    fn places(&self, key: u64) -> &[u64] {
        self.late.as_ref().map_or(&[], |late| places_of(&late.places, key))
    }

    /// Remembers a place; of many, the first and always the last.
    fn remember(&mut self, key: u64, start: u64) {
        let places = self.late.get_or_insert_default().places.entry(key).or_default();
        if places.len() == PLACES_MAX {
            places.pop();
        }
        places.push(start);
    }

    fn holds_at_end(
        &mut self,
        database: &Database,
        about: &About,
        key: Key,
        mut matched: u64,
        ended: &Ended<'_>,
    ) -> bool {
        let logic = database.signatures.get(key.signature() as usize).map_or(PLAIN, |s| s.logic);
        let Some(logic) = database.logics.get(logic as usize) else { return false };
        let program = database.programs.get(logic.program);
        let fits = logic.ranges.as_ref().is_none_or(|ranges| is_within(ranges, about, ended.length))
            && logic.container.as_ref().is_none_or(|container| container.holds(&about.around));
        if !fits {
            return false;
        }
        let mut open = logic.late.iter().fold(0, |open, late| open | 1_u64 << late.id);
        for late in &logic.late {
            // What even all that is left to look at could not make hold need not be looked at.
            let count = |id| if open >> id & 1 == 1 { u32::MAX } else { self.matches(key, id) };
            let is_lost = !database.programs.holds(program, matched | open, &count);
            if logic.condition.is_none() && program.decide == Decide::AtOnce && is_lost {
                return false;
            }
            open &= !(1 << late.id);
            let trigger = database.programs.get(late.trigger);
            if !database.programs.holds(trigger, matched, &|id| self.matches(key, id)) {
                continue;
            }
            if self.is_ruled_out(database, late, key, ended) {
                continue;
            }
            match self.look(logic, late, key, ended) {
                Ok(0) => {}
                Ok(count) => {
                    matched |= 1 << late.id;
                    if logic.count_max > 0 {
                        self.counts.insert(key.subsignature(late.id), count);
                    }
                }
                Err(reason) => {
                    self.undecided.get_or_insert(reason);
                }
            }
        }
        let Some(condition) = &logic.condition else {
            let holds = database.programs.holds(program, matched, &|id| self.matches(key, id));
            return holds && logic.icons.as_ref().is_none_or(|icons| self.has_icon(database, icons, ended));
        };
        let places = |id| self.places(key.subsignature(id));
        let count = |id| if matched >> id & 1 == 0 { 0 } else { self.matches(key, id) };
        let (length, bytes) = (ended.length, ended.whole.bytes());
        let entry = about.layout.program().and_then(|program| program.entry);
        condition.holds(&Facts { count: &count, places: &places, length, entry, bytes })
    }

    /// Whether a program has one of these icons.
    fn has_icon(&mut self, database: &Database, groups: &Groups, ended: &Ended<'_>) -> bool {
        if database.icons.is_empty() {
            return false;
        }
        let (program, bytes) = match (ended.layout.program(), ended.whole) {
            (Some(program), Whole::Bytes(bytes)) => (program, bytes),
            (None, _) => return false,
            (_, Whole::NotHeld(reason)) => {
                self.undecided.get_or_insert(reason);
                return false;
            }
        };
        let state = self.late.get_or_insert_default();
        let looks = state.looks.get_or_insert_with(|| icons::looks(program, bytes));
        icons::is_listed(looks, &database.icons, groups)
    }

    /// Whether it is an expression without whose text nothing matches, and the text is not there.
    fn is_ruled_out(&mut self, database: &Database, late: &Late, key: Key, ended: &Ended<'_>) -> bool {
        let (LateKind::Perl(_), Whole::Bytes(bytes)) = (&late.kind, ended.whole) else { return false };
        let Some(signature) = database.signatures.get(key.signature() as usize) else { return false };
        let state = self.late.get_or_insert_default();
        state.asked += 1;
        if state.asked <= EXPRESSIONS_ALONE {
            return false;
        }
        let needed = database.needed.get_or_init(|| Needed::of(&database.logics));
        let known = state.present.iter().position(|(lane, _)| *lane == key.lane());
        let at = known.unwrap_or_else(|| {
            state.present.push((key.lane(), needed.look(bytes)));
            state.present.len() - 1
        });
        needed.rules_out(signature.logic, late.id, &state.present[at].1)
    }

    /// How often a late subsignature matches.
    fn look(&mut self, logic: &Logic, late: &Late, key: Key, ended: &Ended<'_>) -> Result<u32, Reason> {
        let state = self.late.get_or_insert_default();
        let LateState { places, steps, .. } = &mut **state;
        match &late.kind {
            LateKind::Perl(perl) => {
                let granted = (STEPS_MAX - (*steps).min(STEPS_MAX)).min(STEPS_OF_ONE_MAX);
                let mut left = granted;
                let mut starts = Vec::new();
                let mut note = |start| {
                    if logic.places >> late.id & 1 != 0 && starts.len() < PLACES_MAX {
                        starts.push(start);
                    }
                };
                let found = search(perl, ended, logic.count_max.max(1), &mut left, &mut note);
                if !starts.is_empty() {
                    places.insert(key.subsignature(late.id), starts);
                }
                *steps += granted - left;
                found
            }
            LateKind::Compare(comparison) => {
                match places_of(places, key.subsignature(comparison.of)).last() {
                    Some(last) => compare(comparison, ended, *last).map(u32::from),
                    None => Ok(0),
                }
            }
            LateKind::Macro(group) => {
                let members = places_of(places, macro_key(key.lane(), group.group));
                let before = places_of(places, key.subsignature(group.of));
                Ok(u32::from(follows(*group, before, members)))
            }
        }
    }
}

fn places_of(places: &Places, key: u64) -> &[u64] {
    places.get(&key).map_or(&[], Vec::as_slice)
}

/// A lane at its end.
pub(crate) struct LaneEnded<'a> {
    pub lane: LaneId,
    pub group: u8,
    pub length: u64,
    /// What it has read.
    pub whole: Whole<'a>,
}

/// Where the places of a group of macros are kept.
fn macro_key(lane: LaneId, group: u8) -> u64 {
    Key::new(lane, PLAIN).subsignature(group)
}

/// In place of a subsignature's number: where the first one has matched that is searched for in every file.
const FIRST_SEARCHED: u8 = u8::MAX;

/// Lanes from this number on read texts that are made of the part.
pub(crate) const FIRST_TEXT_LANE: u8 = 2;
/// How far behind these are those of a text that is read as a page, too.
pub(crate) const FIRST_TAGGED_LANE: u8 = 16;

fn condition(database: &Database, usage: Use) -> Option<&Condition> {
    database.conditions.get((usage.condition as usize).checked_sub(1)?)
}

fn meets(condition: &Condition, candidate: &Candidate, about: &About, length: Option<u64>) -> Met {
    let at_end = match (condition.end_slack, length) {
        (None, _) => Met::Yes,
        (Some(_), None) => Met::NotYet,
        (Some(slack), Some(length)) => met(candidate.end.saturating_add(u64::from(slack)) >= length),
    };
    let at_offset = match (condition.offset, length) {
        (None, _) => Met::Yes,
        (Some(Offset::End { .. }), None) => Met::NotYet,
        (Some(Offset::End { distance, shift }), Some(length)) => met(length
            .checked_sub(distance)
            .is_some_and(|first| (first..=first.saturating_add(shift)).contains(&candidate.start))),
        (Some(offset), _) => about.layout.admits(offset, candidate.start).map_or(Met::NotYet, met),
    };
    match (at_end, at_offset) {
        (Met::No, _) | (_, Met::No) => Met::No,
        (Met::Yes, Met::Yes) => Met::Yes,
        _ => Met::NotYet,
    }
}

fn met(holds: bool) -> Met {
    if holds { Met::Yes } else { Met::No }
}

/// Whether a candidate may still meet a condition on the file's end, `length` bytes having come.
fn may_still_meet(database: &Database, candidate: &Candidate, length: u64) -> bool {
    let Some(condition) = condition(database, candidate.usage) else { return true };
    if condition.end_slack.is_some_and(|slack| candidate.end.saturating_add(u64::from(slack)) < length) {
        return false;
    }
    match condition.offset {
        Some(Offset::End { distance, .. }) => candidate.start.saturating_add(distance) >= length,
        _ => true,
    }
}

fn is_within(ranges: &Ranges, about: &About, length: u64) -> bool {
    let contains = |range: &Option<RangeInclusive<u64>>, value: Option<u64>| {
        range.as_ref().is_none_or(|range| value.is_some_and(|value| range.contains(&value)))
    };
    contains(&ranges.size, Some(length))
        && contains(&ranges.entry, about.layout.program().and_then(|program| program.entry))
        && contains(&ranges.sections, about.layout.program().map(|program| program.sections.len() as u64))
}

/// A hash for numbers that are spread well enough already.
#[derive(Default)]
pub(crate) struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
