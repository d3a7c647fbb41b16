//! Finding a symbol in a context and counting it, as both variants do. Rule: a model tells what is likely; nothing here knows of
//! its kinds of contexts.

use super::arena::{Arena, STATE_BYTES, State};
use super::{Bytes, Coder, ESCAPES, Estimate, FREQUENCY_MAX, INTERVAL, PERIOD_BITS};
use lockgate_model::Reason;

/// Where a model stands.
pub(super) struct Counting {
    pub arena: Arena,
    pub order_max: u32,
    /// The context at hand and the longest; where the symbol was found, none after an escape.
    pub min_context: u32,
    pub max_context: u32,
    pub found: u32,
    pub order_fall: u32,
    /// How many symbols of longer contexts are excluded, and which: those with this mark.
    pub masked: u32,
    escape_count: u8,
    char_mask: [u8; 256],
    pub initial_escape: u32,
    pub previous_success: u8,
    pub run_length: i32,
    initial_run_length: i32,
}

/// What counting a symbol came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Counted {
    Fits,
    /// It was counted so often that all of the context are to be halved.
    TooOften,
}

/// A context's states, halved and sorted, and how many of them come to anything.
pub(super) struct Halved {
    pub states: Vec<State>,
    pub kept: u32,
    pub escape: u32,
    sum: u32,
}

impl Counting {
    /// A model that knows nothing; it begins with [`restart`](Self::restart).
    pub(super) fn new(arena: Arena, order_max: u32) -> Self {
        Self {
            arena,
            order_max,
            min_context: 0,
            max_context: 0,
            found: 0,
            order_fall: 0,
            masked: 0,
            escape_count: 1,
            char_mask: [0; 256],
            initial_escape: 0,
            previous_success: 0,
            run_length: 0,
            initial_run_length: 0,
        }
    }

    /// Forgets everything: one context, in which every byte is as likely.
    pub(super) fn restart(&mut self) -> Result<(), Reason> {
        self.arena.restart();
        (self.escape_count, self.char_mask) = (1, [0; 256]);
        self.previous_success = 0;
        self.order_fall = self.order_max;
        self.initial_run_length = -(self.order_max.min(12) as i32) - 1;
        self.run_length = self.initial_run_length;
        let context = self.arena.new_context()?.ok_or(Reason::Damaged)?;
        let states = self.arena.new_units(256 / 2)?.ok_or(Reason::Damaged)?;
        self.arena.set_count(context, 256);
        self.arena.set_sum(context, 257);
        self.arena.set_states(context, states);
        for symbol in 0..=255 {
            let state = State { symbol, frequency: 1, successor: 0 };
            self.arena.set_state(states + u32::from(symbol) * STATE_BYTES, state);
        }
        (self.min_context, self.max_context, self.found) = (context, context, states);
        Ok(())
    }

    /// Behind an escape: the next shorter context that knows more; `false` where there is none.
    pub(super) fn shorten(&mut self) -> bool {
        loop {
            self.order_fall += 1;
            self.min_context = self.arena.suffix(self.min_context);
            if self.min_context == 0 {
                return false;
            }
            if self.arena.count(self.min_context) != self.masked {
                return true;
            }
        }
    }

    /// What both variants tell apart of a context that knows one symbol: what came before it, and how many the next shorter
    /// one knows.
    pub(super) fn binary_column(&self) -> usize {
        let by_count = match self.arena.count(self.arena.suffix(self.min_context)) {
            0 | 1 => 0,
            2 => 2,
            3..=11 => 4,
            _ => 6,
        };
        usize::from(self.previous_success) + by_count + (self.run_length >> 26 & 0x20) as usize
    }

    /// A context that knows one symbol, which comes in so many cases; it is not counted beyond this frequency.
    pub(super) fn binary_symbol(
        &mut self,
        cell: &mut u16,
        frequency_max: u8,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) {
        let at = self.arena.only_state(self.min_context);
        let mut state = self.arena.state(at);
        let mean = (*cell + (1 << (PERIOD_BITS - 2))) >> PERIOD_BITS;
        if coder.is_first((*cell).into(), bytes) {
            *cell = cell.wrapping_add(INTERVAL - mean);
            self.found = at;
            state.frequency += u8::from(state.frequency < frequency_max);
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

    /// A context that knows several, none of them excluded. The first of them is likely if twice its frequency and the sum
    /// say so.
    pub(super) fn first_symbol(
        &mut self,
        is_likely: impl Fn(u32, u32) -> bool,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<Counted, Reason> {
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
            let is_likely = is_likely(2 * frequency, scale);
            self.previous_success = is_likely.into();
            self.run_length += i32::from(is_likely);
            self.found = first;
            return Ok(self.count_found());
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
                return Ok(self.count_and_move());
            }
            below += frequency;
        }
        coder.decode(below, scale.saturating_sub(below), bytes);
        for at in 0..known {
            self.char_mask[usize::from(self.arena.byte(first + at * STATE_BYTES))] = self.escape_count;
        }
        (self.masked, self.found) = (known, 0);
        Ok(Counted::Fits)
    }

    /// A context that was escaped to: what longer ones knew is excluded.
    pub(super) fn escaped_symbol(
        &mut self,
        estimate: &mut Estimate,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<Counted, Reason> {
        let (known, first) = (self.arena.count(self.min_context), self.arena.states(self.min_context));
        let escape = estimate.mean();
        // As many as the context knows more than the longer one, even where that knew others.
        let mut places = [0; 256];
        let (mut left, mut sum) = (0, 0);
        for place in (0..known).map(|at| first + at * STATE_BYTES) {
            if left + self.masked as usize >= known as usize {
                break;
            }
            let state = self.arena.state(place);
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
            estimate.sum = estimate.sum.wrapping_add(scale as u16);
            for place in &places[..left] {
                self.char_mask[usize::from(self.arena.byte(*place))] = self.escape_count;
            }
            self.masked = known;
            return Ok(Counted::Fits);
        }
        let mut below = 0;
        for place in &places[..left] {
            let frequency = u32::from(self.arena.state(*place).frequency);
            if below + frequency > count {
                coder.decode(below, frequency, bytes);
                estimate.update();
                self.found = *place;
                self.exclude_none();
                self.run_length = self.initial_run_length;
                return Ok(self.count_found());
            }
            below += frequency;
        }
        Err(Reason::Damaged)
    }

    /// The next escape has a mark of its own.
    fn exclude_none(&mut self) {
        self.escape_count = self.escape_count.wrapping_add(1);
        if self.escape_count == 0 {
            (self.escape_count, self.char_mask) = (1, [0; 256]);
        }
    }

    /// The symbol that was found counts more.
    fn count_found(&mut self) -> Counted {
        let mut state = self.arena.state(self.found);
        state.frequency = state.frequency.wrapping_add(4);
        self.arena.set_state(self.found, state);
        self.arena.set_sum(self.min_context, self.arena.sum(self.min_context) + 4);
        counted(state)
    }

    /// The same, and it moves before the one that it overtakes.
    fn count_and_move(&mut self) -> Counted {
        let mut state = self.arena.state(self.found);
        state.frequency = state.frequency.wrapping_add(4);
        self.arena.set_sum(self.min_context, self.arena.sum(self.min_context) + 4);
        let before = self.arena.state(self.found - STATE_BYTES);
        if state.frequency <= before.frequency {
            self.arena.set_state(self.found, state);
            return Counted::Fits;
        }
        self.arena.set_state(self.found, before);
        self.found -= STATE_BYTES;
        self.arena.set_state(self.found, state);
        counted(state)
    }

    /// Halves all frequencies and sorts; the symbol that was found comes first of those that are alike. What comes to
    /// nothing is no longer counted as known, but nothing is written yet.
    pub(super) fn halve(&mut self) -> Halved {
        let context = self.min_context;
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
        Halved { states, kept, escape, sum }
    }

    /// Writes what was halved, where more than one is kept.
    pub(super) fn put_halved(&mut self, halved: &Halved) {
        let context = self.min_context;
        let (known, first) = (self.arena.count(context), self.arena.states(context));
        let (units, units_left) = (known.div_ceil(2), halved.kept.div_ceil(2));
        let place = if units == units_left { first } else { self.arena.shrink(first, units, units_left) };
        self.arena.set_count(context, halved.kept);
        self.arena.set_states(context, place);
        for (at, state) in (0..).zip(halved.kept()) {
            self.arena.set_state(place + at * STATE_BYTES, *state);
        }
        let escape = halved.escape.wrapping_sub(halved.escape >> 1);
        self.arena.set_sum(context, halved.sum.wrapping_add(escape));
        self.found = place;
    }

    /// Writes the only state that is kept.
    pub(super) fn put_only(&mut self, only: State) {
        let context = self.min_context;
        let (known, first) = (self.arena.count(context), self.arena.states(context));
        self.arena.release(first, known.div_ceil(2));
        self.arena.set_count(context, 1);
        self.found = self.arena.only_state(context);
        self.arena.set_state(self.found, only);
    }
}

impl Halved {
    /// The states that come to something.
    pub(super) fn kept(&self) -> impl Iterator<Item = &State> {
        self.states.iter().take(self.kept as usize)
    }
}

fn counted(state: State) -> Counted {
    if u32::from(state.frequency) > FREQUENCY_MAX { Counted::TooOften } else { Counted::Fits }
}
