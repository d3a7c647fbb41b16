//! All that rules look at of one head, as one text: [`Head`]. Rule: each view has its place there, as in a buffer of its own, and what several
//! have is there once.

use crate::evaluate::Piece;
use crate::http;
use crate::ruleset::sticky::Sticky;
use crate::ruleset::transform::Made;
use crate::views::{ViewId, Views};
use lockgate_model::Direction;
use std::ops::Range;

/// How many views there mostly are of a head.
const VIEWS_USUALLY: usize = 32;

/// A head, and what is made of it.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// As it came, and behind that what it is made into.
    pub bytes: Vec<u8>,
    came_length: usize,
    /// Where each view is, in the order in which they are made.
    pub places: Vec<(ViewId, Range<usize>)>,
    /// The same, by view and beginning. No two places of a view have a byte in common.
    sorted: Vec<(ViewId, Range<usize>)>,
    /// Whether something could not be made of it.
    pub is_spent: bool,
}

impl Head {
    /// A head as it came; its first line is so long.
    pub fn new(views: &Views, came: Vec<u8>, line_length: usize, direction: Direction) -> Self {
        let mut head = Self { places: Vec::with_capacity(VIEWS_USUALLY), ..Self::default() };
        let mut made = Vec::new();
        let mut fill = |sticky: Sticky, bytes: &[u8]| head.add(views, &came, &mut made, (sticky, bytes));
        let line = came.get(..line_length).unwrap_or_default();
        match direction {
            Direction::ToServer => http::request_line(line, &mut fill),
            Direction::ToClient => http::response_line(line, &mut fill),
        }
        http::header(&came, line_length, direction, &mut fill);
        head.came_length = came.len();
        head.bytes = came;
        head.bytes.append(&mut made);
        head.sorted.clone_from(&head.places);
        head.sorted.sort_unstable_by_key(|(view, place)| (*view, place.start));
        head
    }

    /// A buffer, for each view that looks at it.
    fn add(&mut self, views: &Views, came: &[u8], made: &mut Vec<u8>, (sticky, bytes): (Sticky, &[u8])) {
        for view in views.of(sticky) {
            let mut whole = Made::default();
            let transformed = views.transformed(view, bytes, &mut whole);
            self.is_spent |= whole == Made::Spent;
            let bytes = transformed.as_deref().unwrap_or(bytes);
            let place = place_in(came, bytes).unwrap_or_else(|| {
                let from = came.len() + made.len();
                made.extend_from_slice(bytes);
                from..from + bytes.len()
            });
            self.places.push((view, place));
        }
    }

    /// As it came.
    pub fn came(&self) -> &[u8] {
        self.bytes.get(..self.came_length).unwrap_or_default()
    }

    /// Each view that there is, once.
    pub fn views(&self) -> impl Iterator<Item = ViewId> + '_ {
        self.sorted.chunk_by(|one, other| one.0 == other.0).filter_map(|same| Some(same.first()?.0))
    }

    /// What each of them looks at.
    pub fn pieces(&self) -> impl Iterator<Item = (ViewId, Piece<'_>)> {
        let piece = |place: &Range<usize>| Piece::whole(self.bytes.get(place.clone()).unwrap_or_default());
        self.places.iter().map(move |(view, place)| (*view, piece(place)))
    }

    /// How far from the beginning of what a view looks at something stands, if it does stand there.
    pub fn offset(&self, view: ViewId, place: Range<usize>) -> Option<usize> {
        let behind = self.sorted.partition_point(|(of, its)| (*of, its.start) <= (view, place.start));
        let before = behind.checked_sub(1).and_then(|at| self.sorted.get(at));
        let (_, own) = before.filter(|(of, its)| *of == view && place.end <= its.end)?;
        Some(place.start - own.start)
    }
}

/// Where bytes are that are some of these.
fn place_in(all: &[u8], bytes: &[u8]) -> Option<Range<usize>> {
    let from = (bytes.as_ptr() as usize).checked_sub(all.as_ptr() as usize)?;
    let to = from.checked_add(bytes.len()).filter(|to| *to <= all.len())?;
    Some(from..to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET /a/%62 HTTP/1.1\r\nHost: A.example\r\nX:y\r\nX: z\r\n\r\n";

    #[test]
    fn each_view_has_its_place() {
        let mut views = Views::default();
        let stickies = [
            Sticky::HttpMethod,
            Sticky::HttpUri,
            Sticky::HttpUriRaw,
            Sticky::HttpRequestHeader,
            Sticky::HttpHost,
        ];
        let ids = stickies.map(|sticky| views.id(sticky, &[]).unwrap());
        let head = Head::new(&views, HEAD.to_vec(), 19, Direction::ToServer);
        let seen: Vec<(ViewId, &[u8])> = head.pieces().map(|(view, piece)| (view, piece.bytes)).collect();
        let [method, uri, raw, header, host] = ids;
        let wanted: [(ViewId, &[u8]); 7] = [
            (method, b"GET"),
            (raw, b"/a/%62"),
            (uri, b"/a/b"),
            (header, b"Host: A.example"),
            (header, b"X: y"),
            (header, b"X: z"),
            (host, b"a.example"),
        ];
        assert_eq!(seen, wanted);
        assert_eq!(head.places[1].1, 4..10, "as it came");
        assert_eq!(head.views().count(), ids.len());
        for (view, place) in &head.places {
            assert_eq!(head.offset(*view, place.clone()), Some(0));
            assert_eq!(head.offset(*view, place.start + 1..place.end), Some(1));
            assert_eq!(head.offset(*view, place.start..place.end + 1), None);
        }
        assert_eq!(head.offset(method, 4..5), None);
        assert_eq!(head.offset(header, 35..40), None, "from one field into the next");
    }
}
