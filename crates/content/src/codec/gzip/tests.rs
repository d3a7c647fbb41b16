//! gzip at every cut. Rule: members of our own making.

use super::GzipDecoder;
use crate::decoder::{Decoder, Entry};
use crate::samples::{
    LONG, assert_flips_told, assert_truncation_told, children, complains, gzip, gzip_with, noise, prose,
};
use crate::trace::{Said, assert_cut_invariant};
use lockgate_model::Reason;

fn open() -> Box<dyn Decoder> {
    Box::new(GzipDecoder::new())
}

fn child(name: Option<&str>, content: &[u8]) -> Vec<Said> {
    let entry = Entry { label: name.unwrap_or("1").into(), name: name.map(Into::into), declared: None };
    let bytes = (!content.is_empty()).then(|| Said::Bytes(content.to_vec()));
    [Said::Open(entry)].into_iter().chain(bytes).chain([Said::Close, Said::End]).collect()
}

#[test]
fn one_member() {
    for content in [vec![], b"a".to_vec(), prose(1, LONG), noise(2, LONG), vec![0; LONG]] {
        assert_eq!(assert_cut_invariant(&open, &gzip(&content)), child(None, &content));
    }
}

#[test]
fn a_header_with_everything() {
    let announced = b"\x03\0abcb\xe4r.exe\0a comment\0";
    let mut header = vec![0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 3];
    header.extend_from_slice(announced);
    let crc = (crc32fast::hash(&header) as u16).to_le_bytes();
    let right = gzip_with(0x1e, &[&announced[..], &crc].concat(), b"content");
    assert_eq!(assert_cut_invariant(&open, &right), child(Some("bär.exe"), b"content"));
    let wrong = gzip_with(0x1e, &[&announced[..], &[!crc[0], crc[1]]].concat(), b"content");
    let said = assert_cut_invariant(&open, &wrong);
    assert!(matches!(said[0], Said::Anomaly(_)));
    assert_eq!(said[1..], child(Some("bär.exe"), b"content"));
}

#[test]
fn members_make_one_file() {
    let two = [gzip(b"one "), gzip_with(8, b"name\0", b"two")].concat();
    assert_eq!(assert_cut_invariant(&open, &two), child(None, b"one two"));
    let padded = [two, vec![0; 700]].concat();
    assert_eq!(assert_cut_invariant(&open, &padded), child(None, b"one two"));
}

#[test]
fn garbage_behind_the_end() {
    for garbage in [&b"x"[..], b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x07", b"\0\0\0x"] {
        let said = assert_cut_invariant(&open, &[&gzip(b"one"), garbage].concat());
        assert!(
            matches!(said[..], [_, _, Said::Close, Said::Anomaly(_), Said::End]),
            "{garbage:?}: {said:?}"
        );
    }
}

#[test]
fn wrong_sums_are_told_and_later_members_read() {
    for at in [8, 1] {
        let mut file = gzip(b"one");
        let place = file.len() - at;
        file[place] ^= 1;
        file.extend_from_slice(&gzip(b"two"));
        let said = assert_cut_invariant(&open, &file);
        assert!(said.contains(&Said::Incomplete(Reason::Damaged)));
        assert_eq!(children(&said), [("1".into(), b"onetwo".to_vec())]);
    }
}

#[test]
fn damage_keeps_what_was_before_it() {
    let mut file = gzip(&prose(3, LONG));
    let middle = file.len() / 2;
    file[middle..middle + 64].fill(0xff);
    let said = assert_cut_invariant(&open, &file);
    assert!(complains(&said));
    assert!(!children(&said)[0].1.is_empty());
}

#[test]
fn other_methods_and_flags() {
    let mut file = gzip(b"one");
    file[2] = 7;
    assert_eq!(assert_cut_invariant(&open, &file), [Said::Incomplete(Reason::Unsupported), Said::End]);
    let mut file = gzip(b"one");
    file[3] = 0x20;
    let said = assert_cut_invariant(&open, &file);
    assert_eq!(said[0], Said::Incomplete(Reason::Unsupported));
    assert_eq!(children(&said), [("1".into(), b"one".to_vec())]);
}

#[test]
fn truncated_and_flipped() {
    let file = gzip_with(8, b"name\0", &prose(4, 300));
    assert_truncation_told(&open, &file, file.len());
    assert_flips_told(&open, &file);
    let two = [file.clone(), gzip(b"two")].concat();
    for length in file.len() + 3..two.len() {
        assert!(complains(&crate::trace::trace(&mut *open(), [&two[..length]])), "{length}");
    }
}
