//! Windows, by which phrases are looked for: [`Kind`], [`Windows`], [`Filter`]. Rule: a filter fits the nearest cache and
//! answers without a branch; what it lets through is looked up here.

/// Bytes of a core.
pub(super) const CORE_BYTES: usize = 4;
/// How far a window reaches at most before the place by which it is found, and behind it.
pub(super) const BEFORE: usize = 4;
pub(super) const BEHIND: usize = 8;
/// Bits of a filter: at most one in eight is set, and all filters together fit the nearest cache.
const FILTER_BITS: u32 = 16;
const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);
/// Multiplier of the hash: odd, with bits all over.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// What windows of one kind have in common. The place of a window that has a core is the core's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A core and the four bytes behind it.
    Behind,
    /// A core and the four bytes before it.
    Before,
    /// A core: for patterns that have nothing else.
    Core,
    /// Three bytes, of which the first two are no spaces: for patterns without a core.
    Short,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Behind, Self::Before, Self::Core, Self::Short];

    /// Bytes of a window.
    pub const fn length(self) -> usize {
        match self {
            Self::Behind | Self::Before => 2 * CORE_BYTES,
            Self::Core => CORE_BYTES,
            Self::Short => 3,
        }
    }

    /// How far the window begins before its place.
    pub const fn before(self) -> usize {
        match self {
            Self::Before => BEFORE,
            _ => 0,
        }
    }
}

/// A window, and the pattern that it is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The pattern's bytes from the window on, as far as a word has room for them, and how many these are.
    pub word: u64,
    pub bytes: u8,
    /// Where in the pattern the window stands.
    pub at: u8,
    pub pattern: u32,
}

impl Entry {
    /// A pattern's window at a place in it.
    pub fn new(bytes: &[u8], at: usize, pattern: u32) -> Self {
        let rest = bytes.get(at..).unwrap_or_default();
        // A phrase is shorter than that.
        let at = u8::try_from(at).unwrap_or(u8::MAX);
        Self { word: word(rest), bytes: rest.len().min(size_of::<u64>()) as u8, at, pattern }
    }

    /// Whether its pattern may go on as this word does.
    #[inline]
    pub fn agrees(&self, word: u64) -> bool {
        word & mask(usize::from(self.bytes)) == self.word
    }
}

/// A bit for each hash that some word has.
#[derive(Debug)]
pub(super) struct Filter {
    bits: Box<[u64; FILTER_WORDS]>,
    mask: u64,
}

impl Filter {
    /// What these words have, by their first bytes.
    pub fn new(words: impl Iterator<Item = u64>, bytes: usize) -> Self {
        let mut filter = Self { bits: Box::new([0; FILTER_WORDS]), mask: mask(bytes) };
        for word in words {
            let at = filter.bit(word);
            filter.bits[at >> 6] |= 1 << (at & 63);
        }
        filter
    }

    #[inline(always)]
    fn bit(&self, word: u64) -> usize {
        (hash(word & self.mask) >> (64 - FILTER_BITS)) as usize
    }

    /// Whether it may be one of the words that begins so.
    #[inline(always)]
    pub fn holds(&self, word: u64) -> bool {
        let at = self.bit(word);
        self.bits[at >> 6] >> (at & 63) & 1 == 1
    }
}

/// The windows of one kind, in lists by hash.
#[derive(Debug)]
pub(super) struct Windows {
    entries: Vec<Entry>,
    starts: Vec<u32>,
    /// Which bytes of a word the windows are.
    mask: u64,
    shift: u32,
}

impl Windows {
    /// Of these entries, all of a kind.
    pub fn new(mut entries: Vec<Entry>, kind: Kind) -> Self {
        let lists = entries.len().next_power_of_two().max(2);
        let (mask, shift) = (mask(kind.length()), 64 - lists.trailing_zeros());
        let list = |entry: &Entry| (hash(entry.word & mask) >> shift) as usize;
        entries.sort_by_key(|entry| (list(entry), entry.word, entry.pattern));
        let mut starts = vec![0_u32; lists + 1];
        for entry in &entries {
            starts[list(entry) + 1] += 1;
        }
        for at in 0..lists {
            starts[at + 1] += starts[at];
        }
        Self { entries, starts, mask, shift }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.starts.len() * 4
    }

    /// How many lists there are.
    pub fn lists(&self) -> usize {
        self.starts.len() - 1
    }

    /// The list in which the windows are that begin with this word.
    #[inline]
    pub fn list(&self, word: u64) -> usize {
        (hash(word & self.mask) >> self.shift) as usize
    }

    /// What is in a list.
    #[inline]
    pub fn of(&self, list: usize) -> &[Entry] {
        match self.starts.get(list..list + 2) {
            Some([start, end]) => &self.entries[*start as usize..*end as usize],
            _ => &[],
        }
    }
}

/// The first bytes, as many as a word has room for.
#[inline]
pub(super) fn word(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The first bytes of a word.
const fn mask(bytes: usize) -> u64 {
    if bytes < 8 { (1 << (8 * bytes)) - 1 } else { u64::MAX }
}

#[inline(always)]
fn hash(window: u64) -> u64 {
    window.wrapping_mul(MIX)
}
