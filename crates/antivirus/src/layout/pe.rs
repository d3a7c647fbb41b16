//! The headers of a Windows program. Rule: the beginning of a file is enough to read them.
//!
//! The format is Microsoft's "PE Format"; addresses are rounded as ClamAV rounds them, since signatures are made so.

use super::{Bits, Program, Range, Unread, Windows, take};

/// How much of a program is held to find its headers.
pub(super) const PREFIX_BYTES_MAX: usize = 16 << 10;
/// What the headers say of a DLL.
const LIBRARY: u16 = 0x2000;
/// As many sections as Windows loads.
const SECTIONS_MAX: usize = 96;

pub(super) fn read(bytes: &[u8]) -> Result<Program, Unread> {
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
    let sections: Vec<Range> = raw
        .into_iter()
        .map(|(address, bytes, at)| Range {
            address: down(address, section_alignment),
            at: down(at, file_alignment),
            bytes: up(bytes, file_alignment),
        })
        .collect();
    let traits = u16::from_le_bytes(take(bytes, header + 22)?);
    let is_library = traits & LIBRARY != 0;
    let windows =
        Windows { is_library, ..windows(bytes, optional, optional_bytes, u64::from(headers_bytes)) };
    let mut program = Program { sections, windows: Some(windows), ..Program::default() };
    program.entry = program.offset_of(u64::from(entry_rva));
    Ok(program)
}

/// The data directories, as far as they are there.
fn windows(bytes: &[u8], optional: usize, optional_bytes: usize, headers_bytes: u64) -> Windows {
    let field = |at: usize| {
        let is_inside = at + 4 <= optional_bytes;
        let number = take(bytes, optional + at).ok().filter(|_| is_inside).map(u32::from_le_bytes);
        number.map_or(0, u64::from)
    };
    let is_wide = matches!(take(bytes, optional), Ok([0x0b, 0x02]));
    let (bits, directories) = if is_wide { (Bits::B64, 112) } else { (Bits::B32, 96) };
    Windows {
        bits,
        is_library: false,
        headers_bytes,
        imports: (field(directories + 8), field(directories + 12)),
        resources: field(directories + 16),
    }
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
    use super::super::Layout;
    use super::*;
    use crate::ruleset::offset::{Offset, Section};

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
                assert_eq!(layout.program().unwrap().place(*offset), *want, "{cut} {offset:?}");
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
            bytes.chunks(100).for_each(|chunk| drop(layout.push(chunk)));
            assert!(matches!(layout, Layout::Unreadable), "{changes:?}");
        }
    }
}
