//! Which windows a hit may be: lists by key, and a sieve before them. Rule: what is in the list passes the sieve.

use crate::blocks::Candidate;
use crate::fragment::Check;
use crate::view::View;

/// How many bytes of a window are its key at most: six tell nearly all apart, and have not too many ways to write them.
pub(crate) const KEY_BYTES_MAX: usize = 6;
/// Multiplier of the keys' hash.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
/// The most words of a sieve (256 KiB).
const SIEVE_WORDS_MAX: usize = 1 << 16;
/// Where the bits of a key are that say which of a word they are.
const BITS_AT: u32 = 33;

/// The hash of some of eight bytes: its higher bits depend on all of them.
#[inline]
pub(crate) fn key(eight: u64, mask: u64) -> u64 {
    (eight & mask).wrapping_mul(MIX)
}

/// The first so many bytes of eight, little end first.
pub(crate) fn first_bytes(length: usize) -> u64 {
    u64::MAX >> (64 - 8 * length)
}

/// A Bloom filter over keys, small enough to be near: it spares most hits the way to the lists.
#[derive(Debug)]
pub(crate) struct Sieve {
    words: Box<[u32]>,
    shift: u32,
}

impl Sieve {
    /// A sieve for these keys, of which there are so many.
    pub fn new(keys: impl Iterator<Item = u64>, count: usize) -> Self {
        let words_count = count.next_power_of_two().clamp(2, SIEVE_WORDS_MAX);
        let mut words = vec![0; words_count].into_boxed_slice();
        let shift = 64 - words_count.trailing_zeros();
        keys.for_each(|key| words[(key >> shift) as usize] |= bits(key));
        Sieve { words, shift }
    }

    pub fn heap_bytes(&self) -> usize {
        self.words.len() * 4
    }

    /// Whether a key is among them, or looks like one that is.
    #[inline]
    pub fn passes(&self, key: u64) -> bool {
        let word = self.words[(key >> self.shift) as usize];
        let bits = (key >> BITS_AT) as u32;
        word.wrapping_shr(bits) & word.wrapping_shr(bits >> 5) & word.wrapping_shr(bits >> 10) & 1 == 1
    }
}

/// Three bits of a word, from the bits of the key below those of the word's number.
fn bits(key: u64) -> u32 {
    let bits = (key >> BITS_AT) as u32;
    1 << (bits & 31) | 1 << (bits >> 5 & 31) | 1 << (bits >> 10 & 31)
}

/// Lists of windows by key.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Which of eight bytes are the key.
    mask: u64,
    shift: u32,
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

/// A window, with what tells most places from it where its key stands: one read of far memory decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Eight bytes that it needs; their distance is from the window's first byte.
    check: Check,
    segment: u32,
}

impl Entry {
    pub fn new(segment: u32, check: Check) -> Self {
        Entry { check, segment }
    }
}

impl Candidates {
    /// Lists of these keys, of so many bytes, with what each stands for.
    pub fn new(mut keyed: Vec<(u64, Entry)>, length: usize) -> Self {
        let buckets = keyed.len().next_power_of_two().max(2);
        let shift = 64 - buckets.trailing_zeros();
        // Several ways to write a window may have one bucket.
        keyed.sort_unstable_by_key(|(key, entry)| (*key >> shift, entry.segment));
        keyed.dedup_by_key(|(key, entry)| (*key >> shift, entry.segment));
        let mut starts = vec![0u32; buckets + 1];
        for (key, _) in &keyed {
            starts[(key >> shift) as usize + 1] += 1;
        }
        for bucket in 0..buckets {
            starts[bucket + 1] += starts[bucket];
        }
        let entries = keyed.into_iter().map(|(_, entry)| entry).collect();
        Candidates { mask: first_bytes(length), shift, starts, entries }
    }

    pub fn heap_bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.entries.capacity() * size_of::<Entry>()
    }

    /// The key of eight bytes, little end first.
    #[inline]
    pub fn key(&self, eight: u64) -> u64 {
        key(eight, self.mask)
    }

    /// Where what a key may stand for begins and ends.
    #[inline]
    pub fn range(&self, key: u64) -> (u32, u32) {
        let bucket = (key >> self.shift) as usize;
        match self.starts.get(bucket..bucket + 2) {
            Some([start, end]) => (*start, *end),
            _ => (0, 0),
        }
    }

    /// Something of what [`Self::range`] says: whoever asks has it near then.
    #[inline]
    pub fn touch(&self, (start, _): (u32, u32)) -> u32 {
        self.entries.get(start as usize).map_or(0, |entry| entry.segment)
    }

    /// Which windows may stand at an offset, of what [`Self::range`] says.
    #[inline]
    pub fn at(
        &self,
        window: u64,
        (start, end): (u32, u32),
        view: &View<'_>,
        found: &mut dyn FnMut(Candidate),
    ) {
        for Entry { check, segment } in &self.entries[start as usize..end as usize] {
            if check.may_stand(window, view) {
                found(Candidate { segment: *segment, window });
            }
        }
    }
}

lockgate_stored::stored!(struct Sieve { words, shift }, sound);
lockgate_stored::stored!(struct Entry { check, segment });
lockgate_stored::stored!(struct Candidates { mask, shift, starts, entries }, sound);

impl Sieve {
    /// Whether each key has its word.
    fn is_sound(&self) -> bool {
        self.words.len().is_power_of_two()
            && self.shift.checked_add(self.words.len().trailing_zeros()) == Some(64)
    }
}

impl Candidates {
    /// Whether each key has its list.
    fn is_sound(&self) -> bool {
        let buckets = self.starts.len().saturating_sub(1);
        buckets.is_power_of_two()
            && self.shift.checked_add(buckets.trailing_zeros()) == Some(64)
            && self.starts.is_sorted()
            && self.starts.last().is_some_and(|end| *end as usize == self.entries.len())
    }

    /// Whether they are known by so many bytes.
    pub fn is_of(&self, length: usize) -> bool {
        self.mask == first_bytes(length)
    }

    /// Whether every window is one of the first so many segments'.
    pub fn is_below(&self, segments: usize) -> bool {
        self.entries.iter().all(|entry| (entry.segment as usize) < segments)
    }
}
