//! Compiled signatures: [`Database`]. Rule: immutable and compact; text is made only for what is found.

use crate::group::Told;
use crate::hashes::{HashList, Wanted};
use crate::late::Late;
use crate::layout::Needs;
use crate::logical::Programs;
use crate::ruleset::logical::MACRO_GROUPS;
use crate::ruleset::metadata::Described;
use crate::ruleset::offset::Offset;
use crate::ruleset::target::{Container, Ranges, TARGETS};
use crate::scanner;
use lockgate_matcher as matcher;
use lockgate_model::{Buffer, BufferSet, Class, Engine, FileType, Flow, FlowState, Hit, PartId};
use std::sync::Arc;

/// All signatures, ready to scan with.
pub struct Database {
    /// Patterns by target; the number is ClamAV's.
    pub(crate) groups: [Option<Group>; TARGETS],
    pub(crate) signatures: Vec<Signature>,
    /// The names of all signatures, one behind the other.
    pub(crate) names: String,
    pub(crate) files: Vec<Arc<str>>,
    pub(crate) logics: Vec<Logic>,
    pub(crate) programs: Programs,
    pub(crate) conditions: Vec<Condition>,
    /// Files that are found by their digests.
    pub(crate) listed: HashList,
    /// Files that are in order whatever is found in them.
    pub(crate) allowed: HashList,
    /// Programs that are found by the digest of a section, or of their import table.
    pub(crate) sections: HashList,
    pub(crate) imports: HashList,
    pub(crate) wanted: Wanted,
    /// Files that are found by what their container says of them, and the signature of each.
    pub(crate) described: Vec<(Described, u32)>,
}

/// Where a signature stands, and what kind it is.
pub(crate) struct Signature {
    pub name_at: u32,
    pub name_bytes: u16,
    pub file: u16,
    pub line: u32,
    /// An index into [`Database::logics`], or [`PLAIN`], or a group of macros.
    pub logic: u32,
}

/// The mark of a signature that is found as soon as it matches.
pub(crate) const PLAIN: u32 = u32::MAX;

/// From here on up to [`PLAIN`] the mark is that of a group of macros.
pub(crate) const FIRST_MACRO: u32 = PLAIN - MACRO_GROUPS as u32;

/// What a logical signature asks besides its matches.
pub(crate) struct Logic {
    pub program: u32,
    /// Counting a subsignature's matches beyond this changes nothing; 0: whether there is one is all that matters.
    pub count_max: u32,
    /// Few signatures ask for these.
    pub container: Option<Box<Container>>,
    pub ranges: Option<Box<Ranges>>,
    /// The subsignatures that the end decides, in their order.
    pub late: Box<[Late]>,
    /// The subsignatures whose places are remembered, a bit for each.
    pub places: u64,
    /// What a YARA rule asks, in place of the program.
    pub condition: Option<Box<crate::yara::Condition>>,
}

/// What a match must meet besides what the matcher looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Condition {
    /// The body's offset, if it is relative to something that is not known at the start.
    pub offset: Option<Offset>,
    /// The match ends so near to the end of the file.
    pub end_slack: Option<u8>,
}

/// The patterns of one target.
pub(crate) struct Group {
    pub patterns: matcher::Database,
    /// Those of them that normalised text can have, if there is any: most signatures name bytes that it never has.
    pub in_text: Option<InText>,
    /// For each pattern, where its uses start; one more at the end.
    pub first_uses: Vec<u32>,
    pub uses: Vec<Use>,
    /// The places in a program that the matcher is told, by their numbers.
    pub told: Vec<Told>,
    /// Logical signatures that hold if nothing matches at all.
    pub vacuous: Vec<u32>,
    /// What some offset needs of a program.
    pub needs: Needs,
    /// Whether some signature looks at the whole of a part when it has ended.
    pub needs_whole: bool,
}

/// Patterns that normalised text can have.
pub(crate) struct InText {
    pub patterns: matcher::Database,
    /// Which of all the group's patterns each of them is.
    pub originals: Vec<matcher::PatternId>,
}

/// What a pattern's match means to one signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub signature: u32,
    /// An index into [`Database::conditions`] plus 1, or 0.
    pub condition: u32,
    pub subsignature: u8,
    /// Bytes of the pattern before the body.
    pub lead_bytes: u8,
}

impl Group {
    /// The patterns that a lane with this reading searches for.
    pub fn read_as(&self, reading: Reading) -> Option<&matcher::Database> {
        match reading {
            Reading::Plain => Some(&self.patterns),
            Reading::Normalised => Some(&self.in_text.as_ref()?.patterns),
        }
    }

    /// Which of all its patterns it is that a lane with this reading has found.
    pub fn original(&self, reading: Reading, pattern: matcher::PatternId) -> matcher::PatternId {
        let in_text = self.in_text.as_ref().filter(|_| reading == Reading::Normalised);
        in_text.and_then(|text| text.originals.get(pattern.0 as usize)).copied().unwrap_or(pattern)
    }

    pub fn uses_of(&self, pattern: matcher::PatternId) -> &[Use] {
        let at = pattern.0 as usize;
        match (self.first_uses.get(at), self.first_uses.get(at + 1)) {
            (Some(first), Some(last)) => &self.uses[*first as usize..*last as usize],
            _ => &[],
        }
    }
}

impl Database {
    /// Which digests some entry of a list could be, of a file of so many bytes.
    pub(crate) fn wanted_for(&self, bytes: u64) -> Wanted {
        self.listed.wanted_for(bytes).or(self.allowed.wanted_for(bytes))
    }

    /// How many signatures it holds.
    pub fn signatures(&self) -> usize {
        self.signatures.len()
    }

    /// Bytes on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        let groups: usize = self.groups.iter().flatten().map(Group::heap_bytes).sum();
        groups
            + self.names.len()
            + self.signatures.len() * size_of::<Signature>()
            + self.logics.len() * size_of::<Logic>()
            + self.listed.heap_bytes()
            + self.allowed.heap_bytes()
            + self.sections.heap_bytes()
            + self.imports.heap_bytes()
    }

    /// Which matching strategies were chosen, by target.
    pub fn strategies(&self) -> Vec<(usize, String)> {
        let groups = self.groups.iter().enumerate();
        groups
            .filter_map(|(target, group)| {
                Some((target, format!("{:?}", group.as_ref()?.patterns.strategies())))
            })
            .collect()
    }

    pub(crate) fn name(&self, signature: u32) -> &str {
        let Some(signature) = self.signatures.get(signature as usize) else { return "" };
        let at = signature.name_at as usize;
        self.names.get(at..at + usize::from(signature.name_bytes)).unwrap_or_default()
    }

    pub(crate) fn class(&self, signature: u32) -> Class {
        if self.name(signature).starts_with("PUA.") { Class::Pua } else { Class::Virus }
    }

    pub(crate) fn hit(&self, signature: u32, part: PartId, offset: Option<u64>) -> Hit {
        let rule = self.signatures.get(signature as usize).map_or_else(String::new, |signature| {
            let file = self.files.get(usize::from(signature.file)).map_or("", |file| file);
            format!("{file}:{}", signature.line)
        });
        Hit {
            class: self.class(signature),
            rule: rule.into(),
            name: self.name(signature).into(),
            part,
            buffer: Buffer::FileData,
            offset,
        }
    }
}

impl InText {
    fn heap_bytes(&self) -> usize {
        self.patterns.heap_bytes() + self.originals.len() * size_of::<matcher::PatternId>()
    }
}

impl Group {
    fn heap_bytes(&self) -> usize {
        self.patterns.heap_bytes()
            + self.in_text.as_ref().map_or(0, InText::heap_bytes)
            + self.first_uses.len() * 4
            + self.uses.len() * size_of::<Use>()
    }
}

impl lockgate_model::Database for Database {
    fn engine(&self) -> Engine {
        Engine::Antivirus
    }

    fn wants(&self) -> BufferSet {
        BufferSet::EMPTY.with(Buffer::FileData)
    }

    fn open_flow(self: Arc<Self>, _flow: &Flow) -> Box<dyn FlowState> {
        Box::new(scanner::Connection::new(self))
    }
}

/// How a group of signatures looks at a part's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As they are.
    Plain,
    /// As normalised text.
    Normalised,
}

/// Whether a group ever looks at normalised text.
pub(crate) fn reads_text(group: u8) -> bool {
    [FileType::Html, FileType::Text]
        .iter()
        .any(|file_type| targets_of(*file_type).contains(&(group, Reading::Normalised)))
}

/// Which groups look at a part of this type, besides group 0 at its plain bytes. Numbers are ClamAV's target types.
pub(crate) fn targets_of(file_type: FileType) -> &'static [(u8, Reading)] {
    use FileType as T;
    match file_type {
        T::Pe => &[(1, Reading::Plain)],
        T::Ole2 => &[(2, Reading::Plain)],
        T::Html => &[(3, Reading::Plain), (3, Reading::Normalised), (0, Reading::Normalised)],
        T::Mail => &[(4, Reading::Plain)],
        T::Gif | T::Png | T::Jpeg | T::Tiff | T::Bmp | T::Icon | T::Webp => &[(5, Reading::Plain)],
        T::Elf => &[(6, Reading::Plain)],
        T::Text | T::Script => &[(7, Reading::Normalised), (0, Reading::Normalised)],
        T::MachO => &[(9, Reading::Plain)],
        T::Pdf => &[(10, Reading::Plain)],
        T::Swf => &[(11, Reading::Plain)],
        T::JavaClass => &[(12, Reading::Plain)],
        _ => &[],
    }
}
