//! The codecs that an archive's entries may be packed with, one at a time. Rule: it takes memory when bytes arrive.

use super::bzip2::Bunzip;
use super::deflate64::Deflate64;
use super::implode::Implode;
use super::inflate::{self, Inflater};
use super::lz::{Lz, Symbols};
use super::lzhuf::{Scheme, Unlz};
use super::lzma::InZip;
use super::ppmd::{self, h, i};
use super::shrink::Shrink;
use super::stream::Undo;
use super::xz::{Streams, Xz};
use super::zstd::Zstd;
use super::{Outcome, Run};
use crate::decoder::More;
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// How an entry is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Raw deflate.
    Deflate,
    /// Deflate with a window of 64 KiB.
    Deflate64,
    /// What PKZIP imploded to so many bytes, with the flags of the entry.
    Implode {
        /// The general purpose bit flag.
        flags: u16,
        /// Bytes that it makes.
        size: u64,
    },
    /// What PKZIP shrank to so many bytes.
    Shrink(u64),
    /// One bzip2 stream.
    Bzip2,
    /// LZMA within zip's head, that makes so many bytes or ends with a mark.
    Lzma(Option<u64>),
    /// One stream of xz.
    Xz,
    /// PPMd as zip has it, to so many bytes.
    PpmdI(u64),
    /// PPMd as 7z has it.
    PpmdH {
        /// The model's order.
        order: u8,
        /// Bytes of its memory.
        memory_bytes: u32,
        /// Bytes that it makes.
        size: u64,
    },
    /// Frames of Zstandard: one, where nobody knows how long they are.
    Zstd(Extent),
}

/// Whether it is known where the packed bytes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// They end with the input.
    Known,
    /// They end by themselves.
    Unknown,
}

/// Unpacks in pieces.
trait Unpack: Send {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run;
    fn owes(&self, more: More) -> bool;
    fn worked_nanos(&self) -> u64;
}

/// Unpacks one entry after the other.
pub struct Unpacker {
    pool: Arc<Pool>,
    packing: Packing,
    inflater: Inflater,
    other: Option<Box<dyn Unpack>>,
}

impl Unpacker {
    /// Holds nothing yet.
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self { pool: Arc::clone(pool), packing: Packing::Deflate, inflater: Inflater::default(), other: None }
    }

    /// Awaits an entry that is packed so.
    pub fn begin(&mut self, packing: Packing) {
        self.packing = packing;
        self.inflater.reset();
        self.other = None;
    }

    /// Gives its memory back.
    pub fn clear(&mut self) {
        self.inflater.clear();
        self.other = None;
    }

    /// Whether there is something to do or say without further input.
    pub fn owes(&self, more: More) -> bool {
        match self.packing {
            Packing::Deflate => self.inflater.owes(),
            _ => self.other.as_ref().is_some_and(|other| other.owes(more)),
        }
    }

    /// Unpacks until the input is used, the output full, or the entry at its end. `More::Ended` says that its packed bytes
    /// end with this input.
    pub fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        if self.packing == Packing::Deflate {
            return self.inflater.run(input, output);
        }
        let other = match &mut self.other {
            Some(other) => other,
            empty => match begin(&self.pool, self.packing) {
                Ok(other) => empty.insert(other),
                Err(reason) => return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) },
            },
        };
        other.run(input, more, output)
    }

    /// As [`Decoder::nanos_per_kib`](crate::Decoder::nanos_per_kib).
    pub fn nanos_per_kib(&self) -> u32 {
        match self.packing {
            Packing::Deflate => inflate::NANOS_PER_KIB,
            Packing::Deflate64 | Packing::Implode { .. } | Packing::Shrink(_) => LZ_NANOS_PER_KIB,
            Packing::Bzip2 => super::bzip2::NANOS_PER_KIB,
            Packing::Lzma(_) | Packing::Xz => super::lzma::NANOS_PER_KIB,
            Packing::PpmdH { .. } | Packing::PpmdI(_) => ppmd::NANOS_PER_KIB,
            Packing::Zstd(_) => super::zstd::NANOS_PER_KIB,
        }
    }

    /// As [`Decoder::worked_nanos`](crate::Decoder::worked_nanos).
    pub fn worked_nanos(&self) -> u64 {
        self.other.as_ref().map_or(0, |other| other.worked_nanos())
    }
}

/// What a byte costs where a copy is made byte by byte, for each KiB in and out.
const LZ_NANOS_PER_KIB: u32 = 3000;

fn begin(pool: &Arc<Pool>, packing: Packing) -> Result<Box<dyn Unpack>, Reason> {
    Ok(match packing {
        Packing::Deflate | Packing::Deflate64 => Box::new(Lz::new(pool, Deflate64::new(), None)?),
        Packing::Implode { flags, size } => Box::new(Lz::new(pool, Implode::new(flags), Some(size))?),
        Packing::Shrink(size) => Box::new(Shrink::new(pool, size)?),
        Packing::Bzip2 => Box::new(Bunzip::new(pool)?),
        Packing::Lzma(size) => Box::new(InZip::new(pool, size)),
        Packing::PpmdI(size) => Box::new(i::in_zip(pool, size)?),
        Packing::PpmdH { order, memory_bytes, size } => {
            Box::new(h::seven_zip(pool, order.into(), memory_bytes, Some(size))?)
        }
        Packing::Xz => Box::new(Xz::new(pool, Streams::One)),
        Packing::Zstd(extent) => Box::new(Frames { zstd: Zstd::new(pool), extent }),
    })
}

impl<S: Symbols> Unpack for Lz<S> {
    fn run(&mut self, input: &[u8], _: More, output: &mut [u8]) -> Run {
        Lz::run(self, input, output)
    }

    fn owes(&self, _: More) -> bool {
        Lz::owes(self)
    }

    fn worked_nanos(&self) -> u64 {
        Lz::worked_nanos(self)
    }
}

impl Unpack for Shrink {
    fn run(&mut self, input: &[u8], _: More, output: &mut [u8]) -> Run {
        Self::run(self, input, output)
    }

    fn owes(&self, _: More) -> bool {
        Self::owes(self)
    }

    fn worked_nanos(&self) -> u64 {
        0
    }
}

impl Unpack for Bunzip {
    fn run(&mut self, input: &[u8], _: More, output: &mut [u8]) -> Run {
        self.stream.run(input, output)
    }

    fn owes(&self, _: More) -> bool {
        self.stream.owes()
    }

    fn worked_nanos(&self) -> u64 {
        self.stream.worked_nanos()
    }
}

impl Unpack for InZip {
    fn run(&mut self, input: &[u8], _: More, output: &mut [u8]) -> Run {
        Self::run(self, input, output)
    }

    fn owes(&self, _: More) -> bool {
        Self::owes(self)
    }

    fn worked_nanos(&self) -> u64 {
        0
    }
}

impl Unpack for Xz {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        Undo::run(self, input, more, output)
    }

    fn owes(&self, more: More) -> bool {
        Undo::owes(self, more)
    }

    fn worked_nanos(&self) -> u64 {
        Undo::worked_nanos(self)
    }
}

impl<S: Scheme> Unpack for Unlz<S> {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        let run = Self::run(self, input, more, output);
        match run.outcome {
            // What was made comes first; that it cannot be read on is said when it is asked again.
            Outcome::Failed(_) if run.made > 0 => Run { outcome: Outcome::Going, ..run },
            _ => run,
        }
    }

    fn owes(&self, more: More) -> bool {
        Self::owes(self, more)
    }

    fn worked_nanos(&self) -> u64 {
        Self::worked_nanos(self)
    }
}

/// Frames of Zstandard.
struct Frames {
    zstd: Zstd,
    extent: Extent,
}

impl Unpack for Frames {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        if self.extent == Extent::Unknown && self.zstd.is_between_frames() {
            return Run { used: 0, made: 0, outcome: Outcome::Ended };
        }
        self.zstd.run(input, more, output)
    }

    fn owes(&self, more: More) -> bool {
        self.zstd.owes(more) || self.extent == Extent::Unknown && self.zstd.is_between_frames()
    }

    fn worked_nanos(&self) -> u64 {
        self.zstd.worked_nanos()
    }
}
