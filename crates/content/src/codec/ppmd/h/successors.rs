//! New contexts for a symbol that was met where it had none. Rule: one for each order that knew the symbol, or none at all.

use super::super::ORDER_MAX;
use super::super::arena::{Found, State};
use super::{Model, is_context};
use lockgate_model::Reason;

impl Model {
    /// The context that follows the symbol that was found; `None` where the memory is used up.
    pub(super) fn create_successors(
        &mut self,
        found: Found,
        in_suffix: Option<u32>,
    ) -> Result<Option<u32>, Reason> {
        let symbol = self.counting.arena.state(self.counting.found).symbol;
        let branch = self.counting.arena.state(self.counting.found).successor;
        let mut states = [0; ORDER_MAX as usize + 1];
        let mut count = 0;
        let mut context = self.counting.min_context;
        let mut next = in_suffix;
        if found == Found::InShorter {
            states[0] = self.counting.found;
            count = 1;
        }
        while self.counting.arena.suffix(context) != 0 {
            context = self.counting.arena.suffix(context);
            let at = match next.take() {
                Some(at) => at,
                None if self.counting.arena.count(context) == 1 => self.counting.arena.only_state(context),
                None => self.counting.arena.find(context, symbol),
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
        if !is_context(&self.counting.arena, context) {
            return Err(Reason::Damaged);
        }
        let first = State { symbol: self.counting.arena.byte(branch), frequency: 0, successor: branch + 1 };
        let first = State { frequency: self.frequency_in(context, first.symbol), ..first };
        for state in states[..count].iter().rev() {
            let Some(child) = self.counting.arena.new_context()? else { return Ok(None) };
            self.counting.arena.set_suffix(child, context);
            self.counting.arena.set_state(self.counting.arena.only_state(child), first);
            self.counting.arena.set_successor(*state, child);
            context = child;
        }
        Ok(Some(context))
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
        let others = self.counting.arena.sum(context).saturating_sub(known).saturating_sub(own);
        let more = if 2 * own <= others {
            u32::from(5 * own > others)
        } else {
            (2 * own + 3 * others - 1) / (2 * others).max(1)
        };
        (1 + more) as u8
    }
}
