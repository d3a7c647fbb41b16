//! Which strategy each segment is searched by, chosen for all of them together. Rule: costs are weighed here only.

use crate::blocks::{Folding, REACHES, Shape};
use crate::fragment::{self, Census, Window};
use crate::look::Lens;
use crate::segment::{Case, LOOKBACK_MAX, Piece};
use crate::set::{Anchor, Pattern};
use std::collections::BTreeMap;

/// The length of a block, where a segment has so many fixed bytes.
const BLOCK: usize = 4;
/// The length from which all are alike: the furthest stride fits.
const LENGTH_MAX: usize = BLOCK + Lens::STRIDE_MAX as usize - 1;
/// Patterns anchored before one of these offsets are searched there only.
const PROLOGUES: [u64; 2] = [4096, 65_536];
/// What a hit costs, in looks.
const HIT_COST: f64 = 4.0;

/// The shapes of all groups.
pub(crate) struct Plan {
    census: Census,
    groups: BTreeMap<u64, Group>,
}

/// The segments that are searched up to the same offset.
struct Group {
    /// How many have so many fixed bytes in a row; the last place is for those with more, too.
    lengths: [u32; LENGTH_MAX + 1],
    /// One case-insensitive pattern makes all of a group folded: a second pass would cost more than the few more hits.
    folding: Folding,
    /// Those with fewer fixed bytes are searched byte by byte, in a pass of their own.
    short_below: usize,
}

impl Plan {
    pub fn new(patterns: &[Pattern]) -> Self {
        let mut plan = Plan { census: Census::new(), groups: BTreeMap::new() };
        for pattern in patterns {
            for (at, piece) in pattern.pieces.iter().enumerate() {
                plan.census.count(&piece.fragments);
                let anchor = if at == 0 { pattern.anchor } else { Anchor::Anywhere };
                let group = plan.groups.entry(until(anchor)).or_insert(Group {
                    lengths: [0; LENGTH_MAX + 1],
                    folding: Folding::None,
                    short_below: 0,
                });
                group.lengths[fragment::length_max(&piece.fragments).min(LENGTH_MAX)] += 1;
                if pattern.case == Case::Insensitive {
                    group.folding = Folding::Ascii;
                }
            }
        }
        for group in plan.groups.values_mut() {
            group.choose();
        }
        plan
    }

    /// How a segment is searched, and for what.
    pub fn window(&self, piece: &Piece, anchor: Anchor) -> Option<(Shape, Window)> {
        let until = until(anchor);
        let group = self.groups.get(&until)?;
        let longest = fragment::length_max(&piece.fragments);
        let (block, stride) = if longest < group.short_below { group.short() } else { group.long() };
        let shape = Shape { stride: stride as u32, block: block as u32, folding: group.folding, until };
        let reach = REACHES.into_iter().find(|reach| shape.window_length() + reach <= longest)?;
        let window = fragment::choose(&piece.fragments, shape.window_length() + reach, block, &self.census)?;
        Some((shape, window))
    }
}

impl Group {
    /// Chooses which segments are short: the cheapest of all bounds.
    fn choose(&mut self) {
        let costs = (BLOCK..=LENGTH_MAX).map(|bound| (bound, self.cost(bound)));
        let cheapest = costs.min_by(|(_, one), (_, other)| one.total_cmp(other));
        self.short_below = cheapest.map_or(BLOCK, |(bound, _)| bound);
    }

    /// Looks for each byte, and what their hits cost in looks.
    fn cost(&self, bound: usize) -> f64 {
        let short: u32 = self.lengths[..bound].iter().sum();
        let mut cost = 0.0;
        if let Some(block) = self.least(0).filter(|least| *least < bound).map(|least| least.min(BLOCK)) {
            let blocks = 256f64.powi(block as i32);
            cost += 1.0 + HIT_COST * f64::from(short) / blocks;
        }
        if let Some(least) = self.least(bound) {
            cost += 1.0 / (least - BLOCK + 1) as f64;
        }
        cost
    }

    /// The least length of a segment, from a bound on.
    fn least(&self, bound: usize) -> Option<usize> {
        (bound..=LENGTH_MAX).find(|length| self.lengths[*length] > 0)
    }

    /// Block and stride for the short ones.
    fn short(&self) -> (usize, usize) {
        (self.least(0).unwrap_or(1).min(BLOCK), 1)
    }

    /// Block and stride for the others.
    fn long(&self) -> (usize, usize) {
        let least = self.least(self.short_below).unwrap_or(LENGTH_MAX);
        (BLOCK, least - BLOCK + 1)
    }
}

/// Up to where windows of a pattern with this anchor are searched for.
fn until(anchor: Anchor) -> u64 {
    match anchor {
        Anchor::Anywhere => u64::MAX,
        Anchor::Within { last, .. } => {
            let end = last.saturating_add(u64::from(LOOKBACK_MAX));
            PROLOGUES.into_iter().find(|prologue| end <= *prologue).unwrap_or(u64::MAX)
        }
    }
}
