//! Which windows may stand at a place: lists by key. Rule: what is refused stands there not.

use crate::blocks::Candidate;
use crate::fragment::Check;
use crate::look::key;
use crate::view::View;

/// How many bytes of a window are its key at most: six tell nearly all apart, and have not too many ways to write them.
pub(crate) const KEY_BYTES_MAX: usize = 6;
/// The first so many bytes of eight, little end first.
pub(crate) fn first_bytes(length: usize) -> u64 {
    u64::MAX >> (64 - 8 * length)
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

    /// Which of eight bytes are the key.
    pub fn mask(&self) -> u64 {
        self.mask
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

lockgate_stored::stored!(struct Entry { check, segment });
lockgate_stored::stored!(struct Candidates { mask, shift, starts, entries }, sound);

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
