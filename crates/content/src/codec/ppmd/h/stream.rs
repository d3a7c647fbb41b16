//! A stream of PPMd as 7z has it. Rule: it ends where the archive says, for it does not say so itself.

use super::super::{SYMBOL_BYTES_MAX, SevenZipCoder};
use super::Model;
use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{Scheme, Symbol, Unlz};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// What waits to be given out.
const WINDOW_BYTES: usize = 32 << 10;

/// One stream.
pub(crate) struct SevenZipPpmd {
    pool: Arc<Pool>,
    order: u32,
    memory_bytes: u32,
    begun: Option<(Box<Model>, SevenZipCoder)>,
}

/// Awaits a stream of so many bytes, packed by a model of this order and memory (7z's properties: a byte, and four).
///
/// # Errors
///
/// As the pool says.
pub(crate) fn seven_zip(
    pool: &Arc<Pool>,
    order: u32,
    memory_bytes: u32,
    size: Option<u64>,
) -> Result<Unlz<SevenZipPpmd>, Reason> {
    let scheme = SevenZipPpmd { pool: Arc::clone(pool), order, memory_bytes, begun: None };
    let mut unlz = Unlz::new(pool, scheme)?;
    unlz.window.begin(WINDOW_BYTES);
    unlz.begin(size);
    Ok(unlz)
}

impl Scheme for SevenZipPpmd {
    fn bits_needed(&self) -> usize {
        SYMBOL_BYTES_MAX * 8
    }

    fn bytes_made_max(&self) -> usize {
        1
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        let Some((model, coder)) = &mut self.begun else {
            let coder = SevenZipCoder::new(bits).ok_or(Reason::Damaged)?;
            let model = Box::new(Model::new(&self.pool, self.order, self.memory_bytes)?);
            self.begun = Some((model, coder));
            return Ok(Symbol::Read);
        };
        match model.next(coder, bits)? {
            Some(byte) => window.push(byte),
            None => return Ok(Symbol::End),
        }
        Ok(Symbol::Read)
    }
}
