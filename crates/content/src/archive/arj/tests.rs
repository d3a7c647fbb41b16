//! The ARJ decoder on archives made here. Rule: none is damaged, cut or split without a word.

use super::{ArjDecoder, CHAPTER, FOLDER, GARBLED, GOES_ON, MAIN};
use crate::codec::lzh::tests::{blocks, fastest};
use crate::decoder::Decoder;
use crate::samples::{assert_flips_told, assert_truncation_told, children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant};
use lockgate_model::{Pool, Reason};

fn open() -> Box<dyn Decoder> {
    Box::new(ArjDecoder::new(&Pool::new(16 << 20)))
}

fn header(name: &str, content: &[u8], packed: &[u8], (flags, method, kind): (u8, u8, u8)) -> Vec<u8> {
    let mut fields = vec![30, 11, 1, 2, flags, method, kind, 0, 0, 0, 0x21, 0x50];
    fields.extend((packed.len() as u32).to_le_bytes());
    fields.extend((content.len() as u32).to_le_bytes());
    fields.extend(crc32fast::hash(content).to_le_bytes());
    fields.extend([0; 6]);
    fields.extend_from_slice(name.as_bytes());
    fields.extend([0, 0]);
    let length = (fields.len() as u16).to_le_bytes();
    let sum = crc32fast::hash(&fields).to_le_bytes();
    [&[0x60, 0xea][..], &length, &fields, &sum, &[0, 0], packed].concat()
}

/// Entries between the archive's header and its end.
fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    [&header("a.arj", b"", b"", (0, 0, MAIN))[..], &entries.concat(), b"\x60\xea\0\0"].concat()
}

#[test]
fn each_method() {
    let content = [prose(1, 1500), noise(2, 200), vec![b'z'; 900]].concat();
    let entry = |method, packed: &[u8]| header("sub\\a.txt", &content, packed, (0, method, 0));
    let packed = blocks(&content, 15, 5);
    let mut entries: Vec<_> = (1..=3).map(|method| entry(method, &packed)).collect();
    entries.extend([entry(0, &content), entry(4, &fastest(&content))]);
    entries.push(header("folder", b"", b"", (0, 0, FOLDER)));
    entries.push(header("chapter", b"", b"", (0, 0, CHAPTER)));
    let said = assert_cut_invariant(&open, &archive(&entries));
    assert!(!complains(&said), "{said:?}");
    assert_eq!(children(&said), vec![("sub/a.txt".to_owned(), content); 5]);
}

#[test]
fn damage_and_truncation_are_told() {
    let content = prose(3, 200);
    let entries =
        [header("a", &content, &blocks(&content, 15, 5), (0, 1, 0)), header("b", b"1", b"1", (0, 0, 0))];
    let whole = archive(&entries);
    assert_truncation_told(&open, &whole, whole.len());
    assert_flips_told(&open, &whole);
}

#[test]
fn what_is_encrypted_split_or_behind_the_end_is_said() {
    for (flags, method, reason) in
        [(GARBLED, 0, Reason::Encrypted), (GOES_ON, 0, Reason::Partial), (0, 9, Reason::Unsupported)]
    {
        let entries = [header("a", b"one", b"one", (flags, method, 0)), header("b", b"1", b"1", (0, 0, 0))];
        let said = assert_cut_invariant(&open, &archive(&entries));
        assert!(said.contains(&Said::Broken(reason)), "{said:?}");
        assert_eq!(children(&said)[1].1, b"1", "what follows is read");
    }
    let said = assert_cut_invariant(&open, &[&archive(&[])[..], b"more"].concat());
    assert!(matches!(said[..], [Said::Anomaly(_), Said::End]), "{said:?}");
    let folder = header("folder", b"1", b"1", (0, 0, FOLDER));
    let said = assert_cut_invariant(&open, &archive(&[folder]));
    assert!(said.iter().any(|s| matches!(s, Said::Anomaly(_))), "{said:?}");
}
