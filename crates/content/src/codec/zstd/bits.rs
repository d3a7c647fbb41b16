//! Bits of a block, from its front and from its back (RFC 8878 section 4.1). Rule: what is not there reads as zero, and is told.

/// Bits in the order of the bytes, the lowest of each first.
pub(super) struct Forward<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Forward<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next bits, at most 32; those that are not there are zero.
    pub fn peek(&self, bits: u32) -> u32 {
        let word = load(self.bytes, self.at / 8) >> (self.at % 8);
        low(word, bits)
    }

    pub fn skip(&mut self, bits: u32) {
        self.at += bits as usize;
    }

    pub fn read(&mut self, bits: u32) -> u32 {
        let read = self.peek(bits);
        self.skip(bits);
        read
    }

    /// How many bytes were begun; `None` where there were not as many.
    pub fn bytes_used(&self) -> Option<usize> {
        Some(self.at.div_ceil(8)).filter(|used| *used <= self.bytes.len())
    }
}

/// Bits from the last one back; the last byte's highest one marks where they begin.
pub(super) struct Backward<'a> {
    bytes: &'a [u8],
    /// Bits that are left; below zero once more were read than there are.
    left: isize,
}

impl<'a> Backward<'a> {
    /// `None` where the mark is missing.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let last = *bytes.last().filter(|last| **last != 0)?;
        let left = bytes.len() * 8 - 1 - last.leading_zeros() as usize;
        Some(Self { bytes, left: isize::try_from(left).ok()? })
    }

    /// The next bits, at most 32.
    pub fn peek(&self, bits: u32) -> u32 {
        let bits_signed = bits as isize;
        if self.left >= bits_signed {
            let from = (self.left - bits_signed) as usize;
            return low(load(self.bytes, from / 8) >> (from % 8), bits);
        }
        if self.left <= 0 {
            return 0;
        }
        let there = self.left as u32;
        let missing = bits - there;
        (u64::from(low(load(self.bytes, 0), there)) << missing) as u32
    }

    pub fn skip(&mut self, bits: u32) {
        self.left -= bits as isize;
    }

    pub fn read(&mut self, bits: u32) -> u32 {
        let read = self.peek(bits);
        self.skip(bits);
        read
    }

    /// Whether all bits were read, and no more.
    pub fn is_at_end(&self) -> bool {
        self.left == 0
    }

    /// Whether more were read than there are.
    pub fn is_over(&self) -> bool {
        self.left < 0
    }
}

/// Eight bytes from there on, the first the lowest.
fn load(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(word) = rest.first_chunk::<8>() {
        return u64::from_le_bytes(*word);
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn low(word: u64, bits: u32) -> u32 {
    (word & ((1_u64 << bits) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let bytes = [0b1010_0110, 0b0000_0101];
        let mut forward = Forward::new(&bytes);
        assert_eq!((forward.read(3), forward.read(6), forward.bytes_used()), (0b110, 0b11_0100, Some(2)));
        assert_eq!((forward.read(20), forward.bytes_used()), (0b10, None));
        // The mark is the third bit of the last byte.
        let mut backward = Backward::new(&bytes).unwrap();
        assert_eq!((backward.read(3), backward.read(4)), (0b011, 0b0100));
        assert!(!backward.is_at_end());
        assert_eq!((backward.peek(5), backward.read(3), backward.is_at_end()), (0b1_1000, 0b110, true));
        assert_eq!((backward.read(7), backward.is_over()), (0, true));
        assert!(Backward::new(&[1, 0]).is_none() && Backward::new(&[]).is_none());
    }
}
