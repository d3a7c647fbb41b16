//! RAR 5 and 7: blocks with codes of their own, matches up to 4 KiB, filters. Rule: one symbol at a time.

use super::filter::{Offsets, Opcodes, Sieve, Turn};
use super::{Start, lengths};
use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::code::Code;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{EndsBy, Scheme, Symbol};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// Symbols of each code: bytes and matches, distances of 5 and of 7, their low bits, lengths of repeated matches.
const MAIN: usize = 306;
const DISTANCES: usize = 64;
const DISTANCES_LONG: usize = 80;
const LOW: usize = 16;
const REPEATED: usize = 44;
const LENGTHS: usize = MAIN + DISTANCES_LONG + LOW + REPEATED;

/// The longest symbol is a filter's.
const SYMBOL_BITS: usize = 128;
/// A block's header with the lengths of all codes: 20 of up to 8 bits, the others of up to 15 and 7.
const HEADER_BITS: usize = 7 * 8 + 20 * 8 + LENGTHS * 22;
/// The longest match: the longest length, and 3 for its distance.
const MATCH_BYTES_MAX: usize = 0x1001 + 3;

/// How far matches reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distances {
    /// 4 GiB.
    Of5,
    /// 1 TiB.
    Of7,
}

/// The state of one stream.
pub(crate) struct V5 {
    sieve: Sieve,
    distances: Distances,
    block: Option<Block>,
    has_codes: bool,
    main: Code,
    distance: Code,
    low: Code,
    repeated: Code,
    lengths: Code,
    recent: [usize; 4],
    last_length: usize,
}

/// The block at hand.
#[derive(Clone, Copy)]
struct Block {
    ends_at: u64,
    is_last: bool,
}

impl V5 {
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            sieve: Sieve::new(pool),
            distances: Distances::Of5,
            block: None,
            has_codes: false,
            main: Code::new(),
            distance: Code::new(),
            low: Code::new(),
            repeated: Code::new(),
            lengths: Code::new(),
            recent: [0; 4],
            last_length: 0,
        }
    }

    /// A stream begins, at this of all bytes that the window made.
    pub(crate) fn begin(&mut self, start: Start, distances: Distances, made: u64) {
        self.sieve.begin(made);
        self.distances = distances;
        self.block = None;
        if start == Start::Anew {
            self.has_codes = false;
            (self.recent, self.last_length) = ([0; 4], 0);
        }
    }

    fn header(&mut self, bits: &mut Bits) -> Result<(), Reason> {
        bits.align();
        let flags = bits.take(8);
        let sum = bits.take(8);
        let size_bytes = (flags >> 3 & 3) + 1;
        if size_bytes == 4 {
            return Err(Reason::Damaged);
        }
        let size = (0..size_bytes).fold(0, |size, byte| size | bits.take(8) << (8 * byte));
        if (0x5a ^ flags ^ size ^ size >> 8 ^ size >> 16) & 0xff != sum {
            return Err(Reason::Damaged);
        }
        let last_bits = u64::from(flags & 7) + 1;
        let ends_at = bits.position() + u64::from(size.saturating_sub(1)) * 8 + last_bits;
        self.block = Some(Block { ends_at, is_last: flags & 0x40 != 0 });
        if flags & 0x80 != 0 {
            self.codes(bits)?;
        }
        if self.has_codes { Ok(()) } else { Err(Reason::Damaged) }
    }

    fn codes(&mut self, bits: &mut Bits) -> Result<(), Reason> {
        let distances = match self.distances {
            Distances::Of5 => DISTANCES,
            Distances::Of7 => DISTANCES_LONG,
        };
        let mut told = [0; LENGTHS];
        let told = &mut told[..MAIN + distances + LOW + REPEATED];
        lengths::read(bits, &mut self.lengths, told)?;
        let (main, rest) = told.split_at(MAIN);
        let (distance, rest) = rest.split_at(distances);
        let (low, repeated) = rest.split_at(LOW);
        self.main.build(main)?;
        self.distance.build(distance)?;
        self.low.build(low)?;
        self.repeated.build(repeated)?;
        self.has_codes = true;
        Ok(())
    }

    fn new_match(&mut self, symbol: usize, bits: &mut Bits) -> Result<(), Reason> {
        let length = length(symbol - 262, bits);
        let slot = self.distance.take(bits)?;
        let mut distance = slot as u64 + 1;
        if slot >= 4 {
            let extra = (slot / 2 - 1) as u32;
            distance = 1 + ((2 | slot as u64 & 1) << extra);
            if extra < 4 {
                distance += u64::from(bits.take(extra));
            } else {
                let high = extra - 4;
                // Up to 34 bits.
                let first = u64::from(bits.take(high.saturating_sub(16)));
                distance += (first << high.min(16) | u64::from(bits.take(high.min(16)))) << 4;
                distance += self.low.take(bits)? as u64;
            }
        }
        self.recent.rotate_right(1);
        self.recent[0] = usize::try_from(distance).map_err(|_| Reason::Damaged)?;
        let bonus = [0x100, 0x2000, 0x40000].iter().filter(|least| distance > **least).count();
        self.last_length = length + bonus;
        Ok(())
    }

    fn filter(&mut self, bits: &mut Bits, window: &Window) -> Result<(), Reason> {
        let mut number = || {
            let bytes = bits.take(2) + 1;
            (0..bytes).fold(0, |number, byte| number | bits.take(8) << (8 * byte))
        };
        let (start, length) = (number(), number());
        let offsets = Offsets::Wrapped;
        let turn = match bits.take(3) {
            0 => Turn::Delta { channels: bits.take(5) as usize + 1 },
            1 => Turn::X86 { opcodes: Opcodes::Call, offsets },
            2 => Turn::X86 { opcodes: Opcodes::CallAndJump, offsets },
            3 => Turn::Arm,
            _ => return Err(Reason::Unsupported),
        };
        self.sieve.add(window.made() + u64::from(start), length as usize, turn)
    }
}

/// The length that a slot begins.
fn length(slot: usize, bits: &mut Bits) -> usize {
    if slot < 8 {
        return slot + 2;
    }
    let extra = (slot / 4 - 1) as u32;
    2 + ((4 | slot & 3) << extra) + bits.take(extra) as usize
}

impl Scheme for V5 {
    fn bits_needed(&self) -> usize {
        if self.block.is_some() { SYMBOL_BITS } else { HEADER_BITS }
    }

    fn bytes_made_max(&self) -> usize {
        MATCH_BYTES_MAX
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        let Some(block) = self.block else {
            self.header(bits)?;
            return Ok(Symbol::Read);
        };
        if bits.position() >= block.ends_at {
            self.block = None;
            return Ok(if block.is_last { Symbol::End } else { Symbol::Read });
        }
        let symbol = self.main.take(bits)?;
        match symbol {
            0..=255 => {
                window.push(symbol as u8);
                return Ok(Symbol::Read);
            }
            256 => {
                self.filter(bits, window)?;
                return Ok(Symbol::Read);
            }
            257 if self.last_length == 0 => return Ok(Symbol::Read),
            257 => {}
            258..=261 => {
                self.recent[..=symbol - 258].rotate_right(1);
                let slot = self.repeated.take(bits)?;
                self.last_length = length(slot, bits);
            }
            _ => self.new_match(symbol, bits)?,
        }
        window.copy(self.recent[0], self.last_length)?;
        Ok(Symbol::Read)
    }

    fn give(&mut self, window: &mut Window, output: &mut [u8]) -> Result<usize, Reason> {
        self.sieve.give(window, output)
    }

    fn let_go(&mut self, window: &Window) {
        self.sieve.let_go(window);
    }

    fn ends_by(&self) -> EndsBy {
        EndsBy::Mark
    }
}
