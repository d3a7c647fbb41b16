//! What a logical signature is made of: bodies, regular expressions, comparisons of bytes, macros. Rule: what only the
//! end of a file decides names the subsignatures that it follows from.

use super::body::Modifiers;
use super::expression::{self, Expression};
use super::logical::{Body, macro_group};
use super::offset::{self, Offset};
use super::{Fault, offset_in};
use lockgate_perl::{Flags, Perl};

/// One subsignature.
pub(crate) enum Subsignature<'a> {
    Body(Body<'a>),
    /// What must hold before, and the search.
    Perl(Expression, Box<PerlSearch>),
    Compare(Box<Comparison>),
    Macro(Macro),
}

/// `[offset:]trigger/expression/flags`.
pub(crate) struct PerlSearch {
    pub offset: Offset,
    pub perl: Perl,
    /// `g`: all matches count.
    pub counts: Counts,
    /// `r`: the offset is where the search begins, not where it must match.
    pub rolls: bool,
    /// `e`: the match lies within the offset's shift.
    pub is_within: bool,
    /// `A`.
    pub is_anchored: bool,
}

/// Which matches of an expression count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    First,
    All,
}

/// `subsignature(offset#number#comparisons)`: a number somewhere near a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// The subsignature whose last match the offset is counted from.
    pub of: u8,
    pub offset: i64,
    pub notation: Notation,
    pub bytes: u8,
    pub compares: Vec<(expression::Comparison, i64)>,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notation {
    pub base: Base,
    /// `l`: the low byte, or the low pair of digits, first.
    pub is_low_first: bool,
    /// `e`: all the bytes are of the number.
    pub is_exact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Hexadecimal,
    Decimal,
    /// Hexadecimal behind `0x`, else decimal.
    Either,
    Binary,
}

/// `${min-max}group$`: a member of a group so far behind the start of the subsignature before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Macro {
    pub of: u8,
    pub min: u32,
    pub max: u32,
    pub group: u8,
}

impl std::fmt::Debug for Subsignature<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Body(body) => body.fmt(f),
            Self::Perl(_, search) => write!(f, "expression from {:?}", search.offset),
            Self::Compare(comparison) => comparison.fmt(f),
            Self::Macro(group) => group.fmt(f),
        }
    }
}

impl PerlSearch {
    /// An expression that may match anywhere, and each match of which counts.
    pub fn anywhere(text: &str, flags: Flags) -> Result<Self, Fault> {
        let perl = Perl::parse(text, flags)
            .map_err(|unread| Fault::new(format!("regular expression: {}", unread.what)))?;
        let (rolls, is_within, is_anchored) = (false, false, false);
        Ok(Self { offset: Offset::Anywhere, perl, counts: Counts::All, rolls, is_within, is_anchored })
    }
}

/// The text of the subsignature with this number; `line_column` is where the text starts in its line.
pub(crate) fn parse_subsignature(
    text: &str,
    line_column: usize,
    id: usize,
) -> Result<Subsignature<'_>, Fault> {
    if text.is_empty() {
        return Err(Fault::at(1, "the subsignature is empty"));
    }
    if text.contains('/') {
        return perl(text, id).map(|(trigger, search)| Subsignature::Perl(trigger, Box::new(search)));
    }
    if text.starts_with("fuzzy_img#") {
        return Err(Fault::at(1, "fuzzy image subsignatures compare pictures, which is not done yet"));
    }
    if text.starts_with('$') {
        return parse_macro(text, id).map_err(|fault| Fault::at(1, fault.reason)).map(Subsignature::Macro);
    }
    if text.contains('#') {
        let fault = |fault: Fault| Fault::at(1, fault.reason);
        return compare(text, id).map_err(fault).map(|of| Subsignature::Compare(Box::new(of)));
    }
    body(text, line_column).map(Subsignature::Body)
}

/// `[offset:]hexadecimal text[::modifiers]`.
fn body(text: &str, line_column: usize) -> Result<Body<'_>, Fault> {
    let (rest, modifiers) = match text.split_once("::") {
        Some((rest, letters)) => {
            let modifiers =
                Modifiers::parse(letters).map_err(|fault| fault.moved(offset_in(text, letters)))?;
            (rest, modifiers)
        }
        None => (text, Modifiers::NONE),
    };
    let (offset, hex) = match rest.split_once(':') {
        Some((place, hex)) => {
            let offset =
                offset::parse(place).map_err(|fault| Fault { column: Some(1), reason: fault.reason })?;
            (offset, hex)
        }
        None => (Offset::Anywhere, rest),
    };
    Ok(Body { offset, hex, modifiers, column: line_column + offset_in(text, hex) })
}

/// The subsignatures that an expression names, all of which must stand before this one.
fn trigger(text: &str, id: usize) -> Result<Expression, Fault> {
    let expression = expression::parse(text)?;
    if usize::from(expression.highest) >= id {
        return Err(Fault::at(1, "the trigger names a subsignature that does not stand before this one"));
    }
    Ok(expression)
}

fn perl(text: &str, id: usize) -> Result<(Expression, PerlSearch), Fault> {
    let (head, rest) = text.split_once('/').unwrap_or((text, ""));
    let (body, letters) = rest
        .rsplit_once('/')
        .ok_or_else(|| Fault::at(head.len() + 1, "a regular expression without its second /"))?;
    // Modifiers as those of a body.
    let (letters, more) = letters.split_once("::").unwrap_or((letters, ""));
    let (place, triggers) = match head.rsplit_once(':') {
        Some((place, triggers)) => (Some(place), triggers),
        None => (None, head),
    };
    let offset = match place {
        Some(place) => offset::parse(place).map_err(|fault| Fault::at(1, fault.reason))?,
        None => Offset::Anywhere,
    };
    let trigger = trigger(triggers, id).map_err(|fault| fault.moved(offset_in(text, triggers)))?;
    let mut flags = Flags::default();
    let (mut counts, mut rolls, mut is_within, mut is_anchored) = (Counts::First, false, false, false);
    for (at, letter) in letters.char_indices() {
        match letter {
            'g' => counts = Counts::All,
            'r' => rolls = true,
            'e' => is_within = true,
            'i' => flags.any_case = true,
            's' => flags.dot_all = true,
            'm' => flags.multi_line = true,
            'x' => flags.extended = true,
            'A' => is_anchored = true,
            'E' => flags.dollar_end_only = true,
            'U' => flags.ungreedy = true,
            _ => {
                let column = offset_in(text, letters) + at + 1;
                return Err(Fault::at(column, format!("flag {letter:?}; expected one of greismxAEU")));
            }
        }
    }
    match more {
        "" => {}
        "i" => flags.any_case = true,
        _ => return Err(Fault::at(offset_in(text, more) + 1, "a modifier of an expression; expected i")),
    }
    if body.is_empty() {
        return Err(Fault::at(head.len() + 2, "the regular expression is empty"));
    }
    let perl = Perl::parse(body, flags).map_err(|unread| {
        Fault::at(offset_in(text, body) + unread.at + 1, format!("regular expression: {}", unread.what))
    })?;
    Ok((trigger, PerlSearch { offset, perl, counts, rolls, is_within, is_anchored }))
}

fn parse_macro(text: &str, id: usize) -> Result<Macro, Fault> {
    let form = || Fault::new("expected ${least-most}group$");
    let inside = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('$')).ok_or_else(form)?;
    let (distance, group) = inside.split_once('}').ok_or_else(form)?;
    let (min, max) = distance.split_once('-').ok_or_else(form)?;
    let (Ok(min), Ok(max)) = (min.parse(), max.parse()) else { return Err(form()) };
    let before = id.checked_sub(1).and_then(|id| u8::try_from(id).ok());
    let of = before.ok_or_else(|| Fault::new("a macro follows another subsignature"))?;
    if min > max {
        return Err(Fault::new("the macro's distances are crossed"));
    }
    Ok(Macro { of, min, max, group: macro_group(group)? })
}

fn compare(text: &str, id: usize) -> Result<Comparison, Fault> {
    let form = || Fault::new("expected subsignature(>>offset#number#comparisons)");
    let (of, rest) = text.split_once('(').ok_or_else(form)?;
    let inside = rest.strip_suffix(')').ok_or_else(form)?;
    let mut fields = inside.split('#');
    let (Some(offset), Some(notation), Some(compares), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(form());
    };
    let of: u8 = of.parse().map_err(|_| form())?;
    if usize::from(of) >= id {
        return Err(Fault::new("it compares to a subsignature that does not stand before it"));
    }
    let offset = match (offset.strip_prefix(">>"), offset.strip_prefix("<<")) {
        (Some(ahead), _) => integer(ahead)?,
        (_, Some(back)) => -integer(back)?,
        _ => return Err(form()),
    };
    let (notation, bytes) = parse_notation(notation)?;
    let compares = compares.split(',').map(|set| {
        let symbol = match set.as_bytes().first() {
            Some(b'<') => expression::Comparison::Less,
            Some(b'>') => expression::Comparison::More,
            Some(b'=') => expression::Comparison::Equal,
            _ => return Err(form()),
        };
        Ok((symbol, integer(set.get(1..).unwrap_or_default())?))
    });
    let compares = compares.collect::<Result<Vec<_>, Fault>>()?;
    if compares.len() > 2 {
        return Err(Fault::new("more than two comparisons"));
    }
    Ok(Comparison { of, offset, notation, bytes, compares })
}

/// `[h|d|a|i][l|b][e]bytes`.
fn parse_notation(text: &str) -> Result<(Notation, u8), Fault> {
    let mut rest = text;
    let mut base = None;
    let (mut is_low_first, mut is_exact) = (false, false);
    while let Some(letter) = rest.chars().next().filter(char::is_ascii_alphabetic) {
        match letter {
            'h' => base = Some(Base::Hexadecimal),
            'd' => base = Some(Base::Decimal),
            'a' => base = Some(Base::Either),
            'i' => base = Some(Base::Binary),
            'l' => is_low_first = true,
            'b' => is_low_first = false,
            'e' => is_exact = true,
            _ => {
                return Err(Fault::new(format!(
                    "{letter:?} in the number's description; expected one of hdailbe"
                )));
            }
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    let base = base.ok_or_else(|| Fault::new("the number has no base; expected h, d, a or i"))?;
    let bytes = integer(rest)?;
    let fits = match base {
        Base::Binary => matches!(bytes, 1 | 2 | 4 | 8),
        _ => (1..=18).contains(&bytes),
    };
    if !fits {
        return Err(Fault::new(format!("a number of {bytes} bytes")));
    }
    if base == Base::Decimal && is_low_first {
        return Err(Fault::new("a decimal number has its high digits first"));
    }
    Ok((Notation { base, is_low_first, is_exact }, bytes as u8))
}

/// Decimal, or hexadecimal behind `0x`.
fn integer(text: &str) -> Result<i64, Fault> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| Fault::new(format!("{text:?} is no number")))
}

lockgate_stored::stored!(struct PerlSearch { offset, perl, counts, rolls, is_within, is_anchored });
lockgate_stored::stored!(enum Counts { 0 => First, 1 => All });
lockgate_stored::stored!(struct Comparison { of, offset, notation, bytes, compares });
lockgate_stored::stored!(struct Notation { base, is_low_first, is_exact });
lockgate_stored::stored!(enum Base { 0 => Hexadecimal, 1 => Decimal, 2 => Either, 3 => Binary });
lockgate_stored::stored!(struct Macro { of, min, max, group });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_bytes() {
        let read = |text| match parse_subsignature(text, 0, 3).map_err(|fault| fault.reason) {
            Ok(Subsignature::Compare(comparison)) => Ok(*comparison),
            Ok(other) => panic!("{other:?}"),
            Err(reason) => Err(reason),
        };
        let comparison = read("2(>>0x1a#hle4#>10,<0x20)").unwrap();
        assert_eq!((comparison.of, comparison.offset, comparison.bytes), (2, 26, 4));
        assert_eq!(
            comparison.notation,
            Notation { base: Base::Hexadecimal, is_low_first: true, is_exact: true }
        );
        let compares = [(expression::Comparison::More, 10), (expression::Comparison::Less, 32)];
        assert_eq!(comparison.compares, compares);
        assert_eq!(read("0(<<5#ib2#=7)").unwrap().offset, -5);
        for text in
            ["3(>>5#ib2#=7)", "0(5#ib2#=7)", "0(>>5#ib3#=7)", "0(>>5#dl2#=7)", "0(>>5#b2#=7)", "0(>>5#h2#7)"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn macros_and_expressions() {
        let found = parse_subsignature("${6-7}12$", 0, 1);
        assert!(matches!(found, Ok(Subsignature::Macro(Macro { of: 0, min: 6, max: 7, group: 12 }))));
        assert!(parse_subsignature("${6-7}12$", 0, 0).is_err());
        let Ok(Subsignature::Perl(_, search)) = parse_subsignature("EOF-30,5:0&1/a:\\/b/gi", 0, 2) else {
            panic!()
        };
        assert_eq!((search.offset, search.counts), (Offset::End { distance: 30, shift: 5 }, Counts::All));
        let faults = [("2/a/", 1), ("0/a", 2), ("0//", 3), ("0/(/i", 4), ("0/a/q", 5)];
        for (text, column) in faults {
            let fault = parse_subsignature(text, 0, 2).expect_err(text);
            assert_eq!(fault.column, Some(column), "{text}: {}", fault.reason);
        }
    }
}
