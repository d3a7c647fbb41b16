//! Search by blocks: the stream is looked at every so many bytes, and no look waits for another.
//! Rule: finds every occurrence of every window, and some places that are none; it never verifies.
//!
//! Each window is `reach + block + stride - 1` bytes long. Wherever it stands in the stream, exactly one of the offsets
//! that are multiples of the stride ends a block within it, and which block that is follows from the offset. All of
//! them are in the table, so one look at a block each `stride` bytes finds the window.

use crate::fragment::Window;
use crate::view::View;
use std::ops::ControlFlow;

/// How many places are looked at before what was found is gone through.
const BATCH: usize = 256;
/// Multiplier of the hash: odd, with bits all over.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
/// The least and the most words of a table; the most is what a core keeps near (1 MiB).
const WORDS_MIN: usize = 1 << 7;
const WORDS_MAX: usize = 1 << 17;

/// How a group's windows are cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    /// How many bytes lie between two looks; 1 to 16.
    pub stride: u32,
    /// How many bytes a block has; 1 to 4.
    pub block: u32,
    /// How many bytes before the block the candidate list is keyed by, too.
    pub reach: u32,
}

impl Shape {
    /// How long a window must be.
    pub fn window_length(self) -> usize {
        (self.reach + self.block + self.stride - 1) as usize
    }
}

/// Whether bytes are folded before they are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Folding {
    None,
    Ascii,
}

impl Folding {
    fn mask(self) -> u64 {
        match self {
            Folding::None => 0,
            Folding::Ascii => 0x2020_2020_2020_2020,
        }
    }
}

/// A place where a window may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub segment: u32,
    /// The offset of the window's first byte.
    pub window: u64,
}

/// A group of windows that are searched in one pass.
#[derive(Debug)]
pub(crate) struct Blocks {
    shape: Shape,
    folding: Folding,
    /// Nothing of this group begins behind this offset.
    until: u64,
    /// Two bits for each block, in one word.
    words: Box<[u64]>,
    words_shift: u32,
    candidates: Candidates,
    count: usize,
}

impl Blocks {
    /// The tables for these windows. The first of each pair is the segment.
    pub fn new(shape: Shape, folding: Folding, until: u64, windows: &[(u32, Window)]) -> Self {
        let entries = windows.len() * shape.stride as usize;
        let words_count = (entries * 3 / 4).next_power_of_two().clamp(WORDS_MIN, WORDS_MAX);
        let mut blocks = Blocks {
            shape,
            folding,
            until,
            words: vec![0; words_count].into_boxed_slice(),
            words_shift: 64 - words_count.trailing_zeros(),
            candidates: Candidates::default(),
            count: windows.len(),
        };
        let mut keyed = Vec::with_capacity(entries);
        for (segment, window) in windows {
            for turn in 0..shape.stride {
                let end = (turn + shape.reach + shape.block) as usize;
                let mut eight = [0; 8];
                let known = end.min(8);
                eight[8 - known..].copy_from_slice(&window.bytes[end - known..end]);
                let word = u64::from_le_bytes(eight) | folding.mask();
                blocks.insert(word);
                keyed.push((blocks.key(word), segment << 4 | turn));
            }
        }
        blocks.candidates = Candidates::new(keyed);
        blocks
    }

    /// What it is, in words.
    pub fn name(&self) -> String {
        let size = self.words.len() * 8;
        let size = if size < 1 << 20 { format!("{} KiB", size >> 10) } else { format!("{} MiB", size >> 20) };
        let folded = if self.folding == Folding::Ascii { ", folded" } else { "" };
        let until =
            if self.until == u64::MAX { String::new() } else { format!(", first {} bytes", self.until) };
        format!("blocks(stride {}, {size}{folded}{until}) × {}", self.shape.stride, self.count)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.words.len() * 8 + self.candidates.heap_bytes()
    }

    fn insert(&mut self, word: u64) {
        let hash = self.hash(word);
        self.words[(hash >> self.words_shift) as usize] |= bits(hash);
    }

    /// The hash of the block that ends a word.
    #[inline]
    fn hash(&self, word: u64) -> u64 {
        (word >> (64 - 8 * self.shape.block)).wrapping_mul(MIX)
    }

    /// The key of the candidate list: block and reach.
    fn key(&self, word: u64) -> u64 {
        let known = self.shape.block + self.shape.reach;
        (word >> (64 - 8 * known)).wrapping_mul(MIX ^ 0xa5a5_0000_0000_0000).swap_bytes().wrapping_mul(MIX)
    }

    #[inline]
    fn hit(&self, word: u64) -> bool {
        let hash = self.hash(word);
        let bits = bits(hash);
        self.words[(hash >> self.words_shift) as usize] & bits == bits
    }

    /// Looks at each place of which the last byte has come since `from`, in order.
    pub fn search(&self, view: &View<'_>, from: u64, found: &mut dyn FnMut(Candidate) -> ControlFlow<()>) {
        let stride = u64::from(self.shape.stride);
        let end = view.end().min(self.until);
        // A place is the offset behind a block. The first is the first multiple that a whole block precedes.
        let mut place = (from + 1).max(u64::from(self.shape.block)).next_multiple_of(stride);
        let fast = view.chunk_start() + 8;
        while place <= end && place < fast {
            let word = view.eight_before(place) | self.folding.mask();
            if self.hit(word) && self.report(word, place, found).is_break() {
                return;
            }
            place += stride;
        }
        if place > end {
            return;
        }
        let chunk = view.chunk();
        let mut at = (place - view.chunk_start()) as usize;
        let last = (end - view.chunk_start()) as usize;
        let mut hits = [0u32; BATCH];
        while at <= last {
            let looks = ((last - at) / stride as usize + 1).min(BATCH);
            let window = &chunk[at - 8..at + (looks - 1) * stride as usize];
            let count = self.look(window, looks, &mut hits);
            for &hit in &hits[..count] {
                let offset = hit as usize;
                let word = eight(window, offset) | self.folding.mask();
                let place = view.chunk_start() + (at + offset) as u64;
                if self.report(word, place, found).is_break() {
                    return;
                }
            }
            at += looks * stride as usize;
        }
    }

    /// Looks `looks` times, a stride apart; where the table says yes goes to `hits`. Returns how many.
    #[inline]
    fn look(&self, window: &[u8], looks: usize, hits: &mut [u32; BATCH]) -> usize {
        let mut count = 0;
        let mut offset = 0;
        for _ in 0..looks {
            let word = eight(window, offset) | self.folding.mask();
            // Written each time and counted only when it is a hit: no branch to guess wrong.
            hits[count & (BATCH - 1)] = offset as u32;
            count += usize::from(self.hit(word));
            offset += self.shape.stride as usize;
        }
        count
    }

    #[inline]
    fn report(
        &self,
        word: u64,
        place: u64,
        found: &mut dyn FnMut(Candidate) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let block_end = self.shape.reach + self.shape.block;
        for entry in self.candidates.get(self.key(word)) {
            let behind = u64::from(entry & 0xf) + u64::from(block_end);
            // Before the stream's first byte there is no window.
            let Some(window) = place.checked_sub(behind) else { continue };
            found(Candidate { segment: entry >> 4, window })?;
        }
        ControlFlow::Continue(())
    }
}

fn eight(window: &[u8], at: usize) -> u64 {
    window.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// The two bits of a block within its word.
#[inline]
fn bits(hash: u64) -> u64 {
    1 << (hash >> 40 & 63) | 1 << (hash >> 34 & 63)
}

/// Lists of windows by key.
#[derive(Default, Debug)]
struct Candidates {
    shift: u32,
    starts: Vec<u32>,
    /// Low half of the key, and `segment << 4 | turn`.
    entries: Vec<(u32, u32)>,
}

impl Candidates {
    fn new(mut keyed: Vec<(u64, u32)>) -> Self {
        keyed.sort_unstable();
        let buckets = keyed.len().next_power_of_two().max(2);
        let shift = 64 - buckets.trailing_zeros();
        let mut starts = vec![0u32; buckets + 1];
        for (key, _) in &keyed {
            starts[(key >> shift) as usize + 1] += 1;
        }
        for bucket in 0..buckets {
            starts[bucket + 1] += starts[bucket];
        }
        let entries = keyed.into_iter().map(|(key, entry)| (key as u32, entry)).collect();
        Candidates { shift, starts, entries }
    }

    fn heap_bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.entries.capacity() * 8
    }

    #[inline]
    fn get(&self, key: u64) -> impl Iterator<Item = u32> {
        let bucket = (key >> self.shift) as usize;
        let range = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
        self.entries[range].iter().filter(move |entry| entry.0 == key as u32).map(|entry| entry.1)
    }
}
