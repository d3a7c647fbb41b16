//! `lh4` and what came of it: blocks of so many symbols, each with three codes. Rule: codes of lengths first, then symbols, then distances.

use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::code::{CODE_BITS_MAX, Code};
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{Scheme, Symbol};
use lockgate_model::Reason;

/// Bytes, and lengths from 3 to 256.
const SYMBOLS: usize = 510;
const SYMBOL_BITS: u32 = 9;
/// Lengths, with three symbols for runs of none.
const LENGTHS: usize = 19;
const LENGTH_BITS: u32 = 5;
/// Behind so many lengths of lengths it is told how many more are none.
const GAP_AT: usize = 3;
const MATCH_BYTES_MIN: usize = 3;
const MATCH_BYTES_MAX: usize = 256;

/// A symbol with a distance; and the codes of a block: lengths of up to 16 bits each, symbols of up to 16 and 9.
const NEXT_BITS: usize = 64;
const CODES_BITS: usize = 64 + (LENGTHS + 32) * 16 + SYMBOLS * 25;

/// The state of one stream.
pub(super) struct Blocks {
    distance_bits: u32,
    /// Symbols of the block that are still to come.
    left: u32,
    symbol: Code,
    distance: Code,
    length: Code,
}

impl Blocks {
    /// The number of distances is told in so many bits.
    pub(super) fn new(distance_bits: u32) -> Self {
        Self { distance_bits, left: 0, symbol: Code::new(), distance: Code::new(), length: Code::new() }
    }

    fn codes(&mut self, bits: &mut Bits) -> Result<(), Reason> {
        self.left = bits.take(16);
        if self.left == 0 {
            // As it is read by those who count down before they look.
            self.left = 1 << 16;
        }
        small_code(bits, &mut self.length, LENGTH_BITS, LENGTHS, GAP_AT)?;
        self.symbol_code(bits)?;
        small_code(bits, &mut self.distance, self.distance_bits, 1 << self.distance_bits, usize::MAX)
    }

    fn symbol_code(&mut self, bits: &mut Bits) -> Result<(), Reason> {
        let count = bits.take(SYMBOL_BITS) as usize;
        if count == 0 {
            self.symbol.build(&[])?;
            self.symbol.set_only(bits.take(SYMBOL_BITS) as u16);
            return Ok(());
        }
        let mut lengths = [0; SYMBOLS];
        let mut at = 0;
        while at < count.min(SYMBOLS) {
            match self.length.take(bits)? {
                0 => at += 1,
                1 => at += bits.take(4) as usize + 3,
                2 => at += bits.take(SYMBOL_BITS) as usize + 20,
                length => {
                    lengths[at] = length as u8 - 2;
                    at += 1;
                }
            }
        }
        self.symbol.build(&lengths)
    }
}

/// A code of few symbols: three bits for each length, or as many ones as it is above 7 … and a zero.
fn small_code(
    bits: &mut Bits,
    code: &mut Code,
    count_bits: u32,
    symbols: usize,
    gap_at: usize,
) -> Result<(), Reason> {
    let count = bits.take(count_bits) as usize;
    code.build(&[])?;
    if count == 0 {
        code.set_only(bits.take(count_bits) as u16);
        return Ok(());
    }
    let mut lengths = [0_u8; 32];
    let mut at = 0;
    while at < count.min(symbols) {
        let mut length = bits.take(3) as usize;
        if length == 7 {
            while bits.is_set() {
                length += 1;
                if length > CODE_BITS_MAX {
                    return Err(Reason::Damaged);
                }
            }
        }
        *lengths.get_mut(at).ok_or(Reason::Damaged)? = length as u8;
        at += 1;
        if at == gap_at {
            at += bits.take(2) as usize;
        }
    }
    code.build(&lengths[..symbols.min(lengths.len())])
}

impl Scheme for Blocks {
    fn bits_needed(&self) -> usize {
        if self.left == 0 { CODES_BITS } else { NEXT_BITS }
    }

    fn bytes_made_max(&self) -> usize {
        MATCH_BYTES_MAX
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        if self.left == 0 {
            self.codes(bits)?;
            return Ok(Symbol::Read);
        }
        self.left -= 1;
        let symbol = self.symbol.take(bits)?;
        if symbol < 256 {
            window.push(symbol as u8);
            return Ok(Symbol::Read);
        }
        if symbol >= SYMBOLS {
            return Err(Reason::Damaged);
        }
        let slot = self.distance.take(bits)? as u32;
        let distance = match slot {
            0 => 0,
            1..=24 => 1 << (slot - 1) | bits.take(slot - 1) as usize,
            _ => return Err(Reason::Damaged),
        };
        window.copy(distance + 1, symbol - 256 + MATCH_BYTES_MIN)?;
        Ok(Symbol::Read)
    }
}
