//! The sequences of a block (RFC 8878 section 3.1.1.3.2): literals to copy, then a match. Rule: a block makes no more than it may,
//! and nothing is copied from before the frame or the window.

use super::bits::Backward;
use super::fse::{ACCURACY_MAX, Table};
use super::window::Window;
use super::{BLOCK_BYTES_MAX, number};

/// What stays from block to block of one frame.
pub(super) struct Tables {
    lengths: Option<Table>,
    offsets: Option<Table>,
    matches: Option<Table>,
    /// The last three offsets.
    recent: [u32; 3],
}

/// Least value and further bits of each code, from the first code that has any.
const LENGTHS: [(u32, u32); 20] = [
    (16, 1),
    (18, 1),
    (20, 1),
    (22, 1),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 4),
    (64, 6),
    (128, 7),
    (256, 8),
    (512, 9),
    (1024, 10),
    (2048, 11),
    (4096, 12),
    (8192, 13),
    (16_384, 14),
    (32_768, 15),
    (65_536, 16),
];
const MATCHES: [(u32, u32); 21] = [
    (35, 1),
    (37, 1),
    (39, 1),
    (41, 1),
    (43, 2),
    (47, 2),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 5),
    (131, 7),
    (259, 8),
    (515, 9),
    (1027, 10),
    (2051, 11),
    (4099, 12),
    (8195, 13),
    (16_387, 14),
    (32_771, 15),
    (65_539, 16),
];
const LENGTH_CODES: usize = 16 + LENGTHS.len();
const MATCH_CODES: usize = 32 + MATCHES.len();
const OFFSET_CODES: usize = 32;
const OFFSET_ACCURACY_MAX: u32 = 8;

/// How often each code is where a block does not say it.
const LENGTHS_OFTEN: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
    -1, -1,
];
const MATCHES_OFTEN: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
const OFFSETS_OFTEN: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];

impl Tables {
    /// At the front of a frame.
    pub fn new() -> Self {
        Self { lengths: None, offsets: None, matches: None, recent: [1, 4, 8] }
    }

    /// Runs the sequences behind the literals of a block; answers how many there were.
    pub fn run(&mut self, bytes: &[u8], literals: &[u8], window: &mut Window) -> Option<usize> {
        let (count, mut rest) = count(bytes)?;
        let mut literals = literals;
        if count > 0 {
            let (modes, behind) = rest.split_first()?;
            if modes & 3 != 0 {
                return None;
            }
            rest = behind;
            choose(
                &mut self.lengths,
                modes >> 6,
                &mut rest,
                (&LENGTHS_OFTEN, 6),
                (ACCURACY_MAX, LENGTH_CODES),
            )?;
            let offsets = (OFFSET_ACCURACY_MAX, OFFSET_CODES);
            choose(&mut self.offsets, modes >> 4 & 3, &mut rest, (&OFFSETS_OFTEN, 5), offsets)?;
            choose(
                &mut self.matches,
                modes >> 2 & 3,
                &mut rest,
                (&MATCHES_OFTEN, 6),
                (ACCURACY_MAX, MATCH_CODES),
            )?;
            literals = self.execute(rest, count, literals, window)?;
        } else if !rest.is_empty() {
            return None;
        }
        append(window, literals)?;
        Some(count)
    }

    /// Answers the literals that are left.
    fn execute<'a>(
        &mut self,
        bytes: &[u8],
        count: usize,
        mut literals: &'a [u8],
        window: &mut Window,
    ) -> Option<&'a [u8]> {
        let (lengths, offsets, matches) =
            (self.lengths.as_ref()?, self.offsets.as_ref()?, self.matches.as_ref()?);
        let mut bits = Backward::new(bytes)?;
        let mut length_state = lengths.begin(&mut bits);
        let mut offset_state = offsets.begin(&mut bits);
        let mut match_state = matches.begin(&mut bits);
        for index in 0..count {
            let offset_code = u32::from(offsets.symbol(offset_state));
            if offset_code > 31 {
                return None;
            }
            let offset = (1_u32 << offset_code).checked_add(bits.read(offset_code))?;
            let matched = value(matches.symbol(match_state), 32, 3, &MATCHES, &mut bits)?;
            let length = value(lengths.symbol(length_state), 16, 0, &LENGTHS, &mut bits)?;
            if index + 1 < count {
                length_state = lengths.follow(length_state, &mut bits);
                match_state = matches.follow(match_state, &mut bits);
                offset_state = offsets.follow(offset_state, &mut bits);
            }
            if bits.is_over() {
                return None;
            }
            let (now, rest) = literals.split_at_checked(length as usize)?;
            literals = rest;
            append(window, now)?;
            let offset = recalled(&mut self.recent, offset, length)?;
            if window.block_bytes() + matched as usize > BLOCK_BYTES_MAX {
                return None;
            }
            window.repeat(offset as usize, matched as usize)?;
        }
        bits.is_at_end().then_some(literals)
    }
}

/// How many sequences there are.
fn count(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let first = usize::from(*bytes.first()?);
    let (count, used) = match first {
        0..128 => (first, 1),
        128..255 => (((first - 128) << 8) + usize::from(*bytes.get(1)?), 2),
        _ => (usize::try_from(number(bytes.get(1..3)?)).ok()? + 0x7f00, 3),
    };
    Some((count, bytes.get(used..)?))
}

/// The table that a block says: the known one, one symbol, its own, or the last one again.
fn choose(
    table: &mut Option<Table>,
    mode: u8,
    rest: &mut &[u8],
    (often, accuracy): (&[i16], u32),
    (accuracy_max, codes): (u32, usize),
) -> Option<()> {
    match mode & 3 {
        0 => *table = Some(Table::new(often, accuracy)?),
        1 => {
            let (symbol, behind) = rest.split_first()?;
            if usize::from(*symbol) >= codes {
                return None;
            }
            *table = Some(Table::of_one(*symbol));
            *rest = behind;
        }
        2 => {
            let (own, used) = Table::read(rest, accuracy_max, codes)?;
            *table = Some(own);
            *rest = rest.get(used..)?;
        }
        _ => {}
    }
    table.as_ref().map(|_| ())
}

/// What a code stands for with its further bits. Codes below the first that has any stand for themselves, and a little more.
fn value(code: u8, first: u8, more: u32, codes: &[(u32, u32)], bits: &mut Backward<'_>) -> Option<u32> {
    match code.checked_sub(first) {
        None => Some(u32::from(code) + more),
        Some(index) => {
            let (least, further) = codes.get(usize::from(index))?;
            Some(least + bits.read(*further))
        }
    }
}

/// The offset that is meant: the small ones stand for those of before.
fn recalled(recent: &mut [u32; 3], offset: u32, length: u32) -> Option<u32> {
    let [first, second, third] = *recent;
    if offset > 3 {
        *recent = [offset - 3, first, second];
        return Some(offset - 3);
    }
    match offset - 1 + u32::from(length == 0) {
        0 => {}
        1 => *recent = [second, first, third],
        2 => *recent = [third, first, second],
        _ => *recent = [first.checked_sub(1).filter(|offset| *offset > 0)?, first, second],
    }
    Some(recent[0])
}

fn append(window: &mut Window, literals: &[u8]) -> Option<()> {
    if window.block_bytes() + literals.len() > BLOCK_BYTES_MAX {
        return None;
    }
    window.append(literals);
    Some(())
}
