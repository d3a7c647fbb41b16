//! The range coders that the model is used with. Rule: bytes come from elsewhere, and never fail; behind the end they are 0.

use super::BINARY_SCALE_BITS;
use crate::codec::lzhuf::bits::Bits;

/// Where a coder's bytes come from.
pub(crate) trait Bytes {
    /// The next byte; 0 behind the end.
    fn next(&mut self) -> u8;
}

impl Bytes for Bits {
    fn next(&mut self) -> u8 {
        self.take_byte()
    }
}

/// Tells which part of a range comes next.
pub(crate) trait Coder {
    /// Where in a range of this scale the next symbol is; it may be beyond it where the stream is damaged.
    fn count(&mut self, scale: u32) -> u32;

    /// The symbol was this part of the range.
    fn decode(&mut self, low: u32, size: u32, bytes: &mut impl Bytes);

    /// Whether the first of two symbols comes, which has so many of 16,384 parts.
    fn is_first(&mut self, size: u32, bytes: &mut impl Bytes) -> bool;
}

/// The most bytes that one symbol of the model takes: a few for each order that is escaped from.
pub(crate) const SYMBOL_BYTES_MAX: usize = 4 * (super::ORDER_MAX as usize + 2);

/// RAR's, and zip's: without carry.
#[derive(Clone, Debug)]
pub(crate) struct CarrylessCoder {
    low: u32,
    code: u32,
    range: u32,
}

impl CarrylessCoder {
    /// Begins with four bytes.
    pub(crate) fn new(bytes: &mut impl Bytes) -> Self {
        let code = (0..4).fold(0, |code, _| code << 8 | u32::from(bytes.next()));
        Self { low: 0, code, range: u32::MAX }
    }

    fn normalise(&mut self, bytes: &mut impl Bytes) {
        const TOP: u32 = 1 << 24;
        const BOTTOM: u32 = 1 << 15;
        loop {
            if self.low ^ self.low.wrapping_add(self.range) >= TOP {
                if self.range >= BOTTOM {
                    return;
                }
                self.range = self.low.wrapping_neg() & (BOTTOM - 1);
            }
            self.code = self.code << 8 | u32::from(bytes.next());
            self.low <<= 8;
            self.range <<= 8;
            if self.range == 0 {
                // Only where the stream is damaged.
                self.range = u32::MAX;
                return;
            }
        }
    }
}

impl Coder for CarrylessCoder {
    fn count(&mut self, scale: u32) -> u32 {
        self.range = (self.range / scale.max(1)).max(1);
        self.code.wrapping_sub(self.low) / self.range
    }

    fn decode(&mut self, low: u32, size: u32, bytes: &mut impl Bytes) {
        self.low = self.low.wrapping_add(low.wrapping_mul(self.range));
        self.range = self.range.wrapping_mul(size);
        self.normalise(bytes);
    }

    fn is_first(&mut self, size: u32, bytes: &mut impl Bytes) -> bool {
        let is_first = self.count(1 << BINARY_SCALE_BITS) < size;
        if is_first {
            self.decode(0, size, bytes);
        } else {
            self.decode(size, (1 << BINARY_SCALE_BITS) - size, bytes);
        }
        is_first
    }
}

/// 7z's, which is LZMA's.
#[derive(Clone, Debug)]
pub(crate) struct SevenZipCoder {
    code: u32,
    range: u32,
}

impl SevenZipCoder {
    /// Begins with five bytes, of which the first is 0; `None` where it is not.
    pub(crate) fn new(bytes: &mut impl Bytes) -> Option<Self> {
        let is_right = bytes.next() == 0;
        let code = (0..4).fold(0, |code, _| code << 8 | u32::from(bytes.next()));
        (is_right && code != u32::MAX).then_some(Self { code, range: u32::MAX })
    }

    fn normalise(&mut self, bytes: &mut impl Bytes) {
        for _ in 0..2 {
            if self.range < 1 << 24 {
                self.code = self.code << 8 | u32::from(bytes.next());
                self.range <<= 8;
            }
        }
    }
}

impl Coder for SevenZipCoder {
    fn count(&mut self, scale: u32) -> u32 {
        self.range = (self.range / scale.max(1)).max(1);
        self.code / self.range
    }

    fn decode(&mut self, low: u32, size: u32, bytes: &mut impl Bytes) {
        self.code = self.code.wrapping_sub(low.wrapping_mul(self.range));
        self.range = self.range.wrapping_mul(size);
        self.normalise(bytes);
    }

    fn is_first(&mut self, size: u32, bytes: &mut impl Bytes) -> bool {
        let bound = (self.range >> BINARY_SCALE_BITS).wrapping_mul(size);
        let is_first = self.code < bound;
        if is_first {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        self.normalise(bytes);
        is_first
    }
}
