//! What a model does when its memory is used up. Rule: forgetting takes a bounded time in each piece, however large the
//! memory is.

use super::super::arena::STATE_BYTES;
use super::{Model, Restoration, kind, kind_of};
use lockgate_model::Reason;

/// How many places are looked at in one piece, and what each costs.
const PLACES: u32 = 4096;
pub(super) const PIECE_NANOS: u64 = PLACES as u64 * 40;
/// Contexts of one symbol up to this order stay even if nothing follows.
const ORDER_KEPT: u32 = 9;
/// More passes than there are orders leave nothing to forget.
const PASSES_MAX: u32 = 64;

/// Forgetting that is under way: a walk through all contexts, each after those that follow from it.
#[derive(Debug, Default)]
pub(super) struct Forgetting {
    /// Where it stands, the shortest context first. No more than there are orders.
    path: Vec<Visit>,
    passes: u32,
}

/// A context on the way.
#[derive(Clone, Copy, Debug)]
struct Visit {
    context: u32,
    order: u32,
    /// Its states that are still to be looked at, from the last, and those that are not known to be dropped.
    left: u32,
    kept: u32,
}

impl Model {
    /// Takes back what the contexts that are longer than this one have learnt of the last symbol, and makes room.
    pub(super) fn restore(&mut self, until: u32) -> Result<(), Reason> {
        self.counting.arena.clear_text();
        let mut context = self.counting.max_context;
        while context != until && context != 0 {
            let count = self.counting.arena.count(context) - 1;
            self.counting.arena.set_count(context, count.max(1));
            if count <= 1 {
                let states = self.counting.arena.states(context);
                self.keep_one(context);
                self.counting.arena.release_unit(states);
            } else {
                self.refresh(context, (count + 2) / 2, 0);
            }
            context = self.counting.arena.suffix(context);
        }
        while context != self.counting.min_context && context != 0 {
            let (count, only) = (self.counting.arena.count(context), self.counting.arena.only_state(context));
            if count == 1 {
                let mut state = self.counting.arena.state(only);
                state.frequency -= state.frequency >> 1;
                self.counting.arena.set_state(only, state);
            } else {
                let sum = self.counting.arena.sum(context) + 4;
                self.counting.arena.set_sum(context, sum);
                if sum > 128 + 4 * (count - 1) {
                    self.refresh(context, count.div_ceil(2), 1);
                }
            }
            context = self.counting.arena.suffix(context);
        }
        let (size, used) = self.counting.arena.size_and_used();
        if self.restoration == Restoration::Restart || used < size / 2 {
            return self.restart();
        }
        while self.counting.arena.suffix(self.counting.max_context) != 0 {
            self.counting.max_context = self.counting.arena.suffix(self.counting.max_context);
        }
        self.forgetting = Some(Forgetting::default());
        Ok(())
    }

    /// Whether something is being forgotten: then nothing can be predicted.
    pub(super) fn is_forgetting(&self) -> bool {
        self.forgetting.is_some()
    }

    /// Goes on forgetting for a while.
    pub(super) fn forget(&mut self) -> Result<(), Reason> {
        let Some(mut forgetting) = self.forgetting.take() else { return Ok(()) };
        if forgetting.path.is_empty() {
            forgetting.passes += 1;
            if forgetting.passes > PASSES_MAX {
                return Err(Reason::Damaged);
            }
            forgetting.path.push(self.visit(self.counting.max_context, 0));
        }
        for _ in 0..PLACES {
            self.forget_one(&mut forgetting.path);
            if forgetting.path.is_empty() {
                break;
            }
        }
        if forgetting.path.is_empty() {
            self.counting.arena.expand_text();
            let (size, used) = self.counting.arena.size_and_used();
            if used <= 3 * (size / 4) {
                self.counting.arena.join_soon();
                self.counting.order_fall = self.counting.order_max;
                self.counting.min_context = self.counting.max_context;
                return Ok(());
            }
        }
        self.forgetting = Some(forgetting);
        Ok(())
    }

    /// Comes to a context.
    fn visit(&mut self, context: u32, order: u32) -> Visit {
        let count = self.counting.arena.count(context);
        if count > 1 {
            let states = self.counting.arena.move_up(self.counting.arena.states(context), count.div_ceil(2));
            self.counting.arena.set_states(context, states);
        }
        Visit { context, order, left: count, kept: count }
    }

    /// Looks at one state of the last context on the way, or leaves that.
    fn forget_one(&mut self, path: &mut Vec<Visit>) {
        let Some(&Visit { context, order, left, kept }) = path.last() else { return };
        if left == 0 {
            path.pop();
            let remains = self.leave(context, order, kept);
            if let Some(before) = path.last_mut() {
                before.left -= 1;
                let state = self.state_at(before.context, before.left);
                self.counting.arena.set_successor(state, remains);
            }
            return;
        }
        let at = self.state_at(context, left - 1);
        let successor = self.counting.arena.state(at).successor;
        let is_followed = self.counting.arena.is_unit(successor);
        if is_followed && order < self.counting.order_max {
            let next = self.visit(successor, order + 1);
            path.push(next);
            return;
        }
        let is_alone = self.counting.arena.count(context) == 1;
        if is_followed || !is_alone {
            self.counting.arena.set_successor(at, 0);
        }
        if let Some(visit) = path.last_mut() {
            visit.left -= 1;
            visit.kept -= u32::from(!is_followed);
        }
        if !is_followed && !is_alone {
            let last = self.state_at(context, kept - 1);
            let (state, other) = (self.counting.arena.state(at), self.counting.arena.state(last));
            self.counting.arena.set_state(at, other);
            self.counting.arena.set_state(last, state);
        }
    }

    fn state_at(&self, context: u32, at: u32) -> u32 {
        if self.counting.arena.count(context) == 1 {
            self.counting.arena.only_state(context)
        } else {
            self.counting.arena.states(context) + at * STATE_BYTES
        }
    }

    /// All that follows from a context has been looked at: the context, or 0 where nothing is left of it.
    fn leave(&mut self, context: u32, order: u32, kept: u32) -> u32 {
        let count = self.counting.arena.count(context);
        if count == 1 {
            let successor = self.counting.arena.state(self.counting.arena.only_state(context)).successor;
            if kept == 1 && (successor != 0 || order <= ORDER_KEPT) {
                return context;
            }
            self.counting.arena.release_unit(context);
            return 0;
        }
        if kept == count || order == 0 {
            return context;
        }
        let units = count.div_ceil(2);
        let states = self.counting.arena.states(context);
        match kept {
            0 => {
                self.counting.arena.release(states, units);
                self.counting.arena.release_unit(context);
                return 0;
            }
            1 => {
                self.counting.arena.set_count(context, 1);
                self.keep_one(context);
                self.counting.arena.release(states, units);
            }
            _ => {
                self.counting.arena.set_count(context, kept);
                let scale = u32::from(self.counting.arena.sum(context) > 16 * (kept - 1));
                self.refresh(context, units, scale);
            }
        }
        context
    }

    /// Only the first of a context's states remains, and counts for less.
    fn keep_one(&mut self, context: u32) {
        let mut state = self.counting.arena.state(self.counting.arena.states(context));
        state.frequency = ((u32::from(state.frequency) + 11) >> 3) as u8;
        self.stay_alone(context, state);
    }

    /// A context has fewer states than units for them; at scale 1 they count for half.
    fn refresh(&mut self, context: u32, units: u32, scale: u32) {
        let count = self.counting.arena.count(context);
        let states =
            self.counting.arena.shrink(self.counting.arena.states(context), units, count.div_ceil(2));
        self.counting.arena.set_states(context, states);
        let mut kind = self.counting.arena.kind(context) & (kind::AFTER_HIGH + kind::RESCALED * scale as u8);
        let (mut escape, mut sum) = (self.counting.arena.sum(context), 0);
        for place in (0..count).map(|at| states + at * STATE_BYTES) {
            let mut state = self.counting.arena.state(place);
            escape = escape.wrapping_sub(state.frequency.into());
            let frequency = (u32::from(state.frequency) + scale) >> scale;
            sum += frequency;
            state.frequency = frequency as u8;
            self.counting.arena.set_state(place, state);
            kind |= kind_of(state.symbol);
        }
        self.counting.arena.set_sum(context, sum.wrapping_add(escape.wrapping_add(scale) >> scale));
        self.counting.arena.set_kind(context, kind);
    }
}
