//! Search by blocks: the stream is looked at every so many bytes, and no look waits for another.
//! Rule: finds every occurrence of every window, and some places that are none; it never verifies.
//!
//! A window is `block + stride - 1` bytes long, or one of [`REACHES`] more. Wherever it stands in the stream, exactly one of
//! the offsets that are multiples of the stride ends a block within it (behind the reach), and which block that is
//! follows from the offset. All of them are in the table, so one look each `stride` bytes finds the window.
//!
//! Most of what a mail gateway reads is base64, and hardly any window is made of its characters alone. So runs of it are
//! passed over, or looked at for those windows only.

use crate::candidates::{Candidates, Sieve, key};
use crate::encoded::{is_encoded, run_length};
use crate::fragment::Window;
use crate::look::{Bloom, Hits, LOOKS_MAX, Lens};
use crate::view::View;
use crate::wildcard::Cell;

/// How many bytes before the block the candidates may be told apart by, the most first.
pub(crate) const REACHES: [usize; 4] = [4, 2, 1, 0];
/// How far a window reaches at most before the end of one of its blocks, and behind it.
const BEFORE: usize = Lens::STRIDE_MAX as usize - 1 + 4 + REACHES[0];
const BEHIND: usize = Lens::STRIDE_MAX as usize - 1;

/// How many hits are gone through at once.
const ROUND: usize = 32;

/// How a group's windows are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    /// Bytes from look to look.
    pub stride: u32,
    /// Bytes of a block.
    pub block: u32,
    pub folding: Folding,
    /// No window of this group ends behind this offset.
    pub until: u64,
    pub when: When,
}

/// When a group is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum When {
    Always,
    /// Where another segment has led to one of its own: short windows that stand everywhere mean nothing before.
    Led,
    /// Where a scanner asks for them.
    Asked,
    /// As [`When::Led`], of those that are asked for.
    AskedLed,
}

impl When {
    /// Whether another segment must have led there.
    pub fn is_led(self) -> bool {
        matches!(self, When::Led | When::AskedLed)
    }
}

impl Shape {
    /// How long a window must be at least.
    pub fn window_length(self) -> usize {
        (self.block + self.stride - 1) as usize
    }

    /// What it is, in words, with the size of its table in bytes and how many windows it has.
    pub fn name(self, size: usize, count: usize) -> String {
        let Shape { stride, block, folding, until, when } = self;
        let size = if size < 1 << 20 { format!("{} KiB", size >> 10) } else { format!("{} MiB", size >> 20) };
        let block = if block == 4 { String::new() } else { format!(" of {block}") };
        let folded = if folding == Folding::Ascii { ", folded" } else { "" };
        let until = if until == u64::MAX { String::new() } else { format!(", first {until} bytes") };
        let when = match when {
            When::Always => "",
            When::Led => ", where led to",
            When::Asked => ", where asked for",
            When::AskedLed => ", where asked for and led to",
        };
        format!("blocks{block}(stride {stride}, {size}{folded}{until}{when}) × {count}")
    }
}

/// Whether letters are folded before they are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Folding {
    None,
    Ascii,
}

impl Folding {
    pub fn mask(self) -> u64 {
        match self {
            Folding::None => 0,
            Folding::Ascii => 0x2020_2020_2020_2020,
        }
    }
}

/// A place where a window may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub segment: u32,
    /// The offset of the window's first byte.
    pub window: u64,
}

/// A group of windows that are searched in one pass.
#[derive(Debug)]
pub(crate) struct Blocks {
    shape: Shape,
    table: Bloom,
    /// The same for windows that can stand in base64, if there are any.
    encoded: Option<Bloom>,
    /// The windows, by how far the bytes reach that they are known by. Only lists that hold any are here.
    lists: Vec<(usize, Candidates)>,
    /// What the keys of all lists fall through.
    sieve: Sieve,
    count: usize,
}

impl Blocks {
    /// The tables for these windows. The first of each pair is the segment.
    pub fn new(shape: Shape, windows: &[(u32, Window)]) -> Self {
        let fold = shape.folding.mask();
        let can_be_encoded = |cell: &Cell| {
            (0..128).any(|byte| {
                is_encoded(byte) && (byte | fold as u8) & cell.mask == cell.value | fold as u8 & cell.mask
            })
        };
        let mut blocks = Vec::with_capacity(windows.len() * shape.stride as usize);
        let mut encoded = Vec::new();
        let mut keyed = REACHES.map(|_| Vec::new());
        for (segment, window) in windows {
            let reach = window.cells.len() - shape.window_length();
            let is_encoded = window.cells.iter().all(can_be_encoded);
            let first = blocks.len();
            let list = REACHES.iter().position(|known| *known == reach);
            for turn in 0..shape.stride {
                let end = turn as usize + reach + shape.block as usize;
                let known = &window.cells[turn as usize..end];
                ways(known, shape.folding, &mut |word| {
                    blocks.push((word >> (64 - 8 * shape.block)) as u32);
                    if let Some(list) = list.and_then(|list| keyed.get_mut(list)) {
                        list.push((key(word, shape.block as usize + reach), segment << 4 | turn));
                    }
                });
            }
            if is_encoded {
                encoded.extend_from_slice(&blocks[first..]);
            }
        }
        let lens = Lens { stride: shape.stride, block: shape.block, fold: fold as u32 };
        let table = |mut blocks: Vec<u32>| {
            blocks.sort_unstable();
            blocks.dedup();
            Bloom::new(lens, &blocks)
        };
        let encoded = (!encoded.is_empty()).then(|| table(encoded));
        let sieve = Sieve::new(&keyed);
        let lists = REACHES.into_iter().zip(keyed).filter(|(_, keyed)| !keyed.is_empty());
        let lists = lists.map(|(reach, keyed)| (reach, Candidates::new(keyed, shape.block as usize + reach)));
        let (table, lists) = (table(blocks), lists.collect());
        Blocks { shape, table, encoded, lists, sieve, count: windows.len() }
    }

    /// What it is, in words.
    pub fn name(&self) -> String {
        self.shape.name(self.table.size(), self.count)
    }

    /// When it is to be searched.
    pub fn when(&self) -> When {
        self.shape.when
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.table.size()
            + self.encoded.as_ref().map_or(0, Bloom::size)
            + self.sieve.heap_bytes()
            + self.lists.iter().map(|(_, list)| list.heap_bytes()).sum::<usize>()
    }

    /// Looks at each place whose last byte has come with the chunk, in order.
    pub fn search(&self, view: &View<'_>, found: &mut dyn FnMut(Candidate)) {
        let stride = u64::from(self.shape.stride);
        let end = view.end().min(self.shape.until);
        // A place is the offset behind a block.
        let mut place = (view.chunk_start() + 1).max(u64::from(self.shape.block)).next_multiple_of(stride);
        let inside = view.chunk_start() + 8;
        while place <= end && place < inside {
            let word = view.eight_before(place) | self.shape.folding.mask();
            if self.table.holds(self.table.block((word >> 32) as u32)) {
                self.report(std::iter::once((place, word)), found);
            }
            place += stride;
        }
        if place <= end {
            let first = (place - view.chunk_start()) as usize;
            let last = (end - view.chunk_start()) as usize;
            self.search_inside(view, (first, last), found);
        }
    }

    /// The same for the places that have eight bytes of the chunk before them.
    fn search_inside(
        &self,
        view: &View<'_>,
        (mut first, last): (usize, usize),
        found: &mut dyn FnMut(Candidate),
    ) {
        let stride = self.shape.stride as usize;
        let chunk = view.chunk();
        let mut hits = Hits::new();
        while first <= last {
            let left = (last - first) / stride + 1;
            let (table, looks) = match first.checked_sub(BEFORE) {
                // The bytes before are not at hand here: a few looks, then they are.
                None => (Some(&self.table), (BEFORE - first).div_ceil(stride)),
                Some(from) => match run_length(&chunk[from..]).checked_sub(BEFORE + BEHIND) {
                    // A window that ends a block there lies within the run, so it is one that can.
                    Some(within) => (self.encoded.as_ref(), within / stride + 1),
                    None => (Some(&self.table), LOOKS_MAX),
                },
            };
            let looks = looks.min(left);
            if let Some(table) = table {
                self.look(table, view, first, looks, &mut hits, found);
            }
            first += looks * stride;
        }
    }

    /// Takes so many looks into a table of the group.
    fn look(
        &self,
        table: &Bloom,
        view: &View<'_>,
        mut first: usize,
        mut looks: usize,
        hits: &mut Hits,
        found: &mut dyn FnMut(Candidate),
    ) {
        let chunk = view.chunk();
        while looks > 0 {
            let batch = looks.min(LOOKS_MAX);
            let count = table.look(chunk, first, batch, hits);
            // Two rounds, so that the reads of many hits, from farther memory, overlap too.
            let count = hits.keep(count, |place| {
                let word = self.word_at(chunk, place as usize);
                self.lists.iter().fold(false, |any, (_, list)| any | self.sieve.passes(list.key(word)))
            });
            for places in hits.first(count).chunks(ROUND) {
                let words = places.iter().map(|place| {
                    (view.chunk_start() + u64::from(*place), self.word_at(chunk, *place as usize))
                });
                self.report(words, found);
            }
            first += batch * self.shape.stride as usize;
            looks -= batch;
        }
    }

    /// The eight bytes before a place of the chunk, folded.
    #[inline]
    fn word_at(&self, chunk: &[u8], place: usize) -> u64 {
        let eight = chunk.get(place.wrapping_sub(8)..).and_then(|eight| eight.first_chunk());
        eight.map_or(0, |eight| u64::from_le_bytes(*eight)) | self.shape.folding.mask()
    }

    /// Tells what may stand at places, at most [`ROUND`] of them, with the eight bytes before each. All lists are looked for
    /// before any is gone through, so that reads from farther memory overlap.
    #[inline]
    fn report(&self, places: impl Iterator<Item = (u64, u64)>, found: &mut dyn FnMut(Candidate)) {
        let mut kept = [(0, 0, 0); ROUND * REACHES.len()];
        let mut count = 0;
        for (place, word) in places {
            for (number, (_, list)) in self.lists.iter().enumerate() {
                let key = list.key(word);
                // No branch waits for the sieve.
                if let Some(kept) = kept.get_mut(count) {
                    *kept = (place, number, key);
                    count += usize::from(self.sieve.passes(key));
                }
            }
        }
        let mut ranges = [(0, 0); ROUND * REACHES.len()];
        for ((_, number, key), range) in kept[..count].iter().zip(&mut ranges) {
            *range = self.lists.get(*number).map_or((0, 0), |(_, list)| list.range(*key));
        }
        let near = kept[..count].iter().zip(&ranges).fold(0, |all, ((_, number, _), range)| {
            all ^ self.lists.get(*number).map_or(0, |(_, list)| list.touch(*range))
        });
        std::hint::black_box(near);
        for ((place, number, key), range) in kept[..count].iter().zip(&ranges) {
            let Some((reach, list)) = self.lists.get(*number) else { continue };
            for entry in list.get(*key, *range) {
                let behind = u64::from(entry & 0xf) + u64::from(self.shape.block) + *reach as u64;
                // Before the stream's first byte there is no window.
                if let Some(window) = place.checked_sub(behind) {
                    found(Candidate { segment: entry >> 4, window });
                }
            }
        }
    }
}

/// At most eight bytes as the last ones of a word, folded; once for each way to write them.
pub(crate) fn ways(cells: &[Cell], folding: Folding, found: &mut dyn FnMut(u64)) {
    let place = |at: usize| 64 - 8 * (cells.len() - at);
    let fold = folding.mask();
    let (mut word, mut free) = (0, 0);
    for (at, cell) in cells.iter().enumerate() {
        word |= u64::from(cell.value) << place(at);
        free |= u64::from(!cell.mask) << place(at);
    }
    let free = free & !fold;
    // Each subset of the free bits, from all of them down to none.
    let mut set = free;
    loop {
        found(word | set | fold);
        if set == 0 {
            break;
        }
        set = (set - 1) & free;
    }
}

lockgate_stored::stored!(struct Shape { stride, block, folding, until, when });
lockgate_stored::stored!(enum When { 0 => Always, 1 => Led, 2 => Asked, 3 => AskedLed });
lockgate_stored::stored!(enum Folding { 0 => None, 1 => Ascii });
lockgate_stored::stored!(struct Blocks { shape, table, encoded, lists, sieve, count }, sound);

impl Blocks {
    /// Whether tables and lists are for blocks of this shape.
    fn is_sound(&self) -> bool {
        let Shape { stride, block, folding, .. } = self.shape;
        let lens = Lens { stride, block, fold: folding.mask() as u32 };
        let is_known = |(reach, list): &(usize, Candidates)| {
            REACHES.contains(reach) && list.is_of(block as usize + reach)
        };
        let mut tables = [&self.table].into_iter().chain(&self.encoded);
        tables.all(|table| table.is_for(lens)) && self.lists.iter().all(is_known)
    }

    /// Whether every window is one of the first so many segments'.
    pub fn is_below(&self, segments: usize) -> bool {
        self.lists.iter().all(|(_, list)| list.is_below(segments))
    }
}
