//! Search for short windows: a pair of bytes of each, at every place. Rule: finds every occurrence of every window, and some
//! places that are none; it never verifies.
//!
//! Such pairs stand everywhere, so the bytes before them are looked at, too, and what is found is told apart at once by eight bytes around it.

use crate::blocks::{Candidate, Shape, Sought, When, ways};
use crate::classes::{KNOWN, Shares};
use crate::fragment::Check;
use crate::look::{Hits, LOOKS_MAX, Pairs};
use crate::view::View;
use crate::wildcard::Cell;

/// How long the pair is.
pub(crate) const PAIR: usize = 2;

/// A group of windows that are searched in one pass.
#[derive(Debug)]
pub(crate) struct Short {
    shape: Shape,
    pairs: Pairs,
    /// Where the entries of each pair begin, in the order of the pairs, and where the last ones end.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    count: usize,
}

/// A window that has a pair.
#[derive(Debug)]
struct Entry {
    /// Eight bytes that it needs; their distance is from the window's first byte.
    check: Check,
    /// How far the window begins before that place.
    reach: u32,
    segment: u32,
}

impl Short {
    /// Whether windows of this shape are searched so.
    pub fn fits(shape: Shape) -> bool {
        shape.window_length() == PAIR && shape.stride == 1
    }

    /// The tables for these windows.
    pub fn new(shape: Shape, windows: &[Sought], shares: &Shares) -> Self {
        let mut keyed = Vec::new();
        for (number, Sought { window, .. }) in windows.iter().enumerate() {
            // The last two bytes, in each way to write them.
            let pair = &window.cells[window.cells.len() - PAIR..];
            ways(pair, shape.folding, &mut |word| keyed.push((((word >> 48) as u16).to_le_bytes(), number)));
        }
        let known = keyed.iter().map(|(pair, number)| known(*pair, &windows[*number].window.cells));
        let pairs = Pairs::new(known, shares);
        keyed.sort_unstable_by_key(|(pair, number)| (pairs.number(*pair), *number));
        let mut starts = vec![0];
        let mut entries = Vec::with_capacity(keyed.len());
        for same in keyed.chunk_by(|one, other| one.0 == other.0) {
            entries.extend(same.iter().map(|(_, number)| {
                let Sought { segment, window, check, .. } = &windows[*number];
                let reach = window.cells.len() as u32;
                Entry { check: check.in_window(window), reach, segment: *segment }
            }));
            starts.push(entries.len() as u32);
        }
        Short { shape, pairs, starts, entries, count: windows.len() }
    }

    /// What it is, in words.
    pub fn name(&self) -> String {
        self.shape.name(Pairs::SIZE, self.count)
    }

    /// When it is to be searched.
    pub fn when(&self) -> When {
        self.shape.when
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        Pairs::SIZE + self.starts.capacity() * 4 + self.entries.capacity() * size_of::<Entry>()
    }

    /// Looks at each place whose last byte has come with the chunk, in order.
    pub fn search(&self, view: &View<'_>, found: &mut dyn FnMut(Candidate)) {
        let start = view.chunk_start();
        let Some(last) = view.end().min(self.shape.until).checked_sub(start) else { return };
        let last = last as usize;
        let before = start.checked_sub(1).and_then(|before| view.byte(before));
        if let (Some(before), Some(first)) = (before, view.chunk()[..last].first())
            && self.pairs.holds([before, *first])
        {
            self.report([before, *first], 1, view, found);
        }
        let mut hits = Hits::new();
        for place in (PAIR..=last).step_by(LOOKS_MAX) {
            let count = self.pairs.look(&view.chunk()[..last], place, LOOKS_MAX, &mut hits);
            for place in hits.first(count) {
                let place = *place as usize;
                if let Some([before, here]) = view.chunk().get(place - PAIR..place) {
                    self.report([*before, *here], place, view, found);
                }
            }
        }
    }

    /// A pair that is one of them stands before a place of the chunk.
    #[inline]
    fn report(&self, pair: [u8; 2], place: usize, view: &View<'_>, found: &mut dyn FnMut(Candidate)) {
        let number = self.pairs.number(pair);
        let Some([from, to]) = self.starts.get(number..number + 2) else { return };
        for entry in &self.entries[*from as usize..*to as usize] {
            // Before the stream's first byte there is no window.
            if let Some(window) = (view.chunk_start() + place as u64).checked_sub(u64::from(entry.reach))
                && entry.check.may_stand(window, view)
            {
                found(Candidate { segment: entry.segment, window, literal: (0, 0), prefix: 0 });
            }
        }
    }
}

/// A pair, and as many of the window's bytes before it as are looked at: any, where it has fewer.
fn known(pair: [u8; PAIR], window: &[Cell]) -> [Cell; KNOWN] {
    let mut known = [Cell::ANY; KNOWN];
    let before = window[..window.len() - PAIR].iter().rev();
    known[..KNOWN - PAIR].iter_mut().rev().zip(before).for_each(|(known, cell)| *known = *cell);
    known[KNOWN - PAIR..].copy_from_slice(&pair.map(Cell::exact));
    known
}

lockgate_stored::stored!(struct Entry { check, reach, segment });
lockgate_stored::stored!(struct Short { shape, pairs, starts, entries, count }, sound);

impl Short {
    /// Whether each pair leads to entries.
    fn is_sound(&self) -> bool {
        Self::fits(self.shape)
            && self.starts.len() == self.pairs.count() + 1
            && self.starts.is_sorted()
            && self.starts.last().is_some_and(|last| *last as usize == self.entries.len())
    }

    /// Whether every window is one of the first so many segments'.
    pub fn is_below(&self, segments: usize) -> bool {
        self.entries.iter().all(|entry| (entry.segment as usize) < segments)
    }
}
