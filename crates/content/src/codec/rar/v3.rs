//! RAR 3 and 4 (2.9 to 3.6 by their numbers): matches up to 4 MiB back, or PPMd, and filters as programs. Rule: one symbol at a time.

mod ppm;
mod program;

use super::filter::Sieve;
use super::{Start, lengths};
use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::code::Code;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{EndsBy, Scheme, Symbol};
use lockgate_model::{Pool, Reason};
use ppm::Ppm;
use program::Programs;
use std::sync::Arc;

/// Symbols of each code: bytes and matches, distances, their low bits, lengths of repeated matches.
const MAIN: usize = 299;
const DISTANCES: usize = 60;
const LOW: usize = 17;
const REPEATED: usize = 28;
const LENGTHS: usize = MAIN + DISTANCES + LOW + REPEATED;

/// A match's longest; and the head of a program, of which more is read byte by byte.
const SYMBOL_BITS: usize = 128;
/// Lengths of all codes: 20 of up to 8 bits, the others of up to 15 and 7.
const CODES_BITS: usize = 64 + 20 * 8 + LENGTHS * 22;
/// The longest match, and 2 for its distance.
/// Predicted ones are longer.
const MATCH_BYTES_MAX: usize = 255 + 32;

/// The shortest length that a slot stands for, and its extra bits.
pub(super) const LENGTH_SLOTS: [(u8, u8); REPEATED] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 1),
    (10, 1),
    (12, 1),
    (14, 1),
    (16, 2),
    (20, 2),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 3),
    (56, 3),
    (64, 4),
    (80, 4),
    (96, 4),
    (112, 4),
    (128, 5),
    (160, 5),
    (192, 5),
    (224, 5),
];
/// The same for distances of matches of two bytes.
pub(super) const SHORT_SLOTS: [(u8, u8); 8] =
    [(0, 2), (4, 2), (8, 3), (16, 4), (32, 5), (64, 6), (128, 6), (192, 6)];
/// How many matches repeat the low bits of a distance, once they are told to.
const LOW_REPEATS: u32 = 16;

/// What is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Codes,
    Symbol,
    /// The bytes of a program, so many of them, among symbols or predicted ones.
    Program(usize, Within),
    /// A symbol that PPMd predicts.
    Predicted,
}

/// Where a program is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Symbols,
    Predicted,
}

/// The state of one stream.
pub(crate) struct V3 {
    sieve: Sieve,
    ppm: Ppm,
    expect: Expect,
    programs: Programs,
    /// Whether codes were read that the next file goes on with.
    has_codes: bool,
    /// What was told of lengths last.
    told: [u8; LENGTHS],
    main: Code,
    distance: Code,
    low: Code,
    repeated: Code,
    lengths: Code,
    recent: [usize; 4],
    last_length: usize,
    last_low: usize,
    low_repeats: u32,
}

impl V3 {
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            sieve: Sieve::new(pool),
            ppm: Ppm::new(pool),
            expect: Expect::Codes,
            programs: Programs::default(),
            has_codes: false,
            told: [0; LENGTHS],
            main: Code::new(),
            distance: Code::new(),
            low: Code::new(),
            repeated: Code::new(),
            lengths: Code::new(),
            recent: [0; 4],
            last_length: 0,
            last_low: 0,
            low_repeats: 0,
        }
    }

    /// A stream begins, at this of all bytes that the window made.
    pub(crate) fn begin(&mut self, start: Start, made: u64) {
        self.sieve.begin(made);
        if start == Start::Anew {
            self.has_codes = false;
            self.told = [0; LENGTHS];
            (self.recent, self.last_length) = ([0; 4], 0);
            self.programs = Programs::default();
            self.ppm.clear();
        }
        self.expect = if self.has_codes { Expect::Symbol } else { Expect::Codes };
    }

    fn codes(&mut self, bits: &mut Bits) -> Result<(), Reason> {
        bits.align();
        if bits.peek(1) == 1 {
            self.ppm.begin(bits)?;
            self.expect = Expect::Predicted;
            return Ok(());
        }
        bits.skip(1);
        (self.last_low, self.low_repeats) = (0, 0);
        if !bits.is_set() {
            self.told = [0; LENGTHS];
        }
        lengths::read(bits, &mut self.lengths, &mut self.told)?;
        let (main, rest) = self.told.split_at(MAIN);
        let (distance, rest) = rest.split_at(DISTANCES);
        let (low, repeated) = rest.split_at(LOW);
        self.main.build(main)?;
        self.distance.build(distance)?;
        self.low.build(low)?;
        self.repeated.build(repeated)?;
        self.has_codes = true;
        self.expect = Expect::Symbol;
        Ok(())
    }

    /// A block's end, and maybe the file's: one bit for new codes in the file, else one for new codes in the next.
    fn end_of_block(&mut self, bits: &mut Bits) -> Symbol {
        let goes_on = bits.is_set();
        let has_new_codes = goes_on || bits.is_set();
        self.has_codes = !has_new_codes;
        if goes_on {
            self.expect = Expect::Codes;
            return Symbol::Read;
        }
        Symbol::End
    }

    fn new_match(&mut self, symbol: usize, bits: &mut Bits) -> Result<(), Reason> {
        let length = 3 + slot(&LENGTH_SLOTS, symbol - 271, bits)?;
        let slot = self.distance.take(bits)?;
        let (base, extra) = distance_slot(slot);
        let mut distance = base + 1;
        if slot < 10 {
            distance += bits.take(extra) as usize;
        } else {
            distance += (bits.take(extra - 4) as usize) << 4;
            distance += self.low_bits(bits)?;
        }
        self.remember(distance);
        self.last_length = length + usize::from(distance >= 0x2000) + usize::from(distance >= 0x40000);
        Ok(())
    }

    fn low_bits(&mut self, bits: &mut Bits) -> Result<usize, Reason> {
        if self.low_repeats > 0 {
            self.low_repeats -= 1;
            return Ok(self.last_low);
        }
        match self.low.take(bits)? {
            16 => self.low_repeats = LOW_REPEATS - 1,
            low => self.last_low = low,
        }
        Ok(self.last_low)
    }

    fn remember(&mut self, distance: usize) {
        self.recent.rotate_right(1);
        self.recent[0] = distance;
    }

    /// A byte of a program's call.
    fn byte(&mut self, within: Within, bits: &mut Bits) -> Result<u8, Reason> {
        match within {
            Within::Symbols => Ok(bits.take_byte()),
            Within::Predicted => self.ppm.byte(bits),
        }
    }

    /// A program's flags and length.
    fn program_head(&mut self, within: Within, bits: &mut Bits) -> Result<(), Reason> {
        let flags = self.byte(within, bits)?;
        let length = match flags & 7 {
            6 => usize::from(self.byte(within, bits)?) + 7,
            7 => usize::from(self.byte(within, bits)?) << 8 | usize::from(self.byte(within, bits)?),
            less => usize::from(less) + 1,
        };
        self.programs.begin(flags);
        self.expect = Expect::Program(length, within);
        Ok(())
    }

    fn program_byte(
        &mut self,
        left: usize,
        within: Within,
        bits: &mut Bits,
        window: &Window,
    ) -> Result<(), Reason> {
        if left > 0 {
            let byte = self.byte(within, bits)?;
            self.programs.push(byte);
            self.expect = Expect::Program(left - 1, within);
            return Ok(());
        }
        self.expect = match within {
            Within::Symbols => Expect::Symbol,
            Within::Predicted => Expect::Predicted,
        };
        if let Some(filter) = self.programs.end()? {
            self.sieve.add(window.made() + u64::from(filter.start), filter.length, filter.turn)?;
        }
        Ok(())
    }

    fn lz(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        let symbol = self.main.take(bits)?;
        match symbol {
            0..=255 => {
                window.push(symbol as u8);
                return Ok(Symbol::Read);
            }
            256 => return Ok(self.end_of_block(bits)),
            257 => {
                self.program_head(Within::Symbols, bits)?;
                return Ok(Symbol::Read);
            }
            258 if self.last_length == 0 => return Ok(Symbol::Read),
            258 => {}
            259..=262 => {
                self.recent[..=symbol - 259].rotate_right(1);
                let repeated = self.repeated.take(bits)?;
                self.last_length = 2 + slot(&LENGTH_SLOTS, repeated, bits)?;
            }
            263..=270 => {
                let distance = 1 + slot(&SHORT_SLOTS, symbol - 263, bits)?;
                self.remember(distance);
                self.last_length = 2;
            }
            _ => self.new_match(symbol, bits)?,
        }
        window.copy(self.recent[0], self.last_length)?;
        Ok(Symbol::Read)
    }
}

impl V3 {
    /// What PPMd predicts: a byte, or what an escape stands for.
    fn predicted(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        match self.ppm.next(bits)? {
            ppm::Said::Byte(byte) => window.push(byte),
            ppm::Said::Copy { distance, length } => window.copy(distance, length)?,
            ppm::Said::Program => self.program_head(Within::Predicted, bits)?,
            ppm::Said::NewCodes => self.expect = Expect::Codes,
            ppm::Said::End => return Ok(Symbol::End),
        }
        Ok(Symbol::Read)
    }
}

/// What a slot stands for, with its extra bits.
pub(super) fn slot(slots: &[(u8, u8)], slot: usize, bits: &mut Bits) -> Result<usize, Reason> {
    let (base, extra) = slots.get(slot).ok_or(Reason::Damaged)?;
    Ok(usize::from(*base) + bits.take(u32::from(*extra)) as usize)
}

/// The shortest distance that a slot stands for, less 1, and its extra bits: two slots of each number up to 15, then 14
/// of 16 and 12 of 18.
pub(super) fn distance_slot(slot: usize) -> (usize, u32) {
    match slot {
        0..=3 => (slot, 0),
        4..=33 => {
            let extra = (slot / 2 - 1) as u32;
            ((2 | slot & 1) << extra, extra)
        }
        34..=47 => (0x20000 + ((slot - 34) << 16), 16),
        _ => (0x100000 + ((slot - 48) << 18), 18),
    }
}

impl Scheme for V3 {
    fn bits_needed(&self) -> usize {
        match self.expect {
            Expect::Codes => CODES_BITS,
            Expect::Symbol => SYMBOL_BITS,
            Expect::Program(_, Within::Symbols) => 8,
            Expect::Program(_, Within::Predicted) | Expect::Predicted => ppm::SYMBOL_BITS,
        }
    }

    fn bytes_made_max(&self) -> usize {
        MATCH_BYTES_MAX
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        match self.expect {
            Expect::Codes => self.codes(bits)?,
            Expect::Program(left, within) => self.program_byte(left, within, bits, window)?,
            Expect::Predicted => return self.predicted(bits, window),
            Expect::Symbol => return self.lz(bits, window),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_leave_no_gap() {
        let mut next = 0;
        for at in 0..DISTANCES {
            let (base, extra) = distance_slot(at);
            assert_eq!(base, next, "{at}");
            next = base + (1 << extra);
        }
        assert_eq!(next, 4 << 20);
    }
}
