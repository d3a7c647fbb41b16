//! Which bytes of a segment are searched for: those rarest in content. Rule: a guess costs speed only, never a match.

use crate::blocks::{Folding, Shape};
use crate::candidates::KEY_BYTES_MAX;
use crate::encoded::Alphabet;
use crate::look::Landmark;
use crate::rates::Rates;
use crate::segment::{Case, Fragment, LOOKBACK_MAX, PREFIX_WIDTH_MAX, cased};
use crate::view::View;
use crate::wildcard::Cell;

/// Bytes in a row of a segment, from which blocks are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The least distance from the segment's start …
    pub prefix_min: u32,
    /// … and how much more it may be.
    pub prefix_width: u32,
    /// What the bytes may be.
    pub cells: Vec<Cell>,
}

impl Window {
    /// The byte that all of them are, if there are several.
    pub fn only_byte(&self) -> Option<u8> {
        let first = self.cells.first().filter(|cell| cell.mask == 0xff)?;
        (self.cells.len() > 1 && self.cells.iter().all(|cell| cell == first)).then_some(first.value)
    }
}

/// What a look that hits costs, in looks that don't.
const HIT_COST: f32 = 2.0;
/// What a candidate costs.
const CANDIDATE_COST: f32 = 8.0;
/// A window that costs so little for each byte of content is good enough: none better is looked for.
const GOOD_ENOUGH: f32 = 1.0 / (1 << 23) as f32;
/// What a window costs more that can stand in text, where its segment has others: of text that is without any, nothing is looked up.
const IN_TEXT_COST: f32 = 2.0 * GOOD_ENOUGH;
/// One that costs so much is so common that any byte in the place of one of its own is tried.
const BAD: f32 = 1.0 / (1 << 7) as f32;
/// So many windows may be known by the same bytes before others are liked better, whatever the content: content can be made
/// of them.
const CROWD_MAX: u8 = 4;
/// How much each more costs.
const CROWD_COST: f32 = 1.0 / (1 << 24) as f32;

/// How windows are chosen: by the rates of their bytes, and one after the other, so that they don't crowd.
pub(crate) struct Choice {
    plain: Rates,
    folded: Rates,
    /// How many of the windows chosen so far are known by some bytes, by their hash.
    crowds: Vec<u8>,
    /// How often each look hits, of the fragment at hand.
    looks: Vec<f32>,
}

const CROWD_BITS: u32 = 18;

/// A window and what it costs for each byte of content.
pub(crate) struct Chosen {
    pub cost: f32,
    pub shape: Shape,
    pub window: Window,
}

impl Chosen {
    /// Whether no other need be looked at.
    pub fn is_good_enough(&self) -> bool {
        self.cost <= GOOD_ENOUGH
    }

    /// Whether nearly any other would do.
    pub fn is_bad(&self) -> bool {
        self.cost > BAD
    }
}

impl Choice {
    pub fn new(plain: Rates) -> Self {
        Choice {
            plain,
            folded: Rates::new(Folding::Ascii),
            crowds: vec![0; 1 << CROWD_BITS],
            looks: Vec::new(),
        }
    }

    /// The cheapest window of this shape and reach, the earliest of equals, if one fits.
    pub fn best(&mut self, fragments: &[Fragment], case: Case, shape: Shape, reach: usize) -> Option<Chosen> {
        let (stride, block) = (shape.stride as usize, shape.block as usize);
        let length = shape.window_length() + reach;
        let mut best: Option<(f32, &Fragment, usize)> = None;
        for fragment in fragments {
            let bytes = &fragment.bytes[..usable(fragment)];
            let has_other = !is_text(bytes);
            self.looks.clear();
            for (at, looked_at) in bytes.windows(block).enumerate().skip(reach) {
                self.looks.push(self.rates(case, shape).of(looked_at));
                let Some(turns) = (self.looks.len()).checked_sub(stride) else { continue };
                let first = at + 1 - stride - reach;
                let hits = self.looks[turns..].iter().sum::<f32>() / stride as f32;
                let known = &bytes[first..first + shape.key_length(reach)];
                let in_text = has_other && is_text(&bytes[first..first + length]);
                let cost = self.cost(known, hits, (case, shape), fragment.prefix_width)
                    + if in_text { IN_TEXT_COST } else { 0.0 };
                if best.is_none_or(|(least, _, _)| cost < least) {
                    best = Some((cost, fragment, first));
                    if cost <= GOOD_ENOUGH {
                        break;
                    }
                }
            }
            if best.is_some_and(|(least, _, _)| least <= GOOD_ENOUGH) {
                break;
            }
        }
        best.map(|(cost, fragment, at)| {
            let window = Window {
                prefix_min: fragment.prefix_min + at as u32,
                prefix_width: fragment.prefix_width,
                cells: fragment.bytes[at..at + length]
                    .iter()
                    .map(|byte| cased(Cell::exact(*byte), case))
                    .collect(),
            };
            Chosen { cost, shape, window }
        })
    }

    fn rates(&self, case: Case, shape: Shape) -> &Rates {
        if case == Case::Insensitive || shape.folding == Folding::Ascii { &self.folded } else { &self.plain }
    }

    /// What a window costs whose blocks hit so often, and that is known by these bytes.
    fn cost(&self, known: &[u8], hits: f32, (case, shape): (Case, Shape), prefix_width: u32) -> f32 {
        let crowd = self.crowds[slot(known)];
        // Mostly the blocks alone are rare enough, and the rest need not be reckoned.
        let is_rare = hits * (HIT_COST + CANDIDATE_COST) <= GOOD_ENOUGH;
        let candidates = if is_rare { hits } else { self.rates(case, shape).of(known).min(hits) };
        hits * HIT_COST
            + candidates * CANDIDATE_COST * (1 + prefix_width) as f32
            + f32::from(crowd.saturating_sub(CROWD_MAX)) * CROWD_COST
    }

    /// The cheapest pair of a fixed byte and a byte of any kind at the segment's fixed beginning, for a shape with blocks of
    /// two.
    pub fn half_known(&self, head: &[Cell], shape: Shape) -> Option<Chosen> {
        if shape.block != 2 || shape.stride != 1 || shape.folding != Folding::None {
            return None;
        }
        let rate = |pair: &[Cell]| match pair {
            [Cell { value, mask: 0xff }, Cell { mask: 0, .. }]
            | [Cell { mask: 0, .. }, Cell { value, mask: 0xff }] => Some(self.plain.of(&[*value])),
            _ => None,
        };
        let near = &head[..head.len().min(LOOKBACK_MAX as usize)];
        let pairs = near.windows(2).enumerate().filter_map(|(at, pair)| Some((rate(pair)?, at, pair)));
        let (rate, at, pair) = pairs.min_by(|(one, _, _), (other, _, _)| one.total_cmp(other))?;
        let window = Window { prefix_min: at as u32, prefix_width: 0, cells: pair.to_vec() };
        Some(Chosen { cost: rate * (HIT_COST + CANDIDATE_COST), shape, window })
    }

    /// A window is taken: what it is known by is more crowded now.
    pub fn take(&mut self, chosen: &Chosen) {
        let cells = &chosen.window.cells;
        let reach = cells.len() - chosen.shape.window_length();
        let mut known = [0; KEY_BYTES_MAX];
        known.iter_mut().zip(cells).for_each(|(byte, cell)| *byte = cell.lower());
        let crowd = &mut self.crowds[slot(&known[..chosen.shape.key_length(reach)])];
        *crowd = crowd.saturating_add(1);
    }
}

fn slot(known: &[u8]) -> usize {
    let word = known.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CROWD_BITS)) as usize
}

/// The longest run of bytes that can be searched for.
pub(crate) fn length_max(fragments: &[Fragment]) -> usize {
    fragments.iter().map(usable).max().unwrap_or(0)
}

/// Whether these are characters of text alone.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| Alphabet::Text.has(*byte))
}

/// The bit that tells a letter's cases apart.
pub(crate) const LETTER_CASE: u8 = 0x20;

/// How many bytes a check looks at. It looks at all of a segment that has no more.
pub(crate) const CHECK_BYTES: u32 = 8;

/// Eight bytes of a segment that tell early that it doesn't match: the rarest, better outside of its window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Check {
    value: u64,
    mask: u64,
    /// Their distance from the place that the check is kept for: mostly the segment's start.
    pub at: i32,
}

impl Check {
    /// The check for a segment whose fixed beginning is `head`, with this window.
    pub fn new(head: &[Cell], window: &Window) -> Self {
        // A short segment is checked whole: behind it, any byte.
        let mut head = head.to_vec();
        head.resize(head.len().max(8), Cell::ANY);
        let known = window.prefix_min as usize..window.prefix_min as usize + window.cells.len();
        let weight = |at: usize| {
            let rarity = match (head[at], at.checked_sub(1).map(|before| head[before])) {
                (Cell { mask: 0, .. }, _) => 0,
                (cell, Some(before)) if cell == before => 8,
                (cell, _) => byte_rarity(cell.value),
            };
            // A candidate agrees with half of the window already.
            if known.contains(&at) { rarity / 2 } else { rarity }
        };
        let weights: Vec<u32> = (0..head.len()).map(weight).collect();
        let sums = weights.windows(8).map(|eight| eight.iter().sum::<u32>()).enumerate();
        // The earliest of equals.
        let best = sums.fold((0, 0), |best, (at, sum)| if sum > best.1 { (at, sum) } else { best });
        let eight = head.get(best.0..best.0 + 8).unwrap_or_default();
        Check { at: best.0 as i32, ..Check::of(eight) }
    }

    /// The check of a segment that is searched for by itself.
    pub fn alone(head: &[Cell]) -> Self {
        Self::new(head, &Window { prefix_min: 0, prefix_width: 0, cells: Vec::new() })
    }

    /// The two rarest of the eight bytes, in their order, if there are two: how far in each stands, and its mask and value.
    pub fn landmarks(&self) -> Option<[Landmark; 2]> {
        let (masks, values) = (self.mask.to_le_bytes(), self.value.to_le_bytes());
        let mut known: Vec<Landmark> = (0..8)
            .map(|at| Landmark { at, mask: masks[at], value: values[at] })
            .filter(|landmark| landmark.mask.count_ones() >= 7)
            .collect();
        known.sort_by_key(|landmark| std::cmp::Reverse(byte_rarity(landmark.value)));
        let mut two = *known.first_chunk::<2>()?;
        two.sort_unstable_by_key(|landmark| landmark.at);
        Some(two)
    }

    /// The check for these bytes, the first eight of them; what stands behind fewer may be anything.
    pub fn of(cells: &[Cell]) -> Self {
        let word = |byte: fn(&Cell) -> u8| {
            cells.iter().take(8).rev().fold(0, |word, cell| word << 8 | u64::from(byte(cell)))
        };
        Check { value: word(|cell| cell.value), mask: word(|cell| cell.mask), at: 0 }
    }

    /// The eight bytes, little end first, and which bits of each count.
    pub fn bytes(&self) -> (u64, [u8; 8]) {
        (self.value, self.mask.to_le_bytes())
    }

    /// The check of a segment, as it is seen from the first byte of its window. Where the segment begins at no fixed distance,
    /// nothing is known but the window itself.
    pub fn in_window(self, window: &Window) -> Self {
        match window.prefix_width {
            0 => Check { at: self.at - window.prefix_min as i32, ..self },
            _ => Check::of(&window.cells),
        }
    }

    /// The eight bytes, little end first, that decide about a place, if the chunk has them.
    #[inline]
    pub fn eight(&self, place: u64, view: &View<'_>) -> Option<u64> {
        view.eight_in_chunk(place.checked_add_signed(i64::from(self.at))?)
    }

    /// Whether its bytes are there, or not at hand.
    #[inline]
    pub fn may_stand(&self, place: u64, view: &View<'_>) -> bool {
        self.eight(place, view).is_none_or(|eight| self.passes(eight))
    }

    /// Whether these eight bytes, little end first, may be a match's.
    #[inline]
    pub fn passes(&self, eight: u64) -> bool {
        eight & self.mask == self.value
    }
}

/// How many bytes of a fragment are near enough to the segment's start.
fn usable(fragment: &Fragment) -> usize {
    if fragment.prefix_width > PREFIX_WIDTH_MAX {
        return 0;
    }
    let prefix_max = fragment.prefix_min.saturating_add(fragment.prefix_width);
    fragment.bytes.len().min(LOOKBACK_MAX.saturating_sub(prefix_max) as usize)
}

/// How rare a byte is, in eighths of a bit: rough figures for programs, text and base64 together.
fn byte_rarity(byte: u8) -> u32 {
    match byte {
        0x00 => 16,
        0xff | b' ' => 32,
        0x01 | 0x02 | 0x48 | 0x8b | b'e' | b't' | b'a' | b'o' | b'\n' | b'0' => 40,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => 48,
        b'"' | b'=' | b'.' | b',' | b'/' | b'<' | b'>' | b'-' | b'_' => 48,
        0x03..=0x10 | 0x80 | 0x89 | 0xe8 => 48,
        _ => 64,
    }
}

lockgate_stored::stored!(struct Check { value, mask, at });
