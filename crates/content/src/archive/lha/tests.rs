//! The LHA decoder on archives made here. Rule: none is damaged or cut without a word.

use super::LhaDecoder;
use crate::archive::packed::crc16;
use crate::codec::lzh::tests::{adapted, blocks, lz5, lzs};
use crate::decoder::Decoder;
use crate::samples::{assert_flips_told, assert_truncation_told, children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{Pool, Reason};

fn open() -> Box<dyn Decoder> {
    Box::new(LhaDecoder::new(&Pool::new(16 << 20)))
}

/// One entry with a header of this level.
fn entry(level: u8, method: &[u8; 5], name: &str, content: &[u8], packed: &[u8]) -> Vec<u8> {
    let extension = |kind: u8, content: &[u8], width: usize| {
        let length = (1 + content.len() + width) as u32;
        (length.to_le_bytes()[..width].to_vec(), [&[kind][..], content].concat())
    };
    let mut fixed = method.to_vec();
    fixed.extend((packed.len() as u32).to_le_bytes());
    fixed.extend((content.len() as u32).to_le_bytes());
    fixed.extend([0, 0, 0x21, 0x50, 0x20, level]);
    let crc = crc16(0, content).to_le_bytes();
    if level < 2 {
        let (length, name_extension) = extension(1, name.as_bytes(), 2);
        if level == 0 {
            fixed.push(name.len() as u8);
            fixed.extend_from_slice(name.as_bytes());
            fixed.extend(crc);
        } else {
            // The sizes of extensions count as packed.
            let behind = (packed.len() + name_extension.len() + 2) as u32;
            fixed[5..9].copy_from_slice(&behind.to_le_bytes());
            fixed.push(0);
            fixed.extend(crc);
            fixed.push(b'U');
            fixed.extend_from_slice(&length);
        }
        let sum = fixed.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        let mut entry = [&[fixed.len() as u8, sum][..], &fixed].concat();
        if level == 1 {
            entry.extend_from_slice(&name_extension);
            entry.extend([0, 0]);
        }
        return [&entry[..], packed].concat();
    }
    let width = if level == 2 { 2 } else { 4 };
    fixed.extend(crc);
    fixed.push(b'U');
    if level == 3 {
        fixed.extend([0; 4]);
    }
    let mut sum_at = 0;
    for (kind, content) in [(0, &[0, 0][..]), (2, b"sub\xff"), (1, name.as_bytes())] {
        let (length, body) = extension(kind, content, width);
        fixed.extend_from_slice(&length);
        if kind == 0 {
            sum_at = fixed.len() + 3;
        }
        fixed.extend_from_slice(&body);
    }
    fixed.extend(vec![0; width]);
    let whole = (fixed.len() + 2) as u32;
    let mut entry = [&[4, 0][..], &fixed].concat();
    match level {
        2 => entry[..2].copy_from_slice(&whole.to_le_bytes()[..2]),
        _ => entry[24..28].copy_from_slice(&whole.to_le_bytes()),
    }
    let sum = crc16(0, &entry).to_le_bytes();
    entry[sum_at..sum_at + 2].copy_from_slice(&sum);
    [&entry[..], packed].concat()
}

#[test]
fn each_level_and_method() {
    let content = [prose(1, 400), noise(2, 50), vec![b'z'; 300]].concat();
    let packed: [(&[u8; 5], Vec<u8>); 9] = [
        (b"-lh0-", content.clone()),
        (b"-lz4-", content.clone()),
        (b"-lh1-", adapted(&content)),
        (b"-lh4-", blocks(&content, 12, 4)),
        (b"-lh5-", blocks(&content, 13, 4)),
        (b"-lh6-", blocks(&content, 15, 5)),
        (b"-lh7-", blocks(&content, 16, 5)),
        (b"-lzs-", lzs(&content)),
        (b"-lz5-", lz5(&content)),
    ];
    for level in 0..=3 {
        let mut archive = Vec::new();
        for (method, packed) in &packed {
            archive.extend(entry(level, method, "name.txt", &content, packed));
        }
        archive.extend(entry(level, b"-lhd-", "folder/", b"", b""));
        assert_cut_invariant(&open, &archive);
        for end in [&b"\0"[..], b"", b"\0\0\x1a\x1a"] {
            let said = trace(&mut *open(), [&archive[..], end]);
            assert!(!complains(&said), "{level}: {said:?}");
            let name = if level < 2 { "name.txt" } else { "sub/name.txt" };
            assert_eq!(children(&said), vec![(name.to_owned(), content.clone()); packed.len()], "{level}");
        }
    }
}

#[test]
fn damage_and_truncation_are_told() {
    let content = prose(3, 300);
    for level in 0..=3 {
        let whole = [entry(level, b"-lh5-", "a", &content, &blocks(&content, 13, 4)), vec![0]].concat();
        let last = whole.len() - 1;
        assert_truncation_told(&open, &whole, last);
        assert_flips_told(&open, &whole);
    }
}

#[test]
fn what_is_unknown_or_behind_the_end_is_said() {
    let unknown = entry(2, b"-pm2-", "a", b"content", b"content");
    let known = entry(2, b"-lh0-", "b", b"content", b"content");
    let said = assert_cut_invariant(&open, &[&unknown[..], &known, b"\0and more"].concat());
    assert!(said.contains(&Said::Broken(Reason::Unsupported)), "{said:?}");
    assert!(matches!(said[..], [.., Said::Close, Said::Anomaly(_), Said::End]), "{said:?}");
    let said = trace(&mut LhaDecoder::new(&Pool::new(1000)), [&entry(0, b"-lh7-", "a", b"1", b"2")[..]]);
    assert!(said.contains(&Said::Broken(Reason::Budget)), "{said:?}");
}

#[test]
fn names_in_japanese() {
    let mut archive = entry(0, b"-lh0-", "????.txt", b"1", b"1");
    archive[22..26].copy_from_slice(b"\x8a\xbf\x8e\x9a");
    archive[1] = archive[2..32].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    let said = assert_cut_invariant(&open, &archive);
    assert!(!complains(&said), "{said:?}");
    assert_eq!(children(&said), [("\u{6f22}\u{5b57}.txt".to_owned(), b"1".to_vec())]);
}
