//! All phrases in one pass over the readings of a page: [`Search`]. Rule: what a call finds is decided by the bytes it is given;
//! a phrase that was found already costs nothing more where it counts once.
//!
//! Each phrase is looked for by four letters of it (`cores`), which are as rare in prose (`prose`) as can be, and what stands
//! around them (`windows`); the few that have no such letters by three bytes (`classes`). Filters keep the places where a window
//! may stand, without a branch (`places`); what is left of them is compared. Most of the text of a page stands in its raw form as
//! well, letter for letter: such [`Copies`] are looked at once for both (`both`).

mod both;
mod classes;
mod copies;
mod cores;
mod places;
mod prose;
mod windows;

use super::block::Speed;
use super::ruleset::PHRASE_BYTES_MAX;
use super::seen::Seen;
use classes::{BYTES as CLASSED, Classes};
pub(super) use copies::Copies;
use cores::{beginnings, chosen, cores, spare};
pub(super) use places::Open;
use places::{BATCH, Batch, Bits, Elsewhere, MASK, Masks, Near, OpenWindows, Sought, words};
use prose::Prose;
use std::cell::RefCell;
use std::ops::Range;
use windows::{
    BEFORE, CORE_BYTES, CORE_EDGES, Cores, Edges, Entry, Filter, Kind, LONG, SHORT_EDGES, Windows,
};

thread_local! {
    /// Room for the places of a batch. Nothing is read in it that was not written for the same batch.
    static ROOM: RefCell<Box<Batch>> = RefCell::new(Box::new(Batch::new()));
}

/// How far before and behind a window the rest of its pattern may reach.
pub(super) const REACH: usize = PHRASE_BYTES_MAX * 3;

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

/// What a place has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// Nothing that any pattern begins with, as far as a word has room for it.
    Nothing,
    /// What some pattern begins with, or may.
    Alike,
}

/// What is looked at in a reading.
pub(super) struct Span<'a> {
    pub which: In,
    pub text: &'a [u8],
    /// Where windows may begin. What of a pattern stands before or behind its window must be in the text, or it is not found.
    pub places: Range<usize>,
    pub seen: &'a mut Seen,
}

impl Span<'_> {
    /// The places that have a window behind them.
    fn places(&self) -> Range<usize> {
        let end = self.places.end.min(self.text.len().saturating_sub(CLASSED));
        self.places.start.min(end)..end
    }
}

/// The patterns, compiled.
#[derive(Debug)]
pub(super) struct Search {
    patterns: Vec<Pattern>,
    /// By kind, as what follows.
    windows: [Windows; 4],
    sought: Sought,
    /// Patterns that have no window: a byte of each, and where it stands.
    tiny: Vec<(u8, usize, u32)>,
    speed: Speed,
}

impl Search {
    pub fn new(patterns: Vec<Pattern>) -> Self {
        // A window begins where a byte can tell.
        let near = |pattern: &'_ Pattern| 0..pattern.bytes.len().min(usize::from(u8::MAX));
        let texts: Vec<&[u8]> = patterns.iter().map(|pattern| &pattern.bytes[near(pattern)]).collect();
        let prose = Prose::new(texts.iter().copied());
        let mut chosen = chosen(&texts.iter().map(|text| windows(text)).collect::<Vec<_>>(), &prose);
        spare(&mut chosen, &texts, &prose);
        let mut entries: [Vec<Entry>; 4] = Default::default();
        let mut tiny = Vec::new();
        let mut short: [Vec<Entry>; 2] = Default::default();
        for ((text, window), number) in texts.iter().zip(chosen).zip(0_u32..) {
            if let Some((kind, at, bytes)) = window.and_then(|window| around(window, text, &prose)) {
                let entry = Entry::new(text, at, number);
                entries[kind as usize].push(entry);
                if kind == Kind::Short {
                    short[usize::from(bytes < CLASSED)].push(entry);
                }
            } else {
                let at = text.iter().position(|byte| *byte != b' ').unwrap_or(0);
                tiny.extend(text.get(at).map(|byte| (*byte, at, number)));
            }
        }
        let [threes, twos] = short;
        let classes = (threes.len() + twos.len() > 0).then(|| Classes::new(&threes, &twos));
        let sought = sought(&entries, classes, &prose);
        let [behind, before, core, short] = entries;
        let windows = [
            Windows::new(behind, Kind::Behind.length(), sought.behind.mix, LONG * 64),
            Windows::new(before, Kind::Before.length(), sought.before.mix, LONG * 64),
            Windows::new(core, Kind::Core.length(), sought.core.mix, CORE_EDGES),
            Windows::new(short, Kind::Short.length(), sought.short.mix, SHORT_EDGES),
        ];
        Self { patterns, windows, sought, tiny, speed: Speed::detect() }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub fn heap_bytes(&self) -> usize {
        let bytes: usize = self.patterns.iter().map(|pattern| pattern.bytes.capacity()).sum();
        let windows: usize = self.windows.iter().map(Windows::heap_bytes).sum();
        bytes + self.patterns.len() * size_of::<Pattern>() + windows
    }

    /// What is looked for in a page that begins.
    pub fn open(&self) -> Open {
        Open::all()
    }

    /// Finds the patterns whose windows have their places in a reading.
    pub fn scan(&self, span: &mut Span<'_>, open: &mut Open) {
        let places = span.places();
        ROOM.with_borrow_mut(|batch| self.walk(batch, span, places, open.of(span.which)));
        self.scan_for_tiny(span);
    }

    /// All places of a text where windows may stand.
    fn walk(&self, batch: &mut Batch, span: &mut Span<'_>, places: Range<usize>, open: &mut OpenWindows) {
        for from in places.clone().step_by(BATCH) {
            let bits = first((places.end - from).min(BATCH));
            self.look(batch, span.text, from, &Masks { cores: bits, short: bits }, None, open);
            for (kind, places) in batch.kept() {
                for at in places {
                    self.find(kind, from + usize::from(*at), span, open);
                }
            }
        }
    }

    /// A batch of places, of which some may be looked at elsewhere as well.
    fn look(
        &self,
        batch: &mut Batch,
        text: &[u8],
        from: usize,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
        open: &OpenWindows,
    ) {
        let copy: Near;
        let near: &Near = match from.checked_sub(BEFORE).and_then(|before| text[before..].first_chunk()) {
            Some(near) => near,
            None => {
                copy = near_edge(text, from);
                &copy
            }
        };
        batch.look(&self.sought, open, near, wanted, other, self.speed);
    }

    fn scan_for_tiny(&self, span: &mut Span<'_>) {
        let places = span.places();
        for (byte, at, pattern) in &self.tiny {
            for place in memchr::memchr_iter(*byte, &span.text[places.clone()]) {
                if let (Some(start), Some(pattern)) =
                    ((places.start + place).checked_sub(*at), self.patterns.get(*pattern as usize))
                {
                    compare(pattern, start, span);
                }
            }
        }
    }

    /// A window that may be one of the kind has its place there: finds the patterns that do.
    #[inline]
    fn find(&self, kind: Kind, place: usize, span: &mut Span<'_>, open: &mut OpenWindows) -> Met {
        let Some(at) = place.checked_sub(kind.before()) else { return Met::Nothing };
        let (word, _) = words(span.text, at);
        let entries = self.windows[kind as usize].of(word);
        let (mut met, mut is_news) = (Met::Nothing, false);
        for entry in entries.iter().filter(|entry| entry.agrees(word)) {
            met = Met::Alike;
            if let Some(start) = at.checked_sub(usize::from(entry.at))
                && let Some(pattern) = self.patterns.get(entry.pattern as usize)
            {
                is_news |= compare(pattern, start, span);
            }
        }
        if is_news {
            self.close(kind, word, span, open);
        }
        met
    }

    /// Looks no more in a reading for a short window of which every pattern is found, as far as that needs to be. That may have come
    /// about where something new was found.
    fn close(&self, kind: Kind, word: u64, span: &Span<'_>, open: &mut OpenWindows) {
        let slot = |word: u64| match kind {
            Kind::Behind | Kind::Before => None,
            Kind::Core => Some(self.sought.core.slot(word)),
            Kind::Short => Some(self.sought.short.slot(word)),
        };
        let Some(its) = slot(word) else { return };
        let is_done =
            |pattern: &Pattern| !pattern.readings.covers(span.which) || span.seen.is_done(pattern.part);
        let mut entries =
            self.windows[kind as usize].of(word).iter().filter(|entry| slot(entry.word) == Some(its));
        if entries.all(|entry| self.patterns.get(entry.pattern as usize).is_none_or(is_done)) {
            match kind {
                Kind::Behind | Kind::Before => {}
                Kind::Core => open.core.close(its),
                Kind::Short => open.short.close(its),
            }
        }
    }
}

/// Whether a pattern stands there that was not found before.
fn compare(pattern: &Pattern, start: usize, span: &mut Span<'_>) -> bool {
    let is_found = pattern.readings.covers(span.which)
        && !span.seen.is_done(pattern.part)
        && span.text.get(start..).is_some_and(|text| text.starts_with(&pattern.bytes));
    if is_found {
        span.seen.add(pattern.part);
    }
    is_found
}

/// What stands near places of which not all have so much before or behind them.
fn near_edge(text: &[u8], from: usize) -> Near {
    let mut near = [0; _];
    let before = from.min(BEFORE);
    let there = &text[from - before..text.len().min(from - before + near.len() - BEFORE)];
    near[BEFORE - before..][..there.len()].copy_from_slice(there);
    near
}

/// A bit for each of so many places.
fn first(count: usize) -> Bits {
    let mut bits = [u64::MAX; _];
    if count < BATCH {
        set(&mut bits, count..BATCH, false);
    }
    bits
}

/// Sets or clears the bits of a range.
fn set(bits: &mut Bits, range: Range<usize>, to: bool) {
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min((at / MASK + 1) * MASK);
        let mask = u64::MAX >> (MASK - (end - at)) << (at % MASK);
        bits[at / MASK] = if to { bits[at / MASK] | mask } else { bits[at / MASK] & !mask };
        at = end;
    }
}

/// What filters are made of.
fn sought(entries: &[Vec<Entry>; 4], classes: Option<Classes>, prose: &Prose) -> Sought {
    let [behind, before, core, short] = entries;
    let list = |entries: &[Entry]| entries.iter().map(|entry| entry.word).collect::<Vec<_>>();
    let (long, long_before) = (list(behind), list(before));
    let of_kind = |words: &[u64], kind: Kind, shift: usize| {
        words.iter().map(|word| ((word >> shift) as u32, kind)).collect::<Vec<_>>()
    };
    let cores = [
        of_kind(&long, Kind::Behind, 0),
        of_kind(&long_before, Kind::Before, 8 * BEFORE),
        of_kind(&list(core), Kind::Core, 0),
    ];
    Sought {
        classes,
        cores: Cores::new(&cores.concat(), prose.common(CORE_BYTES)),
        behind: Filter::new(&long, &[]),
        before: Filter::new(&long_before, &[]),
        core: Edges::new(core, CORE_BYTES + 1, prose.common(CORE_BYTES)),
        short: Edges::new(short, CLASSED + 1, prose.common(CLASSED)),
    }
}

/// The windows by which a text may be found: its cores, else the shorter ones.
fn windows(text: &[u8]) -> Vec<&[u8]> {
    let kinds =
        [cores(text).collect::<Vec<_>>(), beginnings(text, 3).collect(), beginnings(text, 2).collect()];
    kinds.into_iter().find(|windows| !windows.is_empty()).unwrap_or_default()
}

/// The window at one that was chosen, or around it, that is rarest in prose, where it begins, and how many bytes were chosen.
fn around(chosen: &[u8], text: &[u8], prose: &Prose) -> Option<(Kind, usize, usize)> {
    let kinds: &[Kind] = match chosen.len() {
        CORE_BYTES => &[Kind::Behind, Kind::Before, Kind::Core],
        _ => &[Kind::Short],
    };
    let places = text.windows(chosen.len()).enumerate().filter(|(_, window)| *window == chosen);
    let windows = places.flat_map(|(place, _)| {
        kinds.iter().filter_map(move |kind| {
            let at = place.checked_sub(kind.before())?;
            let window = text.get(at..at + kind.length().max(chosen.len()))?;
            Some((prose.rate(window), *kind, at))
        })
    });
    let rarest = windows.min_by(|(one, ..), (other, ..)| one.total_cmp(other));
    rarest.map(|(_, kind, at)| (kind, at, chosen.len()))
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
                    let places = 0..page.len();
                    let mut span = Span { which: In::RAW, text: &page, places, seen: &mut seen };
                    search.scan(&mut span, &mut search.open());
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
}
