//! One block: from symbols to bytes, by move-to-front, the inverse Burrows-Wheeler transform, and runs.
//! Rule: every loop is cut into slices, and what has been done so far is a state.

use super::crc;
use super::random::NUMBERS;
use lockgate_model::{Grant, Reason};

/// How many places of a block are worked on in one slice: a fraction of a millisecond.
pub(super) const SLICE: usize = 32 * 1024;
/// How many places are read in one go: each may be anywhere in the block, and so out of the cache.
const PLACES_A_WRITE: usize = 4 * 1024;
/// Blocks are this long for each level.
pub(super) const LEVEL_BYTES: usize = 100_000;
/// The least room for a block.
const ROOM_MIN: usize = 16 * 1024;

/// A block on its way.
pub(super) struct Block {
    /// Draws the memory for `places` from the pool.
    grant: Grant,
    /// How long a block may be at this level.
    length_max: usize,
    /// A byte in the low eight bits, and, once prepared, the place of the next one above.
    places: Vec<u32>,
    counts: [u32; 256],
    /// Symbols by how lately they were used.
    recent: [u8; 256],
    run: Run,
    prepared: usize,
    /// Where the next byte is found, and how many are still to come.
    place: u32,
    left: usize,
    random: Option<Random>,
    /// The last byte given out, how often in a row, and how often it is still to be repeated.
    last: u8,
    repeats: u8,
    repeat_left: u8,
    pub(super) crc: u32,
}

/// A run of one byte, told in digits.
#[derive(Clone, Copy, Default)]
struct Run {
    length: u32,
    weight: u32,
}

/// Old writers flipped single bits of blocks that sort badly.
struct Random {
    index: usize,
    left: u16,
}

impl Block {
    pub(super) fn new(grant: Grant) -> Self {
        Self {
            grant,
            length_max: 0,
            places: Vec::new(),
            counts: [0; 256],
            recent: [0; 256],
            run: Run::default(),
            prepared: 0,
            place: 0,
            left: 0,
            random: None,
            last: 0,
            repeats: 0,
            repeat_left: 0,
            crc: !0,
        }
    }

    pub(super) fn set_level(&mut self, level: usize) {
        self.length_max = level * LEVEL_BYTES;
    }

    /// Begins a block with these bytes in use.
    pub(super) fn begin(&mut self, in_use: &[u8]) {
        self.places.clear();
        self.counts.fill(0);
        self.recent[..in_use.len()].copy_from_slice(in_use);
        self.run = Run::default();
    }

    /// Gives all memory back.
    pub(super) fn clear(&mut self) {
        self.places = Vec::new();
        self.grant.clear();
    }

    /// A digit of a run: 1 or 2 times the digit's weight.
    pub(super) fn run_digit(&mut self, digit: u32) -> Result<(), Reason> {
        // A longer run than a block fits none.
        if self.run.weight > 20 {
            return Err(Reason::Damaged);
        }
        self.run.length += digit << self.run.weight;
        self.run.weight += 1;
        Ok(())
    }

    /// Whether a run is to be written before the next symbol.
    pub(super) fn has_run(&self) -> bool {
        self.run.length > 0
    }

    /// Writes a slice of the run; how long it was.
    pub(super) fn write_run(&mut self) -> Result<usize, Reason> {
        let length = (self.run.length as usize).min(SLICE);
        let byte = self.recent[0];
        self.make_room(length)?;
        self.places.resize(self.places.len() + length, byte.into());
        self.counts[usize::from(byte)] += length as u32;
        self.run.length -= length as u32;
        if self.run.length == 0 {
            self.run.weight = 0;
        }
        Ok(length)
    }

    /// Writes the byte that was used so many others ago.
    pub(super) fn write_recent(&mut self, age: usize) -> Result<(), Reason> {
        self.make_room(1)?;
        let byte = self.recent[age];
        self.recent.copy_within(..age, 1);
        self.recent[0] = byte;
        self.places.push(byte.into());
        self.counts[usize::from(byte)] += 1;
        Ok(())
    }

    /// Room grows with what is in the block, so that a small file takes little, whatever its level.
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<(), Reason> {
        let length = self.places.len() + more;
        if length <= self.places.capacity() && length <= self.length_max { Ok(()) } else { self.grow(length) }
    }

    #[cold]
    fn grow(&mut self, length: usize) -> Result<(), Reason> {
        if length > self.length_max {
            return Err(Reason::Damaged);
        }
        let room = (self.places.capacity() * 2).max(length).max(ROOM_MIN).min(self.length_max);
        let more = room - self.places.capacity();
        self.grant.grow((more * size_of::<u32>()) as u64)?;
        self.places.reserve_exact(room - self.places.len());
        Ok(())
    }

    /// All symbols are there: from `origin` on, each place is to learn where the next one is.
    pub(super) fn end(&mut self, origin: u32, is_random: bool) -> Result<(), Reason> {
        if origin as usize >= self.places.len() {
            return Err(Reason::Damaged);
        }
        let mut sum = 0;
        for count in &mut self.counts {
            sum += std::mem::replace(count, sum);
        }
        self.prepared = 0;
        self.place = origin;
        self.left = self.places.len();
        self.random = is_random.then(|| Random { index: 0, left: NUMBERS[0] });
        (self.repeats, self.repeat_left, self.crc) = (0, 0, !0);
        Ok(())
    }

    /// Works on a slice; how long it was, 0 when all is done.
    pub(super) fn prepare(&mut self) -> usize {
        let start = self.prepared;
        let end = (start + SLICE).min(self.places.len());
        for index in start..end {
            let byte = self.places[index] & 0xff;
            let count = &mut self.counts[byte as usize];
            // Each count is a place within the block: they sum up to its length.
            if let Some(place) = self.places.get_mut(*count as usize) {
                *place |= (index as u32) << 8;
            }
            *count += 1;
        }
        if end == self.places.len() && start < end {
            self.place = self.places[self.place as usize] >> 8;
        }
        self.prepared = end;
        end - start
    }

    /// Gives out bytes until the output is full, the block at its end, or enough places have been read.
    pub(super) fn write(&mut self, output: &mut [u8]) -> usize {
        let mut made = 0;
        let left_after = self.left.saturating_sub(PLACES_A_WRITE);
        while made < output.len() && self.left >= left_after {
            if self.repeat_left > 0 {
                let length = usize::from(self.repeat_left).min(output.len() - made);
                output[made..made + length].fill(self.last);
                self.repeat_left -= length as u8;
                made += length;
                continue;
            }
            let Some(byte) = self.next_byte() else { break };
            // Four equal bytes are followed by how many more there are.
            if self.repeats == 4 {
                self.repeat_left = byte;
                self.repeats = 0;
                continue;
            }
            self.repeats = if self.repeats > 0 && byte == self.last { self.repeats + 1 } else { 1 };
            self.last = byte;
            output[made] = byte;
            made += 1;
        }
        self.crc = crc::add(self.crc, &output[..made]);
        made
    }

    /// How many places have not been read yet.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Whether all has been given out.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0 && self.repeat_left == 0
    }

    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let place = *self.places.get(self.place as usize)?;
        self.place = place >> 8;
        let byte = place as u8;
        match &mut self.random {
            None => Some(byte),
            Some(random) => Some(byte ^ random.next()),
        }
    }
}

impl Random {
    /// 1 where the bit is flipped.
    fn next(&mut self) -> u8 {
        self.left -= 1;
        let flip = u8::from(self.left == 1);
        if self.left == 0 {
            self.index = (self.index + 1) % NUMBERS.len();
            self.left = NUMBERS[self.index];
        }
        flip
    }
}
