//! Variant I, as zip has it (APPNOTE.TXT, section 5.10). Rule: when its memory is used up it begins anew, or forgets what
//! it learnt least of, as the stream says.

mod context;
mod forgetting;
mod learning;
mod stream;

pub(crate) use stream::in_zip;

use super::arena::{Arena, Joining};
use super::counting::Counting;
use super::{BINARY_SCALE_BITS, Bytes, Coder, ESCAPES_AT_FIRST, Estimate, HIGH_SYMBOL, PERIOD_BITS};
use forgetting::Forgetting;
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// The highest order that four bits tell.
const ORDER_MAX: u32 = 16;

/// A context's kind: whether the symbol before it is a high one, whether one of its own is, and whether it was rescaled.
mod kind {
    pub const AFTER_HIGH: u8 = 0x10;
    pub const HIGH: u8 = 0x08;
    pub const RESCALED: u8 = 0x04;
}

/// Rows by how many symbols or by what frequency: one each up to five, then ever wider.
const ROWS: [u8; 260] = rows();

const fn rows() -> [u8; 260] {
    let mut rows = [0; 260];
    let (mut at, mut row, mut left) = (0, 0_u8, 1);
    while at < rows.len() {
        rows[at] = row;
        left -= 1;
        if left == 0 {
            row += 1;
            left = if row > 4 { row - 4 } else { 1 };
        }
        at += 1;
    }
    rows
}

/// What a model does when its memory is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restoration {
    /// It begins anew.
    Restart,
    /// It forgets what is not followed by anything.
    CutOff,
}

/// What is predicted from what.
pub(crate) struct Model {
    counting: Counting,
    restoration: Restoration,
    /// Where forgetting stands, while it is under way.
    forgetting: Option<Forgetting>,
    binary: [[u16; 64]; 25],
    estimates: [[Estimate; 32]; 24],
    no_estimate: Estimate,
}

impl Model {
    /// A model of this order in so many bytes of memory, drawn from the pool as they are used.
    ///
    /// # Errors
    ///
    /// Damaged where there is no such model.
    pub(crate) fn new(
        pool: &Arc<Pool>,
        order_max: u32,
        memory_bytes: u32,
        restoration: Restoration,
    ) -> Result<Self, Reason> {
        if !(2..=ORDER_MAX).contains(&order_max) {
            return Err(Reason::Damaged);
        }
        let mut model = Self {
            counting: Counting::new(Arena::new(pool, memory_bytes, Joining::Stamped)?, order_max),
            restoration,
            forgetting: None,
            binary: [[0; 64]; 25],
            estimates: [[Estimate::default(); 32]; 24],
            no_estimate: Estimate::NONE,
        };
        model.restart()?;
        Ok(model)
    }

    /// Forgets everything.
    fn restart(&mut self) -> Result<(), Reason> {
        self.counting.restart()?;
        let behind = |row: usize| ROWS.iter().take_while(|of| usize::from(**of) <= row).count();
        for (row, cells) in self.binary.iter_mut().enumerate() {
            let frequency = behind(row) as u16 + 1;
            for (at, cell) in cells.iter_mut().enumerate() {
                *cell = (1 << BINARY_SCALE_BITS) - ESCAPES_AT_FIRST[at % 8] / frequency;
            }
        }
        for (row, estimates) in self.estimates.iter_mut().enumerate() {
            let sum = (2 * (behind(row + 3) as u16 - 3) + 5) << (PERIOD_BITS - 4);
            estimates.fill(Estimate { sum, shift: PERIOD_BITS as u8 - 4, count: 7 });
        }
        Ok(())
    }

    /// The next byte; `None` where the stream says that there is none. To be asked for when nothing is being forgotten.
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
        if self.counting.order_fall == 0 && self.counting.arena.is_unit(found.successor) {
            self.counting.max_context = found.successor;
        } else {
            self.update()?;
        }
        self.counting.min_context = self.counting.max_context;
        Ok(Some(found.symbol))
    }
}

/// What a symbol adds to the kind of a context that knows it.
fn kind_of(symbol: u8) -> u8 {
    if symbol >= HIGH_SYMBOL { kind::HIGH } else { 0 }
}

#[cfg(test)]
pub(crate) mod tests;
