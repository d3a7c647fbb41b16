//! `.ndb` and `.ldb` lines. Rule: a signature is understood in whole or not at all: half of a condition is another one.

use super::body::Modifiers;
use super::expression::{self, Expression};
use super::offset::{self, Offset};
use super::subsignature::{Subsignature, parse_subsignature};
use super::target::{About, parse_about, parse_target};
use super::{Fault, Line, is_our_level, offset_in, optional_number};

/// How many groups of macros there may be.
pub(crate) const MACRO_GROUPS: u8 = 32;

/// A piece of content to be found at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    pub offset: Offset,
    pub hex: &'a str,
    pub modifiers: Modifiers,
    /// Where the text starts in the line, from 0.
    pub column: usize,
}

/// One line of an `.ndb` database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BodySignature<'a> {
    pub name: &'a str,
    pub target: u8,
    pub body: Body<'a>,
    /// The group of macros that it is a member of, if it is: it is found by those that name the group.
    pub group: Option<u8>,
}

/// One line of an `.ldb` database.
#[derive(Debug)]
pub(crate) struct LogicalSignature<'a> {
    pub name: &'a str,
    pub about: About,
    pub expression: Expression,
    pub subsignatures: Vec<Subsignature<'a>>,
}

pub(crate) fn parse_body(line: &str) -> Result<Line<BodySignature<'_>>, Fault> {
    let mut fields = line.split(':');
    let name = fields.next().unwrap_or_default();
    let (Some(target), Some(place), Some(hex)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(Fault::new("too few fields; expected name:target:offset:hexadecimal text"));
    };
    let first = optional_number(fields.next(), "the least functionality level")?;
    let last = optional_number(fields.next(), "the highest functionality level")?;
    if fields.next().is_some() {
        return Err(Fault::new(
            "too many fields; expected name:target:offset:hexadecimal text:least level:highest level",
        ));
    }
    if name.is_empty() {
        return Err(Fault::at(1, "the name is missing"));
    }
    if !is_our_level(first, last) {
        return Ok(Line::OtherEngine);
    }
    let target = parse_target(target).map_err(|fault| fault.moved(offset_in(line, target)))?;
    let here = |fault: Fault| Fault { column: Some(offset_in(line, place) + 1), reason: fault.reason };
    let group = place.strip_prefix('$').map(macro_group).transpose().map_err(here)?;
    let offset = if group.is_some() { Offset::Anywhere } else { offset::parse(place).map_err(here)? };
    let body = Body { offset, hex, modifiers: Modifiers::NONE, column: offset_in(line, hex) };
    Ok(Line::Signature(BodySignature { name, target, body, group }))
}

/// The number of a group of macros.
pub(crate) fn macro_group(text: &str) -> Result<u8, Fault> {
    let group = text.parse().ok().filter(|group| *group < MACRO_GROUPS);
    group.ok_or_else(|| Fault::new(format!("macro group {text:?}; expected 0 to {}", MACRO_GROUPS - 1)))
}

/// The fields of a logical line. A semicolon within a regular expression, from `/` to `/`, parts nothing.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let (mut parted, mut before, mut in_expression) = (0, b' ', false);
    let is_end = move |byte: char| {
        let byte = u8::try_from(byte).unwrap_or(b' ');
        let is_slash = byte == b'/' && before != b'\\' && parted >= 2;
        in_expression ^= is_slash;
        before = byte;
        let is_end = byte == b';' && !in_expression;
        parted += u32::from(is_end);
        is_end
    };
    line.split(is_end)
}

pub(crate) fn parse_logical(line: &str) -> Result<Line<LogicalSignature<'_>>, Fault> {
    let mut fields = fields(line);
    let name = fields.next().unwrap_or_default();
    let (Some(about), Some(expression)) = (fields.next(), fields.next()) else {
        return Err(Fault::new("too few fields; expected name;target description;expression;subsignatures"));
    };
    if name.is_empty() {
        return Err(Fault::at(1, "the name is missing"));
    }
    let about = match parse_about(about).map_err(|fault| fault.moved(offset_in(line, about)))? {
        Line::Signature(about) => about,
        Line::OtherEngine => return Ok(Line::OtherEngine),
    };
    let expression =
        expression::parse(expression).map_err(|fault| fault.moved(offset_in(line, expression)))?;
    // Subsignatures behind the last one that the expression names mean nothing, to ClamAV neither.
    let named = usize::from(expression.highest) + 1;
    let texts: Vec<&str> = fields.take(named).collect();
    if texts.len() < named {
        let reason = format!("{} subsignatures, but the expression names {named}", texts.len());
        return Err(Fault::new(reason));
    }
    let subsignatures = texts
        .into_iter()
        .enumerate()
        .map(|(id, text)| {
            let column = offset_in(line, text);
            parse_subsignature(text, column, id).map_err(|fault| fault.moved(column))
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    Ok(Line::Signature(LogicalSignature { name, about, expression, subsignatures }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::target::{Container, Layer, Ranges};
    use lockgate_model::FileType;

    #[test]
    fn a_logical_line() {
        let line = "Test.A;Engine:51-255,FileSize:10-20,Container:CL_TYPE_ZIP,Target:1;(0|1)&2;EP+3:41;4242::iw;EOF-4:43";
        let Ok(Line::Signature(signature)) = parse_logical(line) else { panic!("{line}") };
        assert_eq!(signature.name, "Test.A");
        assert_eq!(
            signature.about,
            About {
                target: 1,
                container: Some(Container::In([Layer::Is(FileType::Zip)].into())),
                ranges: Ranges { size: Some(10..=20), ..Ranges::default() },
                icons: [None, None],
                handler: None,
            }
        );
        let bodies = signature.subsignatures.iter().map(|sub| match sub {
            Subsignature::Body(body) => body,
            other => panic!("{other:?}"),
        });
        let texts: Vec<_> = bodies.clone().map(|sub| (sub.offset, sub.hex)).collect();
        assert_eq!(
            texts,
            [
                (Offset::Entry { delta: 3, shift: 0 }, "41"),
                (Offset::Anywhere, "4242"),
                (Offset::End { distance: 4, shift: 0 }, "43")
            ]
        );
        for sub in bodies {
            assert!(line[sub.column..].starts_with(sub.hex));
        }
    }

    #[test]
    fn a_body_line() {
        let line = "Test.A:7:10,5:4142{2}43:10:255";
        let Ok(Line::Signature(signature)) = parse_body(line) else { panic!("{line}") };
        assert_eq!((signature.name, signature.target), ("Test.A", 7));
        assert_eq!(signature.body.offset, Offset::Start { first: 10, shift: 5 });
        assert_eq!((signature.body.hex, signature.body.column), ("4142{2}43", 14));
        assert_eq!(parse_body("Test.A:0:*:41:214"), Ok(Line::OtherEngine));
        assert_eq!(parse_body("Test.A:0:*:41:1:100"), Ok(Line::OtherEngine));
        assert!(matches!(parse_logical("Test.A;Engine:1-100,Target:0;0;41"), Ok(Line::OtherEngine)));
    }

    #[test]
    fn semicolons_within_an_expression_part_nothing() {
        let parted: Vec<&str> = fields("A;T/;0&1;41;0/a;\\/;b/i;42").collect();
        assert_eq!(parted, ["A", "T/", "0&1", "41", "0/a;\\/;b/i", "42"]);
    }

    #[test]
    fn faults_say_where() {
        let logical = [
            ("Test.A", None),
            (";Target:0;0;41", Some(1)),
            ("T;Target:0;0", None),
            ("T;Target:0;0&1;41", None),
            ("T;Engine:51-255;0;41", None),
            ("T;Target:15;0;41", Some(3)),
            ("T;Target:0,IconGroup1:X;0;41", None),
            ("T;Target:0,NumberOfSections:1-2;0;41", None),
            ("T;Target:0,Container:CL_TYPE_XYZ;0;41", Some(12)),
            ("T;Target:0;0&;41", Some(14)),
            ("T;Target:0;0&1;41;fuzzy_img#af2ad01ed42993c7", Some(19)),
            ("T;Target:0;0&1;41;0(re/i", Some(23)),
            ("T;Target:0;0&1;41;${6-7}32$", Some(19)),
            ("T;Target:0;0&1;41;42::ix", Some(24)),
            ("T;Target:0;0&1;41;x:42", Some(19)),
        ];
        for (line, column) in logical {
            let fault = parse_logical(line).expect_err(line);
            assert_eq!(fault.column, column, "{line}: {}", fault.reason);
        }
        let body = [
            ("T:0:*", None),
            ("T:0:*:41:x", None),
            (":0:*:41", Some(1)),
            ("T:99:*:41", Some(3)),
            ("T:0:$32:41", Some(5)),
        ];
        for (line, column) in body {
            let fault = parse_body(line).expect_err(line);
            assert_eq!(fault.column, column, "{line}: {}", fault.reason);
        }
    }
}
