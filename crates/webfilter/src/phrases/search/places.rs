//! Where windows may stand in a reading: [`Masks`], [`Batch`]. Rule: no branch depends on what a page says, so that the processor
//! runs ahead over many places at once.
//!
//! A bit mask tells for 64 places at once which of them a kind may begin at. These places are read off the mask, and filters
//! keep of them what is gone through later. Unsafe code stands here only.

#[cfg(target_arch = "x86_64")]
mod x86_64;

use super::super::block::Speed;
use super::In;
use super::classes::Classes;
use super::copies::{Copied, Kept};
use super::windows::{
    BEFORE, BEHIND, CORE_BYTES, CORE_EDGES, Cores, Edges, Filter, Kind, LONG, OpenSlots, SHORT_BYTES,
    SHORT_EDGES, word,
};

/// How many places are looked at before what was kept is gone through.
pub(super) const BATCH: usize = 16 * MASK;
/// The places of one mask.
pub(super) const MASK: usize = 64;
/// How many places are taken from a mask at once.
const TAKEN: usize = 8;

/// The bytes of a batch's places, and some before and behind them. Outside the text they are zero, which is no space.
pub(super) type Near = [u8; BEFORE + BATCH + 2 * MASK];
/// Places of a batch, and room behind the last.
type Places = [u16; BATCH + MASK];
/// What stands at places.
type Fours = [u32; BATCH + MASK];
/// As many masks as a batch has.
pub(super) type Bits = [u64; BATCH / MASK];

/// A bit for each place of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    /// For what has a core: the first of four that are no spaces.
    pub cores: Bits,
    /// For shorter windows: what the classes let through.
    pub short: Bits,
}

impl Masks {
    /// In how many blocks, from the first on, there is any.
    fn blocks(&self) -> usize {
        let is_any = |(cores, short): (&u64, &u64)| cores | short != 0;
        self.cores.iter().zip(&self.short).rposition(is_any).map_or(0, |last| last + 1)
    }

    /// The first blocks.
    fn first(&mut self, blocks: usize) -> [&mut [u64]; 2] {
        [&mut self.cores[..blocks], &mut self.short[..blocks]]
    }
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Sought {
    /// Of shortest windows, if there are any.
    pub classes: Option<Classes>,
    /// The kinds of windows that all cores have.
    pub cores: Cores,
    pub behind: Filter<{ 2 * CORE_BYTES }, LONG>,
    pub before: Filter<{ 2 * CORE_BYTES }, LONG>,
    /// What stands around shorter windows.
    pub core: Edges<CORE_BYTES, CORE_EDGES>,
    pub short: Edges<SHORT_BYTES, SHORT_EDGES>,
}

/// Short windows that are still looked for: in a page words come again, and most need to be found once.
#[derive(Clone, Debug)]
pub(in crate::phrases) struct Open {
    pub(super) raw: OpenWindows,
    pub(super) text: OpenWindows,
}

/// Those of one reading.
#[derive(Clone, Debug)]
pub(super) struct OpenWindows {
    pub core: OpenSlots<{ CORE_EDGES / 64 }>,
    pub short: OpenSlots<{ SHORT_EDGES / 64 }>,
}

impl Open {
    /// What is looked for at the beginning of a page.
    pub fn all() -> Self {
        let all = OpenWindows { core: OpenSlots::ALL, short: OpenSlots::ALL };
        Self { raw: all.clone(), text: all }
    }

    /// Those of a reading.
    pub(super) fn of(&mut self, which: In) -> &mut OpenWindows {
        if which == In::RAW { &mut self.raw } else { &mut self.text }
    }
}

/// Another text in which places of a batch stand as well, but among other bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere<'a> {
    pub text: &'a [u8],
    /// Where the places stand there.
    pub blocks: &'a [Kept],
    pub open: &'a OpenWindows,
}

impl Elsewhere<'_> {
    /// Where a place of the batch stands.
    #[inline(always)]
    pub fn at(&self, place: u16) -> usize {
        text_place(self.blocks, place)
    }
}

/// Where a place of a batch stands in the text, by its blocks.
#[inline(always)]
pub(super) fn text_place(blocks: &[Kept], place: u16) -> usize {
    let place = usize::from(place);
    blocks.get(place / MASK).map_or(0, |kept| kept.place(place % MASK))
}

/// What stands at a place of a text, and what stands around it. Outside of it are zeros.
#[inline(always)]
pub(super) fn words(text: &[u8], at: usize) -> (u64, u64) {
    let before = at.checked_sub(BEFORE).and_then(|before| text.get(before..));
    match before.and_then(|text| text.first_chunk::<{ BEFORE + BEHIND }>()) {
        Some(near) => (word(&near[BEFORE..]), word(near)),
        None => words_at_edge(text, at),
    }
}

#[cold]
fn words_at_edge(text: &[u8], at: usize) -> (u64, u64) {
    let around = match at.checked_sub(BEFORE) {
        Some(before) => text.get(before..).map_or(0, word),
        None => word(text) << (8 * (BEFORE - at)),
    };
    (text.get(at..).map_or(0, word), around)
}

/// The places that were kept of a batch; room that is used again.
pub(super) struct Batch {
    masks: Masks,
    /// Those that are marked, and the four bytes that stand there, where a core may.
    places: Places,
    cores: Fours,
    /// By kind.
    kept: [Places; 4],
    counts: [usize; 4],
    /// What was kept of those that have a core and are looked at elsewhere, if it is a window with a core and what is behind it,
    /// or before.
    kept_elsewhere: [Places; 2],
    counts_elsewhere: [usize; 2],
    /// What of the places stands elsewhere.
    pub copied: Copied,
    /// Which of those with a core are looked at there by themselves, for what is behind it and before.
    elsewhere: [Bits; 2],
}

impl Batch {
    pub fn new() -> Self {
        Self {
            masks: Masks::default(),
            places: [0; _],
            cores: [0; _],
            kept: [[0; _]; 4],
            counts: [0; 4],
            kept_elsewhere: [[0; _]; 2],
            counts_elsewhere: [0; 2],
            copied: Copied::default(),
            elsewhere: [[0; _]; 2],
        }
    }

    /// The places that were kept, by the kind of which a window may be there, in order.
    pub fn kept(&self) -> impl Iterator<Item = (Kind, &[u16])> {
        each(&Kind::ALL, &self.kept, &self.counts)
    }

    /// Those that were kept elsewhere.
    pub fn kept_elsewhere(&self) -> impl Iterator<Item = (Kind, &[u16])> {
        each(&[Kind::Behind, Kind::Before], &self.kept_elsewhere, &self.counts_elsewhere)
    }

    /// Of a batch's places those where windows may stand, if they are wanted.
    pub fn look(
        &mut self,
        sought: &Sought,
        open: &OpenWindows,
        near: &Near,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
        speed: Speed,
    ) {
        match speed {
            Speed::Portable => self.look_by(sought, open, near, wanted, other),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the functions are compiled for.
            Speed::Bits => unsafe { self.look_by_bits(sought, open, near, wanted, other) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the functions are compiled for.
            Speed::Vectors => unsafe { self.look_by_vectors(sought, open, near, wanted, other) },
        }
    }

    #[inline(always)]
    fn look_by(
        &mut self,
        sought: &Sought,
        open: &OpenWindows,
        near: &Near,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
    ) {
        self.know_elsewhere(other);
        let masks = self.masks.first(wanted.blocks());
        mark(near, sought.classes.as_ref(), masks);
        self.part(sought, near, wanted);
        self.keep(sought, open, near, wanted, other, take);
    }

    /// The portable code, made of other instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn look_by_bits(
        &mut self,
        sought: &Sought,
        open: &OpenWindows,
        near: &Near,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
    ) {
        self.look_by(sought, open, near, wanted, other);
    }

    /// The same, with 64 places marked and taken at once, and cores looked up sixteen at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    fn look_by_vectors(
        &mut self,
        sought: &Sought,
        open: &OpenWindows,
        near: &Near,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
    ) {
        self.know_elsewhere(other);
        let masks = self.masks.first(wanted.blocks());
        x86_64::mark(near, sought.classes.as_ref(), masks);
        let marked = both(&self.masks.cores, &wanted.cores);
        let taken = x86_64::take_cores(near, &marked, &self.elsewhere, &mut self.places, &mut self.cores);
        let [behind, before, core, ..] = &mut self.kept;
        let (cores, there) = (&sought.cores, &mut self.kept_elsewhere);
        let parted =
            x86_64::part(cores, &self.cores, &self.places, &taken, [behind, before, core], there.each_mut());
        let (counts, counts_elsewhere) = parted;
        self.counts[..counts.len()].copy_from_slice(&counts);
        self.counts_elsewhere = counts_elsewhere;
        let take = |mask, base, places: &mut Places, count| x86_64::take(mask, base, places, count);
        self.keep(sought, open, near, wanted, other, take);
    }

    /// Which places are looked at elsewhere as well.
    #[inline(always)]
    fn know_elsewhere(&mut self, other: Option<&Elsewhere<'_>>) {
        if other.is_some() {
            self.copied.know();
            self.elsewhere = [self.copied.behind(), self.copied.before()];
        } else {
            self.elsewhere = [[0; _]; 2];
        }
    }

    /// Parts the places that have a core by the kinds that it has, and those of them that are looked at elsewhere.
    #[inline(always)]
    fn part(&mut self, sought: &Sought, near: &Near, wanted: &Masks) {
        let marked = take_all(&self.masks.cores, &wanted.cores, &mut self.places, &take);
        let [behind, before, core, ..] = &mut self.kept;
        let [behind_there, before_there] = &mut self.kept_elsewhere;
        let (mut counts, mut there) = ([0; 3], [0; 2]);
        for place in &self.places[..marked] {
            let kinds = sought.cores.kinds(word_at(near, *place) as u32);
            let has_kind = |kind: Kind| kinds >> kind as u32 & 1 == 1;
            let [of_behind, of_before] = &self.elsewhere;
            add(behind, &mut counts[0], *place, has_kind(Kind::Behind));
            add(before, &mut counts[1], *place, has_kind(Kind::Before));
            add(core, &mut counts[2], *place, has_kind(Kind::Core));
            add(behind_there, &mut there[0], *place, has_kind(Kind::Behind) & has(of_behind, *place));
            add(before_there, &mut there[1], *place, has_kind(Kind::Before) & has(of_before, *place));
        }
        self.counts[..counts.len()].copy_from_slice(&counts);
        self.counts_elsewhere = there;
    }

    /// Keeps of the places with a core, which are parted, and of those of short windows where one may stand.
    #[inline(always)]
    fn keep(
        &mut self,
        sought: &Sought,
        open: &OpenWindows,
        near: &Near,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
        take: impl Fn(u64, u16, &mut Places, usize) -> usize,
    ) {
        let [behind, before, core, short] = &mut self.kept;
        if let Some(other) = other {
            let [behind_there, before_there] = &mut self.kept_elsewhere;
            let there = &mut self.counts_elsewhere;
            there[0] = those(behind_there, there[0], |place| {
                sought.behind.holds(words(other.text, other.at(place)).0)
            });
            there[1] = those(before_there, there[1], |place| {
                sought.before.holds(words(other.text, other.at(place)).1)
            });
        }
        let [behind_count, before_count, core_count, short_count] = &mut self.counts;
        *behind_count = those(behind, *behind_count, |place| sought.behind.holds(word_at(near, place)));
        *before_count = those(before, *before_count, |place| sought.before.holds(word_before(near, place)));
        *core_count = match other {
            Some(other) => those(core, *core_count, |place| {
                let (slot, differs) = sought.core.at(edges_of(near, place));
                let is_open = open.core.has(slot) | other.open.core.has(slot) & has(&self.copied.four, place);
                is_open & (differs == 0)
            }),
            None => those(core, *core_count, |place| {
                let (slot, differs) = sought.core.at(edges_of(near, place));
                open.core.has(slot) & (differs == 0)
            }),
        };
        if sought.classes.is_none() {
            *short_count = 0;
            return;
        }
        let marked = take_all(&self.masks.short, &wanted.short, short, &take);
        // What follows a space may be something else in the other text.
        const SURE: u64 = (1 << 32) - 1;
        *short_count = those(short, marked, |place| sought.short.differs(edges_of(near, place)) & SURE == 0);
        let slot = |place| sought.short.slot(word_at(near, place));
        let is_one = |place| sought.short.differs(edges_of(near, place)) == 0;
        *short_count = match other {
            Some(other) => those(short, *short_count, |place| {
                let slot = slot(place);
                let is_there = other.open.short.has(slot) & has(&self.copied.three, place);
                (open.short.has(slot) | is_there) & (is_one(place) | !has(&self.copied.followed, place))
            }),
            None => those(short, *short_count, |place| is_one(place) & open.short.has(slot(place))),
        };
    }
}

/// Places by the kind that they were kept for.
fn each<'a>(
    kinds: &'static [Kind],
    places: &'a [Places],
    counts: &'a [usize],
) -> impl Iterator<Item = (Kind, &'a [u16])> {
    let lists = places.iter().zip(counts).map(|(places, count)| &places[..*count]);
    kinds.iter().copied().zip(lists)
}

/// Keeps those of so many places of which something holds; how many.
#[inline(always)]
fn those(places: &mut Places, count: usize, holds: impl Fn(u16) -> bool) -> usize {
    let mut kept = 0;
    for at in 0..count {
        let place = places[at % BATCH];
        add(places, &mut kept, place, holds(place));
    }
    kept
}

/// The bits of both.
#[inline(always)]
pub(super) fn both(one: &Bits, other: &Bits) -> Bits {
    std::array::from_fn(|at| one[at] & other[at])
}

/// The bits of one but for those of another.
#[inline(always)]
pub(super) fn but(one: &Bits, other: &Bits) -> Bits {
    std::array::from_fn(|at| one[at] & !other[at])
}

/// Whether a place has a bit.
#[inline(always)]
pub(super) fn has(bits: &Bits, place: u16) -> bool {
    let place = usize::from(place) % BATCH;
    bits[place / MASK] >> (place % MASK) & 1 == 1
}

/// Adds a place to others, or something that means nothing. No more are added than there are places in a batch.
#[inline(always)]
fn add(places: &mut Places, count: &mut usize, place: u16, is_one: bool) {
    debug_assert!(*count < places.len());
    // SAFETY: of at most `BATCH` places each is added once, so that fewer are there before.
    unsafe { *places.get_unchecked_mut(*count) = place };
    *count += usize::from(is_one);
}

/// What stands at a place.
#[inline(always)]
fn word_at(near: &Near, at: u16) -> u64 {
    eight(near, usize::from(at) + BEFORE)
}

/// What stands around it.
#[inline(always)]
fn word_before(near: &Near, at: u16) -> u64 {
    eight(near, usize::from(at))
}

/// What stands there, behind the byte before it.
#[inline(always)]
fn edges_of(near: &Near, at: u16) -> u64 {
    eight(near, usize::from(at) + BEFORE - 1)
}

#[inline(always)]
fn eight(near: &Near, at: usize) -> u64 {
    debug_assert!(at + 8 <= near.len());
    // SAFETY: `take` writes no place that is not less than `BATCH`, and there is more behind the last.
    u64::from_le_bytes(unsafe { near.as_ptr().add(at).cast::<[u8; 8]>().read() })
}

/// The places of all masks, as far as they are wanted; how many.
#[inline(always)]
fn take_all(
    masks: &Bits,
    wanted: &Bits,
    places: &mut Places,
    take: &impl Fn(u64, u16, &mut Places, usize) -> usize,
) -> usize {
    let mut count = 0;
    for ((mask, wanted), base) in masks.iter().zip(wanted).zip((0..).step_by(MASK)) {
        count = take(mask & wanted, base, places, count);
    }
    count
}

/// Writes the places of a mask's bits behind those that there are, and some that mean nothing; how many there are then.
#[inline(always)]
fn take(mut mask: u64, base: u16, places: &mut Places, count: usize) -> usize {
    let end = count + mask.count_ones() as usize;
    let mut at = count;
    while at < end {
        let Some(eight) = places.get_mut(at..).and_then(|places| places.first_chunk_mut::<TAKEN>()) else {
            break;
        };
        for place in eight {
            *place = base + mask.trailing_zeros() as u16;
            mask &= mask.wrapping_sub(1);
        }
        at += TAKEN;
    }
    end
}

/// Marks where windows may stand. Elsewhere places may have another byte before them.
#[inline(always)]
fn mark(near: &Near, classes: Option<&Classes>, [cores, short]: [&mut [u64]; 2]) {
    let mut next = spaces(block(near, 0));
    for (at, (cores, short)) in cores.iter_mut().zip(short).enumerate() {
        let here = next;
        next = spaces(block(near, (at + 1) * MASK));
        *cores = first_of_four(here, next);
        *short = classes.map_or(0, |classes| {
            (0..MASK).fold(0, |mask, bit| {
                let place = BEFORE + at * MASK + bit;
                let begins_word = near[place - 1] == b' ';
                let three = [near[place], near[place + 1], near[place + 2]];
                mask | u64::from(classes.holds(three, begins_word)) << bit
            })
        });
    }
}

/// The first of each four bytes that are no spaces, where the spaces are known, and those that follow.
#[inline(always)]
fn first_of_four(spaces: u64, next: u64) -> u64 {
    let others = !(u128::from(spaces) | u128::from(next) << 64);
    let two = others & others >> 1;
    (two & two >> 2) as u64
}

/// The bytes of 64 places.
#[inline(always)]
fn block(near: &Near, at: usize) -> &[u8; MASK] {
    const NONE: &[u8; MASK] = &[0; MASK];
    near[BEFORE + at..].first_chunk().unwrap_or(NONE)
}

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

#[cfg(test)]
mod tests {
    use super::super::windows::Entry;
    use super::*;

    #[test]
    fn all_instructions_mark_the_same_places() {
        let mut word = 1_u32;
        let near: Near = std::array::from_fn(|_| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"  abcxyz\xc3\xa4\xff\0"[(word >> 24) as usize % 12]
        });
        let windows =
            [&b"abc"[..], b" xyz", b"\xc3\xa4a", b" ab ", b"\xff\xff\0", b" ccc", b"xxa", b"zay", b"byb"];
        let entries = windows.map(|window| Entry::new(window, usize::from(window[0] == b' '), 0));
        let classes = Classes::new(&entries[2..], &entries[..2]);
        let mut expected = Batch::new().masks;
        mark(&near, Some(&classes), expected.first(BATCH / MASK));
        for place in 0..BATCH {
            let bit = |masks: &[u64]| masks[place / MASK] >> (place % MASK) & 1 == 1;
            let four = &near[BEFORE + place..BEFORE + place + 4];
            assert_eq!(bit(&expected.cores), !four.contains(&b' '), "{place}");
            let is_one = |window: &&[u8]| match window.strip_prefix(b" ") {
                Some(rest) => four.starts_with(rest) && near[BEFORE + place - 1] == b' ',
                None => four.starts_with(window),
            };
            assert!(bit(&expected.short) || !windows.iter().any(is_one), "{place}");
        }
        #[cfg(target_arch = "x86_64")]
        if Speed::detect() == Speed::Vectors {
            let mut masks = Batch::new().masks;
            // SAFETY: the instructions are there.
            unsafe { x86_64::mark(&near, Some(&classes), masks.first(BATCH / MASK)) };
            assert!(masks == expected);
        }
    }

    #[test]
    fn places_are_those_of_the_bits() {
        let mut places: Places = [0; _];
        for mask in [0, 1, 1 << 63, u64::MAX, 0x00ff_00ff_1234_8001] {
            let count = take(mask, 128, &mut places, 0);
            let expected: Vec<u16> =
                (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| 128 + bit).collect();
            assert_eq!(places[..count], expected);
        }
    }
}
