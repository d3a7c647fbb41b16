//! A line of a phrase list → [`Phrase`]. Rule: bytes, since old lists come in many charsets; read as leniently as e2guardian
//! does.

use crate::ruleset::Fault;

/// The longest phrase; e2guardian cuts longer ones, too.
pub(crate) const PHRASE_BYTES_MAX: usize = 127;
/// How many phrases may stand in one combination.
const PARTS_MAX: usize = 64;

/// What a line does to the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// None is given: the phrase bans, or excepts, by itself.
    Decides,
    Points(i32),
    /// Hundredths of the limit.
    Percent(i32),
}

impl Weight {
    /// The points where the limit is known. What comes to none decides nothing and counts nothing.
    pub fn points(self, points_max: i32) -> Option<i32> {
        match self {
            Self::Decides => None,
            Self::Points(points) => Some(points),
            Self::Percent(percent) => {
                let points = i64::from(percent) * i64::from(points_max) / 100;
                i32::try_from(points).ok()
            }
        }
    }
}

/// `<a>`, `<a><10>`, `<a>,<b>`, `<a>,<b><10>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase {
    /// As they are written; all must be there.
    pub parts: Vec<Vec<u8>>,
    pub weight: Weight,
}

/// What a line of a phrase list comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Phrase(Phrase),
    /// Letters of this file's phrases are not made small: they are parts of wider characters.
    NoConvert,
    /// Something else: a comment, or one of what all lists may say.
    Other,
}

/// Reads a line without white space around it.
pub(crate) fn parse(line: &[u8]) -> Result<Said, Fault> {
    if line.starts_with(b"#noconvert") {
        return Ok(Said::NoConvert);
    }
    if line.starts_with(b"#") || line.starts_with(b".") {
        return Ok(Said::Other);
    }
    if !line.starts_with(b"<") {
        return Err(Fault(
            "a phrase is written as <WORDS>, <WORDS><POINTS> or <WORDS>,<WORDS><POINTS>".to_owned(),
        ));
    }
    let (weight, line) = match after(line, b"><") {
        Some(rest) => weight(rest)?.map_or((Weight::Decides, line), |weight| {
            let phrases = line.len() - rest.len() - 1;
            (weight, &line[..phrases])
        }),
        None => (Weight::Decides, line),
    };
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(inside) = after(rest, b"<") {
        let end = memchr::memchr(b'>', inside).ok_or_else(|| Fault("a \">\" is missing".to_owned()))?;
        let part = &inside[..end];
        if !part.is_empty() {
            parts.push(part[..part.len().min(PHRASE_BYTES_MAX)].to_vec());
        }
        match after(inside, b">,") {
            Some(next) if parts.len() < PARTS_MAX => rest = next,
            Some(_) => return Err(Fault(format!("a combination may have {PARTS_MAX} phrases"))),
            None => break,
        }
    }
    if parts.is_empty() || parts.iter().any(|part| part.iter().all(|byte| *byte == b' ')) {
        return Err(Fault("a phrase without words would be found in every page".to_owned()));
    }
    Ok(Said::Phrase(Phrase { parts, weight }))
}

/// The number at the beginning of what stands behind `><`, where there is one. A weight of nothing would make the phrase ban
/// by itself in e2guardian, which nobody means who writes it.
fn weight(rest: &[u8]) -> Result<Option<Weight>, Fault> {
    let end = memchr::memchr(b'>', rest).unwrap_or(rest.len());
    let inside = rest[..end].trim_ascii();
    let (number, is_percent) = match inside.strip_suffix(b"%") {
        Some(number) => (number, true),
        None => (inside, false),
    };
    let digits = number.strip_prefix(b"-").or(number.strip_prefix(b"+")).unwrap_or(number);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Ok(None);
    }
    let number = std::str::from_utf8(number).ok().and_then(|number| number.parse::<i32>().ok());
    match number {
        Some(0) => {
            Err(Fault("a phrase of no points does nothing: give it some, or take the line out".to_owned()))
        }
        Some(number) if is_percent => Ok(Some(Weight::Percent(number))),
        Some(number) => Ok(Some(Weight::Points(number))),
        None => Err(Fault("points have at most nine digits".to_owned())),
    }
}

/// What stands behind the first such words.
fn after<'a>(text: &'a [u8], words: &[u8]) -> Option<&'a [u8]> {
    memchr::memmem::find(text, words).map(|at| &text[at + words.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_phrase_list() {
        use Weight::{Decides, Percent, Points};
        type Case = (&'static [u8], &'static [&'static [u8]], Weight);
        let cases: [Case; 10] = [
            (b"<sex>", &[b"sex"], Decides),
            (b"< sex ><10>", &[b" sex "], Points(10)),
            (b"<a word><-30> # why", &[b"a word"], Points(-30)),
            (b"<a>,<b>", &[b"a", b"b"], Decides),
            (b"<a>, <b>,<c d><15>3", &[b"a", b"b", b"c d"], Points(15)),
            (b"<a><50%>", &[b"a"], Percent(50)),
            (b"<a>,<>,<b><5>", &[b"a", b"b"], Points(5)),
            (b"<\xe4><5>", &[b"\xe4"], Points(5)),
            (b"<a><b>", &[b"a"], Decides),
            (b"<a.b> #c", &[b"a.b"], Decides),
        ];
        for (line, parts, weight) in cases {
            let parts = parts.iter().map(|part| part.to_vec()).collect();
            assert_eq!(parse(line), Ok(Said::Phrase(Phrase { parts, weight })), "{line:?}");
        }
        let long = [b"<".as_slice(), &[b'a'; 200], b">"].concat();
        let Ok(Said::Phrase(phrase)) = parse(&long) else { panic!("it is a phrase") };
        assert_eq!(phrase.parts[0].len(), PHRASE_BYTES_MAX);
    }

    #[test]
    fn what_is_no_phrase() {
        assert_eq!(parse(b"#noconvert"), Ok(Said::NoConvert));
        for other in [&b"# a"[..], b".Include</a>", b"#listcategory: \"a\""] {
            assert_eq!(parse(other), Ok(Said::Other));
        }
        for wrong in [&b"words"[..], b"<>", b"< >", b"<a", b"<a>,<b", b"<a><0>", b"<a><99999999999>"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn percent_of_the_limit() {
        for (weight, points) in [
            (Weight::Percent(50), Some(80)),
            (Weight::Percent(-10), Some(-16)),
            (Weight::Points(7), Some(7)),
            (Weight::Decides, None),
        ] {
            assert_eq!(weight.points(160), points);
        }
    }
}
