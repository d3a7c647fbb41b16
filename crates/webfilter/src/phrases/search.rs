//! All phrases in one pass over a reading: [`Search`]. Rule: what a call finds is decided by the bytes it is given; a phrase
//! that was found already costs nothing more where it counts once.
//!
//! Each phrase is looked for by the four bytes of it that are rarest among all phrases. Where such a window begins is told by
//! a filter small enough for the nearest cache, without a branch; what passes is compared. Phrases of less than four bytes
//! have a filter of their own, over three. The patterns of other engines are searched by fewer looks, which pays where hits
//! are rare: in prose, phrases are not.

use super::ruleset::PHRASE_BYTES_MAX;
use super::seen::Seen;
use std::collections::HashMap;
use std::ops::Range;

/// How many places are looked at before the hits are gone through.
const BATCH: usize = 256;
/// The length of a window.
const WINDOW: usize = 4;
/// The least and the most words of a filter.
const WORDS_MIN: usize = 1 << 8;
const WORDS_MAX: usize = 1 << 16;
/// Multipliers of the hashes: odd, with bits all over.
const MIX: (u32, u32) = (0x9e37_79b1, 0x85eb_ca6b);

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

/// Where a window stands in a pattern.
#[derive(Clone, Copy, Debug)]
struct Place {
    window: u32,
    pattern: u32,
    offset: u8,
}

/// The patterns, compiled.
#[derive(Debug)]
pub(super) struct Search {
    patterns: Vec<Pattern>,
    long: Filter,
    short: Filter,
    /// Places by the hash of their windows.
    places: Vec<Place>,
    starts: Vec<u32>,
    shift: u32,
    /// Patterns shorter than a window, by their first byte.
    shorts: Vec<(u8, u32)>,
}

impl Search {
    pub fn new(patterns: Vec<Pattern>) -> Self {
        let census = Census::new(&patterns);
        let (mut places, mut shorts, mut short_windows) = (Vec::new(), Vec::new(), Vec::new());
        for (pattern, number) in patterns.iter().zip(0_u32..) {
            match census.rarest(&pattern.bytes) {
                Some((offset, window)) => places.push(Place { window, pattern: number, offset }),
                None => {
                    shorts.push((pattern.bytes.first().copied().unwrap_or(0), number));
                    short_windows.extend(windows_of_short(&pattern.bytes));
                }
            }
        }
        let buckets = places.len().next_power_of_two().max(2);
        let shift = 32 - buckets.trailing_zeros();
        places.sort_by_key(|place| (bucket(place.window, shift), place.window));
        let mut starts = vec![0_u32; buckets + 1];
        for place in &places {
            starts[bucket(place.window, shift) + 1] += 1;
        }
        for at in 0..buckets {
            starts[at + 1] += starts[at];
        }
        shorts.sort_unstable();
        let long = Filter::new(places.iter().map(|place| place.window).collect());
        Self { patterns, long, short: Filter::new(short_windows), places, starts, shift, shorts }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub fn heap_bytes(&self) -> usize {
        let bytes: usize = self.patterns.iter().map(|pattern| pattern.bytes.capacity()).sum();
        bytes
            + self.patterns.len() * size_of::<Pattern>()
            + self.places.len() * size_of::<Place>()
            + (self.starts.len() + self.long.words.len() + self.short.words.len()) * 4
    }

    /// Finds the patterns whose windows begin in a range of the text. What of a pattern stands before or behind its window
    /// must be at hand, or it is not found.
    pub fn scan(&self, text: &[u8], windows: Range<usize>, reading: In, seen: &mut Seen) {
        let mut hits = [0_u32; BATCH];
        let end = windows.end.min(text.len().saturating_sub(WINDOW - 1));
        let mut from = windows.start;
        while from < end {
            let to = end.min(from + BATCH);
            let mut count = 0;
            for (window, at) in text[from..to + WINDOW - 1].windows(WINDOW).zip(0_u32..) {
                let window = u32::from_le_bytes([window[0], window[1], window[2], window[3]]);
                // There are no more hits than places, and no more places than room.
                hits[count % BATCH] = at;
                count += usize::from(self.long.holds(window) | self.short.holds(window & 0xff_ffff));
            }
            for at in &hits[..count] {
                self.look(text, from + *at as usize, reading, seen);
            }
            from = to;
        }
    }

    /// Looks closer at a place.
    fn look(&self, text: &[u8], at: usize, reading: In, seen: &mut Seen) {
        let Some(window) = text.get(at..).and_then(|text| text.first_chunk()) else { return };
        let window = u32::from_le_bytes(*window);
        let bucket = bucket(window, self.shift);
        let range = match self.starts.get(bucket..bucket + 2) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        };
        for place in self.places[range].iter().filter(|place| place.window == window) {
            if let Some(start) = at.checked_sub(usize::from(place.offset)) {
                self.compare(text, start, place.pattern, reading, seen);
            }
        }
        if self.short.holds(window & 0xff_ffff) {
            let first = text[at];
            let from = self.shorts.partition_point(|(byte, _)| *byte < first);
            for (_, pattern) in self.shorts[from..].iter().take_while(|(byte, _)| *byte == first) {
                self.compare(text, at, *pattern, reading, seen);
            }
        }
    }

    fn compare(&self, text: &[u8], start: usize, pattern: u32, reading: In, seen: &mut Seen) {
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

fn bucket(window: u32, shift: u32) -> usize {
    (window.wrapping_mul(MIX.1) >> shift) as usize
}

/// The windows of three bytes that a shorter pattern may begin. What behind it is not its own may be anything.
fn windows_of_short(bytes: &[u8]) -> Vec<u32> {
    let mut windows = vec![0_u32];
    for at in 0..WINDOW - 1 {
        let any = match bytes.get(at) {
            Some(byte) => u32::from(*byte)..u32::from(*byte) + 1,
            None => 0..256,
        };
        windows = windows
            .iter()
            .flat_map(|so_far| any.clone().map(move |byte| so_far | byte << (8 * at)))
            .collect();
    }
    windows
}

/// How often letters follow each other in all phrases, which are prose, too.
struct Census(HashMap<[u8; 3], u32>);

impl Census {
    fn new(patterns: &[Pattern]) -> Self {
        let mut counts = HashMap::new();
        for pattern in patterns {
            for three in pattern.bytes.windows(3) {
                *counts.entry([three[0], three[1], three[2]]).or_insert(0) += 1;
            }
        }
        Self(counts)
    }

    /// The rarest window of a pattern, and where it stands; none where it is too short.
    fn rarest(&self, bytes: &[u8]) -> Option<(u8, u32)> {
        let count = |three: &[u8]| self.0.get(&[three[0], three[1], three[2]]).copied().unwrap_or(0);
        let rarity = |window: &[u8]| u64::from(count(&window[..3])) * u64::from(count(&window[1..]));
        let windows = bytes.windows(WINDOW).zip(0_u8..=u8::MAX);
        let (window, offset) = windows.min_by_key(|(window, _)| rarity(window))?;
        Some((offset, u32::from_le_bytes([window[0], window[1], window[2], window[3]])))
    }
}

/// A Bloom filter of two bits for each window, both in one word.
#[derive(Debug)]
struct Filter {
    words: Box<[u32]>,
    shift: u32,
}

impl Filter {
    fn new(mut windows: Vec<u32>) -> Self {
        windows.sort_unstable();
        windows.dedup();
        let count = (windows.len() / 2).next_power_of_two().clamp(WORDS_MIN, WORDS_MAX);
        let mut filter =
            Self { words: vec![0; count].into_boxed_slice(), shift: 32 - count.trailing_zeros() };
        for window in windows {
            let (at, bits) = filter.place(window);
            filter.words[at] |= bits;
        }
        filter
    }

    #[inline]
    fn holds(&self, window: u32) -> bool {
        let (at, bits) = self.place(window);
        self.words[at & (self.words.len() - 1)] & bits == bits
    }

    #[inline]
    fn place(&self, window: u32) -> (usize, u32) {
        let bits = window.wrapping_mul(MIX.1);
        ((window.wrapping_mul(MIX.0) >> self.shift) as usize, 1 << (bits >> 27) | 1 << (bits >> 22 & 31))
    }
}
