//! What RAR packs entries with, from 1.5 to 7. Rule: each version is a scheme of its own; what they share is how lengths are told.
//!
//! The formats are as unpackers have them; nothing was published by their author but the archive's headers.

pub(crate) mod filter;
mod lengths;
pub(crate) mod v1;
pub(crate) mod v2;
pub(crate) mod v3;
pub(crate) mod v5;

use super::lzhuf::Unlz;
use super::{Outcome, Run};
use crate::decoder::More;
use lockgate_model::{Pool, Reason};
use std::sync::Arc;
use v1::V1;
use v2::V2;
use v3::V3;
use v5::V5;

/// How an entry was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// RAR 1.5.
    V1,
    /// RAR 2.0 and 2.6.
    V2,
    /// RAR 2.9 to 4.
    V3,
    /// RAR 5 and 7; the longer distances of 7 where they are announced.
    V5 { distances: v5::Distances },
}

/// What an entry's header says of how it is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) version: Version,
    /// Bytes of the window.
    pub(crate) window: usize,
    /// Whether it goes on from the entry before.
    pub(crate) start: Start,
    /// Bytes that it makes, where they are known.
    pub(crate) size: Option<u64>,
}

/// What comes before an entry's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Anew,
    /// Behind the last entry, as in solid archives.
    Solid,
}

/// Unpacks the entries of one archive.
pub(crate) struct Unrar {
    pool: Arc<Pool>,
    codec: Option<Codec>,
}

enum Codec {
    V1(Box<Unlz<V1>>),
    V2(Box<Unlz<V2>>),
    V3(Box<Unlz<V3>>),
    V5(Box<Unlz<V5>>),
}

impl Codec {
    fn reads(&self, version: Version) -> bool {
        match self {
            Self::V1(_) => version == Version::V1,
            Self::V2(_) => version == Version::V2,
            Self::V3(_) => version == Version::V3,
            Self::V5(_) => matches!(version, Version::V5 { .. }),
        }
    }
}

impl Unrar {
    /// Holds nothing yet.
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self { pool: Arc::clone(pool), codec: None }
    }

    /// Awaits an entry.
    ///
    /// # Errors
    ///
    /// Damaged where it goes on from an entry that was not there, or as the pool says.
    pub(crate) fn begin(&mut self, packed: Packed) -> Result<(), Reason> {
        if packed.start == Start::Anew {
            self.codec = None;
        }
        if !self.codec.as_ref().is_some_and(|codec| codec.reads(packed.version)) {
            if packed.start == Start::Solid && self.codec.is_some() {
                return Err(Reason::Damaged);
            }
            self.codec = Some(match packed.version {
                Version::V1 => Codec::V1(Box::new(Unlz::new(&self.pool, V1::new())?)),
                Version::V2 => Codec::V2(Box::new(Unlz::new(&self.pool, V2::new())?)),
                Version::V3 => Codec::V3(Box::new(Unlz::new(&self.pool, V3::new(&self.pool))?)),
                Version::V5 { .. } => Codec::V5(Box::new(Unlz::new(&self.pool, V5::new(&self.pool))?)),
            });
        }
        match (self.codec.as_mut(), packed.version) {
            (Some(Codec::V5(unlz)), Version::V5 { distances }) => {
                unlz.window.go_on(packed.window);
                unlz.begin(packed.size);
                unlz.scheme.begin(packed.start, distances, unlz.window.made());
            }
            (Some(Codec::V1(unlz)), _) => {
                unlz.window.go_on(v1::WINDOW_BYTES);
                unlz.begin(packed.size);
                unlz.scheme.begin(packed.start);
            }
            (Some(Codec::V2(unlz)), _) => {
                unlz.window.go_on(packed.window);
                unlz.begin(packed.size);
                unlz.scheme.begin(packed.start);
            }
            (Some(Codec::V3(unlz)), _) => {
                unlz.window.go_on(packed.window);
                unlz.begin(packed.size);
                unlz.scheme.begin(packed.start, unlz.window.made());
            }
            _ => return Err(Reason::Damaged),
        }
        Ok(())
    }

    /// Gives its memory back.
    pub(crate) fn clear(&mut self) {
        self.codec = None;
    }

    /// Unpacks until the input is used, the output full, or the entry at its end.
    pub(crate) fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        match self.codec.as_mut() {
            Some(Codec::V1(unlz)) => unlz.run(input, more, output),
            Some(Codec::V2(unlz)) => unlz.run(input, more, output),
            Some(Codec::V3(unlz)) => unlz.run(input, more, output),
            Some(Codec::V5(unlz)) => unlz.run(input, more, output),
            None => Run { used: 0, made: 0, outcome: Outcome::Failed(Reason::Damaged) },
        }
    }

    /// As [`Decoder::worked_nanos`](crate::Decoder::worked_nanos).
    pub(crate) fn worked_nanos(&self) -> u64 {
        match self.codec.as_ref() {
            Some(Codec::V1(unlz)) => unlz.worked_nanos(),
            Some(Codec::V2(unlz)) => unlz.worked_nanos(),
            Some(Codec::V3(unlz)) => unlz.worked_nanos(),
            Some(Codec::V5(unlz)) => unlz.worked_nanos(),
            None => 0,
        }
    }
}
