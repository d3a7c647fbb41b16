//! What the entries said against what the directory says. Rule: constant memory, whatever the number of entries.
//!
//! Readers that seek believe the directory; this one meets the entries first. Where the two disagree, another reader
//! sees other files than were inspected. A sum of hashes over each side tells, without a list of either.

use super::header::{End, Header};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Both sides so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    local: Side,
    central: Side,
    /// An entry's extent is not known, so that the sums cannot agree.
    pub(super) is_uncertain: bool,
    /// Where this archive begins: offsets are counted from here.
    pub(super) base: u64,
    pub(super) directory_start: Option<u64>,
    pub(super) directory_end: u64,
    pub(super) larger_end: Option<End>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Side {
    entries: u64,
    extents: u64,
    names: u64,
}

/// How the two sides compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    Agree,
    /// The same bytes under other names or sums.
    OtherNames,
    /// Other bytes: what a seeking reader sees was not, or not all, inspected.
    OtherEntries,
}

impl Tally {
    /// For an archive that begins here.
    pub(super) fn new(base: u64) -> Self {
        Self { base, ..Self::default() }
    }

    /// An entry as it was met. Its offset counts from the archive's beginning.
    pub(super) fn local(&mut self, header: &Header, raw_name: &[u8]) {
        self.local.add(header, raw_name);
    }

    /// An entry as the directory has it.
    pub(super) fn central(&mut self, header: &Header, raw_name: &[u8]) {
        self.central.add(header, raw_name);
    }

    /// Compares, at the end of the directory.
    pub(super) fn judge(&self, end: &End) -> Agreement {
        let start = self.directory_start.unwrap_or(self.directory_end);
        let end_agrees = end.entries == self.central.entries
            && end.directory_bytes == self.directory_end.saturating_sub(start)
            && (end.directory_offset == start.saturating_sub(self.base) || self.central.entries == 0);
        let extents_agree = self.local.extents == self.central.extents || self.is_uncertain;
        if !end_agrees || self.local.entries != self.central.entries || !extents_agree {
            Agreement::OtherEntries
        } else if self.local.names != self.central.names && !self.is_uncertain {
            Agreement::OtherNames
        } else {
            Agreement::Agree
        }
    }
}

impl Side {
    fn add(&mut self, header: &Header, raw_name: &[u8]) {
        self.entries += 1;
        let mut hasher = DefaultHasher::new();
        (header.offset, header.compressed, header.method, header.is_encrypted()).hash(&mut hasher);
        self.extents = self.extents.wrapping_add(hasher.finish());
        let mut hasher = DefaultHasher::new();
        (header.offset, header.crc, header.size, header.name_bytes, raw_name).hash(&mut hasher);
        self.names = self.names.wrapping_add(hasher.finish());
    }
}
