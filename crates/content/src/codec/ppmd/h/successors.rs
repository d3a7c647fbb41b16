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
        let symbol = self.arena.state(self.found).symbol;
        let branch = self.arena.state(self.found).successor;
        let mut states = [0; ORDER_MAX as usize + 1];
        let mut count = 0;
        let mut context = self.min_context;
        let mut next = in_suffix;
        if found == Found::InShorter {
            states[0] = self.found;
            count = 1;
        }
        while self.arena.suffix(context) != 0 {
            context = self.arena.suffix(context);
            let at = match next.take() {
                Some(at) => at,
                None if self.arena.count(context) == 1 => self.arena.only_state(context),
                None => self.arena.find(context, symbol),
            };
            let successor = self.arena.state(at).successor;
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
        if !is_context(&self.arena, context) {
            return Err(Reason::Damaged);
        }
        let first = State { symbol: self.arena.byte(branch), frequency: 0, successor: branch + 1 };
        let first = State { frequency: self.frequency_in(context, first.symbol), ..first };
        for state in states[..count].iter().rev() {
            let Some(child) = self.arena.new_context()? else { return Ok(None) };
            self.arena.set_suffix(child, context);
            self.arena.set_state(self.arena.only_state(child), first);
            self.arena.set_successor(*state, child);
            context = child;
        }
        Ok(Some(context))
    }

    /// How often a new context is taken to have met the symbol, by how often its suffix has.
    fn frequency_in(&self, context: u32, symbol: u8) -> u8 {
        let known = self.arena.count(context);
        if known == 1 {
            return self.arena.state(self.arena.only_state(context)).frequency;
        }
        let frequency = u32::from(self.arena.state(self.arena.find(context, symbol)).frequency);
        let own = frequency.saturating_sub(1);
        let others = self.arena.sum(context).saturating_sub(known).saturating_sub(own);
        let more = if 2 * own <= others {
            u32::from(5 * own > others)
        } else {
            (2 * own + 3 * others - 1) / (2 * others).max(1)
        };
        (1 + more) as u8
    }
}
