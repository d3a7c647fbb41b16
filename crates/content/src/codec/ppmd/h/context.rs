//! Finding a symbol in a context: alone, among all, among those that were not escaped from. Rule: what is counted is kept sorted enough.

use super::super::arena::{STATE_BYTES, State};
use super::super::{Bytes, Coder, ESCAPES, Estimate, FREQUENCY_MAX, HIGH_SYMBOL, INTERVAL, binary_mean};
use super::Model;
use lockgate_model::Reason;

impl Model {
    /// A context that knows one symbol.
    pub(super) fn binary_symbol(&mut self, coder: &mut impl Coder, bytes: &mut impl Bytes) {
        let at = self.arena.only_state(self.min_context);
        let mut state = self.arena.state(at);
        let shorter = self.arena.count(self.arena.suffix(self.min_context));
        let by_count = match shorter {
            0 | 1 => 0,
            2 => 2,
            3..=11 => 4,
            _ => 6,
        };
        self.high_bits = high_bits(self.arena.byte(self.found));
        let column = usize::from(self.previous_success)
            + by_count
            + usize::from(self.high_bits)
            + 2 * usize::from(high_bits(state.symbol))
            + (self.run_length >> 26 & 0x20) as usize;
        let row = usize::from(state.frequency.saturating_sub(1)).min(self.binary.len() - 1);
        let cell = &mut self.binary[row][column & 63];
        let mean = binary_mean(*cell);
        if coder.is_first((*cell).into(), bytes) {
            *cell = cell.wrapping_add(INTERVAL - mean);
            self.found = at;
            state.frequency += u8::from(state.frequency < 128);
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
            let is_likely = 2 * frequency > scale;
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
        self.high_bits = high_bits(self.arena.byte(self.found));
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
        let is_left = |model: &Self, place| {
            let symbol = usize::from(model.arena.byte(place));
            model.char_mask[symbol] != model.escape_count
        };
        let mut sum = 0;
        for place in (0..known).map(|at| first + at * STATE_BYTES) {
            if is_left(self, place) {
                sum += u32::from(self.arena.state(place).frequency);
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
            for at in 0..known {
                self.char_mask[usize::from(self.arena.byte(first + at * STATE_BYTES))] = self.escape_count;
            }
            self.masked = known;
            return Ok(());
        }
        let mut below = 0;
        for place in (0..known).map(|at| first + at * STATE_BYTES) {
            if !is_left(self, place) {
                continue;
            }
            let frequency = u32::from(self.arena.state(place).frequency);
            if below + frequency > count {
                coder.decode(below, frequency, bytes);
                self.estimate(context).update();
                self.found = place;
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
        let left = known.saturating_sub(self.masked).max(1);
        let shorter = arena.count(arena.suffix(context));
        let column = usize::from(left < shorter.saturating_sub(known))
            + 2 * usize::from(arena.sum(context) < 11 * known)
            + 4 * usize::from(self.masked > left)
            + usize::from(self.high_bits);
        &mut self.estimates[row_of(left)][column & 15]
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
        let mut escape = self.arena.sum(context) + 4;
        let mut sum = 0;
        for (at, state) in states.iter_mut().enumerate() {
            let frequency = u32::from(state.frequency) + if at == 0 { 4 } else { 0 };
            escape = escape.wrapping_sub(frequency);
            let halved = (frequency + adder) >> 1;
            state.frequency = halved as u8;
            sum += halved;
        }
        // Sorting keeps the order of those that are alike.
        states.sort_by_key(|state| std::cmp::Reverse(state.frequency));
        let kept = states.iter().rposition(|state| state.frequency != 0).map_or(1, |last| last as u32 + 1);
        escape = escape.wrapping_add(known - kept);
        let (units, units_left) = (known.div_ceil(2), kept.div_ceil(2));
        self.arena.set_count(context, kept);
        if kept == 1 {
            let mut only = states[0];
            loop {
                only.frequency -= only.frequency >> 1;
                escape >>= 1;
                if escape <= 1 {
                    break;
                }
            }
            self.arena.release(first, units);
            self.found = self.arena.only_state(context);
            self.arena.set_state(self.found, only);
            return;
        }
        let place = if units == units_left { first } else { self.arena.shrink(first, units, units_left) };
        self.arena.set_states(context, place);
        for (at, state) in (0..).zip(states.iter().take(kept as usize)) {
            self.arena.set_state(place + at * STATE_BYTES, *state);
        }
        self.arena.set_sum(context, sum + escape - (escape >> 1));
        self.found = place;
    }
}

fn high_bits(symbol: u8) -> u8 {
    if symbol >= HIGH_SYMBOL { 8 } else { 0 }
}

/// Rows by how many symbols are left: one each up to three, then ever wider.
fn row_of(left: u32) -> usize {
    let (mut row, mut width, mut until) = (2_u32.min(left - 1), 1, 4);
    if left > 3 {
        row = 3;
        while until < left {
            row += 1;
            width += 1;
            until += width;
        }
    }
    row as usize
}

#[cfg(test)]
mod tests {
    use super::row_of;

    #[test]
    fn rows_become_wider() {
        let mut expected = vec![0, 1, 2];
        let (mut row, mut left, mut step) = (3, 1, 1);
        while expected.len() < 256 {
            expected.push(row);
            left -= 1;
            if left == 0 {
                row += 1;
                step += 1;
                left = step;
            }
        }
        let rows: Vec<_> = (1..=256).map(row_of).collect();
        assert_eq!(rows, expected);
    }
}
