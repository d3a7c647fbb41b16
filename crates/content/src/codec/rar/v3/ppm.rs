//! PPMd in RAR 3: bytes, and escapes that stand for matches and programs. Rule: the model outlives a block, its coder does not.

use crate::codec::lzhuf::bits::Bits;
use crate::codec::ppmd::h::Model;
use crate::codec::ppmd::{CarrylessCoder, SYMBOL_BYTES_MAX};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// An escape, what it stands for, and up to four bytes that say more.
pub(super) const SYMBOL_BITS: usize = 6 * SYMBOL_BYTES_MAX * 8;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Byte(u8),
    Copy { distance: usize, length: usize },
    Program,
    NewCodes,
    End,
}

/// The model, once there is one.
pub(super) struct Ppm {
    pool: Arc<Pool>,
    model: Option<Box<Model>>,
    coder: Option<CarrylessCoder>,
    escape: u8,
}

impl Ppm {
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        Self { pool: Arc::clone(pool), model: None, coder: None, escape: 2 }
    }

    /// Forgets all that a stream has taught it.
    pub(super) fn clear(&mut self) {
        (self.model, self.coder, self.escape) = (None, None, 2);
    }

    /// A block begins: the model's order and memory, where there is a new one; the escape, where it changes.
    pub(super) fn begin(&mut self, bits: &mut Bits) -> Result<(), Reason> {
        let flags = u32::from(bits.take_byte());
        let is_new = flags & 0x20 != 0;
        let megabytes = if is_new { u32::from(bits.take_byte()) + 1 } else { 0 };
        if flags & 0x40 != 0 {
            self.escape = bits.take_byte();
        }
        self.coder = Some(CarrylessCoder::new(bits));
        if is_new {
            self.model = None;
            let order = match (flags & 0x1f) + 1 {
                low @ ..=16 => low,
                high => 16 + (high - 16) * 3,
            };
            if !bits.is_overrun() {
                self.model = Some(Box::new(Model::new(&self.pool, order, megabytes << 20)?));
            }
        }
        if self.model.is_some() { Ok(()) } else { Err(Reason::Damaged) }
    }

    /// The next byte as it is.
    pub(super) fn byte(&mut self, bits: &mut Bits) -> Result<u8, Reason> {
        match (&mut self.model, &mut self.coder) {
            (Some(model), Some(coder)) => model.next(coder, bits)?.ok_or(Reason::Damaged),
            _ => Err(Reason::Damaged),
        }
    }

    /// The next byte, or what an escape stands for.
    pub(super) fn next(&mut self, bits: &mut Bits) -> Result<Said, Reason> {
        let byte = self.byte(bits)?;
        if byte != self.escape {
            return Ok(Said::Byte(byte));
        }
        Ok(match self.byte(bits)? {
            0 => Said::NewCodes,
            2 => Said::End,
            3 => Said::Program,
            4 => {
                let mut distance = 0;
                for _ in 0..3 {
                    distance = distance << 8 | usize::from(self.byte(bits)?);
                }
                Said::Copy { distance: distance + 2, length: usize::from(self.byte(bits)?) + 32 }
            }
            5 => Said::Copy { distance: 1, length: usize::from(self.byte(bits)?) + 4 },
            _ => Said::Byte(self.escape),
        })
    }
}
