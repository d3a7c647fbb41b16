//! Every limit on content in one place: [`Limits`], what is left of them in [`Budget`], and the process-wide [`Pool`].
//! Rule: spend before you take; what cannot be spent is a [`Reason`], never a panic.

use crate::finding::Reason;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Limits on one transaction's content. The defaults are those of the configuration reference.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How deep parts may nest; the root is at 0.
    pub depth_max: u16,
    /// How many parts a transaction may have.
    pub parts_max: u32,
    /// How many bytes may be decoded for each byte received …
    pub expansion_max: u64,
    /// … once this many have been decoded: small files compress well and do no harm.
    pub expansion_free_bytes: u64,
    /// How many bytes may be decoded in all, over all layers.
    pub decoded_bytes_max: u64,
    /// How much of one part may be held for a format that cannot be streamed.
    pub part_held_bytes_max: u64,
    /// How much may be held for all parts of one transaction.
    pub held_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth_max: 24,
            parts_max: 10_000,
            expansion_max: 250,
            expansion_free_bytes: 16 << 20,
            decoded_bytes_max: 1 << 30,
            part_held_bytes_max: 8 << 20,
            held_bytes_max: 32 << 20,
        }
    }
}

/// What one transaction has used of its [`Limits`].
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Arc<Limits>,
    wire_bytes: u64,
    decoded_bytes: u64,
    parts: u32,
}

impl Budget {
    /// Nothing used yet.
    pub fn new(limits: Arc<Limits>) -> Self {
        Self { limits, wire_bytes: 0, decoded_bytes: 0, parts: 0 }
    }

    /// The limits it is measured against.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Bytes came from the wire: the measure for expansion.
    pub fn receive(&mut self, bytes: usize) {
        self.wire_bytes = self.wire_bytes.saturating_add(bytes as u64);
    }

    /// A part at this depth is about to open.
    pub fn spend_part(&mut self, depth: u16) -> Result<(), Reason> {
        if depth > self.limits.depth_max {
            return Err(Reason::Depth);
        }
        if self.parts >= self.limits.parts_max {
            return Err(Reason::Parts);
        }
        self.parts += 1;
        Ok(())
    }

    /// Bytes came out of a decoder.
    pub fn spend_decoded(&mut self, bytes: usize) -> Result<(), Reason> {
        self.decoded_bytes = self.decoded_bytes.saturating_add(bytes as u64);
        if self.decoded_bytes > self.limits.decoded_bytes_max {
            return Err(Reason::DecodedBytes);
        }
        let allowed = self.wire_bytes.saturating_mul(self.limits.expansion_max);
        if self.decoded_bytes > self.limits.expansion_free_bytes && self.decoded_bytes > allowed {
            return Err(Reason::Expansion);
        }
        Ok(())
    }

    /// Bytes received so far.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    /// Bytes decoded so far, over all layers.
    pub fn decoded_bytes(&self) -> u64 {
        self.decoded_bytes
    }

    /// Parts opened so far.
    pub fn parts(&self) -> u32 {
        self.parts
    }
}

/// Bytes that may be held, by the whole process or by one transaction as a share of that; taken as [`Grant`]s, which give
/// back when they are dropped.
#[derive(Debug)]
pub struct Pool {
    bytes_max: u64,
    bytes_taken: AtomicU64,
    /// What this is a share of, and how much one part may take of it.
    whole: Option<(Arc<Self>, u64)>,
}

impl Pool {
    /// A pool of so many bytes, for the whole process.
    pub fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { bytes_max, bytes_taken: AtomicU64::new(0), whole: None })
    }

    /// One transaction's share: what it takes is taken from the whole, too.
    pub fn share(self: &Arc<Self>, limits: &Limits) -> Arc<Self> {
        let whole = Some((Arc::clone(self), limits.part_held_bytes_max));
        Arc::new(Self { bytes_max: limits.held_bytes_max, bytes_taken: AtomicU64::new(0), whole })
    }

    /// An empty grant, to be grown.
    pub fn grant(self: &Arc<Self>) -> Grant {
        Grant { pool: Arc::clone(self), bytes: 0 }
    }

    /// How many bytes are out.
    pub fn bytes_taken(&self) -> u64 {
        self.bytes_taken.load(Ordering::Relaxed)
    }

    /// How many bytes there are in all.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Whether so much of what the process may hold is out, in percent: what can do without leaves the rest to what cannot.
    pub fn is_taken_to(&self, percent: u64) -> bool {
        let whole = self.whole.as_ref().map_or(self, |(whole, _)| whole);
        whole.bytes_taken().saturating_mul(100) >= whole.bytes_max.saturating_mul(percent)
    }

    fn take(&self, bytes: u64) -> Result<(), Reason> {
        let within = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
        let taken = self.bytes_taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        match (&self.whole, taken) {
            (None, Ok(_)) => Ok(()),
            // A transaction that wants too much is to blame itself; a process that has no more is not.
            (None, Err(_)) => Err(Reason::Budget),
            (Some(_), Err(_)) => Err(Reason::Held),
            (Some((whole, _)), Ok(_)) => whole.take(bytes).inspect_err(|_| self.give_back_own(bytes)),
        }
    }

    fn give_back(&self, bytes: u64) {
        self.give_back_own(bytes);
        if let Some((whole, _)) = &self.whole {
            whole.give_back(bytes);
        }
    }

    fn give_back_own(&self, bytes: u64) {
        self.bytes_taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A share of a [`Pool`].
#[derive(Debug)]
pub struct Grant {
    pool: Arc<Pool>,
    bytes: u64,
}

impl Grant {
    /// Takes more from the pool, or nothing.
    ///
    /// # Errors
    ///
    /// [`Reason::Held`] where the part or its transaction would hold more than it may, [`Reason::Budget`] where the
    /// process has no more.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Reason> {
        let part_max = self.pool.whole.as_ref().map_or(u64::MAX, |(_, part_max)| *part_max);
        if self.bytes.saturating_add(bytes) > part_max {
            return Err(Reason::Held);
        }
        self.pool.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// What it is a share of.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// How many bytes are granted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives all of it back.
    pub fn clear(&mut self) {
        self.pool.give_back(self.bytes);
        self.bytes = 0;
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_gives_back() {
        let pool = Pool::new(100);
        let mut a = pool.grant();
        assert_eq!(a.grow(60), Ok(()));
        let mut b = pool.grant();
        assert_eq!(b.grow(41), Err(Reason::Budget));
        assert_eq!(b.grow(40), Ok(()));
        drop(a);
        assert_eq!(b.grow(60), Ok(()));
        assert_eq!(pool.bytes_taken(), 100);
        drop(b);
        assert_eq!(pool.bytes_taken(), 0);
    }

    #[test]
    fn who_holds_too_much_is_told_whose_limit_it_is() {
        let whole = Pool::new(100);
        let limits = Limits { part_held_bytes_max: 30, held_bytes_max: 50, ..Limits::default() };
        let share = whole.share(&limits);
        let (mut a, mut b) = (share.grant(), share.grant());
        assert_eq!(a.grow(31), Err(Reason::Held), "the part");
        assert_eq!(a.grow(30), Ok(()));
        assert_eq!(b.grow(21), Err(Reason::Held), "the transaction");
        assert_eq!(b.grow(20), Ok(()));
        let mut other = whole.share(&limits).grant();
        let mut others = whole.grant();
        assert_eq!(others.grow(45), Ok(()));
        assert_eq!(other.grow(10), Err(Reason::Budget), "the process");
        drop((a, b));
        assert_eq!((share.bytes_taken(), whole.bytes_taken()), (0, 45));
        assert_eq!(other.grow(10), Ok(()));
    }

    #[test]
    fn each_limit_has_its_reason() {
        let limits = Limits {
            depth_max: 2,
            parts_max: 2,
            expansion_max: 10,
            expansion_free_bytes: 50,
            decoded_bytes_max: 500,
            ..Limits::default()
        };
        let mut budget = Budget::new(Arc::new(limits));
        assert_eq!(budget.spend_part(3), Err(Reason::Depth));
        assert_eq!(budget.spend_part(2), Ok(()));
        assert_eq!(budget.spend_part(0), Ok(()));
        assert_eq!(budget.spend_part(0), Err(Reason::Parts));
        assert_eq!(budget.spend_decoded(50), Ok(()));
        assert_eq!(budget.spend_decoded(1), Err(Reason::Expansion));
        budget.receive(50);
        assert_eq!(budget.spend_decoded(449), Ok(()));
        assert_eq!(budget.spend_decoded(1), Err(Reason::DecodedBytes));
    }
}
