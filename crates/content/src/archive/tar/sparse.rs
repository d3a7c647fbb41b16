//! Files with holes (GNU tar's manual, "Storing Sparse Files"). Rule: a map that makes no sense is none.
//!
//! What is stored are ranges; between them stand zeros. The map of ranges stands in the header and in blocks behind it (the
//! oldest form), in pax records (0.0 and 0.1), or as decimal lines before the content (1.0).

use super::header::number;

/// Ranges that are remembered of a file.
const RANGES_MAX: usize = 1024;
/// A range in a block: offset and length, 12 octal digits each.
const RANGE_BYTES: usize = 24;
/// Where a header's four ranges stand, and after them the size with the holes.
const RANGES_AT: usize = 386;
const SIZE_AT: usize = 483;
/// Ranges of a block that continues the map.
const MORE_RANGES: usize = 21;

/// Which ranges a file stores, as far as they have been told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Map {
    ranges: Vec<(u64, u64)>,
    size: Option<u64>,
    is_wrong: bool,
}

/// A file with holes on its way.
#[derive(Clone, Debug)]
pub(super) struct Sparse {
    map: Map,
    /// The next range, and where in the file the next byte stands.
    next: usize,
    at: u64,
}

/// What comes next of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// So many zeros, which are not stored.
    Hole(u64),
    /// So many bytes that are.
    Stored(u64),
    End,
}

impl Map {
    /// What a header of the oldest form says.
    pub(super) fn of_header(block: &[u8]) -> Self {
        let mut map =
            Self { size: number(block.get(SIZE_AT..SIZE_AT + 12).unwrap_or_default()), ..Self::default() };
        map.add_block(block.get(RANGES_AT..).unwrap_or_default(), 4);
        map
    }

    /// A block that continues it.
    pub(super) fn go_on(&mut self, block: &[u8]) {
        self.add_block(block, MORE_RANGES);
    }

    fn add_block(&mut self, block: &[u8], count: usize) {
        for range in block.chunks_exact(RANGE_BYTES).take(count) {
            let (offset, length) = range.split_at(RANGE_BYTES / 2);
            if range[0] == 0 {
                return;
            }
            match (number(offset), number(length)) {
                (Some(offset), Some(length)) => self.add(offset, length),
                _ => self.is_wrong = true,
            }
        }
    }

    /// One more range.
    pub(super) fn add(&mut self, offset: u64, length: u64) {
        self.is_wrong |= self.ranges.len() == RANGES_MAX;
        if !self.is_wrong {
            self.ranges.push((offset, length));
        }
    }

    /// How long the file is with its holes.
    pub(super) fn set_size(&mut self, size: Option<u64>) {
        self.is_wrong |= size.is_none();
        self.size = size;
    }

    /// All ranges at once, with commas between the numbers; they take the place of what was said before.
    pub(super) fn read(&mut self, text: &[u8]) {
        self.ranges.clear();
        let mut numbers = text.split(|byte| *byte == b',').map(decimal);
        while let Some(offset) = numbers.next() {
            match (offset, numbers.next().flatten()) {
                (Some(offset), Some(length)) => self.add(offset, length),
                _ => self.is_wrong = true,
            }
        }
    }

    /// The file, of which so many bytes are stored; `None` where the map does not fit that.
    pub(super) fn begin(self, stored: u64) -> Option<Sparse> {
        let size = self.size?;
        let (mut at, mut sum) = (0_u64, 0_u64);
        for (offset, length) in &self.ranges {
            if *offset < at {
                return None;
            }
            at = offset.checked_add(*length)?;
            sum = sum.checked_add(*length)?;
        }
        let is_right = !self.is_wrong && at <= size && size <= i64::MAX as u64 && sum == stored;
        is_right.then_some(Sparse { map: self, next: 0, at: 0 })
    }
}

impl Sparse {
    /// What stands where the file has come to.
    pub(super) fn piece(&mut self) -> Piece {
        while let Some((offset, length)) = self.map.ranges.get(self.next) {
            if self.at < *offset {
                return Piece::Hole(offset - self.at);
            }
            let end = offset + length;
            if self.at < end {
                return Piece::Stored(end - self.at);
            }
            self.next += 1;
        }
        match self.map.size.unwrap_or(0).saturating_sub(self.at) {
            0 => Piece::End,
            hole => Piece::Hole(hole),
        }
    }

    /// So many bytes of that have been given.
    pub(super) fn pass(&mut self, bytes: u64) {
        self.at += bytes;
    }
}

/// The lines before the content of form 1.0: how many ranges, then offset and length of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    map: Map,
    left: Option<u64>,
    offset: Option<u64>,
    digits: Vec<u8>,
}

impl Lines {
    /// Lines of a file of that size.
    pub(super) fn new(map: Map) -> Self {
        Self { map, ..Self::default() }
    }

    /// One byte more; whether the last line has ended.
    pub(super) fn push(&mut self, byte: u8) -> bool {
        const DIGITS_MAX: usize = 20;
        // Some readers pass over lines that begin so.
        let is_comment = self.digits.first() == Some(&b'#');
        if byte != b'\n' {
            self.map.is_wrong |= self.digits.len() == DIGITS_MAX && !is_comment;
            self.digits.push(byte);
            self.digits.truncate(DIGITS_MAX);
            return self.map.is_wrong;
        }
        let number = decimal(&std::mem::take(&mut self.digits));
        if is_comment {
            return false;
        }
        match (number, self.left, self.offset.take()) {
            (None, ..) => self.map.is_wrong = true,
            (_, None, _) => self.left = number,
            (_, _, None) => self.offset = number,
            (Some(length), Some(left), Some(offset)) => {
                self.map.add(offset, length);
                self.left = Some(left.saturating_sub(1));
            }
        }
        self.map.is_wrong || self.left == Some(0)
    }

    /// The map.
    pub(super) fn end(self) -> Map {
        self.map
    }
}

/// Decimal digits.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if is_plain { std::str::from_utf8(digits).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &[u8], size: u64) -> Map {
        let mut map = Map { size: Some(size), ..Map::default() };
        map.read(text);
        map
    }

    #[test]
    fn holes_stand_between_ranges() {
        let mut sparse = map(b"0,2,5,3,8,0", 10).begin(5).unwrap();
        let expected =
            [Piece::Stored(2), Piece::Hole(3), Piece::Stored(3), Piece::Hole(2), Piece::End, Piece::End];
        for piece in expected {
            assert_eq!(sparse.piece(), piece);
            if let Piece::Hole(bytes) | Piece::Stored(bytes) = piece {
                sparse.pass(bytes);
            }
        }
    }

    #[test]
    fn a_map_makes_sense_or_is_none() {
        for (text, size, stored) in [
            (&b"0,2"[..], 10, 3),
            (b"5,3,0,2", 10, 5),
            (b"0,2,1,2", 10, 4),
            (b"0,11", 10, 11),
            (b"0,2,3", 10, 2),
            (b"0,x", 10, 0),
            (b"18446744073709551615,1", 10, 1),
            (b"0,1", u64::MAX, 1),
        ] {
            assert!(map(text, size).begin(stored).is_none(), "{text:?}");
        }
        let many = vec![b"0,0".to_vec(); RANGES_MAX + 1].join(&b","[..]);
        assert!(map(&many, 10).begin(0).is_none());
        assert!(Map::default().begin(0).is_none(), "of no size");
    }

    #[test]
    fn lines_end_by_their_count() {
        for (text, is_right) in
            [(&b"2\n0\n1\n9\n1\n"[..], true), (b"2\n0\nx\n", false), (b"123456789012345678901", false)]
        {
            let mut lines = Lines::new(Map { size: Some(10), ..Map::default() });
            let ends: Vec<bool> = text.iter().map(|byte| lines.push(*byte)).collect();
            assert!(ends[..ends.len() - 1].iter().all(|end| !end) && ends[ends.len() - 1], "{text:?}");
            assert_eq!(lines.end().begin(2).is_some(), is_right);
        }
    }
}
