//! Compound files (MS-CFB), as Office, Outlook and Windows Installer write them: [`Ole2`]. Rule: each stream is a child, and what is packed in one is another.
//!
//! Chains may be cut, crossed or run in circles: what can be read of a stream is read, and the rest is told.

mod directory;
mod sectors;

use super::lzfu::CompressedRtf;
use super::outbox::Outbox;
use super::package::{Package, base_name};
use super::parser::Parser;
use super::powerpoint::PowerPoint;
use super::vba::{self, Container, Module, ModuleOffset};
use crate::decoder::{Entry, Event};
use crate::field::{label, u16_le, u32_le};
use crate::held::Whole;
use directory::{Directory, Node, NodeKind};
use lockgate_model::{Grant, Pool, Reason};
use sectors::{Cursor, Sectors};
use std::sync::Arc;

/// How much of a stream is read at once.
const PIECE_BYTES: usize = 4 << 10;
/// How many projects of macros are looked into for where their modules' sources begin, and how much is read of each.
const PROJECTS_MAX: usize = 16;
const PROJECT_BYTES_MAX: usize = 256 << 10;
/// How much of a stream is looked at to see whether it is encrypted.
const HEAD_BYTES: usize = 2048;
/// Streams of a message: its compressed text, an attachment, and the attachment's names, the best first.
const MESSAGE_RTF: &str = "__substg1.0_10090102";
const MESSAGE_DATA: &str = "__substg1.0_37010102";
const MESSAGE_NAMES: [&str; 4] =
    ["__substg1.0_3707001f", "__substg1.0_3707001e", "__substg1.0_3704001f", "__substg1.0_3704001e"];
/// How near in the directory the name is looked for, and how long it may be.
const NEAR_ENTRIES: u32 = 64;
const NAME_BYTES_MAX: usize = 520;
/// What reading costs.
const NANOS_PER_KIB: u32 = 500;

/// A compound file that is there in whole.
pub struct Ole2 {
    grant: Grant,
    out: Outbox,
    loaded: Option<Loaded>,
    work: Work,
    /// Macros: the storage and where each module's source begins.
    modules: Vec<(u32, ModuleOffset)>,
    projects: usize,
    is_encrypted: bool,
}

/// What is known of the file once its tables have been read.
struct Loaded {
    sectors: Sectors,
    directory: Directory,
}

/// What is done next.
enum Work {
    Load,
    /// Looks for projects of macros among the entries, from this one on.
    Projects(u32),
    /// Opens the entry of this number.
    Entry(u32),
    /// Gives the stream as it is, then what is packed in it.
    Stream(u32, Cursor),
    /// Gives what is packed in the stream.
    Packed(u32, Box<Packed>),
    Nothing,
}

/// A stream being unpacked.
struct Packed {
    cursor: Cursor,
    parser: Box<dyn Parser>,
    piece: Vec<u8>,
    used: usize,
}

impl Ole2 {
    /// Tables are drawn from the pool.
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self {
            grant: pool.grant(),
            out: Outbox::default(),
            loaded: None,
            work: Work::Load,
            modules: Vec::new(),
            projects: 0,
            is_encrypted: false,
        }
    }

    fn load(&mut self, whole: &[u8]) {
        let loaded = Sectors::read(whole, &mut self.grant).and_then(|sectors| {
            let directory = Directory::read(&sectors, whole, &mut self.grant)?;
            Ok(Loaded { sectors, directory })
        });
        match loaded {
            Ok(loaded) => {
                if !loaded.sectors.has_whole_directory {
                    self.out.incomplete(Reason::Damaged);
                }
                self.loaded = Some(loaded);
                self.work = Work::Projects(0);
            }
            Err(reason) => {
                self.out.incomplete(reason);
                self.work = Work::Nothing;
            }
        }
    }

    /// Looks at one entry for the `dir` stream of a project of macros.
    fn project(&mut self, whole: &[u8], at: u32) {
        let Some(loaded) = &self.loaded else { return };
        if at >= loaded.directory.len() || self.projects == PROJECTS_MAX {
            self.work = Work::Entry(0);
            return;
        }
        self.work = Work::Projects(at + 1);
        let Some(node) = loaded.stream(whole, at).filter(|node| node.name.eq_ignore_ascii_case("dir")) else {
            return;
        };
        self.projects += 1;
        let mut dir = Vec::new();
        let mut cursor = node.open(&loaded.sectors);
        let (mut container, mut piece) = (Container::default(), [0; PIECE_BYTES]);
        while dir.len() < PROJECT_BYTES_MAX {
            let read = cursor.read(&loaded.sectors, whole, &mut piece);
            let health = container.push(&piece[..read], &mut |bytes| dir.extend_from_slice(bytes));
            if read == 0 || health == vba::Health::Damaged {
                break;
            }
        }
        let parent = loaded.directory.parent(at);
        self.modules.extend(vba::modules(&dir).into_iter().map(|module| (parent, module)));
    }

    /// Opens the stream of that number, unless it is none.
    fn entry(&mut self, whole: &[u8], at: u32) {
        let Some(loaded) = &self.loaded else { return };
        if at >= loaded.directory.len() {
            self.work = Work::Nothing;
            return;
        }
        self.work = Work::Entry(at + 1);
        let Some(node) = loaded.stream(whole, at) else { return };
        let cursor = node.open(&loaded.sectors);
        if !self.is_encrypted && loaded.is_encrypted(whole, &node) {
            self.is_encrypted = true;
            self.out.incomplete(Reason::Encrypted);
        }
        let path = loaded.directory.path(&loaded.sectors, whole, at);
        let name = loaded.attachment_name(whole, at, &node).unwrap_or_else(|| path.clone());
        self.out.open(Entry { name: Some(name), label: path, declared: None });
        self.work = Work::Stream(at, cursor);
    }

    /// Gives a piece of the stream.
    fn stream(&mut self, whole: &[u8], at: u32, mut cursor: Cursor, scratch: &mut [u8]) -> Event {
        let Some(loaded) = &self.loaded else { return Event::End };
        let made = cursor.read(&loaded.sectors, whole, scratch);
        if made > 0 {
            self.work = Work::Stream(at, cursor);
            return Event::Output(made);
        }
        if cursor.left > 0 {
            self.out.broken(Reason::Damaged);
        }
        self.out.close();
        self.work = Work::Entry(at + 1);
        if let Some(node) = loaded.stream(whole, at)
            && let Some(parser) = self.parser(whole, at, &node)
        {
            let cursor = node.open(&loaded.sectors);
            self.work = Work::Packed(at, Box::new(Packed { cursor, parser, piece: Vec::new(), used: 0 }));
        }
        Event::Working
    }

    /// What unpacks a stream of that name.
    fn parser(&self, whole: &[u8], at: u32, node: &Node) -> Option<Box<dyn Parser>> {
        let loaded = self.loaded.as_ref()?;
        let path = || loaded.directory.path(&loaded.sectors, whole, at);
        let name = node.name.to_lowercase();
        if name == "\u{1}ole10native" {
            return Some(Box::new(Prefixed::new(Package::new(path()))));
        }
        if name == "powerpoint document" {
            return Some(Box::new(PowerPoint::new(path())));
        }
        if name == MESSAGE_RTF {
            return Some(Box::new(CompressedRtf::new(format!("{}/rtf", path()))));
        }
        let parent = loaded.directory.parent(at);
        let known = self.modules.iter().find(|(storage, module)| *storage == parent && module.stream == name);
        let storage = loaded.directory.node(&loaded.sectors, whole, parent);
        let is_macros = storage.is_some_and(|storage| storage.name.eq_ignore_ascii_case("VBA"));
        if known.is_none() && (!is_macros || matches!(&name[..], "dir" | "_vba_project")) {
            return None;
        }
        Some(Box::new(Module::new(format!("{}/source", path()), known.map(|(_, module)| module.offset))))
    }

    /// Unpacks a piece of the stream.
    fn packed(&mut self, whole: &[u8], at: u32, mut packed: Box<Packed>) {
        let Some(loaded) = &self.loaded else { return };
        if packed.parser.owes() {
            packed.parser.push(&[], &mut self.out);
        } else if packed.used < packed.piece.len() {
            let used = packed.parser.push(&packed.piece[packed.used..], &mut self.out);
            packed.used += used;
            if used == 0 && self.out.is_empty() {
                // It has what it wanted.
                self.work = Work::Entry(at + 1);
                return;
            }
        } else {
            packed.piece.resize(PIECE_BYTES, 0);
            let read = packed.cursor.read(&loaded.sectors, whole, &mut packed.piece);
            packed.piece.truncate(read);
            packed.used = 0;
            if read == 0 {
                packed.parser.finish(&mut self.out);
                self.out.close();
                self.work = Work::Entry(at + 1);
                return;
            }
        }
        self.work = Work::Packed(at, packed);
    }
}

impl Whole for Ole2 {
    fn next(&mut self, whole: &[u8], scratch: &mut [u8]) -> Event {
        if let Some(event) = self.out.next(scratch) {
            return event;
        }
        match std::mem::replace(&mut self.work, Work::Nothing) {
            Work::Load => self.load(whole),
            Work::Projects(at) => self.project(whole, at),
            Work::Entry(at) => self.entry(whole, at),
            Work::Stream(at, cursor) => return self.stream(whole, at, cursor, scratch),
            Work::Packed(at, packed) => self.packed(whole, at, packed),
            Work::Nothing => {
                self.loaded = None;
                self.grant.clear();
                return Event::End;
            }
        }
        Event::Working
    }

    fn nanos_per_kib(&self) -> u32 {
        match &self.work {
            Work::Packed(_, packed) => packed.parser.nanos_per_kib(),
            _ => NANOS_PER_KIB,
        }
    }

    fn worked_nanos(&self) -> u64 {
        match &self.work {
            // Tables have been read.
            Work::Projects(0) => self.loaded.as_ref().map_or(0, |l| u64::from(l.directory.len()) * 200),
            Work::Packed(..) => u64::from(self.nanos_per_kib()) * (PIECE_BYTES as u64 >> 10),
            _ => 0,
        }
    }
}

impl Loaded {
    /// The stream of that number, unless it is none or empty.
    fn stream(&self, whole: &[u8], at: u32) -> Option<Node> {
        self.directory
            .node(&self.sectors, whole, at)
            .filter(|node| node.kind == NodeKind::Stream && node.length > 0)
    }

    /// The file name of a message's attachment (MS-OXMSG, section 2.2.2), which stands in a stream beside it.
    fn attachment_name(&self, whole: &[u8], at: u32, node: &Node) -> Option<String> {
        if !node.name.eq_ignore_ascii_case(MESSAGE_DATA) {
            return None;
        }
        let near = at.saturating_sub(NEAR_ENTRIES)..at.saturating_add(NEAR_ENTRIES);
        let parent = self.directory.parent(at);
        let beside: Vec<Node> = near
            .filter(|other| self.directory.parent(*other) == parent)
            .filter_map(|other| self.stream(whole, other))
            .filter(|other| MESSAGE_NAMES.contains(&&other.name.to_lowercase()[..]))
            .collect();
        let rank = |node: &&Node| MESSAGE_NAMES.iter().position(|name| node.name.eq_ignore_ascii_case(name));
        let stream = beside.iter().min_by_key(rank)?;
        let mut bytes = [0; NAME_BYTES_MAX];
        let length = stream.open(&self.sectors).read(&self.sectors, whole, &mut bytes);
        let bytes = &bytes[..length];
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16_le(pair, 0)).collect();
        let is_wide = stream.name.ends_with(['f', 'F']);
        let name = if is_wide { String::from_utf16_lossy(&units) } else { base_name(bytes) };
        Some(label(name.trim_end_matches('\0'))).filter(|name| !name.is_empty())
    }

    /// Whether the stream shows that the document is encrypted.
    fn is_encrypted(&self, whole: &[u8], node: &Node) -> bool {
        let mut head = [0; HEAD_BYTES];
        let mut read = || {
            let length = node.open(&self.sectors).read(&self.sectors, whole, &mut head);
            head[..length].to_vec()
        };
        match &node.name.to_lowercase()[..] {
            "encryptedpackage" => true,
            // MS-DOC, section 2.5.2: a bit of the header of the document.
            "worddocument" => u16_le(&read(), 10) & 0x0100 != 0,
            // MS-PPT, section 2.3.2: the header's token.
            "current user" => u32_le(&read(), 12) == 0xf3d1_c4df,
            "workbook" | "book" => has_file_pass(&read()),
            _ => false,
        }
    }
}

/// Whether a record that asks for a password is among the first (MS-XLS, section 2.4.117).
fn has_file_pass(mut records: &[u8]) -> bool {
    const FILE_PASS: u16 = 0x002f;
    const BEGIN_OF_FILE: u16 = 0x0809;
    if u16_le(records, 0) != BEGIN_OF_FILE {
        return false;
    }
    while records.len() >= 4 {
        if u16_le(records, 0) == FILE_PASS {
            return true;
        }
        records = records.get(4 + usize::from(u16_le(records, 2))..).unwrap_or_default();
    }
    false
}

/// A parser's stream behind its size, which says nothing that its end does not.
struct Prefixed<P> {
    parser: P,
    missing: usize,
}

impl<P> Prefixed<P> {
    fn new(parser: P) -> Self {
        Self { parser, missing: 4 }
    }
}

impl<P: Parser> Parser for Prefixed<P> {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let skipped = self.missing.min(input.len());
        self.missing -= skipped;
        if skipped > 0 { skipped } else { self.parser.push(input, out) }
    }

    fn finish(&mut self, out: &mut Outbox) {
        self.parser.finish(out);
    }

    fn nanos_per_kib(&self) -> u32 {
        self.parser.nanos_per_kib()
    }
}

#[cfg(test)]
mod tests;
