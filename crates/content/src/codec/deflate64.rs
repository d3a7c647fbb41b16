//! Deflate64 (APPNOTE.TXT, method 9; the codes are those of RFC 1951, but for the three longest). Rule: what ends well ended as
//! the format says.

use super::lz::{Bits, Code, Filled, Symbol, Symbols};
use lockgate_model::Reason;

/// How far back it reaches: twice as far as deflate.
const WINDOW_BYTES: usize = 64 << 10;
/// The order in which a code's code lengths come (RFC 1951, section 3.2.7).
const ORDER: [u8; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const END_OF_BLOCK: u16 = 256;

/// A stream on its way.
pub(crate) struct Deflate64 {
    expect: Expect,
    is_last: bool,
    /// The lengths of the codes that are being read.
    lengths: Vec<u8>,
    literals: usize,
    distances: usize,
    lengths_code: Option<Code>,
    codes: Option<(Code, Code)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Block,
    StoredLength,
    Stored(u16),
    Counts,
    LengthLengths(usize),
    Lengths,
    Symbol,
    /// Of a copy so long.
    Distance(usize),
}

impl Deflate64 {
    /// Awaits the first block.
    pub(crate) fn new() -> Self {
        Self {
            expect: Expect::Block,
            is_last: false,
            lengths: Vec::new(),
            literals: 0,
            distances: 0,
            lengths_code: None,
            codes: None,
        }
    }

    fn block(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        if self.is_last {
            return Some(Ok(Symbol::End));
        }
        let head = bits.take(3)?;
        match head >> 1 {
            0 => {
                bits.align();
                self.expect = Expect::StoredLength;
            }
            1 => {
                let literals: Vec<u8> = (0..288)
                    .map(|symbol| match symbol {
                        0..=143 | 280..=287 => 8,
                        144..=255 => 9,
                        _ => 7,
                    })
                    .collect();
                // The two symbols that do not occur are found out when they do.
                self.codes = Code::new(&literals, Filled::Whole).zip(Code::new(&[5; 32], Filled::Whole));
                self.expect = Expect::Symbol;
            }
            2 => self.expect = Expect::Counts,
            _ => return Some(Err(Reason::Damaged)),
        }
        self.is_last = head & 1 == 1;
        Some(Ok(Symbol::Nothing))
    }

    fn stored_length(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let (length, not_length) = (bits.take(16)? as u16, bits.take(16)? as u16);
        if length != !not_length {
            return Some(Err(Reason::Damaged));
        }
        self.expect = if length == 0 { Expect::Block } else { Expect::Stored(length) };
        Some(Ok(Symbol::Nothing))
    }

    fn stored(&mut self, left: u16, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let byte = bits.take(8)? as u8;
        self.expect = if left == 1 { Expect::Block } else { Expect::Stored(left - 1) };
        Some(Ok(Symbol::Literal(byte)))
    }

    fn counts(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let (literals, distances, lengths) = (bits.take(5)?, bits.take(5)?, bits.take(4)?);
        (self.literals, self.distances) = (literals as usize + 257, distances as usize + 1);
        if self.literals > 286 {
            return Some(Err(Reason::Damaged));
        }
        self.lengths.clear();
        self.lengths.resize(ORDER.len(), 0);
        self.expect = Expect::LengthLengths(lengths as usize + 4);
        self.lengths_code = None;
        Some(Ok(Symbol::Nothing))
    }

    /// Lengths of the code of lengths: all of them at once, in 57 bits at most.
    fn length_lengths(&mut self, count: usize, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let mut lengths = [0; ORDER.len()];
        for place in ORDER.iter().take(count) {
            lengths[usize::from(*place)] = bits.take(3)? as u8;
        }
        let Some(code) = Code::new(&lengths, Filled::Whole) else { return Some(Err(Reason::Damaged)) };
        self.lengths_code = Some(code);
        self.lengths.clear();
        self.expect = Expect::Lengths;
        Some(Ok(Symbol::Nothing))
    }

    fn lengths(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let code = self.lengths_code.as_ref()?;
        let symbol = match bits.symbol(code)? {
            Ok(symbol) => symbol,
            Err(reason) => return Some(Err(reason)),
        };
        let last = self.lengths.last().copied();
        let (length, count) = match symbol {
            16 => (last, bits.take(2)? + 3),
            17 => (Some(0), bits.take(3)? + 3),
            18 => (Some(0), bits.take(7)? + 11),
            length => (Some(length as u8), 1),
        };
        let whole = self.literals + self.distances;
        let (Some(length), true) = (length, self.lengths.len() + count as usize <= whole) else {
            return Some(Err(Reason::Damaged));
        };
        self.lengths.resize(self.lengths.len() + count as usize, length);
        if self.lengths.len() == whole {
            let (literals, distances) = self.lengths.split_at(self.literals);
            let codes = Code::new(literals, Filled::Whole).zip(Code::new(distances, Filled::Whole));
            if codes.is_none() || literals[usize::from(END_OF_BLOCK)] == 0 {
                return Some(Err(Reason::Damaged));
            }
            (self.codes, self.expect) = (codes, Expect::Symbol);
        }
        Some(Ok(Symbol::Nothing))
    }

    fn symbol(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let (literals, _) = self.codes.as_ref()?;
        let symbol = match bits.symbol(literals)? {
            Ok(symbol) => symbol,
            Err(reason) => return Some(Err(reason)),
        };
        let length = match symbol {
            0..=255 => return Some(Ok(Symbol::Literal(symbol as u8))),
            END_OF_BLOCK => {
                self.expect = Expect::Block;
                return Some(Ok(Symbol::Nothing));
            }
            257..=264 => usize::from(symbol) - 254,
            265..=284 => {
                let extra = u32::from(symbol - 261) / 4;
                let base = (4 + u32::from(symbol - 261) % 4) << extra;
                (base + bits.take(extra)? + 3) as usize
            }
            // Deflate's longest copy has a symbol of its own; here it has 16 bits more.
            285 => bits.take(16)? as usize + 3,
            _ => return Some(Err(Reason::Damaged)),
        };
        self.expect = Expect::Distance(length);
        Some(Ok(Symbol::Nothing))
    }

    fn distance(&mut self, length: usize, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let (_, distances) = self.codes.as_ref()?;
        let symbol = match bits.symbol(distances)? {
            Ok(symbol) => u32::from(symbol),
            Err(reason) => return Some(Err(reason)),
        };
        let distance = match symbol {
            0..=3 => symbol + 1,
            _ => {
                let extra = symbol / 2 - 1;
                ((2 + symbol % 2) << extra) + bits.take(extra)? + 1
            }
        };
        self.expect = Expect::Symbol;
        Some(Ok(Symbol::Copy { distance: distance as usize, length }))
    }
}

impl Symbols for Deflate64 {
    fn next(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        match self.expect {
            Expect::Block => self.block(bits),
            Expect::StoredLength => self.stored_length(bits),
            Expect::Stored(left) => self.stored(left, bits),
            Expect::Counts => self.counts(bits),
            Expect::LengthLengths(count) => self.length_lengths(count, bits),
            Expect::Lengths => self.lengths(bits),
            Expect::Symbol => self.symbol(bits),
            Expect::Distance(length) => self.distance(length, bits),
        }
    }

    fn window_bytes(&self) -> usize {
        WINDOW_BYTES
    }
}
