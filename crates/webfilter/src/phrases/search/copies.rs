//! Which bytes of the raw reading stand in the text as well: [`Copies`]. Rule: nothing is said of a byte that is not known to be a
//! copy of one byte.
//!
//! What is left out between two bytes that are copied was a row of spaces or a tag, and of such a run the first, which is a space,
//! is copied. So four bytes in a row that are no spaces stand in both readings, or in none.

use super::super::block::{BLOCK, low};
use super::places::{BATCH, Bits, MASK, but};
use std::ops::Range;

/// For each 64 bytes of the raw reading from somewhere on, which were copied and to where.
#[derive(Debug, Default)]
pub(in crate::phrases) struct Copies {
    from: usize,
    blocks: Vec<Kept>,
}

/// What was copied of 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// A bit for each byte that was.
    pub mask: u64,
    /// Where the first stands in the text; the others follow.
    pub text: usize,
    /// Where what follows them would stand.
    end: usize,
    /// Up to where in the block this is known.
    bytes: usize,
}

impl Kept {
    /// Where a byte of the block stands in the text, if it does.
    #[inline]
    pub fn place(&self, bit: usize) -> usize {
        self.text + (self.mask & low(bit)).count_ones() as usize
    }

    /// Whether the text goes on in the next block.
    #[inline(always)]
    fn goes_on(&self, next: &Self) -> bool {
        (self.bytes == BLOCK) & (next.bytes > 0) & (self.end == next.text)
    }
}

impl Copies {
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Makes room for so many bytes of the raw reading.
    pub fn reserve(&mut self, bytes: usize) {
        self.blocks.reserve(bytes / BLOCK + 2);
    }

    /// How many bytes may be added at once there.
    #[inline(always)]
    pub fn room(&self, raw: usize) -> usize {
        if self.blocks.is_empty() { BLOCK } else { BLOCK - (raw - self.from) % BLOCK }
    }

    /// Of so many bytes in the raw reading those of a mask are copied to the text.
    #[inline(always)]
    pub fn add(&mut self, raw: usize, bytes: usize, mask: u64, text: usize) {
        if self.blocks.is_empty() {
            self.from = raw;
        }
        let end = text + mask.count_ones() as usize;
        let (block, bit) = ((raw - self.from) / BLOCK, (raw - self.from) % BLOCK);
        if bit == 0 {
            // There may have been others, of which nothing is known.
            if self.blocks.len() != block {
                self.blocks.resize(block, Kept::default());
            }
            self.blocks.push(Kept { mask, text, end, bytes });
        } else if let Some(kept) = self.blocks.get_mut(block)
            && kept.bytes == bit
            && kept.end == text
        {
            kept.mask |= mask << bit;
            kept.end = end;
            kept.bytes += bytes;
        }
    }

    /// Each byte of the raw reading that was copied, and where it stands in the text.
    #[cfg(test)]
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.blocks.iter().zip((self.from..).step_by(BLOCK)).flat_map(|(kept, raw)| {
            let copied = (0..BLOCK).filter(|bit| kept.mask >> bit & 1 == 1);
            copied.map(move |bit| (raw + bit, kept.place(bit)))
        })
    }

    /// Where the raw reading is that this is about, as far as its places and those in the text are looked at; and the blocks.
    pub(super) fn within(&self, raw: &Range<usize>, text: &Range<usize>) -> (Range<usize>, &[Kept]) {
        if self.blocks.is_empty() || self.from < raw.start {
            return (raw.start..raw.start, &[]);
        }
        let count = self.blocks.len().min(raw.end.saturating_sub(self.from) / BLOCK);
        let is_within = |kept: &Kept| kept.bytes > 0 && kept.end <= text.end;
        let count = self.blocks[..count].iter().rposition(is_within).map_or(0, |last| last + 1);
        (self.from..self.from + count * BLOCK, &self.blocks[..count])
    }
}

/// The stretches of the text that were copied without anything in between.
pub(super) fn stretches(blocks: &[Kept]) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = Vec::new();
    let mut before = &Kept::default();
    for kept in blocks {
        match stretches.last_mut() {
            Some(last) if before.goes_on(kept) => last.end = kept.end,
            _ if kept.bytes > 0 => stretches.push(kept.text..kept.end),
            _ => {}
        }
        before = kept;
    }
    stretches
}

/// A bit for each place of a batch of which more than the byte is copied: all but the first place of a stretch, and the last, so
/// that the byte before is a space in both or the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    /// What is copied of each block, of the one before them and of the one behind.
    here: [u64; BATCH / MASK + 2],
    /// All bits, where the text of a block goes on in the next.
    joined: [u64; BATCH / MASK + 2],
    /// With the four bytes behind it.
    pub four: Bits,
    /// With the two behind it, and one more, which may come after spaces that are not copied.
    pub three: Bits,
    /// With the seven behind it.
    pub eight: Bits,
    /// With the four behind it, and the four bytes before it are.
    pub before: Bits,
    /// With the three behind it, spaces or not.
    pub followed: Bits,
}

impl Default for Copied {
    fn default() -> Self {
        let [four, three, eight, before, followed] = [[0; _]; 5];
        Self { here: [0; _], joined: [0; _], four, three, eight, before, followed }
    }
}

impl Copied {
    /// It is about the first blocks of these, which follow `before`.
    pub fn read(&mut self, mut before: Kept, blocks: &[Kept]) {
        let mut at = 0;
        for kept in blocks.iter().take(self.here.len() - 1) {
            self.here[at] = before.mask;
            self.joined[at] = 0_u64.wrapping_sub(u64::from(before.goes_on(kept)));
            before = *kept;
            at += 1;
        }
        self.here[at] = before.mask;
        self.joined[at..].fill(0);
        self.here[at + 1..].fill(0);
        // Whether the text of the last goes on.
        let last = self.here.len() - 1;
        if let Some(next) = blocks.get(last) {
            self.joined[last] = 0_u64.wrapping_sub(u64::from(before.goes_on(next)));
        }
    }

    /// Makes of that what of each place is copied.
    #[inline(always)]
    pub fn know(&mut self) {
        // Those that begin so many places on, and places of which so many are copied.
        let on = |mask: u64, next: u64, places: u32| mask >> places | next << (u64::BITS - places);
        let lowest = |mask: u64| mask & mask.wrapping_neg();
        let highest = |mask: u64| (1_u64 << 63).checked_shr(mask.leading_zeros()).unwrap_or(0);
        for at in 0..BATCH / MASK {
            let here = self.here[at + 1];
            let joined = [self.joined[at], self.joined[at + 1], self.joined[at + 2]];
            let (earlier, next) = (self.here[at] & joined[0], self.here[at + 2] & joined[1]);
            let first = lowest(here) & !joined[0];
            let (last, next_last) = (highest(here) & !joined[1], highest(next) & !joined[2]);
            let (two, next_two) = (here & on(here, next, 1), next & next >> 1);
            let (four, next_four) = (two & on(two, next_two, 2), next_two & next_two >> 2);
            let earlier_two = earlier & on(earlier, here, 1);
            let earlier_four = earlier_two & on(earlier_two, two, 2);
            let five = four & on(here, next, 4) & !first;
            self.three[at] = two & on(here, next, 2) & !on(last, next_last, 2) & !first;
            self.followed[at] = four;
            self.four[at] = five;
            self.eight[at] = five & on(four, next_four, 4);
            // Four before it: those that begin four earlier, of which some may be in the block before.
            self.before[at] = five & on(earlier_four, four, 60);
        }
    }

    /// Places that are copied, but not with what is behind them.
    #[inline(always)]
    pub fn behind(&self) -> Bits {
        but(&self.four, &self.eight)
    }

    /// Places that are copied, but not with what is before them.
    #[inline(always)]
    pub fn before(&self) -> Bits {
        but(&self.four, &self.before)
    }
}
