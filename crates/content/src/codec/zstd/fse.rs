//! Finite state entropy (RFC 8878 section 4.1): tables of it. Rule: a table is whole or there is none.

use super::bits::{Backward, Forward};

/// The most that any table has.
pub(super) const ACCURACY_MAX: u32 = 9;
/// What reading a description may cost: symbols that there can be.
const SYMBOLS_MAX: usize = 256;

/// One state: what it stands for, and which state follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    symbol: u8,
    bits: u8,
    base: u16,
}

/// States by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    states: Box<[State]>,
    accuracy: u32,
}

impl Table {
    /// Of one symbol alone, which takes no bits.
    pub fn of_one(symbol: u8) -> Self {
        Self { states: [State { symbol, bits: 0, base: 0 }].into(), accuracy: 0 }
    }

    /// From how often each symbol is (-1 is less than once), which adds up to two to the accuracy.
    pub fn new(often: &[i16], accuracy: u32) -> Option<Self> {
        let size = 1_usize << accuracy;
        let mut states = vec![State::default(); size];
        let mut next = [0_u16; SYMBOLS_MAX];
        let mut high = size;
        for (symbol, _) in often.iter().enumerate().filter(|(_, count)| **count == -1) {
            high = high.checked_sub(1)?;
            states.get_mut(high)?.symbol = u8::try_from(symbol).ok()?;
            *next.get_mut(symbol)? = 1;
        }
        let (step, mask) = ((size >> 1) + (size >> 3) + 3, size - 1);
        let mut at = 0;
        for (symbol, count) in often.iter().enumerate().filter(|(_, count)| **count > 0) {
            *next.get_mut(symbol)? = u16::try_from(*count).ok()?;
            for _ in 0..*count {
                states.get_mut(at)?.symbol = u8::try_from(symbol).ok()?;
                // Each place is met once before any is met again.
                at = (at + step) & mask;
                while at >= high && high > 0 {
                    at = (at + step) & mask;
                }
            }
        }
        for state in &mut states {
            let number = next.get_mut(usize::from(state.symbol))?;
            let bits = accuracy.checked_sub(number.checked_ilog2()?)?;
            state.bits = u8::try_from(bits).ok()?;
            state.base = u16::try_from((usize::from(*number) << bits).checked_sub(size)?).ok()?;
            *number += 1;
        }
        Some(Self { states: states.into(), accuracy })
    }

    /// From a description at the front of these bytes, with the bytes that it takes.
    pub fn read(bytes: &[u8], accuracy_max: u32, symbols_max: usize) -> Option<(Self, usize)> {
        let mut bits = Forward::new(bytes);
        let accuracy = bits.read(4) + 5;
        if accuracy > accuracy_max {
            return None;
        }
        let mut often: Vec<i16> = Vec::with_capacity(symbols_max);
        let mut left = 1_u32 << accuracy;
        while left > 0 && often.len() < symbols_max {
            let count = read_count(&mut bits, left);
            let taken = u32::from(count.unsigned_abs());
            left = left.checked_sub(taken)?;
            often.push(count);
            if count == 0 {
                loop {
                    let zeros = bits.read(2);
                    often.extend((0..zeros).map(|_| 0));
                    if zeros < 3 || often.len() > symbols_max {
                        break;
                    }
                }
            }
        }
        let used = bits.bytes_used()?;
        if left > 0 || often.len() > symbols_max {
            return None;
        }
        Some((Self::new(&often, accuracy)?, used))
    }

    /// The first state.
    pub fn begin(&self, bits: &mut Backward<'_>) -> usize {
        bits.read(self.accuracy) as usize
    }

    /// What a state stands for.
    pub fn symbol(&self, state: usize) -> u8 {
        self.states.get(state).map_or(0, |state| state.symbol)
    }

    /// The state that follows.
    pub fn follow(&self, state: usize, bits: &mut Backward<'_>) -> usize {
        let State { bits: count, base, .. } = self.states.get(state).copied().unwrap_or_default();
        usize::from(base) + bits.read(u32::from(count)) as usize
    }
}

/// How often the next symbol is: numbers that are nearer to zero than fits may take a bit less.
fn read_count(bits: &mut Forward<'_>, left: u32) -> i16 {
    let values = left + 1;
    let width = values.ilog2() + 1;
    let value = bits.peek(width);
    let low_mask = (1 << (width - 1)) - 1;
    let threshold = (1 << width) - 1 - values;
    let value = if value & low_mask < threshold {
        bits.skip(width - 1);
        value & low_mask
    } else {
        bits.skip(width);
        if value > low_mask { value - threshold } else { value }
    };
    value as i16 - 1
}
