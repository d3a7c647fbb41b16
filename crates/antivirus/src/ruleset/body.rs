//! The hexadecimal text of a body signature, with its modifiers, as patterns. Rule: what the matcher has no word for
//! (wide characters, ClamAV's own notion of a boundary) is spelled out here in words that it has.

use super::Fault;
use lockgate_matcher::Case;

/// The modifiers behind `::`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modifiers {
    pub case: Case,
    pub width: Width,
    pub word: Word,
}

/// How many bytes a character takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Narrow,
    /// Each byte is followed by a NUL.
    Wide,
    /// One or the other.
    Both,
}

/// Whether a match must stand alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Part,
    /// No letter or digit before or behind it.
    Full,
}

impl Modifiers {
    pub const NONE: Self = Self { case: Case::Sensitive, width: Width::Narrow, word: Word::Part };

    pub fn parse(letters: &str) -> Result<Self, Fault> {
        let mut modifiers = Self::NONE;
        let (mut wide, mut narrow) = (false, false);
        for (at, letter) in letters.char_indices() {
            match letter {
                'i' => modifiers.case = Case::Insensitive,
                'f' => modifiers.word = Word::Full,
                'w' => wide = true,
                'a' => narrow = true,
                _ => return Err(Fault::at(at + 1, format!("modifier {letter:?}; expected i, w, f or a"))),
            }
        }
        modifiers.width = match (wide, narrow) {
            (true, true) => Width::Both,
            (true, false) => Width::Wide,
            (false, _) => Width::Narrow,
        };
        Ok(modifiers)
    }
}

/// One of the patterns that a body stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub hex: String,
    /// Bytes before the body proper, looked at for a boundary on its left.
    pub lead_bytes: u8,
    /// Where the body stands in the file.
    pub place: Place,
}

/// Which ends of the file a match must touch. Each end gives way by so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub at_start: Option<u8>,
    pub at_end: Option<u8>,
}

/// A boundary on one side of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    None,
    /// `(W)`: no letter or digit.
    Word,
    /// `(W)` around a wide body: no letter or digit with its NUL.
    WideWord,
    /// `(B)`: one of a few characters that part words.
    Boundary,
    /// `(L)`: a line's end.
    Line,
}

/// What a boundary reads beside the body, as hexadecimal text, and how many bytes that takes.
struct Beside {
    hex: String,
    bytes: u8,
    /// How near to the end of the file will do in its place; `None` where the matcher itself looks for that.
    file_end: Option<u8>,
}

pub(crate) fn variants(hex: &str, modifiers: Modifiers) -> Result<Vec<Variant>, Fault> {
    let (left, body, right) = edges(hex)?;
    let mut variants = Vec::new();
    if modifiers.width != Width::Wide {
        let (left, right) = full_word(left, right, modifiers.word, Edge::Word);
        spell_out(left, body, right, &mut variants);
    }
    if modifiers.width != Width::Narrow {
        let (left, right) = full_word(left, right, modifiers.word, Edge::WideWord);
        spell_out(left, &widen(body), right, &mut variants);
    }
    Ok(variants)
}

fn full_word(left: Edge, right: Edge, word: Word, edge: Edge) -> (Edge, Edge) {
    match word {
        Word::Full => (edge, edge),
        Word::Part => (left, right),
    }
}

/// Takes boundaries off both ends.
fn edges(hex: &str) -> Result<(Edge, &str, Edge), Fault> {
    let edge = |mark: Option<&str>| match mark {
        Some("(W)") => Edge::Word,
        Some("(B)") => Edge::Boundary,
        Some("(L)") => Edge::Line,
        _ => Edge::None,
    };
    let left = edge(hex.get(..3));
    let skipped = if left == Edge::None { 0 } else { 3 };
    let rest = hex.get(skipped..).unwrap_or_default();
    let right = edge(rest.len().checked_sub(3).and_then(|at| rest.get(at..)));
    let kept = if right == Edge::None { rest.len() } else { rest.len() - 3 };
    let body = rest.get(..kept).unwrap_or_default();
    if let Some(at) = body.find(['B', 'L', 'W']).filter(|at| body[..*at].ends_with('(')) {
        let mark = body.get(at - 1..at + 2).unwrap_or_default();
        if mark.ends_with(')') {
            let reason = format!("{mark} inside the body is not understood yet; only at its ends");
            return Err(Fault::at(skipped + at, reason));
        }
    }
    Ok((left, body, right))
}

/// Each boundary is met by a byte beside the body or by the end of the file: up to four patterns.
fn spell_out(left: Edge, body: &str, right: Edge, variants: &mut Vec<Variant>) {
    let (before, behind) = (beside(left, Side::Left), beside(right, Side::Right));
    let lefts =
        [Some((before.hex.as_str(), before.bytes, None)), before.file_end.map(|end| ("", 0, Some(end)))];
    let rights = [Some((behind.hex.as_str(), None)), behind.file_end.map(|end| ("", Some(end)))];
    for (before, lead_bytes, at_start) in lefts.into_iter().flatten() {
        for (behind, at_end) in rights.into_iter().flatten() {
            let hex = format!("{before}{body}{behind}");
            variants.push(Variant { hex, lead_bytes, place: Place { at_start, at_end } });
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

fn beside(edge: Edge, side: Side) -> Beside {
    let (hex, bytes, file_end) = match (edge, side) {
        (Edge::None, _) => ("", 0, None),
        (Edge::Word, _) => ("(W)", 0, None),
        // A single byte between the body and the file's end cannot hold a wide letter.
        (Edge::WideWord, _) => return Beside { hex: no_wide_alphanumeric(), bytes: 2, file_end: Some(1) },
        // The characters that ClamAV takes for boundaries differ by side: space " ' - . / < @ _ and line ends.
        (Edge::Boundary, Side::Left) => ("(20|2d|2e|2f|3c|40|5f)", 1, Some(0)),
        (Edge::Boundary, Side::Right) => ("(0a|0d|20|22|27|2d|2f|3d|3e|5f)", 1, Some(0)),
        (Edge::Line, Side::Left) => ("0a", 1, Some(0)),
        (Edge::Line, Side::Right) => ("(0a|0d0a)", 1, Some(0)),
    };
    Beside { hex: hex.to_owned(), bytes, file_end }
}

fn no_wide_alphanumeric() -> String {
    let letters = (0_u8..=127).filter(u8::is_ascii_alphanumeric);
    let each: Vec<String> = letters.map(|letter| format!("{letter:02x}00")).collect();
    format!("!({})", each.join("|"))
}

/// Puts a NUL behind each byte, wildcard or not; ranges stay as they are.
fn widen(hex: &str) -> String {
    let mut wide = String::with_capacity(hex.len() * 2);
    let mut rest = hex.chars();
    while let Some(first) = rest.next() {
        wide.push(first);
        match first {
            '{' | '[' => {
                let close = if first == '{' { '}' } else { ']' };
                for next in rest.by_ref() {
                    wide.push(next);
                    if next == close {
                        break;
                    }
                }
            }
            '0'..='9' | 'a'..='f' | 'A'..='F' | '?' => {
                // A missing second nibble is left for the matcher to report.
                if let Some(second) = rest.next() {
                    wide.push(second);
                    wide.push_str("00");
                }
            }
            _ => {}
        }
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(hex: &str, letters: &str) -> Vec<String> {
        let modifiers = Modifiers::parse(letters).unwrap();
        variants(hex, modifiers).unwrap().into_iter().map(|variant| variant.hex).collect()
    }

    #[test]
    fn wide_and_narrow() {
        assert_eq!(spelled("41??(42|4343){2-3}44", "w"), ["4100??00(4200|43004300){2-3}4400"]);
        assert_eq!(spelled("41*42[1-2]4a", "wa"), ["41*42[1-2]4a", "4100*4200[1-2]4a00"]);
        assert_eq!(spelled("4142", "ia"), ["4142"]);
    }

    #[test]
    fn boundaries_are_bytes_or_the_end_of_the_file() {
        let variants = variants("(B)4142", Modifiers::NONE).unwrap();
        assert_eq!(variants.len(), 2);
        assert_eq!((variants[0].hex.as_str(), variants[0].lead_bytes), ("(20|2d|2e|2f|3c|40|5f)4142", 1));
        assert_eq!(variants[1].place, Place { at_start: Some(0), at_end: None });
        assert_eq!(spelled("4142", "f"), ["(W)4142(W)"]);
        assert_eq!(spelled("4142", "fwa").len(), 5);
        assert_eq!(spelled("(W)4142(L)", ""), ["(W)4142(0a|0d0a)", "(W)4142"]);
    }

    #[test]
    fn faults() {
        assert_eq!(Modifiers::parse("ix").map_err(|fault| fault.column), Err(Some(2)));
        assert_eq!(variants("4142(B)4344", Modifiers::NONE).map_err(|fault| fault.column), Err(Some(5)));
    }
}
