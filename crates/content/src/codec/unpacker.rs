//! The codecs that an archive's entries may be packed with, one at a time. Rule: it takes memory when bytes arrive.

use super::bzip2::Bunzip;
use super::inflate::{self, Inflater};
use super::{Outcome, Run};
use lockgate_model::Pool;
use std::sync::Arc;

/// How an entry is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Raw deflate.
    Deflate,
    /// One bzip2 stream.
    Bzip2,
}

/// Unpacks one entry after the other.
pub struct Unpacker {
    pool: Arc<Pool>,
    packing: Packing,
    inflater: Inflater,
    bunzip: Option<Box<Bunzip>>,
}

impl Unpacker {
    /// Holds nothing yet.
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self {
            pool: Arc::clone(pool),
            packing: Packing::Deflate,
            inflater: Inflater::default(),
            bunzip: None,
        }
    }

    /// Awaits an entry that is packed so.
    pub fn begin(&mut self, packing: Packing) {
        self.packing = packing;
        self.inflater.reset();
        self.bunzip = None;
    }

    /// Gives its memory back.
    pub fn clear(&mut self) {
        self.inflater.clear();
        self.bunzip = None;
    }

    /// Whether there is something to do or say without further input.
    pub fn owes(&self) -> bool {
        match self.packing {
            Packing::Deflate => self.inflater.owes(),
            Packing::Bzip2 => self.bunzip.as_ref().is_some_and(|b| b.stream.owes()),
        }
    }

    /// Unpacks until the input is used, the output full, or the entry at its end.
    pub fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        if self.packing == Packing::Deflate {
            return self.inflater.run(input, output);
        }
        let bunzip = match &mut self.bunzip {
            Some(bunzip) => bunzip,
            empty => match Bunzip::new(&self.pool) {
                Ok(bunzip) => empty.insert(Box::new(bunzip)),
                Err(reason) => return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) },
            },
        };
        bunzip.stream.run(input, output)
    }

    /// As [`Decoder::nanos_per_kib`](crate::Decoder::nanos_per_kib).
    pub fn nanos_per_kib(&self) -> u32 {
        match self.packing {
            Packing::Deflate => inflate::NANOS_PER_KIB,
            Packing::Bzip2 => super::bzip2::NANOS_PER_KIB,
        }
    }

    /// As [`Decoder::worked_nanos`](crate::Decoder::worked_nanos).
    pub fn worked_nanos(&self) -> u64 {
        self.bunzip.as_ref().map_or(0, |b| b.stream.worked_nanos())
    }
}
