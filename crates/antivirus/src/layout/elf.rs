//! Entry point and sections of an ELF program. Rule: what the headers point to is looked up, never followed.
//!
//! The format is that of the System V ABI, "Object Files".

use super::{Order, Program, Range, number};

/// How many sections or segments are read.
const TABLE_MAX: u64 = 4096;

pub(super) fn read(bytes: &[u8]) -> Option<Program> {
    let ident = bytes.get(..16).filter(|ident| ident.starts_with(b"\x7fELF"))?;
    let order = if ident.get(5) == Some(&2) { Order::HighFirst } else { Order::LowFirst };
    let is_wide = ident.get(4) == Some(&2);
    let half = |at: u64| number::<2>(bytes, at, order);
    let word = |at: u64| match is_wide {
        true => number::<8>(bytes, at, order),
        false => number::<4>(bytes, at, order),
    };
    // Entry point, the tables' places, and the sizes of their entries, by class.
    let (entry, segments, sections, sizes) = if is_wide { (24, 32, 40, 54) } else { (24, 28, 32, 42) };
    let (entry, segments_at, sections_at) = (word(entry)?, word(segments)?, word(sections)?);
    let rows = |at: u64, size: u64, count: u64| {
        let size = size.max(1);
        (0..count.min(TABLE_MAX)).filter_map(move |row| at.checked_add(row.checked_mul(size)?))
    };
    // Where a segment stands in the file, in memory, and how long it is there.
    let (offset, address, length) = if is_wide { (8, 16, 32) } else { (4, 8, 16) };
    let found = rows(segments_at, half(sizes)?, half(sizes + 2)?).find_map(|row| {
        let inside = entry.checked_sub(word(row.checked_add(address)?)?)?;
        let file_bytes = word(row.checked_add(length)?)?;
        word(row.checked_add(offset)?)?.checked_add(inside).filter(|_| inside < file_bytes)
    });
    let (address, offset, length) = if is_wide { (16, 24, 32) } else { (12, 16, 20) };
    let sections = rows(sections_at, half(sizes + 4)?, half(sizes + 6)?).map_while(|row| {
        Some(Range {
            address: word(row.checked_add(address)?)?,
            at: word(row.checked_add(offset)?)?,
            bytes: word(row.checked_add(length)?)?,
        })
    });
    Some(Program { entry: found, sections: sections.collect(), ..Program::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_program() {
        let mut bytes = vec![0; 0x100];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"\x7fELF\x01\x01\x01");
        put(24, &0x0804_8090_u32.to_le_bytes());
        put(28, &52_u32.to_le_bytes());
        put(32, &0xa0_u32.to_le_bytes());
        put(42, &[32, 0, 1, 0, 40, 0, 1, 0]);
        put(52 + 4, &0x10_u32.to_le_bytes());
        put(52 + 8, &0x0804_8000_u32.to_le_bytes());
        put(52 + 16, &0x100_u32.to_le_bytes());
        put(0xa0 + 16, &0x40_u32.to_le_bytes());
        put(0xa0 + 20, &9_u32.to_le_bytes());
        let program = read(&bytes).unwrap();
        assert_eq!(program.entry, Some(0xa0));
        assert_eq!(program.sections, [Range { address: 0, at: 0x40, bytes: 9 }]);
        for length in 0..bytes.len() {
            read(&bytes[..length]);
        }
    }
}
