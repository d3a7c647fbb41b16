//! What a logical signature says of its file, and of what the file stands in. Rule: a keyword that is not understood
//! makes the signature another one, so it is a fault.

use super::{Fault, Line, is_our_level, offset_in};
use lockgate_model::FileType;
use std::ops::RangeInclusive;

/// How many kinds of targets there are; the kind is the number.
pub(crate) const TARGETS: usize = 15;

/// The target of Windows programs.
pub(crate) const PROGRAM_TARGET: u8 = 1;

/// Whether programs of that target have an entry point and sections that are read.
pub(crate) fn has_layout(target: u8) -> bool {
    matches!(target, PROGRAM_TARGET | 6 | 9)
}

/// What a logical signature says of the file before any byte of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub target: u8,
    pub container: Option<Container>,
    pub ranges: Ranges,
    /// The groups of icons of which a program must have one.
    pub icons: [Option<String>; 2],
    /// The type that its files are then read as: it names none of them bad.
    pub handler: Option<FileType>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// In nothing: it is the root.
    Nothing,
    /// In these, one in the other, the nearest last.
    In(Box<[Layer]>),
}

/// A part around the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Any,
    Is(FileType),
    Office(Office),
}

/// What a zip holds that is an Office document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Office {
    Word,
    Sheet,
    Slides,
}

/// A part that the file stands in, as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    pub file_type: FileType,
    pub office: Option<Office>,
}

/// How many layers a signature may name: the manual's own bound.
const LAYERS_MAX: usize = 16;

impl Office {
    /// What an entry of that name makes of its zip.
    pub fn of_entry(name: &str) -> Option<Self> {
        match name.split_once('/')?.0 {
            "word" => Some(Self::Word),
            "xl" => Some(Self::Sheet),
            "ppt" => Some(Self::Slides),
            _ => None,
        }
    }
}

impl Layer {
    pub fn is(self, around: &Around) -> bool {
        match self {
            Self::Any => true,
            Self::Is(file_type) => around.file_type == file_type && around.office.is_none(),
            Self::Office(office) => around.office == Some(office),
        }
    }
}

impl Container {
    /// Whether a file in these, the nearest last, is in the right place.
    pub fn holds(&self, around: &[Around]) -> bool {
        match self {
            Self::Nothing => around.is_empty(),
            Self::In(layers) => {
                let nearest = around.iter().rev().zip(layers.iter().rev());
                around.len() >= layers.len() && nearest.into_iter().all(|(around, layer)| layer.is(around))
            }
        }
    }
}

pub(crate) fn parse_target(text: &str) -> Result<u8, Fault> {
    text.parse()
        .ok()
        .filter(|target| usize::from(*target) < TARGETS)
        .ok_or_else(|| Fault::at(1, format!("target {text:?}; expected 0 to {}", TARGETS - 1)))
}

pub(crate) fn parse_about(text: &str) -> Result<Line<About>, Fault> {
    let mut about =
        About { target: 0, container: None, ranges: Ranges::default(), icons: [None, None], handler: None };
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
            "Intermediates" => about.container = Some(parse_intermediates(value).map_err(here)?),
            "IconGroup1" => about.icons[0] = Some(value.to_owned()),
            "IconGroup2" => about.icons[1] = Some(value.to_owned()),
            "HandlerType" => about.handler = Some(parse_handler(value).map_err(here)?),
            _ => return Err(here(Fault::new(format!("unknown keyword {key:?} in the target description")))),
        }
    }
    about.target = target.ok_or_else(|| Fault::new("the target description has no Target"))?;
    if !has_layout(about.target) && (about.ranges.entry.is_some() || about.ranges.sections.is_some()) {
        return Err(Fault::new(
            "EntryPoint and NumberOfSections are for the targets 1 (PE), 6 (ELF) and 9 (Mach-O)",
        ));
    }
    if about.target != PROGRAM_TARGET && about.icons.iter().any(Option::is_some) {
        return Err(Fault::new("IconGroup1 and IconGroup2 are for the target 1 (PE)"));
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
    match parse_layer(text)? {
        Layer::Any => Ok(Container::Nothing),
        layer => Ok(Container::In([layer].into())),
    }
}

fn parse_handler(text: &str) -> Result<FileType, Fault> {
    match text {
        // Signatures for pictures are for all of them.
        "CL_TYPE_GRAPHICS" => Ok(FileType::Tiff),
        _ => match parse_layer(text)? {
            Layer::Is(file_type) => Ok(file_type),
            _ => Err(Fault::new(format!("{text} is no type that a file could be read as"))),
        },
    }
}

/// `CL_TYPE_A>CL_TYPE_B`: the outermost first.
fn parse_intermediates(text: &str) -> Result<Container, Fault> {
    let layers = text.split('>').map(parse_layer).collect::<Result<Box<[Layer]>, Fault>>()?;
    if layers.len() > LAYERS_MAX {
        return Err(Fault::new(format!("{} layers; there may be {LAYERS_MAX}", layers.len())));
    }
    Ok(Container::In(layers))
}

pub(crate) fn parse_layer(text: &str) -> Result<Layer, Fault> {
    use FileType as T;
    let file_type = match text.strip_prefix("CL_TYPE_").unwrap_or(text) {
        "ANY" => return Ok(Layer::Any),
        "OOXML_WORD" => return Ok(Layer::Office(Office::Word)),
        "OOXML_XL" => return Ok(Layer::Office(Office::Sheet)),
        "OOXML_PPT" => return Ok(Layer::Office(Office::Slides)),
        "MAIL" => T::Mail,
        "ZIP" | "ZIPSFX" => T::Zip,
        "GZ" => T::Gzip,
        "BZ" => T::Bzip2,
        "XZ" => T::Xz,
        "7Z" | "7ZSFX" => T::SevenZip,
        "RAR" | "RARSFX" => T::Rar,
        "ARJ" | "ARJSFX" => T::Arj,
        "LHA_LZH" => T::Lha,
        "ALZ" => T::Alz,
        "EGG" | "EGGSFX" => T::Egg,
        "MSCAB" | "CABSFX" => T::Cab,
        "MSCHM" => T::Chm,
        "MSSZDD" => T::Szdd,
        "POSIX_TAR" | "OLD_TAR" => T::Tar,
        "CPIO_OLD" | "CPIO_ODC" | "CPIO_NEWC" | "CPIO_CRC" => T::Cpio,
        "ISO9660" => T::Iso9660,
        "XAR" => T::Xar,
        "TNEF" => T::Tnef,
        "MSOLE2" => T::Ole2,
        "MSEXE" => T::Pe,
        "ELF" => T::Elf,
        "MACHO" => T::MachO,
        "PDF" => T::Pdf,
        "PS" => T::PostScript,
        "RTF" => T::Rtf,
        "ONENOTE" => T::OneNote,
        "HTML" | "HTML_UTF16" => T::Html,
        "SWF" => T::Swf,
        "JAVA" => T::JavaClass,
        "LNK" => T::Lnk,
        "SCRIPT" => T::Script,
        "TEXT_ASCII" | "TEXT_UTF8" | "TEXT_UTF16LE" | "TEXT_UTF16BE" => T::Text,
        _ => return Err(Fault::new(format!("no container {text} is opened here yet"))),
    };
    Ok(Layer::Is(file_type))
}

lockgate_stored::stored!(struct Ranges { size, entry, sections });
lockgate_stored::stored!(enum Container { 0 => Nothing, 1 => In(layers) });
lockgate_stored::stored!(enum Layer { 0 => Any, 1 => Is(file_type), 2 => Office(office) });
lockgate_stored::stored!(enum Office { 0 => Word, 1 => Sheet, 2 => Slides });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_file() {
        let around = |file_type| Around { file_type, office: None };
        let word = Around { file_type: FileType::Zip, office: Office::of_entry("word/media/a.png") };
        let (mail, zip) = (around(FileType::Mail), around(FileType::Zip));
        let cases: &[(&str, &[Around], bool)] = &[
            ("Container:CL_TYPE_ANY", &[], true),
            ("Container:CL_TYPE_ANY", &[mail], false),
            ("Container:CL_TYPE_ZIP", &[mail, zip], true),
            ("Container:CL_TYPE_ZIP", &[zip, mail], false),
            ("Container:CL_TYPE_ZIP", &[word], false),
            ("Container:CL_TYPE_OOXML_WORD", &[word], true),
            ("Intermediates:CL_TYPE_MAIL>CL_TYPE_ZIP", &[mail, zip], true),
            ("Intermediates:CL_TYPE_MAIL>CL_TYPE_ANY", &[zip, mail, word], true),
            ("Intermediates:CL_TYPE_MAIL>CL_TYPE_ZIP", &[zip], false),
        ];
        for (text, around, want) in cases {
            let Ok(Line::Signature(about)) = parse_about(&format!("{text},Target:0")) else {
                panic!("{text}")
            };
            assert_eq!(about.container.unwrap().holds(around), *want, "{text} {around:?}");
        }
    }
}
