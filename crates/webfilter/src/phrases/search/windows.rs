//! Windows, by which phrases are looked for: [`Kind`], [`Windows`], [`Filter`]. Rule: a filter fits the nearest cache and
//! answers without a branch; what it lets through is looked up here.

use std::collections::{HashMap, HashSet};

/// Bytes of a core.
pub(super) const CORE_BYTES: usize = 4;
/// Bytes of a window without a core.
pub(super) const SHORT_BYTES: usize = 2;
/// How far a window reaches at most before the place by which it is found, and behind it.
pub(super) const BEFORE: usize = 4;
pub(super) const BEHIND: usize = 8;
/// Words of 64 bits that the filter of long windows has.
pub(super) const LONG: usize = 1 << 11;
/// Slots for cores that have nothing else, and for windows without.
pub(super) const CORE_EDGES: usize = 1 << 13;
pub(super) const SHORT_EDGES: usize = 1 << 10;
/// How many multipliers are tried for a filter.
const ATTEMPTS: u64 = 16;
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
    /// Two bytes that are no spaces: for patterns without a core.
    Short,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Behind, Self::Before, Self::Core, Self::Short];

    /// Bytes of a window.
    pub const fn length(self) -> usize {
        match self {
            Self::Behind | Self::Before => 2 * CORE_BYTES,
            Self::Core => CORE_BYTES,
            Self::Short => SHORT_BYTES,
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
    /// The byte before the window, if the pattern has one there.
    pub before: Option<u8>,
    /// Where in the pattern the window stands.
    pub at: u8,
    pub pattern: u32,
}

impl Entry {
    /// A pattern's window at a place in it.
    pub fn new(bytes: &[u8], at: usize, pattern: u32) -> Self {
        let rest = bytes.get(at..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied();
        // A phrase is shorter than that.
        let at = u8::try_from(at).unwrap_or(u8::MAX);
        Self { word: word(rest), bytes: rest.len().min(size_of::<u64>()) as u8, before, at, pattern }
    }

    /// Whether its pattern may go on as this word does.
    #[inline]
    pub fn agrees(&self, word: u64) -> bool {
        word & mask(usize::from(self.bytes)) == self.word
    }
}

/// A bit for each hash that some word has.
#[derive(Clone, Debug)]
pub(super) struct Filter<const BYTES: usize, const WORDS: usize> {
    bits: Box<[u64; WORDS]>,
    pub mix: u64,
}

impl<const BYTES: usize, const WORDS: usize> Filter<BYTES, WORDS> {
    const BITS: u32 = WORDS.ilog2() + 6;

    /// What these words have, by their first bytes. Of those to avoid, which each are met so often, hardly any has it by chance.
    pub fn new(words: &[u64], avoid: &[(u64, f64)]) -> Self {
        let known: HashSet<u64> = words.iter().map(|word| word & mask(BYTES)).collect();
        let avoid: Vec<_> = avoid.iter().filter(|(word, _)| !known.contains(&(word & mask(BYTES)))).collect();
        let attempt = |number: u64| {
            let mix = MIX.wrapping_mul(2 * number + 1);
            let mut filter = Self { bits: Box::new([0; WORDS]), mix };
            words.iter().for_each(|word| filter.set(filter.bit(*word), true));
            let chance: f64 =
                avoid.iter().filter(|(word, _)| filter.holds(*word)).map(|(_, rate)| rate).sum();
            (chance, filter)
        };
        let (mut least, mut best) = attempt(0);
        for number in 1..ATTEMPTS {
            if least > 0.0 {
                let (chance, filter) = attempt(number);
                if chance < least {
                    (least, best) = (chance, filter);
                }
            }
        }
        best
    }

    /// The bit of a word, by its first bytes.
    #[inline(always)]
    pub fn bit(&self, word: u64) -> usize {
        hash(word, mask(BYTES), self.mix, Self::BITS)
    }

    /// Sets a bit, or clears it.
    pub fn set(&mut self, bit: usize, to: bool) {
        let mask = 1 << (bit & 63);
        let word = &mut self.bits[bit >> 6];
        *word = if to { *word | mask } else { *word & !mask };
    }

    /// Whether it may be one of the words that begins so.
    #[inline(always)]
    pub fn holds(&self, word: u64) -> bool {
        let bit = self.bit(word);
        self.bits[bit >> 6] >> (bit & 63) & 1 == 1
    }
}

/// For each hash of a core, the kinds of windows that have it: a bit for each, of four bits, of which eight are a slot.
#[derive(Clone, Debug)]
pub(super) struct Cores {
    pub slots: Box<[u32; CORE_SLOTS]>,
    pub mix: u32,
}

/// How many slots there are for cores: as many as a nearest cache has room for.
pub(super) const CORE_SLOTS: usize = 1 << 13;
/// How far a hash is shifted for the number of a slot, and for four times that of the core's place in it.
pub(super) const TO_SLOT: u32 = u32::BITS - CORE_SLOTS.ilog2();
pub(super) const TO_SHIFT: u32 = TO_SLOT - 5;
/// Which bits say where in a slot a core has its place.
pub(super) const SHIFTS: u32 = 0b11100;

impl Cores {
    /// What these cores have, each with its kind. Of those to avoid, which each are met so often, hardly any has a kind by
    /// chance.
    pub fn new(cores: &[(u32, Kind)], avoid: &[(u64, f64)]) -> Self {
        let mut known: HashMap<u32, u32> = HashMap::new();
        cores.iter().for_each(|(core, kind)| *known.entry(*core).or_default() |= 1 << *kind as u32);
        let attempt = |number: u64| {
            let mix = (MIX.wrapping_mul(2 * number + 1) >> 32) as u32 | 1;
            let mut made = Self { slots: Box::new([0; CORE_SLOTS]), mix };
            for (core, kinds) in &known {
                let (slot, shift) = made.place(*core);
                made.slots[slot] |= kinds << shift;
            }
            let by_chance = |core: &u32| made.kinds(*core) & !known.get(core).unwrap_or(&0);
            let chance =
                |(word, rate): &(u64, f64)| f64::from(by_chance(&(*word as u32)).count_ones()) * rate;
            (avoid.iter().map(chance).sum::<f64>(), made)
        };
        let (mut least, mut best) = attempt(0);
        for number in 1..ATTEMPTS {
            let (chance, made) = attempt(number);
            if chance < least {
                (least, best) = (chance, made);
            }
        }
        best
    }

    #[inline(always)]
    fn place(&self, core: u32) -> (usize, u32) {
        let hash = core.wrapping_mul(self.mix);
        ((hash >> TO_SLOT) as usize, hash >> TO_SHIFT & SHIFTS)
    }

    /// The kinds of which a window with this core may be: a bit for each.
    #[inline(always)]
    pub fn kinds(&self, core: u32) -> u32 {
        let (slot, shift) = self.place(core);
        self.slots[slot] >> shift & 0b111
    }
}

/// For each hash of a short window, what all that have it have in common: the byte before, the window, and what is behind it.
#[derive(Debug)]
pub(super) struct Edges<const BYTES: usize, const SLOTS: usize> {
    slots: Box<[Edge; SLOTS]>,
    pub mix: u64,
}

/// The byte before a window, it, and what is behind it: which bits are known, and what they are.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Edge {
    word: u64,
    known: u64,
}

impl Edge {
    /// What stands nowhere in a text, since no page has its bytes.
    const NONE: Self = Self { word: u64::MAX, known: u64::MAX };

    /// An entry's, as far as the first bytes of its pattern from the window on.
    fn new(entry: &Entry, bytes: usize) -> Self {
        let before = entry.before.map_or(0, |before| 0xff << 8 | u64::from(before));
        let known = mask(bytes.min(usize::from(entry.bytes))) << 8 | before >> 8;
        Self { word: (entry.word << 8 | before & 0xff) & known, known }
    }

    /// What both have in common.
    fn and(self, other: Self) -> Self {
        if self.word == Self::NONE.word {
            return other;
        }
        let known = self.known & other.known & !(self.word ^ other.word);
        Self { word: self.word & known, known }
    }
}

impl<const BYTES: usize, const SLOTS: usize> Edges<BYTES, SLOTS> {
    /// What these windows have in their first bytes, so many. Of those to avoid, which each are met so often, hardly any is taken
    /// for one.
    pub fn new(entries: &[Entry], bytes: usize, avoid: &[(u64, f64)]) -> Self {
        let attempt = |number: u64| {
            let mix = MIX.wrapping_mul(2 * number + 1);
            let mut edges = Self { slots: Box::new([Edge::NONE; SLOTS]), mix };
            for entry in entries {
                let slot = edges.slot(entry.word);
                edges.slots[slot] = edges.slots[slot].and(Edge::new(entry, bytes));
            }
            let is_taken = |word: u64| edges.differs(word << 8) & mask(BYTES) << 8 == 0;
            let chance: f64 = avoid.iter().filter(|(word, _)| is_taken(*word)).map(|(_, rate)| rate).sum();
            (chance, edges)
        };
        let (mut least, mut best) = attempt(0);
        for number in 1..ATTEMPTS {
            let (chance, edges) = attempt(number);
            if chance < least {
                (least, best) = (chance, edges);
            }
        }
        best
    }

    /// Where the windows are that begin a word.
    #[inline(always)]
    pub fn slot(&self, word: u64) -> usize {
        hash(word, mask(BYTES), self.mix, SLOTS.ilog2())
    }

    /// Where a text, of which these are the byte before a window and what follows, is none of them.
    #[inline(always)]
    pub fn differs(&self, around: u64) -> u64 {
        self.at(around).1
    }

    /// The same, with the slot of the window.
    #[inline(always)]
    pub fn at(&self, around: u64) -> (usize, u64) {
        let slot = self.slot(around >> 8);
        let Edge { word, known } = self.slots[slot];
        (slot, (around & known) ^ word)
    }
}

/// Of the slots of short windows those that are still looked for.
#[derive(Clone, Debug)]
pub(super) struct OpenSlots<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> OpenSlots<WORDS> {
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    #[inline(always)]
    pub fn has(&self, slot: usize) -> bool {
        self.0[slot >> 6 & (WORDS - 1)] >> (slot & 63) & 1 == 1
    }

    pub fn close(&mut self, slot: usize) {
        self.0[slot >> 6 & (WORDS - 1)] &= !(1 << (slot & 63));
    }
}

/// So many bits for the bytes of a mask.
#[inline(always)]
fn hash(word: u64, mask: u64, mix: u64, bits: u32) -> usize {
    ((word & mask).wrapping_mul(mix) >> (64 - bits)) as usize
}

/// The windows of one kind, in lists by hash.
#[derive(Debug)]
pub(super) struct Windows {
    entries: Vec<Entry>,
    starts: Vec<u32>,
    /// Which bytes of a word the windows are.
    mask: u64,
    mix: u64,
    bits: u32,
}

impl Windows {
    /// Of these entries, all of a kind whose windows have so many bytes, by their hash with that multiplier. All that share the
    /// first `slots` of a hash are in one list.
    pub fn new(mut entries: Vec<Entry>, bytes: usize, mix: u64, slots: usize) -> Self {
        let bits = entries.len().next_power_of_two().clamp(2, slots).ilog2();
        let (mask, lists) = (mask(bytes), 1 << bits);
        let list = |entry: &Entry| hash(entry.word, mask, mix, bits);
        entries.sort_by_key(|entry| (list(entry), entry.word, entry.pattern));
        let mut starts = vec![0_u32; lists + 1];
        for entry in &entries {
            starts[list(entry) + 1] += 1;
        }
        for at in 0..lists {
            starts[at + 1] += starts[at];
        }
        Self { entries, starts, mask, mix, bits }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.starts.len() * 4
    }

    /// The list in which the windows are that begin with this word.
    #[inline]
    pub fn of(&self, word: u64) -> &[Entry] {
        let list = hash(word, self.mask, self.mix, self.bits);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_holds_what_it_is_made_of_and_avoids_what_is_common() {
        let words: Vec<u64> = (0..2000).map(|at: u64| at.wrapping_mul(MIX) >> 20).collect();
        let common: Vec<(u64, f64)> = (0..40).map(|at: u64| (at.wrapping_mul(MIX) >> 21, 1.0)).collect();
        let filter: Filter<4, 1024> = Filter::new(&words, &common);
        assert!(words.iter().all(|word| filter.holds(*word)));
        let by_chance = |filter: &Filter<4, 1024>| {
            let first = |word: u64| word & mask(4);
            let is_one = |word: u64| words.iter().any(|other| first(*other) == first(word));
            common.iter().filter(|(word, _)| filter.holds(*word) && !is_one(*word)).count()
        };
        assert!(by_chance(&filter) < by_chance(&Filter::new(&words, &[])).max(1));
        let mut filter = filter;
        let bit = filter.bit(words[0]);
        filter.set(bit, false);
        assert!(!filter.holds(words[0]));
    }

    #[test]
    fn cores_have_their_kinds_and_common_ones_hardly_any() {
        let mix = MIX as u32;
        let kind = |at: u32| Kind::ALL[at as usize % 3];
        let cores: Vec<_> = (0..4000).map(|at: u32| (at.wrapping_mul(mix) >> 3, kind(at))).collect();
        let common: Vec<_> =
            (0..200).map(|at: u32| (u64::from(at.wrapping_mul(mix) >> 2 | 1 << 31), 1.0)).collect();
        let made = Cores::new(&cores, &common);
        assert!(cores.iter().all(|(core, kind)| made.kinds(*core) >> *kind as u32 & 1 == 1));
        let chance =
            |made: &Cores| common.iter().map(|(word, _)| made.kinds(*word as u32).count_ones()).sum::<u32>();
        assert!(chance(&made) < chance(&Cores::new(&cores, &[])).max(1));
    }

    #[test]
    fn short_windows_are_known_by_what_stands_around_them() {
        let entries = [Entry::new(b"ab cde", 1, 0), Entry::new(b"xyz", 0, 1), Entry::new(b" xyo", 1, 2)];
        let edges: Edges<2, 256> = Edges::new(&entries, 4, &[]);
        for (around, is_one) in [
            (&b"ab cde"[..], true),
            (b"ab cdx", true),
            (b"ab cee", false),
            (b"cb cde", false),
            (b"axyz", true),
            (b" xyo", true),
            (b" xzo", false),
            (b"a cde", false),
        ] {
            assert_eq!(edges.differs(word(around)) == 0, is_one, "{around:?}");
        }
    }

    #[test]
    fn slots_are_open_until_they_are_closed() {
        let mut open = OpenSlots::<4>::ALL;
        open.close(70);
        let closed: Vec<usize> = (0..256).filter(|slot| !open.has(*slot)).collect();
        assert_eq!(closed, [70]);
    }
}
