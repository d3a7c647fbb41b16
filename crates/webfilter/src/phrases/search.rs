//! All phrases in one pass over a reading: [`Search`]. Rule: what a call finds is decided by the bytes it is given; a phrase
//! that was found already costs nothing more where it counts once.
//!
//! Each phrase is looked for by the six bytes of it that are rarest in prose, or three where it is short. Where such a window
//! begins is told by a filter small enough for the nearest cache, without a branch; what passes is compared. Other engines' patterns are
//! searched by fewer looks (`matcher`), which pays where hits are rare: in prose, phrases are not.

use super::ruleset::PHRASE_BYTES_MAX;
use super::seen::Seen;
use std::collections::HashMap;
use std::ops::Range;

/// How far before and behind a window the rest of its pattern may reach: a letter may take three bytes in the normal form.
pub(super) const REACH: usize = PHRASE_BYTES_MAX * 3;
/// How many places are looked at before the hits are gone through: a byte counts them.
const BATCH: usize = 255;
/// How many bytes are read of a place.
const LOOKED: usize = 8;
/// The length of a window, and of each half of it.
const WINDOW: usize = 6;
const HALF: usize = 3;
/// Multipliers of the hashes: odd, with bits all over.
const MIX: u32 = 0x9e37_79b1;
const WIDE_MIX: u64 = 0x9e37_79b9_7f4a_7c15;

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

/// Where a window stands in a pattern, and what is to be known of that before its bytes are looked at.
#[derive(Clone, Copy, Debug)]
struct Place {
    window: u64,
    part: u32,
    pattern: u32,
    /// The pattern's first bytes, and which of the eight count.
    head: u64,
    head_mask: u64,
    offset: u8,
    readings: In,
}

/// The patterns, compiled.
#[derive(Debug)]
pub(super) struct Search {
    patterns: Vec<Box<[u8]>>,
    filter: Filter,
    long: Places,
    /// Of patterns that are shorter than a window.
    short: Places,
    /// Of patterns that are shorter than half a window: by their first byte.
    least: Places,
}

impl Search {
    pub fn new(patterns: Vec<Pattern>) -> Self {
        let census = Census::new(&patterns);
        let mut filter = Filter::new();
        let (mut long, mut short, mut least) = (Vec::new(), Vec::new(), Vec::new());
        for (Pattern { bytes, part, readings }, pattern) in patterns.iter().zip(0_u32..) {
            let (head, head_mask) = head_of(bytes);
            let length = match bytes.len() {
                WINDOW.. => WINDOW,
                HALF.. => HALF,
                _ => 1,
            };
            let (offset, window) = census.rarest(bytes, length);
            let (part, readings) = (*part, *readings);
            let place = Place { window, part, pattern, head, head_mask, offset, readings };
            filter.add(window, length, bytes);
            match length {
                WINDOW => long.push(place),
                HALF => short.push(place),
                _ => least.push(place),
            }
        }
        let patterns = patterns.into_iter().map(|pattern| pattern.bytes.into()).collect();
        let (long, short, least) = (Places::new(long), Places::new(short), Places::new(least));
        Self { patterns, filter, long, short, least }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub fn heap_bytes(&self) -> usize {
        let bytes: usize = self.patterns.iter().map(|bytes| bytes.len()).sum();
        bytes
            + self.patterns.len() * size_of::<Box<[u8]>>()
            + [&self.long, &self.short, &self.least].map(Places::heap_bytes).iter().sum::<usize>()
            + Filter::BYTES
    }

    /// Finds the patterns whose windows begin in a range of the text. What of a pattern stands before or behind its window
    /// must be at hand, or it is not found.
    pub fn scan(&self, text: &[u8], windows: Range<usize>, reading: In, seen: &mut Seen) {
        let mut hits = [0; BATCH + 1];
        let end = windows.end.min(text.len());
        let mut from = windows.start;
        // The last few are looked at by themselves: too few bytes are left to read so many.
        let wide = end.min((text.len() + 1).saturating_sub(LOOKED));
        while from < wide {
            let to = wide.min(from + BATCH);
            let count = self.filter.look(&text[from..to + LOOKED - 1], &mut hits);
            for at in &hits[..usize::from(count)] {
                self.compare(text, from + usize::from(*at), reading, seen);
            }
            from = to;
        }
        for at in from..end {
            self.compare(text, at, reading, seen);
        }
    }

    /// Looks closer at a place.
    #[inline]
    fn compare(&self, text: &[u8], at: usize, reading: In, seen: &mut Seen) {
        let rest = text.get(at..).unwrap_or_default();
        let word = rest.first_chunk().map_or_else(|| head_of(rest).0, |eight| u64::from_le_bytes(*eight));
        let classes = self.filter.classes(word);
        if classes & Filter::LONG != 0 {
            self.compare_all(&self.long, first_bytes(word, WINDOW), text, at, reading, seen);
        }
        if classes & Filter::SHORT != 0 {
            self.compare_all(&self.short, first_bytes(word, HALF), text, at, reading, seen);
        }
        if classes & Filter::LEAST != 0 {
            self.compare_all(&self.least, first_bytes(word, 1), text, at, reading, seen);
        }
    }

    #[inline]
    fn compare_all(
        &self,
        places: &Places,
        window: u64,
        text: &[u8],
        at: usize,
        reading: In,
        seen: &mut Seen,
    ) {
        for place in places.find(window) {
            self.compare_one(text, at, place, reading, seen);
        }
    }

    #[inline]
    fn compare_one(&self, text: &[u8], at: usize, place: &Place, reading: In, seen: &mut Seen) {
        if seen.is_done(place.part) || !place.readings.covers(reading) {
            return;
        }
        let Some(rest) = at.checked_sub(usize::from(place.offset)).and_then(|start| text.get(start..)) else {
            return;
        };
        if let Some(eight) = rest.first_chunk()
            && (u64::from_le_bytes(*eight) ^ place.head) & place.head_mask != 0
        {
            return;
        }
        if self.patterns.get(place.pattern as usize).is_some_and(|bytes| rest.starts_with(bytes)) {
            seen.add(place.part);
        }
    }
}

/// The first eight bytes, and which of them there are.
fn head_of(bytes: &[u8]) -> (u64, u64) {
    let fold = |byte: &dyn Fn(u8) -> u8| {
        bytes.iter().take(8).rev().fold(0, |word, at| word << 8 | u64::from(byte(*at)))
    };
    (fold(&|byte| byte), fold(&|_| u8::MAX))
}

/// So many bytes of a word.
#[inline]
fn first_bytes(word: u64, length: usize) -> u64 {
    word & (u64::MAX >> (64 - 8 * length))
}

/// Places by their windows.
#[derive(Debug)]
struct Places {
    /// By the hash of their windows.
    places: Vec<Place>,
    starts: Vec<u32>,
    shift: u32,
}

impl Places {
    fn new(mut places: Vec<Place>) -> Self {
        let buckets = (places.len() * 2).next_power_of_two().max(2);
        let mut this =
            Self { places: Vec::new(), starts: vec![0; buckets + 1], shift: 64 - buckets.trailing_zeros() };
        places.sort_by_key(|place| (this.bucket(place.window), place.window));
        for place in &places {
            let bucket = this.bucket(place.window);
            this.starts[bucket + 1] += 1;
        }
        for at in 0..buckets {
            this.starts[at + 1] += this.starts[at];
        }
        this.places = places;
        this
    }

    fn bucket(&self, window: u64) -> usize {
        (window.wrapping_mul(WIDE_MIX) >> self.shift) as usize
    }

    #[inline]
    fn find(&self, window: u64) -> impl Iterator<Item = &Place> {
        let bucket = self.bucket(window);
        let range = match self.starts.get(bucket..bucket + 2) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        };
        self.places.get(range).unwrap_or_default().iter().filter(move |place| place.window == window)
    }

    fn heap_bytes(&self) -> usize {
        self.places.len() * size_of::<Place>() + self.starts.len() * 4
    }
}

/// How often letters follow each other in all phrases, which are prose, too, and in the words that stand in most pages.
struct Census(HashMap<[u8; HALF], u32>);

/// The commonest words of English, and of markup.
const COMMON: &[u8] = b" the of and a to in is you that it he was for on are as with his they i at be this have from or one had by \
    word but not what all were we when your can said there use an each which she do how their if will up other about out many then \
    them these so some her would make like him into time has look two more write go see number no way could people my than first \
    water been call who oil its now find long down day did get come made may part over new sound take only little work know place \
    year live me back give most very after thing our just name good sentence man think say great where help through much before \
    line right too mean old any same tell follow came want show also around form three small set put end does another well large \
    must big even such because turn here why ask went men read need land different home us move try kind hand picture again change \
    off play spell air away animal house point page letter mother answer found study still learn should email mail information \
    please contact free list message subject date sent service business report program order money click send receive news today \
    http www com org net html href class style width height size face font color table border cellpadding cellspacing align center \
    left right script type text span div img src alt title meta content name value link input form body head image images index \
    verdana arial helvetica sans serif bgcolor ffffff nbsp valign target blank background padding margin px top bottom none ";
/// What one of them weighs beside the phrases.
const COMMON_WEIGHT: u32 = 400;

impl Census {
    fn new(patterns: &[Pattern]) -> Self {
        let mut counts = HashMap::new();
        let common = COMMON.windows(3).map(|three| (three, COMMON_WEIGHT));
        let of_phrases = patterns.iter().flat_map(|pattern| pattern.bytes.windows(3)).map(|three| (three, 1));
        for (three, weight) in common.chain(of_phrases) {
            *counts.entry([three[0], three[1], three[2]]).or_insert(0) += weight;
        }
        Self(counts)
    }

    /// The rarest window of a length in a pattern, and where it stands.
    fn rarest(&self, bytes: &[u8], length: usize) -> (u8, u64) {
        let count = |three: &[u8]| self.0.get(three).copied().unwrap_or(0);
        let rarity =
            |window: &[u8]| window.chunks_exact(HALF).map(|half| u64::from(count(half))).product::<u64>();
        let windows = bytes.windows(length).zip(0_u8..=u8::MAX);
        let rarest = windows.min_by_key(|(window, _)| rarity(window));
        rarest.map_or((0, 0), |(window, offset)| (offset, head_of(window).0))
    }
}

/// Which windows there are, more or less. The first half of a window has a bit for the window's class in one table, the whole
/// window in another, and where both have a class's bit it may be a window of that class.
struct Filter {
    first: Box<[u8; 1 << Self::BITS]>,
    second: Box<[u8; 1 << Self::BITS]>,
}

impl Filter {
    const BITS: u32 = 15;
    const BYTES: usize = 2 << Self::BITS;
    /// The classes of whole windows, of halves, and of less.
    const LONG: u8 = 0b0011_1111;
    const SHORT: u8 = 0b0100_0000;
    const LEAST: u8 = 0b1000_0000;

    fn new() -> Self {
        // What stands behind half a window may be anything.
        let any = Self::SHORT | Self::LEAST;
        Self { first: Box::new([0; 1 << Self::BITS]), second: Box::new([any; 1 << Self::BITS]) }
    }

    /// A window of a length, and for the least the whole pattern.
    fn add(&mut self, window: u64, length: usize, bytes: &[u8]) {
        match (length, bytes) {
            (WINDOW, _) => {
                let class = 1 << ((window.wrapping_mul(WIDE_MIX) >> 32) % 6);
                self.first[hash(window)] |= class;
                self.second[wide_hash(window)] |= class;
            }
            (HALF, _) => self.first[hash(window)] |= Self::SHORT,
            (_, [one, two]) => {
                let two = u64::from(*one) | u64::from(*two) << 8;
                (0..256).for_each(|any| self.first[hash(two | any << 16)] |= Self::LEAST);
            }
            _ => self.first.iter_mut().for_each(|classes| *classes |= Self::LEAST),
        }
    }

    /// Says at which places of a text windows may begin, and how many those are: at most [`BATCH`].
    #[inline]
    fn look(&self, text: &[u8], hits: &mut [u8; BATCH + 1]) -> u8 {
        let (mut count, mut at) = (0_u8, 0_u8);
        for eight in text.windows(LOOKED) {
            let word = eight.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
            hits[usize::from(count)] = at;
            // Without a branch, so that the processor runs ahead over many places at once.
            count += u8::from(self.classes(word) != 0);
            at = at.wrapping_add(1);
        }
        count
    }

    /// Which classes the window that a word begins with may be of.
    #[inline]
    fn classes(&self, word: u64) -> u8 {
        self.first[hash(word)] & self.second[wide_hash(word)]
    }
}

/// The hash of the first three bytes of a word.
#[inline]
fn hash(word: u64) -> usize {
    (((word as u32) << 8).wrapping_mul(MIX) >> (32 - Filter::BITS)) as usize
}

/// The hash of the first six bytes of a word.
#[inline]
fn wide_hash(word: u64) -> usize {
    ((word << 16).wrapping_mul(WIDE_MIX) >> (64 - Filter::BITS)) as usize
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filter").finish_non_exhaustive()
    }
}
