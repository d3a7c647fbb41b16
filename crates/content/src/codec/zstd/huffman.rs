//! Huffman codes of literals (RFC 8878 section 4.2). Rule: a code is complete or there is none.

use super::bits::Backward;
use super::fse::Table;

/// The longest code.
const CODE_BITS_MAX: u32 = 11;
const WEIGHTS_MAX: usize = 255;
const WEIGHT_ACCURACY_MAX: u32 = 6;

/// What a run of bits stands for, and how many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    symbol: u8,
    bits: u8,
}

/// A code, by the bits that may come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Code {
    entries: Box<[Entry]>,
    bits: u32,
}

impl Code {
    /// From a description at the front of these bytes, with the bytes that it takes.
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (head, rest) = bytes.split_first()?;
        let head = usize::from(*head);
        if head < 128 {
            let weights = packed_weights(rest.get(..head)?)?;
            return Some((Self::new(&weights)?, 1 + head));
        }
        let count = head - 127;
        let used = count.div_ceil(2);
        let halves = rest.get(..used)?.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let weights: Vec<u8> = halves.take(count).collect();
        Some((Self::new(&weights)?, 1 + used))
    }

    /// From the weights of all symbols but the last, whose weight is what is missing.
    fn new(weights: &[u8]) -> Option<Self> {
        let mut sum = 0_u32;
        for weight in weights.iter().filter(|weight| **weight > 0) {
            sum += 1 << (u32::from(*weight) - 1).min(CODE_BITS_MAX);
        }
        let bits = sum.checked_ilog2()? + 1;
        let missing = (1_u32 << bits) - sum;
        if bits > CODE_BITS_MAX || !missing.is_power_of_two() {
            return None;
        }
        let last = u8::try_from(missing.ilog2() + 1).ok()?;
        let mut entries = Vec::with_capacity(1 << bits);
        for weight in 1..=bits {
            for (symbol, own) in weights.iter().chain([&last]).enumerate() {
                if u32::from(*own) == weight {
                    let entry = Entry { symbol: u8::try_from(symbol).ok()?, bits: (bits + 1 - weight) as u8 };
                    entries.extend((0..1 << (weight - 1)).map(|_| entry));
                }
            }
        }
        (entries.len() == 1 << bits).then(|| Self { entries: entries.into(), bits })
    }

    /// Decodes one stream, which has so many symbols and no bit more.
    pub fn decode(&self, stream: &[u8], symbols: usize, out: &mut Vec<u8>) -> Option<()> {
        let mut bits = Backward::new(stream)?;
        for _ in 0..symbols {
            let entry = self.entries.get(bits.peek(self.bits) as usize)?;
            bits.skip(u32::from(entry.bits));
            out.push(entry.symbol);
        }
        bits.is_at_end().then_some(())
    }
}

/// Weights in two interleaved states.
fn packed_weights(bytes: &[u8]) -> Option<Vec<u8>> {
    let (table, used) = Table::read(bytes, WEIGHT_ACCURACY_MAX, WEIGHTS_MAX)?;
    let mut bits = Backward::new(bytes.get(used..)?)?;
    let mut states = [table.begin(&mut bits), table.begin(&mut bits)];
    let mut weights = Vec::new();
    loop {
        for turn in 0..2 {
            weights.push(table.symbol(states[turn]));
            states[turn] = table.follow(states[turn], &mut bits);
            if bits.is_over() {
                weights.push(table.symbol(states[1 - turn]));
                return (weights.len() <= WEIGHTS_MAX).then_some(weights);
            }
            if weights.len() > WEIGHTS_MAX {
                return None;
            }
        }
    }
}
