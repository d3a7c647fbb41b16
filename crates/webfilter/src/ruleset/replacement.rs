//! A line that says what stands in place of what: `"expression"->"replacement"`. Rule: what it makes of a text is known from
//! the line alone.

use super::Fault;
use regex::bytes::Captures;

/// What stands between the two.
const ARROW: &str = "\"->\"";

/// What stands in place of a match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    /// What a group of the expression has matched: `$1` or `\1`, up to 9.
    Group(usize),
}

/// One line: the expression, and what stands in its place.
pub(crate) fn parse(line: &str) -> Result<(&str, Template), Fault> {
    let no_rule =
        || Fault(format!("{line:?} is no replacement: write it as \"expression\"->\"replacement\""));
    let (expression, rest) =
        line.split_once('"').and_then(|(_, rest)| rest.split_once(ARROW)).ok_or_else(no_rule)?;
    let (template, _) = rest.rsplit_once('"').ok_or_else(no_rule)?;
    if expression.is_empty() {
        return Err(no_rule());
    }
    Ok((expression, Template::parse(template)))
}

/// A line without the quotes around it.
pub(crate) fn unquoted(line: &str) -> &str {
    line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(line)
}

impl Template {
    fn parse(text: &str) -> Self {
        let (mut pieces, mut plain) = (Vec::new(), Vec::new());
        let mut rest = text.as_bytes();
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            match (first, behind.first()) {
                (b'\\' | b'$', Some(digit @ b'1'..=b'9')) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain).into()));
                    }
                    pieces.push(Piece::Group(usize::from(digit - b'0')));
                    rest = &behind[1..];
                }
                (b'\\', Some(escaped @ (b'\\' | b'$'))) => {
                    plain.push(*escaped);
                    rest = &behind[1..];
                }
                (byte, _) => plain.push(*byte),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain.into()));
        }
        Self { pieces }
    }

    /// What stands in place of one match.
    pub fn expand(&self, found: &Captures<'_>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                // A group that is not there, or has matched nothing, is nothing.
                Piece::Group(number) => {
                    out.extend_from_slice(found.get(*number).map_or(&[][..], |group| group.as_bytes()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::Regex;

    #[test]
    fn lines() {
        let made = |line: &str, text: &str| {
            let (expression, template) = parse(line).unwrap();
            let mut out = Vec::new();
            let found = Regex::new(expression).unwrap();
            template.expand(&found.captures(text.as_bytes()).unwrap(), &mut out);
            String::from_utf8(out).unwrap()
        };
        for (line, text, expected) in [
            (r#""a(b)(c)?"->"<\1$2>""#, "ab", "<b>"),
            (r#""a(b)"->"\$1\\1$0$" # why"#, "ab", r"$1\1$0$"),
            (r#""x"->"""#, "x", ""),
            (r#"  "x"->"say "so"""#, "x", "say \"so\""),
            (r#""a"->"$9\9""#, "a", ""),
            (r#""a"->"\n""#, "a", r"\n"),
        ] {
            assert_eq!(made(line, text), expected, "{line}");
        }
        for line in ["x", "\"x\"", "\"x\"->y", "\"\"->\"y\"", "\"x\"->\"", "'x'->'y'"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
