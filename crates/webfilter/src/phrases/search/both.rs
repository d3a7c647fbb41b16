//! Both readings of a page in one pass: [`Search::scan_both`]. Rule: each place of each reading is looked at once.
//!
//! Four letters are the same in both readings, wherever all four were copied. So the raw reading is gone through, and a place that
//! is left of it is left of the text, too. Where what stands around it is a copy as well, it is looked up once for both, else by
//! itself in the text. What of the text was not copied is gone through as any other.

use super::copies::{Copied, Copies, Kept, stretches};
use super::places::{BATCH, Batch, Bits, Elsewhere, MASK, Masks, OpenWindows, has, text_place};
use super::{Met, Open, ROOM, Search, Span, first, set};
use std::ops::Range;

/// How many of a copied stretch's last places have no core behind them that is copied with the byte that follows, and how many no
/// short window.
const CORES_OPEN: usize = 4;
const SHORT_OPEN: usize = 3;

impl Search {
    /// Finds the patterns whose windows have their places in either reading.
    pub fn scan_both(&self, raw: &mut Span<'_>, text: &mut Span<'_>, copies: &Copies, open: &mut Open) {
        ROOM.with_borrow_mut(|batch| self.scan_both_in(batch, raw, text, copies, open));
    }

    fn scan_both_in(
        &self,
        batch: &mut Batch,
        raw: &mut Span<'_>,
        text: &mut Span<'_>,
        copies: &Copies,
        open: &mut Open,
    ) {
        let places = (raw.places(), text.places());
        let (alike, blocks) = copies.within(&places.0, &places.1);
        for places in [places.0.start..alike.start, alike.end..places.0.end] {
            self.walk(batch, raw, places, &mut open.raw);
        }
        for from in (0..blocks.len()).step_by(BATCH / MASK) {
            self.look_at_both(batch, raw, text, alike.start + from * MASK, (blocks, from), open);
        }
        self.walk_but(batch, text, &stretches(blocks), &mut open.text);
        self.scan_for_tiny(raw);
        self.scan_for_tiny(text);
    }

    /// A batch of the raw reading's places, of which the blocks tell where they stand in the text.
    fn look_at_both(
        &self,
        batch: &mut Batch,
        raw: &mut Span<'_>,
        text: &mut Span<'_>,
        place: usize,
        (blocks, from): (&[Kept], usize),
        open: &mut Open,
    ) {
        let before = from.checked_sub(1).and_then(|before| blocks.get(before)).copied().unwrap_or_default();
        let blocks = blocks.get(from..).unwrap_or_default();
        batch.copied.read(before, blocks);
        let Open { raw: open_in_raw, text: open_in_text } = &*open;
        let in_text = Elsewhere { text: text.text, blocks, open: open_in_text };
        let all = first((blocks.len() * MASK).min(BATCH));
        let wanted = Masks { cores: all, short: all };
        self.look(batch, raw.text, place, &wanted, Some(&in_text), open_in_raw);
        let in_text_at = |place| text_place(blocks, place);
        let Copied { three, four, eight, before, .. } = &batch.copied;
        let alike = [eight, before, four, three];
        // Of which all that tells whether something has such a window is the same.
        let same = [eight, before, eight, eight];
        for (kind, places) in batch.kept() {
            for at in places {
                let met = self.find(kind, place + usize::from(*at), raw, &mut open.raw);
                if has(alike[kind as usize], *at) && (met == Met::Alike || !has(same[kind as usize], *at)) {
                    self.find(kind, in_text_at(*at), text, &mut open.text);
                }
            }
        }
        for (kind, places) in batch.kept_elsewhere() {
            for at in places {
                self.find(kind, in_text_at(*at), text, &mut open.text);
            }
        }
    }

    /// All places of the text, but for those of the copied stretches.
    fn walk_but(
        &self,
        batch: &mut Batch,
        text: &mut Span<'_>,
        copied: &[Range<usize>],
        open: &mut OpenWindows,
    ) {
        let places = text.places();
        let (mut cores, mut short) = (copied, copied);
        let mut from = places.start;
        while from < places.end {
            // A batch begins with what is wanted.
            if let Some(stretch) = cores.first().filter(|stretch| stretch.start < from) {
                let open_from = stretch.end.saturating_sub(CORES_OPEN).max(stretch.start);
                if open_from > from {
                    from = open_from;
                    continue;
                }
            }
            let count = (places.end - from).min(BATCH);
            let here = Masks {
                cores: but(from, count, CORES_OPEN, &mut cores),
                short: but(from, count, SHORT_OPEN, &mut short),
            };
            self.look(batch, text.text, from, &here, None, open);
            for (kind, places) in batch.kept() {
                for at in places {
                    self.find(kind, from + usize::from(*at), text, open);
                }
            }
            from += count;
        }
    }
}

/// A bit for each of so many places from there on, but for those of the stretches, of whose last so many are open, and the first.
fn but(from: usize, count: usize, open: usize, stretches: &mut &[Range<usize>]) -> Bits {
    let mut wanted = first(count);
    while let Some((stretch, rest)) = stretches.split_first() {
        let end = stretch.end.saturating_sub(open).max(stretch.start);
        let start = (stretch.start + 1).min(end);
        let places = start.clamp(from, from + count) - from..end.clamp(from, from + count) - from;
        set(&mut wanted, places, false);
        if end > from + count {
            break;
        }
        *stretches = rest;
    }
    wanted
}
