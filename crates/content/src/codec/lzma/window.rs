//! What was made last, which matches repeat. Rule: it holds what is granted; only a match that needs more fails.

use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// The least that is held, and the first step.
const STEP_BYTES: usize = 64 << 10;

/// A ring of the last bytes.
pub(super) struct Window {
    ring: Vec<u8>,
    at: usize,
    /// Bytes made since the last reset.
    made: u64,
    bytes_max: usize,
    grant: Grant,
    /// Why it does not grow any more.
    refused: Option<Reason>,
}

impl Window {
    /// Holds nothing yet, and so many bytes at most.
    pub fn new(pool: &Arc<Pool>, dictionary_bytes: u32) -> Self {
        let bytes_max = usize::try_from(dictionary_bytes).unwrap_or(usize::MAX).max(4096);
        Self { ring: Vec::new(), at: 0, made: 0, bytes_max, grant: pool.grant(), refused: None }
    }

    /// What was made so far can no longer be repeated.
    pub fn reset(&mut self) {
        self.made = 0;
    }

    pub fn made(&self) -> u64 {
        self.made
    }

    /// Makes room, and says how much of it stands in a row; at most `wanted`.
    pub fn room(&mut self, wanted: usize) -> Result<usize, Reason> {
        if self.at == self.ring.len() {
            if self.ring.len() < self.bytes_max && self.refused.is_none() {
                self.refused = self.grow().err();
            }
            if self.ring.is_empty() {
                return Err(self.refused.unwrap_or(Reason::Held));
            }
            if self.at == self.ring.len() {
                self.at = 0;
            }
        }
        Ok(wanted.min(self.ring.len() - self.at))
    }

    fn grow(&mut self) -> Result<(), Reason> {
        let wanted = (2 * self.ring.len()).max(STEP_BYTES).min(self.bytes_max);
        self.grant.grow((wanted - self.ring.len()) as u64)?;
        self.ring.reserve_exact(wanted - self.ring.len());
        self.ring.resize(wanted, 0);
        Ok(())
    }

    /// Where the next byte goes.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What was made from there on.
    pub fn since(&self, at: usize) -> &[u8] {
        self.ring.get(at..self.at).unwrap_or_default()
    }

    /// The byte so far back, where 0 is the last one; 0 where there is none.
    #[inline(always)]
    pub fn back(&self, distance: u32) -> u8 {
        let distance = distance as usize;
        if distance as u64 >= self.made {
            return 0;
        }
        let from = match self.at.checked_sub(distance + 1) {
            Some(from) => from,
            None => (self.at + self.ring.len()).wrapping_sub(distance + 1),
        };
        self.ring.get(from).copied().unwrap_or(0)
    }

    /// One more byte; room for it was made.
    #[inline(always)]
    pub fn push(&mut self, byte: u8) {
        if let Some(place) = self.ring.get_mut(self.at) {
            *place = byte;
            self.at += 1;
            self.made += 1;
        }
    }

    /// Bytes as they are; room for them was made.
    pub fn append(&mut self, bytes: &[u8]) {
        if let Some(place) = self.ring.get_mut(self.at..self.at + bytes.len()) {
            place.copy_from_slice(bytes);
            self.at += bytes.len();
            self.made += bytes.len() as u64;
        }
    }

    /// Whether so far back there is a byte, and it is still held.
    pub fn reaches(&self, distance: u32) -> Result<(), Reason> {
        if u64::from(distance) >= self.made {
            return Err(Reason::Damaged);
        }
        if distance as usize >= self.ring.len() {
            return Err(self.refused.unwrap_or(Reason::Damaged));
        }
        Ok(())
    }

    /// So many bytes again from so far back, where they are held; room for them was made.
    pub fn repeat(&mut self, distance: u32, length: usize) {
        let back = distance as usize + 1;
        let (at, end) = (self.at, self.at + length);
        self.made += length as u64;
        self.at = end;
        if let Some(from) = at.checked_sub(back) {
            if back >= length {
                self.ring.copy_within(from..from + length, at);
                return;
            }
            let Some(bytes) = self.ring.get_mut(from..end) else { return };
            for i in 0..length {
                bytes[back + i] = bytes[i];
            }
            return;
        }
        let mut from = (at + self.ring.len()).saturating_sub(back);
        for to in at..end {
            self.ring[to] = self.ring[from];
            from = if from + 1 == self.ring.len() { 0 } else { from + 1 };
        }
    }
}
