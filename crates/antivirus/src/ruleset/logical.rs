//! `.ndb` and `.ldb` lines. Rule: a signature is understood in whole or not at all: half of a condition is another one.

use super::body::Modifiers;
use super::expression::{self, Expression};
use super::offset::{self, Offset};
use super::{Fault, Line, is_our_level, offset_in, optional_number};
use lockgate_model::FileType;
use std::ops::RangeInclusive;

/// How many kinds of targets there are; the kind is the number.
pub(crate) const TARGETS: usize = 15;

/// The target whose entry point and sections are read.
pub(crate) const PROGRAM_TARGET: u8 = 1;

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
}

/// One line of an `.ldb` database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogicalSignature<'a> {
    pub name: &'a str,
    pub about: About,
    pub expression: Expression,
    pub subsignatures: Vec<Body<'a>>,
}

/// What a logical signature says of the file before any byte of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub target: u8,
    pub container: Option<Container>,
    pub ranges: Ranges,
}

/// What a logical signature asks of the file as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub size: Option<RangeInclusive<u64>>,
    /// Where a program's entry point lies in the file.
    pub entry: Option<RangeInclusive<u64>>,
    /// How many sections a program has.
    pub sections: Option<RangeInclusive<u64>>,
}

/// What a file must be found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// In nothing: it is the root.
    Nothing,
    In(FileType),
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
    let offset = offset::parse(place)
        .map_err(|fault| Fault { column: Some(offset_in(line, place) + 1), reason: fault.reason })?;
    let body = Body { offset, hex, modifiers: Modifiers::NONE, column: offset_in(line, hex) };
    Ok(Line::Signature(BodySignature { name, target, body }))
}

pub(crate) fn parse_logical(line: &str) -> Result<Line<LogicalSignature<'_>>, Fault> {
    let mut fields = line.split(';');
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
        .map(|text| {
            let column = offset_in(line, text);
            parse_subsignature(text, column).map_err(|fault| fault.moved(column))
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    Ok(Line::Signature(LogicalSignature { name, about, expression, subsignatures }))
}

fn parse_target(text: &str) -> Result<u8, Fault> {
    text.parse()
        .ok()
        .filter(|target| usize::from(*target) < TARGETS)
        .ok_or_else(|| Fault::at(1, format!("target {text:?}; expected 0 to {}", TARGETS - 1)))
}

fn parse_about(text: &str) -> Result<Line<About>, Fault> {
    let mut about = About { target: 0, container: None, ranges: Ranges::default() };
    let mut target = None;
    for (index, pair) in text.split(',').enumerate() {
        let at = offset_in(text, pair);
        let here = |fault: Fault| Fault { column: Some(at + 1), reason: fault.reason };
        let Some((key, value)) = pair.split_once(':') else {
            return Err(here(Fault::new(format!(
                "{pair:?} in the target description; expected keyword:value"
            ))));
        };
        match key {
            "Engine" if index == 0 => {
                let levels = parse_range(value).map_err(here)?;
                let level = |level: u64| u32::try_from(level).unwrap_or(u32::MAX);
                if !is_our_level(Some(level(*levels.start())), Some(level(*levels.end()))) {
                    return Ok(Line::OtherEngine);
                }
            }
            "Engine" => return Err(here(Fault::new("Engine must be the first keyword"))),
            "Target" => target = Some(parse_target(value).map_err(here)?),
            "FileSize" => about.ranges.size = Some(parse_range(value).map_err(here)?),
            "EntryPoint" => about.ranges.entry = Some(parse_range(value).map_err(here)?),
            "NumberOfSections" => about.ranges.sections = Some(parse_range(value).map_err(here)?),
            "Container" => about.container = Some(parse_container(value).map_err(here)?),
            "IconGroup1" | "IconGroup2" => {
                return Err(here(Fault::new(format!("{key} compares icons, not understood yet"))));
            }
            "Intermediates" | "HandlerType" => {
                return Err(here(Fault::new(format!("{key} is not understood yet"))));
            }
            _ => return Err(here(Fault::new(format!("unknown keyword {key:?} in the target description")))),
        }
    }
    about.target = target.ok_or_else(|| Fault::new("the target description has no Target"))?;
    if about.target != PROGRAM_TARGET && (about.ranges.entry.is_some() || about.ranges.sections.is_some()) {
        return Err(Fault::new(
            "EntryPoint and NumberOfSections are understood for target 1 (PE) only so far",
        ));
    }
    Ok(Line::Signature(about))
}

fn parse_range(text: &str) -> Result<RangeInclusive<u64>, Fault> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) => Ok(first..=last),
        _ => Err(Fault::new(format!("{text:?} is no range; expected least-most"))),
    }
}

fn parse_container(text: &str) -> Result<Container, Fault> {
    let file_type = match text.strip_prefix("CL_TYPE_").unwrap_or(text) {
        "ANY" => return Ok(Container::Nothing),
        "MAIL" => FileType::Mail,
        "ZIP" => FileType::Zip,
        "GZ" => FileType::Gzip,
        "BZ" => FileType::Bzip2,
        "XZ" => FileType::Xz,
        "7Z" => FileType::SevenZip,
        "RAR" => FileType::Rar,
        "ARJ" => FileType::Arj,
        "MSCAB" => FileType::Cab,
        "MSCHM" => FileType::Chm,
        "POSIX_TAR" | "OLD_TAR" => FileType::Tar,
        "ISO9660" => FileType::Iso9660,
        "TNEF" => FileType::Tnef,
        "MSOLE2" => FileType::Ole2,
        "MSEXE" => FileType::Pe,
        "PDF" => FileType::Pdf,
        "RTF" => FileType::Rtf,
        "HTML" => FileType::Html,
        "SWF" => FileType::Swf,
        _ => return Err(Fault::new(format!("container {text} is not recognised yet"))),
    };
    Ok(Container::In(file_type))
}

/// `[offset:]hexadecimal text[::modifiers]`; `line_column` is where the text starts in its line.
fn parse_subsignature(text: &str, line_column: usize) -> Result<Body<'_>, Fault> {
    if text.is_empty() {
        return Err(Fault::at(1, "the subsignature is empty"));
    }
    if text.contains('/') {
        return Err(Fault::at(1, "regular expression (PCRE) subsignature, not understood yet"));
    }
    if text.starts_with("fuzzy_img#") {
        return Err(Fault::at(1, "fuzzy image subsignature, not understood yet"));
    }
    if text.starts_with('$') {
        return Err(Fault::at(1, "macro subsignature, not understood yet"));
    }
    if text.contains('#') {
        return Err(Fault::at(1, "byte compare subsignature, not understood yet"));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logical_line() {
        let line = "Test.A;Engine:51-255,FileSize:10-20,Container:CL_TYPE_ZIP,Target:1;(0|1)&2;EP+3:41;4242::iw;EOF-4:43";
        let Ok(Line::Signature(signature)) = parse_logical(line) else { panic!("{line}") };
        assert_eq!(signature.name, "Test.A");
        assert_eq!(
            signature.about,
            About {
                target: 1,
                container: Some(Container::In(FileType::Zip)),
                ranges: Ranges { size: Some(10..=20), ..Ranges::default() },
            }
        );
        let texts: Vec<_> = signature.subsignatures.iter().map(|sub| (sub.offset, sub.hex)).collect();
        assert_eq!(
            texts,
            [
                (Offset::Entry { delta: 3, shift: 0 }, "41"),
                (Offset::Anywhere, "4242"),
                (Offset::End { distance: 4, shift: 0 }, "43")
            ]
        );
        for sub in &signature.subsignatures {
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
        assert_eq!(parse_logical("Test.A;Engine:1-100,Target:0;0;41"), Ok(Line::OtherEngine));
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
            ("T;Target:0,IconGroup1:X;0;41", Some(12)),
            ("T;Target:0,NumberOfSections:1-2;0;41", None),
            ("T;Target:0,Container:CL_TYPE_XYZ;0;41", Some(12)),
            ("T;Target:0;0&;41", Some(14)),
            ("T;Target:0;0&1;41;0/re/i", Some(19)),
            ("T;Target:0;0&1;41;fuzzy_img#af2ad01ed42993c7", Some(19)),
            ("T;Target:0;0&1;41;${6-7}12$", Some(19)),
            ("T;Target:0;0&1;41;0(>>26#ib2#>512)", Some(19)),
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
            ("T:0:VI:41", Some(5)),
        ];
        for (line, column) in body {
            let fault = parse_body(line).expect_err(line);
            assert_eq!(fault.column, column, "{line}: {}", fault.reason);
        }
    }
}
