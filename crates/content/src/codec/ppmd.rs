//! PPMd (D. Shkarin, "PPM: one step to practicality", 2002): what its variants share. Rule: the same numbers in the same
//! order as everybody's, for a model that is off by one reads noise from there on.
//!
//! A model predicts the next byte from the up to 64 bytes before it and learns from what it was. It knows nothing of where
//! its bits come from: each format has a range coder of its own, which is a [`Coder`].

mod arena;
mod coder;
mod counting;
pub(crate) mod h;
pub(crate) mod i;

pub(crate) use coder::{Bytes, CarrylessCoder, Coder, SYMBOL_BYTES_MAX, SevenZipCoder};

/// What a byte costs, for each KiB.
pub(crate) const NANOS_PER_KIB: u32 = 100_000;
/// The highest order, as its byte allows.
pub(crate) const ORDER_MAX: u32 = 64;

/// The scale of a context with one symbol, and how fast what is known of it follows.
const BINARY_SCALE_BITS: u32 = 14;
const PERIOD_BITS: u32 = 7;
const INTERVAL: u16 = 1 << PERIOD_BITS;
/// No symbol is counted further.
const FREQUENCY_MAX: u32 = 124;
/// Symbols above this are told apart from those below.
const HIGH_SYMBOL: u8 = 0x40;
/// Escapes at first, by how certain the context was.
const ESCAPES_AT_FIRST: [u16; 8] = [0x3cdd, 0x1f3f, 0x59bf, 0x48f3, 0x64a1, 0x5abc, 0x6632, 0x6051];
/// Escapes of a context that has just got its second symbol.
const ESCAPES: [u8; 16] = [25, 14, 9, 7, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2];

/// How often a context of a kind escaped: the secondary estimation.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    sum: u16,
    shift: u8,
    count: u8,
}

impl Estimate {
    /// Of contexts of which nothing is learnt.
    const NONE: Self = Self { sum: 0, shift: PERIOD_BITS as u8, count: 64 };

    fn mean(&mut self) -> u32 {
        let mean = self.sum >> self.shift;
        self.sum = self.sum.wrapping_sub(mean);
        u32::from(mean).max(1)
    }

    fn update(&mut self) {
        if u32::from(self.shift) >= PERIOD_BITS {
            return;
        }
        self.count = self.count.wrapping_sub(1);
        if self.count == 0 {
            self.sum = self.sum.wrapping_shl(1);
            self.count = (3_u32 << self.shift) as u8;
            self.shift += 1;
        }
    }
}
