//! Disc images (ISO 9660 or ECMA-119, with Joliet and Rock Ridge). Rule: extents are read as they pass; what has passed before
//! anybody spoke of it is said.
//!
//! Writers put the directories before the files. So an image needs not be held: what directories tell is remembered, in the
//! order in which it stands.

mod record;
#[cfg(test)]
mod tests;

use crate::decoder::{Entry, Event, More, Step};
use crate::field::{label, u16_le, u32_le};
use lockgate_model::{Grant, Pool, Reason};
use record::{Names, Record};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Where the first volume descriptor begins, and how long each is.
pub(super) const FIRST_DESCRIPTOR: u64 = 16 * 2048;
const DESCRIPTOR_BYTES: usize = 2048;
/// How much of the first descriptor tells that it is one: a byte of type, then the identifier.
pub(super) const HEAD_BYTES: usize = 6;
const IDENTIFIER: &[u8] = b"CD001";
/// UDF begins so, and may tell of other files than ISO 9660 does.
const UDF: [&[u8]; 2] = [b"NSR02", b"NSR03"];
/// The descriptors that are looked at.
const DESCRIPTORS_MAX: u32 = 64;
/// Directories that are longer are not held.
const DIRECTORY_BYTES_MAX: u64 = 1 << 20;
const PATH_BYTES_MAX: usize = 1024;
/// Names of one extent that are remembered besides the first.
const NAMES_MAX: usize = 16;
/// What an extent that is awaited costs, besides its names.
const WANTED_BYTES: u64 = 160;

/// Whether a disc's first descriptor begins so.
pub(super) fn is_disc(head: [u8; HEAD_BYTES]) -> bool {
    head[1..] == *IDENTIFIER
}

/// A disc image on its way, from its first descriptor on.
pub(super) struct Disc {
    position: u64,
    state: State,
    /// A descriptor or a directory, as far as it is there.
    gathered: Vec<u8>,
    block_bytes: u64,
    descriptors: u32,
    wanted: BTreeMap<(u64, u64), Wanted>,
    pending: VecDeque<Event>,
    grant: Grant,
    said: Said,
}

/// What has been said, once for all.
#[derive(Default)]
struct Said {
    lost: bool,
    udf: bool,
    refused: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Descriptors,
    /// Up to the next extent.
    Between,
    Directory {
        left: u64,
        wanted: Wanted,
    },
    File {
        left: u64,
    },
    Nothing,
}

/// An extent that a directory has told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    kind: Kind,
    names: Names,
    path: String,
    /// What it is called elsewhere: in another directory, by Joliet, as another name for the same file.
    others: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    File,
    Packed,
    Directory,
}

impl Disc {
    /// Awaits what follows these bytes.
    pub fn new(pool: &Arc<Pool>, head: [u8; HEAD_BYTES]) -> Self {
        Self {
            position: FIRST_DESCRIPTOR + HEAD_BYTES as u64,
            state: State::Descriptors,
            gathered: head.to_vec(),
            block_bytes: 2048,
            descriptors: 0,
            wanted: BTreeMap::new(),
            pending: VecDeque::new(),
            grant: pool.grant(),
            said: Said::default(),
        }
    }

    /// As [`Decoder::step`](crate::Decoder::step).
    pub fn step(&mut self, input: &[u8], more: More) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        if matches!(self.state, State::Nothing) {
            return Step::new(0, Event::End);
        }
        if input.is_empty() && !self.is_between_and_there() {
            return more.or(|| Step::new(0, self.end()));
        }
        let step = match &mut self.state {
            State::Descriptors => self.descriptor(input),
            State::Between => self.between(input),
            State::Directory { .. } => self.directory(input),
            State::File { left } => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= length as u64;
                if *left == 0 {
                    self.state = State::Between;
                    self.pending.push_back(Event::Close);
                }
                Step::new(length, Event::Input(0..length))
            }
            State::Nothing => Step::new(0, Event::End),
        };
        self.position += step.consumed as u64;
        step
    }

    /// Whether the next extent begins or has passed.
    fn is_between_and_there(&self) -> bool {
        let first = self.wanted.first_key_value();
        self.state == State::Between && first.is_some_and(|((at, _), _)| *at <= self.position)
    }

    fn descriptor(&mut self, input: &[u8]) -> Step {
        let taken = input.get(..DESCRIPTOR_BYTES - self.gathered.len()).unwrap_or(input);
        self.gathered.extend_from_slice(taken);
        if self.gathered.len() < DESCRIPTOR_BYTES {
            return Step::new(taken.len(), Event::Working);
        }
        let bytes = std::mem::take(&mut self.gathered);
        self.descriptors += 1;
        let identifier = &bytes[1..6];
        let is_udf = UDF.contains(&identifier);
        if identifier == IDENTIFIER {
            self.volume(&bytes);
        }
        // Behind the last of them UDF may tell of itself.
        let goes_on =
            identifier == IDENTIFIER || matches!(identifier, b"BEA01" | b"TEA01" | b"BOOT2") || is_udf;
        if !goes_on || self.descriptors == DESCRIPTORS_MAX {
            self.state = State::Between;
        }
        let event = if is_udf && !std::mem::replace(&mut self.said.udf, true) {
            Event::Incomplete(Reason::Unsupported)
        } else {
            Event::Working
        };
        Step::new(taken.len(), event)
    }

    /// A volume descriptor (sections 8.4 and 8.5; Joliet by its escape sequences).
    fn volume(&mut self, bytes: &[u8]) {
        let names = match (bytes[0], &bytes[88..91]) {
            (1, _) => Names::Plain,
            (2, b"%/@" | b"%/C" | b"%/E") => Names::Joliet,
            _ => return,
        };
        if bytes[0] == 1 {
            self.block_bytes = u64::from(u16_le(bytes, 128)).max(512);
        }
        if let Some((root, _)) = Record::parse(&bytes[156..190], names) {
            let wanted = Wanted { kind: Kind::Directory, names, ..Wanted::default() };
            self.want(root.begins_at(self.block_bytes), root.size, wanted);
        }
    }

    /// Remembers an extent.
    fn want(&mut self, at: u64, size: u64, wanted: Wanted) {
        if let Some(known) = self.wanted.get_mut(&(at, size)) {
            let is_known = known.path == wanted.path || known.others.contains(&wanted.path);
            let has_room =
                known.others.len() < NAMES_MAX && self.grant.grow(wanted.path.len() as u64).is_ok();
            if known.kind != Kind::Directory && !is_known && has_room {
                known.others.push(wanted.path);
            }
            return;
        }
        if let Err(reason) = self.grant.grow(WANTED_BYTES + 2 * wanted.path.len() as u64) {
            if !std::mem::replace(&mut self.said.refused, true) {
                self.pending.push_back(Event::Incomplete(reason));
            }
            return;
        }
        self.wanted.insert((at, size), wanted);
    }

    /// Passes over what no directory tells of.
    fn between(&mut self, input: &[u8]) -> Step {
        let Some(((at, size), wanted)) = self.wanted.pop_first() else {
            return Step::new(input.len(), Event::Working);
        };
        if at > self.position {
            self.wanted.insert((at, size), wanted);
            let ahead = usize::try_from(at - self.position).unwrap_or(usize::MAX);
            return Step::new(input.len().min(ahead), Event::Working);
        }
        if at < self.position {
            let is_said = std::mem::replace(&mut self.said.lost, true);
            return Step::new(0, if is_said { Event::Working } else { Event::Incomplete(Reason::Held) });
        }
        if wanted.kind == Kind::Directory {
            let left = size.min(DIRECTORY_BYTES_MAX);
            if left == 0 {
                return Step::new(0, Event::Working);
            }
            if left < size || self.grant.grow(left).is_err() {
                return Step::new(0, Event::Incomplete(Reason::Held));
            }
            self.state = State::Directory { left, wanted };
            return Step::new(0, Event::Working);
        }
        self.state = State::File { left: size };
        self.pending.extend(wanted.others.into_iter().map(Event::Name));
        if wanted.kind == Kind::Packed {
            self.pending.push_back(Event::Incomplete(Reason::Unsupported));
        }
        Step::new(0, open(wanted.path))
    }

    fn directory(&mut self, input: &[u8]) -> Step {
        let State::Directory { left, wanted } = &mut self.state else { return Step::new(0, Event::Working) };
        let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
        self.gathered.extend_from_slice(&input[..length]);
        *left -= length as u64;
        if *left == 0 {
            let wanted = std::mem::take(wanted);
            self.state = State::Between;
            let bytes = std::mem::take(&mut self.gathered);
            self.records(&bytes, &wanted);
        }
        Step::new(length, Event::Working)
    }

    /// The records of a directory (section 9.1); none reaches over a sector's end.
    fn records(&mut self, bytes: &[u8], directory: &Wanted) {
        let mut before: Option<(u64, u64, String)> = None;
        for sector in bytes.chunks(2048) {
            let mut rest = sector;
            while let Some((record, after)) = Record::parse(rest, directory.names) {
                rest = after;
                let Some(name) = record.name.as_deref() else { continue };
                let mut path = directory.path.clone();
                if !path.is_empty() {
                    path.push('/');
                }
                path.extend(name.chars().take(PATH_BYTES_MAX.saturating_sub(path.len()) / 4));
                let (mut at, mut size) = (record.begins_at(self.block_bytes), record.size);
                // A file of several extents: they stand one behind the other, or each is a part of its own.
                if let Some((from, length, _)) = before.take().filter(|(.., name)| *name == path) {
                    if from + length == at {
                        (at, size) = (from, length + size);
                    } else {
                        self.file(from, length, &record, directory, path.clone());
                    }
                }
                if record.has_more {
                    before = Some((at, size, path));
                } else {
                    self.file(at, size, &record, directory, path);
                }
            }
        }
        // The extent that should follow is missing.
        if let Some((at, size, path)) = before {
            self.want(at, size, Wanted { path, names: directory.names, ..Wanted::default() });
        }
    }

    fn file(&mut self, at: u64, size: u64, record: &Record, directory: &Wanted, path: String) {
        let kind = match (record.is_directory, record.is_packed) {
            (true, _) => Kind::Directory,
            (false, true) => Kind::Packed,
            (false, false) => Kind::File,
        };
        if size == 0 && kind != Kind::Directory {
            // Joliet tells of the same ones again.
            if directory.names == Names::Plain {
                self.pending.extend([open(path), Event::Close]);
            }
            return;
        }
        if record.is_interleaved {
            self.pending.extend([open(path), Event::Broken(Reason::Unsupported)]);
            return;
        }
        self.want(at, size, Wanted { kind, names: directory.names, path, others: Vec::new() });
    }

    /// The part has ended here.
    fn end(&mut self) -> Event {
        let state = std::mem::replace(&mut self.state, State::Nothing);
        let is_all = state == State::Between && self.wanted.is_empty();
        self.wanted.clear();
        self.grant.clear();
        match state {
            State::File { .. } => Event::Broken(Reason::Truncated),
            _ if is_all => Event::End,
            _ => Event::Incomplete(Reason::Truncated),
        }
    }
}

fn open(path: String) -> Event {
    Event::Open(Box::new(Entry { label: label(&path), name: Some(path), declared: None }))
}

impl Record {
    fn begins_at(&self, block_bytes: u64) -> u64 {
        u64::from(self.block) * block_bytes
    }
}

/// The numbers are there in both byte orders; the little one is read.
fn both(bytes: &[u8], at: usize) -> u32 {
    u32_le(bytes, at)
}
