//! Bytes that are kept of a part: [`Held`]. Rule: what is granted is kept; few large buffers are kept for the next part, and none
//! for long.
//!
//! Fresh memory costs more than what is read into it: the system clears each page of it when it is touched first. So large
//! buffers go from part to part, until [`let_go`] is called.

use crate::{Grant, Pool, Reason};
use std::sync::{Arc, Mutex, PoisonError};

/// The least by which what is held grows.
const GROWTH_BYTES_MIN: usize = 16 << 10;
/// Buffers between two parts: how long they are, and how many there are at most.
const SPARE_BYTES_MIN: usize = 64 << 10;
const SPARE_BYTES_MAX: usize = 2 << 20;
const SPARE_MAX: usize = 8;

static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Bytes of a part, as far as they are granted.
#[derive(Debug)]
pub struct Held {
    grant: Grant,
    bytes: Vec<u8>,
    /// How many are granted: a buffer that was another part's may have room for more.
    room: usize,
}

impl Held {
    /// Holds nothing yet.
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self { grant: pool.grant(), bytes: Vec::new(), room: 0 }
    }

    /// What is held.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether so many more need no further grant.
    pub fn has_room_for(&self, more: usize) -> bool {
        self.bytes.len().saturating_add(more) <= self.room
    }

    /// What grants are drawn from.
    pub fn pool(&self) -> &Pool {
        self.grant.pool()
    }

    /// Holds these, too.
    ///
    /// # Errors
    ///
    /// Where that is not granted: [`Grant::grow`].
    pub fn push(&mut self, input: &[u8]) -> Result<(), Reason> {
        let missing = (self.bytes.len() + input.len()).saturating_sub(self.room);
        if missing > 0 {
            // Half as much again each time; where that is not granted, what is needed.
            let ample = missing.max(self.room / 2).max(GROWTH_BYTES_MIN);
            self.room += match self.grant.grow(ample as u64) {
                Ok(()) => ample,
                Err(_) => self.grant.grow(missing as u64).map(|()| missing)?,
            };
            self.make_room();
        }
        self.bytes.extend_from_slice(input);
        Ok(())
    }

    /// Lets go of all of it.
    pub fn clear(&mut self) {
        give(std::mem::take(&mut self.bytes));
        self.room = 0;
        self.grant.clear();
    }

    fn make_room(&mut self) {
        if self.bytes.capacity() >= self.room {
            return;
        }
        match take(self.room) {
            Some(mut spare) => {
                spare.extend_from_slice(&self.bytes);
                give(std::mem::replace(&mut self.bytes, spare));
            }
            None => self.bytes.reserve_exact(self.room - self.bytes.len()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Lets go of the buffers that no part has.
pub fn let_go() {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The shortest that is long enough.
fn take(bytes: usize) -> Option<Vec<u8>> {
    if !(SPARE_BYTES_MIN..=SPARE_BYTES_MAX).contains(&bytes) {
        return None;
    }
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    let fitting = spare.iter().enumerate().filter(|(_, buffer)| buffer.capacity() >= bytes);
    let at = fitting.min_by_key(|(_, buffer)| buffer.capacity())?.0;
    Some(spare.swap_remove(at))
}

/// A part needs it no longer. Of too many the longest are kept.
fn give(mut buffer: Vec<u8>) {
    if !(SPARE_BYTES_MIN..=SPARE_BYTES_MAX).contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    if spare.len() < SPARE_MAX {
        spare.push(buffer);
    } else if let Some(shortest) = spare.iter_mut().min_by_key(|buffer| buffer.capacity())
        && shortest.capacity() < buffer.capacity()
    {
        *shortest = buffer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_is_the_same_whatever_buffer_there_is() {
        let piece: Vec<u8> = (0..4096u32).map(|at| (at % 251) as u8).collect();
        let grants = |pool: &Arc<Pool>| {
            let mut held = Held::new(pool);
            let grants: Vec<u64> = (0..100)
                .map(|_| {
                    held.push(&piece).unwrap();
                    pool.bytes_taken()
                })
                .collect();
            assert_eq!(held.bytes(), piece.repeat(100));
            assert!(held.has_room_for(0));
            grants
        };
        let pool = Pool::new(1 << 20);
        let_go();
        let first = grants(&pool);
        assert!(first.last() >= Some(&(100 * 4096)));
        for _ in 0..3 {
            assert_eq!(grants(&pool), first);
            assert_eq!(pool.bytes_taken(), 0);
        }
        let mut held = Held::new(&Pool::new(20_000));
        assert_eq!(held.push(&[1; 19_000]), Ok(()));
        assert_eq!(held.push(&[1; 1_000]), Ok(()));
        assert_eq!(held.push(&[1]), Err(Reason::Budget));
        assert_eq!(held.bytes().len(), 20_000);
        held.clear();
        assert!(held.bytes().is_empty() && held.pool().bytes_taken() == 0);
    }

    #[test]
    fn few_buffers_are_kept() {
        (0..20).for_each(|_| give(Vec::with_capacity(SPARE_BYTES_MIN)));
        give(Vec::with_capacity(SPARE_BYTES_MAX + 1));
        give(Vec::with_capacity(10));
        give(Vec::with_capacity(SPARE_BYTES_MAX));
        assert!(SPARE.lock().unwrap().len() <= SPARE_MAX);
        assert!(take(SPARE_BYTES_MAX + 1).is_none() && take(10).is_none());
    }
}
