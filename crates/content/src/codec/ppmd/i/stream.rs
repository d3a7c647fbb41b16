//! A stream of PPMd as zip has it: two bytes tell the model, and the end is told by the model. Rule: nothing that it says is
//! taken for granted.

use super::super::{CarrylessCoder, SYMBOL_BYTES_MAX};
use super::{Model, Restoration, forgetting};
use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{EndsBy, Scheme, Symbol, Unlz};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// What waits to be given out.
const WINDOW_BYTES: usize = 32 << 10;

/// One stream.
pub(crate) struct ZipPpmd {
    pool: Arc<Pool>,
    begun: Option<(Box<Model>, CarrylessCoder)>,
}

/// Awaits a stream of so many bytes.
///
/// # Errors
///
/// As the pool says.
pub(crate) fn in_zip(pool: &Arc<Pool>, size: u64) -> Result<Unlz<ZipPpmd>, Reason> {
    let mut unlz = Unlz::new(pool, ZipPpmd { pool: Arc::clone(pool), begun: None })?;
    unlz.window.begin(WINDOW_BYTES);
    unlz.begin(Some(size));
    Ok(unlz)
}

impl ZipPpmd {
    /// APPNOTE.TXT, section 5.10: order - 1 in four bits, megabytes - 1 in eight, and what is done when they are used up.
    fn open(&self, bits: &mut Bits) -> Result<(Box<Model>, CarrylessCoder), Reason> {
        let properties = u32::from(bits.take_byte()) | u32::from(bits.take_byte()) << 8;
        let restoration = match properties >> 12 {
            0 => Restoration::Restart,
            1 => Restoration::CutOff,
            // Freezing: no program writes it.
            2 => return Err(Reason::Unsupported),
            _ => return Err(Reason::Damaged),
        };
        let memory_bytes = ((properties >> 4 & 0xff) + 1) << 20;
        let coder = CarrylessCoder::new(bits);
        let model = Model::new(&self.pool, (properties & 0xf) + 1, memory_bytes, restoration)?;
        Ok((Box::new(model), coder))
    }
}

impl Scheme for ZipPpmd {
    fn bits_needed(&self) -> usize {
        match &self.begun {
            Some((model, _)) if model.is_forgetting() => 0,
            _ => SYMBOL_BYTES_MAX * 8,
        }
    }

    fn bytes_made_max(&self) -> usize {
        1
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        let Some((model, coder)) = &mut self.begun else {
            self.begun = Some(self.open(bits)?);
            return Ok(Symbol::Read);
        };
        if model.is_forgetting() {
            model.forget()?;
            return Ok(Symbol::Working(forgetting::PIECE_NANOS));
        }
        match model.next(coder, bits)? {
            Some(byte) => window.push(byte),
            None => return Ok(Symbol::End),
        }
        Ok(Symbol::Read)
    }

    fn ends_by(&self) -> EndsBy {
        EndsBy::Mark
    }
}
