//! Where the strings of a program's version information stand. Rule: so many of them are read at most.
//!
//! The format is that of the structure VS_VERSIONINFO.

use super::resources::resources;
use super::{Program, little};

/// The type of a resource that has version information.
const VERSION: u64 = 16;
/// How many strings are read.
const STRINGS_MAX: usize = 1024;

/// The file's offsets of the names of all strings, sorted.
pub(super) fn strings(program: &Program, whole: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    for resource in resources(program, whole, VERSION, None) {
        information(whole, resource.at, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A block: its length, that of its value, and where what stands behind its name begins.
struct Block {
    end: u64,
    value_bytes: u64,
    inside: u64,
}

fn block(whole: &[u8], at: u64, limit: u64) -> Option<Block> {
    let length = little::<2>(whole, at).filter(|length| *length > 6)?;
    let value_bytes = little::<2>(whole, at + 2)?;
    let end = at.saturating_add(length).min(limit);
    let mut inside = at + 6;
    while little::<2>(whole, inside)? != 0 {
        inside += 2;
        if inside >= end {
            return None;
        }
    }
    Some(Block { end, value_bytes, inside: inside + 2 })
}

/// All blocks begin at a multiple of four, counted from the first.
fn aligned(at: u64, first: u64) -> u64 {
    first + (at - first).next_multiple_of(4)
}

fn information(whole: &[u8], first: u64, found: &mut Vec<u64>) {
    let Some(top) = block(whole, first, whole.len() as u64) else { return };
    let mut at = aligned(aligned(top.inside, first) + top.value_bytes, first);
    // StringFileInfo, its tables, their strings.
    while let Some(info) = block(whole, at, top.end).filter(|_| at < top.end) {
        let mut table_at = aligned(info.inside, first);
        while let Some(table) = block(whole, table_at, info.end).filter(|_| table_at < info.end) {
            let mut string_at = aligned(table.inside, first);
            while let Some(string) = block(whole, string_at, table.end).filter(|_| string_at < table.end) {
                if found.len() >= STRINGS_MAX {
                    return;
                }
                found.push(string_at + 6);
                string_at = aligned(string.end, first);
            }
            table_at = aligned(table.end, first);
        }
        at = aligned(info.end, first);
    }
}
