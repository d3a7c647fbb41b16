//! Which windows a hit may be: lists by key, and a sieve before them. Rule: what is in the list passes the sieve.

/// Multiplier of the keys' hash.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
/// The most words of a sieve (512 KiB).
const SIEVE_WORDS_MAX: usize = 1 << 17;

/// The hash of the last `length` bytes of a word.
#[inline]
pub(crate) fn key(word: u64, length: usize) -> u64 {
    let mixed = (word >> (64 - 8 * length)).wrapping_mul(MIX);
    (mixed ^ mixed >> 32).wrapping_mul(MIX)
}

/// A Bloom filter over keys, small enough to be near: it spares most hits the way to the lists.
#[derive(Debug)]
pub(crate) struct Sieve {
    words: Box<[u32]>,
    shift: u32,
}

impl Sieve {
    /// A sieve for the keys of several lists.
    pub fn new(keyed: &[Vec<(u64, u32)>]) -> Self {
        let count: usize = keyed.iter().map(Vec::len).sum();
        let words_count = count.next_power_of_two().clamp(2, SIEVE_WORDS_MAX);
        let mut words = vec![0; words_count].into_boxed_slice();
        let shift = 64 - words_count.trailing_zeros();
        for (key, _) in keyed.iter().flatten() {
            words[(key >> shift) as usize] |= bits(*key);
        }
        Sieve { words, shift }
    }

    pub fn heap_bytes(&self) -> usize {
        self.words.len() * 4
    }

    /// Whether a key is among them, or looks like one that is.
    #[inline]
    pub fn passes(&self, key: u64) -> bool {
        self.words[(key >> self.shift) as usize] & bits(key) == bits(key)
    }
}

/// Two bits of a word, from the middle of the key: neither the word's number nor what the lists compare.
#[inline]
fn bits(key: u64) -> u32 {
    1 << (key >> 41 & 31) | 1 << (key >> 36 & 31)
}

/// Lists of windows by key.
#[derive(Debug)]
pub(crate) struct Candidates {
    length: usize,
    shift: u32,
    starts: Vec<u32>,
    /// Low half of the key, and the window.
    entries: Vec<(u32, u32)>,
}

impl Candidates {
    /// Lists of these keys, with what each stands for.
    pub fn new(mut keyed: Vec<(u64, u32)>, length: usize) -> Self {
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
        Candidates { length, shift, starts, entries }
    }

    pub fn heap_bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.entries.capacity() * 8
    }

    /// The key of the bytes that end with a word.
    #[inline]
    pub fn key(&self, word: u64) -> u64 {
        key(word, self.length)
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
        self.entries.get(start as usize).map_or(0, |entry| entry.0)
    }

    /// What a key stands for, of what [`Self::range`] says.
    #[inline]
    pub fn get(&self, key: u64, (start, end): (u32, u32)) -> impl Iterator<Item = u32> {
        let entries = &self.entries[start as usize..end as usize];
        entries.iter().filter(move |entry| entry.0 == key as u32).map(|entry| entry.1)
    }
}

lockgate_stored::stored!(struct Sieve { words, shift }, sound);
lockgate_stored::stored!(struct Candidates { length, shift, starts, entries }, sound);

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
            && (1..=8).contains(&self.length)
            && self.starts.is_sorted()
            && self.starts.last().is_some_and(|end| *end as usize == self.entries.len())
    }

    /// Whether they are known by so many bytes.
    pub fn is_of(&self, length: usize) -> bool {
        self.length == length
    }

    /// Whether every window is one of the first so many segments'.
    pub fn is_below(&self, segments: usize) -> bool {
        self.entries.iter().all(|(_, entry)| ((entry >> 4) as usize) < segments)
    }
}
