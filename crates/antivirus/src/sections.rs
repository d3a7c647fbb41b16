//! Digests of a program's sections, computed as the file streams. Rule: a section that no list names by its size is not
//! hashed, and a byte is in few that are.

use crate::hashes::{Digests, HashList, Hashing};
use crate::layout::{Bits, Program};

/// How many different sections that are hashed a byte may lie in. Programs as they are made have none that overlap.
const OVERLAP_MAX: usize = 8;

/// The sections of one program.
pub(crate) struct Sections {
    open: Vec<Open>,
    /// How many bytes of the file have come.
    offset: u64,
    done: Vec<(Digests, u64)>,
    /// Whether some section was left out.
    pub is_short: bool,
}

struct Open {
    at: u64,
    bytes: u64,
    got: u64,
    hashing: Box<Hashing>,
}

impl Sections {
    /// `None` where no section may be listed.
    pub fn start(program: &Program, list: &HashList) -> Option<Self> {
        // As ClamAV, which leaves programs of 64 bits before it comes to their sections.
        if program.windows?.bits == Bits::B64 || list.is_empty() {
            return None;
        }
        let mut sections = Self { open: Vec::new(), offset: 0, done: Vec::new(), is_short: false };
        for section in program.sections.iter().filter(|section| section.bytes > 0) {
            let overlaps = |other: &&Open| {
                other.at < section.at.saturating_add(section.bytes) && section.at < other.at + other.bytes
            };
            if sections.open.iter().any(|other| (other.at, other.bytes) == (section.at, section.bytes)) {
                continue;
            }
            let Some(hashing) = Hashing::start(list.wanted_for(section.bytes)) else { continue };
            if sections.open.iter().filter(overlaps).count() >= OVERLAP_MAX {
                sections.is_short = true;
                continue;
            }
            sections.open.push(Open { at: section.at, bytes: section.bytes, got: 0, hashing });
        }
        (!sections.open.is_empty() || sections.is_short).then_some(sections)
    }

    /// The next bytes of the file.
    pub fn push(&mut self, chunk: &[u8]) {
        let (from, to) = (self.offset, self.offset.saturating_add(chunk.len() as u64));
        self.offset = to;
        let done = &mut self.done;
        self.open.retain_mut(|section| {
            let end = section.at.saturating_add(section.bytes);
            let (first, last) = (section.at.max(from), end.min(to));
            if first < last
                && let Some(bytes) = chunk.get((first - from) as usize..(last - from) as usize)
            {
                section.got += bytes.len() as u64;
                section.hashing.push(bytes, section.got);
            }
            if to < end {
                return true;
            }
            done.push((section.hashing.finish_by_ref(), section.got));
            false
        });
    }

    /// The file has ended: a section ends with it. Tells the signature of each that is listed.
    pub fn finish(mut self, list: &HashList, found: &mut dyn FnMut(u32)) {
        let cut = self.open.iter_mut().filter(|section| section.got > 0);
        self.done.extend(cut.map(|section| (section.hashing.finish_by_ref(), section.got)));
        for (digests, bytes) in &self.done {
            list.find(digests, *bytes, found);
        }
    }
}
