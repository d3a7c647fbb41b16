//! What the blocks of a folder make. Rule: a block at a time, and what it costs.

use super::header::Packing;
use crate::codec::lzx::{self, Lzx};
use crate::codec::mszip::{self, Mszip};
use crate::codec::quantum::{self, Quantum};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// A folder on its way.
pub(super) enum Unfold {
    Stored,
    Mszip(Box<Mszip>),
    Lzx(Box<Lzx>),
    Quantum(Box<Quantum>),
}

impl Unfold {
    /// Awaits the first block.
    ///
    /// # Errors
    ///
    /// Where nothing unpacks it, or the pool gives no more.
    pub(super) fn new(pool: &Arc<Pool>, packing: Packing) -> Result<Self, Reason> {
        Ok(match packing {
            Packing::Stored => Self::Stored,
            Packing::Mszip => Self::Mszip(Box::new(Mszip::new(pool)?)),
            Packing::Lzx { window_bits } => Self::Lzx(Box::new(Lzx::new(pool, window_bits)?)),
            Packing::Quantum { window_bits } => Self::Quantum(Box::new(Quantum::new(pool, window_bits)?)),
            Packing::Unknown => return Err(Reason::Unsupported),
        })
    }

    /// Replaces what is made by what the block makes: so many bytes.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`].
    pub(super) fn block(&mut self, packed: &[u8], size: usize, made: &mut Vec<u8>) -> Result<(), Reason> {
        made.clear();
        match self {
            Self::Stored if packed.len() == size => made.extend_from_slice(packed),
            Self::Mszip(mszip) => mszip.block(packed, Some(size), made)?,
            Self::Lzx(lzx) => lzx.frame(packed, size, made)?,
            Self::Quantum(quantum) => quantum.frame(packed, size, made)?,
            Self::Stored => return Err(Reason::Damaged),
        }
        Ok(())
    }

    /// What a block costs that makes so many bytes.
    pub(super) fn nanos(&self, made: usize) -> u64 {
        match self {
            Self::Stored => 0,
            Self::Mszip(_) => made as u64 * mszip::BYTE_NANOS,
            Self::Quantum(_) => made as u64 * quantum::BYTE_NANOS,
            Self::Lzx(_) => lzx::FRAME_NANOS + made as u64 * lzx::BYTE_NANOS,
        }
    }
}
