//! Where the strings of a program's version information stand. Rule: each list of the resources is read once, within a bound.
//!
//! The formats are those of "PE Format", section ".rsrc", and of the structure VS_VERSIONINFO.

use super::{Program, little};

/// The type of a resource that has version information.
const VERSION: u64 = 16;
/// How many entries of a list are read, and how many resources and strings.
const ENTRIES_MAX: u64 = 256;
const STRINGS_MAX: usize = 1024;

/// The file's offsets of the names of all strings, sorted.
pub(super) fn strings(program: &Program, whole: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    let Some(windows) = program.windows.filter(|windows| windows.resources != 0) else { return found };
    let Some(root) = program.offset_of(windows.resources) else { return found };
    let mut waiting = vec![(root, 0_u8)];
    let mut read = 0;
    while let Some((list, level)) = waiting.pop() {
        read += 1;
        if read > ENTRIES_MAX {
            break;
        }
        let named = little::<2>(whole, list + 12).unwrap_or(0);
        let count = named + little::<2>(whole, list + 14).unwrap_or(0);
        for entry in (0..count.min(ENTRIES_MAX)).map(|entry| list + 16 + entry * 8) {
            let (Some(id), Some(to)) = (little::<4>(whole, entry), little::<4>(whole, entry + 4)) else {
                break;
            };
            if level == 0 && id != VERSION {
                continue;
            }
            let below = root + (to & 0x7fff_ffff);
            match (to >> 31, level) {
                (1, 0 | 1) => waiting.push((below, level + 1)),
                (0, 2) => {
                    let data = little::<4>(whole, below).and_then(|address| program.offset_of(address));
                    if let Some(at) = data {
                        information(whole, at, &mut found);
                    }
                }
                _ => {}
            }
        }
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
