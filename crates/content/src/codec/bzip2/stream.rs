//! One bzip2 stream, from `BZh` to the sum of all blocks. Rule: one bounded piece of work for each call.

use super::bits::Bits;
use super::block::Block;
use super::huffman::{CODE_BITS_MAX, Code, SYMBOLS_MAX};
use crate::codec::{Outcome, Run};
use lockgate_model::{Grant, Reason};

/// Symbols decoded by one call at most: a fraction of a millisecond.
const SYMBOLS_A_CALL: usize = 8 * 1024;
/// A code is good for so many symbols; then the next selector says which follows.
const GROUP_SYMBOLS: u32 = 50;
const CODES_MAX: usize = 6;
/// 900,000 symbols and the end, in groups. More selectors are of no use; there are writers that write some.
const SELECTORS_MAX: usize = 18_002;

const BLOCK_MAGIC: u64 = 0x3141_5926_5359;
const END_MAGIC: u64 = 0x1772_4538_5090;

/// What pieces of work cost, for callers that bound their time.
mod nanos {
    pub(super) const SYMBOL: u64 = 12;
    pub(super) const RUN: u64 = 1;
    pub(super) const PLACE: u64 = 8;
    /// Each byte comes from a place of its own, mostly out of the cache.
    pub(super) const BYTE: u64 = 24;
}

/// The next thing of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Header,
    Magic,
    BlockCrc,
    BlockStart,
    UsedRows,
    UsedColumns,
    Counts,
    Selectors,
    LengthFirst,
    Length,
    Symbols,
    Prepare,
    Write,
    StreamCrc,
}

/// A stream on its way; `block` may hold up to 3.6 MB, drawn from the pool as it fills.
pub(crate) struct Stream {
    expect: Expect,
    bits: Bits,
    block: Block,
    tables: Box<Tables>,
    block_crc: u32,
    stream_crc: u32,
    is_random: bool,
    origin: u32,
    rows: u16,
    row: u32,
    in_use: usize,
    codes: usize,
    selectors: usize,
    selector: usize,
    /// The code being read, and the length of the symbol before.
    code: usize,
    symbol: usize,
    length: u8,
    group_left: u32,
    /// The last call ended for its bound, not for want of input.
    is_bounded: bool,
    /// Why the stream cannot be read on, which is said only once what was made before is out.
    failed: Option<Reason>,
    worked_nanos: u64,
}

/// What a block's header says of its codes.
struct Tables {
    used: [u8; 256],
    lengths: [u8; SYMBOLS_MAX],
    codes: [Code; CODES_MAX],
    selectors: Vec<u8>,
    recent: [u8; CODES_MAX],
}

/// How a piece of work ended.
enum Piece {
    /// Go on with the next.
    Done,
    /// More input is needed.
    Wants,
    /// The bound on one call is met.
    Enough,
    /// The stream has ended.
    Ended,
}

impl Stream {
    pub(super) fn new(grant: Grant) -> Self {
        Self {
            expect: Expect::Header,
            bits: Bits::default(),
            block: Block::new(grant),
            tables: Box::new(Tables {
                used: [0; 256],
                lengths: [0; SYMBOLS_MAX],
                codes: std::array::from_fn(|_| Code::default()),
                selectors: Vec::new(),
                recent: [0; CODES_MAX],
            }),
            block_crc: 0,
            stream_crc: 0,
            is_random: false,
            origin: 0,
            rows: 0,
            row: 0,
            in_use: 0,
            codes: 0,
            selectors: 0,
            selector: 0,
            code: 0,
            symbol: 0,
            length: 0,
            group_left: 0,
            is_bounded: false,
            failed: None,
            worked_nanos: 0,
        }
    }

    /// Awaits another stream.
    pub(super) fn reset(&mut self) {
        self.expect = Expect::Header;
        self.bits = Bits::default();
        self.stream_crc = 0;
        self.is_bounded = false;
    }

    /// Whether nothing but the header is missing.
    pub(super) fn is_at_header(&self) -> bool {
        self.expect == Expect::Header
    }

    /// Whether there is work to do without further input.
    pub(crate) fn owes(&self) -> bool {
        self.is_bounded || self.failed.is_some() || matches!(self.expect, Expect::Prepare | Expect::Write)
    }

    /// What the last call cost besides its bytes.
    pub(crate) fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }

    /// Works until the input is used, there is output, or the bound on one call is met.
    pub(crate) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        if let Some(reason) = self.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        let mut rest = input;
        let mut made = 0;
        self.worked_nanos = 0;
        self.is_bounded = false;
        let outcome = loop {
            match self.piece(&mut rest, output, &mut made) {
                Ok(Piece::Done) => {}
                Ok(Piece::Wants) => break Outcome::Going,
                Ok(Piece::Enough) => {
                    self.is_bounded = true;
                    break Outcome::Going;
                }
                Ok(Piece::Ended) => {
                    self.block.clear();
                    break Outcome::Ended;
                }
                Err(reason) => {
                    self.block.clear();
                    self.failed = Some(reason);
                    break if made > 0 { Outcome::Going } else { Outcome::Failed(reason) };
                }
            }
        };
        Run { used: input.len() - rest.len(), made, outcome }
    }

    fn piece(&mut self, input: &mut &[u8], output: &mut [u8], made: &mut usize) -> Result<Piece, Reason> {
        match self.expect {
            Expect::Symbols => return self.symbols(input),
            Expect::Prepare => {
                let places = self.block.prepare();
                self.worked_nanos += places as u64 * nanos::PLACE;
                if places > 0 {
                    return Ok(Piece::Enough);
                }
                self.expect = Expect::Write;
                return Ok(Piece::Done);
            }
            Expect::Write => {
                let left = self.block.left();
                *made = self.block.write(output);
                self.worked_nanos += (left - self.block.left()) as u64 * nanos::BYTE;
                if !self.block.is_done() {
                    return Ok(Piece::Enough);
                }
                self.block_ended()?;
                return Ok(if *made > 0 { Piece::Enough } else { Piece::Done });
            }
            _ => {}
        }
        let Some(value) = self.number(input) else { return Ok(Piece::Wants) };
        self.header(value)
    }

    /// The number that is next in a header, once its bits are there.
    fn number(&mut self, input: &mut &[u8]) -> Option<u64> {
        let bits = match self.expect {
            Expect::Header | Expect::BlockCrc | Expect::StreamCrc => 32,
            Expect::Magic => 48,
            Expect::BlockStart => 25,
            Expect::UsedRows | Expect::UsedColumns => 16,
            Expect::Counts => 18,
            Expect::LengthFirst => 5,
            // Digits in base 1, and steps of one or two bits.
            _ => 1,
        };
        self.bits.need(bits, input).then(|| self.bits.take(bits))
    }

    fn header(&mut self, value: u64) -> Result<Piece, Reason> {
        match self.expect {
            Expect::Header => {
                let level = value.wrapping_sub(u64::from(u32::from_be_bytes(*b"BZh0")));
                if !(1..=9).contains(&level) {
                    return Err(Reason::Damaged);
                }
                self.block.set_level(level as usize);
                self.expect = Expect::Magic;
            }
            Expect::Magic => {
                self.expect = match value {
                    BLOCK_MAGIC => Expect::BlockCrc,
                    END_MAGIC => Expect::StreamCrc,
                    _ => return Err(Reason::Damaged),
                }
            }
            Expect::BlockCrc => {
                self.block_crc = value as u32;
                self.expect = Expect::BlockStart;
            }
            Expect::BlockStart => {
                self.is_random = value >> 24 == 1;
                self.origin = value as u32 & 0xff_ffff;
                self.expect = Expect::UsedRows;
            }
            Expect::StreamCrc => {
                self.bits.align();
                if value as u32 != self.stream_crc {
                    return Err(Reason::Damaged);
                }
                return Ok(Piece::Ended);
            }
            _ => self.codes(value)?,
        }
        Ok(Piece::Done)
    }

    /// Which bytes are in use, how many codes there are, which is used when, and the codes themselves.
    fn codes(&mut self, value: u64) -> Result<(), Reason> {
        match self.expect {
            Expect::UsedRows => {
                (self.rows, self.row, self.in_use) = (value as u16, 0, 0);
                self.next_row()?;
            }
            Expect::UsedColumns => {
                for column in 0..16 {
                    if value >> (15 - column) & 1 == 1 {
                        self.tables.used[self.in_use] = (self.row * 16 + column) as u8;
                        self.in_use += 1;
                    }
                }
                self.row += 1;
                self.next_row()?;
            }
            Expect::Counts => {
                (self.codes, self.selectors) = ((value >> 15) as usize, value as usize & 0x7fff);
                if !(2..=CODES_MAX).contains(&self.codes) || self.selectors == 0 {
                    return Err(Reason::Damaged);
                }
                self.tables.selectors.clear();
                self.tables.recent = std::array::from_fn(|code| code as u8);
                (self.selector, self.code) = (0, 0);
                self.expect = Expect::Selectors;
            }
            Expect::Selectors => self.selector_digit(value)?,
            Expect::LengthFirst => {
                (self.length, self.symbol) = (value as u8, 0);
                self.code_length()?;
            }
            _ => self.code_length_digit(value)?,
        }
        Ok(())
    }

    /// The next row of the map that has bytes in use.
    fn next_row(&mut self) -> Result<(), Reason> {
        while self.row < 16 && self.rows >> (15 - self.row) & 1 == 0 {
            self.row += 1;
        }
        self.expect = if self.row < 16 { Expect::UsedColumns } else { Expect::Counts };
        if self.row == 16 && self.in_use == 0 { Err(Reason::Damaged) } else { Ok(()) }
    }

    /// A selector is told as a number of ones and a zero: how lately its code was used.
    fn selector_digit(&mut self, digit: u64) -> Result<(), Reason> {
        if digit == 1 {
            self.code += 1;
            return if self.code < self.codes { Ok(()) } else { Err(Reason::Damaged) };
        }
        let tables = &mut *self.tables;
        let code = tables.recent[self.code];
        tables.recent.copy_within(..self.code, 1);
        tables.recent[0] = code;
        if tables.selectors.len() < SELECTORS_MAX {
            tables.selectors.push(code);
        }
        self.code = 0;
        self.selector += 1;
        if self.selector == self.selectors {
            self.expect = Expect::LengthFirst;
        }
        Ok(())
    }

    /// Lengths are told as steps from the one before: 0 for none, 10 for up, 11 for down. `symbol` counts in halves,
    /// odd where the direction of a step is awaited.
    fn code_length_digit(&mut self, digit: u64) -> Result<(), Reason> {
        if self.symbol % 2 == 1 {
            self.symbol -= 1;
            self.length = if digit == 0 { self.length + 1 } else { self.length.wrapping_sub(1) };
            return self.code_length();
        }
        if digit == 1 {
            self.symbol += 1;
            return Ok(());
        }
        let symbols = self.in_use + 2;
        self.tables.lengths[self.symbol / 2] = self.length;
        self.symbol += 2;
        if self.symbol / 2 < symbols {
            return Ok(());
        }
        self.tables.codes[self.code].build(&self.tables.lengths[..symbols]);
        self.code += 1;
        if self.code < self.codes {
            self.expect = Expect::LengthFirst;
            return Ok(());
        }
        self.block.begin(&self.tables.used[..self.in_use]);
        (self.selector, self.group_left) = (0, 0);
        self.expect = Expect::Symbols;
        Ok(())
    }

    fn code_length(&mut self) -> Result<(), Reason> {
        self.expect = Expect::Length;
        if (1..=CODE_BITS_MAX).contains(&usize::from(self.length)) { Ok(()) } else { Err(Reason::Damaged) }
    }

    fn symbols(&mut self, input: &mut &[u8]) -> Result<Piece, Reason> {
        let end = self.in_use as u16 + 1;
        for done in 0..SYMBOLS_A_CALL {
            if self.group_left == 0 {
                self.code = usize::from(*self.tables.selectors.get(self.selector).ok_or(Reason::Damaged)?);
                self.selector += 1;
                self.group_left = GROUP_SYMBOLS;
            }
            self.bits.refill(input);
            let decoded = self.tables.codes[self.code].decode(self.bits.peek_20()).ok_or(Reason::Damaged)?;
            if decoded.bits > self.bits.count {
                self.worked_nanos += done as u64 * nanos::SYMBOL;
                return Ok(Piece::Wants);
            }
            if decoded.symbol > 1 && self.block.has_run() {
                // The run comes first; the symbol is met again behind it.
                let length = self.block.write_run()?;
                self.worked_nanos += length as u64 * nanos::RUN;
                if self.block.has_run() {
                    return Ok(Piece::Enough);
                }
            }
            self.bits.skip(decoded.bits);
            self.group_left -= 1;
            match decoded.symbol {
                0 | 1 => self.block.run_digit(u32::from(decoded.symbol) + 1)?,
                symbol if symbol == end => {
                    self.worked_nanos += done as u64 * nanos::SYMBOL;
                    self.block.end(self.origin, self.is_random)?;
                    self.expect = Expect::Prepare;
                    return Ok(Piece::Done);
                }
                symbol => self.block.write_recent(usize::from(symbol) - 1)?,
            }
        }
        self.worked_nanos += SYMBOLS_A_CALL as u64 * nanos::SYMBOL;
        Ok(Piece::Enough)
    }

    fn block_ended(&mut self) -> Result<(), Reason> {
        let crc = !self.block.crc;
        if crc != self.block_crc {
            return Err(Reason::Damaged);
        }
        self.stream_crc = self.stream_crc.rotate_left(1) ^ crc;
        self.expect = Expect::Magic;
        Ok(())
    }
}
