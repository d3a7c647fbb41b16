//! Whether an archive begins at a place. Rule: a header counts whole, by its check sum where it has one.

use crate::field::{u16_le, u32_le, u64_le};

/// No header that counts is longer.
pub(super) const HEADER_BYTES_MAX: usize = 260;

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    No,
    /// More of it must be seen.
    Perhaps,
    /// An archive, of that length if it is known.
    Archive(Option<u64>),
    /// The end of a line, and behind it what a script unpacks (`gzexe`, `bzexe`, `makeself`): the rest of itself, packed.
    Line,
}

/// What a place is where these bytes begin.
pub(super) fn judge(bytes: &[u8]) -> Verdict {
    let Some(first) = bytes.first() else { return Verdict::Perhaps };
    let by_magic = match first {
        b'7' => seven_zip(bytes),
        b'R' => rar(bytes),
        b'M' => cab(bytes),
        0x60 => arj(bytes),
        b'\n' => line(bytes),
        _ => Verdict::No,
    };
    if by_magic == Verdict::No { lha(bytes) } else { by_magic }
}

/// Whether the magic stands there; or the beginning of it, as far as the bytes go.
fn magic(bytes: &[u8], at: usize, magic: &[u8]) -> Verdict {
    let there = bytes.get(at..).unwrap_or_default();
    let length = there.len().min(magic.len());
    match there[..length] == magic[..length] {
        false => Verdict::No,
        true if length < magic.len() => Verdict::Perhaps,
        true => Verdict::Archive(None),
    }
}

/// A magic, and a test of so many bytes once they are there.
fn header(bytes: &[u8], start: &[u8], length: usize, test: impl Fn(&[u8]) -> Option<Verdict>) -> Verdict {
    match magic(bytes, 0, start) {
        Verdict::Archive(_) if bytes.len() < length => Verdict::Perhaps,
        Verdict::Archive(_) => test(bytes).unwrap_or(Verdict::No),
        other => other,
    }
}

/// The start header, by its check sum.
fn seven_zip(bytes: &[u8]) -> Verdict {
    header(bytes, b"7z\xbc\xaf\x27\x1c\0", 32, |bytes| {
        let is_right = crc32fast::hash(bytes.get(12..32)?) == u32_le(bytes, 8);
        let length = u64_le(bytes, 12).checked_add(u64_le(bytes, 20))?.checked_add(32)?;
        is_right.then_some(Verdict::Archive(Some(length)))
    })
}

/// The marker, and a main header or, from RAR 5 on, one that says that all is encrypted.
fn rar(bytes: &[u8]) -> Verdict {
    header(bytes, b"Rar!\x1a\x07", 16, |bytes| {
        let is_one = match bytes.get(6)? {
            0 => bytes[9] == 0x73 && (13..4096).contains(&u16_le(bytes, 12)),
            1 => bytes[7] == 0 && (2..0x80).contains(&bytes[12]) && matches!(bytes[13], 1 | 4),
            _ => false,
        };
        is_one.then_some(Verdict::Archive(None))
    })
}

/// A header whose reserved words are 0 and whose version is 1.3.
fn cab(bytes: &[u8]) -> Verdict {
    header(bytes, b"MSCF\0\0\0\0", 36, |bytes| {
        let (length, first_file) = (u32_le(bytes, 8), u32_le(bytes, 16));
        let is_one = u32_le(bytes, 12) == 0
            && u32_le(bytes, 20) == 0
            && bytes[24..26] == [3, 1]
            && u16_le(bytes, 26) > 0
            && u16_le(bytes, 28) > 0
            && (36..length).contains(&first_file);
        is_one.then_some(Verdict::Archive(Some(length.into())))
    })
}

/// The main header, by its check sum.
fn arj(bytes: &[u8]) -> Verdict {
    let begins = match magic(bytes, 0, b"\x60\xea") {
        Verdict::Archive(_) if bytes.len() < 11 => Verdict::Perhaps,
        other => other,
    };
    if !matches!(begins, Verdict::Archive(_)) {
        return begins;
    }
    let length = usize::from(u16_le(bytes, 2));
    // The type, behind the versions and flags, says that it is the archive's own header.
    let is_one = (30..HEADER_BYTES_MAX - 8).contains(&length)
        && (30..=length).contains(&usize::from(bytes[4]))
        && bytes[10] == 2;
    match bytes.get(4..8 + length) {
        _ if !is_one => Verdict::No,
        None => Verdict::Perhaps,
        Some(rest) if crc32fast::hash(&rest[..length]) == u32_le(rest, length) => Verdict::Archive(None),
        Some(_) => Verdict::No,
    }
}

/// What begins behind a line's end: its magic, so many bytes with both, and what else there must be.
type Packed = (&'static [u8], usize, fn(&[u8]) -> bool);

/// Each by all of its header that is not free; of bzip2, the first block's too.
const PACKED: [Packed; 7] = [
    (b"\n\x1f\x8b\x08", 11, |gzip| {
        gzip[4] < 0x20 && matches!(gzip[9], 0 | 2 | 4) && matches!(gzip[10], 0..=13 | 255)
    }),
    (b"\nBZh", 11, |bzip2| matches!(bzip2[4], b'1'..=b'9') && bzip2[5..11] == *b"1AY&SY"),
    (b"\n\xfd7zXZ\0\0", 13, |xz| crc32fast::hash(&xz[7..9]) == u32_le(xz, 9)),
    // The bit that is reserved, in the frame's descriptor.
    (b"\n\x28\xb5\x2f\xfd", 6, |zstd| zstd[5] & 8 == 0),
    // Properties as programs have them, a dictionary of 2^n bytes, a length that is unknown or below 1 TiB.
    (b"\n\x5d\0\0", 14, |lzma| {
        let (dictionary, length) = (u32_le(lzma, 2), u64_le(lzma, 6));
        dictionary.is_power_of_two() && (length == u64::MAX || length >> 40 == 0)
    }),
    // The dictionary's bits, and of the last the bits of a code.
    (b"\nLZIP\x01", 7, |lzip| matches!(lzip[6] & 31, 12..=29)),
    (b"\n\x1f\x9d", 4, |compress| matches!(compress[3] & 0x7f, 9..=16)),
];

/// The end of a line that something packed begins behind.
fn line(bytes: &[u8]) -> Verdict {
    let each = PACKED.iter().map(|(magic, length, is_one)| {
        header(bytes, magic, *length, |bytes| is_one(bytes).then_some(Verdict::Line))
    });
    { each }.find(|verdict| *verdict != Verdict::No).unwrap_or(Verdict::No)
}

/// `-lh5-` and its kin, in a header that sums up (levels 0 and 1), or whose first extension is its check sum (level 2).
fn lha(bytes: &[u8]) -> Verdict {
    let method = |at: usize, is_one: fn(u8) -> bool| match bytes.get(at) {
        None => Verdict::Perhaps,
        Some(byte) if is_one(*byte) => Verdict::Archive(None),
        Some(_) => Verdict::No,
    };
    let is_method = |b: u8| matches!(b, b'0'..=b'8' | b'd' | b's' | b'x');
    for test in [
        magic(bytes, 2, b"-l"),
        method(4, |b| matches!(b, b'h' | b'z')),
        method(5, is_method),
        magic(bytes, 6, b"-"),
    ] {
        if !matches!(test, Verdict::Archive(_)) {
            return test;
        }
    }
    if bytes.len() < 28 {
        return Verdict::Perhaps;
    }
    let length = usize::from(bytes[0]);
    match bytes[20] {
        0 | 1 if length < 22 => Verdict::No,
        0 | 1 => match bytes.get(2..2 + length) {
            None => Verdict::Perhaps,
            Some(rest) if rest.iter().fold(0_u8, |sum, b| sum.wrapping_add(*b)) == bytes[1] => {
                Verdict::Archive(None)
            }
            Some(_) => Verdict::No,
        },
        2 if u16_le(bytes, 0) >= 26 && bytes[24..27] == [5, 0, 0] => Verdict::Archive(None),
        _ => Verdict::No,
    }
}
