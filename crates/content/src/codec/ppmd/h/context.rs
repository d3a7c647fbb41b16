//! What variant H knows of a context's kind. Rule: what is likely and what escapes is told here, and counted elsewhere.

use super::super::counting::Counted;
use super::super::{Bytes, Coder, HIGH_SYMBOL};
use super::Model;
use lockgate_model::Reason;

/// The frequency beyond which a symbol that is alone is not counted.
const ALONE_FREQUENCY_MAX: u8 = 128;

impl Model {
    /// A context that knows one symbol.
    pub(super) fn binary_symbol(&mut self, coder: &mut impl Coder, bytes: &mut impl Bytes) {
        let counting = &mut self.counting;
        let state = counting.arena.state(counting.arena.only_state(counting.min_context));
        self.high_bits = high_bits(counting.arena.byte(counting.found));
        let column =
            counting.binary_column() + usize::from(self.high_bits) + 2 * usize::from(high_bits(state.symbol));
        let row = usize::from(state.frequency.saturating_sub(1)).min(self.binary.len() - 1);
        counting.binary_symbol(&mut self.binary[row][column & 63], ALONE_FREQUENCY_MAX, coder, bytes);
    }

    /// A context that knows several, none of them excluded.
    pub(super) fn first_symbol(
        &mut self,
        coder: &mut impl Coder,
        bytes: &mut impl Bytes,
    ) -> Result<(), Reason> {
        let before = self.counting.arena.byte(self.counting.found);
        let counted = self.counting.first_symbol(|doubled, sum| doubled > sum, coder, bytes)?;
        if self.counting.found == 0 {
            self.high_bits = high_bits(before);
        }
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
            let left = known.saturating_sub(self.counting.masked).max(1);
            let shorter = arena.count(arena.suffix(context));
            let column = usize::from(left < shorter.saturating_sub(known))
                + 2 * usize::from(arena.sum(context) < 11 * known)
                + 4 * usize::from(self.counting.masked > left)
                + usize::from(self.high_bits);
            &mut self.estimates[row_of(left)][column & 15]
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
        let halved = self.counting.halve();
        if halved.kept > 1 {
            self.counting.put_halved(&halved);
            return;
        }
        let (mut only, mut escape) = (halved.states[0], halved.escape);
        loop {
            only.frequency -= only.frequency >> 1;
            escape >>= 1;
            if escape <= 1 {
                break;
            }
        }
        self.counting.put_only(only);
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
