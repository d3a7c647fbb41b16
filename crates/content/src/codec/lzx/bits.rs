//! Bits from words of 16, the highest first. Rule: behind the end are zeros, and who takes some is told.

use crate::codec::lz::Code;
use crate::field::u16_le;

/// What zeros may be looked at behind the end.
const SPARE_BITS: usize = 64;

/// Bits of one frame.
pub(super) struct Bits<'a> {
    input: &'a [u8],
    /// Bytes loaded, and how many there would be.
    at: usize,
    buffer: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0, buffer: 0, count: 0 }
    }

    fn load(&mut self) {
        while self.count <= 48 {
            let left = self.input.get(self.at..).unwrap_or_default();
            let word = if left.len() == 1 { left[0].into() } else { u16_le(left, 0) };
            self.buffer |= u64::from(word) << (48 - self.count);
            self.count += 16;
            self.at = self.at.saturating_add(2);
        }
    }

    /// Takes so many bits, at most 17.
    pub(super) fn take(&mut self, count: u32) -> u32 {
        if count == 0 {
            return 0;
        }
        self.load();
        let bits = (self.buffer >> (64 - count)) as u32;
        self.buffer <<= count;
        self.count -= count;
        bits
    }

    pub(super) fn take_32(&mut self) -> u32 {
        self.take(16) << 16 | self.take(16)
    }

    pub(super) fn symbol(&mut self, code: &Code) -> Option<u16> {
        self.load();
        let (symbol, length) = code.find((self.buffer >> 48) as u16)?;
        self.buffer <<= length;
        self.count -= u32::from(length);
        Some(symbol)
    }

    /// Whether nothing behind the end was taken.
    pub(super) fn is_within(&self) -> bool {
        let taken = self.at.saturating_mul(8).saturating_sub(self.count as usize);
        debug_assert!(self.count as usize <= SPARE_BITS);
        taken <= self.input.len().next_multiple_of(2) * 8
    }

    /// Passes over the rest of a word that has been begun, or over a whole one.
    pub(super) fn align(&mut self) {
        self.load();
        let rest = if self.count.is_multiple_of(16) { 16 } else { self.count % 16 };
        self.count -= rest;
        self.at = self.at.saturating_sub(self.count as usize / 8);
        (self.buffer, self.count) = (0, 0);
    }

    /// Bytes as they are, where no bits are left over.
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        self.at = self.at.saturating_sub(self.count as usize / 8);
        (self.buffer, self.count) = (0, 0);
        let bytes = self.input.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(bytes)
    }

    /// Passes over the byte that makes an odd number even.
    pub(super) fn skip_byte(&mut self) {
        self.at = self.at.saturating_sub(self.count as usize / 8) + 1;
        (self.buffer, self.count) = (0, 0);
    }
}
