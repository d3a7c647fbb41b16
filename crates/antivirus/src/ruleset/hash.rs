//! Lists of digests: `hash:size:name[:min level[:max level]]`, or with the size first. Rule: the hash's length says its kind.

use super::{Fault, Line, is_our_level, offset_in, optional_number};

/// A digest of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Digest {
    Md5([u8; 16]),
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

/// One line of a hash database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HashSignature<'a> {
    pub digest: Digest,
    /// How long the file is; `None` stands for any length.
    pub size: Option<u64>,
    pub name: &'a str,
}

/// What stands first in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// `.hdb`, `.hsb`, `.imp`, `.fp`, `.sfp`.
    HashFirst,
    /// `.mdb`, `.msb`.
    SizeFirst,
}

pub(crate) fn parse(line: &str, order: Order) -> Result<Line<HashSignature<'_>>, Fault> {
    let mut fields = line.split(':');
    let first = fields.next().unwrap_or_default();
    let (Some(second), Some(name)) = (fields.next(), fields.next()) else {
        return Err(Fault::new("too few fields; expected hash, size and name"));
    };
    let (hex, size) = match order {
        Order::HashFirst => (first, second),
        Order::SizeFirst => (second, first),
    };
    let first = optional_number(fields.next(), "the least functionality level")?;
    let last = optional_number(fields.next(), "the highest functionality level")?;
    if fields.next().is_some() {
        return Err(Fault::new("too many fields; expected hash, size, name, least level, highest level"));
    }
    let digest = digest(hex).map_err(|reason| Fault::at(offset_in(line, hex) + 1, reason))?;
    let size = match size {
        "*" => None,
        size => Some(size.parse().map_err(|_| {
            Fault::at(offset_in(line, size) + 1, format!("size {size:?} is neither a number nor *"))
        })?),
    };
    if name.is_empty() {
        return Err(Fault::at(offset_in(line, name) + 1, "the name is missing"));
    }
    if !is_our_level(first, last) {
        return Ok(Line::OtherEngine);
    }
    Ok(Line::Signature(HashSignature { digest, size, name }))
}

fn digest(hex: &str) -> Result<Digest, String> {
    match hex.len() {
        32 => from_hex(hex).map(Digest::Md5),
        40 => from_hex(hex).map(Digest::Sha1),
        64 => from_hex(hex).map(Digest::Sha256),
        _ => None,
    }
    .ok_or_else(|| {
        format!(
            "hash of {} characters; expected 32 (MD5), 40 (SHA1) or 64 (SHA256) hexadecimal digits",
            hex.len()
        )
    })
}

pub(crate) fn from_hex<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digits = hex.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_hash_databases() {
        let md5 = "00112233445566778899aabbccddeeFF";
        let bytes: [u8; 16] = from_hex(md5).unwrap();
        let take = |size, name: &'static str| {
            Ok(Line::Signature(HashSignature { digest: Digest::Md5(bytes), size, name }))
        };
        assert_eq!(parse(&format!("{md5}:68:Test.A"), Order::HashFirst), take(Some(68), "Test.A"));
        assert_eq!(parse(&format!("{md5}:*:Test.A:73"), Order::HashFirst), take(None, "Test.A"));
        assert_eq!(parse(&format!("{md5}:68:Test.A:1:213"), Order::HashFirst), take(Some(68), "Test.A"));
        assert_eq!(parse(&format!("{md5}:68:Test.A:1:90"), Order::HashFirst), Ok(Line::OtherEngine));
        assert_eq!(parse(&format!("{md5}:68:Test.A:214"), Order::HashFirst), Ok(Line::OtherEngine));
        assert_eq!(parse(&format!("68:{md5}:Test.A"), Order::SizeFirst), take(Some(68), "Test.A"));
        assert_eq!(parse(&format!("*:{md5}:Test.A"), Order::SizeFirst), take(None, "Test.A"));
    }

    #[test]
    fn each_fault_says_where() {
        let md5 = "00112233445566778899aabbccddeeff";
        let cases = [
            (md5.to_owned(), None),
            (format!("{md5}:68"), None),
            (format!("{md5}:6x:Test.A"), Some(34)),
            (format!("{md5}:68:"), Some(37)),
            (format!("{md5}0:68:Test.A"), Some(1)),
            ("0011223344556677 899aabbccddeeff:68:Test.A".to_owned(), Some(1)),
            (format!("{md5}:68:Test.A:x"), None),
            (format!("{md5}:68:Test.A:1:2:3"), None),
        ];
        for (line, column) in cases {
            let fault = parse(&line, Order::HashFirst).expect_err(&line);
            assert_eq!(fault.column, column, "{line}: {}", fault.reason);
        }
    }
}
