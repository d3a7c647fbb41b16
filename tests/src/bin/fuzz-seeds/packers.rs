//! Zips and cabinets that no program here makes: bent ones, and methods of old. Rule: by each format's structure, with noise where
//! any bits are read.

use crate::{CUTS, Corpus, words};
use lockgate_tests::mail::noise;

/// Writes all of them.
pub fn seeds(corpus: &Corpus) {
    bent(corpus);
    imploded(corpus);
    shrunk(corpus);
    deflated(corpus);
    quantum(corpus);
}

/// Entries whose end may stand in several places, that are sealed and of unknown length, folders with content.
fn bent(corpus: &Corpus) {
    let header = |flags: u16, method: u16, name: &str, length: u32| {
        let mut header = b"PK\x03\x04\x14\0".to_vec();
        header.extend([flags, method, 0, 0].into_iter().flat_map(u16::to_le_bytes));
        header.extend([0, length, length].into_iter().flat_map(u32::to_le_bytes));
        header.extend([name.len() as u16, 0].into_iter().flat_map(u16::to_le_bytes));
        header.extend(name.as_bytes());
        header
    };
    let descriptor = |sum: u32, length: u32| {
        [&b"PK\x07\x08"[..], &sum.to_le_bytes(), &length.to_le_bytes(), &length.to_le_bytes()].concat()
    };
    // One descriptor with a wrong sum, one with a wrong length, one that is right.
    let first = [b"first", &descriptor(1, 5)[..], b"second"].concat();
    let second = [&first[..], &descriptor(crc32fast::hash(&first), 3), b"third"].concat();
    let right = descriptor(crc32fast::hash(&second), second.len() as u32);
    let stored = [&header(8, 0, "a", 0)[..], &second, &right].concat();
    let behind = [&header(0, 0, "b/", 3)[..], b"abc"].concat();
    let sealed = [&header(9, 8, "c", 0)[..], &noise(3, 40), &descriptor(7, 40)].concat();
    let end = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    for (name, parts) in [
        ("ends", vec![&stored[..], &behind, end]),
        ("ends-last", vec![&stored[..], b"and more", end]),
        ("folder", vec![&behind[..], &stored, end]),
        ("sealed", vec![&sealed[..], &behind, &sealed, end]),
        ("split", vec![b"PK00", &stored[..], &sealed]),
    ] {
        corpus.put_cut("zip", name, &parts.concat());
    }
}

/// An entry that is packed by a method, made of so many bytes.
fn packed(corpus: &Corpus, name: &str, (method, flags): (u16, u16), packed: &[u8], bytes: u32) {
    let mut entry = b"PK\x03\x04\x14\0".to_vec();
    entry.extend([flags, method, 0, 0].into_iter().flat_map(u16::to_le_bytes));
    entry.extend([0, packed.len() as u32, bytes].into_iter().flat_map(u32::to_le_bytes));
    entry.extend([1, 0, 0, 0, b'a']);
    corpus.put_cut("zip", name, &[&entry, packed].concat());
}

/// Numbers of so many bits, the lowest bit first.
fn low_first(numbers: impl IntoIterator<Item = (u32, u32)>) -> Vec<u8> {
    let bit = |(width, number): (u32, u32)| (0..width).map(move |bit| number >> bit & 1 == 1);
    let bits: Vec<bool> = numbers.into_iter().flat_map(bit).collect();
    bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}

/// Codes whose symbols are all as long (APPNOTE.TXT, 5.3), and noise.
fn imploded(corpus: &Corpus) {
    let (literals, others) = ([&[15][..], &[0xf7; 16]].concat(), [3, 0xf5, 0xf5, 0xf5, 0xf5]);
    for flags in [0, 2, 4, 6] {
        let mut codes = if flags & 4 == 0 { Vec::new() } else { literals.clone() };
        codes.extend(others.repeat(2));
        for seed in 0..3 {
            let content = [&codes[..], &noise(seed + 70, 900)].concat();
            packed(corpus, &format!("implode{flags}.{seed}"), (6, flags), &content, 2000 << seed);
        }
    }
    for (name, codes) in [("long", &[0, 0xff][..]), ("short", &[0, 0xf5]), ("over", &[15, 0xf0])] {
        packed(corpus, &format!("implode.{name}"), (6, 0), &codes.repeat(20), 100);
    }
}

/// Codes of each width, new and known ones, with clearings and what is none (APPNOTE.TXT, 5.1).
fn shrunk(corpus: &Corpus) {
    const CONTROL: u32 = 256;
    let text = words(6000);
    let mut codes = Vec::new();
    for (chunk, width) in text.chunks(1200).zip(9..=13) {
        let learnt = |at: usize| 257 + (at as u32 * 7) % (1 << (width - 1)) % 900;
        let code = |(at, byte): (usize, &u8)| (width, if at % 5 == 4 { learnt(at) } else { (*byte).into() });
        codes.extend(chunk.iter().enumerate().map(code));
        codes.extend([(width, CONTROL), (width, 2), (width, b'x'.into()), (width, CONTROL), (width, 1)]);
    }
    packed(corpus, "shrink", (1, 0), &low_first(codes.iter().copied()), 9000);
    packed(
        corpus,
        "shrink.new",
        (1, 0),
        &low_first((0..400).map(|at| (9, if at == 0 { 97 } else { 256 + at }))),
        9000,
    );
    packed(corpus, "shrink.none", (1, 0), &low_first([(9, 97), (9, 98), (9, CONTROL), (9, 7)]), 9);
    for seed in 0..4 {
        packed(corpus, &format!("shrink{seed}"), (1, 0), &noise(seed + 80, 700), 4000);
    }
}

/// Blocks of each kind: stored, of the code that is known, of one that is told (RFC 1951, 3.2.3), and of none.
fn deflated(corpus: &Corpus) {
    let stored = |last: u8| [&[last, 5, 0, 0xfa, 0xff][..], b"hello"].concat();
    packed(corpus, "deflate64.stored", (9, 0), &[stored(0), stored(1)].concat(), 10);
    packed(corpus, "deflate64.length", (9, 0), &[1, 5, 0, 0, 0], 5);
    for seed in 0..12_u64 {
        let mut content = noise(seed + 90, 600);
        content[0] = content[0] & !6 | (seed as u8 % 4) << 1;
        packed(corpus, &format!("deflate64.{seed}"), (9, 0), &[stored(0), content].concat(), 4000);
    }
}

/// Cabinets of one folder packed by Quantum: a frame whose symbols are all the likeliest, then noise.
fn quantum(corpus: &Corpus) {
    for window_bits in [10, 13, 17, 21] {
        for seed in 0..3 {
            let blocks = [(vec![0xff; 400], 3000_u16), (noise(seed + 60, 2000), 900), (vec![0; 300], 2000)];
            let cabinet = cabinet(2 | window_bits << 8, &blocks);
            let name = format!("quantum{window_bits}.{seed}.cab");
            corpus.put("cabinets", &name, &[&[1][..], CUTS, &cabinet].concat());
        }
    }
}

/// A cabinet of one file, whose blocks are not summed up (MS-CAB, 2.1 to 2.4).
fn cabinet(packing: u16, blocks: &[(Vec<u8>, u16)]) -> Vec<u8> {
    let size: u32 = blocks.iter().map(|(_, made)| u32::from(*made)).sum();
    let (files_at, data_at) = (44_u32, 44 + 16 + 2_u32);
    let mut data = Vec::new();
    for (packed, made) in blocks {
        data.extend(
            [&[0; 4][..], &(packed.len() as u16).to_le_bytes(), &made.to_le_bytes(), packed].concat(),
        );
    }
    let length = data_at + data.len() as u32;
    let head = [0, length, 0, files_at, 0].map(u32::to_le_bytes).concat();
    let counts = [0x0103, 1, 1, 0, 0, 0].map(u16::to_le_bytes).concat();
    let folder =
        [&data_at.to_le_bytes()[..], &(blocks.len() as u16).to_le_bytes(), &packing.to_le_bytes()].concat();
    let file = [&size.to_le_bytes()[..], &[0; 12], b"a\0"].concat();
    [b"MSCF", &head[..], &counts, &folder, &file, &data].concat()
}
