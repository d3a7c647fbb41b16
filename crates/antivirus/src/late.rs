//! Subsignatures that the end of a file decides: expressions, comparisons of bytes, macros. Rule: each looks at bytes
//! that are there already, within the steps that a part has.

use crate::held::Whole;
use crate::layout::Layout;
use crate::ruleset::expression;
use crate::ruleset::offset::Offset;
use crate::ruleset::subsignature::{Base, Comparison, Counts, Macro, PerlSearch};
use lockgate_model::Reason;
use lockgate_perl::{Found, Start};

/// How many steps all expressions together may take on one part …
pub(crate) const STEPS_MAX: u64 = 40_000_000;
/// … and one of them, so that one that comes to no end leaves the others theirs.
pub(crate) const STEPS_OF_ONE_MAX: u64 = 4_000_000;
/// How many matches of a subsignature are remembered for those that follow from it.
pub(crate) const PLACES_MAX: usize = 256;

/// One such subsignature.
pub(crate) struct Late {
    pub id: u8,
    /// What must hold before it is looked at.
    pub trigger: u32,
    pub kind: LateKind,
}

pub(crate) enum LateKind {
    Perl(Box<PerlSearch>),
    Compare(Box<Comparison>),
    Macro(Macro),
}

/// What is known when a lane has ended.
pub(crate) struct Ended<'a> {
    pub whole: Whole<'a>,
    pub layout: &'a Layout,
    pub length: u64,
}

impl Late {
    /// The subsignatures whose places must be remembered, a bit for each.
    pub fn places(&self) -> u64 {
        match &self.kind {
            LateKind::Perl(_) => 0,
            LateKind::Compare(comparison) => 1 << comparison.of,
            LateKind::Macro(group) => 1 << group.of,
        }
    }
}

/// How often an expression matches, up to a bound, and where each match starts.
pub(crate) fn search(
    search: &PerlSearch,
    ended: &Ended<'_>,
    most: u32,
    steps: &mut u64,
    found: &mut dyn FnMut(u64),
) -> Result<u32, Reason> {
    let bytes = match ended.whole {
        Whole::Bytes(bytes) => bytes,
        Whole::NotHeld(reason) => return Err(reason),
    };
    let Some((first, shift)) = place(search.offset, ended) else { return Ok(0) };
    let Some(mut bytes) = usize::try_from(first).ok().and_then(|first| bytes.get(first..)) else {
        return Ok(0);
    };
    if let Some(shift) = shift.filter(|shift| search.is_within && *shift > 0) {
        bytes = usize::try_from(shift).ok().and_then(|shift| bytes.get(..shift)).unwrap_or(bytes);
    }
    let is_tied = shift == Some(0) && !search.rolls;
    let start = if is_tied || search.is_anchored { Start::First } else { Start::Any };
    let mut from = 0;
    let mut matches = 0;
    while matches < most && from <= bytes.len() {
        let (at, end) = match search.perl.find(bytes, from, start, steps) {
            Found::At(at, end) => (at, end),
            Found::Nowhere => break,
            // The content's own reason: it would be no other when it came again.
            Found::Spent => return Err(Reason::Work),
        };
        if shift.is_some_and(|shift| shift > 0 && !search.is_within && at as u64 > shift) {
            break;
        }
        matches += 1;
        found(first.saturating_add(at as u64));
        if search.counts == Counts::First {
            break;
        }
        from = if end > at { end } else { end + 1 };
    }
    Ok(matches)
}

/// Where an offset is, and how far it may shift; no shift at all for anywhere.
fn place(offset: Offset, ended: &Ended<'_>) -> Option<(u64, Option<u64>)> {
    match offset {
        Offset::Anywhere => Some((0, None)),
        Offset::Start { first, shift } => Some((first, Some(shift))),
        Offset::End { distance, shift } => Some((ended.length.checked_sub(distance)?, Some(shift))),
        other => {
            let place = ended.layout.program()?.place(other)?;
            Some((*place.start(), Some(place.end() - place.start())))
        }
    }
}

/// Whether the number near the last match of another subsignature compares as it should.
pub(crate) fn compare(comparison: &Comparison, ended: &Ended<'_>, last: u64) -> Result<bool, Reason> {
    let bytes = match ended.whole {
        Whole::Bytes(bytes) => bytes,
        Whole::NotHeld(reason) => return Err(reason),
    };
    let at = last.checked_add_signed(comparison.offset).and_then(|at| usize::try_from(at).ok());
    let rest = at.and_then(|at| bytes.get(at..));
    let Some(field) = rest.and_then(|rest| rest.get(..usize::from(comparison.bytes))) else {
        return Ok(false);
    };
    let Some(number) = number(comparison, field) else { return Ok(false) };
    Ok(comparison.compares.iter().all(|(symbol, bound)| match symbol {
        expression::Comparison::Equal => number == i128::from(*bound),
        expression::Comparison::Less => number < i128::from(*bound),
        expression::Comparison::More => number > i128::from(*bound),
    }))
}

fn number(comparison: &Comparison, field: &[u8]) -> Option<i128> {
    let notation = comparison.notation;
    if notation.base == Base::Binary {
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        let value =
            if notation.is_low_first { field.iter().rev().fold(0, add) } else { field.iter().fold(0, add) };
        return Some(i128::from(value));
    }
    let digits = field.trim_ascii_start();
    let is_padded = digits.len() < field.len();
    let has_mark = digits.get(..2).is_some_and(|mark| mark.eq_ignore_ascii_case(b"0x"));
    let is_hexadecimal = notation.base == Base::Hexadecimal || (notation.base == Base::Either && has_mark);
    let unmarked = if has_mark && is_hexadecimal { digits.get(2..)? } else { digits };
    let radix = if is_hexadecimal { 16 } else { 10 };
    let length = unmarked.iter().take_while(|byte| char::from(**byte).is_digit(radix)).count();
    if length == 0 || (notation.is_exact && (is_padded || length < unmarked.len())) {
        return None;
    }
    let mut digits = unmarked.get(..length)?.to_vec();
    if notation.is_low_first && is_hexadecimal {
        // The pair with the low digits first.
        if digits.len() % 2 == 1 && digits.len() > 1 {
            digits.insert(0, b'0');
        }
        digits = digits.rchunks(2).flatten().copied().collect();
    } else if notation.is_low_first {
        return None;
    }
    let text = str::from_utf8(&digits).ok()?;
    i128::from_str_radix(text, radix).ok()
}

/// Whether a member of the group stands where the macro says, behind some match of the subsignature before.
pub(crate) fn follows(group: Macro, before: &[u64], members: &[u64]) -> bool {
    before.iter().any(|start| {
        let first = start.saturating_add(u64::from(group.min));
        let last = start.saturating_add(u64::from(group.max));
        members.iter().any(|member| (first..=last).contains(member))
    })
}

lockgate_stored::stored!(struct Late { id, trigger, kind });
lockgate_stored::stored!(enum LateKind { 0 => Perl(search), 1 => Compare(comparison), 2 => Macro(group) });

impl Late {
    /// Whether it is one of the subsignatures that there can be, and follows from one; its trigger is one of so many programs.
    pub fn is_sound(&self, programs: usize) -> bool {
        let follows = match &self.kind {
            LateKind::Perl(_) => 0,
            LateKind::Compare(comparison) => comparison.of,
            LateKind::Macro(group) => group.of,
        };
        let is_one = |id: u8| usize::from(id) < expression::SUBSIGNATURES_MAX;
        is_one(self.id) && is_one(follows) && (self.trigger as usize) < programs
    }
}
