//! Bits from bytes, most significant first, with what a symbol may need kept ahead. Rule: behind the end there are zeros, and it is known.

use crate::decoder::More;

/// What is held ahead: more than the longest description of codes takes.
const HELD_BYTES: usize = 8 << 10;
/// A number is read from eight bytes.
const LOAD_BYTES: usize = 8;

/// Input that was taken and is not used up.
pub(crate) struct Bits {
    bytes: Vec<u8>,
    filled: usize,
    /// The next bit.
    at: usize,
    /// Bytes that were dropped before those that are held.
    dropped: u64,
    has_ended: bool,
}

impl Bits {
    /// Nothing is there yet.
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; HELD_BYTES + LOAD_BYTES], filled: 0, at: 0, dropped: 0, has_ended: false }
    }

    /// Another stream begins.
    pub(crate) fn begin(&mut self) {
        (self.filled, self.at, self.dropped, self.has_ended) = (0, 0, 0, false);
    }

    /// Bits used since the stream began.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.dropped * 8 + self.at as u64
    }

    /// Takes what there is room for; answers how much.
    pub(crate) fn feed(&mut self, input: &[u8], more: More) -> usize {
        let start = (self.at / 8).min(self.filled);
        if start > 0 && (HELD_BYTES - self.filled) < input.len() {
            self.bytes.copy_within(start..self.filled, 0);
            self.filled -= start;
            self.at -= start * 8;
            self.dropped += start as u64;
        }
        let used = input.len().min(HELD_BYTES - self.filled);
        if used > 0 {
            self.bytes[self.filled..self.filled + used].copy_from_slice(&input[..used]);
            self.filled += used;
        }
        if used == input.len() && more == More::Ended && !self.has_ended {
            self.has_ended = true;
            self.bytes[self.filled..].fill(0);
        }
        used
    }

    /// Whether so many bits are there, or all that will ever be.
    #[inline]
    pub(crate) fn has(&self, bits: usize) -> bool {
        self.at + bits <= self.filled * 8 || self.has_ended
    }

    /// Whether more was used than there was.
    #[inline]
    pub(crate) fn is_overrun(&self) -> bool {
        self.at > self.filled * 8
    }

    /// Whether the stream has ended and all of it is used.
    pub(crate) fn is_used_up(&self) -> bool {
        self.has_ended && self.at >= self.filled * 8
    }

    /// The next bits, 1 to 32.
    #[inline]
    pub(crate) fn peek(&self, count: u32) -> u32 {
        let byte = self.at / 8;
        let eight = self.bytes.get(byte..byte + LOAD_BYTES).and_then(|b| b.try_into().ok());
        let word = eight.map_or(0, u64::from_be_bytes) << (self.at % 8);
        (word >> (64 - count)) as u32
    }

    /// Passes over so many bits.
    #[inline]
    pub(crate) fn skip(&mut self, count: u32) {
        self.at += count as usize;
    }

    /// Takes so many bits, 0 to 32.
    #[inline]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        if count == 0 {
            return 0;
        }
        let bits = self.peek(count);
        self.skip(count);
        bits
    }

    /// Takes one bit.
    #[inline]
    pub(crate) fn is_set(&mut self) -> bool {
        self.take(1) == 1
    }

    /// Passes over the rest of a byte that has been begun.
    pub(crate) fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }

    /// Whole bytes from here on, as many as are there; for a coder that reads bytes.
    pub(crate) fn take_byte(&mut self) -> u8 {
        self.take(8) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_in_order_and_the_end_is_known() {
        let mut bits = Bits::new();
        assert_eq!(bits.feed(&[0b1010_0101, 0xff], More::Follows), 2);
        assert!(bits.has(16) && !bits.has(17));
        assert_eq!((bits.take(4), bits.peek(6), bits.take(0)), (0b1010, 0b01_0111, 0));
        bits.skip(6);
        bits.align();
        assert!(!bits.has(1));
        bits.feed(&[0x80], More::Ended);
        assert!(bits.has(100) && bits.is_set() && !bits.is_overrun() && !bits.is_used_up());
        assert_eq!(bits.take(32), 0);
        assert!(bits.is_overrun() && bits.is_used_up());
    }

    #[test]
    fn more_than_it_holds_passes_through() {
        let mut bits = Bits::new();
        let input: Vec<u8> = (0..HELD_BYTES * 3).map(|i| (i / 7) as u8).collect();
        let (mut fed, mut taken) = (0, Vec::new());
        while taken.len() < input.len() {
            fed += bits.feed(&input[fed..], More::Ended);
            for _ in 0..1000.min(input.len() - taken.len()) {
                assert!(bits.has(8));
                taken.push(bits.take_byte());
            }
        }
        assert!(taken == input && !bits.is_overrun());
    }
}
