//! What a symbol teaches the contexts that it was met in. Rule: where no memory is left for it, it is said which have learnt it.

use super::super::FREQUENCY_MAX;
use super::super::arena::{Found, STATE_BYTES, State};
use super::{Model, ORDER_MAX, kind, kind_of};
use lockgate_model::Reason;

/// What learning came to.
enum Learnt {
    /// The context that follows.
    Next(u32),
    /// The memory is used up: contexts longer than this one have learnt the symbol.
    Full(u32),
}

impl Model {
    /// Learns from the symbol that was found.
    pub(super) fn update(&mut self) -> Result<(), Reason> {
        let found = self.counting.arena.state(self.counting.found);
        let in_suffix = self.counting.arena.learn_in_suffix(self.counting.min_context, found);
        match self.learn(found, in_suffix)? {
            Learnt::Next(context) => self.counting.max_context = context,
            Learnt::Full(until) => self.restore(until)?,
        }
        Ok(())
    }

    fn learn(&mut self, mut found: State, in_suffix: Option<u32>) -> Result<Learnt, Reason> {
        let longest = self.counting.max_context;
        if self.counting.order_fall == 0 && found.successor != 0 {
            let context = self.create_successors(Found::InLongest, in_suffix, self.counting.min_context)?;
            self.counting.arena.set_successor(self.counting.found, context.unwrap_or(0));
            return Ok(context.map_or(Learnt::Full(longest), Learnt::Next));
        }
        let Some(mut successor) = self.counting.arena.push_text(found.symbol)? else {
            return Ok(Learnt::Full(longest));
        };
        let follows = if found.successor == 0 {
            self.reduce_order(in_suffix)?
        } else if self.counting.arena.is_unit(found.successor) {
            Some(found.successor)
        } else {
            self.create_successors(Found::InShorter, in_suffix, self.counting.min_context)?
        };
        let Some(follows) = follows else { return Ok(Learnt::Full(longest)) };
        found.successor = follows;
        self.counting.order_fall = self.counting.order_fall.saturating_sub(1);
        if self.counting.order_fall == 0 {
            successor = follows;
            if self.counting.max_context != self.counting.min_context {
                self.counting.arena.pop_text();
            }
        }
        self.learn_in_longer(found, successor)
    }

    /// All contexts between the longest and the one that knew the symbol learn it.
    fn learn_in_longer(&mut self, found: State, successor: u32) -> Result<Learnt, Reason> {
        let known = self.counting.arena.count(self.counting.min_context);
        let frequency = u32::from(found.frequency);
        let others = self
            .counting
            .arena
            .sum(self.counting.min_context)
            .wrapping_sub(known - 1)
            .wrapping_sub(frequency);
        let mut context = self.counting.max_context;
        while context != self.counting.min_context && context != 0 {
            let count = self.counting.arena.count(context);
            if !self.make_room(context, known)? {
                return Ok(Learnt::Full(context));
            }
            let arena = &mut self.counting.arena;
            let sum = arena.sum(context);
            let (weight, scale) = (2 * frequency * (sum + 6), others.wrapping_add(sum));
            let above = |times: u32| u32::from(weight > times.wrapping_mul(scale));
            let (new, more) = if weight < scale.wrapping_mul(6) {
                (1 + above(1) + u32::from(weight >= scale.wrapping_mul(4)), 4)
            } else {
                let new = 4 + above(9) + above(12) + above(15);
                (new, new)
            };
            arena.set_sum(context, sum + more);
            let at = arena.states(context) + count * STATE_BYTES;
            arena.set_state(at, State { symbol: found.symbol, frequency: new as u8, successor });
            arena.set_kind(context, arena.kind(context) | kind_of(found.symbol));
            arena.set_count(context, count + 1);
            context = arena.suffix(context);
        }
        Ok(Learnt::Next(found.successor))
    }

    /// Room for one more symbol in a context, and what it makes of the sum. `false` where the memory is used up.
    fn make_room(&mut self, context: u32, known: u32) -> Result<bool, Reason> {
        let arena = &mut self.counting.arena;
        let count = arena.count(context);
        if count > 1 {
            if count.is_multiple_of(2) {
                let Some(states) = arena.expand(arena.states(context), count / 2)? else { return Ok(false) };
                arena.set_states(context, states);
            }
            arena.set_sum(context, arena.sum(context) + u32::from(3 * (count - 1) + 1 < known - 1));
            return Ok(true);
        }
        let Some(states) = arena.new_units(1)? else { return Ok(false) };
        let mut only = arena.state(arena.only_state(context));
        let is_rare = u32::from(only.frequency) < FREQUENCY_MAX / 4 - 1;
        only.frequency = if is_rare { only.frequency * 2 } else { FREQUENCY_MAX as u8 - 4 };
        arena.set_state(states, only);
        arena.set_states(context, states);
        let sum = u32::from(only.frequency) + self.counting.initial_escape + u32::from(known > 3);
        arena.set_sum(context, sum);
        Ok(true)
    }

    /// The symbol was not followed by anything yet: a shorter context that it is known to follow from; `None` where the
    /// memory is used up.
    fn reduce_order(&mut self, mut in_suffix: Option<u32>) -> Result<Option<u32>, Reason> {
        let branch = self.counting.arena.text();
        let symbol = self.counting.arena.byte(self.counting.found);
        self.counting.arena.set_successor(self.counting.found, branch);
        self.counting.order_fall += 1;
        let mut context = self.counting.min_context;
        let at = loop {
            let shorter = self.counting.arena.suffix(context);
            if shorter == 0 {
                return Ok(Some(context));
            }
            context = shorter;
            let at = match in_suffix.take() {
                Some(at) => at,
                None => self.count_again(context, symbol),
            };
            if self.counting.arena.state(at).successor != 0 {
                break at;
            }
            self.counting.arena.set_successor(at, branch);
            self.counting.order_fall += 1;
        };
        if self.counting.arena.state(at).successor <= branch {
            let found = std::mem::replace(&mut self.counting.found, at);
            let created = self.create_successors(Found::InShorter, None, context)?;
            self.counting.found = found;
            self.counting.arena.set_successor(at, created.unwrap_or(0));
        }
        let successor = self.counting.arena.state(at).successor;
        if self.counting.order_fall == 1 && self.counting.min_context == self.counting.max_context {
            self.counting.arena.set_successor(self.counting.found, successor);
            self.counting.arena.pop_text();
        }
        Ok((successor != 0).then_some(successor))
    }

    /// A symbol counts for a context; where it stands there.
    fn count_again(&mut self, context: u32, symbol: u8) -> u32 {
        let arena = &mut self.counting.arena;
        let is_alone = arena.count(context) == 1;
        let at = if is_alone { arena.only_state(context) } else { arena.find(context, symbol) };
        let mut state = arena.state(at);
        if is_alone {
            state.frequency += u8::from(state.frequency < 32);
        } else if u32::from(state.frequency) < FREQUENCY_MAX - 9 {
            state.frequency += 2;
            arena.set_sum(context, arena.sum(context) + 2);
        }
        arena.set_state(at, state);
        at
    }

    /// The context that follows the symbol that was found in this one; `None` where the memory is used up.
    fn create_successors(
        &mut self,
        found: Found,
        mut in_suffix: Option<u32>,
        mut context: u32,
    ) -> Result<Option<u32>, Reason> {
        let State { symbol, successor: branch, .. } = self.counting.arena.state(self.counting.found);
        let mut states = [0; ORDER_MAX as usize + 1];
        let mut count = 0;
        if found == Found::InShorter {
            states[0] = self.counting.found;
            count = 1;
        }
        while self.counting.arena.suffix(context) != 0 {
            context = self.counting.arena.suffix(context);
            let at = match in_suffix.take() {
                Some(at) => at,
                None => self.count_slightly(context, symbol),
            };
            let successor = self.counting.arena.state(at).successor;
            if successor != branch {
                context = successor;
                break;
            }
            *states.get_mut(count).ok_or(Reason::Damaged)? = at;
            count += 1;
        }
        if count == 0 {
            return Ok(Some(context));
        }
        if !self.counting.arena.is_unit(context) {
            return Err(Reason::Damaged);
        }
        let next = self.counting.arena.byte(branch);
        let first =
            State { symbol: next, frequency: self.frequency_in(context, next), successor: branch + 1 };
        let after = if kind_of(symbol) == 0 { 0 } else { kind::AFTER_HIGH };
        for state in states[..count].iter().rev() {
            let Some(child) = self.counting.arena.new_context()? else { return Ok(None) };
            self.counting.arena.set_kind(child, after | kind_of(next));
            self.counting.arena.set_suffix(child, context);
            self.counting.arena.set_state(self.counting.arena.only_state(child), first);
            self.counting.arena.set_successor(*state, child);
            context = child;
        }
        Ok(Some(context))
    }

    /// A symbol counts a little for a context; where it stands there.
    fn count_slightly(&mut self, context: u32, symbol: u8) -> u32 {
        let arena = &mut self.counting.arena;
        let is_alone = arena.count(context) == 1;
        let at = if is_alone { arena.only_state(context) } else { arena.find(context, symbol) };
        let mut state = arena.state(at);
        if is_alone {
            let is_shorter_alone = arena.count(arena.suffix(context)) == 1;
            state.frequency += u8::from(is_shorter_alone && state.frequency < 24);
        } else if u32::from(state.frequency) < FREQUENCY_MAX - 9 {
            state.frequency += 1;
            arena.set_sum(context, arena.sum(context) + 1);
        }
        arena.set_state(at, state);
        at
    }

    /// How often a new context is taken to have met the symbol, by how often its suffix has.
    fn frequency_in(&self, context: u32, symbol: u8) -> u8 {
        let known = self.counting.arena.count(context);
        if known == 1 {
            return self.counting.arena.state(self.counting.arena.only_state(context)).frequency;
        }
        let frequency =
            u32::from(self.counting.arena.state(self.counting.arena.find(context, symbol)).frequency);
        let own = frequency.saturating_sub(1);
        let others = self.counting.arena.sum(context).saturating_sub(known - 1).saturating_sub(own);
        let more = if 2 * own <= others {
            u32::from(5 * own > others)
        } else {
            (own + 2 * others).saturating_sub(3) / others.max(1)
        };
        (1 + more) as u8
    }
}
