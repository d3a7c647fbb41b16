//! Which windows may stand at a place: lists by key. Rule: what is refused stands there not.

use crate::blocks::{Candidate, Sought};
use crate::fragment::LETTER_CASE;
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

/// A window, with what tells most places from it where its key stands, and where the bytes of its segment are: one read of
/// far memory decides mostly, and a second one if not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Eight bytes that it needs …
    value: u64,
    literal_at: u32,
    segment: u32,
    /// … their distance from the window's first byte …
    at: i16,
    /// How many bytes the segment has, if it is nothing else and the window stands at a fixed place in it; else 0.
    literal_length: u16,
    /// How far behind the segment's start the window begins, if there are such bytes.
    prefix: u8,
    /// … which of them count, a bit for each …
    known: u8,
    /// … and what bit is the same to them, if any.
    folded: u8,
}

/// Eight bytes of which those count that have a bit.
static MASKS: [u64; 256] = {
    let mut masks = [0; 256];
    let mut bits = 0;
    while bits < masks.len() {
        let mut byte = 0;
        while byte < 8 {
            if bits >> byte & 1 == 1 {
                masks[bits] |= 0xff << (8 * byte);
            }
            byte += 1;
        }
        bits += 1;
    }
    masks
};
/// The same byte eight times.
const EIGHT_TIMES: u64 = 0x0101_0101_0101_0101;

impl Entry {
    /// What is not a whole byte or a letter of either case is left to whoever verifies.
    pub fn new(sought: &Sought) -> Self {
        let Sought { segment, window, check, literal } = sought;
        let check = check.in_window(window);
        let (value, masks) = check.bytes();
        let folded = if masks.contains(&!LETTER_CASE) { LETTER_CASE } else { 0 };
        let counts = |mask: &u8| *mask == 0xff || *mask == !LETTER_CASE;
        let known = masks.iter().rev().fold(0, |known, mask| known << 1 | u8::from(counts(mask)));
        let prefix = u8::try_from(window.prefix_min);
        let length = u16::try_from(literal.1);
        let literal = match (window.prefix_width, prefix, length) {
            (0, Ok(prefix), Ok(length)) => (literal.0, length, prefix),
            _ => (0, 0, 0),
        };
        // Where the distance is too great, which none is, nothing counts.
        let (at, known) = i16::try_from(check.at).map_or((0, 0), |at| (at, known));
        let mut entry = Entry {
            value,
            literal_at: literal.0,
            segment: *segment,
            at,
            literal_length: literal.1,
            prefix: literal.2,
            known,
            folded,
        };
        entry.value &= entry.mask();
        entry
    }

    #[inline]
    fn mask(&self) -> u64 {
        MASKS[usize::from(self.known)] & !(u64::from(self.folded) * EIGHT_TIMES)
    }

    /// Whether its bytes are there, or not at hand.
    #[inline]
    fn may_stand(&self, window: u64, view: &View<'_>) -> bool {
        let eight = window.checked_add_signed(i64::from(self.at)).and_then(|at| view.eight_in_chunk(at));
        eight.is_none_or(|eight| eight & self.mask() == self.value)
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

    /// Something of the first and the last of what [`Self::range`] says: whoever asks has them near then.
    #[inline]
    pub fn touch(&self, (start, end): (u32, u32)) -> u32 {
        let segment = |at: u32| self.entries.get(at as usize).map_or(0, |entry| entry.segment);
        segment(start) ^ segment(end.saturating_sub(1))
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
        for entry in &self.entries[start as usize..end as usize] {
            if entry.may_stand(window, view) {
                let literal = (entry.literal_at, u32::from(entry.literal_length));
                found(Candidate { segment: entry.segment, window, literal, prefix: entry.prefix });
            }
        }
    }
}

lockgate_stored::stored!(struct Entry {
    value, literal_at, segment, at, literal_length, prefix, known, folded
});
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

    /// Whether every window is one of the first so many segments', and its bytes are among the first so many.
    pub fn is_below(&self, segments: usize, bytes: usize) -> bool {
        let end = |entry: &Entry| entry.literal_at as usize + usize::from(entry.literal_length);
        self.entries.iter().all(|entry| (entry.segment as usize) < segments && end(entry) <= bytes)
    }
}
