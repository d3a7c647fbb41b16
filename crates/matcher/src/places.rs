//! Segments that can start at a few places only. Rule: they are never searched, only verified, each once at each place.

use crate::set::{Anchor, PLACES_MAX};
use crate::view::View;
use crate::wildcard::Cell;
use lockgate_stored::{Reader, Stored, Unfit, Writer};

/// All of them.
#[derive(Default, Debug)]
pub(crate) struct Places {
    /// By the first offset.
    fixed: Vec<Fixed>,
    /// Those of them that are near, where they are many.
    near: Near,
    /// Number and segment, by the number.
    told: Vec<(u32, u32)>,
    /// Distance from the end, how much further, and the segment.
    before_end: Vec<(u32, u32, u32)>,
    /// How many offsets a fixed one may have, at most.
    width_max: u64,
}

/// A segment that can start from one offset to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fixed {
    first: u64,
    last: u64,
    segment: u32,
    /// What its first byte is, of the bits that have a one in the mask.
    value: u8,
    mask: u8,
}

impl Fixed {
    fn begins_with(&self, byte: u8) -> bool {
        byte & self.mask == self.value
    }

    /// Whether it starts near the beginning only, and with one byte or a letter of either case.
    fn is_near(&self) -> bool {
        self.last < NEAR && self.mask.count_ones() >= 7
    }
}

/// At the first so many offsets segments are told apart by the byte that stands there.
const NEAR: u64 = PLACES_MAX;
/// So few are looked at one by one.
const NEAR_MIN: usize = 16;

/// Segments by offset and byte.
#[derive(Default, Debug)]
struct Near {
    /// How many offsets there are.
    offsets: u64,
    /// For each offset and each byte: where in the list those begin that can start there with it.
    starts: Vec<u32>,
    segments: Vec<u32>,
}

impl Near {
    /// Takes those that are near, where they are many.
    fn of(fixed: &[Fixed]) -> Self {
        let near: Vec<&Fixed> = fixed.iter().filter(|fixed| fixed.is_near()).collect();
        if near.len() < NEAR_MIN {
            return Self::default();
        }
        let offsets = near.iter().map(|fixed| fixed.last + 1).max().unwrap_or(0);
        let mut keyed = Vec::new();
        for fixed in near {
            for byte in (0..=u8::MAX).filter(|byte| fixed.begins_with(*byte)) {
                let places = (fixed.first..=fixed.last).map(|offset| Self::place(offset, byte));
                keyed.extend(places.map(|place| (place, fixed.segment)));
            }
        }
        keyed.sort_unstable();
        let mut starts = vec![0; offsets as usize * 256 + 1];
        keyed.iter().for_each(|(place, _)| starts[place + 1] += 1u32);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        Self { offsets, starts, segments: keyed.into_iter().map(|(_, segment)| segment).collect() }
    }

    #[inline]
    fn place(offset: u64, byte: u8) -> usize {
        offset as usize * 256 + usize::from(byte)
    }

    /// Those that can start at an offset with this byte.
    #[inline]
    fn at(&self, offset: u64, byte: u8) -> &[u32] {
        let place = Self::place(offset, byte);
        match self.starts.get(place..place + 2) {
            Some([from, to]) => self.segments.get(*from as usize..*to as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl Places {
    /// One more, that begins with such a byte.
    pub fn add(&mut self, anchor: Anchor, segment: u32, begin: Cell) {
        let Cell { value, mask } = begin;
        match anchor {
            Anchor::Anywhere => {}
            Anchor::Within { first, last } => {
                self.fixed.push(Fixed { first, last, segment, value: value & mask, mask });
            }
            Anchor::Told(number) => self.told.push((number, segment)),
            Anchor::BeforeEnd { distance, shift } => self.before_end.push((distance, shift, segment)),
        }
    }

    pub fn sort(&mut self) {
        self.fixed.sort_unstable();
        self.told.sort_unstable();
        self.fixed.shrink_to_fit();
        self.told.shrink_to_fit();
        let widths = self.fixed.iter().map(|fixed| fixed.last.saturating_sub(fixed.first));
        self.width_max = widths.max().unwrap_or(0);
        self.near = Near::of(&self.fixed);
    }

    /// What it is, in words, if there are any.
    pub fn name(&self) -> Option<String> {
        let count = self.fixed.len() + self.told.len() + self.before_end.len();
        (count > 0).then(|| format!("places × {count}"))
    }

    pub fn heap_bytes(&self) -> usize {
        self.fixed.capacity() * size_of::<Fixed>()
            + (self.near.starts.capacity() + self.near.segments.capacity()) * size_of::<u32>()
            + self.told.capacity() * size_of::<(u32, u32)>()
            + self.before_end.capacity() * size_of::<(u32, u32, u32)>()
    }

    /// The segments before the end, which is here, each with each place it may start at.
    pub fn at_end(&self, end: u64, found: &mut dyn FnMut(u32, u64)) {
        for (distance, shift, segment) in &self.before_end {
            let Some(first) = end.checked_sub(u64::from(*distance)) else { continue };
            for start in first..end.min(first + u64::from(*shift) + 1) {
                found(*segment, start);
            }
        }
    }

    /// The fixed segments, each with each place in the chunk that it may start at.
    pub fn within(&self, view: &View<'_>, found: &mut dyn FnMut(u32, u64)) {
        let (low, end) = (view.chunk_start(), view.end());
        for offset in low..end.min(self.near.offsets) {
            let own = view.byte(offset).map_or(&[][..], |byte| self.near.at(offset, byte));
            own.iter().for_each(|segment| found(*segment, offset));
        }
        let from = self.fixed.partition_point(|fixed| fixed.first.saturating_add(self.width_max) < low);
        let rest = self.fixed.get(from..).unwrap_or_default();
        for fixed in rest.iter().take_while(|fixed| fixed.first < end) {
            if self.near.offsets > 0 && fixed.is_near() {
                continue;
            }
            for start in low.max(fixed.first)..end.min(fixed.last.saturating_add(1)) {
                found(fixed.segment, start);
            }
        }
    }

    /// The segments of a number.
    pub fn told(&self, number: u32) -> impl Iterator<Item = u32> {
        let from = self.told.partition_point(|(known, _)| *known < number);
        self.told[from..].iter().take_while(move |(known, _)| *known == number).map(|(_, segment)| *segment)
    }
}

lockgate_stored::stored!(struct Fixed { first, last, segment, value, mask });

impl Stored for Places {
    const BYTES_MIN: usize = 4 * 8;

    fn store(&self, to: &mut Writer<'_>) {
        // What is near follows from the rest.
        let Self { fixed, near: _, told, before_end, width_max } = self;
        fixed.store(to);
        told.store(to);
        before_end.store(to);
        width_max.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let fixed: Vec<Fixed> = Stored::load(from)?;
        let (told, before_end, width_max) = (Stored::load(from)?, Stored::load(from)?, Stored::load(from)?);
        let places = Self { near: Near::of(&fixed), fixed, told, before_end, width_max };
        if !places.is_sound() {
            return Err(Unfit("places in an order that there is none of"));
        }
        Ok(places)
    }
}

impl Places {
    /// Whether each segment has few places, and those with a place are in their order.
    fn is_sound(&self) -> bool {
        let is_narrow = |fixed: &Fixed| fixed.last.saturating_sub(fixed.first) <= self.width_max;
        let is_near = |(distance, shift, _): &(u32, u32, u32)| {
            Anchor::BeforeEnd { distance: *distance, shift: *shift }.names_places()
        };
        self.width_max <= PLACES_MAX
            && self.fixed.iter().all(is_narrow)
            && self.before_end.iter().all(is_near)
            && self.fixed.is_sorted()
            && self.told.is_sorted()
    }

    /// Whether every segment is one of the first so many.
    pub fn is_below(&self, segments: usize) -> bool {
        let is_below = |segment: &u32| (*segment as usize) < segments;
        self.fixed.iter().all(|fixed| is_below(&fixed.segment))
            && self.told.iter().all(|(_, segment)| is_below(segment))
            && self.before_end.iter().all(|(_, _, segment)| is_below(segment))
    }
}
