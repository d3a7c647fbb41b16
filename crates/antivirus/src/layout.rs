//! Where a Windows program starts and where its sections lie. Rule: read from a held prefix, bounded, never trusted.
//!
//! The format is Microsoft's "PE Format"; addresses are rounded as ClamAV rounds them, since signatures are made so.

use crate::ruleset::offset::{Offset, Section};
use std::ops::RangeInclusive;

/// How much of a program is held to find its headers.
const PREFIX_BYTES_MAX: usize = 16 << 10;
/// As many sections as Windows loads.
const SECTIONS_MAX: usize = 96;

/// What is known of a part's layout.
pub(crate) enum Layout {
    /// No signature asks for it.
    NotNeeded,
    /// The headers are not there yet; what has come so far.
    Gathering(Vec<u8>),
    Known(Box<Program>),
    /// This is no program, or none that can be read.
    Unreadable,
}

/// The layout of a program in the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    entry: Option<u64>,
    /// Where each section's data starts, and how many bytes it has.
    sections: Vec<(u64, u64)>,
}

impl Layout {
    /// Takes the next bytes of the file until the layout is decided.
    pub fn push(&mut self, chunk: &[u8]) {
        let Self::Gathering(held) = self else { return };
        // Nearly always the first chunk has all of it, and nothing need be copied.
        let read = if held.is_empty() {
            read(chunk)
        } else {
            let room = PREFIX_BYTES_MAX.saturating_sub(held.len());
            held.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
            read(held)
        };
        match read {
            Ok(program) => *self = Self::Known(Box::new(program)),
            Err(Unread::Foreign) => *self = Self::Unreadable,
            Err(Unread::Short(needed)) if needed > PREFIX_BYTES_MAX => *self = Self::Unreadable,
            Err(Unread::Short(_)) => {
                if held.is_empty() {
                    held.extend_from_slice(chunk.get(..PREFIX_BYTES_MAX).unwrap_or(chunk));
                }
            }
        }
    }

    /// Whether the layout is still to be found out.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Gathering(_))
    }

    /// Where the entry point lies in the file.
    pub fn entry(&self) -> Option<u64> {
        match self {
            Self::Known(program) => program.entry,
            _ => None,
        }
    }

    /// How many sections there are.
    pub fn sections(&self) -> Option<u64> {
        match self {
            Self::Known(program) => Some(program.sections.len() as u64),
            _ => None,
        }
    }

    /// Where a body with this offset may start; `None` where it cannot match at all.
    pub fn place(&self, offset: Offset) -> Option<RangeInclusive<u64>> {
        let Self::Known(program) = self else { return None };
        match offset {
            Offset::Entry { delta, shift } => {
                let first = program.entry?.checked_add_signed(delta)?;
                Some(first..=first.saturating_add(shift))
            }
            Offset::Section { section, delta, shift } => {
                let (at, _) = match section {
                    Section::Number(number) => program.sections.get(usize::from(number)),
                    Section::Last => program.sections.last(),
                }?;
                let first = at.saturating_add(delta);
                Some(first..=first.saturating_add(shift))
            }
            Offset::WithinSection { section } => {
                let (at, bytes) = program.sections.get(usize::from(section))?;
                Some(*at..=at.saturating_add(*bytes))
            }
            Offset::Anywhere | Offset::Start { .. } | Offset::End { .. } => None,
        }
    }
}

/// Why nothing was read.
#[derive(Debug, PartialEq, Eq)]
enum Unread {
    /// So many bytes are needed.
    Short(usize),
    Foreign,
}

fn read(bytes: &[u8]) -> Result<Program, Unread> {
    if take(bytes, 0)? != *b"MZ" {
        return Err(Unread::Foreign);
    }
    let header = u32::from_le_bytes(take(bytes, 0x3c)?) as usize;
    if header > PREFIX_BYTES_MAX || take(bytes, header)? != *b"PE\0\0" {
        return Err(Unread::Foreign);
    }
    let sections = usize::from(u16::from_le_bytes(take(bytes, header + 6)?));
    if sections == 0 || sections > SECTIONS_MAX {
        return Err(Unread::Foreign);
    }
    let optional_bytes = usize::from(u16::from_le_bytes(take(bytes, header + 20)?));
    let optional = header + 24;
    let entry_rva = u32::from_le_bytes(take(bytes, optional + 16)?);
    let section_alignment = u32::from_le_bytes(take(bytes, optional + 32)?);
    let mut file_alignment = u32::from_le_bytes(take(bytes, optional + 36)?);
    let headers_bytes = u32::from_le_bytes(take(bytes, optional + 60)?);
    let first = optional + optional_bytes;
    take::<1>(bytes, first + sections * 40 - 1)?;
    let mut raw = Vec::with_capacity(sections);
    for at in (first..).step_by(40).take(sections) {
        let field = |offset: usize| Ok(u32::from_le_bytes(take(bytes, at + offset)?));
        raw.push((field(12)?, field(16)?, field(20)?));
    }
    if file_alignment != 0x200
        && raw.iter().any(|(_, size, at)| *size != 0 && at % file_alignment.max(1) != 0 && at % 0x200 == 0)
    {
        file_alignment = 0x200;
    }
    let aligned: Vec<(u64, u64, u64)> = raw
        .into_iter()
        .map(|(rva, size, at)| {
            (down(rva, section_alignment), down(at, file_alignment), up(size, file_alignment))
        })
        .collect();
    let entry = entry_offset(u64::from(entry_rva), u64::from(headers_bytes), &aligned);
    Ok(Program { entry, sections: aligned.into_iter().map(|(_, at, bytes)| (at, bytes)).collect() })
}

/// The entry point's place in the file.
fn entry_offset(rva: u64, headers_bytes: u64, sections: &[(u64, u64, u64)]) -> Option<u64> {
    if rva < headers_bytes {
        return Some(rva);
    }
    // The last section that holds it wins.
    sections.iter().rev().find_map(|(section, at, bytes)| {
        rva.checked_sub(*section).filter(|inside| inside < bytes).map(|inside| inside + at)
    })
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Unread> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().ok_or(Unread::Short(at + N))
}

fn down(value: u32, alignment: u32) -> u64 {
    u64::from(if alignment == 0 { value } else { value - value % alignment })
}

fn up(value: u32, alignment: u32) -> u64 {
    if alignment == 0 { u64::from(value) } else { u64::from(value).next_multiple_of(u64::from(alignment)) }
}

/// A program's headers with these sections (address, bytes, place in the file), for tests.
#[cfg(test)]
pub(crate) fn program_headers(entry_rva: u32, sections: &[(u32, u32, u32)]) -> Vec<u8> {
    let mut bytes = vec![0; 0x80 + 24 + 224 + 40 * sections.len()];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"MZ");
    put(0x3c, &0x80_u32.to_le_bytes());
    put(0x80, b"PE\0\0\x4c\x01");
    put(0x86, &(sections.len() as u16).to_le_bytes());
    put(0x80 + 20, &224_u16.to_le_bytes());
    put(0x98, &0x10b_u16.to_le_bytes());
    put(0x98 + 16, &entry_rva.to_le_bytes());
    put(0x98 + 32, &0x1000_u32.to_le_bytes());
    put(0x98 + 36, &0x200_u32.to_le_bytes());
    put(0x98 + 60, &0x400_u32.to_le_bytes());
    for (index, (rva, size, at)) in sections.iter().enumerate() {
        let section = 0x98 + 224 + 40 * index;
        put(section + 8, &size.to_le_bytes());
        put(section + 12, &rva.to_le_bytes());
        put(section + 16, &size.to_le_bytes());
        put(section + 20, &at.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_and_sections_at_every_cut() {
        let bytes = program_headers(0x2010, &[(0x1000, 0x300, 0x400), (0x2000, 0x200, 0x800)]);
        let cases = [
            (Offset::Entry { delta: 0, shift: 0 }, Some(0x810..=0x810)),
            (Offset::Entry { delta: -16, shift: 4 }, Some(0x800..=0x804)),
            (Offset::Entry { delta: -0x900, shift: 0 }, None),
            (Offset::Section { section: Section::Number(0), delta: 5, shift: 1 }, Some(0x405..=0x406)),
            (Offset::Section { section: Section::Last, delta: 0, shift: 0 }, Some(0x800..=0x800)),
            (Offset::Section { section: Section::Number(2), delta: 0, shift: 0 }, None),
            (Offset::WithinSection { section: 0 }, Some(0x400..=0x800)),
            (Offset::Anywhere, None),
        ];
        for cut in 1..=bytes.len() {
            let mut layout = Layout::Gathering(Vec::new());
            layout.push(&bytes[..cut]);
            layout.push(&bytes[cut..]);
            for (offset, want) in &cases {
                assert_eq!(layout.place(*offset), *want, "{cut} {offset:?}");
            }
        }
    }

    #[test]
    fn hostile_headers_are_unreadable() {
        let good = program_headers(0x1000, &[(0x1000, 0x200, 0x400)]);
        let cases: [&[(usize, &[u8])]; 6] = [
            &[(0, b"ZM")],
            &[(0x3c, &[0xff; 4])],
            &[(0x3c, &[0, 0x3f, 0, 0])],
            &[(0x86, &[0, 0])],
            &[(0x86, &[0xff, 0xff])],
            &[(0x80, b"NE")],
        ];
        for changes in cases {
            let mut bytes = good.clone();
            bytes.resize(20_000, 0);
            for (at, value) in changes {
                bytes[*at..at + value.len()].copy_from_slice(value);
            }
            let mut layout = Layout::Gathering(Vec::new());
            bytes.chunks(100).for_each(|chunk| layout.push(chunk));
            assert!(matches!(layout, Layout::Unreadable), "{changes:?}");
        }
    }
}
