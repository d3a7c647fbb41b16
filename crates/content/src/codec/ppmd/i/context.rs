//! Finding a symbol in a context: alone, among all, among those that were not escaped from. Rule: what is counted is kept sorted enough.

use super::super::arena::{STATE_BYTES, State};
use super::super::{Bytes, Coder, ESCAPES, Estimate, FREQUENCY_MAX, INTERVAL, binary_mean};
use super::{Model, ROWS, kind, kind_of};
use lockgate_model::Reason;

/// The frequency beyond which a symbol that is alone is not counted.
const ALONE_FREQUENCY_MAX: u8 = 196;

impl Model {
    /// A context that knows one symbol.
    pub(super) fn binary_symbol(&mut self, coder: &mut impl Coder, bytes: &mut impl Bytes) {
        let at = self.arena.only_state(self.min_context);
        let mut state = self.arena.state(at);
        let by_count = match self.arena.count(self.arena.suffix(self.min_context)) {
            0 | 1 => 0,
            2 => 2,
            3..=11 => 4,
            _ => 6,
        };
        let column = usize::from(self.previous_success)
            + by_count
            + usize::from(self.arena.kind(self.min_context))
            + (self.run_length >> 26 & 0x20) as usize;
        let row = usize::from(ROWS[usize::from(state.frequency.saturating_sub(1))]);
        let cell = &mut self.binary[row.min(24)][column & 63];
        let mean = binary_mean(*cell);
        if coder.is_first((*cell).into(), bytes) {
            *cell = cell.wrapping_add(INTERVAL - mean);
            self.found = at;
            state.frequency += u8::from(state.frequency < ALONE_FREQUENCY_MAX);
            self.arena.set_state(at, state);
            self.previous_success = 1;
            self.run_length += 1;
        } else {
            *cell -= mean;
            self.initial_escape = ESCAPES[usize::from(*cell >> 10) & 15].into();
            self.char_mask[usize::from(state.symbol)] = self.escape_count;
            (self.masked, self.previous_success, self.found) = (1, 0, 0);
        }
    }

    /// A context that knows several, none of them excluded.
    pub(super) fn first_symbol(
        &mut self,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<(), Reason> {
        let context = self.min_context;
        let scale = self.arena.sum(context);
        let count = coder.count(scale);
        if count >= scale {
            return Err(Reason::Damaged);
        }
        let first = self.arena.states(context);
        let frequency = u32::from(self.arena.state(first).frequency);
        if count < frequency {
            coder.decode(0, frequency, bytes);
            let is_likely = 2 * frequency >= scale;
            self.previous_success = is_likely.into();
            self.run_length += i32::from(is_likely);
            self.found = first;
            self.count_found(context);
            return Ok(());
        }
        self.previous_success = 0;
        let known = self.arena.count(context);
        let mut below = frequency;
        for at in 1..known {
            let place = first + at * STATE_BYTES;
            let frequency = u32::from(self.arena.state(place).frequency);
            if below + frequency > count {
                coder.decode(below, frequency, bytes);
                self.found = place;
                self.count_and_move(context);
                return Ok(());
            }
            below += frequency;
        }
        coder.decode(below, scale.saturating_sub(below), bytes);
        for at in 0..known {
            self.char_mask[usize::from(self.arena.byte(first + at * STATE_BYTES))] = self.escape_count;
        }
        (self.masked, self.found) = (known, 0);
        Ok(())
    }

    /// A context that was escaped to: what longer ones knew is excluded.
    pub(super) fn escaped_symbol(
        &mut self,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<(), Reason> {
        let context = self.min_context;
        let (known, first) = (self.arena.count(context), self.arena.states(context));
        let escape = self.estimate(context).mean();
        // As many as the context knows more than the longer one, even where that knew others.
        let mut places = [0; 256];
        let (mut left, mut sum) = (0, 0);
        for place in (0..known).map(|at| first + at * STATE_BYTES) {
            let state = self.arena.state(place);
            if left + self.masked as usize == known as usize {
                break;
            }
            if self.char_mask[usize::from(state.symbol)] != self.escape_count {
                sum += u32::from(state.frequency);
                places[left] = place;
                left += 1;
            }
        }
        let scale = escape + sum;
        let count = coder.count(scale);
        if count >= scale {
            return Err(Reason::Damaged);
        }
        if count >= sum {
            coder.decode(sum, escape, bytes);
            let estimate = self.estimate(context);
            estimate.sum = estimate.sum.wrapping_add(scale as u16);
            for place in &places[..left] {
                self.char_mask[usize::from(self.arena.byte(*place))] = self.escape_count;
            }
            self.masked = known;
            return Ok(());
        }
        let mut below = 0;
        for place in &places[..left] {
            let frequency = u32::from(self.arena.state(*place).frequency);
            if below + frequency > count {
                coder.decode(below, frequency, bytes);
                self.estimate(context).update();
                self.found = *place;
                self.count_found(context);
                self.escape_count = self.escape_count.wrapping_add(1);
                self.run_length = self.initial_run_length;
                return Ok(());
            }
            below += frequency;
        }
        Err(Reason::Damaged)
    }

    /// What is known of escapes from contexts like this one.
    fn estimate(&mut self, context: u32) -> &mut Estimate {
        let arena = &self.arena;
        let known = arena.count(context);
        if known == 256 {
            self.no_estimate.sum = 0;
            return &mut self.no_estimate;
        }
        let shorter = arena.count(arena.suffix(context));
        let column = usize::from(arena.sum(context) > 11 * known)
            + 2 * usize::from(2 * known < shorter + self.masked)
            + usize::from(arena.kind(context));
        let row = usize::from(ROWS[known as usize + 1]).saturating_sub(3);
        &mut self.estimates[row.min(23)][column & 31]
    }

    /// The symbol that was found counts more.
    fn count_found(&mut self, context: u32) {
        let mut state = self.arena.state(self.found);
        state.frequency = state.frequency.wrapping_add(4);
        self.arena.set_state(self.found, state);
        self.arena.set_sum(context, self.arena.sum(context) + 4);
        if u32::from(state.frequency) > FREQUENCY_MAX {
            self.rescale(context);
        }
    }

    /// The same, and it moves before the one that it overtakes.
    fn count_and_move(&mut self, context: u32) {
        let mut state = self.arena.state(self.found);
        state.frequency = state.frequency.wrapping_add(4);
        self.arena.set_sum(context, self.arena.sum(context) + 4);
        let before = self.arena.state(self.found - STATE_BYTES);
        if state.frequency <= before.frequency {
            self.arena.set_state(self.found, state);
            return;
        }
        self.arena.set_state(self.found, before);
        self.found -= STATE_BYTES;
        self.arena.set_state(self.found, state);
        if u32::from(state.frequency) > FREQUENCY_MAX {
            self.rescale(context);
        }
    }

    /// Halves all frequencies, sorts, and drops what comes to nothing. The symbol that was found comes first.
    fn rescale(&mut self, context: u32) {
        let (known, first) = (self.arena.count(context), self.arena.states(context));
        let adder = u32::from(self.order_fall != 0);
        let mut states: Vec<State> =
            (0..known).map(|at| self.arena.state(first + at * STATE_BYTES)).collect();
        let found = ((self.found - first) / STATE_BYTES) as usize;
        if let Some(before) = states.get_mut(..=found) {
            before.rotate_right(1);
        }
        let mut escape = self.arena.sum(context);
        let mut sum = 0;
        for (at, state) in states.iter_mut().enumerate() {
            escape = escape.wrapping_sub(state.frequency.into());
            let halved = (u32::from(state.frequency) + if at == 0 { 4 } else { 0 } + adder) >> 1;
            state.frequency = halved as u8;
            sum += halved;
        }
        // Sorting keeps the order of those that are alike.
        states.sort_by_key(|state| std::cmp::Reverse(state.frequency));
        let kept = states.iter().rposition(|state| state.frequency != 0).map_or(1, |last| last as u32 + 1);
        escape = escape.wrapping_add(known - kept);
        self.arena.set_count(context, kept);
        let (units, units_left) = (known.div_ceil(2), kept.div_ceil(2));
        if kept == 1 {
            let mut only = states[0];
            let frequency = (2 * u32::from(only.frequency)).wrapping_add(escape).wrapping_sub(1);
            only.frequency = (frequency / escape.max(1)).min(FREQUENCY_MAX / 3) as u8;
            self.arena.release(first, units);
            self.stay_alone(context, only);
            self.found = self.arena.only_state(context);
            return;
        }
        let place = if units == units_left { first } else { self.arena.shrink(first, units, units_left) };
        self.arena.set_states(context, place);
        for (at, state) in (0..).zip(states.iter().take(kept as usize)) {
            self.arena.set_state(place + at * STATE_BYTES, *state);
        }
        let mut kind = self.arena.kind(context) | kind::RESCALED;
        if kept < known {
            let left = states.iter().take(kept as usize);
            kind = left.fold(kind & !kind::HIGH, |kind, state| kind | kind_of(state.symbol));
        }
        self.arena.set_kind(context, kind);
        self.arena.set_sum(context, sum.wrapping_add(escape.wrapping_sub(escape >> 1)));
        self.found = place;
    }

    /// A context knows only this symbol from now on.
    pub(super) fn stay_alone(&mut self, context: u32, state: State) {
        let after = self.arena.kind(context) & kind::AFTER_HIGH;
        self.arena.set_kind(context, after | kind_of(state.symbol));
        self.arena.set_state(self.arena.only_state(context), state);
    }
}

#[cfg(test)]
mod tests {
    use super::ROWS;

    #[test]
    fn rows_become_wider() {
        assert_eq!(ROWS[..12], [0, 1, 2, 3, 4, 5, 6, 6, 7, 7, 7, 8]);
        assert_eq!((ROWS[196], ROWS[256]), (24, 26));
    }
}
