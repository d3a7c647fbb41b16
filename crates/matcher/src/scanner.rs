//! The state of one stream. Rule: small; what a call reports depends on the bytes so far, not on how they were cut.

use crate::blocks::{Candidate, When};
use crate::database::{Database, Rank};
use crate::links::Links;
use crate::one;
use crate::program::{Outcome, Span, Walk};
use crate::runs::{RunPart, RunWindow};
use crate::segment::Link;
use crate::set::PatternId;
use crate::view::{More, View};
use crate::wildcard::CountedBy;
use std::collections::{BTreeMap, BTreeSet};

/// A larger chunk is scanned in pieces of this size, so that what is found in one go is bounded.
const PIECE_BYTES: usize = 64 << 10;

/// How many places are looked at together.
const TOGETHER: usize = 64;

/// A pattern was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// Which.
    pub pattern: PatternId,
    /// Where in the stream the match starts.
    pub start: u64,
    /// The offset behind its last byte.
    pub end: u64,
}

/// Whether whoever is told of a match wants to hear of that pattern again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Of each match.
    More,
    /// One more changes nothing. It may still be reported.
    NoMore,
}

/// Which patterns a scanner searches for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sought {
    /// All but those that are deferred.
    #[default]
    Usual,
    /// All that are deferred.
    Deferred,
    /// One that is deferred.
    One(PatternId),
}

/// The state of one stream. It belongs to the database that made it.
#[derive(Default, Debug)]
pub struct Scanner {
    sought: Sought,
    offset: u64,
    tail: Vec<u8>,
    /// Where segments with a told place start: number, first and last offset. Few streams have any.
    told: Told,
    found: Found,
}

/// Number, first and last offset of segments with a told place.
type Told = Option<Box<Vec<(u32, u64, u64)>>>;

/// Segments, and where they start or end. Few streams have any.
type Edges = Option<Box<BTreeSet<(u32, u64)>>>;

/// The ends of segments, and the first start that leads to each. Few streams have any.
type Ended = Option<Box<BTreeMap<(u32, u64), u64>>>;

/// What is known of matches that aren't complete.
#[derive(Default, Debug)]
struct Found {
    pending: Vec<Pending>,
    /// Starts of segments whose window stands at no fixed distance, so that one start is not taken twice.
    taken: Edges,
    /// Few streams have any of these.
    links: Option<Box<Links>>,
    muted: Option<Box<Muted>>,
    events: Vec<Event>,
    /// Ends since the last report, and the first start that leads there, of segments that are counted by them.
    ended: Ended,
    walk: Option<Box<Walk>>,
    spans: Vec<Span>,
    led: Option<Box<Led>>,
}

/// Segments whose matches change nothing any more: what stands everywhere in a stream is verified there once, or a few times.
#[derive(Default, Debug)]
struct Muted {
    /// Each segment has one place, by its hash, and gives way to one that comes later.
    places: Box<[u32]>,
    count: usize,
}

/// How many segments are muted at first, and at most. Those beyond are verified again.
const MUTED_MIN: usize = 64;
const MUTED_MAX: usize = 4096;

impl Muted {
    fn add(&mut self, segment: u32) {
        if self.has(segment) {
            return;
        }
        if self.count >= self.places.len() / 4 && self.places.len() < MUTED_MAX {
            let size = (self.places.len() * 4).clamp(MUTED_MIN, MUTED_MAX);
            let fewer = std::mem::replace(&mut self.places, vec![u32::MAX; size].into_boxed_slice());
            fewer.iter().filter(|segment| **segment != u32::MAX).for_each(|segment| self.put(*segment));
        }
        self.put(segment);
        self.count += 1;
    }

    fn put(&mut self, segment: u32) {
        let place = self.place(segment);
        if let Some(place) = self.places.get_mut(place) {
            *place = segment;
        }
    }

    /// The number of places is a power of two.
    #[inline]
    fn place(&self, segment: u32) -> usize {
        segment.wrapping_mul(0x9e37_79b1).rotate_left(13) as usize & self.places.len().wrapping_sub(1)
    }

    #[inline]
    fn has(&self, segment: u32) -> bool {
        self.places.get(self.place(segment)) == Some(&segment)
    }
}

/// Segments that are searched for only where another leads to them, and one has.
#[derive(Default, Debug)]
struct Led {
    /// Up to where their windows may stand.
    until: u64,
    /// A bit for each of them, by its number: others may have it too.
    bits: [u64; 4],
}

impl Led {
    /// A segment leads to the one behind it; and if that leads on, it may do so at once.
    fn add(&mut self, database: &Database, segment: u32) {
        let leads =
            |segment: &u32| database.segments.get(*segment as usize).is_some_and(|segment| segment.leads);
        for leading in (segment..).take_while(leads) {
            let next = leading + 1;
            self.bits[next as usize / 64 % 4] |= 1 << (next % 64);
        }
    }

    #[inline]
    fn has(&self, segment: u32) -> bool {
        self.bits[segment as usize / 64 % 4] >> (segment % 64) & 1 == 1
    }
}

/// Whether what a segment's check looks at is there, or not at hand.
#[inline]
fn may_stand(database: &Database, candidate: &Candidate, view: &View<'_>) -> bool {
    let front = &database.fronts[candidate.segment as usize];
    let Some(latest) = candidate.window.checked_sub(u64::from(front.prefix_min)) else { return false };
    front.prefix_width > 0 || front.check.may_stand(latest, view)
}

#[inline]
fn is_muted(muted: &Option<Box<Muted>>, segment: u32) -> bool {
    muted.as_ref().is_some_and(|muted| muted.has(segment))
}

/// A start that agrees so far and waits for bytes.
#[derive(Debug)]
struct Pending {
    segment: u32,
    start: u64,
    spans: Vec<Span>,
}

/// A segment matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    known: u64,
    segment: u32,
    start: u64,
    end: u64,
}

impl Scanner {
    /// The state of a stream that begins, for some patterns of a database with deferred ones.
    pub fn new(sought: Sought) -> Self {
        Self { sought, ..Self::default() }
    }

    /// How many bytes have been scanned.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Patterns with [`crate::Anchor::Told`] and this number may start at an offset from `first` to `last`, both
    /// included, as far as these have not been scanned yet. Each offset costs a look: let them be few.
    pub fn place(&mut self, number: u32, first: u64, last: u64) {
        self.told.get_or_insert_default().push((number, first, last));
    }

    /// Scans the next bytes of the stream and reports the matches that they complete.
    pub fn scan(&mut self, database: &Database, chunk: &[u8], on_match: &mut dyn FnMut(Match) -> Interest) {
        for piece in chunk.chunks(PIECE_BYTES) {
            self.step(database, piece, More::Follows, on_match);
        }
    }

    /// Scans all the rest of the stream, which ends behind it. Nothing may be scanned afterwards.
    pub fn scan_last(
        &mut self,
        database: &Database,
        rest: &[u8],
        on_match: &mut dyn FnMut(Match) -> Interest,
    ) {
        let (before, last) = rest.split_at(rest.len().saturating_sub(1) / PIECE_BYTES * PIECE_BYTES);
        self.scan(database, before, on_match);
        self.step(database, last, More::Ended, on_match);
    }

    /// The stream has ended: reports the matches that hung on this. Nothing may be scanned afterwards.
    pub fn finish(&mut self, database: &Database, on_match: &mut dyn FnMut(Match) -> Interest) {
        self.step(database, &[], More::Ended, on_match);
    }

    fn step(
        &mut self,
        database: &Database,
        chunk: &[u8],
        more: More,
        on_match: &mut dyn FnMut(Match) -> Interest,
    ) {
        let view = View::new(&self.tail, chunk, self.offset, more);
        self.found.resume(database, &view);
        match self.sought {
            Sought::Usual => Self::search(&mut self.found, &mut self.told, database, &view),
            Sought::Deferred => self.found.search_led(database, (When::Asked, When::AskedLed), &view),
            Sought::One(pattern) => self.found.search_one(database, pattern, &view),
        }
        self.found.report(database, on_match);
        self.offset = view.end();
        if more == More::Follows {
            self.found.forget(database, self.offset);
            keep_tail(&mut self.tail, chunk, database.tail_bytes());
        }
    }

    /// Searches for what is not deferred.
    fn search(found: &mut Found, told: &mut Told, database: &Database, view: &View<'_>) {
        let (low, end) = (view.chunk_start(), view.end());
        database.places.within(view, &mut |segment, start| found.at_place(database, segment, start, view));
        if let Some(told) = told {
            told.retain(|(number, first, last)| {
                for start in low.max(*first)..end.min(last.saturating_add(1)) {
                    for segment in database.places.told(*number) {
                        found.at_place(database, segment, start, view);
                    }
                }
                *last >= end
            });
        }
        if view.more() == More::Ended {
            database.places.at_end(end, &mut |segment, start| found.at_place(database, segment, start, view));
        }
        for runs in &database.runs {
            let wanted = runs.wanted(|segment| !is_muted(&found.muted, segment));
            runs.search(view, wanted, &mut |window, end| found.run(database, window, end, view));
        }
        found.search_led(database, (When::Always, When::Led), view);
    }
}

impl Found {
    /// Goes on with the starts that waited for bytes.
    fn resume(&mut self, database: &Database, view: &View<'_>) {
        if self.pending.is_empty() {
            return;
        }
        let (events, ended) = (&mut self.events, &mut self.ended);
        let walk = self.walk.get_or_insert_default();
        self.pending.retain_mut(|pending| {
            let segment = &database.segments[pending.segment as usize];
            if segment.counted_by == CountedBy::Ends {
                let mut found = ends_of((pending.segment, pending.start), events, ended);
                let way = (pending.start, segment.atoms.1);
                walk.resume_all(&database.program, way, &mut pending.spans, view, &mut found);
                return !pending.spans.is_empty();
            }
            match walk.resume(&database.program, segment.atoms.1, &mut pending.spans, view) {
                Outcome::Wait => return true,
                Outcome::Dead => {}
                Outcome::Match { end, known } => {
                    events.push(Event { known, segment: pending.segment, start: pending.start, end });
                }
            }
            false
        });
    }

    /// Searches for windows, and then for those that others lead to.
    fn search_led(&mut self, database: &Database, (first, led): (When, When), view: &View<'_>) {
        self.search(database, first, view);
        if self.leads(database, view.chunk_start()) {
            self.search(database, led, view);
        }
    }

    /// Searches for one pattern by itself; for what follows a gap, once something leads there.
    fn search_one(&mut self, database: &Database, pattern: PatternId, view: &View<'_>) {
        for segment in database.segments_of(pattern) {
            let leads = |event: &Event| event.segment + 1 == segment;
            let is_led = database.segments[segment as usize].rank == Rank::First
                || self.links.as_ref().is_some_and(|links| links.lead_to(segment))
                || self.events.iter().any(leads);
            if is_led && !is_muted(&self.muted, segment) {
                let check = &database.fronts[segment as usize].check;
                one::starts(check, view, &mut |start| self.at_place(database, segment, start, view));
            }
        }
    }

    /// Searches for the windows of some groups, and verifies where they may stand.
    fn search(&mut self, database: &Database, when: When, view: &View<'_>) {
        let mut waiting = [Candidate { segment: 0, window: 0, literal: (0, 0), prefix: 0 }; TOGETHER];
        let mut count = 0;
        let mut found = |candidate: Candidate| {
            let is_led = !when.is_led() || self.led.as_ref().is_some_and(|led| led.has(candidate.segment));
            if is_led && !is_muted(&self.muted, candidate.segment) {
                waiting[count] = candidate;
                count += 1;
                if count == TOGETHER {
                    self.candidates(database, &mut waiting, view);
                    count = 0;
                }
            }
        };
        for short in database.shorts.iter().filter(|short| short.when() == when) {
            short.search(view, &mut found);
        }
        for group in database.groups.iter().filter(|group| group.when() == when) {
            group.search(view, &mut found);
        }
        self.candidates(database, &mut waiting[..count], view);
    }

    /// Verifies several places. All are looked at before any is verified, so that reads from farther memory overlap.
    fn candidates(&mut self, database: &Database, waiting: &mut [Candidate], view: &View<'_>) {
        let mut count = 0;
        for at in 0..waiting.len() {
            waiting[count] = waiting[at];
            let is_literal = waiting[at].literal.1 > 0;
            count += usize::from(is_literal || may_stand(database, &waiting[at], view));
        }
        let left = &waiting[..count];
        let near = left.iter().fold(0, |all, candidate| all ^ database.touch(candidate));
        std::hint::black_box(near);
        for candidate in left {
            self.candidate(database, *candidate, view);
        }
    }

    /// Whether a segment may begin in what follows `low` that is searched for only where another leads to it.
    fn leads(&mut self, database: &Database, low: u64) -> bool {
        let leads = |event: &&Event| database.segments[event.segment as usize].leads;
        let mut is_led = self.led.as_ref().is_some_and(|led| led.until >= low);
        for event in self.events.iter().filter(leads) {
            is_led = true;
            self.led.get_or_insert_default().add(database, event.segment);
        }
        is_led
    }

    /// Verifies a place where a window may stand.
    fn candidate(&mut self, database: &Database, candidate: Candidate, view: &View<'_>) {
        if let (_, length @ 1..) = candidate.literal {
            let Some(start) = candidate.window.checked_sub(u64::from(candidate.prefix)) else { return };
            if start + u64::from(length) <= view.end() {
                if view.is_at(start, database.program.bytes(candidate.literal)) {
                    self.matched(database, candidate.segment, start, u64::from(length));
                }
                return;
            }
        }
        let front = &database.fronts[candidate.segment as usize];
        let Some(latest) = candidate.window.checked_sub(u64::from(front.prefix_min)) else { return };
        if front.prefix_width == 0 {
            match front.check.eight(latest, view) {
                Some(eight) if !front.check.passes(eight) => {}
                Some(_) if front.whole > 0 => {
                    self.matched(database, candidate.segment, latest, u64::from(front.whole));
                }
                _ => {
                    self.verify(database, candidate.segment, latest, view);
                }
            }
            return;
        }
        for start in latest.saturating_sub(u64::from(front.prefix_width))..=latest {
            if front.check.may_stand(start, view)
                && !self.taken.as_ref().is_some_and(|taken| taken.contains(&(candidate.segment, start)))
                && self.verify(database, candidate.segment, start, view) == Taken::Yes
            {
                self.taken.get_or_insert_default().insert((candidate.segment, start));
            }
        }
    }

    /// A run ends there.
    fn run(&mut self, database: &Database, run: RunWindow, end: u64, view: &View<'_>) {
        let window = end - u64::from(run.length);
        match run.part {
            RunPart::Whole => self.matched(database, run.segment, window, u64::from(run.length)),
            RunPart::Window => self.candidate(
                database,
                Candidate { segment: run.segment, window, literal: (0, 0), prefix: 0 },
                view,
            ),
        }
    }

    /// Verifies a segment at a place where it may start.
    fn at_place(&mut self, database: &Database, segment: u32, start: u64, view: &View<'_>) {
        if database.fronts[segment as usize].check.may_stand(start, view) {
            self.verify(database, segment, start, view);
        }
    }

    /// A segment of so many bytes stands there, as its check has seen.
    fn matched(&mut self, database: &Database, segment: u32, start: u64, length: u64) {
        if database.segments[segment as usize].anchor.admits(start) {
            let end = start + length;
            self.events.push(Event { known: end, segment, start, end });
        }
    }

    fn verify(&mut self, database: &Database, id: u32, start: u64, view: &View<'_>) -> Taken {
        let segment = &database.segments[id as usize];
        if !segment.anchor.admits(start) {
            return Taken::No;
        }
        if segment.counted_by == CountedBy::Ends {
            return self.verify_all(database, id, start, view);
        }
        let outcome = database.program.decide(segment.atoms, start, view).unwrap_or_else(|span| {
            self.spans.clear();
            self.spans.push(span);
            let walk = self.walk.get_or_insert_default();
            walk.resume(&database.program, segment.atoms.1, &mut self.spans, view)
        });
        match outcome {
            Outcome::Dead => return Taken::No,
            Outcome::Match { end, known } => self.events.push(Event { known, segment: id, start, end }),
            Outcome::Wait => {
                self.pending.push(Pending { segment: id, start, spans: std::mem::take(&mut self.spans) });
            }
        }
        Taken::Yes
    }

    /// Verifies a segment of which each end counts once.
    fn verify_all(&mut self, database: &Database, id: u32, start: u64, view: &View<'_>) -> Taken {
        let (first, end) = database.segments[id as usize].atoms;
        let mut tell = ends_of((id, start), &mut self.events, &mut self.ended);
        let mut taken = Taken::No;
        self.spans.clear();
        self.spans.push(Span { atom: first, low: start, high: start });
        let walk = self.walk.get_or_insert_default();
        walk.resume_all(&database.program, (start, end), &mut self.spans, view, &mut |end, known| {
            taken = Taken::Yes;
            tell(end, known);
        });
        if self.spans.is_empty() {
            return taken;
        }
        self.pending.push(Pending { segment: id, start, spans: std::mem::take(&mut self.spans) });
        Taken::Yes
    }

    /// Reports what has matched, in order; segments lead on to those behind them.
    fn report(&mut self, database: &Database, on_match: &mut dyn FnMut(Match) -> Interest) {
        // Mostly each search tells in order.
        self.events.sort();
        let ended = self.ended.take();
        // Of several starts that lead to one end the first counts: they come in any order.
        let is_first = |event: &Event| {
            let first = ended.as_ref().and_then(|ended| ended.get(&(event.segment, event.end)));
            first.is_none_or(|first| *first == event.start)
        };
        for event in self.events.drain(..) {
            if is_muted(&self.muted, event.segment) || !is_first(&event) {
                continue;
            }
            let segment = &database.segments[event.segment as usize];
            let origin = match segment.rank {
                Rank::First => event.start,
                Rank::Follower => {
                    match self.links.as_ref().and_then(|links| links.admits(event.segment, event.start)) {
                        Some(origin) => origin,
                        None => continue,
                    }
                }
            };
            match segment.link {
                Link::Last => {
                    let found = Match { pattern: PatternId(segment.pattern), start: origin, end: event.end };
                    if on_match(found) == Interest::NoMore {
                        self.muted.get_or_insert_default().add(event.segment);
                    }
                }
                Link::Gap { min, max } => {
                    let follower = event.segment + 1;
                    let low = event.end.saturating_add(u64::from(min));
                    let high = max.map_or(u64::MAX, |max| event.end.saturating_add(u64::from(max)));
                    let longest = database.segments.get(follower as usize).map_or(0, |next| next.length_max);
                    if segment.leads {
                        // Its window may end so far behind where it begins.
                        let until = high.saturating_add(database.tail_bytes() as u64);
                        let led = self.led.get_or_insert_default();
                        led.until = led.until.max(until);
                        led.add(database, event.segment);
                    }
                    let past = event.end.saturating_sub(u64::from(longest));
                    self.links.get_or_insert_default().allow(follower, (low, high), origin, past);
                    if max.is_none() {
                        // The follower may begin anywhere from here on: another match of this one adds nothing.
                        self.muted.get_or_insert_default().add(event.segment);
                    }
                }
            }
        }
    }

    /// Drops what no later window can ask for.
    fn forget(&mut self, database: &Database, offset: u64) {
        if let Some(taken) = &mut self.taken {
            taken.retain(|(_, start)| start.saturating_add(database.tail_bytes() as u64) >= offset);
        }
    }
}

/// Tells of each end of a segment from some start that no earlier start has led to so far.
fn ends_of<'a>(
    (segment, start): (u32, u64),
    events: &'a mut Vec<Event>,
    ended: &'a mut Ended,
) -> impl FnMut(u64, u64) + 'a {
    move |end, known| {
        let first = ended.get_or_insert_default().entry((segment, end)).or_insert(u64::MAX);
        if start < *first {
            *first = start;
            events.push(Event { known, segment, start, end });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}

/// Keeps the last bytes of the tail and the chunk together.
fn keep_tail(tail: &mut Vec<u8>, chunk: &[u8], length: usize) {
    if chunk.len() >= length {
        tail.clear();
        tail.extend_from_slice(&chunk[chunk.len() - length..]);
        return;
    }
    let surplus = (tail.len() + chunk.len()).saturating_sub(length);
    tail.drain(..surplus);
    tail.extend_from_slice(chunk);
}
