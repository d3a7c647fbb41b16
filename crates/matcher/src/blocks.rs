//! Search by blocks: the stream is looked at every so many bytes, and no look waits for another.
//! Rule: finds every occurrence of every window, and some places that are none; it never verifies.
//!
//! A window is `block + stride - 1` bytes long, or a reach more. Wherever it stands in the stream, exactly one of the offsets
//! that are multiples of the stride ends a block within it (behind the reach), and which block that is follows from the
//! offset. All of them are in the table, so one look each `stride` bytes finds the window. Where a look hits it tells how far
//! before the block windows may begin: by their first bytes a sieve refuses most of them, and lists tell the rest apart.
//!
//! Most of what a mail gateway reads is base64, most of what a web gateway reads is text, and few windows are made of their
//! characters alone. So runs of either are passed over, or looked at for those windows only.

use crate::candidates::{Candidates, Entry, KEY_BYTES_MAX};
use crate::encoded::{Alphabet, run_length};
use crate::fragment::{Check, Window};
use crate::look::{
    Bloom, Hits, LOOKS_MAX, Lens, Passed, Probe, ROUND, Sieve, Turned, WINDOWS_MAX, Windows, key,
};
use crate::view::View;
use crate::wildcard::Cell;
use std::cell::RefCell;

/// How many bytes before the block a window may begin that is too short to be known by itself, the most first.
const REACHES: [usize; 4] = [4, 2, 1, 0];
/// How far a window reaches at most before the end of one of its blocks, and behind it.
const BEFORE: usize = Lens::STRIDE_MAX as usize - 1 + 4 + REACHES[0];
const BEHIND: usize = Lens::STRIDE_MAX as usize - 1;
/// Where more than one of so many blocks is of windows that can stand in a run, all are looked up there.
const IN_RUN_SHARE: usize = 2;
/// How many bytes behind a place are at hand where it is gone through: of each of its windows the first eight.
const EIGHT: usize = 8;

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

    /// How far windows may begin before their first block.
    pub fn reaches(self) -> &'static [usize] {
        if self.window_length() < KEY_BYTES_MAX { &REACHES } else { &[0] }
    }

    /// How many bytes a window of this reach is known by: its first ones.
    pub fn key_length(self, reach: usize) -> usize {
        (self.window_length() + reach).min(KEY_BYTES_MAX)
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
    /// The segment's bytes, if that is known and it is nothing else: where they are, and how many; else 0 …
    pub literal: (u32, u32),
    /// … and how far behind the first of them the window begins.
    pub prefix: u8,
}

/// A window that is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    pub segment: u32,
    pub window: Window,
    /// An early look at whether the segment is there.
    pub check: Check,
    /// The segment's bytes, as in [`Candidate`].
    pub literal: (u32, u32),
}

/// What is looked up within a run of an alphabet.
#[derive(Debug)]
struct InRun {
    /// As everywhere: most windows can stand there.
    is_all: bool,
    /// The windows that can, if there are any.
    table: Option<Bloom>,
}

/// Room for what is gone through together.
struct Round {
    windows: Windows,
    passed: Passed,
    /// Where the lists of those that have passed begin and end.
    ranges: [(u32, u32); ROUND],
}

impl Round {
    const fn new() -> Self {
        Round { windows: Windows::new(), passed: Passed::new(), ranges: [(0, 0); ROUND] }
    }
}

thread_local! {
    /// Written before it is read: a packet's search would take as long to clear it as to look at the packet.
    static SPACE: RefCell<(Hits, Round)> = const { RefCell::new((Hits::new(), Round::new())) };
}

/// A group of windows that are searched in one pass.
#[derive(Debug)]
pub(crate) struct Blocks {
    shape: Shape,
    table: Bloom,
    /// What is looked up within runs of base64 and of text.
    in_runs: Box<[InRun]>,
    /// The windows, by how far the bytes reach that they are known by. Only lists that hold any are here.
    lists: Vec<(usize, Candidates)>,
    /// What the keys of all lists fall through.
    sieve: Sieve,
    count: usize,
}

impl Blocks {
    /// The tables for these windows.
    pub fn new(shape: Shape, windows: &[Sought]) -> Self {
        let fold = shape.folding.mask();
        let is_in = |alphabet: Alphabet, cell: &Cell| {
            (0..128).any(|byte| {
                alphabet.has(byte) && (byte | fold as u8) & cell.mask == cell.value | fold as u8 & cell.mask
            })
        };
        let mut blocks = Vec::with_capacity(windows.len() * shape.stride as usize);
        let mut in_runs = Alphabet::ALL.map(|_| Vec::new());
        let mut keyed = REACHES.map(|_| Vec::new());
        for sought in windows {
            let window = &sought.window;
            let reach = window.cells.len() - shape.window_length();
            let first = blocks.len();
            for (turn, block) in (0..).zip(window.cells[reach..].windows(shape.block as usize)) {
                let behind = 64 - 8 * shape.block;
                ways(block, shape.folding, &mut |word| blocks.push(((word >> behind) as u32, turn)));
            }
            for (alphabet, in_run) in Alphabet::ALL.into_iter().zip(&mut in_runs) {
                if window.cells.iter().all(|cell| is_in(alphabet, cell)) {
                    in_run.extend_from_slice(&blocks[first..]);
                }
            }
            let entry = Entry::new(sought);
            let list = REACHES.iter().position(|known| *known == reach);
            let Some(list) = list.and_then(|list| keyed.get_mut(list)) else { continue };
            let known = &window.cells[..shape.key_length(reach)];
            let behind = 64 - 8 * known.len();
            ways(known, shape.folding, &mut |word| list.push((key(word >> behind, u64::MAX), entry)));
        }
        let lens = Lens { stride: shape.stride, block: shape.block, fold: fold as u32 };
        let table = |mut blocks: Vec<Turned>| {
            blocks.sort_unstable();
            blocks.dedup();
            Bloom::new(lens, &blocks)
        };
        let in_run = |of_run: Vec<Turned>| {
            let is_all = of_run.len() * IN_RUN_SHARE > blocks.len();
            InRun { is_all, table: (!is_all && !of_run.is_empty()).then(|| table(of_run)) }
        };
        let in_runs = in_runs.map(in_run).into();
        let count = keyed.iter().map(Vec::len).sum();
        let sieve = Sieve::new(keyed.iter().flatten().map(|(key, _)| *key), count);
        let lists = REACHES.into_iter().zip(keyed).filter(|(_, keyed)| !keyed.is_empty());
        let lists = lists.map(|(reach, keyed)| (reach, Candidates::new(keyed, shape.key_length(reach))));
        let (table, lists) = (table(blocks), lists.collect());
        Blocks { shape, table, in_runs, lists, sieve, count: windows.len() }
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
            + self.in_runs.iter().filter_map(|run| run.table.as_ref()).map(Bloom::size).sum::<usize>()
            + self.sieve.heap_bytes()
            + self.lists.iter().map(|(_, list)| list.heap_bytes()).sum::<usize>()
    }

    /// Finds each window whose last byte has come with the chunk.
    pub fn search(&self, view: &View<'_>, found: &mut dyn FnMut(Candidate)) {
        let stride = u64::from(self.shape.stride);
        let (start, end) = (view.chunk_start(), view.end().min(self.shape.until));
        // A place is the offset behind a block, and windows end up to a stride behind it.
        let first = (start + 2).saturating_sub(stride).max(u64::from(self.shape.block));
        let inside = start + BEFORE as u64;
        let mut place = first.next_multiple_of(stride);
        while place < inside && place <= end {
            self.look_at(place, (start, end), view, found);
            place += stride;
        }
        // Those that have bytes enough of the chunk on both sides.
        if let Some(last) = end.checked_sub(EIGHT as u64).filter(|last| place <= *last) {
            let (first, last) = ((place - start) as usize, (last - start) as usize);
            place += self.search_inside(view, (first, last), found) as u64;
        }
        while place <= end {
            self.look_at(place, (start, end), view, found);
            place += stride;
        }
    }

    /// Looks at one place, byte by byte, for windows that end behind `start`, and not behind `end`.
    fn look_at(
        &self,
        place: u64,
        (start, end): (u64, u64),
        view: &View<'_>,
        found: &mut dyn FnMut(Candidate),
    ) {
        let Shape { stride, block, folding, .. } = self.shape;
        let word = view.eight_before(place) | folding.mask();
        let here = self.table.block((word >> 32) as u32);
        for turn in (0..stride).filter(|turn| self.table.holds((here, *turn))) {
            for (reach, list) in &self.lists {
                // Before the stream's first byte there is no window.
                let Some(window) = place.checked_sub(u64::from(block + turn) + *reach as u64) else {
                    continue;
                };
                let behind = window + (self.shape.window_length() + reach) as u64;
                if !(start + 1..=end).contains(&behind) {
                    continue;
                }
                let key = list.key(view.eight_at(window) | folding.mask());
                if self.sieve.passes(key) {
                    list.at(window, list.range(key), view, found);
                }
            }
        }
    }

    /// The same for the places that have bytes enough of the chunk on both sides; how far those go that were looked at.
    fn search_inside(
        &self,
        view: &View<'_>,
        (mut first, last): (usize, usize),
        found: &mut dyn FnMut(Candidate),
    ) -> usize {
        let stride = self.shape.stride as usize;
        let (chunk, from) = (view.chunk(), first);
        SPACE.with_borrow_mut(|(hits, round)| {
            while first <= last {
                let left = (last - first) / stride + 1;
                let (table, looks) = self.table_at(&chunk[first - BEFORE..]);
                let looks = looks.min(left);
                if let Some(table) = table {
                    self.look(table, view, (first, looks), (hits, round), found);
                }
                first += looks * stride;
            }
        });
        first - from
    }

    /// Which table is looked into at the places from [`BEFORE`] bytes on, if any, and for how many looks.
    fn table_at(&self, bytes: &[u8]) -> (Option<&Bloom>, usize) {
        for (alphabet, run) in Alphabet::ALL.into_iter().zip(&self.in_runs) {
            // A window that has a block there lies within the run, so it is one that can.
            let within = match run.is_all {
                true => None,
                false => run_length(bytes, alphabet).checked_sub(BEFORE + BEHIND),
            };
            if let Some(within) = within {
                return (run.table.as_ref(), within / self.shape.stride as usize + 1);
            }
        }
        (Some(&self.table), LOOKS_MAX)
    }

    /// Takes so many looks into a table of the group.
    fn look(
        &self,
        table: &Bloom,
        view: &View<'_>,
        (mut first, mut looks): (usize, usize),
        (hits, round): (&mut Hits, &mut Round),
        found: &mut dyn FnMut(Candidate),
    ) {
        let stride = self.shape.stride as usize;
        let together = (WINDOWS_MAX.min(ROUND) / (stride * self.lists.len()).max(1)).max(1);
        while looks > 0 {
            let batch = looks.min(LOOKS_MAX);
            let count = table.look(view.chunk(), first, batch, hits);
            for told in hits.first(count).chunks(together) {
                let count = table.windows(told, first, &mut round.windows);
                self.sift(count, view, round, found);
            }
            first += batch * stride;
            looks -= batch;
        }
    }

    /// Tells which windows may stand at the first so many of the round.
    fn sift(&self, count: usize, view: &View<'_>, round: &mut Round, found: &mut dyn FnMut(Candidate)) {
        let Round { windows, passed, ranges } = round;
        let fold = self.shape.folding.mask();
        let mut ends = [0; REACHES.len()];
        passed.clear();
        for ((reach, list), end) in self.lists.iter().zip(&mut ends) {
            let probe = Probe { back: *reach as u32, fold, mask: list.mask() };
            self.sieve.sift(view.chunk(), windows.first(count), probe, passed);
            *end = passed.count();
        }
        let mut first = 0;
        for ((_, list), end) in self.lists.iter().zip(ends) {
            let starts = passed.from(first);
            self.report(list, &starts[..end - first], ranges, view, found);
            first = end;
        }
    }

    /// Tells which windows of a list may stand at places. All are looked for before any is gone through, so that reads from
    /// farther memory overlap.
    fn report(
        &self,
        list: &Candidates,
        starts: &[u32],
        ranges: &mut [(u32, u32); ROUND],
        view: &View<'_>,
        found: &mut dyn FnMut(Candidate),
    ) {
        let window = |start: &u32| view.chunk_start() + u64::from(*start);
        let mut near = 0;
        for (start, range) in starts.iter().zip(&mut *ranges) {
            let eight = view.eight_in_chunk(window(start)).unwrap_or(0) | self.shape.folding.mask();
            *range = list.range(list.key(eight));
        }
        for range in &ranges[..starts.len()] {
            near ^= list.touch(*range);
        }
        std::hint::black_box(near);
        for (start, range) in starts.iter().zip(&*ranges) {
            list.at(window(start), *range, view, found);
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
lockgate_stored::stored!(struct InRun { is_all, table });
lockgate_stored::stored!(struct Blocks { shape, table, in_runs, lists, sieve, count }, sound);

impl Blocks {
    /// Whether tables and lists are for blocks of this shape.
    fn is_sound(&self) -> bool {
        let Shape { stride, block, folding, .. } = self.shape;
        let lens = Lens { stride, block, fold: folding.mask() as u32 };
        let is_known = |(reach, list): &(usize, Candidates)| {
            REACHES.contains(reach) && list.is_of(self.shape.key_length(*reach))
        };
        let of_runs = self.in_runs.iter().filter_map(|run| run.table.as_ref());
        let mut tables = [&self.table].into_iter().chain(of_runs);
        tables.all(|table| table.is_for(lens))
            && self.lists.len() <= REACHES.len()
            && self.lists.iter().all(is_known)
    }

    /// Whether every window is one of the first so many segments', and its bytes are among the first so many.
    pub fn is_below(&self, segments: usize, bytes: usize) -> bool {
        self.lists.iter().all(|(_, list)| list.is_below(segments, bytes))
    }
}
