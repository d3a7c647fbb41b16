//! What was made last: a ring that matches copy from and output is drained from. Rule: it grows as it fills, by what is granted.

use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// The least by which it grows.
const GROWTH_BYTES_MIN: usize = 64 << 10;

/// A window.
pub(crate) struct Window {
    /// The ring as far as it has ever been reached.
    ring: Vec<u8>,
    size: usize,
    /// Where the next byte goes.
    at: usize,
    /// Bytes ever made, and those given out of them.
    made: u64,
    given: u64,
    /// Whether it was full of something before the first byte.
    is_filled: bool,
    grant: Grant,
}

#[allow(dead_code)]
impl Window {
    /// A window of no bytes.
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        let grant = pool.grant();
        Self { ring: Vec::new(), size: 0, at: 0, made: 0, given: 0, is_filled: false, grant }
    }

    /// Another stream, with nothing before it: the window has so many bytes.
    pub(crate) fn begin(&mut self, size: usize) {
        self.restart(size);
        if self.ring.len() > size {
            self.ring = Vec::new();
            self.grant.clear();
        }
    }

    /// As `begin`, but the window is full of these bytes already.
    ///
    /// # Errors
    ///
    /// Where the pool grants no window.
    pub(crate) fn begin_filled(&mut self, fill: &[u8]) -> Result<(), Reason> {
        self.begin(fill.len());
        self.reserve(fill.len())?;
        self.ring.copy_from_slice(fill);
        self.is_filled = true;
        Ok(())
    }

    fn restart(&mut self, size: usize) {
        (self.size, self.at, self.made, self.given, self.is_filled) = (size, 0, 0, 0, false);
    }

    /// A stream that goes on from the last: its window is larger, or stays as it is.
    pub(crate) fn go_on(&mut self, size: usize) {
        self.given = self.made;
        if size <= self.size {
            return;
        }
        if self.made >= self.size as u64 && self.size > 0 {
            // The ring is turned so that its oldest byte comes first; then there is room behind the newest.
            self.ring.rotate_left(self.at);
            self.at = self.size;
        }
        self.size = size;
    }

    /// Gives its memory back.
    pub(crate) fn clear(&mut self) {
        self.restart(0);
        self.ring = Vec::new();
        self.grant.clear();
    }

    /// Bytes of the window.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Bytes ever made.
    #[inline]
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// Bytes made and not yet given out.
    #[inline]
    pub(crate) fn pending(&self) -> usize {
        (self.made - self.given) as usize
    }

    /// Sees to it that so many bytes can be made; no more than the window has.
    ///
    /// # Errors
    ///
    /// Where the pool grants no more.
    #[inline]
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Reason> {
        let needed = (self.at + bytes).min(self.size);
        if needed > self.ring.len() { self.grow(needed) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, needed: usize) -> Result<(), Reason> {
        let had = self.ring.len();
        let ample = (had * 2).max(needed).max(GROWTH_BYTES_MIN).min(self.size);
        let to = match self.grant.grow((ample - had) as u64) {
            Ok(()) => ample,
            Err(_) => self.grant.grow((needed - had) as u64).map(|()| needed)?,
        };
        self.ring.reserve_exact(to - had);
        self.ring.resize(to, 0);
        Ok(())
    }

    /// One byte, for which there must be room.
    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        if let Some(place) = self.ring.get_mut(self.at) {
            *place = byte;
        }
        self.made += 1;
        self.at += 1;
        if self.at == self.size {
            self.at = 0;
        }
    }

    /// Bytes that were made so far before, for which there must be room.
    ///
    /// # Errors
    ///
    /// Damaged where nothing was made there.
    #[inline]
    pub(crate) fn copy(&mut self, distance: usize, length: usize) -> Result<(), Reason> {
        let is_there = distance as u64 <= self.made || self.is_filled;
        if distance == 0 || distance > self.size || !is_there {
            return Err(Reason::Damaged);
        }
        let end = self.at + length;
        if distance <= self.at && end < self.size && end <= self.ring.len() {
            let from = self.at - distance;
            if distance >= length {
                self.ring.copy_within(from..from + length, self.at);
            } else {
                for at in self.at..end {
                    self.ring[at] = self.ring[at - distance];
                }
            }
            self.at = end;
            self.made += length as u64;
            return Ok(());
        }
        self.copy_around(distance, length);
        Ok(())
    }

    fn copy_around(&mut self, distance: usize, length: usize) {
        let mut from = if distance <= self.at { self.at - distance } else { self.at + self.size - distance };
        for _ in 0..length {
            let byte = self.ring.get(from).copied().unwrap_or(0);
            self.push(byte);
            from += 1;
            if from == self.size {
                from = 0;
            }
        }
    }

    /// The byte that was made so far before; 0 where none was.
    pub(crate) fn back(&self, distance: usize) -> u8 {
        if distance == 0 || distance > self.size {
            return 0;
        }
        let from = if distance <= self.at { self.at - distance } else { self.at + self.size - distance };
        self.ring.get(from).copied().unwrap_or(0)
    }

    /// Gives out the oldest bytes that were not given out, as many as there is place for; answers how many.
    pub(crate) fn drain(&mut self, output: &mut [u8]) -> usize {
        let length = self.pending().min(output.len());
        let pending = self.pending();
        let from = if pending <= self.at { self.at - pending } else { self.at + self.size - pending };
        let first = length.min(self.size - from);
        if let Some(bytes) = self.ring.get(from..from + first) {
            output[..first].copy_from_slice(bytes);
        }
        if let Some(bytes) = self.ring.get(..length - first) {
            output[first..length].copy_from_slice(bytes);
        }
        self.given += length as u64;
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(size: usize) -> Window {
        let mut window = Window::new(&Pool::new(1 << 20));
        window.begin(size);
        window.reserve(size).unwrap();
        window
    }

    #[test]
    fn matches_go_round() {
        let mut window = window(10);
        b"abcdefg".iter().for_each(|b| window.push(*b));
        window.copy(7, 3).unwrap();
        let mut output = [0; 32];
        assert_eq!(window.drain(&mut output[..4]), 4);
        window.copy(1, 4).unwrap();
        assert_eq!((window.pending(), window.back(5), window.back(11)), (10, b'c', 0));
        assert_eq!(window.drain(&mut output[4..]), 10);
        assert_eq!(&output[..14], b"abcdefgabccccc");
        assert_eq!(window.copy(11, 1), Err(Reason::Damaged));
    }

    #[test]
    fn nothing_is_copied_from_before_the_first_byte() {
        let mut window = window(10);
        window.push(b'a');
        assert_eq!(window.copy(2, 1), Err(Reason::Damaged));
        assert_eq!(window.copy(0, 1), Err(Reason::Damaged));
        window.begin_filled(b"0123456789").unwrap();
        window.copy(3, 4).unwrap();
        let mut output = [0; 10];
        assert_eq!(window.drain(&mut output), 4);
        assert_eq!(&output[..4], b"7897");
    }

    #[test]
    fn a_window_may_become_larger() {
        let mut window = window(4);
        b"abcdef".iter().for_each(|b| window.push(*b));
        window.go_on(8);
        window.reserve(4).unwrap();
        window.copy(4, 4).unwrap();
        let mut output = [0; 8];
        assert_eq!(window.drain(&mut output), 4);
        assert_eq!(&output[..4], b"cdef");
    }

    #[test]
    fn it_holds_what_is_granted() {
        let pool = Pool::new(100_000);
        let mut window = Window::new(&pool);
        window.begin(1 << 20);
        window.reserve(1).unwrap();
        assert_eq!(pool.bytes_taken(), GROWTH_BYTES_MIN as u64);
        for _ in 0..GROWTH_BYTES_MIN {
            window.push(1);
        }
        window.reserve(30_000).unwrap();
        assert_eq!(window.reserve(50_000), Err(Reason::Budget));
        window.clear();
        assert_eq!(pool.bytes_taken(), 0);
    }
}
