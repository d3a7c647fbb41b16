//! Segments that can start at a few places only. Rule: they are never searched, only verified, each once at each place.

use crate::set::{Anchor, PLACES_MAX};

/// All of them.
#[derive(Default, Debug)]
pub(crate) struct Places {
    /// First and last offset, and the segment, by the first offset.
    fixed: Vec<(u64, u64, u32)>,
    /// Number and segment, by the number.
    told: Vec<(u32, u32)>,
    /// Distance from the end, how much further, and the segment.
    before_end: Vec<(u32, u32, u32)>,
    /// How many offsets a fixed one may have, at most.
    width_max: u64,
}

impl Places {
    pub fn add(&mut self, anchor: Anchor, segment: u32) {
        match anchor {
            Anchor::Anywhere => {}
            Anchor::Within { first, last } => self.fixed.push((first, last, segment)),
            Anchor::Told(number) => self.told.push((number, segment)),
            Anchor::BeforeEnd { distance, shift } => self.before_end.push((distance, shift, segment)),
        }
    }

    pub fn sort(&mut self) {
        self.fixed.sort_unstable();
        self.told.sort_unstable();
        self.fixed.shrink_to_fit();
        self.told.shrink_to_fit();
        let widths = self.fixed.iter().map(|(first, last, _)| last.saturating_sub(*first));
        self.width_max = widths.max().unwrap_or(0);
    }

    /// What it is, in words, if there are any.
    pub fn name(&self) -> Option<String> {
        let count = self.fixed.len() + self.told.len() + self.before_end.len();
        (count > 0).then(|| format!("places × {count}"))
    }

    pub fn heap_bytes(&self) -> usize {
        self.fixed.capacity() * size_of::<(u64, u64, u32)>()
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

    /// The fixed segments, each with each place it may start at, of those from `low` to before `end`.
    pub fn within(&self, low: u64, end: u64, found: &mut dyn FnMut(u32, u64)) {
        let from = self.fixed.partition_point(|(first, _, _)| first.saturating_add(self.width_max) < low);
        let rest = self.fixed.get(from..).unwrap_or_default();
        for (first, last, segment) in rest.iter().take_while(|(first, _, _)| *first < end) {
            for start in low.max(*first)..end.min(last.saturating_add(1)) {
                found(*segment, start);
            }
        }
    }

    /// The segments of a number.
    pub fn told(&self, number: u32) -> impl Iterator<Item = u32> {
        let from = self.told.partition_point(|(known, _)| *known < number);
        self.told[from..].iter().take_while(move |(known, _)| *known == number).map(|(_, segment)| *segment)
    }
}

lockgate_stored::stored!(struct Places { fixed, told, before_end, width_max }, sound);

impl Places {
    /// Whether each segment has few places, and those with a place are in their order.
    fn is_sound(&self) -> bool {
        let is_narrow = |(first, last, _): &(u64, u64, u32)| last.saturating_sub(*first) <= self.width_max;
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
        self.fixed.iter().all(|(_, _, segment)| is_below(segment))
            && self.told.iter().all(|(_, segment)| is_below(segment))
            && self.before_end.iter().all(|(_, _, segment)| is_below(segment))
    }
}
