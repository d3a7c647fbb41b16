//! What a rule asks of its strings and of the file. Rule: evaluation is bounded by the condition's size and the places that
//! are remembered.

use crate::ruleset::expression::SUBSIGNATURES_MAX;

/// An expression that holds or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Always(bool),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    /// A string by number has matched.
    Matched(u8),
    At(u8, Number),
    In(u8, Number, Number),
    Compare(Number, Comparison, Number),
    /// At least so many of these hold; `None`: all of them.
    Of(Option<Number>, Vec<Condition>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// An integer; what cannot be had is none, and nothing compares to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Just(i64),
    FileSize,
    EntryPoint,
    /// How often a string has matched.
    Count(u8),
    /// Where a string's match by number stands, counted from 1.
    Place(u8, Box<Number>),
    /// So many bytes at an offset, signed or not, the high byte first or not.
    Bytes {
        bytes: u8,
        is_signed: bool,
        is_high_first: bool,
        at: Box<Number>,
    },
    Sum(Box<Number>, char, Box<Number>),
    Minus(Box<Number>),
}

/// What is known of a part at its end.
pub(crate) struct Facts<'a> {
    pub count: &'a dyn Fn(u8) -> u32,
    pub places: &'a dyn Fn(u8) -> &'a [u64],
    pub length: u64,
    pub entry: Option<u64>,
    pub bytes: Option<&'a [u8]>,
}

impl Condition {
    pub fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Always(holds) => *holds,
            Self::Not(inner) => !inner.holds(facts),
            Self::All(inner) => inner.iter().all(|inner| inner.holds(facts)),
            Self::Any(inner) => inner.iter().any(|inner| inner.holds(facts)),
            Self::Matched(id) => (facts.count)(*id) > 0,
            Self::At(id, at) => {
                let at = at.value(facts).and_then(|at| u64::try_from(at).ok());
                at.is_some_and(|at| (facts.places)(*id).contains(&at))
            }
            Self::In(id, first, last) => match (first.value(facts), last.value(facts)) {
                (Some(first), Some(last)) => (facts.places)(*id)
                    .iter()
                    .any(|place| i64::try_from(*place).is_ok_and(|place| (first..=last).contains(&place))),
                _ => false,
            },
            Self::Compare(left, comparison, right) => match (left.value(facts), right.value(facts)) {
                (Some(left), Some(right)) => match comparison {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::Less => left < right,
                    Comparison::LessOrEqual => left <= right,
                    Comparison::More => left > right,
                    Comparison::MoreOrEqual => left >= right,
                },
                _ => false,
            },
            Self::Of(least, inner) => {
                let holding = inner.iter().filter(|inner| inner.holds(facts)).count() as i64;
                match least {
                    None => holding == inner.len() as i64,
                    Some(least) => least.value(facts).is_some_and(|least| holding >= least),
                }
            }
        }
    }

    /// Whether it needs the bytes of the part, and the strings whose places it needs, a bit for each.
    pub fn needs(&self, bytes: &mut bool, places: &mut u64) {
        match self {
            Self::Always(_) | Self::Matched(_) => {}
            Self::Not(inner) => inner.needs(bytes, places),
            Self::All(inner) | Self::Any(inner) => inner.iter().for_each(|inner| inner.needs(bytes, places)),
            Self::Of(least, inner) => {
                if let Some(least) = least {
                    least.needs(bytes, places);
                }
                inner.iter().for_each(|inner| inner.needs(bytes, places));
            }
            Self::At(id, at) => {
                *places |= 1 << id;
                at.needs(bytes, places);
            }
            Self::In(id, first, last) => {
                *places |= 1 << id;
                first.needs(bytes, places);
                last.needs(bytes, places);
            }
            Self::Compare(left, _, right) => {
                left.needs(bytes, places);
                right.needs(bytes, places);
            }
        }
    }
}

impl Number {
    fn value(&self, facts: &Facts<'_>) -> Option<i64> {
        match self {
            Self::Just(number) => Some(*number),
            Self::FileSize => i64::try_from(facts.length).ok(),
            Self::EntryPoint => facts.entry.and_then(|entry| i64::try_from(entry).ok()),
            Self::Count(id) => Some(i64::from((facts.count)(*id))),
            Self::Place(id, which) => {
                let which = usize::try_from(which.value(facts)?.checked_sub(1)?).ok()?;
                i64::try_from(*(facts.places)(*id).get(which)?).ok()
            }
            Self::Bytes { bytes, is_signed, is_high_first, at } => {
                let at = usize::try_from(at.value(facts)?).ok()?;
                let field = facts.bytes?.get(at..)?.get(..usize::from(*bytes))?;
                let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
                let value =
                    if *is_high_first { field.iter().fold(0, add) } else { field.iter().rev().fold(0, add) };
                let unused = 64 - u32::from(*bytes) * 8;
                let value = (value << unused).cast_signed();
                Some(if *is_signed {
                    value >> unused
                } else {
                    (value.cast_unsigned() >> unused).cast_signed()
                })
            }
            Self::Sum(left, operator, right) => {
                let (left, right) = (left.value(facts)?, right.value(facts)?);
                match operator {
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    '*' => left.checked_mul(right),
                    '&' => Some(left & right),
                    '|' => Some(left | right),
                    '^' => Some(left ^ right),
                    '%' => left.checked_rem(right),
                    _ => left.checked_div(right),
                }
            }
            Self::Minus(number) => number.value(facts)?.checked_neg(),
        }
    }

    fn needs(&self, bytes: &mut bool, places: &mut u64) {
        match self {
            Self::Just(_) | Self::FileSize | Self::EntryPoint | Self::Count(_) => {}
            Self::Place(id, which) => {
                *places |= 1 << id;
                which.needs(bytes, places);
            }
            Self::Bytes { at, .. } => {
                *bytes = true;
                at.needs(bytes, places);
            }
            Self::Sum(left, _, right) => {
                left.needs(bytes, places);
                right.needs(bytes, places);
            }
            Self::Minus(number) => number.needs(bytes, places),
        }
    }
}

lockgate_stored::stored!(enum Condition {
    0 => Always(holds),
    1 => Not(inner),
    2 => All(inner),
    3 => Any(inner),
    4 => Matched(id),
    5 => At(id, at),
    6 => In(id, first, last),
    7 => Compare(left, comparison, right),
    8 => Of(least, inner),
}, sound);
lockgate_stored::stored!(enum Comparison {
    0 => Equal,
    1 => NotEqual,
    2 => Less,
    3 => LessOrEqual,
    4 => More,
    5 => MoreOrEqual,
});
lockgate_stored::stored!(enum Number {
    0 => Just(number),
    1 => FileSize,
    2 => EntryPoint,
    3 => Count(id),
    4 => Place(id, which),
    5 => Bytes { bytes, is_signed, is_high_first, at },
    6 => Sum(left, operator, right),
    7 => Minus(number),
}, sound);

impl Condition {
    /// Whether its string is one of those that there can be. What it consists of is asked itself.
    fn is_sound(&self) -> bool {
        match self {
            Self::Matched(id) | Self::At(id, _) | Self::In(id, ..) => is_string(*id),
            _ => true,
        }
    }
}

impl Number {
    /// Whether its string is one of those that there can be, and it has as many bytes as an integer may have.
    fn is_sound(&self) -> bool {
        match self {
            Self::Count(id) | Self::Place(id, _) => is_string(*id),
            Self::Bytes { bytes, .. } => matches!(bytes, 1 | 2 | 4),
            _ => true,
        }
    }
}

fn is_string(id: u8) -> bool {
    usize::from(id) < SUBSIGNATURES_MAX
}
