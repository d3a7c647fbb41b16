//! What the phrases of a page come to: [`Rules`], [`Score`]. Rule: e2guardian's order: the text first, and the raw reading only
//! where that decided nothing; in each, exceptions before bans before points.

use super::seen::Seen;
use crate::table::ListId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a phrase does where it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Exception,
    Banned,
    Points(i32),
}

/// A phrase's or combination's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub effect: Effect,
    pub list: ListId,
    pub line: u32,
}

/// One phrase, or a part of combinations.
#[derive(Debug)]
pub(super) struct Part {
    /// As it is written in the list, in UTF-8.
    pub written: Arc<str>,
    /// What it does by itself.
    pub alone: Option<Rule>,
    /// The combinations that are asked where it is found.
    pub combinations: Vec<u32>,
}

/// Phrases that do something together.
#[derive(Debug)]
pub(super) struct Combination {
    pub parts: Box<[u32]>,
    pub rule: Rule,
}

/// All phrases, as far as they are about points.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub parts: Vec<Part>,
    pub combinations: Vec<Combination>,
    /// Lines for a phrase that another line says more of: they count nothing, and are kept only where every line is.
    pub outdone: Vec<(u32, Rule)>,
}

/// What phrases make of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It has no more points than it may.
    #[default]
    Within,
    /// It has a phrase that lets it pass.
    Exception,
    /// It has a phrase that bans it.
    Banned,
    /// It has more points than it may.
    Over,
}

impl Outcome {
    /// The name used in output and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Within => "within the limit",
            Self::Exception => "exception phrase",
            Self::Banned => "banned phrase",
            Self::Over => "over the limit",
        }
    }
}

/// One phrase of a page's score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The phrase as it is written in its list; of a combination, its parts.
    pub phrase: String,
    /// What it counts each time; none where it decides by itself.
    pub points: Option<i32>,
    /// How often it counts.
    pub times: u32,
    /// Its list's file.
    pub file: Arc<str>,
    /// Its line, from 1.
    pub line: u32,
    /// Its list's category.
    pub category: Arc<str>,
}

impl Term {
    /// `FILE:LINE`, the file without the directories that do not tell it from others.
    pub fn rule(&self) -> String {
        crate::decision::rule(&self.file, self.line)
    }
}

/// A page's score, with the arithmetic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// What it comes to.
    pub outcome: Outcome,
    /// Its points: e2guardian's naughtyness.
    pub points: i64,
    /// What it may have.
    pub points_max: i32,
    /// The phrases of the reading that decides, those that count most first.
    pub terms: Vec<Term>,
    /// Which of `terms` decides, where one does.
    pub by: Option<usize>,
    /// Lines that the page has too, and that count nothing here: of another reading, behind a phrase that decides by itself, or
    /// outdone by another line for the same phrase. Only where every line is kept.
    pub also: Vec<Term>,
}

impl Score {
    /// Whether a phrase bans the page, or its points do.
    pub fn is_unwanted(&self) -> bool {
        matches!(self.outcome, Outcome::Banned | Outcome::Over)
    }

    /// The phrase that decides.
    pub fn deciding(&self) -> Option<&Term> {
        self.by.and_then(|by| self.terms.get(by))
    }
}

/// What one reading comes to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub outcome: Outcome,
    pub points: i64,
    /// The line that decides by itself.
    pub by: Option<Found>,
}

/// A phrase or combination that a reading has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Part(u32),
    Combination(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub what: What,
    pub rule: Rule,
    pub times: u32,
}

impl Rules {
    pub fn heap_bytes(&self) -> usize {
        let parts: usize =
            self.parts.iter().map(|part| part.written.len() + part.combinations.len() * 4).sum();
        let combined: usize = self.combinations.iter().map(|combination| combination.parts.len() * 4).sum();
        parts
            + combined
            + self.parts.len() * size_of::<Part>()
            + self.combinations.len() * size_of::<Combination>()
    }

    /// Adds up a reading. `holds` says whether a list holds now.
    pub fn tally(&self, seen: &Seen, points_max: i32, holds: &dyn Fn(ListId) -> bool) -> Tally {
        let (mut points, mut banned) = (0_i64, None);
        let mut excepted = None;
        self.each(seen, &mut |found| {
            if !holds(found.rule.list) {
                return;
            }
            match found.rule.effect {
                Effect::Exception => excepted = excepted.or(Some(found)),
                Effect::Banned => banned = banned.or(Some(found)),
                Effect::Points(weight) => points += i64::from(weight) * i64::from(found.times),
            }
        });
        let outcome = match (&excepted, &banned) {
            (Some(_), _) => Outcome::Exception,
            (None, Some(_)) => Outcome::Banned,
            (None, None) if points > i64::from(points_max) => Outcome::Over,
            (None, None) => Outcome::Within,
        };
        Tally { outcome, points, by: excepted.or(banned) }
    }

    /// Each phrase and combination that a reading has.
    pub fn each(&self, seen: &Seen, found: &mut dyn FnMut(Found)) {
        for number in &seen.found {
            let Some(part) = self.parts.get(*number as usize) else { continue };
            if let Some(rule) = part.alone {
                found(Found { what: What::Part(*number), rule, times: seen.times(*number) });
            }
            for combination in &part.combinations {
                let Some(Combination { parts, rule }) = self.combinations.get(*combination as usize) else {
                    continue;
                };
                // As often as the rarest of its parts.
                let times = parts.iter().map(|part| seen.times(*part)).min().unwrap_or(0);
                if times > 0 {
                    found(Found { what: What::Combination(*combination), rule: *rule, times });
                }
            }
        }
    }

    /// Each line that a reading has, those that are outdone behind the others.
    pub fn each_line(&self, seen: &Seen, found: &mut dyn FnMut(Found)) {
        self.each(seen, found);
        for (part, rule) in self.outdone.iter().filter(|(part, _)| seen.has(*part)) {
            found(Found { what: What::Part(*part), rule: *rule, times: seen.times(*part) });
        }
    }

    /// Each line for a phrase by itself, with the phrase.
    pub fn lines(&self) -> impl Iterator<Item = (u32, Rule)> {
        let alone = (0..).zip(&self.parts).filter_map(|(number, part)| Some((number, part.alone?)));
        alone.chain(self.outdone.iter().copied())
    }

    /// The words of a phrase.
    pub fn words(&self, what: What) -> String {
        let written = |part: &u32| self.parts.get(*part as usize).map_or("", |part| &part.written);
        match what {
            What::Part(part) => written(&part).to_owned(),
            What::Combination(at) => {
                let parts =
                    self.combinations.get(at as usize).map_or(&[][..], |combination| &combination.parts);
                parts.iter().map(written).collect::<Vec<_>>().join(" + ")
            }
        }
    }
}

/// e2guardian keeps the highest points above zero of all readings, or else the lowest below.
pub(super) fn higher(so_far: i64, points: i64) -> i64 {
    let is_lower = points < 0 && so_far <= 0 && points < so_far;
    let is_higher = so_far >= 0 && points > so_far;
    let is_first = so_far < 0 && points > 0;
    if is_lower || is_higher || is_first { points } else { so_far }
}

/// The terms in order, and which decides: of the category that has most points, the phrase that has most.
pub(super) fn deciding(terms: &mut [Term]) -> Option<usize> {
    let worth = |term: &Term| i64::from(term.points.unwrap_or(0)) * i64::from(term.times);
    terms.sort_by_key(|term| std::cmp::Reverse(worth(term)));
    let mut categories: BTreeMap<&str, i64> = BTreeMap::new();
    for term in terms.iter().filter(|term| worth(term) > 0) {
        *categories.entry(&term.category).or_default() += worth(term);
    }
    let (worst, _) = categories.into_iter().max_by_key(|(_, points)| *points)?;
    let worst = worst.to_owned();
    terms.iter().position(|term| *term.category == worst)
}
