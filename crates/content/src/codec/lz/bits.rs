//! Bits from bytes, the lowest first, at any cut. Rule: what was looked at and not committed is looked at again.

use super::Code;
use lockgate_model::Reason;

/// Bits that are there from one call to the next.
#[derive(Debug, Default)]
pub(crate) struct Reservoir {
    buffer: u64,
    count: u32,
}

/// Bits of a call: those that were left, then the input's.
pub(crate) struct Bits<'a> {
    reservoir: &'a mut Reservoir,
    input: &'a [u8],
    loaded: usize,
    /// Bits taken since the last commit.
    taken: u32,
}

impl<'a> Bits<'a> {
    /// Goes on with what was left.
    pub(crate) fn new(reservoir: &'a mut Reservoir, input: &'a [u8]) -> Self {
        Self { reservoir, input, loaded: 0, taken: 0 }
    }

    /// Takes so many bits, at most 32, if they are there.
    pub(crate) fn take(&mut self, count: u32) -> Option<u32> {
        self.load();
        if self.reservoir.count < self.taken + count {
            return None;
        }
        let bits = self.ahead() & ((1 << count) - 1);
        self.taken += count;
        Some(bits as u32)
    }

    /// Takes a symbol, if it is there.
    pub(crate) fn symbol(&mut self, code: &Code) -> Option<Result<u16, Reason>> {
        self.find(code, 0)
    }

    /// The same, of a code whose bits are written the other way round.
    pub(crate) fn inverted_symbol(&mut self, code: &Code) -> Option<Result<u16, Reason>> {
        self.find(code, u16::MAX)
    }

    fn find(&mut self, code: &Code, inversion: u16) -> Option<Result<u16, Reason>> {
        self.load();
        let there = self.reservoir.count - self.taken;
        let word = (self.ahead() as u16 ^ inversion).reverse_bits();
        match code.find(word) {
            Some((symbol, length)) if u32::from(length) <= there => {
                self.taken += u32::from(length);
                Some(Ok(symbol))
            }
            None if there >= 16 => Some(Err(Reason::Damaged)),
            // Bits that are not there may have been taken for others.
            _ => None,
        }
    }

    /// What was taken is done with.
    pub(crate) fn commit(&mut self) {
        self.reservoir.buffer = self.ahead();
        self.reservoir.count -= self.taken;
        self.taken = 0;
    }

    /// Passes over the rest of a byte that has been begun.
    pub(crate) fn align(&mut self) {
        self.taken += (self.reservoir.count - self.taken) % 8;
    }

    /// How much of the input was used, whole bytes that were not needed given back.
    pub(crate) fn used(self) -> usize {
        let back = (self.reservoir.count / 8).min(self.loaded as u32);
        self.reservoir.count -= back * 8;
        self.reservoir.buffer &= (1 << self.reservoir.count) - 1;
        self.loaded - back as usize
    }

    fn ahead(&self) -> u64 {
        if self.taken >= 64 { 0 } else { self.reservoir.buffer >> self.taken }
    }

    fn load(&mut self) {
        while self.reservoir.count <= 56 {
            let Some(byte) = self.input.get(self.loaded) else { return };
            self.reservoir.buffer |= u64::from(*byte) << self.reservoir.count;
            self.reservoir.count += 8;
            self.loaded += 1;
        }
    }
}
