//! Compiled signatures: [`Database`]. Rule: immutable and compact; text is made only for what is found.

use crate::asks::Ask;
use crate::group::Told;
use crate::hashes::{HashList, Wanted};
use crate::icons::{Groups, Icon};
use crate::late::Late;
use crate::layout::Needs;
use crate::logical::{Decide, Programs};
use crate::needed::Needed;
use crate::ruleset::expression::SUBSIGNATURES_MAX;
use crate::ruleset::logical::MACRO_GROUPS;
use crate::ruleset::metadata::Described;
use crate::ruleset::offset::Offset;
use crate::ruleset::target::{Container, Ranges, TARGETS};
use crate::scanner;
use lockgate_matcher as matcher;
use lockgate_model::{Buffer, BufferSet, Class, Engine, FileType, Flow, FlowState, Hit, PartId};
use std::sync::{Arc, OnceLock};

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
    /// Icons that signatures name by their groups.
    pub(crate) icons: Vec<Icon>,
    /// What expressions cannot match without, once many of them are asked about one part: few parts are so.
    pub(crate) needed: OnceLock<Needed>,
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
    /// The icons of which a program must have one.
    pub icons: Option<Groups>,
    /// The subsignatures that it asks for only once all others have matched.
    pub asked: u64,
    /// The type that a file is then read as, in place of being found.
    pub handler: Option<FileType>,
}

impl Logic {
    /// Whether it is decided by matches alone, whose order does not count, and none undoes it.
    pub fn may_ask(&self, programs: &Programs) -> bool {
        let is_certain = |program| programs.get(program).decide == Decide::AtOnce;
        self.condition.is_none()
            && self.places == 0
            && is_certain(self.program)
            && self.late.iter().all(|late| is_certain(late.trigger))
    }

    /// Whether it may hold once these subsignatures have matched so often, whatever the end decides.
    pub fn may_hold(&self, programs: &Programs, matched: u64, count: &dyn Fn(u8) -> u32) -> bool {
        let mut open = 0;
        let holds = |program, open: u64| {
            let count = |id| if open >> id & 1 == 1 { u32::MAX } else { count(id) };
            programs.holds(programs.get(program), matched | open, &count)
        };
        for late in &self.late {
            open |= u64::from(holds(late.trigger, open)) << late.id;
        }
        holds(self.program, open)
    }
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
    /// They are made for the texts of pages, and are all searched there.
    pub is_of_pages: bool,
    /// For each pattern, where its uses start; one more at the end.
    pub first_uses: Vec<u32>,
    pub uses: Vec<Use>,
    /// The places in a program that the matcher is told, by their numbers.
    pub told: Vec<Told>,
    /// Logical signatures that hold if nothing matches at all.
    pub vacuous: Vec<u32>,
    /// The patterns that are not searched for unless a signature asks for them, by the signature.
    pub asks: Vec<Ask>,
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
        match (&self.in_text, reading) {
            (Some(in_text), reading) if reading != Reading::Plain => Some(&in_text.patterns),
            (None, reading) if reading != Reading::Plain && !self.is_of_pages => None,
            _ => Some(&self.patterns),
        }
    }

    /// Which of all its patterns it is that a lane with this reading has found.
    pub fn original(&self, reading: Reading, pattern: matcher::PatternId) -> matcher::PatternId {
        let in_text = self.in_text.as_ref().filter(|_| reading != Reading::Plain);
        in_text.and_then(|text| text.originals.get(pattern.0 as usize)).copied().unwrap_or(pattern)
    }

    /// What a signature asks for, the rarest first.
    pub fn asks_of(&self, signature: u32) -> &[Ask] {
        let first = self.asks.partition_point(|ask| ask.signature < signature);
        let rest = self.asks.get(first..).unwrap_or_default();
        let count = rest.iter().take_while(|ask| ask.signature == signature).count();
        &rest[..count]
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

    /// Whether any signature is for pages.
    pub(crate) fn has_pages(&self) -> bool {
        self.groups.get(usize::from(PAGES)).is_some_and(Option::is_some)
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

    /// The type that files with this signature are read as, if that is what it is for.
    pub(crate) fn handler(&self, signature: u32) -> Option<FileType> {
        let logic = self.signatures.get(signature as usize)?.logic;
        self.logics.get(logic as usize)?.handler
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
            signature: None,
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
            + self.asks.len() * size_of::<Ask>()
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
    /// As text: lower case, white space folded.
    Folded,
    /// As a page without its comments.
    NoComment,
    /// As the text of a page.
    NoTags,
    /// As the scripts of a page.
    Script,
}

/// The target of pages.
const PAGES: u8 = 3;

/// Whether a group looks at texts that any content may come to, of which few patterns can be found in.
pub(crate) fn reads_text(group: u8) -> bool {
    [FileType::Html, FileType::Text]
        .iter()
        .flat_map(|file_type| targets_of(*file_type))
        .any(|(target, reading)| *target == group && *reading != Reading::Plain && !is_of_pages(group))
}

/// Whether a group looks at the texts of pages alone.
pub(crate) fn is_of_pages(group: u8) -> bool {
    group == PAGES
}

/// Which groups look at a part of this type, besides group 0 at its plain bytes. Numbers are ClamAV's target types.
pub(crate) fn targets_of(file_type: FileType) -> &'static [(u8, Reading)] {
    use FileType as T;
    use Reading::{Folded, NoComment, NoTags, Plain, Script};
    match file_type {
        T::Pe => &[(1, Plain)],
        T::Ole2 => &[(2, Plain)],
        T::Html => &[
            (PAGES, NoComment),
            (0, NoComment),
            (PAGES, NoTags),
            (0, NoTags),
            (PAGES, Script),
            (0, Script),
            (7, Script),
        ],
        T::Mail => &[(4, Plain)],
        T::Gif | T::Png | T::Jpeg | T::Tiff | T::Bmp | T::Icon | T::Webp => &[(5, Plain)],
        T::Elf => &[(6, Plain)],
        T::Text | T::Script => &[(7, Folded), (0, Folded)],
        T::MachO => &[(9, Plain)],
        T::Pdf => &[(10, Plain)],
        T::Swf => &[(11, Plain)],
        T::JavaClass => &[(12, Plain)],
        _ => &[],
    }
}

lockgate_stored::stored!(struct Signature { name_at, name_bytes, file, line, logic });
lockgate_stored::stored!(struct Logic { program, count_max, container, ranges, late, places, condition, icons, asked, handler });
lockgate_stored::stored!(struct Condition { offset, end_slack });
lockgate_stored::stored!(struct InText { patterns, originals });
lockgate_stored::stored!(struct Use { signature, condition, subsignature, lead_bytes });
lockgate_stored::stored!(
    struct Group { patterns, in_text, first_uses, uses, told, vacuous, asks, needs, needs_whole, is_of_pages },
    sound
);

impl Group {
    /// Whether each pattern's uses are there, and subsignatures have numbers that they can have.
    fn is_sound(&self) -> bool {
        self.first_uses.is_sorted()
            && self.first_uses.last().is_none_or(|last| *last as usize <= self.uses.len())
            && self.uses.iter().all(|usage| usize::from(usage.subsignature) < SUBSIGNATURES_MAX)
            && self.asks.iter().all(|ask| usize::from(ask.subsignature) < SUBSIGNATURES_MAX)
            && self.asks.is_sorted_by_key(|ask| ask.signature)
    }
}
