//! A help file's head and directory. Rule: each chunk is read once, in the order in which they stand.

use super::slice;
use crate::field::{u32_le, u64_le};
use lockgate_model::{Grant, Reason};

const MAGIC: &[u8] = b"ITSF";
const DIRECTORY: &[u8] = b"ITSP";
const LISTING: &[u8] = b"PMGL";
/// What a head has before its chunks; what a chunk has before its entries.
const DIRECTORY_BYTES: u64 = 0x54;
const LISTING_BYTES: usize = 0x14;
/// What a file takes beside its name.
const FILE_BYTES: u64 = size_of::<File>() as u64;

/// A file: its section, and where it is in there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) section: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// What has been read of the directory.
#[derive(Debug, Default)]
pub(super) struct Directory {
    pub(super) content_at: u64,
    pub(super) files: Vec<File>,
    at: u64,
    end: u64,
    chunk_bytes: u64,
}

impl Directory {
    /// The head: where all is.
    pub(super) fn begin(&mut self, whole: &[u8]) -> Result<(), Reason> {
        if !whole.starts_with(MAGIC) {
            return Err(Reason::Damaged);
        }
        let (version, at, length) = (u32_le(whole, 4), u64_le(whole, 0x48), u64_le(whole, 0x50));
        let behind = at.saturating_add(length);
        self.content_at = if version < 3 { behind } else { u64_le(whole, 0x58) };
        let head = slice(whole, at, DIRECTORY_BYTES).ok_or(Reason::Truncated)?;
        let (head_bytes, chunk_bytes) = (u32_le(head, 8), u32_le(head, 0x10));
        if !head.starts_with(DIRECTORY) || (chunk_bytes as usize) < LISTING_BYTES {
            return Err(Reason::Damaged);
        }
        self.chunk_bytes = chunk_bytes.into();
        self.at = at.saturating_add(head_bytes.into());
        let chunks = u64::from(u32_le(head, 0x2c));
        self.end = self.at.saturating_add(chunks.saturating_mul(self.chunk_bytes));
        if self.end > whole.len() as u64 {
            return Err(Reason::Truncated);
        }
        Ok(())
    }

    /// Reads a chunk; whether that was the last one.
    pub(super) fn chunk(&mut self, whole: &[u8], grant: &mut Grant) -> Result<bool, Reason> {
        if self.at >= self.end {
            return Ok(true);
        }
        let chunk = slice(whole, self.at, self.chunk_bytes).ok_or(Reason::Truncated)?;
        self.at += self.chunk_bytes;
        if !chunk.starts_with(LISTING) {
            return Ok(false);
        }
        let free = u32_le(chunk, 4) as usize;
        let end = chunk.len().checked_sub(free).ok_or(Reason::Damaged)?;
        let mut entries = chunk.get(LISTING_BYTES..end).ok_or(Reason::Damaged)?;
        while !entries.is_empty() {
            let length = number(&mut entries).and_then(|length| usize::try_from(length).ok());
            let (name, rest) =
                length.and_then(|length| entries.split_at_checked(length)).ok_or(Reason::Damaged)?;
            entries = rest;
            let mut next = || number(&mut entries).ok_or(Reason::Damaged);
            let (section, offset, length) = (next()?, next()?, next()?);
            let name = String::from_utf8_lossy(name).into_owned();
            grant.grow(FILE_BYTES + name.len() as u64)?;
            self.files.push(File { name, section, offset, length });
        }
        Ok(false)
    }
}

/// A number in groups of seven bits, the highest first.
fn number(entries: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    loop {
        let (first, rest) = entries.split_first()?;
        *entries = rest;
        if number >> 57 > 0 {
            return None;
        }
        number = number << 7 | u64::from(first & 0x7f);
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
}
