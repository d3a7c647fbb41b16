//! Bytes that came in pieces, out of order and overlapping: [`Pieces`]. Rule: each byte has one owner, and the policy says who.

use std::collections::BTreeMap;
use std::ops::Range;

/// What a piece costs besides its bytes: its place in the tree and the allocation.
const PIECE_BYTES: usize = 96;

/// Bytes by their offset. No two pieces overlap.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: BTreeMap<u64, Piece>,
    held_bytes: usize,
}

/// Bytes of one segment or fragment, as far as they are its.
#[derive(Debug)]
struct Piece {
    /// The segment from its first byte to its last, whatever has been trimmed.
    whole: Range<u64>,
    bytes: Vec<u8>,
    /// How many of `bytes` are no longer wanted.
    gone: usize,
}

/// Whether what came was there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// It was not.
    #[default]
    None,
    /// Some of it was, and was the same.
    Same,
    /// Some of it was, and was different: somebody lies.
    Different,
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(self.gone..).unwrap_or_default()
    }
}

impl Pieces {
    /// Puts a segment in. Where it overlaps, `new_wins` is asked with the new segment and the one that has the bytes.
    pub(crate) fn insert(
        &mut self,
        at: u64,
        bytes: &[u8],
        new_wins: impl Fn(&Range<u64>, &Range<u64>) -> bool,
    ) -> Overlap {
        let new = at..at.saturating_add(bytes.len() as u64);
        if new.is_empty() {
            return Overlap::None;
        }
        if self.end() <= new.start {
            self.put(new.start, new.clone(), bytes);
            return Overlap::None;
        }
        let mut overlap = Overlap::None;
        let mut cursor = new.start;
        for (start, end) in self.overlapped(&new) {
            let both = start.max(new.start)..end.min(new.end);
            let theirs = within(bytes, new.start, &both);
            if self.at(both.start).is_some_and(|ours| ours.get(..theirs.len()) == Some(theirs)) {
                overlap = if overlap == Overlap::None { Overlap::Same } else { overlap };
            } else {
                overlap = Overlap::Different;
            }
            if self.pieces.get(&start).is_some_and(|old| new_wins(&new, &old.whole)) {
                self.cut_out(start, &both);
            } else {
                self.put(cursor, new.clone(), within(bytes, new.start, &(cursor..both.start)));
                cursor = both.end;
            }
        }
        self.put(cursor, new.clone(), within(bytes, new.start, &(cursor..new.end)));
        overlap
    }

    /// The bytes from an offset to the end of the piece that they are in; `None` where they are missing.
    pub(crate) fn at(&self, offset: u64) -> Option<&[u8]> {
        let (start, piece) = self.pieces.range(..=offset).next_back()?;
        let skipped = usize::try_from(offset - start).ok()?;
        piece.bytes().get(skipped..).filter(|bytes| !bytes.is_empty())
    }

    /// Where the first piece at or behind an offset begins.
    pub(crate) fn next_start(&self, offset: u64) -> Option<u64> {
        self.pieces.range(offset..).next().map(|(start, _)| *start)
    }

    /// Forgets what is before an offset.
    pub(crate) fn drop_before(&mut self, offset: u64) {
        while let Some(first) = self.pieces.first_entry().filter(|first| *first.key() < offset) {
            let (start, mut piece) = first.remove_entry();
            let gone = usize::try_from(offset - start).unwrap_or(usize::MAX);
            if gone < piece.bytes().len() {
                piece.gone += gone;
                self.pieces.insert(offset, piece);
                return;
            }
            self.held_bytes -= PIECE_BYTES + piece.bytes.len();
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The memory that it takes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Where the last piece ends.
    pub(crate) fn end(&self) -> u64 {
        self.pieces.last_key_value().map_or(0, |(start, piece)| start + piece.bytes().len() as u64)
    }

    /// How many bytes in a row are there from offset 0.
    pub(crate) fn whole_from_start(&self) -> u64 {
        let mut end = 0;
        for (start, piece) in &self.pieces {
            if *start != end {
                break;
            }
            end = start + piece.bytes().len() as u64;
        }
        end
    }

    /// Its pieces in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.values().map(Piece::bytes)
    }

    /// Start and end of each piece that shares bytes with `new`, in their order.
    fn overlapped(&self, new: &Range<u64>) -> Vec<(u64, u64)> {
        let first = self.pieces.range(..=new.start).next_back().map_or(new.start, |(start, _)| *start);
        let ends = |(start, piece): (&u64, &Piece)| (*start, start + piece.bytes().len() as u64);
        self.pieces.range(first..new.end).map(ends).filter(|(_, end)| *end > new.start).collect()
    }

    /// Takes bytes out of the piece that begins at `start`; what is left of it on either side stays.
    fn cut_out(&mut self, start: u64, out: &Range<u64>) {
        let Some(old) = self.pieces.remove(&start) else { return };
        self.held_bytes -= PIECE_BYTES + old.bytes.len();
        let end = start + old.bytes().len() as u64;
        self.put(start, old.whole.clone(), within(old.bytes(), start, &(start..out.start)));
        self.put(out.end, old.whole.clone(), within(old.bytes(), start, &(out.end..end)));
    }

    fn put(&mut self, at: u64, whole: Range<u64>, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.held_bytes += PIECE_BYTES + bytes.len();
            self.pieces.insert(at, Piece { whole, bytes: bytes.to_vec(), gone: 0 });
        }
    }
}

/// The bytes of `range`, where `bytes` begin at `start`.
fn within<'a>(bytes: &'a [u8], start: u64, range: &Range<u64>) -> &'a [u8] {
    let from = usize::try_from(range.start.saturating_sub(start)).unwrap_or(usize::MAX);
    let until = usize::try_from(range.end.saturating_sub(start)).unwrap_or(usize::MAX);
    bytes.get(from..until).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(pieces: &Pieces) -> Vec<u8> {
        pieces.iter().collect::<Vec<_>>().concat()
    }

    #[test]
    fn pieces_are_put_in_order() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.insert(4, b"ef", |_, _| false), Overlap::None);
        assert_eq!(pieces.insert(0, b"ab", |_, _| false), Overlap::None);
        assert_eq!(pieces.whole_from_start(), 2);
        assert_eq!(pieces.insert(1, b"bcde", |_, _| false), Overlap::Same);
        assert_eq!((text(&pieces).as_slice(), pieces.whole_from_start()), (&b"abcdef"[..], 6));
        pieces.drop_before(3);
        assert_eq!((pieces.at(3), pieces.at(2)), (Some(&b"d"[..]), None));
        pieces.drop_before(9);
        assert_eq!(pieces.held_bytes(), 0);
    }

    #[test]
    fn the_policy_says_whose_the_byte_is() {
        let mut pieces = Pieces::default();
        pieces.insert(2, b"ooo", |_, _| false);
        assert_eq!(pieces.insert(0, b"nnnnnnn", |_, _| false), Overlap::Different);
        assert_eq!(text(&pieces), b"nnooonn");
        assert_eq!(pieces.insert(3, b"x", |_, _| true), Overlap::Different);
        assert_eq!(text(&pieces), b"nnoxonn");
    }

    proptest! {
        /// Whatever comes, it is as if each byte had one place and one owner.
        #[test]
        fn as_bytes_with_owners(segments in proptest::collection::vec((0u64..60, 1usize..30, 0u8..4), 1..30), policy in 0..4) {
            let new_wins = |new: &Range<u64>, old: &Range<u64>| match policy {
                0 => false,
                1 => true,
                2 => new.start < old.start,
                _ => new.start <= old.start && new.end > old.end,
            };
            let mut pieces = Pieces::default();
            let mut bytes: Vec<Option<(u8, Range<u64>)>> = vec![None; 100];
            for (index, (at, length, kind)) in segments.into_iter().enumerate() {
                let data: Vec<u8> = (0..length).map(|i| kind.wrapping_mul(i as u8).wrapping_add(index as u8 & kind)).collect();
                let new = at..at + length as u64;
                let mut expected = Overlap::None;
                for (offset, byte) in new.clone().zip(&data) {
                    let slot = &mut bytes[offset as usize];
                    match slot {
                        Some((old, whole)) => {
                            if old != byte {
                                expected = Overlap::Different;
                            } else if expected == Overlap::None {
                                expected = Overlap::Same;
                            }
                            if new_wins(&new, whole) {
                                *slot = Some((*byte, new.clone()));
                            }
                        }
                        None => *slot = Some((*byte, new.clone())),
                    }
                }
                prop_assert_eq!(pieces.insert(at, &data, new_wins), expected);
            }
            for (offset, byte) in bytes.iter().enumerate() {
                let ours = pieces.at(offset as u64).and_then(|bytes| bytes.first()).copied();
                prop_assert_eq!(ours, byte.as_ref().map(|(byte, _)| *byte), "at {}", offset);
            }
            let held: usize = pieces.pieces.values().map(|piece| piece.bytes.len() + PIECE_BYTES).sum();
            prop_assert_eq!(pieces.held_bytes(), held);
        }
    }
}
