//! Entry point and sections of a Mach-O program. Rule: as many load commands as fit are read, each within its length.
//!
//! The format is that of Apple's "OS X ABI Mach-O File Format Reference".

use super::{Order, Program, Range, number};

/// How many load commands and sections are read.
const TABLE_MAX: u64 = 4096;
const SEGMENT: u64 = 0x01;
const SEGMENT_64: u64 = 0x19;
const THREAD: u64 = 0x05;
const MAIN: u64 = 0x8000_0028;

pub(super) fn read(bytes: &[u8]) -> Option<Program> {
    let (order, is_wide) = match bytes.first_chunk()? {
        [0xfe, 0xed, 0xfa, 0xce] => (Order::HighFirst, false),
        [0xfe, 0xed, 0xfa, 0xcf] => (Order::HighFirst, true),
        [0xce, 0xfa, 0xed, 0xfe] => (Order::LowFirst, false),
        [0xcf, 0xfa, 0xed, 0xfe] => (Order::LowFirst, true),
        _ => return None,
    };
    let word = |at: u64| number::<4>(bytes, at, order);
    let mut program = Program::default();
    let mut entry_address = None;
    let mut at = if is_wide { 32 } else { 28 };
    for _ in 0..word(16)?.min(TABLE_MAX) {
        let (Some(command), Some(length)) = (word(at), word(at + 4)) else { break };
        match command {
            SEGMENT | SEGMENT_64 => sections(bytes, at, order, command == SEGMENT_64, &mut program.sections),
            MAIN => program.entry = number::<8>(bytes, at + 8, order),
            THREAD => entry_address = thread_entry(bytes, at, order, word(4)?),
            _ => {}
        }
        match at.checked_add(length) {
            Some(next) if length >= 8 => at = next,
            _ => break,
        }
    }
    if program.entry.is_none() {
        program.entry = entry_address.and_then(|address| program.offset_of(address));
    }
    Some(program)
}

fn sections(bytes: &[u8], at: u64, order: Order, is_wide: bool, sections: &mut Vec<Range>) {
    let word = |at: u64| number::<4>(bytes, at, order);
    let (count, first, size) = if is_wide { (64, 72, 80) } else { (48, 56, 68) };
    for row in 0..word(at + count).unwrap_or(0) {
        let row = at.saturating_add(first).saturating_add(row * size);
        let range = match is_wide {
            true => {
                (number::<8>(bytes, row + 32, order), number::<8>(bytes, row + 40, order), word(row + 48))
            }
            false => (word(row + 32), word(row + 36), word(row + 40)),
        };
        let ((Some(address), Some(length), Some(at)), true) = (range, (sections.len() as u64) < TABLE_MAX)
        else {
            return;
        };
        sections.push(Range { address, at, bytes: length });
    }
}

/// The instruction pointer that a thread begins with, by kind of processor.
fn thread_entry(bytes: &[u8], at: u64, order: Order, processor: u64) -> Option<u64> {
    match processor {
        7 => number::<4>(bytes, at + 16 + 10 * 4, order),
        0x0100_0007 => number::<8>(bytes, at + 16 + 16 * 8, order),
        12 => number::<4>(bytes, at + 16 + 15 * 4, order),
        18 => number::<4>(bytes, at + 16, order),
        0x0100_0012 => number::<8>(bytes, at + 16, order),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_program() {
        let mut bytes = vec![0; 300];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &[0xce, 0xfa, 0xed, 0xfe, 7, 0, 0, 0]);
        put(16, &[2]);
        put(28, &[1, 0, 0, 0, 124]);
        put(28 + 48, &[1]);
        put(28 + 56 + 32, &[0, 0x10, 0, 0, 0x20, 0, 0, 0, 0x30, 0, 0, 0]);
        put(152, &[5, 0, 0, 0, 80]);
        put(152 + 16 + 40, &[5, 0x10]);
        let program = read(&bytes).unwrap();
        assert_eq!(program.sections, [Range { address: 0x1000, at: 0x30, bytes: 0x20 }]);
        assert_eq!(program.entry, Some(0x35));
        for length in 0..bytes.len() {
            read(&bytes[..length]);
        }
    }
}
