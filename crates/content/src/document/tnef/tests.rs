//! Files of our own making. Rule: as Outlook orders its attributes, then in other orders, then damaged.

use super::*;
use crate::document::lzfu::tests::compress;
use crate::samples::{children, complains, prose};
use crate::trace::{Said, assert_cut_invariant, trace};

fn open() -> Box<dyn Decoder> {
    Box::new(decoder())
}

fn attribute(id: u16, content: &[u8]) -> Vec<u8> {
    let sum = content.iter().fold(0u16, |sum, byte| sum.wrapping_add((*byte).into()));
    let mut bytes = vec![2];
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&[6, 0]);
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn file(attributes: &[Vec<u8>]) -> Vec<u8> {
    [b"\x78\x9f\x3e\x22\x01\0".to_vec(), attributes.concat()].concat()
}

/// A property with one value of variable size.
fn property(kind: u16, id: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [kind.to_le_bytes(), id.to_le_bytes()].concat();
    if id >= 0x8000 {
        bytes.extend_from_slice(&[7; 16]);
        bytes.extend_from_slice(b"\x01\0\0\0\x06\0\0\0a\0b\0\0\0\0\0");
    }
    bytes.extend_from_slice(b"\x01\0\0\0");
    bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn properties(all: &[Vec<u8>]) -> Vec<u8> {
    [(all.len() as u32).to_le_bytes().to_vec(), all.concat()].concat()
}

fn names(said: &[Said]) -> Vec<(&str, Option<&str>)> {
    let opened = said.iter().filter_map(|s| if let Said::Open(entry) = s { Some(entry) } else { None });
    opened.map(|entry| (&entry.label[..], entry.name.as_deref())).collect()
}

#[test]
fn attachments_and_bodies() {
    let rtf = prose(1, 5000);
    let message = properties(&[
        property(0x001e, 0x8123, b"named"),
        b"\x03\0\x15\x0c\x01\0\0\0".to_vec(),
        b"\x02\x10\x16\x0c\x03\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0".to_vec(),
        property(0x0102, 0x1009, &compress(&rtf)),
    ]);
    let object = [&[9; 16][..], b"an object"].concat();
    let second =
        properties(&[property(0x001f, 0x3707, b"l\0.\0e\0x\0e\0\0\0"), property(0x000d, 0x3701, &object)]);
    let bytes = file(&[
        attribute(0x9006, &[0; 4]),
        attribute(id::BODY, b"body"),
        attribute(id::MESSAGE_PROPERTIES, &message),
        attribute(id::ATTACHMENT_BEGIN, &[0; 14]),
        attribute(id::TITLE, b"a.exe\0"),
        attribute(id::DATA, b"first"),
        attribute(id::ATTACHMENT_BEGIN, &[0; 14]),
        attribute(id::ATTACHMENT_PROPERTIES, &second),
    ]);
    let said = assert_cut_invariant(&open, &bytes);
    let expected = [
        ("body".to_owned(), b"body".to_vec()),
        ("body.rtf".to_owned(), rtf),
        ("attachment.1".to_owned(), b"first".to_vec()),
        ("attachment.2".to_owned(), b"an object".to_vec()),
    ];
    assert_eq!(children(&said), expected);
    assert!(!complains(&said), "{said:?}");
    assert_eq!(names(&said)[2..], [("attachment.1", Some("a.exe")), ("attachment.2", Some("l.exe"))]);
    for length in 0..bytes.len() {
        let said = trace(&mut *open(), [&bytes[..length]]);
        assert!(complains(&said) || bytes[length..].starts_with(&[2]), "cut off at {length}");
    }
}

#[test]
fn names_that_come_late() {
    let long = properties(&[property(0x001e, 0x3707, b"long.exe\0")]);
    let bytes = file(&[
        attribute(id::ATTACHMENT_BEGIN, &[0; 14]),
        attribute(id::DATA, b"first"),
        attribute(id::TITLE, b"a.exe\0"),
        attribute(id::ATTACHMENT_BEGIN, &[0; 14]),
        attribute(id::TITLE, b"LONG~1.EXE\0"),
        attribute(id::DATA, b"second"),
        attribute(id::ATTACHMENT_PROPERTIES, &long),
    ]);
    let said = assert_cut_invariant(&open, &bytes);
    let expected = [
        ("attachment.1", None),
        ("attachment.1", Some("a.exe")),
        ("attachment.2", Some("LONG~1.EXE")),
        ("attachment.2", Some("long.exe")),
    ];
    assert_eq!(names(&said), expected);
}

#[test]
fn damage_is_told() {
    let mut bytes = file(&[
        attribute(id::DATA, b"first"),
        attribute(id::MESSAGE_PROPERTIES, &properties(&[property(0x102, 0x1013, b"html")])),
    ]);
    for bit in 6 * 8..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let said = trace(&mut *open(), [&bytes[..]]);
        assert_eq!(trace(&mut *open(), bytes.chunks(1)), said, "bit {bit}");
        let is_type = matches!(bit / 8, 9 | 10);
        let is_level = bit == 6 * 8 || bit == 6 * 8 + 1;
        assert!(complains(&said) || is_type || is_level || !said.is_empty(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(complains(&trace(&mut *open(), [&[&file(&[])[..], b"junk behind it"].concat()[..]])));
}
