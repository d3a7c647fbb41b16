//! What PKZIP imploded (APPNOTE.TXT, method 6). Rule: it ends where the entry's size says, and nowhere else.

use super::lz::{Before, Bits, Code, Filled, Symbol, Symbols};
use lockgate_model::Reason;

/// Bits of the general purpose flag: which window, and whether literals have a code.
const FLAG_LARGE_WINDOW: u16 = 1 << 1;
const FLAG_LITERAL_CODE: u16 = 1 << 2;
const WINDOW_BYTES: usize = 8 << 10;
/// Symbols of the codes for lengths and for the upper bits of distances.
const SYMBOLS: usize = 64;
const LITERALS: usize = 256;

/// A stream on its way.
pub(crate) struct Implode {
    expect: Expect,
    distance_bits: u32,
    length_min: usize,
    /// The lengths of the code that is being read.
    lengths: Vec<u8>,
    /// Of literals, where they have one; of lengths; of distances.
    codes: Vec<Code>,
    has_literal_code: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// The number of bytes that tell a code.
    CodeBytes,
    /// So many of them.
    Code(u32),
    Symbol,
}

impl Implode {
    /// Awaits the codes; the flags are the entry's.
    pub(crate) fn new(flags: u16) -> Self {
        let has_literal_code = flags & FLAG_LITERAL_CODE != 0;
        Self {
            expect: Expect::CodeBytes,
            distance_bits: if flags & FLAG_LARGE_WINDOW != 0 { 7 } else { 6 },
            length_min: if has_literal_code { 3 } else { 2 },
            lengths: Vec::new(),
            codes: Vec::new(),
            has_literal_code,
        }
    }

    /// A byte tells the length of so many symbols in turn.
    fn code(&mut self, left: u32, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        let byte = bits.take(8)?;
        let (length, count) = ((byte & 15) as u8 + 1, (byte >> 4) as usize + 1);
        let is_of_literals = self.has_literal_code && self.codes.is_empty();
        let symbols = if is_of_literals { LITERALS } else { SYMBOLS };
        self.lengths.resize(self.lengths.len() + count, length);
        if self.lengths.len() > symbols {
            return Some(Err(Reason::Damaged));
        }
        self.expect = Expect::Code(left - 1);
        if left == 1 {
            let code = Code::new(&self.lengths, Filled::Partly).filter(|_| self.lengths.len() == symbols);
            let Some(code) = code else { return Some(Err(Reason::Damaged)) };
            self.codes.push(code);
            self.lengths.clear();
            let codes = if self.has_literal_code { 3 } else { 2 };
            self.expect = if self.codes.len() == codes { Expect::Symbol } else { Expect::CodeBytes };
        }
        Some(Ok(Symbol::Nothing))
    }

    /// The codes' bits stand inverted.
    fn symbol(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        if bits.take(1)? == 1 {
            let literal = match self.codes.first().filter(|_| self.has_literal_code) {
                Some(code) => bits.inverted_symbol(code)?,
                None => Ok(bits.take(8)? as u16),
            };
            return Some(literal.map(|literal| Symbol::Literal(literal as u8)));
        }
        let low = bits.take(self.distance_bits)?;
        let [.., lengths, distances] = self.codes.as_slice() else { return Some(Err(Reason::Damaged)) };
        let high = match bits.inverted_symbol(distances)? {
            Ok(high) => u32::from(high),
            Err(reason) => return Some(Err(reason)),
        };
        let length = match bits.inverted_symbol(lengths)? {
            Ok(length) => usize::from(length),
            Err(reason) => return Some(Err(reason)),
        };
        let more = if length == SYMBOLS - 1 { bits.take(8)? as usize } else { 0 };
        let distance = (high << self.distance_bits | low) as usize + 1;
        Some(Ok(Symbol::Copy { distance, length: length + more + self.length_min }))
    }
}

impl Symbols for Implode {
    fn next(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>> {
        match self.expect {
            Expect::CodeBytes => {
                self.expect = Expect::Code(bits.take(8)? + 1);
                Some(Ok(Symbol::Nothing))
            }
            Expect::Code(left) => self.code(left, bits),
            Expect::Symbol => self.symbol(bits),
        }
    }

    fn window_bytes(&self) -> usize {
        WINDOW_BYTES
    }

    /// PKZIP's window is full of zeros at first, and its streams make use of that.
    fn before(&self) -> Before {
        Before::Zeros
    }
}
