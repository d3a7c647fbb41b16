//! Bytes that wait: [`Queue`]. Rule: empty costs nothing, so that a connection at rest holds no buffer; what waits costs
//! a few times its length at most.

/// Room in front that is kept rather than copied away.
const FRONT_BYTES_MAX: usize = 16 << 10;

/// A byte queue that frees its memory when it is drained.
#[derive(Debug, Default)]
pub struct Queue {
    bytes: Vec<u8>,
    start: usize,
}

impl Queue {
    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What waits, in order.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Adds to the end.
    pub fn push(&mut self, more: &[u8]) {
        if self.start > 0 && self.bytes.len() + more.len() > self.bytes.capacity() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        if self.bytes.len() + more.len() > self.bytes.capacity() {
            // By a quarter and not twofold: much of what is pending is never followed by as much again.
            self.bytes.reserve_exact(more.len().max(self.bytes.len() / 4));
        }
        self.bytes.extend_from_slice(more);
    }

    /// Puts back in front what was taken.
    pub fn push_front(&mut self, back: &[u8]) {
        if let Some(start) = self.start.checked_sub(back.len()) {
            self.bytes[start..self.start].copy_from_slice(back);
            self.start = start;
        } else {
            self.bytes.splice(..self.start, back.iter().copied());
            self.start = 0;
        }
    }

    /// Drops the first `bytes`.
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes.min(self.len());
        if self.is_empty() {
            self.clear();
        } else if self.start > FRONT_BYTES_MAX && self.start > self.len() {
            // Less is moved than has left since the last time.
            self.bytes.drain(..self.start);
            self.bytes.shrink_to(FRONT_BYTES_MAX);
            self.start = 0;
        }
    }

    /// Moves what fits into `into`; says how much. The memory stays until [`Queue::release`], so that what is put back
    /// costs no allocation.
    pub fn take(&mut self, into: &mut [u8]) -> usize {
        let count = self.len().min(into.len());
        into[..count].copy_from_slice(&self.as_slice()[..count]);
        self.start += count;
        count
    }

    /// Gives the memory back if nothing waits.
    pub fn release(&mut self) {
        if self.is_empty() {
            self.clear();
        }
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl std::io::Write for Queue {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_keeps_its_order_and_frees_its_memory() {
        let mut queue = Queue::default();
        queue.push(b"abcdef");
        queue.consume(2);
        queue.push(b"gh");
        assert_eq!(queue.as_slice(), b"cdefgh");
        let mut taken = [0; 4];
        assert_eq!(queue.take(&mut taken), 4);
        assert_eq!(&taken, b"cdef");
        queue.push_front(b"ef");
        assert_eq!(queue.as_slice(), b"efgh");
        queue.push_front(b"a longer piece than what was taken ");
        assert_eq!(queue.as_slice(), b"a longer piece than what was taken efgh");
        queue.consume(100);
        assert_eq!(queue.bytes.capacity(), 0);
    }

    #[test]
    fn a_burst_gives_its_memory_back_while_more_waits() {
        let mut queue = Queue::default();
        queue.push(&vec![1; 256 << 10]);
        for _ in 0..100 {
            queue.consume(10 << 10);
            queue.push(&[2; 7 << 10]);
        }
        assert!(queue.len() < 8 << 10, "{}", queue.len());
        assert!(queue.bytes.capacity() <= 4 * FRONT_BYTES_MAX, "{}", queue.bytes.capacity());
        assert!(queue.as_slice().iter().all(|byte| *byte == 2));
    }

    #[test]
    fn take_keeps_the_memory_until_release() {
        let mut queue = Queue::default();
        queue.push(b"abc");
        assert_eq!(queue.take(&mut [0; 8]), 3);
        assert!(queue.is_empty() && queue.bytes.capacity() > 0);
        queue.release();
        assert_eq!(queue.bytes.capacity(), 0);
    }
}
