//! Where windows may stand in a reading: [`Masks`], [`Batch`]. Rule: no branch depends on what a page says, so that the processor
//! runs ahead over many places at once.
//!
//! A bit mask tells for 64 places at once which of them a kind may begin at. These places are read off the mask, and filters
//! keep of them what is gone through later. Unsafe code stands here only.

#[cfg(target_arch = "x86_64")]
mod x86_64;

use super::super::block::Speed;
use super::classes::Classes;
use super::copies::{Copied, Kept};
use super::windows::{
    BEFORE, BEHIND, CORE_BYTES, Cores, Edges, Filter, Kind, Longs, SHORT, SHORTER, core_first, core_last,
    word,
};

/// How many places are looked at before what was kept is gone through.
pub(super) const BATCH: usize = 64 * MASK;
/// The places of one mask.
pub(super) const MASK: usize = 64;
/// How many places are taken from a mask at once.
const TAKEN: usize = 8;

/// The bytes of a batch's places, as many as some masks have, and some before and behind them. Outside the text they are zero,
/// which is no space.
pub(super) struct Near<'a> {
    bytes: &'a [u8],
    masks: usize,
}

impl<'a> Near<'a> {
    /// Bytes for so many masks, if there are enough.
    pub fn new(bytes: &'a [u8], masks: usize) -> Option<Self> {
        let masks = masks.min(BATCH / MASK);
        let bytes = bytes.get(..Self::bytes_for(masks))?;
        Some(Self { bytes, masks })
    }

    /// How many are needed.
    pub fn bytes_for(masks: usize) -> usize {
        BEFORE + (masks + 2) * MASK
    }

    /// What stands at a place.
    #[inline(always)]
    fn word_at(&self, place: u16) -> u64 {
        self.eight(usize::from(place) + BEFORE)
    }

    /// What stands around it.
    #[inline(always)]
    fn word_before(&self, place: u16) -> u64 {
        self.eight(usize::from(place))
    }

    #[inline(always)]
    fn eight(&self, at: usize) -> u64 {
        let eight = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        eight.map_or(0, |eight| u64::from_le_bytes(*eight))
    }

    /// The bytes of 64 places.
    #[inline(always)]
    fn block(&self, at: usize) -> &[u8; MASK] {
        const NONE: &[u8; MASK] = &[0; MASK];
        self.bytes.get(BEFORE + at..).and_then(|bytes| bytes.first_chunk()).unwrap_or(NONE)
    }
}

/// Places of a batch, and room behind the last.
type Places = [u16; BATCH + MASK];
/// What stands at places.
type Fours = [u32; BATCH + MASK];
/// As many masks as a batch has.
pub(super) type Bits = [u64; BATCH / MASK];

/// A bit for each place of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Masks {
    /// For what has a core: the first of four that are no spaces.
    pub cores: Bits,
    /// For shorter windows: what the classes let through.
    pub short: Bits,
}

impl Default for Masks {
    fn default() -> Self {
        Self { cores: [0; _], short: [0; _] }
    }
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Sought {
    /// Of shortest windows, if there are any.
    pub classes: Option<Classes>,
    /// The kinds of windows that all cores have.
    pub cores: Cores,
    pub behind: Longs,
    pub before: Longs,
    /// What stands around shorter windows.
    pub core: Edges<CORE_BYTES, 4096>,
    pub three: Edges<3, 512>,
    pub two: Edges<2, 256>,
    /// What is looked for at the beginning of a page.
    pub open: Open,
}

/// Short windows that are still looked for: in a page words come again, and most need to be found once.
#[derive(Clone, Debug)]
pub(in crate::phrases) struct Open {
    pub(super) core: Filter<CORE_BYTES, SHORT>,
    pub(super) three: Filter<3, SHORTER>,
    pub(super) two: Filter<2, SHORTER>,
}

/// Another text in which places of a batch stand as well, but among other bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere<'a> {
    pub text: &'a [u8],
    /// Where the places stand there.
    pub blocks: &'a [Kept],
}

impl Elsewhere<'_> {
    /// Where a place of the batch stands.
    #[inline(always)]
    pub fn at(&self, place: u16) -> usize {
        let place = usize::from(place);
        self.blocks.get(place / MASK).map_or(0, |kept| kept.place(place % MASK))
    }
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
    room: Room,
    /// By kind.
    kept: [Places; 5],
    counts: [usize; 5],
    /// What was kept of those that have a core and are looked at elsewhere, if it is a window with a core and what is behind it,
    /// or before.
    kept_elsewhere: [Places; 2],
    counts_elsewhere: [usize; 2],
    /// What of the places stands elsewhere.
    pub copied: Copied,
    /// What stands near places of which not all have so much before or behind them.
    pub edge: Vec<u8>,
}

/// Where cores may stand, and the four bytes that do.
struct Room {
    places: Places,
    fours: Fours,
}

impl Batch {
    pub fn new() -> Self {
        Self {
            masks: Masks::default(),
            room: Room { places: [0; _], fours: [0; _] },
            kept: [[0; _]; 5],
            counts: [0; 5],
            kept_elsewhere: [[0; _]; 2],
            counts_elsewhere: [0; 2],
            copied: Copied::default(),
            edge: Vec::new(),
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
        open: &Open,
        near: &Near<'_>,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
        speed: Speed,
    ) {
        match speed {
            Speed::Portable => {
                mark(near, sought.classes.as_ref(), &mut self.masks);
                self.keep(sought, open, near, wanted, other, Portable);
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the functions are compiled for.
            Speed::Bits => unsafe {
                x86_64::mark_by_bits(near, sought.classes.as_ref(), &mut self.masks);
                self.keep_by_bits(sought, open, near, wanted, other);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the functions are compiled for.
            Speed::Vectors => unsafe {
                x86_64::mark_by_vectors(near, sought.classes.as_ref(), &mut self.masks);
                self.keep_by_vectors(sought, open, near, wanted, other);
            },
        }
    }

    /// The portable code, made of other instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn keep_by_bits(
        &mut self,
        sought: &Sought,
        open: &Open,
        near: &Near<'_>,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
    ) {
        self.keep(sought, open, near, wanted, other, Portable);
    }

    /// The same, with places taken 64 at once, and looked up sixteen at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    fn keep_by_vectors(
        &mut self,
        sought: &Sought,
        open: &Open,
        near: &Near<'_>,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
    ) {
        // SAFETY: these are the instructions that this is compiled for.
        let with = unsafe { x86_64::Vectors::new() };
        self.keep(sought, open, near, wanted, other, with);
    }

    #[inline(always)]
    fn keep(
        &mut self,
        sought: &Sought,
        open: &Open,
        near: &Near<'_>,
        wanted: &Masks,
        other: Option<&Elsewhere<'_>>,
        with: impl Sieve,
    ) {
        let marked = both(&self.masks.cores, &wanted.cores);
        let [behind, before, core, three, two] = &mut self.kept;
        let mut counts = with.part(near, &marked, &sought.cores, &mut self.room, [behind, before, core]);
        counts[0] = with.long(near, Side::Behind, &sought.behind, behind, counts[0]);
        counts[1] = with.long(near, Side::Before, &sought.before, before, counts[1]);
        let around = other.map_or(Masks::default(), |_| {
            self.copied.know();
            self.copied.around()
        });
        counts[2] = with.between(near, &sought.core, &around.cores, core, counts[2]);
        counts[2] = those(core, counts[2], |place| open.core.holds(near.word_at(place)));
        let mut short = [0; 2];
        if sought.classes.is_some() {
            let marked = both(&self.masks.short, &wanted.short);
            let count = take_all(&marked, three, with);
            two[..count].copy_from_slice(&three[..count]);
            short = [
                with.between(near, &sought.three, &around.short, three, count),
                with.between(near, &sought.two, &around.short, two, count),
            ];
            short[0] = those(three, short[0], |place| open.three.holds(near.word_at(place)));
            short[1] = those(two, short[1], |place| open.two.holds(near.word_at(place)));
        }
        self.counts = [counts[0], counts[1], counts[2], short[0], short[1]];
        self.counts_elsewhere = [0; 2];
        if let Some(other) = other {
            let [behind, before] = &mut self.kept_elsewhere;
            let has = |kind, place| sought.cores.kinds(near.word_at(place) as u32) >> kind as u32 & 1 == 1;
            let count = take_all(&both(&marked, &self.copied.behind()), behind, with);
            let count = those(behind, count, |place| has(Kind::Behind, place));
            let holds = |place| sought.behind.holds(core_first(words(other.text, other.at(place)).0));
            self.counts_elsewhere[0] = those(behind, count, holds);
            let count = take_all(&both(&marked, &self.copied.before()), before, with);
            let count = those(before, count, |place| has(Kind::Before, place));
            let holds = |place| sought.before.holds(core_last(words(other.text, other.at(place)).1));
            self.counts_elsewhere[1] = those(before, count, holds);
        }
    }
}

/// How places are gone through. Lists of places have room for more than are written, and what stands there means nothing.
trait Sieve: Copy {
    /// Writes the places of a mask's bits behind those that there are; how many there are then.
    fn take(self, mask: u64, base: u16, places: &mut Places, count: usize) -> usize;

    /// Parts the places that are marked by the kinds of windows that have the core there; how many have each.
    fn part(
        self,
        near: &Near<'_>,
        marked: &Bits,
        cores: &Cores,
        room: &mut Room,
        parted: [&mut Places; 3],
    ) -> [usize; 3];

    /// Keeps those of so many places where a long window may stand; how many.
    fn long(self, near: &Near<'_>, side: Side, longs: &Longs, places: &mut Places, count: usize) -> usize;

    /// Keeps those of so many places where a short window has the right bytes around it, or that are looked at elsewhere; how
    /// many.
    fn between<const BYTES: usize, const SLOTS: usize>(
        self,
        near: &Near<'_>,
        edges: &Edges<BYTES, SLOTS>,
        elsewhere: &Bits,
        places: &mut Places,
        count: usize,
    ) -> usize;
}

/// On which side of its core the rest of a window stands.
#[derive(Clone, Copy, Debug)]
enum Side {
    Behind,
    Before,
}

/// Instructions that every processor has.
#[derive(Clone, Copy)]
struct Portable;

impl Sieve for Portable {
    #[inline(always)]
    fn take(self, mask: u64, base: u16, places: &mut Places, count: usize) -> usize {
        take(mask, base, places, count)
    }

    #[inline(always)]
    fn part(
        self,
        near: &Near<'_>,
        marked: &Bits,
        cores: &Cores,
        room: &mut Room,
        [behind, before, core]: [&mut Places; 3],
    ) -> [usize; 3] {
        let count = take_all(marked, &mut room.places, self);
        let mut counts = [0; 3];
        for place in &room.places[..count] {
            let kinds = cores.kinds(near.word_at(*place) as u32);
            add(behind, &mut counts[0], *place, kinds & 1 << Kind::Behind as u32 != 0);
            add(before, &mut counts[1], *place, kinds & 1 << Kind::Before as u32 != 0);
            add(core, &mut counts[2], *place, kinds & 1 << Kind::Core as u32 != 0);
        }
        counts
    }

    #[inline(always)]
    fn long(self, near: &Near<'_>, side: Side, longs: &Longs, places: &mut Places, count: usize) -> usize {
        match side {
            Side::Behind => those(places, count, |place| longs.holds(core_first(near.word_at(place)))),
            Side::Before => those(places, count, |place| longs.holds(core_last(near.word_before(place)))),
        }
    }

    #[inline(always)]
    fn between<const BYTES: usize, const SLOTS: usize>(
        self,
        near: &Near<'_>,
        edges: &Edges<BYTES, SLOTS>,
        elsewhere: &Bits,
        places: &mut Places,
        count: usize,
    ) -> usize {
        those(places, count, |place| {
            let before = near.word_before(place).to_le_bytes()[BEFORE - 1];
            edges.holds(before, near.word_at(place)) | has(elsewhere, place)
        })
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

/// The places of all bits; how many.
#[inline(always)]
fn take_all(bits: &Bits, places: &mut Places, with: impl Sieve) -> usize {
    let mut count = 0;
    for (mask, base) in bits.iter().zip((0..).step_by(MASK)) {
        count = with.take(*mask, base, places, count);
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

/// Marks where windows may stand.
#[inline(always)]
fn mark(near: &Near<'_>, classes: Option<&Classes>, masks: &mut Masks) {
    let mut next = spaces(near.block(0));
    for at in 0..near.masks {
        let here = next;
        next = spaces(near.block((at + 1) * MASK));
        masks.cores[at] = first_of_four(here, next);
        masks.short[at] = classes.map_or(0, |classes| {
            (0..MASK).fold(0, |mask, bit| {
                let place = BEFORE + at * MASK + bit;
                mask | u64::from(classes.holds([
                    near.bytes[place],
                    near.bytes[place + 1],
                    near.bytes[place + 2],
                ])) << bit
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
    use super::super::windows::word;
    use super::*;

    #[test]
    fn all_instructions_mark_the_same_places() {
        let mut word = 1_u32;
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"  abcxyz\xc3\xa4\xff\0"[(word >> 24) as usize % 12]
        })
        .take(Near::bytes_for(BATCH / MASK))
        .collect();
        let near = Near::new(&bytes, BATCH / MASK).unwrap();
        let windows =
            [&b"abc"[..], b"xyz", b"\xc3\xa4a", b"ab ", b"\xff\xff\0", b"ccc", b"xxa", b"zay", b"byb"];

        let words: Vec<u64> = windows.iter().map(|window| self::word(window)).collect();
        let classes = Classes::new(&words[2..], &words[..2]);
        let mut expected = Batch::new().masks;
        mark(&near, Some(&classes), &mut expected);
        for place in 0..BATCH {
            let bit = |masks: &[u64]| masks[place / MASK] >> (place % MASK) & 1 == 1;
            let four = &bytes[BEFORE + place..BEFORE + place + 4];
            assert_eq!(bit(&expected.cores), !four.contains(&b' '), "{place}");
            assert!(
                bit(&expected.short) || !windows.iter().any(|window| four.starts_with(window)),
                "{place}"
            );
        }
        #[cfg(target_arch = "x86_64")]
        if Speed::detect() == Speed::Vectors {
            let mut masks = Batch::new().masks;
            // SAFETY: the instructions are there.
            unsafe { x86_64::mark_by_vectors(&near, Some(&classes), &mut masks) };
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
