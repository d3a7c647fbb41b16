//! The patterns of one target as they are gathered. Rule: a pattern is kept once, and means nothing before it is used.

use crate::asks::choose;
use crate::database::{Condition, Group, InText, Use, is_of_pages, reads_text};
use crate::layout::Needs;
use crate::ruleset::Fault;
use crate::ruleset::body::{Place, Variant, variants};
use crate::ruleset::logical::Body;
use crate::ruleset::offset::Offset;
use crate::ruleset::target::{PROGRAM_TARGET, has_layout};
use crate::text::is_normalised;
use lockgate_matcher::{Anchor, Case, CountedBy, PatternId, PatternSet, Wildcard};
use std::collections::HashMap;

/// The patterns of one target, each kept once.
#[derive(Default)]
pub(crate) struct GroupBuilder {
    patterns: PatternSet,
    /// Those that normalised text can have, once more, and which of all of them each is.
    in_text: (PatternSet, Vec<PatternId>),
    known: HashMap<Box<[u8]>, PatternId>,
    ways: HashMap<Way, u32>,
    pub uses: Vec<(PatternId, Use)>,
    told: Vec<Told>,
    pub needs: Needs,
    /// Whether some signature looks at the whole of a part when it has ended.
    pub needs_whole: bool,
}

/// How and where a pattern is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    case: Case,
    counted_by: CountedBy,
    /// Where the matcher looks, unless it is told when the program's layout is known.
    anchor: Anchor,
    told: Option<Told>,
}

/// A place in a program, of which the matcher is told: patterns tied to it are not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Told {
    pub offset: Offset,
    /// Bytes of the pattern before the body.
    pub lead_bytes: u8,
}

/// Patterns that may start at so few places only are looked at there.
const SHIFT_MAX: u64 = 63;
/// How far from the end the matcher looks without searching.
const DISTANCE_MAX: u64 = 256;

/// A pattern ready to be added.
pub(crate) struct Prepared {
    wildcard: Wildcard,
    hex: String,
    way: Way,
    pub condition: Option<Condition>,
    pub lead_bytes: u8,
}

impl GroupBuilder {
    pub fn pattern(&mut self, prepared: &Prepared, target: u8) -> Result<PatternId, String> {
        let Prepared { wildcard, hex, way, .. } = prepared;
        let key = self.key(hex, *way);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let anchor = match way.told {
            Some(told) => Anchor::Told(self.number_of(told)),
            None => way.anchor,
        };
        let pattern = self.patterns.add(wildcard, way.case, anchor).map_err(|error| error.to_string())?;
        if reads_text(target) && wildcard.can_consist_of(way.case, &is_normalised) {
            let (patterns, originals) = &mut self.in_text;
            patterns.add(wildcard, way.case, anchor).map_err(|error| error.to_string())?;
            originals.push(pattern);
        }
        self.known.insert(key, pattern);
        Ok(pattern)
    }

    /// What a pattern is known by, in few bytes: there are many. Digits in pairs are the bytes that they mean, whatever
    /// their case.
    fn key(&mut self, hex: &str, way: Way) -> Box<[u8]> {
        let next = self.ways.len() as u32;
        let way = *self.ways.entry(way).or_insert(next);
        let mut key = Vec::with_capacity(5 + hex.len());
        key.extend(way.to_le_bytes());
        let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
        let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
        key.push(b'=');
        let bytes = pairs.iter().map_while(|[high, low]| Some(value(*high)? << 4 | value(*low)?));
        key.extend(bytes);
        if key.len() < 5 + pairs.len() || !odd.is_empty() {
            key.truncate(4);
            key.push(b'~');
            key.extend(hex.as_bytes());
        }
        key.into()
    }

    /// The number by which the matcher is told of a place.
    fn number_of(&mut self, told: Told) -> u32 {
        let known = self.told.iter().position(|known| *known == told);
        known.unwrap_or_else(|| {
            self.told.push(told);
            self.told.len() - 1
        }) as u32
    }

    /// `may_hold` says whether a signature may hold once just these subsignatures have matched, if some may be left for then.
    pub fn finish(
        mut self,
        target: u8,
        vacuous: Vec<u32>,
        may_hold: &dyn Fn(u32, u64) -> Option<bool>,
    ) -> Result<Group, String> {
        // Their texts are needed no longer.
        let count = std::mem::take(&mut self.known).len() as u32;
        // What is asked for is looked for in what is held of the part as it is, and pages are read as their texts.
        let is_of_pages = is_of_pages(target);
        let may_ask = !is_of_pages && (target == PROGRAM_TARGET || self.needs_whole);
        let asks = if may_ask { choose(&self.uses, &self.patterns.rarities(), may_hold) } else { Vec::new() };
        asks.iter().for_each(|ask| self.patterns.defer(ask.pattern));
        let patterns = std::mem::take(&mut self.patterns).compile().map_err(|error| error.to_string())?;
        let in_text = match std::mem::take(&mut self.in_text) {
            (_, originals) if originals.is_empty() => None,
            (patterns, originals) => {
                let patterns = patterns.compile().map_err(|error| error.to_string())?;
                Some(InText { patterns, originals })
            }
        };
        self.uses.sort_by_key(|(pattern, _)| pattern.0);
        let first_use = |pattern: u32| self.uses.partition_point(|(of, _)| of.0 < pattern) as u32;
        let first_uses = (0..=count).map(first_use).collect();
        let uses = std::mem::take(&mut self.uses).into_iter().map(|(_, usage)| usage).collect();
        let Self { needs, told, .. } = self;
        let needs_whole = self.needs_whole || !asks.is_empty();
        Ok(Group {
            patterns,
            in_text,
            is_of_pages,
            first_uses,
            uses,
            told,
            vacuous,
            asks,
            needs,
            needs_whole,
        })
    }
}

/// What must be known of a program for this offset.
pub(crate) fn needs_of(offset: Offset) -> Needs {
    let places =
        matches!(offset, Offset::Entry { .. } | Offset::Section { .. } | Offset::WithinSection { .. });
    Needs { places, version: offset == Offset::Version }
}

/// The patterns of one body, all of them read before any is added.
pub(crate) fn prepare(body: &Body<'_>, target: u8, counted_by: CountedBy) -> Result<Vec<Prepared>, Fault> {
    let here = |fault: Fault| fault.moved(body.column);
    let needs = needs_of(body.offset);
    if (needs.places && !has_layout(target)) || (needs.version && target != PROGRAM_TARGET) {
        let reason = "an offset in a program, but no target that has it: 1 (PE), 6 (ELF) or 9 (Mach-O)";
        return Err(Fault { column: Some(body.column + 1), reason: reason.to_owned() });
    }
    let mut prepared = Vec::new();
    for variant in variants(body.hex, body.modifiers).map_err(here)? {
        let wildcard = Wildcard::parse(&variant.hex)
            .map_err(|error| Fault::at(error.column, format!("{}; {}", error.what, error.remedy)))
            // A variant that was spelled out has other columns than the text.
            .map_err(|fault| if variant.hex == body.hex { here(fault) } else { at_start(body, fault) })?;
        let Some((anchor, condition)) = place(body.offset, &variant) else { continue };
        let Variant { hex, lead_bytes, .. } = variant;
        let is_told = target == PROGRAM_TARGET && is_one_place(body.offset) && anchor == Anchor::Anywhere;
        let told = is_told.then_some(Told { offset: body.offset, lead_bytes });
        // What is not known before its end is asked of each start.
        let is_asked_later = condition.is_some() || matches!(anchor, Anchor::BeforeEnd { .. });
        let counted_by = if is_asked_later { CountedBy::Starts } else { counted_by };
        let wildcard = wildcard.counted_by(counted_by);
        let way = Way { case: body.modifiers.case, counted_by, anchor, told };
        prepared.push(Prepared { wildcard, hex, way, condition, lead_bytes });
    }
    Ok(prepared)
}

fn at_start(body: &Body<'_>, fault: Fault) -> Fault {
    Fault { column: Some(body.column + 1), reason: fault.reason }
}

/// Where the matcher is to look for a variant, and what is left to check. `None` where it can match nowhere.
fn place(offset: Offset, variant: &Variant) -> Option<(Anchor, Option<Condition>)> {
    let Place { at_start, at_end } = variant.place;
    let mut window = at_start.map(|slack| (0, u64::from(slack)));
    let mut left_over = None;
    match offset {
        Offset::Anywhere => {}
        Offset::Start { first, shift } => {
            let lead = u64::from(variant.lead_bytes);
            let last = first.saturating_add(shift).checked_sub(lead)?;
            let first = first.saturating_sub(lead);
            let (least, most) = window.unwrap_or((0, u64::MAX));
            window = Some((first.max(least), last.min(most)));
        }
        _ => left_over = Some(offset),
    }
    if window.is_some_and(|(first, last)| first > last) {
        return None;
    }
    let condition = Condition { offset: left_over, end_slack: at_end };
    let is_needed = left_over.is_some() || at_end.is_some();
    let anchor = match (window, offset) {
        (Some((first, last)), _) => Anchor::Within { first, last },
        (None, Offset::End { distance, shift }) => before_end(distance, shift, variant.lead_bytes),
        (None, _) => Anchor::Anywhere,
    };
    Some((anchor, is_needed.then_some(condition)))
}

/// Where the matcher looks for what stands so near to the end.
fn before_end(distance: u64, shift: u64, lead_bytes: u8) -> Anchor {
    let distance = distance.saturating_add(u64::from(lead_bytes));
    if distance > DISTANCE_MAX || shift > SHIFT_MAX {
        return Anchor::Anywhere;
    }
    Anchor::BeforeEnd { distance: distance as u32, shift: shift as u32 }
}

/// Whether an offset is a place in a program, or few of them.
fn is_one_place(offset: Offset) -> bool {
    match offset {
        Offset::Entry { shift, .. } | Offset::Section { shift, .. } => shift <= SHIFT_MAX,
        _ => false,
    }
}

lockgate_stored::stored!(struct Told { offset, lead_bytes });
