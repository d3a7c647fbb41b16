//! Whether a list of tests holds for a buffer: [`holds`]. Rule: every evaluation has a bound, in steps; the meaning is that of
//! Suricata's manual, "Payload Keywords".
//!
//! Tests are gone through in their order. Where one is relative to a match, that match may be any of those that the content
//! has: they are tried from the first on, as long as what follows is relative and fails.

mod base64;
mod find;
mod number;

#[cfg(test)]
mod tests;

use crate::ruleset::bytes::{Base64, From};
use crate::ruleset::content::{Amount, Content, Place};
use crate::ruleset::pcre::Pcre;
use crate::ruleset::rule::Test;
use lockgate_perl::{Found, Start};

/// How many variables a rule has at most.
const VARIABLES: usize = 32;
/// What a rule has read.
pub(crate) type Variables = [u64; VARIABLES];
/// What one list may cost for one buffer: a step is a test, or [`STEP_BYTES`] searched.
const STEPS_MAX: u64 = 20_000;
/// How many bytes are searched for the price of a step.
const STEP_BYTES: usize = 64;

/// What a list is asked of: a buffer, or a piece of one that has no bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub bytes: &'a [u8],
    /// Where in the buffer it begins.
    pub base: u64,
    /// Whether the buffer ends with it.
    pub is_last: bool,
}

impl<'a> Piece<'a> {
    /// A buffer in one piece.
    pub fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, base: 0, is_last: true }
    }
}

/// What an evaluation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It holds; where the first content was found, in the buffer.
    Yes {
        offset: Option<u64>,
    },
    No,
    /// It cost more than [`STEPS_MAX`] allows.
    Spent,
}

/// Whether the tests hold, and those of what is decoded on the way (`base64_data`).
///
/// What it costs is taken from `steps`, of which it takes [`STEPS_MAX`] at most.
pub(crate) fn holds(tests: &[Test], of_decoded: &[Test], piece: Piece<'_>, steps: &mut u64) -> Answer {
    holds_with(tests, of_decoded, piece, steps, &mut [0; VARIABLES])
}

/// The same, where lists before it have read something, and those behind it want to know what it reads.
pub(crate) fn holds_with(
    tests: &[Test],
    of_decoded: &[Test],
    piece: Piece<'_>,
    steps: &mut u64,
    variables: &mut Variables,
) -> Answer {
    let granted = STEPS_MAX.min(*steps);
    let mut evaluation = Evaluation {
        bytes: piece.bytes,
        piece,
        variables: *variables,
        steps: granted,
        offset: None,
        decoded: None,
    };
    let answer = evaluation.answer(tests, of_decoded);
    *steps -= granted - evaluation.steps;
    if matches!(answer, Answer::Yes { .. }) {
        *variables = evaluation.variables;
    }
    answer
}

/// What the tests from one on came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Holds,
    /// Not here: another match before it may help.
    Fails,
    /// No other match before it can help.
    FailsForGood,
}

struct Evaluation<'a> {
    bytes: &'a [u8],
    piece: Piece<'a>,
    variables: Variables,
    steps: u64,
    /// Where the first content was found.
    offset: Option<usize>,
    decoded: Option<Vec<u8>>,
}

impl Evaluation<'_> {
    fn answer(&mut self, tests: &[Test], of_decoded: &[Test]) -> Answer {
        match self.run(tests, 0) {
            Outcome::Holds if !self.decoded_holds(of_decoded) => Answer::No,
            Outcome::Holds => Answer::Yes { offset: self.offset.map(|at| self.piece.base + at as u64) },
            _ if self.steps == 0 => Answer::Spent,
            _ => Answer::No,
        }
    }

    /// The tests, the first of which begins at `at`, where the match before has ended.
    fn run(&mut self, tests: &[Test], at: usize) -> Outcome {
        let mut at = at;
        for (index, test) in tests.iter().enumerate() {
            if !self.pay(1) {
                return Outcome::FailsForGood;
            }
            let rest = &tests[index + 1..];
            let moved = match test {
                Test::Content(content) if !content.is_negated => return self.content(content, rest, at),
                Test::Pcre(pcre) if !pcre.is_negated => return self.pcre(pcre, rest, at),
                Test::Content(content) => self.content_is_absent(content, at).then_some(at),
                Test::Pcre(pcre) => self.pcre_is_absent(pcre, at).then_some(at),
                Test::ByteTest(test) => number::test(self.piece, test, at, &self.variables).then_some(at),
                Test::ByteJump(jump) => self.jump(jump, at),
                Test::ByteExtract(extract) => self.extract(extract, at),
                Test::ByteMath(math) => self.math(math, at),
                Test::IsDataAt(is) => self.is_data_at(is, at).then_some(at),
                Test::Size(size) => (self.piece.is_last && size.holds(self.length())).then_some(at),
                Test::Number(compare) => {
                    let digits = std::str::from_utf8(self.bytes).ok().and_then(|digits| digits.parse().ok());
                    digits.filter(|number| compare.holds(*number)).map(|_| at)
                }
                Test::OneOf { values, is_negated } => {
                    let own = self.bytes.first_chunk().copied().map(u16::from_be_bytes);
                    own.filter(|own| values.contains(own) != *is_negated).map(|_| at)
                }
                Test::Listed(listed) => {
                    (listed.digests.contains(self.bytes) != listed.is_negated).then_some(at)
                }
                Test::InSet(asked) => {
                    let is_whole = self.piece.base == 0 && self.piece.is_last;
                    (is_whole && asked.set.holds(asked.action, self.bytes)).then_some(at)
                }
                Test::Base64(base64) => self.base64(base64, at).then_some(at),
                Test::Absent { or_else } => or_else.then_some(at),
            };
            match moved {
                Some(to) => at = to,
                None if test.is_relative() => return Outcome::Fails,
                None => return Outcome::FailsForGood,
            }
        }
        Outcome::Holds
    }

    fn decoded_holds(&mut self, tests: &[Test]) -> bool {
        let decoded = self.decoded.take();
        tests.is_empty()
            || decoded.is_some_and(|decoded| {
                matches!(holds(tests, &[], Piece::whole(&decoded), &mut self.steps), Answer::Yes { .. })
            })
    }

    fn pay(&mut self, steps: u64) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }

    /// How long the buffer is, where that is known.
    fn length(&self) -> u64 {
        self.piece.base + self.bytes.len() as u64
    }

    fn amount(&self, amount: Amount) -> i64 {
        amount_of(amount, &self.variables)
    }

    /// From where to where a content may stand, in the piece.
    fn span(&self, place: Place, at: usize) -> (usize, usize) {
        let end = self.bytes.len();
        let clamp = |number: i64| usize::try_from(number.max(0)).unwrap_or(usize::MAX).min(end);
        match place {
            Place::Absolute { offset, depth } => {
                let base = i64::try_from(self.piece.base).unwrap_or(i64::MAX);
                let offset = self.amount(offset);
                let from = offset.saturating_sub(base);
                let to = depth.map_or(end, |depth| clamp(from.saturating_add(self.amount(depth))));
                (clamp(from), to)
            }
            Place::Relative { distance, within } => {
                let from = (at as i64).saturating_add(self.amount(distance));
                let to = within.map_or(end, |within| clamp(from.saturating_add(self.amount(within))));
                (clamp(from), to)
            }
        }
    }

    /// Tries one match of the content after the other.
    fn content(&mut self, content: &Content, rest: &[Test], at: usize) -> Outcome {
        let (mut from, to) = self.span(content.place, at);
        let needs_next = rest.first().is_some_and(Test::is_relative);
        while let Some(found) = self.find(content, from, to) {
            let behind = found + content.bytes.len();
            let before = self.offset;
            self.offset = before.or(Some(found));
            match self.run(rest, behind) {
                Outcome::Holds => return Outcome::Holds,
                Outcome::FailsForGood => return Outcome::FailsForGood,
                Outcome::Fails if !needs_next => return Outcome::FailsForGood,
                Outcome::Fails => self.offset = before,
            }
            from = found + 1;
        }
        if content.place.is_relative() { Outcome::Fails } else { Outcome::FailsForGood }
    }

    /// The content's next place, from `from` on and ended by `to`.
    fn find(&mut self, content: &Content, from: usize, to: usize) -> Option<usize> {
        let bytes = self.bytes;
        let from = if content.ends_buffer {
            let last = bytes.len().checked_sub(content.bytes.len()).filter(|_| self.piece.is_last)?;
            from.max(last)
        } else {
            from
        };
        let within = bytes.get(from..to)?;
        let found = find::find(within, &content.bytes, content.any_case);
        let read = found.map_or(within.len(), |found| found + content.bytes.len());
        if !self.pay((read / STEP_BYTES) as u64 + 1) {
            return None;
        }
        found.map(|found| from + found)
    }

    fn content_is_absent(&mut self, content: &Content, at: usize) -> bool {
        let (from, to) = self.span(content.place, at);
        self.find(content, from, to).is_none() && self.steps > 0
    }

    /// Tries one match of the expression after the other.
    fn pcre(&mut self, pcre: &Pcre, rest: &[Test], at: usize) -> Outcome {
        let begins = if pcre.is_relative { at.min(self.bytes.len()) } else { 0 };
        let needs_next = rest.first().is_some_and(Test::is_relative);
        let mut from = 0;
        while let Some((start, end)) = self.search(pcre, begins, from) {
            let before = self.offset;
            self.offset = before.or(Some(begins + start));
            match self.run(rest, begins + end) {
                Outcome::Holds => return Outcome::Holds,
                Outcome::FailsForGood => return Outcome::FailsForGood,
                Outcome::Fails if !needs_next => return Outcome::FailsForGood,
                Outcome::Fails => self.offset = before,
            }
            from = start + 1;
        }
        if pcre.is_relative { Outcome::Fails } else { Outcome::FailsForGood }
    }

    /// The next match in what begins at `begins`, from `from` on there.
    fn search(&mut self, pcre: &Pcre, begins: usize, from: usize) -> Option<(usize, usize)> {
        let subject = self.bytes.get(begins..)?;
        if from > subject.len() || (pcre.is_anchored && from > 0) {
            return None;
        }
        let start = if pcre.is_anchored { Start::First } else { Start::Any };
        let mut steps = self.steps.saturating_mul(8);
        let found = pcre.perl.find(subject, from, start, &mut steps);
        self.steps = (steps / 8).min(self.steps);
        match found {
            Found::At(start, end) => Some((start, end)),
            Found::Nowhere => None,
            Found::Spent => {
                self.steps = 0;
                None
            }
        }
    }

    fn pcre_is_absent(&mut self, pcre: &Pcre, at: usize) -> bool {
        let begins = if pcre.is_relative { at.min(self.bytes.len()) } else { 0 };
        self.search(pcre, begins, 0).is_none() && self.steps > 0
    }

    fn jump(&mut self, jump: &crate::ruleset::bytes::ByteJump, at: usize) -> Option<usize> {
        let (value, behind) = number::read(self.piece, &jump.field, at, &self.variables)?;
        let mut distance = i64::try_from(value.checked_mul(jump.multiplier.max(1))?).ok()?;
        if jump.is_aligned {
            distance = distance.checked_add(3)? & !3;
        }
        let begins = match jump.from {
            From::Here => behind as i64,
            From::Beginning => -i64::try_from(self.piece.base).ok()?,
            From::End => self.bytes.len() as i64,
        };
        let to = begins.checked_add(distance)?.checked_add(jump.post_offset)?;
        // Before the beginning is the beginning.
        usize::try_from(to.max(0)).ok().filter(|to| *to <= self.bytes.len())
    }

    fn extract(&mut self, extract: &crate::ruleset::bytes::ByteExtract, at: usize) -> Option<usize> {
        let (value, behind) = number::read(self.piece, &extract.field, at, &self.variables)?;
        let value = value.checked_mul(extract.multiplier.max(1))?;
        let value = value.checked_next_multiple_of(extract.align)?;
        *self.variables.get_mut(usize::from(extract.variable))? = value;
        Some(behind)
    }

    fn math(&mut self, math: &crate::ruleset::bytes::ByteMath, at: usize) -> Option<usize> {
        let (value, behind) = number::read(self.piece, &math.field, at, &self.variables)?;
        let operand = u64::try_from(self.amount(math.value)).ok()?;
        let value = number::calculate(math.arithmetic, value, operand)?;
        *self.variables.get_mut(usize::from(math.variable))? = value;
        Some(behind)
    }

    /// The end of a piece that is not the last says nothing yet.
    fn is_data_at(&self, is: &crate::ruleset::bytes::IsDataAt, at: usize) -> bool {
        let offset = self.amount(is.offset);
        let length = self.bytes.len() as i64;
        let is_there = if is.is_relative {
            (at as i64).checked_add(offset).is_some_and(|at| at <= length)
        } else {
            offset
                .checked_sub(i64::try_from(self.piece.base).unwrap_or(i64::MAX))
                .is_some_and(|at| at < length)
        };
        match (is_there, is.is_negated) {
            (true, negated) => !negated,
            (false, negated) => negated && self.piece.is_last,
        }
    }

    fn base64(&mut self, base64: &Base64, at: usize) -> bool {
        let begins = if base64.is_relative { at } else { 0 };
        let begins = begins.saturating_add(base64.offset as usize);
        let Some(text) = self.bytes.get(begins..).filter(|text| !text.is_empty()) else { return false };
        let text = base64.bytes.and_then(|most| text.get(..most as usize)).unwrap_or(text);
        let decoded = base64::decode(text);
        if decoded.is_empty() || !self.pay((text.len() / STEP_BYTES) as u64) {
            return false;
        }
        self.decoded = Some(decoded);
        true
    }
}

/// A number, or what a variable has been set to.
fn amount_of(amount: Amount, variables: &[u64; VARIABLES]) -> i64 {
    match amount {
        Amount::Number(number) => number,
        Amount::Variable(variable) => {
            let value = variables.get(usize::from(variable)).copied().unwrap_or_default();
            i64::try_from(value).unwrap_or(i64::MAX)
        }
    }
}
