//! Bytes kept until a part ends, for what only the whole of it decides. Rule: what is granted is kept, or all of it is let go.

use lockgate_model::held;
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// The longest part that is kept, whatever is granted: ClamAV runs expressions on no longer ones either.
const HELD_BYTES_MAX: usize = 25 << 20;
/// While so much of what the process may hold is out, nothing more is kept.
const POOL_PERCENT_MAX: u64 = 50;

/// What is kept of a part.
pub(crate) struct Held {
    kept: held::Held,
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
        Self { kept: held::Held::new(pool), refused: None }
    }

    /// The next bytes. Where nothing is kept any longer, `lost` is shown what was.
    pub fn push(&mut self, chunk: &[u8], lost: &mut dyn FnMut(&[u8])) {
        if self.refused.is_some() {
            return;
        }
        self.refused = self.keep(chunk).err();
        if self.refused.is_some() {
            lost(self.kept.bytes());
            self.kept.clear();
        }
    }

    fn keep(&mut self, chunk: &[u8]) -> Result<(), Reason> {
        if self.kept.bytes().len() + chunk.len() > HELD_BYTES_MAX {
            return Err(Reason::Held);
        }
        // Most parts need not be held in the end; decoders cannot do without.
        if !self.kept.has_room_for(chunk.len()) && self.kept.pool().is_taken_to(POOL_PERCENT_MAX) {
            return Err(Reason::Budget);
        }
        self.kept.push(chunk)
    }

    pub fn whole(&self) -> Whole<'_> {
        self.refused.map_or(Whole::Bytes(self.kept.bytes()), Whole::NotHeld)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing_is_kept() {
        let pool = Pool::new(90_000);
        let mut held = Held::new(&pool);
        held.push(b"abc", &mut |_| {});
        held.push(b"def", &mut |_| {});
        assert_eq!(held.whole().bytes(), Some(&b"abcdef"[..]));
        held.push(&[0; 33_000], &mut |_| {});
        assert_eq!(held.whole().bytes().map(<[u8]>::len), Some(33_006));
        held.push(&[0; 60_000], &mut |_| {});
        assert!(matches!(held.whole(), Whole::NotHeld(Reason::Budget)));
        assert_eq!(pool.bytes_taken(), 0);
        held.push(b"more", &mut |_| {});
        assert!(held.whole().bytes().is_none());
    }
}
