//! Bits from bytes, most significant first, at any cut. Rule: it takes no more bytes than it is asked for bits.

/// Bits taken from the input and not yet used.
#[derive(Debug, Default)]
pub(super) struct Bits {
    buffer: u64,
    pub(super) count: u32,
}

impl Bits {
    /// Whether so many bits (at most 48) are there, after taking what is missing from the input.
    pub(super) fn need(&mut self, count: u32, input: &mut &[u8]) -> bool {
        while self.count < count {
            let Some((first, rest)) = input.split_first() else { return false };
            self.buffer = self.buffer << 8 | u64::from(*first);
            self.count += 8;
            *input = rest;
        }
        true
    }

    /// Takes so many bits, which must be there.
    pub(super) fn take(&mut self, count: u32) -> u64 {
        self.count -= count;
        self.buffer >> self.count & ((1 << count) - 1)
    }

    /// Takes four bytes at once where fewer than 20 bits are there: enough for any symbol. Symbols are followed by 80
    /// bits at least, so that nothing is taken from behind the stream.
    pub(super) fn refill(&mut self, input: &mut &[u8]) {
        if self.count >= 20 {
            return;
        }
        if let Some((four, rest)) = input.split_first_chunk::<4>() {
            self.buffer = self.buffer << 32 | u64::from(u32::from_be_bytes(*four));
            self.count += 32;
            *input = rest;
        } else {
            self.need(20, input);
        }
    }

    /// The next 20 bits; those that are not there are 0.
    pub(super) fn peek_20(&self) -> u32 {
        let bits = if self.count >= 20 {
            self.buffer >> (self.count - 20)
        } else {
            self.buffer << (20 - self.count)
        };
        bits as u32 & 0xf_ffff
    }

    /// Passes over so many bits, which must be there.
    pub(super) fn skip(&mut self, count: u32) {
        self.count -= count;
    }

    /// Forgets the rest of a byte that has been begun.
    pub(super) fn align(&mut self) {
        self.count -= self.count % 8;
    }
}
