//! Variant H, as RAR 3 and 7z have it. Rule: when its memory is used up it begins anew.

mod context;
mod stream;
mod successors;

pub(crate) use stream::seven_zip;

use super::arena::{self, Arena, CONTEXT_BYTES, Found, Joining, State};
use super::counting::Counting;
use super::{
    BINARY_SCALE_BITS, Bytes, Coder, ESCAPES_AT_FIRST, Estimate, FREQUENCY_MAX, ORDER_MAX, PERIOD_BITS,
};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// The least memory with which there is any model.
const MEMORY_BYTES_MIN: u32 = 1 << 11;

/// What is predicted from what.
pub(crate) struct Model {
    counting: Counting,
    high_bits: u8,
    binary: Vec<[u16; 64]>,
    estimates: [[Estimate; 16]; 25],
    no_estimate: Estimate,
}

impl Model {
    /// A model of this order in so many bytes of memory, drawn from the pool as they are used.
    ///
    /// # Errors
    ///
    /// Damaged where there is no such model.
    pub(crate) fn new(pool: &Arc<Pool>, order_max: u32, memory_bytes: u32) -> Result<Self, Reason> {
        if !(2..=ORDER_MAX).contains(&order_max) || memory_bytes < MEMORY_BYTES_MIN {
            return Err(Reason::Damaged);
        }
        let mut model = Self {
            counting: Counting::new(Arena::new(pool, memory_bytes, Joining::Marked)?, order_max),
            high_bits: 0,
            binary: vec![[0; 64]; 128],
            estimates: [[Estimate::default(); 16]; 25],
            no_estimate: Estimate::NONE,
        };
        model.restart()?;
        Ok(model)
    }

    /// Forgets everything.
    fn restart(&mut self) -> Result<(), Reason> {
        self.counting.restart()?;
        for (frequency, row) in self.binary.iter_mut().enumerate() {
            for (at, cell) in row.iter_mut().enumerate() {
                *cell = (1 << BINARY_SCALE_BITS) - ESCAPES_AT_FIRST[at % 8] / (frequency as u16 + 2);
            }
        }
        for (at, row) in self.estimates.iter_mut().enumerate() {
            row.fill(Estimate { sum: (5 * at as u16 + 10) << 3, shift: PERIOD_BITS as u8 - 4, count: 4 });
        }
        Ok(())
    }

    /// The next byte; `None` where the coder says that there is none, as 7z's may.
    ///
    /// # Errors
    ///
    /// Damaged where it says what cannot be, or as the pool says.
    pub(crate) fn next(
        &mut self,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<Option<u8>, Reason> {
        if self.counting.arena.count(self.counting.min_context) == 1 {
            self.binary_symbol(coder, bytes);
        } else {
            self.first_symbol(coder, bytes)?;
        }
        while self.counting.found == 0 {
            if !self.counting.shorten() {
                return Ok(None);
            }
            self.escaped_symbol(coder, bytes)?;
        }
        let found = self.counting.arena.state(self.counting.found);
        if self.counting.order_fall == 0 && found.successor > self.counting.arena.text() {
            self.counting.min_context = found.successor;
            self.counting.max_context = found.successor;
        } else {
            self.update()?;
        }
        Ok(Some(found.symbol))
    }

    /// Learns from the symbol that was found.
    fn update(&mut self) -> Result<(), Reason> {
        if !self.learn()? {
            self.restart()?;
        }
        Ok(())
    }

    /// `false` where the memory is used up.
    fn learn(&mut self) -> Result<bool, Reason> {
        let mut found = self.counting.arena.state(self.counting.found);
        let in_suffix = self.counting.arena.learn_in_suffix(self.counting.min_context, found);
        if self.counting.order_fall == 0 {
            let Some(context) = self.create_successors(Found::InLongest, in_suffix)? else {
                return Ok(false);
            };
            (self.counting.min_context, self.counting.max_context) = (context, context);
            self.counting.arena.set_successor(self.counting.found, context);
            return Ok(true);
        }
        let Some(mut successor) = self.counting.arena.push_text(found.symbol)? else { return Ok(false) };
        if found.successor != 0 {
            if found.successor <= self.counting.arena.text() {
                match self.create_successors(Found::InShorter, in_suffix)? {
                    Some(context) => found.successor = context,
                    None => return Ok(false),
                }
            }
            self.counting.order_fall -= 1;
            if self.counting.order_fall == 0 {
                successor = found.successor;
                if self.counting.max_context != self.counting.min_context {
                    self.counting.arena.pop_text();
                }
            }
        } else {
            self.counting.arena.set_successor(self.counting.found, successor);
            found.successor = self.counting.min_context;
        }
        if !self.learn_in_longer(found, successor)? {
            return Ok(false);
        }
        (self.counting.min_context, self.counting.max_context) = (found.successor, found.successor);
        Ok(true)
    }

    /// All contexts between the longest and the one that knew the symbol learn it. `false` where the memory is used up.
    fn learn_in_longer(&mut self, found: State, successor: u32) -> Result<bool, Reason> {
        let arena = &mut self.counting.arena;
        let known = arena.count(self.counting.min_context);
        let frequency = u32::from(found.frequency);
        let others =
            arena.sum(self.counting.min_context).wrapping_sub(known).wrapping_sub(frequency.wrapping_sub(1));
        let mut context = self.counting.max_context;
        while context != self.counting.min_context && context != 0 {
            let count = arena.count(context);
            if count == 1 {
                let Some(states) = arena.new_units(1)? else { return Ok(false) };
                let mut only = arena.state(arena.only_state(context));
                let doubled = u32::from(only.frequency) * 2;
                let is_rare = u32::from(only.frequency) < FREQUENCY_MAX / 4 - 1;
                only.frequency = if is_rare { doubled } else { FREQUENCY_MAX - 4 } as u8;
                arena.set_state(states, only);
                arena.set_states(context, states);
                let sum = u32::from(only.frequency) + self.counting.initial_escape + u32::from(known > 3);
                arena.set_sum(context, sum);
            } else {
                if count.is_multiple_of(2) {
                    let Some(states) = arena.expand(arena.states(context), count / 2)? else {
                        return Ok(false);
                    };
                    arena.set_states(context, states);
                }
                let sum = arena.sum(context);
                let is_small = 4 * count <= known && sum <= 8 * count;
                arena.set_sum(context, sum + u32::from(2 * count < known) + 2 * u32::from(is_small));
            }
            let sum = arena.sum(context);
            let (weight, scale) = (2 * frequency * (sum + 6), others.wrapping_add(sum));
            let above = |times: u32| u32::from(weight >= times.wrapping_mul(scale));
            let (new, more) = if weight < scale.wrapping_mul(6) {
                (1 + u32::from(weight > scale) + above(4), 3)
            } else {
                let new = 4 + above(9) + above(12) + above(15);
                (new, new)
            };
            arena.set_sum(context, sum + more);
            let at = arena.states(context) + count * arena::STATE_BYTES;
            arena.set_state(at, State { symbol: found.symbol, frequency: new as u8, successor });
            arena.set_count(context, count + 1);
            context = arena.suffix(context);
        }
        Ok(true)
    }
}

/// Whether a context's place makes sense: it is no byte of text.
fn is_context(arena: &Arena, at: u32) -> bool {
    at > arena.text() && at.checked_add(CONTEXT_BYTES).is_some()
}

#[cfg(test)]
pub(crate) mod tests;
