//! One page on its way: [`Page`]. Rule: between two chunks only the last few hundred bytes of each reading are kept.

use super::normal::{Normaliser, Output};
use super::score::{self, Outcome, Score, Tally, Term};
use super::search::{In, Open, REACH, Span};
use super::seen::Seen;
use super::{Phrases, Readings};
use crate::compiler::Kept;
use crate::database::List;
use crate::table::ListId;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

/// A larger chunk is read in pieces, so that the readings of one stay near and small.
const PIECE_BYTES: usize = 48 << 10;
/// How much more than what is read there is at once: what is kept of the piece before, and what is written ahead.
const ROOM_BYTES: usize = 2 * REACH + LOOK_BYTES_MIN + 128;
/// Fewer bytes wait for more, since each look has a cost of its own.
const LOOK_BYTES_MIN: usize = 1 << 10;

thread_local! {
    /// Room for the readings of a chunk: between two of them a page keeps no more than there is. Nothing is in it before one.
    static ROOM: RefCell<Output> = RefCell::new(Output::default());
}

/// Of which pages the phrases are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Of all.
    Always,
    /// Of those that a phrase bans, and those that have more points than they may.
    IfUnwanted,
}

/// A page, as far as it has come.
pub(crate) struct Page {
    normaliser: Normaliser,
    /// What may belong to a phrase that has not come whole.
    forms: Output,
    raw: Reading,
    text: Reading,
    readings: Readings,
    /// What is still looked for.
    open: Open,
    /// How much may still be read.
    left: u64,
}

/// What was found in one reading of a page.
struct Reading {
    which: In,
    /// Up to where windows were looked at.
    looked: usize,
    seen: Seen,
}

impl Page {
    /// A page that begins. `charset` is what its server says.
    pub fn new(phrases: &Phrases, charset: Option<&[u8]>) -> Self {
        let settings = phrases.settings;
        let parts = phrases.rules.parts.len();
        let reading = |which| Reading { which, looked: 0, seen: Seen::new(parts, settings.counting) };
        Self {
            normaliser: Normaliser::new(settings.readings, charset),
            forms: Output::default(),
            raw: reading(In::RAW),
            text: reading(In::TEXT),
            readings: settings.readings,
            open: phrases.search.open(),
            left: settings.bytes_max,
        }
    }

    /// Reads the next bytes; whether more would be read.
    pub fn push(&mut self, phrases: &Phrases, chunk: &[u8]) -> bool {
        let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(chunk.len());
        self.left -= taken as u64;
        ROOM.with_borrow_mut(|room| {
            let bytes = taken.min(PIECE_BYTES) + ROOM_BYTES;
            room.begin(&self.forms, bytes);
            std::mem::swap(room, &mut self.forms);
            for piece in chunk[..taken].chunks(PIECE_BYTES) {
                self.normaliser.push(piece, &mut self.forms);
                self.look(phrases, REACH);
            }
            std::mem::swap(room, &mut self.forms);
            self.forms = room.end();
        });
        self.left > 0
    }

    /// Looks for phrases, but for the last bytes, which more may follow.
    fn look(&mut self, phrases: &Phrases, reach: usize) {
        let Output { raw, text } = &mut self.forms;
        let end = |bytes: &[u8]| bytes.len().saturating_sub(reach);
        let to_do =
            end(raw).saturating_sub(self.raw.looked) + end(&text.bytes).saturating_sub(self.text.looked);
        if to_do >= LOOK_BYTES_MIN || reach == 0 {
            let (mut of_raw, mut of_text) = (self.raw.span(raw, reach), self.text.span(&text.bytes, reach));
            match self.readings {
                Readings::Raw => phrases.search.scan(&mut of_raw, &mut self.open),
                Readings::Text | Readings::Meta => phrases.search.scan(&mut of_text, &mut self.open),
                Readings::Both => {
                    phrases.search.scan_both(&mut of_raw, &mut of_text, &text.copies, &mut self.open)
                }
            }
            self.raw.looked = self.raw.looked.max(end(raw));
            self.text.looked = self.text.looked.max(end(&text.bytes));
        }
        text.copies.clear();
        self.raw.drop_done(raw);
        self.text.drop_done(&mut text.bytes);
    }

    /// The page has ended: its score.
    pub fn finish(
        mut self,
        phrases: &Phrases,
        lists: &[List],
        holds: &dyn Fn(ListId) -> bool,
        told: Told,
    ) -> Score {
        self.normaliser.finish(&mut self.forms);
        self.look(phrases, 0);
        let points_max = phrases.settings.points_max;
        let tally = |reading: &Reading| phrases.rules.tally(&reading.seen, points_max, holds);
        let is_read = |readings: &[Readings]| readings.contains(&phrases.settings.readings);
        let (mut points, mut last) = (0, None);
        if is_read(&[Readings::Text, Readings::Both, Readings::Meta]) {
            let text = tally(&self.text);
            points = score::higher(points, text.points);
            last = Some((&self.text, text));
        }
        let is_undecided = last.as_ref().is_none_or(|(_, tally)| tally.outcome == Outcome::Within);
        if is_undecided && is_read(&[Readings::Raw, Readings::Both]) {
            let raw = tally(&self.raw);
            let before = points;
            points = score::higher(points, raw.points);
            // What is told is what the points are of.
            let is_most = last.is_none() || raw.outcome != Outcome::Within || points != before;
            if is_most {
                last = Some((&self.raw, raw));
            }
        }
        let mut score = Score { points, points_max, ..Score::default() };
        if let Some((reading, tally)) = last {
            score.outcome = tally.outcome;
            if told == Told::Always || score.is_unwanted() {
                (score.terms, score.by) = terms(phrases, lists, reading, &tally, holds);
            }
        }
        if phrases.kept == Kept::Every {
            score.also = also(phrases, lists, [&self.text, &self.raw], &score.terms, holds);
        }
        score
    }
}

fn term(phrases: &Phrases, lists: &[List], found: &score::Found) -> Option<Term> {
    let list = lists.get(usize::from(found.rule.list))?;
    Some(Term {
        phrase: phrases.rules.words(found.what),
        points: match found.rule.effect {
            score::Effect::Points(points) => Some(points),
            _ => None,
        },
        times: found.times,
        file: Arc::clone(&list.file),
        line: found.rule.line,
        category: Arc::clone(&list.category),
    })
}

/// Every other line that some reading has.
fn also(
    phrases: &Phrases,
    lists: &[List],
    readings: [&Reading; 2],
    told: &[Term],
    holds: &dyn Fn(ListId) -> bool,
) -> Vec<Term> {
    let place = |term: &Term| (Arc::clone(&term.file), term.line);
    let mut known: HashSet<_> = told.iter().map(place).collect();
    let mut also = Vec::new();
    for reading in readings {
        phrases.rules.each_line(&reading.seen, &mut |found| {
            let term = term(phrases, lists, &found).filter(|_| holds(found.rule.list));
            also.extend(term.filter(|term| known.insert(place(term))));
        });
    }
    also
}

/// The arithmetic of a reading, and which term decides.
fn terms(
    phrases: &Phrases,
    lists: &[List],
    reading: &Reading,
    tally: &Tally,
    holds: &dyn Fn(ListId) -> bool,
) -> (Vec<Term>, Option<usize>) {
    let term = |found: &score::Found| term(phrases, lists, found);
    if let Some(by) = &tally.by {
        return (term(by).into_iter().collect(), Some(0));
    }
    let mut terms = Vec::new();
    phrases.rules.each(&reading.seen, &mut |found| {
        if holds(found.rule.list) && found.rule.effect != score::Effect::Points(0) {
            terms.extend(term(&found));
        }
    });
    let by = score::deciding(&mut terms);
    (terms, by.filter(|_| tally.outcome == Outcome::Over))
}

impl Reading {
    /// What is to be looked at.
    fn span<'a>(&'a mut self, text: &'a [u8], reach: usize) -> Span<'a> {
        let places = self.looked..text.len().saturating_sub(reach).max(self.looked);
        Span { which: self.which, text, places, seen: &mut self.seen }
    }

    /// Keeps of the bytes what a phrase may begin in.
    fn drop_done(&mut self, bytes: &mut Vec<u8>) {
        let done = self.looked.saturating_sub(REACH);
        bytes.drain(..done);
        self.looked -= done;
    }
}
