//! Which strategy each segment is searched by, chosen for all of them together. Rule: costs are weighed here only.

use crate::blocks::{Folding, Shape, When};
use crate::database::Rank;
use crate::fragment::{self, Choice, Chosen, Window};
use crate::look::Lens;
use crate::rates::Rates;
use crate::segment::{Case, LOOKBACK_MAX, Piece};
use crate::set::{Anchor, Call, Content, Pattern};
use crate::short::PAIR;
use std::collections::{BTreeMap, BTreeSet};

/// The length of a block, where a segment has so many fixed bytes.
const BLOCK: usize = 4;
/// The length from which all are alike: the furthest stride fits.
const LENGTH_MAX: usize = BLOCK + Lens::STRIDE_MAX as usize - 1;
/// Patterns anchored before one of these offsets are searched there only.
const PROLOGUES: [u64; 2] = [4096, 65_536];
/// What a hit costs, in looks.
const HIT_COST: f64 = 4.0;
/// In a group that is not folded a case-insensitive window stands once for each way to write it; this is how many ways
/// it has, about.
const WAYS: u32 = 16;
/// How many bytes before the block such a window may be known by: each letter doubles the ways.
const REACH_OF_WAYS_MAX: usize = 2;
/// So many ways are no burden, however few other windows there are.
const WAYS_FREE: u32 = 4096;

/// So many short segments are searched by pairs of bytes.
const PAIRED_MAX: u32 = 1024;
/// What each of these costs at each place of text, in looks: pairs stand everywhere there. Measured with 40 to 250 of them in a page of the
/// web.
const PAIRED_COST: f64 = 1.0 / 200.0;

/// Patterns are made of words, too, if one of so many segments is text.
const WORDS_SHARE: usize = 64;

/// So few longer ones are searched in one pass.
const FOLDED_MAX: u32 = 4096;

/// The runs of each byte are a pass of their own: those of more bytes go to the tables.
const RUNS_MAX: usize = 8;

/// The shapes of all groups.
pub(crate) struct Plan {
    choice: Choice,
    runs: BTreeSet<u8>,
    /// By where their search ends, and who searches.
    groups: BTreeMap<(u64, Call), Group>,
}

/// How a segment is searched, and for what.
pub(crate) enum Search {
    Blocks(Shape, Window),
    /// By itself, for this byte again and again.
    Run(u8, Window),
}

/// How many segments have so many fixed bytes in a row; the last place is for those with more, too.
type Lengths = [u32; LENGTH_MAX + 1];

/// The segments that are searched up to the same offset.
struct Group {
    sensitive: Lengths,
    insensitive: Lengths,
    /// Those with fewer fixed bytes are searched byte by byte, in a pass of their own, never folded.
    short_below: usize,
    /// How the longer case-insensitive ones are searched: together with the others, or folded in a pass of their own.
    folding: Folding,
}

impl Plan {
    pub fn new(patterns: &[Pattern], content: Content) -> Self {
        let mut groups = BTreeMap::new();
        for pattern in patterns {
            for (at, piece) in pattern.pieces.iter().enumerate() {
                let anchor = if at == 0 { pattern.anchor } else { Anchor::Anywhere };
                if anchor.names_places() {
                    continue;
                }
                let group = groups.entry((until(anchor), pattern.call)).or_insert(Group {
                    sensitive: [0; LENGTH_MAX + 1],
                    insensitive: [0; LENGTH_MAX + 1],
                    short_below: 0,
                    folding: Folding::None,
                });
                let lengths = match pattern.case {
                    Case::Sensitive => &mut group.sensitive,
                    Case::Insensitive => &mut group.insensitive,
                };
                lengths[fragment::length_max(&piece.fragments).min(LENGTH_MAX)] += 1;
            }
        }
        groups.values_mut().for_each(|group| group.choose(content));
        let rates = match content {
            Content::Any if has_words(patterns) => Rates::with_fours(),
            _ => Rates::new(Folding::None),
        };
        Plan { choice: Choice::new(rates), runs: BTreeSet::new(), groups }
    }

    /// How a segment is searched, and for what.
    pub fn window(&mut self, piece: &Piece, pattern: &Pattern, anchor: Anchor, rank: Rank) -> Option<Search> {
        let (until, case, call) = (until(anchor), pattern.case, pattern.call);
        let group = self.groups.get(&(until, call))?;
        let longest = fragment::length_max(&piece.fragments);
        let mut best: Option<Chosen> = None;
        for (block, stride, folding) in [group.long(case), group.short()].into_iter().flatten() {
            let shape = shape((block, stride, folding), until, (rank, call));
            let reach_max = match (case, folding) {
                (Case::Insensitive, Folding::None) => REACH_OF_WAYS_MAX,
                _ => usize::MAX,
            };
            let fits = |reach: &&usize| **reach <= reach_max && shape.window_length() + **reach <= longest;
            for &reach in shape.reaches().iter().filter(fits) {
                let chosen = self.choice.best(&piece.fragments, case, shape, reach);
                best = match (best, chosen) {
                    (Some(best), Some(chosen)) if best.cost <= chosen.cost => Some(best),
                    (best, chosen) => chosen.or(best),
                };
                if best.as_ref().is_some_and(Chosen::is_good_enough) {
                    break;
                }
            }
            if best.as_ref().is_some_and(Chosen::is_good_enough) {
                break;
            }
        }
        if best.as_ref().is_some_and(Chosen::is_bad)
            && let Some((block, stride, folding)) = group.short()
        {
            let shape = shape((block, stride, folding), until, (rank, call));
            let other = self.choice.half_known(&piece.head, shape);
            best = other.filter(|other| best.as_ref().is_some_and(|best| other.cost < best.cost)).or(best);
        }
        let best = best?;
        if best.is_bad()
            && until == u64::MAX
            && call == Call::Always
            && let Some(byte) = best.window.only_byte()
            && (self.runs.contains(&byte) || self.runs.len() < RUNS_MAX)
        {
            self.runs.insert(byte);
            return Some(Search::Run(byte, best.window));
        }
        self.choice.take(&best);
        Some(Search::Blocks(best.shape, best.window))
    }
}

impl Group {
    /// Chooses which segments are short, the cheapest of all bounds, and whether there is a folded pass.
    fn choose(&mut self, content: Content) {
        let costs = (BLOCK..=LENGTH_MAX).map(|bound| (bound, self.cost(bound, content)));
        let cheapest = costs.min_by(|(_, one), (_, other)| one.total_cmp(other));
        self.short_below = cheapest.map_or(BLOCK, |(bound, _)| bound);
        let sum = |lengths: &Lengths| lengths[self.short_below..].iter().sum::<u32>();
        let ways = sum(&self.insensitive).saturating_mul(WAYS);
        if ways > sum(&self.sensitive).max(WAYS_FREE) {
            self.folding = Folding::Ascii;
        }
    }

    /// Whether the longer ones are so few that one pass, folded, costs less than two.
    fn is_small(&self) -> bool {
        let count = |lengths: &Lengths| lengths[self.short_below..].iter().sum::<u32>();
        count(&self.sensitive) + count(&self.insensitive) <= FOLDED_MAX
    }

    /// Looks for each byte, and what their hits cost in looks.
    fn cost(&self, bound: usize, content: Content) -> f64 {
        let count = |length: usize| self.sensitive[length] + self.insensitive[length];
        let short: u32 = (0..bound).map(count).sum();
        let mut cost = 0.0;
        if let Some(block) = self.least_of_all(0).filter(|least| *least < bound).map(|least| least.min(BLOCK))
        {
            let blocks = 256f64.powi(block as i32);
            let is_paired = short <= PAIRED_MAX || block <= PAIR;
            let paired = if is_paired && content == Content::Text { PAIRED_COST } else { 0.0 };
            cost += 1.0 + f64::from(short) * (HIT_COST / blocks + paired);
        }
        if let Some(least) = self.least_of_all(bound) {
            cost += 1.0 / (least - BLOCK + 1) as f64;
        }
        cost
    }

    /// The least length of a segment, from a bound on.
    fn least_of_all(&self, bound: usize) -> Option<usize> {
        (bound..=LENGTH_MAX).find(|length| self.sensitive[*length] + self.insensitive[*length] > 0)
    }

    /// Block and stride for the short ones, if there are any. Few are searched by pairs, however long they are.
    fn short(&self) -> Option<(usize, usize, Folding)> {
        let least = self.least_of_all(0).filter(|least| *least < self.short_below)?;
        let count: u32 =
            (0..self.short_below).map(|length| self.sensitive[length] + self.insensitive[length]).sum();
        let block = if count <= PAIRED_MAX { least.min(PAIR) } else { least.min(BLOCK) };
        Some((block, 1, Folding::None))
    }

    /// Block and stride for the others.
    fn long(&self, case: Case) -> Option<(usize, usize, Folding)> {
        let of = |lengths: &Lengths| (self.short_below..=LENGTH_MAX).find(|length| lengths[*length] > 0);
        let (least, folding) = match (self.folding, case) {
            (Folding::None, _) => (self.least_of_all(self.short_below), Folding::None),
            (Folding::Ascii, _) if self.is_small() => (self.least_of_all(self.short_below), Folding::Ascii),
            (Folding::Ascii, Case::Sensitive) => (of(&self.sensitive), Folding::None),
            (Folding::Ascii, Case::Insensitive) => (of(&self.insensitive), Folding::Ascii),
        };
        least.map(|least| (BLOCK, least - BLOCK + 1, folding))
    }
}

/// What is looked at in each place is searched for only where it may mean something.
fn shape((block, stride, folding): (usize, usize, Folding), until: u64, (rank, call): (Rank, Call)) -> Shape {
    let when = match (stride == 1 && rank == Rank::Follower, call) {
        (false, Call::Always) => When::Always,
        (true, Call::Always) => When::Led,
        (false, Call::Asked) => When::Asked,
        (true, Call::Asked) => When::AskedLed,
    };
    Shape { stride: stride as u32, block: block as u32, folding, until, when }
}

/// Whether so many are text that how often words stand in content counts. Else the hashes of four bytes only do harm: rare bytes
/// pass for a word that they share one with, windows in text are chosen in their place, and text is not passed over.
fn has_words(patterns: &[Pattern]) -> bool {
    let pieces = || patterns.iter().flat_map(|pattern| &pattern.pieces);
    let is_text = |piece: &&Piece| {
        !piece.fragments.is_empty()
            && piece.fragments.iter().all(|fragment| fragment::is_text(&fragment.bytes))
    };
    pieces().filter(is_text).count() * WORDS_SHARE > pieces().count()
}

/// Up to where windows of a pattern with this anchor are searched for.
fn until(anchor: Anchor) -> u64 {
    match anchor {
        Anchor::Anywhere | Anchor::Told(_) | Anchor::BeforeEnd { .. } => u64::MAX,
        Anchor::Within { last, .. } => {
            let end = last.saturating_add(u64::from(LOOKBACK_MAX));
            PROLOGUES.into_iter().find(|prologue| end <= *prologue).unwrap_or(u64::MAX)
        }
    }
}
