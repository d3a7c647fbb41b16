//! Bytes kept until a part ends, for what only the whole of it decides. Rule: what is granted is kept, or all of it is let go.

use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// The longest part that is kept, whatever is granted: ClamAV runs expressions on no longer ones either.
const HELD_BYTES_MAX: usize = 25 << 20;
/// The least by which what is held grows.
const GROWTH_BYTES_MIN: usize = 16 << 10;

/// What is kept of a part.
pub(crate) struct Held {
    grant: Grant,
    bytes: Vec<u8>,
    /// Why nothing is kept any longer.
    refused: Option<Reason>,
}

/// The whole of what a lane has read, if it is there.
#[derive(Clone, Copy)]
pub(crate) enum Whole<'a> {
    Bytes(&'a [u8]),
    NotHeld(Reason),
}

impl<'a> Whole<'a> {
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::NotHeld(_) => None,
        }
    }
}

impl Held {
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self { grant: pool.grant(), bytes: Vec::new(), refused: None }
    }

    /// The next bytes. Where from now on nothing is kept, what was kept before them is given away.
    pub fn push(&mut self, chunk: &[u8]) -> Option<Vec<u8>> {
        if self.refused.is_some() {
            return None;
        }
        if let Err(reason) = self.grow(chunk.len()) {
            self.refused = Some(reason);
            self.grant.clear();
            return Some(std::mem::take(&mut self.bytes));
        }
        self.bytes.extend_from_slice(chunk);
        None
    }

    fn grow(&mut self, more: usize) -> Result<(), Reason> {
        let length = self.bytes.len() + more;
        if length > HELD_BYTES_MAX {
            return Err(Reason::Held);
        }
        let missing = length.saturating_sub(self.bytes.capacity());
        if missing == 0 {
            return Ok(());
        }
        // Most parts need not be held in the end; decoders cannot do without.
        if self.grant.pool().is_half_taken() {
            return Err(Reason::Budget);
        }
        // Half as much again each time; where that is not granted, what is needed.
        let ample = missing.max(self.bytes.capacity() / 2).max(GROWTH_BYTES_MIN);
        let growth = match self.grant.grow(ample as u64) {
            Ok(()) => ample,
            Err(_) => self.grant.grow(missing as u64).map(|()| missing)?,
        };
        self.bytes.reserve_exact(self.bytes.capacity() + growth - self.bytes.len());
        Ok(())
    }

    pub fn whole(&self) -> Whole<'_> {
        self.refused.map_or(Whole::Bytes(&self.bytes), Whole::NotHeld)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing_is_kept() {
        let pool = Pool::new(90_000);
        let mut held = Held::new(&pool);
        held.push(b"abc");
        held.push(b"def");
        assert_eq!(held.whole().bytes(), Some(&b"abcdef"[..]));
        held.push(&[0; 33_000]);
        assert_eq!(held.whole().bytes().map(<[u8]>::len), Some(33_006));
        assert_eq!(held.push(&[0; 60_000]).map(|before| before.len()), Some(33_006));
        assert!(matches!(held.whole(), Whole::NotHeld(Reason::Budget)));
        assert_eq!(pool.bytes_taken(), 0);
        assert!(held.push(b"more").is_none());
        assert!(held.whole().bytes().is_none());
    }
}
