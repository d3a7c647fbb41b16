//! Compound files of our own making, right and wrong. Rule: they are written as the manual says, then bent.

use super::*;
use crate::decoder::Decoder;
use crate::document::lzfu::tests::compress as compress_rtf;
use crate::document::package::tests::package;
use crate::document::vba::tests::compress;
use crate::held::HeldDecoder;
use crate::samples::{children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};

const SECTOR: usize = 512;
const FREE: u32 = u32::MAX;
const END: u32 = 0xffff_fffe;

/// A compound file with these streams; `/` in a path makes storages, one level of them.
pub(in crate::document) fn compound(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut storages: Vec<&str> =
        streams.iter().filter_map(|(path, _)| path.split_once('/')).map(|s| s.0).collect();
    storages.dedup();
    // Number 0 is the header's; from here on, sector n of the file is at (n + 1) * SECTOR.
    let (mut body, mut fat): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut add = |content: &[u8]| {
        if content.is_empty() {
            return END;
        }
        let first = fat.len() as u32;
        for chunk in content.chunks(SECTOR) {
            body.extend_from_slice(chunk);
            body.resize(body.len().next_multiple_of(SECTOR), 0);
            fat.push(fat.len() as u32 + 1);
        }
        *fat.last_mut().unwrap() = END;
        first
    };
    let (mut mini, mut mini_fat) = (Vec::new(), Vec::<u32>::new());
    let mut places = Vec::new();
    for (_, content) in streams {
        if content.len() >= 4096 {
            places.push(add(content));
            continue;
        }
        places.push(mini_fat.len() as u32);
        for chunk in content.chunks(64) {
            mini.extend_from_slice(chunk);
            mini.resize(mini.len().next_multiple_of(64), 0);
            mini_fat.push(mini_fat.len() as u32 + 1);
        }
        if let Some(last) = mini_fat.last_mut() {
            *last = END;
        }
    }
    let mini_first = add(&mini);
    let mini_fat_bytes: Vec<u8> = mini_fat.iter().flat_map(|n| n.to_le_bytes()).collect();
    let mini_fat_first = add(&mini_fat_bytes);
    let directory_first = add(&directory(&storages, streams, &places, (mini_first, mini.len())));
    let fat_first = fat.len() as u32;
    let fat_sectors = (fat.len() + 4).div_ceil(SECTOR / 4);
    fat.extend(std::iter::repeat_n(0xffff_fffd, fat_sectors));
    fat.resize(fat_sectors * SECTOR / 4, FREE);
    let mut file = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    file.resize(24, 0);
    file.extend_from_slice(b"\x3e\0\x03\0\xfe\xff\x09\0\x06\0");
    file.resize(44, 0);
    for number in [fat_sectors as u32, directory_first, 0, 4096, mini_fat_first, 1, END, 0] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend(
        (0..109).flat_map(|n| if n < fat_sectors as u32 { fat_first + n } else { FREE }.to_le_bytes()),
    );
    file.extend_from_slice(&body);
    file.extend(fat.iter().flat_map(|n| n.to_le_bytes()));
    file
}

fn storage_of(path: &str) -> Option<&str> {
    path.split_once('/').map(|s| s.0)
}

fn directory(storages: &[&str], streams: &[(&str, &[u8])], places: &[u32], mini: (u32, usize)) -> Vec<u8> {
    // The root, the storages, the streams; brothers hang on each other's right.
    let mut bytes = Vec::new();
    let mut entry = |name: &str, kind: u8, right: u32, child: u32, first: u32, length: usize| {
        let mut field: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length_of_name = field.len() as u16 + 2;
        field.resize(64, 0);
        bytes.extend_from_slice(&field);
        bytes.extend_from_slice(&length_of_name.to_le_bytes());
        bytes.extend_from_slice(&[kind, 1]);
        for number in [FREE, right, child] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&[0; 36]);
        bytes.extend_from_slice(&first.to_le_bytes());
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
    };
    let next_of = |from: usize, storage: Option<&str>| {
        let found = (from..streams.len()).find(|n| storage_of(streams[*n].0) == storage);
        found.map_or(FREE, |n| (1 + storages.len() + n) as u32)
    };
    let first_child = if storages.is_empty() { next_of(0, None) } else { 1 };
    entry("Root Entry", 5, FREE, first_child, mini.0, mini.1);
    for (n, storage) in storages.iter().enumerate() {
        let right = if n + 1 < storages.len() { n as u32 + 2 } else { next_of(0, None) };
        entry(storage, 1, right, next_of(0, Some(storage)), 0, 0);
    }
    for (n, (path, content)) in streams.iter().enumerate() {
        let name = path.split_once('/').map_or(*path, |s| s.1);
        entry(name, 2, next_of(n + 1, storage_of(path)), FREE, places[n], content.len());
    }
    bytes
}

fn open() -> Box<dyn Decoder> {
    let pool = Pool::new(1 << 24);
    Box::new(HeldDecoder::new(&pool, Ole2::new(&pool)))
}

fn read(file: &[u8]) -> Vec<Said> {
    trace(&mut *open(), [file])
}

#[test]
fn streams_are_children() {
    let long = prose(1, 70_000);
    let file = compound(&[
        ("WordDocument", b"short"),
        ("Store/Contents", &long),
        ("Store/b", b"x"),
        ("c", &long[..200]),
    ]);
    let said = assert_cut_invariant(&open, &file);
    let expected = [
        ("WordDocument".to_owned(), b"short".to_vec()),
        ("Store/Contents".to_owned(), long.clone()),
        ("Store/b".to_owned(), b"x".to_vec()),
        ("c".to_owned(), long[..200].to_vec()),
    ];
    assert_eq!(children(&said), expected);
    assert!(!complains(&said), "{said:?}");
}

#[test]
fn packed_files_come_out() {
    let native = package("a.exe", b"program");
    let native = [&(native.len() as u32).to_le_bytes()[..], &native].concat();
    let source = b"Attribute VB_Name = \"M\"\r\nSub AutoOpen()\r\n".to_vec();
    let module = [&b"cache"[..], &compress(&source)].concat();
    let dir = compress(b"\x1a\0\x01\0\0\0M\x31\0\x04\0\0\0\x05\0\0\0");
    let streams: [(&str, &[u8]); 5] = [
        ("\u{1}Ole10Native", &native),
        ("VBA/dir", &dir),
        ("VBA/M", &module),
        ("VBA/N", &module),
        ("VBA/_VBA_PROJECT", b"cache"),
    ];
    let said = assert_cut_invariant(&open, &compound(&streams));
    let found = children(&said);
    let content = |label: &str, n: usize| &found.iter().filter(|c| c.0 == label).nth(n).expect(label).1;
    assert_eq!(content("\u{fffd}Ole10Native", 0), &native);
    assert_eq!(content("\u{fffd}Ole10Native", 1), b"program");
    assert_eq!(content("VBA/M/source", 0), &source);
    assert_eq!(content("VBA/N/source", 0), &source, "looked for, as no offset is told");
    assert_eq!(found.len(), 8);
    assert!(!complains(&said));
}

#[test]
fn messages_are_read() {
    let wide: Vec<u8> = "a.exe".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let text = compress_rtf(b"{\\rtf1 text}");
    let streams: [(&str, &[u8]); 4] = [
        ("__attach/__substg1.0_3704001F", b"A~1.EXE"),
        ("__attach/__substg1.0_37010102", b"program"),
        ("__attach/__substg1.0_3707001F", &wide),
        ("__substg1.0_10090102", &text),
    ];
    let said = assert_cut_invariant(&open, &compound(&streams));
    let found = children(&said);
    assert_eq!(found[4], ("__substg1.0_10090102/rtf".to_owned(), b"{\\rtf1 text}".to_vec()));
    let names =
        said.iter().filter_map(|s| if let Said::Open(entry) = s { entry.name.as_deref() } else { None });
    assert_eq!(names.collect::<Vec<_>>()[1], "a.exe");
}

#[test]
fn encryption_is_told() {
    let mut word = vec![0; 40];
    word[11] = 1;
    let excel = b"\x09\x08\x02\0\0\0\x2f\0\x02\0\0\0";
    let plain = b"\x09\x08\x02\0\0\0\x30\0\x02\0\x2f\0";
    let mut user = vec![0; 20];
    user[12..16].copy_from_slice(b"\xdf\xc4\xd1\xf3");
    let cases: [(&str, &[u8], bool); 6] = [
        ("EncryptedPackage", b"x", true),
        ("WordDocument", &word, true),
        ("WordDocument", &word[..10], false),
        ("Workbook", excel, true),
        ("Workbook", plain, false),
        ("Current User", &user, true),
    ];
    for (name, content, is_encrypted) in cases {
        let said = read(&compound(&[(name, content)]));
        assert_eq!(said.contains(&Said::Incomplete(Reason::Encrypted)), is_encrypted, "{name}");
    }
}

#[test]
fn damage_is_told_and_ends() {
    let long = prose(1, 20_000);
    let file = compound(&[("long", &long), ("short", &long[..1000]), ("Store/x", b"x")]);
    // The table of sectors stands last: chains are cut, crossed and bent into circles.
    let table = file.len() - SECTOR;
    for at in (table..file.len()).step_by(4) {
        for value in [0, 1, 5, END, FREE, 9999] {
            let mut bent = file.clone();
            bent[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
            let said = read(&bent);
            let found = children(&said);
            let has_long = found.iter().any(|c| c.1 == long);
            assert!(
                has_long || complains(&said) || found.iter().any(|c| c.1.len() == long.len()),
                "{at} {value}"
            );
        }
    }
    for length in (8..file.len()).step_by(37) {
        let said = read(&file[..length]);
        assert!(complains(&said) || children(&said).len() == 3, "cut off at {length}");
    }
    let mut bytes = file.clone();
    for bit in (8 * 8..bytes.len() * 8).step_by(if cfg!(debug_assertions) { 37 } else { 1 }) {
        bytes[bit / 8] ^= 1 << (bit % 8);
        read(&bytes);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    read(&[&file[..8], &noise(1, 5000)].concat());
}

#[test]
fn tables_are_drawn_from_the_pool() {
    let file = compound(&[("a", &prose(1, 60_000))]);
    let pool = Pool::new(file.len() as u64 + 100);
    let said = trace(&mut HeldDecoder::new(&pool, Ole2::new(&pool)), [&file[..]]);
    assert!(said == [Said::Incomplete(Reason::Budget), Said::End]);
    assert_eq!(pool.bytes_taken(), 0);
}
