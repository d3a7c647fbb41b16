//! The header block of a tar entry (POSIX.1-2017, pax; GNU tar's manual). Rule: bytes to values; no state, no opinion.

use super::sparse::Map;

/// Everything in a tar comes in blocks of this size.
pub(super) const BLOCK_BYTES: u64 = 512;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    /// Folders, devices: names without content.
    Name,
    /// Another name for a file, or a pointer to one: what is unpacked has content by this name, too.
    Link,
    /// The name of the next entry, where it is too long for its header.
    LongName,
    /// The target of the next entry, where it is too long for its header.
    LongLink,
    /// Records about the next entry.
    Pax,
    /// Records about all entries that follow.
    PaxGlobal,
    /// A file of which only some ranges are stored.
    Sparse,
    /// Bytes that belong to no file: lists of names in a backup, access rights.
    Aside,
}

/// What a header block says.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) name: Vec<u8>,
    /// `None` where the number cannot be read.
    pub(super) size: Option<u64>,
    /// Of a sparse file: what is stored of it, and whether further blocks of this map follow.
    pub(super) map: Map,
    pub(super) has_more_map: bool,
}

impl Header {
    /// Reads a block of 512 bytes.
    pub(super) fn parse(block: &[u8]) -> Self {
        let name = text(field(block, 0, 100));
        let prefix = text(field(block, 345, 155));
        // GNU tar has other things where POSIX has the prefix.
        let name = if field(block, 257, 6) == b"ustar\0" && !prefix.is_empty() {
            [prefix, b"/", name].concat()
        } else {
            name.to_vec()
        };
        let kind = match field(block, 156, 1) {
            b"\0" | b"0" | b"7" if name.ends_with(b"/") => Kind::Name,
            b"1" | b"2" => Kind::Link,
            b"3" | b"4" | b"5" | b"6" | b"V" => Kind::Name,
            b"L" => Kind::LongName,
            b"K" => Kind::LongLink,
            b"x" | b"X" => Kind::Pax,
            b"g" => Kind::PaxGlobal,
            b"S" => Kind::Sparse,
            b"D" | b"A" | b"I" | b"N" => Kind::Aside,
            // What is not known is to be treated as a file, says POSIX.
            _ => Kind::File,
        };
        let has_more_map = kind == Kind::Sparse && field(block, 482, 1) != b"\0";
        let map = if kind == Kind::Sparse { Map::of_header(block) } else { Map::default() };
        Self { kind, name, size: number(field(block, 124, 12)), map, has_more_map }
    }
}

/// Whether the block's check sum is right; some writers summed signed bytes.
pub(crate) fn is_sum_right(block: &[u8]) -> bool {
    let Some(stated) = octal(field(block, 148, 8)) else { return false };
    let in_sum = |at: usize, byte: u8| if (148..156).contains(&at) { b' ' } else { byte };
    let unsigned: u64 = block.iter().enumerate().map(|(at, b)| u64::from(in_sum(at, *b))).sum();
    let signed: i64 = block.iter().enumerate().map(|(at, b)| i64::from(in_sum(at, *b) as i8)).sum();
    stated == unsigned || i64::try_from(stated) == Ok(signed)
}

fn field(block: &[u8], at: usize, length: usize) -> &[u8] {
    block.get(at..at + length).unwrap_or_default()
}

/// Up to the first NUL.
pub(super) fn text(bytes: &[u8]) -> &[u8] {
    memchr::memchr(0, bytes).map_or(bytes, |end| &bytes[..end])
}

/// Octal digits, or GNU's big-endian number behind a set top bit.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    match bytes.split_first()? {
        (0x80, rest) => rest.iter().try_fold(0_u64, |sum, b| {
            sum.checked_mul(256).map(|sum| sum | u64::from(*b)).filter(|sum| *sum <= i64::MAX as u64)
        }),
        (first, _) if *first >= 0x80 => None,
        _ => octal(bytes),
    }
}

/// Octal digits between spaces; none at all are 0.
fn octal(bytes: &[u8]) -> Option<u64> {
    let digits = text(bytes).trim_ascii();
    digits.iter().try_fold(0_u64, |sum, b| match b {
        b'0'..=b'7' => sum.checked_mul(8).map(|sum| sum + u64::from(b - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(b"      17 \0\0\0"), Some(15));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(number(b"0000000009\0\0"), None);
        assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\0\x01\x02"), Some(258));
        assert_eq!(number(b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"), None);
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None);
    }
}
