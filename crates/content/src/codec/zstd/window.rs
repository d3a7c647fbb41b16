//! What was made last: the block at hand, and the window before it. Rule: the window never holds more than the frame says.

use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// The window is taken in steps.
const STEP_BYTES: usize = 64 << 10;

/// The block at hand, and a ring of what came before it.
pub(super) struct Window {
    ring: Vec<u8>,
    /// Where the oldest byte is, once the ring is full; then the next one goes there.
    start: usize,
    bytes_max: usize,
    block: Vec<u8>,
    grant: Grant,
}

impl Window {
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self { ring: Vec::new(), start: 0, bytes_max: 0, block: Vec::new(), grant: pool.grant() }
    }

    /// A frame begins, with a window of so many bytes.
    pub fn begin(&mut self, bytes_max: usize) {
        (self.ring, self.start, self.bytes_max) = (Vec::new(), 0, bytes_max);
        self.grant.clear();
        self.block.clear();
    }

    /// The block at hand.
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    pub fn block_bytes(&self) -> usize {
        self.block.len()
    }

    /// Bytes of the block as they are.
    pub fn append(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// One byte of the block again and again.
    pub fn fill(&mut self, byte: u8, count: usize) {
        self.block.resize(self.block.len() + count, byte);
    }

    /// Bytes of the block that were there so far before; `None` where nothing was.
    pub fn repeat(&mut self, offset: usize, mut count: usize) -> Option<()> {
        while count > 0 {
            let in_block = self.block.len();
            if offset <= in_block {
                // What is copied may be what is copied from: each piece is at most that far away.
                let from = in_block - offset;
                let piece = count.min(offset);
                self.block.extend_from_within(from..from + piece);
                count -= piece;
                continue;
            }
            let back = offset - in_block;
            if offset == 0 || back > self.ring.len() {
                return None;
            }
            let from = (self.start + self.ring.len() - back) % self.ring.len();
            let piece = count.min(back).min(self.ring.len() - from);
            self.block.extend_from_slice(self.ring.get(from..from + piece)?);
            count -= piece;
        }
        Some(())
    }

    /// The block has been given out: it is what came before the next one.
    pub fn keep_block(&mut self) -> Result<(), Reason> {
        let from = self.block.len().saturating_sub(self.bytes_max);
        let mut rest = self.block.get(from..).unwrap_or_default();
        let room = (self.bytes_max - self.ring.len()).min(rest.len());
        if self.ring.capacity() < self.ring.len() + room {
            // At least twice as much, so that growing stays cheap.
            let wanted = (self.ring.len() + room).max(2 * self.ring.capacity()).max(STEP_BYTES);
            let wanted = wanted.min(self.bytes_max);
            self.grant.grow((wanted - self.ring.capacity().min(wanted)) as u64)?;
            self.ring.reserve_exact(wanted - self.ring.len());
        }
        let (first, second) = rest.split_at(room);
        self.ring.extend_from_slice(first);
        rest = second;
        while !rest.is_empty() {
            let piece = rest.len().min(self.ring.len() - self.start);
            let (now, later) = rest.split_at(piece);
            self.ring[self.start..self.start + piece].copy_from_slice(now);
            self.start = (self.start + piece) % self.ring.len();
            rest = later;
        }
        self.block.clear();
        Ok(())
    }
}
