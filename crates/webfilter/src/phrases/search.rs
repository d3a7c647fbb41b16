//! All phrases in one pass over a reading: [`Search`]. Rule: what a call finds is decided by the bytes it is given; a phrase
//! that was found already costs nothing more where it counts once.
//!
//! Each phrase is looked for by one window of it, the rarest in prose of those of all kinds ([`Kind`]). Most phrases are of
//! several words, so that a space and what follows it will do, and spaces are one byte in five: their places are read off a
//! bit mask, and a filter small enough for the nearest cache says which of them hit, without a branch. Windows within words
//! are looked for at every place, sixteen at once where the processor can. What passes is compared.

use super::ruleset::PHRASE_BYTES_MAX;
use super::seen::Seen;
use lockgate_matcher::{Hits, LOOKS_MAX, Lens, Table};
use std::collections::HashMap;
use std::ops::Range;

/// How many places are looked at before the hits are gone through.
const BATCH: usize = 32 * MASK;
/// The places of one mask.
const MASK: usize = 64;
/// How many places are taken from a mask at once; so much room is left behind the last.
const TAKEN: usize = 8;
/// Bits of a filter: at most one in eight is set, and all filters together fit the nearest cache.
const FILTER_BITS: u32 = 16;
const FILTER_BYTES: usize = 1 << (FILTER_BITS - 3);
/// Multiplier of the hash: odd, with bits all over.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// In which readings a pattern stands for its phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct In(pub u8);

impl In {
    pub const RAW: Self = Self(1);
    pub const TEXT: Self = Self(2);

    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn covers(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// One spelling of one part of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub bytes: Vec<u8>,
    pub part: u32,
    pub readings: In,
}

/// What windows of one kind have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A space and seven bytes.
    LongSpaced,
    /// A space and four bytes.
    Spaced,
    /// Four bytes without a space.
    Letters,
    /// Three bytes, of which the first two are no spaces: for patterns that have no other window.
    Pair,
}

impl Kind {
    const ALL: [Self; 4] = [Self::LongSpaced, Self::Spaced, Self::Letters, Self::Pair];

    fn length(self) -> usize {
        match self {
            Self::LongSpaced => 8,
            Self::Spaced => 5,
            Self::Letters => 4,
            Self::Pair => 3,
        }
    }

    fn fits(self, window: &[u8]) -> bool {
        match self {
            Self::LongSpaced | Self::Spaced => window.first() == Some(&b' '),
            Self::Letters => !window.contains(&b' '),
            Self::Pair => !window.iter().take(2).any(|byte| *byte == b' '),
        }
    }
}

/// The patterns, compiled.
#[derive(Debug)]
pub(super) struct Search {
    patterns: Vec<Pattern>,
    /// By kind.
    windows: [Windows; 4],
    long_spaced: Filter,
    spaced: Filter,
    letters: Table,
    pairs: Table,
    /// Patterns that have no window: a byte of each, and where it stands.
    tiny: Vec<(u8, usize, u32)>,
    speed: Speed,
}

/// Which instructions the loops are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speed {
    Portable,
    /// Those that find and count bits by themselves, and shift by any register.
    #[cfg(target_arch = "x86_64")]
    Bits,
}

impl Speed {
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            return Self::Bits;
        }
        Self::Portable
    }
}

impl Search {
    pub fn new(patterns: Vec<Pattern>) -> Self {
        let census = Census::new(&patterns);
        let mut entries: [Vec<Entry>; 4] = Default::default();
        let mut tiny = Vec::new();
        for (pattern, number) in patterns.iter().zip(0_u32..) {
            let bytes = &pattern.bytes;
            if let Some((kind, at)) = census.rarest(bytes) {
                entries[kind as usize].push(Entry::new(bytes, at, number));
            } else if let Some([one, other]) = bytes.last_chunk()
                && Kind::Pair.fits(&[*one, *other])
            {
                // Whatever follows.
                let pair = Entry::new(bytes, bytes.len() - 2, number);
                let any =
                    (0..256_u64).map(|any| Entry { word: pair.word | any << 16, mask: mask(3), ..pair });
                entries[Kind::Pair as usize].extend(any);
            } else {
                let at = bytes.iter().position(|byte| *byte != b' ').unwrap_or(0);
                tiny.extend(bytes.get(at).map(|byte| (*byte, at, number)));
            }
        }
        let [long_spaced, spaced, letters, pairs] = &entries;
        Self {
            long_spaced: Filter::new(long_spaced, Kind::LongSpaced),
            spaced: Filter::new(spaced, Kind::Spaced),
            letters: table(letters, Kind::Letters),
            pairs: table(pairs, Kind::Pair),
            patterns,
            windows: Kind::ALL.map(|kind| Windows::new(std::mem::take(&mut entries[kind as usize]), kind)),
            tiny,
            speed: Speed::detect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub fn heap_bytes(&self) -> usize {
        let bytes: usize = self.patterns.iter().map(|pattern| pattern.bytes.capacity()).sum();
        let windows: usize = self.windows.iter().map(Windows::heap_bytes).sum();
        bytes + self.patterns.len() * size_of::<Pattern>() + windows + self.letters.size() + self.pairs.size()
    }

    /// Finds the patterns whose windows begin in a range of the text. What of a pattern stands before or behind its window
    /// must be at hand, or it is not found.
    pub fn scan(&self, text: &[u8], windows: Range<usize>, reading: In, seen: &mut Seen) {
        let end = windows.end.min(text.len().saturating_sub(Kind::Pair.length()));
        let range = windows.start..end.max(windows.start);
        let mut from = range.start;
        while from < end {
            let to = end.min(from + BATCH);
            self.look_at_spaces(text, from..to, reading, seen);
            from = to;
        }
        self.look_everywhere(&self.letters, Kind::Letters, text, range.clone(), reading, seen);
        self.look_everywhere(&self.pairs, Kind::Pair, text, range.clone(), reading, seen);
        for (byte, at, pattern) in &self.tiny {
            for place in memchr::memchr_iter(*byte, &text[range.clone()]) {
                if let Some(start) = (range.start + place).checked_sub(*at) {
                    self.found(text, start, *pattern, reading, seen);
                }
            }
        }
    }

    /// Windows that begin with a space.
    fn look_at_spaces(&self, text: &[u8], range: Range<usize>, reading: In, seen: &mut Seen) {
        // Behind the text nothing agrees with a pattern, and nothing is a space.
        let mut near: Near = [0; BATCH + MASK];
        let there = &text[range.start..text.len().min(range.start + near.len())];
        near[..there.len()].copy_from_slice(there);
        let (mut long, mut short): (Places, Places) = ([0; _], [0; _]);
        let counts = match self.speed {
            Speed::Portable => self.keep(&near, range.len(), &mut long, &mut short),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the function is compiled for.
            Speed::Bits => unsafe { self.keep_by_bits(&near, range.len(), &mut long, &mut short) },
        };
        for (kind, places) in [(Kind::LongSpaced, &long[..counts.0]), (Kind::Spaced, &short[..counts.1])] {
            for at in places {
                self.verify(kind, word_at(&near, *at), text, range.start + usize::from(*at), reading, seen);
            }
        }
    }

    /// The portable code, made of other instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn keep_by_bits(
        &self,
        near: &Near,
        count: usize,
        long: &mut Places,
        short: &mut Places,
    ) -> (usize, usize) {
        self.keep(near, count, long, short)
    }

    /// Of so many places, those that are spaces where windows of either kind may begin, without a branch; how many.
    #[inline(always)]
    fn keep(&self, near: &Near, count: usize, long: &mut Places, short: &mut Places) -> (usize, usize) {
        let mut places: Places = [0; BATCH + TAKEN];
        let mut taken = 0;
        for (base, bytes) in (0..count).step_by(MASK).zip(near.as_chunks::<MASK>().0) {
            let inside = u64::MAX >> (MASK - (count - base).min(MASK));
            taken = take(spaces(bytes) & inside, base, &mut places, taken);
        }
        let mut kept = (0, 0);
        for place in places.iter().take(taken) {
            let window = word_at(near, *place);
            // No more are kept than there are.
            long[kept.0 % BATCH] = *place;
            short[kept.1 % BATCH] = *place;
            kept.0 += usize::from(self.long_spaced.holds(window & mask(Kind::LongSpaced.length())));
            kept.1 += usize::from(self.spaced.holds(window & mask(Kind::Spaced.length())));
        }
        kept
    }

    /// Windows that may begin anywhere.
    fn look_everywhere(
        &self,
        table: &Table,
        kind: Kind,
        text: &[u8],
        range: Range<usize>,
        reading: In,
        seen: &mut Seen,
    ) {
        let verify = |at: usize, seen: &mut Seen| {
            self.verify(kind, text.get(at..).map_or(0, word), text, at, reading, seen);
        };
        let mut from = range.start;
        // A look needs four bytes before its place, which is behind the window.
        while from + kind.length() < 4 && from < range.end {
            verify(from, seen);
            from += 1;
        }
        let mut hits = Hits::new();
        while from < range.end && !self.windows[kind as usize].entries.is_empty() {
            let looks = (range.end - from).min(LOOKS_MAX);
            let count = table.look(text, from + kind.length(), looks, &mut hits);
            for place in hits.first(count) {
                verify(*place as usize - kind.length(), seen);
            }
            from += looks;
        }
    }

    /// A window that may be one of these stands there, the first of these bytes.
    #[inline]
    fn verify(&self, kind: Kind, word: u64, text: &[u8], at: usize, reading: In, seen: &mut Seen) {
        for entry in self.windows[kind as usize].of(word) {
            if let Some(start) = at.checked_sub(usize::from(entry.at)) {
                self.found(text, start, entry.pattern, reading, seen);
            }
        }
    }

    fn found(&self, text: &[u8], start: usize, pattern: u32, reading: In, seen: &mut Seen) {
        let Some(pattern) = self.patterns.get(pattern as usize) else { return };
        if pattern.readings.covers(reading)
            && !seen.is_done(pattern.part)
            && text.get(start..).is_some_and(|text| text.starts_with(&pattern.bytes))
        {
            seen.add(pattern.part);
        }
    }
}

/// How far before and behind a window the rest of its pattern may reach.
pub(super) const REACH: usize = PHRASE_BYTES_MAX * 3;

/// The bytes of a batch's places, and some behind them.
type Near = [u8; BATCH + MASK];
/// Places of a batch.
type Places = [u16; BATCH + TAKEN];

/// Which of 64 bytes are spaces, a bit for each.
#[inline(always)]
fn spaces(bytes: &[u8; MASK]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let eights = bytes.as_chunks::<8>().0.iter().zip((0..64).step_by(8));
    eights.fold(0, |mask, (eight, shift)| {
        let other = u64::from_le_bytes(*eight) ^ 0x2020_2020_2020_2020;
        // The highest bit of each byte that is zero, and no other; then these eight bits side by side.
        let zero = !((other & LOW).wrapping_add(LOW) | other | LOW);
        mask | ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << shift
    })
}

/// Writes the places of a mask's bits behind those that there are, and some that mean nothing; how many there are then.
#[inline(always)]
fn take(mut mask: u64, base: usize, places: &mut Places, count: usize) -> usize {
    let end = count + mask.count_ones() as usize;
    let mut at = count;
    while at < end {
        let Some(eight) = places.get_mut(at..).and_then(|places| places.first_chunk_mut::<TAKEN>()) else {
            break;
        };
        for place in eight {
            *place = base as u16 + mask.trailing_zeros() as u16;
            mask &= mask.wrapping_sub(1);
        }
        at += TAKEN;
    }
    end
}

/// The first bytes, as many as a word has room for.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[inline(always)]
fn word_at(near: &Near, at: u16) -> u64 {
    let eight = near.get(usize::from(at)..).and_then(|near| near.first_chunk());
    eight.map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// The first bytes of a word.
const fn mask(bytes: usize) -> u64 {
    if bytes < 8 { (1 << (8 * bytes)) - 1 } else { u64::MAX }
}

/// A window, and the pattern that it is of.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The pattern's bytes from the window on, as far as a word has room for them, and which these are.
    word: u64,
    mask: u64,
    pattern: u32,
    /// Where in the pattern the window stands.
    at: u8,
}

impl Entry {
    /// A pattern's window at a place in it.
    fn new(bytes: &[u8], at: usize, pattern: u32) -> Self {
        let rest = bytes.get(at..).unwrap_or_default();
        // A phrase is shorter than that.
        Self { word: word(rest), mask: mask(rest.len()), pattern, at: u8::try_from(at).unwrap_or(u8::MAX) }
    }
}

/// A filter of the windows of one kind.
fn table(entries: &[Entry], kind: Kind) -> Table {
    let mut blocks: Vec<u32> =
        entries.iter().map(|entry| (entry.word & mask(kind.length())) as u32).collect();
    blocks.sort_unstable();
    blocks.dedup();
    Table::new(Lens { stride: 1, block: kind.length() as u32, fold: 0 }, &blocks)
}

/// A bit for each hash that some window of a kind has.
#[derive(Debug)]
struct Filter(Box<[u8; FILTER_BYTES]>);

impl Filter {
    fn new(entries: &[Entry], kind: Kind) -> Self {
        let mut filter = Box::new([0; FILTER_BYTES]);
        for entry in entries {
            let at = filter_bit(entry.word & mask(kind.length()));
            filter[usize::from(at >> 3)] |= 1 << (at & 7);
        }
        Self(filter)
    }

    #[inline(always)]
    fn holds(&self, window: u64) -> bool {
        let at = filter_bit(window);
        self.0[usize::from(at >> 3)] >> (at & 7) & 1 == 1
    }
}

/// The windows of one kind, in lists by hash.
#[derive(Debug)]
struct Windows {
    entries: Vec<Entry>,
    starts: Vec<u32>,
    /// Which bytes of a word the windows are.
    mask: u64,
    shift: u32,
}

impl Windows {
    fn new(mut entries: Vec<Entry>, kind: Kind) -> Self {
        let buckets = entries.len().next_power_of_two().max(2);
        let (mask, shift) = (mask(kind.length()), 64 - buckets.trailing_zeros());
        let bucket = |entry: &Entry| (hash(entry.word & mask) >> shift) as usize;
        entries.sort_by_key(|entry| (bucket(entry), entry.word, entry.pattern));
        let mut starts = vec![0_u32; buckets + 1];
        for entry in &entries {
            starts[bucket(entry) + 1] += 1;
        }
        for at in 0..buckets {
            starts[at + 1] += starts[at];
        }
        Self { entries, starts, mask, shift }
    }

    fn heap_bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.starts.len() * 4
    }

    /// Those whose patterns may go on as this word does.
    #[inline]
    fn of(&self, word: u64) -> impl Iterator<Item = &Entry> {
        let bucket = (hash(word & self.mask) >> self.shift) as usize;
        let range = match self.starts.get(bucket..bucket + 2) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        };
        self.entries[range].iter().filter(move |entry| word & entry.mask == entry.word)
    }
}

#[inline(always)]
fn filter_bit(window: u64) -> u16 {
    (hash(window) >> (64 - FILTER_BITS)) as u16
}

#[inline(always)]
fn hash(window: u64) -> u64 {
    window.wrapping_mul(MIX)
}

/// How often letters follow each other in all phrases, which are prose, too.
struct Census {
    pairs: HashMap<[u8; 2], f64>,
    threes: HashMap<[u8; 3], f64>,
}

impl Census {
    fn new(patterns: &[Pattern]) -> Self {
        let (mut pairs, mut threes) = (HashMap::new(), HashMap::new());
        for pattern in patterns {
            runs(&pattern.bytes).for_each(|pair: [u8; 2]| *pairs.entry(pair).or_insert(0.0) += 1.0);
            runs(&pattern.bytes).for_each(|three: [u8; 3]| *threes.entry(three).or_insert(0.0) += 1.0);
        }
        Self { pairs, threes }
    }

    /// The window of a pattern that is rarest in prose, and where it stands; none where it has none.
    fn rarest(&self, bytes: &[u8]) -> Option<(Kind, usize)> {
        let windows = |kind: Kind| {
            let windows = bytes.windows(kind.length()).enumerate().take(usize::from(u8::MAX));
            windows.filter(move |(_, window)| kind.fits(window)).map(move |(at, window)| (kind, at, window))
        };
        let others = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Pair).flat_map(windows);
        let weighed = |(kind, at, window)| (self.commonness(window), kind, at);
        let rarest = |one: &(f64, Kind, usize), other: &(f64, Kind, usize)| one.0.total_cmp(&other.0);
        let best = others.map(weighed).min_by(rarest);
        let best = best.or_else(|| windows(Kind::Pair).map(weighed).min_by(rarest));
        best.map(|(_, kind, at)| (kind, at))
    }

    /// The logarithm of how often such letters stand in prose: each follows the two before it as often as in the phrases.
    fn commonness(&self, window: &[u8]) -> f64 {
        let count = |known: Option<&f64>| known.copied().unwrap_or(0.5);
        let follows = |three: [u8; 3]| {
            let [one, two, _] = three;
            (count(self.threes.get(&three)) / (count(self.pairs.get(&[one, two])) + 1.0)).ln()
        };
        let first = window.first_chunk().map_or(0.0, |pair| count(self.pairs.get(pair)).ln());
        first + runs(window).map(follows).sum::<f64>()
    }
}

/// So many bytes in a row, from each place on.
fn runs<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.windows(N).filter_map(|run| run.first_chunk().copied())
}

#[cfg(test)]
mod tests {
    use super::super::Counting;
    use super::*;

    fn patterns(texts: &[&[u8]]) -> Vec<Pattern> {
        let pattern = |(text, part): (&&[u8], u32)| Pattern { bytes: text.to_vec(), part, readings: In::RAW };
        texts.iter().zip(0..).map(pattern).collect()
    }

    #[test]
    fn patterns_of_each_kind_are_found_wherever_they_stand() {
        let texts: [&[u8]; 20] = [
            b"x",
            b"xy",
            b" x ",
            b"y z",
            b"xyz",
            b" xy",
            b"xy ",
            b"ab c",
            b" abc",
            b"abcd",
            b" abcd",
            b"abc de",
            b" abcde",
            b"abcdefghijkl",
            b"  a",
            b"a  b",
            b"\xe4",
            b"\xe4\xf6",
            b"one two three four",
            b" ",
        ];
        let mut search = Search::new(patterns(&texts));
        for (number, text) in texts.iter().enumerate() {
            for place in (0..150).chain(BATCH - 20..BATCH + 20) {
                // Neither letters nor spaces around it are those of another pattern, where it stands alone.
                for filling in [b'-', b' '] {
                    let page = [&vec![filling; place][..], text, &[filling; 4]].concat();
                    search.speed = if place % 2 == 0 { Speed::Portable } else { Speed::detect() };
                    let mut seen = Seen::new(texts.len(), Counting::Once);
                    search.scan(&page, 0..page.len(), In::RAW, &mut seen);
                    for (other, text) in texts.iter().enumerate() {
                        let is_there =
                            page[..page.len() - 3].windows(text.len()).any(|window| window == *text);
                        let is_at_end = page.ends_with(text) && !is_there;
                        assert!(
                            seen.has(other as u32) == is_there || is_at_end,
                            "{other} for {number} at {place}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_mask_has_a_bit_for_each_space() {
        let mut near: Near = [0; BATCH + MASK];
        for (byte, at) in near.iter_mut().zip(0_usize..) {
            *byte = if at % 7 < 2 { b' ' } else { [0x21, 0xa0, 0, 0x1f, 0x20 ^ 0x80][at % 5] };
        }
        let masks: Vec<u64> = near.as_chunks().0.iter().map(spaces).collect();
        for (at, byte) in near.iter().enumerate() {
            assert_eq!(masks[at / MASK] >> (at % MASK) & 1 == 1, *byte == b' ', "{at}");
        }
        let mut places = [0; BATCH + TAKEN];
        for mask in [0, 1, 1 << 63, u64::MAX, 0x00ff_00ff_1234_8001, masks[3]] {
            let count = take(mask, 128, &mut places, 0);
            let expected: Vec<u16> =
                (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| 128 + bit).collect();
            assert_eq!(places[..count], expected);
        }
    }
}
