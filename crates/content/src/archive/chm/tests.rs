//! Compiled help. Rule: files of our own making, right and bent.

use super::*;
use crate::codec::lzx::tests::{LzxWriter, frames};
use crate::decoder::Decoder;
use crate::held::HeldDecoder;
use crate::samples::{children, complains, prose};
use crate::trace::{Said, assert_cut_invariant, trace};

fn open() -> Box<dyn Decoder> {
    let pool = Pool::new(1 << 20);
    Box::new(HeldDecoder::new(&pool, Chm::new(&pool)))
}

fn number(value: usize) -> Vec<u8> {
    let mut groups = vec![(value & 0x7f) as u8];
    let mut rest = value >> 7;
    while rest > 0 {
        groups.insert(0, (rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    groups
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Files as they are, and those of the packed section: name, offset, length.
struct Made {
    plain: Vec<(&'static str, Vec<u8>)>,
    packed: Vec<(&'static str, usize, usize)>,
    frames: Vec<(Vec<u8>, usize)>,
    frames_a_reset: u32,
}

impl Made {
    fn bytes(&self) -> Vec<u8> {
        let content: Vec<u8> = self.frames.iter().flat_map(|(frame, _)| frame.clone()).collect();
        let made: usize = self.frames.iter().map(|(_, size)| size).sum();
        let mut resets =
            words(&[2, self.frames.len() as u32, 8, 40, made as u32, 0, content.len() as u32, 0]);
        resets.extend_from_slice(&words(&[0x8000, 0]));
        let mut at = 0_u64;
        for (frame, _) in &self.frames {
            resets.extend_from_slice(&at.to_le_bytes());
            at += frame.len() as u64;
        }
        let mut control = words(&[6]);
        control.extend_from_slice(b"LZXC");
        control.extend_from_slice(&words(&[2, self.frames_a_reset, 2, 1, 0]));
        let mut entries = Vec::new();
        let mut entry = |name: &str, section: usize, offset: usize, length: usize| {
            entries.extend_from_slice(&number(name.len()));
            entries.extend_from_slice(name.as_bytes());
            [section, offset, length].iter().for_each(|n| entries.extend_from_slice(&number(*n)));
        };
        entry("/", 0, 0, 0);
        let mut section = Vec::new();
        let internal = [(CONTROL, &control), (RESETS, &resets), (CONTENT, &content)];
        let plain = self.plain.iter().map(|(name, bytes)| (*name, bytes));
        for (name, bytes) in internal.into_iter().chain(plain) {
            entry(name, 0, section.len(), bytes.len());
            section.extend_from_slice(bytes);
        }
        self.packed.iter().for_each(|(name, offset, length)| entry(name, 1, *offset, *length));
        let chunk_bytes = 4096;
        let mut chunk = b"PMGL".to_vec();
        chunk.extend_from_slice(&words(&[(chunk_bytes - 20 - entries.len()) as u32, 0, u32::MAX, u32::MAX]));
        chunk.extend_from_slice(&entries);
        chunk.resize(chunk_bytes, 0);
        let mut directory = b"ITSP".to_vec();
        directory.extend_from_slice(&words(&[
            1,
            0x54,
            10,
            chunk_bytes as u32,
            2,
            1,
            u32::MAX,
            0,
            0,
            u32::MAX,
            1,
        ]));
        directory.resize(0x54, 0);
        let length = (directory.len() + chunk.len()) as u32;
        let mut head = b"ITSF".to_vec();
        head.extend_from_slice(&words(&[3, 0x60, 1]));
        head.resize(0x38, 0);
        head.extend_from_slice(&words(&[0x60, 0, 0, 0, 0x60, 0, length, 0, 0x60 + length, 0]));
        [head, directory, chunk, section].concat()
    }
}

fn sample() -> (Made, Vec<u8>) {
    let (frames, made) = frames(16);
    let plain = vec![("/plain.txt", prose(1, 300)), ("/#SYSTEM", b"of its own".to_vec())];
    let packed =
        vec![("/a.htm", 0, 40_000), ("/b.htm", 40_000, 777), ("/c.htm", 100_000, made.len() - 100_000)];
    (Made { plain, packed, frames, frames_a_reset: 1000 }, made)
}

#[test]
fn plain_and_packed() {
    let (sample, made) = sample();
    let bytes = sample.bytes();
    let said = trace(&mut *open(), [&bytes[..]]);
    let expected = [
        ("/plain.txt".to_owned(), prose(1, 300)),
        ("/#SYSTEM".to_owned(), b"of its own".to_vec()),
        ("/a.htm".to_owned(), made[..40_000].to_vec()),
        ("/b.htm".to_owned(), made[40_000..40_777].to_vec()),
        ("/c.htm".to_owned(), made[100_000..].to_vec()),
    ];
    assert!(children(&said) == expected && !complains(&said));
    assert!(trace(&mut *open(), bytes.chunks(777)) == said);
}

#[test]
fn reading_begins_where_lzx_begins_anew() {
    let content: Vec<Vec<u8>> = (1..4).map(|seed| prose(seed, 32_768)).collect();
    let frames = content.iter().map(|c| (LzxWriter::new(16, 0).as_it_is(c), c.len())).collect();
    let packed = vec![("/a", 5, 10), ("/c", 65_536 + 100, 32_668)];
    let bytes = Made { plain: Vec::new(), packed, frames, frames_a_reset: 1 }.bytes();
    let said = trace(&mut *open(), [&bytes[..]]);
    assert!(!complains(&said), "{:?}", said.last());
    assert!(children(&said)[0].1 == content[0][5..15] && children(&said)[1].1 == content[2][100..]);
}

#[test]
fn what_is_not_there_is_told() {
    let (mut sample, made) = sample();
    sample.packed.push(("/twice", 1000, 9));
    sample.packed.push(("/behind", made.len() - 1, 2));
    let said = trace(&mut *open(), [&sample.bytes()[..]]);
    let broken = said.iter().filter(|said| matches!(said, Said::Broken(Reason::Damaged))).count();
    assert_eq!((children(&said).len(), broken), (7, 2));
    let small = Made {
        plain: vec![("/a", b"1".to_vec())],
        packed: Vec::new(),
        frames: Vec::new(),
        frames_a_reset: 1,
    };
    let whole = small.bytes();
    assert!(!complains(&assert_cut_invariant(&open, &whole)));
    for length in 0..whole.len() {
        assert!(complains(&trace(&mut *open(), [&whole[..length]])), "cut off at {length}");
    }
}

#[test]
fn bent_bytes_do_no_harm() {
    let (sample, _) = sample();
    let whole = sample.bytes();
    let heads = 0x60 + 0x54 + 700;
    for at in (0..heads).chain((heads..whole.len()).step_by(997)) {
        let mut bent = whole.clone();
        bent[at] ^= 1 << (at % 8);
        let said = trace(&mut *open(), [&bent[..]]);
        assert_eq!(said.last(), Some(&Said::End));
    }
}
