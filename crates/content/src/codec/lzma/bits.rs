//! LZMA's range decoder. Rule: a try learns nothing; where input is missing it reads zeros, and remembers it.

/// Whether what is read changes the probabilities, or is a try that may be made again.
pub(super) const LEARN: bool = true;
pub(super) const TRY: bool = false;

/// Probabilities are out of 2,048; at first either bit is as likely.
pub(super) const EVEN: u16 = 1 << 10;
const PROBABILITY_BITS: u32 = 11;
const LEARN_SHIFT: u16 = 5;
/// Below this the range takes in another byte.
const RANGE_MIN: u32 = 1 << 24;

/// Reads bits from these bytes.
#[derive(Clone)]
pub(super) struct Bits<'a> {
    pub range: u32,
    pub code: u32,
    pub input: &'a [u8],
    /// How much of the input was used.
    pub at: usize,
    /// Whether there was less input than was read.
    pub is_short: bool,
}

impl Bits<'_> {
    /// One bit with this probability of a zero.
    #[inline(always)]
    pub fn bit<const MODE: bool>(&mut self, probability: &mut u16) -> u32 {
        let bound = (self.range >> PROBABILITY_BITS) * u32::from(*probability);
        let bit = u32::from(self.code >= bound);
        if bit == 0 {
            self.range = bound;
            if MODE {
                *probability += ((1 << PROBABILITY_BITS) - *probability) >> LEARN_SHIFT;
            }
        } else {
            self.range -= bound;
            self.code -= bound;
            if MODE {
                *probability -= *probability >> LEARN_SHIFT;
            }
        }
        self.normalise();
        bit
    }

    /// So many bits, each as likely to be a zero as a one.
    pub fn direct(&mut self, count: u32) -> u32 {
        let mut value = 0;
        for _ in 0..count {
            self.range >>= 1;
            let bit = u32::from(self.code >= self.range);
            self.code -= self.range * bit;
            value = value << 1 | bit;
            self.normalise();
        }
        value
    }

    /// A number of so many bits, highest first; each has its own probability after those before it.
    #[inline(always)]
    pub fn tree<const MODE: bool>(&mut self, probabilities: &mut [u16], count: u32) -> u32 {
        let mut node = 1;
        for _ in 0..count {
            node = node << 1 | self.bit::<MODE>(&mut probabilities[node as usize]);
        }
        node - (1 << count)
    }

    /// As [`tree`](Self::tree), lowest bit first.
    pub fn reverse_tree<const MODE: bool>(&mut self, probabilities: &mut [u16], count: u32) -> u32 {
        let (mut node, mut value) = (1, 0);
        for place in 0..count {
            let bit = self.bit::<MODE>(&mut probabilities[node as usize]);
            node = node << 1 | bit;
            value |= bit << place;
        }
        value
    }

    #[inline(always)]
    fn normalise(&mut self) {
        if self.range < RANGE_MIN {
            let byte = match self.input.get(self.at) {
                Some(byte) => {
                    self.at += 1;
                    *byte
                }
                None => {
                    self.is_short = true;
                    0
                }
            };
            self.range <<= 8;
            self.code = self.code << 8 | u32::from(byte);
        }
    }
}
