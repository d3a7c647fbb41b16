//! Where verification has been behind gaps, so that a thousand starts in a row do not each look through the same bytes.
//! Rule: small; what is forgotten costs time alone.

use super::walk::Span;

/// How many atoms behind gaps are remembered.
const PLACES: usize = 64;

/// For some atoms behind gaps, the offsets that lead to nothing that has not been told.
#[derive(Default, Debug)]
pub(super) struct Been {
    /// Each atom has one place, by its number, and gives way to one that comes later. Few streams have any.
    places: Option<Box<[Place; PLACES]>>,
    /// Where the walk at hand has been.
    now: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    span: Span,
    /// What begins earlier has to look for itself.
    start: u64,
}

/// Of no atom.
const NONE: Place = Place { span: Span { atom: u32::MAX, low: 0, high: 0 }, start: 0 };

impl Been {
    /// Another walk begins.
    pub fn begin(&mut self) {
        self.now.clear();
    }

    /// What of a span behind a gap is new to a start.
    pub fn new_in(&mut self, span: Span, start: u64) -> Option<Span> {
        let Place { span: old, start: known } = self.places.as_ref().map_or(NONE, |of| of[place(span.atom)]);
        let reaches_in = old.atom == span.atom && known <= start && (old.low..=old.high).contains(&span.low);
        let low = if reaches_in { old.high.saturating_add(1) } else { span.low };
        let left = (low <= span.high).then_some(Span { low, ..span });
        self.now.extend(left);
        left
    }

    /// The walk has told all that it has been led to, or that waits on its own.
    pub fn keep(&mut self, start: u64) {
        for span in self.now.drain(..) {
            let place = &mut self.places.get_or_insert_with(|| Box::new([NONE; PLACES]))[place(span.atom)];
            let old = place.span;
            let touches = old.atom == span.atom
                && place.start <= start
                && span.low >= old.low
                && span.low <= old.high.saturating_add(1);
            let low = if touches { old.low } else { span.low };
            let high = if touches { old.high.max(span.high) } else { span.high };
            *place = Place { span: Span { atom: span.atom, low, high }, start };
        }
    }
}

fn place(atom: u32) -> usize {
    atom as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::{Been, PLACES, Span};

    const fn span(atom: u32, low: u64, high: u64) -> Span {
        Span { atom, low, high }
    }

    /// What a walk from a start finds new in a span.
    fn walk(been: &mut Been, of: Span, start: u64) -> Option<(u64, u64)> {
        been.begin();
        let left = been.new_in(of, start);
        been.keep(start);
        left.map(|left| (left.low, left.high))
    }

    #[test]
    fn each_place_behind_a_gap_is_new_once() {
        let mut been = Been::default();
        let walks = (0..1000).filter_map(|start| walk(&mut been, span(7, start + 2, start + 130), start));
        assert_eq!(walks.map(|(low, high)| high - low + 1).sum::<u64>(), 999 + 129);
    }

    #[test]
    fn what_began_earlier_or_was_not_told_or_lies_apart_is_new() {
        let mut been = Been::default();
        assert_eq!(walk(&mut been, span(7, 50, 90), 40), Some((50, 90)));
        assert_eq!(walk(&mut been, span(7, 45, 80), 35), Some((45, 80)));
        been.begin();
        assert_eq!(been.new_in(span(7, 200, 210), 190), Some(span(7, 200, 210)));
        been.begin();
        assert_eq!(walk(&mut been, span(7, 200, 210), 195), Some((200, 210)));
        assert_eq!(walk(&mut been, span(7, 190, 205), 196), Some((190, 205)));
    }

    #[test]
    fn another_atom_takes_the_place() {
        let mut been = Been::default();
        let other = 7 + PLACES as u32;
        assert_eq!(walk(&mut been, span(7, 50, 90), 40), Some((50, 90)));
        assert_eq!(walk(&mut been, span(8, 50, 90), 40), Some((50, 90)));
        assert_eq!(walk(&mut been, span(7, 50, 91), 40), Some((91, 91)));
        assert_eq!(walk(&mut been, span(other, 50, 90), 40), Some((50, 90)));
        assert_eq!(walk(&mut been, span(7, 50, 90), 40), Some((50, 90)));
    }
}
