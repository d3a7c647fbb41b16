//! Blocks that are free: listed by size, and joined when none of a size is left. Rule: each variant joins as its original does.

use super::{Arena, Joining, SIZES, UNIT_BYTES};

/// What marks a block that is free: in variant H while they are joined, in variant I always.
const FREE: u16 = u16::MAX;
const STAMP: u32 = u32::MAX;
/// How many times a block is not found before free ones are joined again.
const UNTIL_JOINED_MARKED: u32 = 255;
const UNTIL_JOINED_STAMPED: u32 = 1 << 13;
/// Blocks of units that begin no further behind the first are moved up, so that text has room.
const MOVED_UP_BYTES: u32 = 16 << 10;

impl Arena {
    /// A block is free.
    pub(super) fn push(&mut self, block: u32, size: usize) {
        let next = self.free[size].to_le_bytes();
        if self.joining == Joining::Marked {
            self.put(block, next);
        } else {
            self.put(block, STAMP.to_le_bytes());
            self.put(block + 4, next);
            self.put(block + 8, self.units_of[size].to_le_bytes());
        }
        self.free[size] = block;
        self.free_count[size] += 1;
    }

    /// The block of this size that became free last; there is one.
    pub(super) fn pop(&mut self, size: usize) -> u32 {
        let block = self.free[size];
        self.free[size] = self.u32(if self.joining == Joining::Marked { block } else { block + 4 });
        self.free_count[size] = self.free_count[size].saturating_sub(1);
        block
    }

    /// Joins free blocks that stand side by side.
    pub(super) fn glue(&mut self) {
        match self.joining {
            Joining::Marked => self.glue_marked(),
            Joining::Stamped => self.glue_stamped(),
        }
    }

    /// They are marked, listed by their newest, joined with those behind them, and become free blocks again.
    fn glue_marked(&mut self) {
        self.glue_count = UNTIL_JOINED_MARKED;
        if self.low != self.high {
            self.put(self.low, [0]);
        }
        // The list goes through the blocks themselves, the newest first.
        let mut newest = 0_u32;
        for size in 0..SIZES {
            while self.free[size] != 0 {
                let block = self.pop(size);
                self.put(block, FREE.to_le_bytes());
                self.put(block + 2, (self.units_of[size] as u16).to_le_bytes());
                self.put(block + 4, newest.to_le_bytes());
                newest = block;
            }
        }
        // One that is joined to a block before it in the list is taken out of the list, for it may be written over; one
        // that is joined to a later block is met before that.
        let (mut block, mut last) = (newest, 0);
        while block != 0 {
            let next = self.u32(block + 4);
            if self.u16(block + 2) > 0 || last == 0 {
                self.join(block);
                last = block;
            } else {
                self.put(last + 4, next.to_le_bytes());
            }
            block = next;
        }
        let mut block = newest;
        while block != 0 {
            let next = self.u32(block + 4);
            self.free_joined(block, self.u16(block + 2).into());
            block = next;
        }
    }

    /// Joins a block with the free ones behind it, which have no units then.
    fn join(&mut self, block: u32) {
        let mut units = u32::from(self.u16(block + 2));
        while units > 0 {
            let next = block + units * UNIT_BYTES;
            let more = u32::from(self.u16(next + 2));
            let is_free = next < self.top() && self.u16(next) == FREE && more > 0;
            if !is_free || units + more >= 0x10000 {
                break;
            }
            units += more;
            self.put(next + 2, [0; 2]);
            self.put(block + 2, (units as u16).to_le_bytes());
        }
    }

    fn free_joined(&mut self, mut block: u32, mut units: u32) {
        while units > 128 {
            self.push(block, SIZES - 1);
            block += 128 * UNIT_BYTES;
            units -= 128;
        }
        if units == 0 {
            return;
        }
        let mut size = self.size_for(units);
        if self.units_of[size] != units {
            size -= 1;
            let rest = units - self.units_of[size];
            // The rest is of one to three units, which are the sizes of these numbers less one.
            self.push(block + (units - rest) * UNIT_BYTES, rest as usize - 1);
        }
        self.push(block, size);
    }

    /// They are listed by size, each joined with those behind it, and become free blocks again.
    fn glue_stamped(&mut self) {
        self.glue_count = UNTIL_JOINED_STAMPED;
        self.free_count = [0; SIZES];
        self.guard_low();
        let (mut first, mut last) = (0, 0);
        for size in 0..SIZES {
            let mut block = std::mem::take(&mut self.free[size]);
            while block != 0 {
                if self.units(block) > 0 {
                    match last {
                        0 => first = block,
                        last => self.put(last + 4, block.to_le_bytes()),
                    }
                    last = block;
                    self.join_stamped(block);
                }
                block = self.u32(block + 4);
            }
        }
        if last != 0 {
            self.put(last + 4, [0; 4]);
        }
        let mut block = first;
        while block != 0 {
            let next = self.u32(block + 4);
            self.free_joined(block, self.units(block));
            block = next;
        }
    }

    /// Joins a block with the free ones behind it, which have no units then.
    fn join_stamped(&mut self, block: u32) {
        let mut units = self.units(block);
        loop {
            let next = block + units * UNIT_BYTES;
            if next >= self.top() || self.u32(next) != STAMP || self.units(next) == 0 {
                return;
            }
            units += self.units(next);
            self.put(block + 8, units.to_le_bytes());
            self.put(next + 8, [0; 4]);
        }
    }

    /// Units of a free block, as it says itself. No more than there are, so that no place is beyond what can be told.
    fn units(&self, block: u32) -> u32 {
        self.u32(block + 8).min(self.top() / UNIT_BYTES)
    }

    /// What was never used does not look free.
    fn guard_low(&mut self) {
        if self.low != self.high {
            self.put(self.low, [0; 4]);
        }
    }

    /// One unit is free; where units begin with it, they begin behind it.
    pub(in super::super) fn release_unit(&mut self, unit: u32) {
        if unit == self.units_start {
            self.units_start += UNIT_BYTES;
        } else {
            self.push(unit, 0);
        }
    }

    /// Moves a block of so many units away from the text, if there is a free one further up; where it is then.
    pub(in super::super) fn move_up(&mut self, block: u32, units: u32) -> u32 {
        let size = self.size_for(units);
        if block > self.units_start.saturating_add(MOVED_UP_BYTES) || block > self.free[size] {
            return block;
        }
        let place = self.pop(size);
        self.copy(block, place, units);
        if block == self.units_start {
            self.units_start += self.units_of[size] * UNIT_BYTES;
        } else {
            self.push(block, size);
        }
        place
    }

    /// Free blocks at the beginning of the units become room for text.
    pub(in super::super) fn expand_text(&mut self) {
        self.guard_low();
        let mut taken = [0; SIZES];
        let mut block = self.units_start;
        while block < self.top() && self.u32(block) == STAMP && self.units(block) > 0 {
            self.put(block, [0; 4]);
            taken[self.size_for(self.units(block))] += 1;
            block += self.units(block) * UNIT_BYTES;
        }
        self.units_start = block;
        for (size, taken) in taken.into_iter().enumerate() {
            self.unlist(size, taken);
        }
    }

    /// Takes so many blocks that have lost their stamp out of a list.
    fn unlist(&mut self, size: usize, mut taken: u32) {
        let (mut last, mut block) = (0, self.free[size]);
        while taken > 0 && block != 0 {
            let next = self.u32(block + 4);
            if self.u32(block) != 0 {
                last = block;
            } else {
                match last {
                    0 => self.free[size] = next,
                    last => self.put(last + 4, next.to_le_bytes()),
                }
                self.free_count[size] = self.free_count[size].saturating_sub(1);
                taken -= 1;
            }
            block = next;
        }
    }

    /// All text is forgotten.
    pub(in super::super) fn clear_text(&mut self) {
        self.text = UNIT_BYTES;
    }

    /// Free blocks are joined as soon as one is not found.
    pub(in super::super) fn join_soon(&mut self) {
        self.glue_count = 0;
    }

    /// Whether a place is a context's and no byte of text.
    pub(in super::super) fn is_unit(&self, at: u32) -> bool {
        at >= self.units_start
    }

    /// Bytes of the memory, and how many of them are used.
    pub(in super::super) fn size_and_used(&self) -> (u32, u32) {
        let size = self.top() - UNIT_BYTES;
        let free: u32 = self.free_count.iter().zip(&self.units_of).map(|(count, units)| count * units).sum();
        let unused = (self.high - self.low) + (self.units_start - self.text);
        (size, size.wrapping_sub(unused).wrapping_sub(free.wrapping_mul(UNIT_BYTES)))
    }
}
