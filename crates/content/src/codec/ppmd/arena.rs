//! The model's memory: text from below, units of 12 bytes above it. Rule: it is granted as it is first used, and every place
//! in it is bounded by it.
//!
//! How blocks are found, split and joined decides when the memory is used up, and with it what the model predicts; so it
//! is done as the original does it. Places are numbers of bytes from the arena's beginning; 0 is no place.

mod joining;

use super::FREQUENCY_MAX;
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// A unit, and what lies before the first so that no place is 0.
const UNIT_BYTES: u32 = 12;
/// A context: how many symbols but one, of what kind, the sum of their frequencies, their place, the context that is shorter by one.
pub(super) const CONTEXT_BYTES: u32 = UNIT_BYTES;
/// A state: a symbol, its frequency, the context that follows it.
pub(super) const STATE_BYTES: u32 = 6;
/// Sizes of blocks: 1 to 4 units, then in steps of 2, 3 and 4 up to 128.
const SIZES: usize = 38;
/// By how much the grant grows.
const GRANT_BYTES: u32 = 64 << 10;
/// What the model holds beside the memory itself.
const BESIDE_BYTES: u64 = 32 << 10;

/// How free blocks that stand side by side become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joining {
    /// They are marked while it is done, as variant H does it.
    Marked,
    /// They are always marked and counted, as variant I does it.
    Stamped,
}

/// Where the symbol was found for which contexts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In the longest context: it has its successor from the caller.
    InLongest,
    InShorter,
}

/// A symbol in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) symbol: u8,
    pub(super) frequency: u8,
    pub(super) successor: u32,
}

/// The memory.
pub(super) struct Arena {
    /// Zeros that the system does not back with memory before they are used.
    bytes: Vec<u8>,
    text: u32,
    units_start: u32,
    low: u32,
    high: u32,
    free: [u32; SIZES],
    /// How many blocks are free.
    free_count: [u32; SIZES],
    joining: Joining,
    /// How often a block was not found, down to the next joining.
    glue_count: u32,
    units_of: [u32; SIZES],
    size_of: [u8; 128],
    grant: Grant,
    /// Bytes of text, of units, of contexts above, and of units that took the place of text that are granted.
    granted: [u32; 4],
}

impl Arena {
    /// So many bytes.
    ///
    /// # Errors
    ///
    /// As the pool says.
    pub(super) fn new(pool: &Arc<Pool>, bytes: u32, joining: Joining) -> Result<Self, Reason> {
        let mut units_of = [0; SIZES];
        for (at, units) in (0_u32..).zip(&mut units_of) {
            *units = match at {
                0..=3 => at + 1,
                4..=7 => 6 + (at - 4) * 2,
                8..=11 => 15 + (at - 8) * 3,
                _ => 28 + (at - 12) * 4,
            };
        }
        let mut size_of = [0; 128];
        let mut size = 0;
        for (units, place) in (1_u32..).zip(&mut size_of) {
            if units_of[usize::from(size)] < units {
                size += 1;
            }
            *place = size;
        }
        let length =
            usize::try_from(bytes).map_err(|_| Reason::Held)?.saturating_add(2 * UNIT_BYTES as usize);
        let mut arena = Self {
            bytes: vec![0; length],
            text: 0,
            units_start: 0,
            low: 0,
            high: 0,
            free: [0; SIZES],
            free_count: [0; SIZES],
            joining,
            glue_count: 0,
            units_of,
            size_of,
            grant: pool.grant(),
            granted: [0; 4],
        };
        arena.grant.grow(BESIDE_BYTES)?;
        Ok(arena)
    }

    /// All is free.
    pub(super) fn restart(&mut self) {
        (self.free, self.free_count) = ([0; SIZES], [0; SIZES]);
        self.text = UNIT_BYTES;
        self.high = self.top();
        self.low = self.units_begin();
        self.units_start = self.low;
        self.glue_count = 0;
    }

    /// Where units begin at first: an eighth is for text.
    fn units_begin(&self) -> u32 {
        let size = self.top() - UNIT_BYTES;
        self.top() - size / 8 / UNIT_BYTES * 7 * UNIT_BYTES
    }

    /// Sees to it that a region is granted so far.
    fn touch(&mut self, region: usize, bytes: u32) -> Result<(), Reason> {
        if bytes > self.granted[region] {
            let more = (bytes - self.granted[region]).max(GRANT_BYTES);
            // Regions that give way to one another are not granted twice.
            let all = self.bytes.len() as u64 + BESIDE_BYTES;
            self.grant.grow(u64::from(more).min(all.saturating_sub(self.grant.bytes())))?;
            self.granted[region] += more;
        }
        Ok(())
    }

    fn top(&self) -> u32 {
        self.bytes.len() as u32 - UNIT_BYTES
    }

    /// Where the next byte of text goes: contexts stand above it.
    pub(super) fn text(&self) -> u32 {
        self.text
    }

    /// One more byte of text; its end, or `None` where it meets the units.
    pub(super) fn push_text(&mut self, byte: u8) -> Result<Option<u32>, Reason> {
        self.touch(0, self.text)?;
        if let Some(place) = self.bytes.get_mut(self.text as usize) {
            *place = byte;
        }
        self.text += 1;
        Ok((self.text < self.units_start).then_some(self.text))
    }

    /// One byte of text less.
    pub(super) fn pop_text(&mut self) {
        self.text -= 1;
    }

    /// The byte there.
    pub(super) fn byte(&self, at: u32) -> u8 {
        self.bytes.get(at as usize).copied().unwrap_or(0)
    }

    fn u16(&self, at: u32) -> u16 {
        let two = self.bytes.get(at as usize..at as usize + 2).and_then(|b| b.try_into().ok());
        two.map_or(0, u16::from_le_bytes)
    }

    fn u32(&self, at: u32) -> u32 {
        let four = self.bytes.get(at as usize..at as usize + 4).and_then(|b| b.try_into().ok());
        four.map_or(0, u32::from_le_bytes)
    }

    fn put<const N: usize>(&mut self, at: u32, bytes: [u8; N]) {
        if let Some(place) = self.bytes.get_mut(at as usize..at as usize + N) {
            place.copy_from_slice(&bytes);
        }
    }

    /// How many symbols a context knows.
    pub(super) fn count(&self, context: u32) -> u32 {
        u32::from(self.byte(context)) + 1
    }

    pub(super) fn set_count(&mut self, context: u32, count: u32) {
        self.put(context, [count.wrapping_sub(1) as u8]);
    }

    /// Of what kind it is, as variant I has it.
    pub(super) fn kind(&self, context: u32) -> u8 {
        self.byte(context + 1)
    }

    pub(super) fn set_kind(&mut self, context: u32, kind: u8) {
        self.put(context + 1, [kind]);
    }

    /// The sum of its frequencies, and of what is kept for escapes.
    pub(super) fn sum(&self, context: u32) -> u32 {
        self.u16(context + 2).into()
    }

    pub(super) fn set_sum(&mut self, context: u32, sum: u32) {
        self.put(context + 2, (sum as u16).to_le_bytes());
    }

    /// Where its states are, if there are several.
    pub(super) fn states(&self, context: u32) -> u32 {
        self.u32(context + 4)
    }

    pub(super) fn set_states(&mut self, context: u32, states: u32) {
        self.put(context + 4, states.to_le_bytes());
    }

    /// Where its state is, if there is one.
    pub(super) fn only_state(&self, context: u32) -> u32 {
        context + 2
    }

    /// The context that is shorter by one; 0 for the shortest.
    pub(super) fn suffix(&self, context: u32) -> u32 {
        self.u32(context + 8)
    }

    pub(super) fn set_suffix(&mut self, context: u32, suffix: u32) {
        self.put(context + 8, suffix.to_le_bytes());
    }

    pub(super) fn state(&self, at: u32) -> State {
        let six: [u8; 6] =
            self.bytes.get(at as usize..at as usize + 6).and_then(|b| b.try_into().ok()).unwrap_or_default();
        let [symbol, frequency, a, b, c, d] = six;
        State { symbol, frequency, successor: u32::from_le_bytes([a, b, c, d]) }
    }

    pub(super) fn set_state(&mut self, at: u32, state: State) {
        let [a, b, c, d] = state.successor.to_le_bytes();
        self.put(at, [state.symbol, state.frequency, a, b, c, d]);
    }

    pub(super) fn set_successor(&mut self, state: u32, successor: u32) {
        self.put(state + 2, successor.to_le_bytes());
    }

    /// Where a context with several symbols has this one; its last where it has not, which does not happen.
    pub(super) fn find(&self, context: u32, symbol: u8) -> u32 {
        let first = self.states(context);
        let last = self.count(context).saturating_sub(1);
        let is_it = |at: &u32| self.byte(first + at * STATE_BYTES) == symbol;
        first + (0..last).find(is_it).unwrap_or(last) * STATE_BYTES
    }

    /// The symbol counts for the next shorter context, too; where it stands there.
    pub(super) fn learn_in_suffix(&mut self, context: u32, found: State) -> Option<u32> {
        let suffix = self.suffix(context);
        if u32::from(found.frequency) >= FREQUENCY_MAX / 4 || suffix == 0 {
            return None;
        }
        if self.count(suffix) == 1 {
            let at = self.only_state(suffix);
            let mut state = self.state(at);
            state.frequency += u8::from(state.frequency < 32);
            self.set_state(at, state);
            return Some(at);
        }
        let first = self.states(suffix);
        let mut at = self.find(suffix, found.symbol);
        if at != first {
            let before = self.state(at - STATE_BYTES);
            let state = self.state(at);
            if state.frequency >= before.frequency {
                self.set_state(at, before);
                at -= STATE_BYTES;
                self.set_state(at, state);
            }
        }
        let mut state = self.state(at);
        if u32::from(state.frequency) < FREQUENCY_MAX - 9 {
            state.frequency += 2;
            self.set_state(at, state);
            self.set_sum(suffix, self.sum(suffix).wrapping_add(2));
        }
        Some(at)
    }

    /// A new context of no symbols and no suffix; `None` where the memory is used up.
    pub(super) fn new_context(&mut self) -> Result<Option<u32>, Reason> {
        let context = if self.high != self.low {
            self.high -= UNIT_BYTES;
            let above = self.top() - self.high;
            self.touch(2, above)?;
            Some(self.high)
        } else if self.free[0] != 0 {
            Some(self.pop(0))
        } else {
            self.rare_units(0)?
        };
        if let Some(context) = context {
            // One symbol.
            self.put(context, [0; UNIT_BYTES as usize]);
        }
        Ok(context)
    }

    /// So many units, up to 128, of anything; `None` where the memory is used up.
    pub(super) fn new_units(&mut self, units: u32) -> Result<Option<u32>, Reason> {
        let size = self.size_for(units);
        if self.free[size] != 0 {
            return Ok(Some(self.pop(size)));
        }
        let bytes = self.units_of[size] * UNIT_BYTES;
        if self.high - self.low >= bytes {
            let place = self.low;
            self.low += bytes;
            let below = self.low - self.units_begin();
            self.touch(1, below)?;
            return Ok(Some(place));
        }
        self.rare_units(size)
    }

    /// One unit more for a block of so many; where it is then.
    pub(super) fn expand(&mut self, block: u32, units: u32) -> Result<Option<u32>, Reason> {
        let size = self.size_for(units);
        if size == self.size_for(units + 1) {
            return Ok(Some(block));
        }
        let Some(place) = self.new_units(units + 1)? else { return Ok(None) };
        self.copy(block, place, units);
        self.push(block, size);
        Ok(Some(place))
    }

    /// Fewer units for a block of so many; where it is then.
    pub(super) fn shrink(&mut self, block: u32, units: u32, new_units: u32) -> u32 {
        let (size, new_size) = (self.size_for(units), self.size_for(new_units));
        if size == new_size {
            return block;
        }
        if self.free[new_size] != 0 {
            let place = self.pop(new_size);
            self.copy(block, place, new_units);
            self.push(block, size);
            return place;
        }
        self.split(block, size, new_size);
        block
    }

    /// A block of so many units is free.
    pub(super) fn release(&mut self, block: u32, units: u32) {
        self.push(block, self.size_for(units));
    }

    fn size_for(&self, units: u32) -> usize {
        let place =
            usize::try_from(units).unwrap_or(usize::MAX).saturating_sub(1).min(self.size_of.len() - 1);
        usize::from(self.size_of[place])
    }

    fn copy(&mut self, from: u32, to: u32, units: u32) {
        let (from, to, length) = (from as usize, to as usize, (units * UNIT_BYTES) as usize);
        if from + length <= self.bytes.len() && to + length <= self.bytes.len() {
            self.bytes.copy_within(from..from + length, to);
        }
    }

    /// Frees what a block has beyond a smaller size.
    fn split(&mut self, block: u32, size: usize, new_size: usize) {
        let mut rest = self.units_of[size] - self.units_of[new_size];
        let mut place = block + self.units_of[new_size] * UNIT_BYTES;
        let mut fitting = self.size_for(rest);
        if self.units_of[fitting] != rest {
            fitting -= 1;
            self.push(place, fitting);
            place += self.units_of[fitting] * UNIT_BYTES;
            rest -= self.units_of[fitting];
            fitting = self.size_for(rest);
        }
        self.push(place, fitting);
    }

    /// A block where none of its size is free and no units are left between.
    fn rare_units(&mut self, size: usize) -> Result<Option<u32>, Reason> {
        if self.glue_count == 0 {
            self.glue();
            if self.free[size] != 0 {
                return Ok(Some(self.pop(size)));
            }
        }
        if let Some(larger) = (size + 1..SIZES).find(|larger| self.free[*larger] != 0) {
            let block = self.pop(larger);
            self.split(block, larger, size);
            return Ok(Some(block));
        }
        self.glue_count = self.glue_count.wrapping_sub(1);
        let bytes = self.units_of[size] * UNIT_BYTES;
        if self.units_start - self.text <= bytes {
            return Ok(None);
        }
        self.units_start -= bytes;
        let instead_of_text = self.units_begin().saturating_sub(self.units_start);
        self.touch(3, instead_of_text)?;
        Ok(Some(self.units_start))
    }
}
