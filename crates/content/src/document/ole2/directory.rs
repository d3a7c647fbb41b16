//! The directory of a compound file (MS-CFB, section 2.6). Rule: every entry is met, whether the tree leads to it or not.

use super::sectors::{Cursor, Sectors};
use crate::field::{label, u16_le, u32_le, u64_le};
use lockgate_model::{Grant, Reason};

/// The size of an entry.
const ENTRY_BYTES: usize = 128;
/// No entry.
const NONE: u32 = u32::MAX;
/// How many storages a path names.
const PATH_STORAGES_MAX: usize = 16;

/// Where each entry hangs.
#[derive(Default)]
pub(super) struct Directory {
    parents: Vec<u32>,
}

/// What an entry says of a stream or storage.
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) name: String,
    first: u32,
    pub(super) length: u64,
    left: u32,
    right: u32,
    child: u32,
}

/// What an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Nothing,
    Storage,
    Stream,
    Root,
}

impl Directory {
    /// Finds each entry's storage by the tree that the root begins.
    pub(super) fn read(sectors: &Sectors, whole: &[u8], grant: &mut Grant) -> Result<Self, Reason> {
        let count = sectors.directory_bytes() / ENTRY_BYTES;
        // The parents, and at most two more of what is due for each.
        grant.grow(count as u64 * (4 + 2 * 8))?;
        let mut directory = Self { parents: vec![NONE; count] };
        let mut due: Vec<(u32, u32)> = Vec::new();
        if let Some(root) = directory.node(sectors, whole, 0) {
            due.push((root.child, 0));
        }
        while let Some((at, parent)) = due.pop() {
            match directory.parents.get_mut(at as usize) {
                // Only the first way to an entry counts, so that circles end.
                Some(known) if *known == NONE && at != 0 => *known = parent,
                _ => continue,
            }
            let Some(node) = directory.node(sectors, whole, at) else { continue };
            due.extend([(node.left, parent), (node.right, parent)]);
            if node.kind == NodeKind::Storage {
                due.push((node.child, at));
            }
        }
        Ok(directory)
    }

    /// How many entries there are room for.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.parents.len()).unwrap_or(u32::MAX)
    }

    /// The entry of that number.
    pub(super) fn node(&self, sectors: &Sectors, whole: &[u8], at: u32) -> Option<Node> {
        if at as usize >= self.parents.len() {
            return None;
        }
        let bytes = sectors.in_directory(whole, at as usize * ENTRY_BYTES, ENTRY_BYTES)?;
        let kind = match bytes.get(66)? {
            0 => NodeKind::Nothing,
            1 => NodeKind::Storage,
            5 => NodeKind::Root,
            _ => NodeKind::Stream,
        };
        let length = u64_le(bytes, 120);
        Some(Node {
            kind,
            name: name(bytes.get(..64)?, u16_le(bytes, 64)),
            first: u32_le(bytes, 116),
            length: if sectors.has_short_sizes { length & 0xffff_ffff } else { length },
            left: u32_le(bytes, 68),
            right: u32_le(bytes, 72),
            child: u32_le(bytes, 76),
        })
    }

    /// The storage that an entry is in.
    pub(super) fn parent(&self, at: u32) -> u32 {
        self.parents.get(at as usize).copied().unwrap_or(NONE)
    }

    /// The names from the root to that entry.
    pub(super) fn path(&self, sectors: &Sectors, whole: &[u8], at: u32) -> String {
        let mut names = Vec::new();
        let mut next = at;
        while let Some(node) = self.node(sectors, whole, next)
            && next != 0
            && names.len() < PATH_STORAGES_MAX
        {
            names.push(if node.name.is_empty() { "-".to_owned() } else { node.name });
            next = self.parent(next);
        }
        names.reverse();
        label(&names.join("/"))
    }
}

impl Node {
    /// At the beginning of its stream.
    pub(super) fn open(&self, sectors: &Sectors) -> Cursor {
        Cursor::new(sectors, self.first, self.length)
    }
}

/// The name, with Windows Installer's coding undone.
fn name(field: &[u8], length: u16) -> String {
    let units: Vec<u16> = field.chunks_exact(2).map(|pair| u16_le(pair, 0)).collect();
    let stated = usize::from(length / 2).saturating_sub(1).min(units.len());
    let there = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    // A length of nothing hides no name.
    let units = &units[..if stated == 0 { there } else { stated }];
    if units.iter().any(|unit| (0x3800..=0x4840).contains(unit)) {
        return installer_name(units);
    }
    String::from_utf16_lossy(units)
}

/// Windows Installer puts two characters of 64 into one code point, or one; a further one marks tables.
fn installer_name(units: &[u16]) -> String {
    const ALPHABET: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._";
    let letter = |value: u16| char::from(ALPHABET[usize::from(value & 63)]);
    let mut name = String::new();
    for unit in units {
        match unit {
            0x3800..0x4800 => {
                let pair = unit - 0x3800;
                name.push(letter(pair));
                name.push(letter(pair >> 6));
            }
            0x4800..0x4840 => name.push(letter(unit - 0x4800)),
            0x4840 => name.push('!'),
            _ => name.push(char::from_u32((*unit).into()).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installer_names() {
        let units = [0x4840, 0x3800 + (10 | 11 << 6), 0x4800 + 36];
        assert_eq!(installer_name(&units), "!ABa");
        let mut field = [0; 64];
        field[..4].copy_from_slice(b"a\0b\0");
        assert_eq!(name(&field, 6), "ab");
        assert_eq!(name(&field, 0), "ab", "its length is not told");
        assert_eq!(name(&field, 999).len(), 32, "and here it is too long");
    }
}
