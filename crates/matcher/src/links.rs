//! Where a segment may begin because those before it have matched. Rule: bounded; joining ranges may only add matches.

use std::collections::BTreeMap;

/// How many ranges are kept for a segment.
const RANGES_MAX: usize = 256;

/// For each segment but a pattern's first: the offsets where it may begin.
#[derive(Default, Debug)]
pub(crate) struct Links {
    ranges: BTreeMap<u32, Vec<Range>>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    low: u64,
    high: u64,
    origin: u64,
}

impl Links {
    /// The segment may begin anywhere in `low..=high`; the pattern's match began at `origin`.
    /// Called with rising `low`. Ranges that end before `past` are no longer asked for.
    pub fn allow(&mut self, segment: u32, (low, high): (u64, u64), origin: u64, past: u64) {
        let ranges = self.ranges.entry(segment).or_default();
        if let Some(last) = ranges.last_mut().filter(|last| low <= last.high.saturating_add(1)) {
            last.high = last.high.max(high);
            return;
        }
        if ranges.len() >= RANGES_MAX {
            ranges.retain(|range| range.high >= past);
        }
        let full = ranges.len() >= RANGES_MAX;
        match ranges.last_mut() {
            Some(last) if full => last.high = high,
            _ => ranges.push(Range { low, high, origin }),
        }
    }

    /// Whether the segment may begin anywhere.
    pub fn lead_to(&self, segment: u32) -> bool {
        self.ranges.contains_key(&segment)
    }

    /// The origin of a match that this start continues.
    pub fn admits(&self, segment: u32, start: u64) -> Option<u64> {
        let ranges = self.ranges.get(&segment)?;
        let at = ranges.partition_point(|range| range.high < start);
        ranges.get(at).filter(|range| range.low <= start).map(|range| range.origin)
    }
}
