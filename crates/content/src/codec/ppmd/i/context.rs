//! What variant I knows of a context's kind. Rule: what is likely and what escapes is told here, and counted elsewhere.

use super::super::arena::State;
use super::super::counting::Counted;
use super::super::{Bytes, Coder, FREQUENCY_MAX};
use super::{Model, ROWS, kind, kind_of};
use lockgate_model::Reason;

/// The frequency beyond which a symbol that is alone is not counted.
const ALONE_FREQUENCY_MAX: u8 = 196;

impl Model {
    /// A context that knows one symbol.
    pub(super) fn binary_symbol(&mut self, coder: &mut impl Coder, bytes: &mut impl Bytes) {
        let counting = &mut self.counting;
        let context = counting.min_context;
        let frequency = counting.arena.state(counting.arena.only_state(context)).frequency;
        let column = counting.binary_column() + usize::from(counting.arena.kind(context));
        let row = usize::from(ROWS[usize::from(frequency.saturating_sub(1))]).min(self.binary.len() - 1);
        counting.binary_symbol(&mut self.binary[row][column & 63], ALONE_FREQUENCY_MAX, coder, bytes);
    }

    /// A context that knows several, none of them excluded.
    pub(super) fn first_symbol(
        &mut self,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<(), Reason> {
        let counted = self.counting.first_symbol(|doubled, sum| doubled >= sum, coder, bytes)?;
        self.rescale_if(counted);
        Ok(())
    }

    /// A context that was escaped to.
    pub(super) fn escaped_symbol(
        &mut self,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<(), Reason> {
        let arena = &self.counting.arena;
        let context = self.counting.min_context;
        let known = arena.count(context);
        let estimate = if known == 256 {
            self.no_estimate.sum = 0;
            &mut self.no_estimate
        } else {
            let shorter = arena.count(arena.suffix(context));
            let column = usize::from(arena.sum(context) > 11 * known)
                + 2 * usize::from(2 * known < shorter + self.counting.masked)
                + usize::from(arena.kind(context));
            let row = usize::from(ROWS[known as usize + 1]).saturating_sub(3);
            &mut self.estimates[row.min(23)][column & 31]
        };
        let counted = self.counting.escaped_symbol(estimate, coder, bytes)?;
        self.rescale_if(counted);
        Ok(())
    }

    /// Halves all frequencies of the context at hand, and drops what comes to nothing.
    fn rescale_if(&mut self, counted: Counted) {
        if counted == Counted::Fits {
            return;
        }
        let context = self.counting.min_context;
        let known = self.counting.arena.count(context);
        let halved = self.counting.halve();
        if halved.kept == 1 {
            let (mut only, escape) = (halved.states[0], halved.escape);
            let frequency = (2 * u32::from(only.frequency)).wrapping_add(escape).wrapping_sub(1);
            only.frequency = (frequency / escape.max(1)).min(FREQUENCY_MAX / 3) as u8;
            self.counting.put_only(only);
            self.stay_alone(context, only);
            return;
        }
        self.counting.put_halved(&halved);
        let mut kind = self.counting.arena.kind(context) | kind::RESCALED;
        if halved.kept < known {
            kind = halved.kept().fold(kind & !kind::HIGH, |kind, state| kind | kind_of(state.symbol));
        }
        self.counting.arena.set_kind(context, kind);
    }

    /// A context knows only this symbol from now on.
    pub(super) fn stay_alone(&mut self, context: u32, state: State) {
        let arena = &mut self.counting.arena;
        let after = arena.kind(context) & kind::AFTER_HIGH;
        arena.set_kind(context, after | kind_of(state.symbol));
        arena.set_state(arena.only_state(context), state);
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
