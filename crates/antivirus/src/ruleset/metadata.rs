//! `.cdb`: what a container says of a file in it. Rule: a condition on what no part tells makes the line a fault.
//!
//! `name:container:container's size:file name:size within:size:encrypted:position:checksum:unused[:min level[:max level]]`,
//! as the ClamAV manual has it in "Signatures based on container metadata"; `*` asks for nothing.

use super::target::{Layer, parse_layer};
use super::{Fault, Line, is_our_level, offset_in, optional_number};
use lockgate_model::FileType;
use lockgate_perl::{Flags, Perl};
use std::ops::RangeInclusive;

/// One line of a `.cdb` database.
pub(crate) struct Metadata<'a> {
    pub name: &'a str,
    pub described: Described,
}

/// What a file in a container is like.
pub(crate) struct Described {
    pub container: Option<Layer>,
    pub file_name: Option<Perl>,
    pub size: Option<RangeInclusive<u64>>,
    /// Which of the container's files it is, from 1.
    pub position: Option<RangeInclusive<u64>>,
    pub container_size: Option<RangeInclusive<u64>>,
    pub encrypted: Option<Encrypted>,
    /// CRC-32 of what is in it; `clamscan` reads the field and does not compare it.
    pub checksum: Option<u32>,
}

/// Whether a file in a container is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encrypted {
    Yes,
    No,
}

pub(crate) fn parse(line: &str) -> Result<Line<Metadata<'_>>, Fault> {
    let fields: Vec<&str> = line.split(':').collect();
    let [
        name,
        container,
        container_size,
        file_name,
        packed,
        size,
        encrypted,
        position,
        checksum,
        _,
        levels @ ..,
    ] = fields.as_slice()
    else {
        return Err(Fault::new("too few fields; expected ten, parted by colons"));
    };
    let here = |field: &str| offset_in(line, field) + 1;
    let first = optional_number(levels.first().copied(), "the least functionality level")?;
    let last = optional_number(levels.get(1).copied(), "the highest functionality level")?;
    if !is_our_level(first, last) {
        return Ok(Line::OtherEngine);
    }
    if name.is_empty() {
        return Err(Fault::at(1, "the name is missing"));
    }
    let container = match *container {
        "*" => None,
        text => Some(parse_layer(text).map_err(|fault| Fault::at(here(text), fault.reason))?),
    };
    let is_plain = matches!(container, Some(Layer::Is(FileType::Mail | FileType::Tar | FileType::Cpio)));
    let container_size =
        range(container_size).map_err(|_| Fault::at(here(container_size), "expected *, n or least-most"))?;
    let is_summed = matches!(container, Some(Layer::Is(FileType::Zip | FileType::Rar)));
    let checksum = match *checksum {
        // What other containers have there is nothing to go by, says the manual.
        text if text != "*" && is_summed => {
            let sum = u32::from_str_radix(text, 16);
            Some(sum.map_err(|_| Fault::at(here(text), "expected * or a CRC-32 in hexadecimal"))?)
        }
        _ => None,
    };
    let encrypted = match *encrypted {
        "*" => None,
        "0" => Some(Encrypted::No),
        "1" => Some(Encrypted::Yes),
        text => return Err(Fault::at(here(text), "expected *, 0 or 1")),
    };
    let packed_size = range(packed).map_err(|_| Fault::at(here(packed), "expected *, n or least-most"))?;
    let size = range(size).map_err(|_| Fault::at(here(size), "expected *, n or least-most"))?;
    let size = match (size, packed_size) {
        (size, None) => size,
        (None, packed) if is_plain => packed,
        _ => return Err(Fault::at(here(packed), "the size within the container is not compared yet")),
    };
    if encrypted == Some(Encrypted::Yes) && (size.is_some() || checksum.is_some()) {
        let reason = "what an encrypted file comes to is not known, neither its size nor its checksum";
        return Err(Fault::at(here(fields[6]), reason));
    }
    let position = range(position).map_err(|_| Fault::at(here(position), "expected *, n or least-most"))?;
    let file_name = match *file_name {
        "*" => None,
        text => Some(Perl::parse(text, Flags::default()).map_err(|unread| {
            Fault::at(here(text) + unread.at, format!("regular expression: {}", unread.what))
        })?),
    };
    let described = Described { container, file_name, size, position, container_size, encrypted, checksum };
    Ok(Line::Signature(Metadata { name, described }))
}

/// `*`, a number, or two with a hyphen between them.
fn range(text: &str) -> Result<Option<RangeInclusive<u64>>, std::num::ParseIntError> {
    if text == "*" {
        return Ok(None);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Ok(Some(first.parse()?..=last.parse()?))
}

lockgate_stored::stored!(
    struct Described { container, file_name, size, position, container_size, encrypted, checksum }
);
lockgate_stored::stored!(enum Encrypted { 0 => Yes, 1 => No });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let good = "Test.A:CL_TYPE_ZIP:*:\\.exe$:*:10-20:0:1:*:*";
        let Ok(Line::Signature(Metadata { name, described })) = parse(good) else { panic!() };
        assert_eq!((name, described.size, described.position), ("Test.A", Some(10..=20), Some(1..=1)));
        assert_eq!(described.container, Some(Layer::Is(FileType::Zip)));
        let cases = [
            ("Test.A:*:*:a:*:*:0:*:*", None),
            (":*:*:a:*:*:0:*:*:*", Some(1)),
            ("Test.A:*:x:a:*:*:0:*:*:*", Some(10)),
            ("Test.A:CL_TYPE_ZIP:*:a:*:*:0:*:xyz:*", Some(32)),
            ("Test.A:*:*:a:*:*:2:*:*:*", Some(18)),
            ("Test.A:*:*:a:9:*:0:*:*:*", Some(14)),
            ("Test.A:*:*:(:*:*:0:*:*:*", Some(13)),
            ("Test.A:*:*:a:*:7:1:*:*:*", Some(18)),
            ("Test.A:*:*:a:*:x:1:*:*:*", Some(16)),
            ("Test.A:X:*:a:*:*:0:*:*:*", Some(8)),
        ];
        for (line, column) in cases {
            let fault = parse(line).err().unwrap_or_else(|| panic!("{line}"));
            assert_eq!(fault.column, column, "{line}: {}", fault.reason);
        }
        assert!(matches!(parse("Test.A:*:*:a:*:*:0:*:*:*:300"), Ok(Line::OtherEngine)));
    }
}
