//! Seeds that no program here packs: RAR, LHA's rarer methods. Rule: by each format's structure, with noise where any bits are
//! read.

use crate::{CUTS, Corpus, words};
use lockgate_tests::mail::noise;
use lockgate_tests::rar::{BitWriter, Method, Solidity, Writer3, Writer5, pack_2, pack_3, pack_5};

/// The first byte by which the target knows the format.
const RAR: u8 = 0;
const LHA: u8 = 1;

/// Writes all of them.
pub fn seeds(corpus: &Corpus) {
    rar(corpus);
    rar_versions(corpus);
    rar_filters(corpus);
    lha(corpus);
}

fn put(corpus: &Corpus, first: u8, name: &str, content: &[u8]) {
    corpus.put("archivers", name, &[&[first], CUTS.as_slice(), content].concat());
}

/// A seed, and others in which a byte is another.
fn put_damaged(corpus: &Corpus, first: u8, name: &str, content: &[u8]) {
    put(corpus, first, name, content);
    for at in [9, 13, 30, content.len() / 3, content.len() / 2, content.len() * 2 / 3] {
        let mut damaged = content.to_vec();
        damaged.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x55);
        put(corpus, first, &format!("{name}.damaged{at}"), &damaged);
    }
}

/// Files of RAR 5 and of RAR 3: stored, packed, solid.
fn rar(corpus: &Corpus) {
    let (mut new, mut old) = (Writer5::default(), Writer3::default());
    for (name, method, solidity) in [
        ("stored", Method::Stored, Solidity::Alone),
        ("packed", Method::Packed, Solidity::Alone),
        ("solid", Method::Packed, Solidity::Solid),
    ] {
        new.file(name, &words(700), method, solidity);
        old.file(name, &words(700), method, solidity);
    }
    put_damaged(corpus, RAR, "new.rar", &new.finish());
    put_damaged(corpus, RAR, "old.rar", &old.finish());
    let (mut old, text) = (Writer3::default(), words(900));
    old.entry(b"a", &text, &pack_2(&text, 0), (20, 0x33), 4 << 5);
    old.entry(b"x?z.txt\0\x04\x1cx\x36\x03", b"1", b"1", (20, 0x30), 0x200);
    put_damaged(corpus, RAR, "two.rar", &old.finish());
}

/// Whatever the version, noise is read as something: sound, PPMd, matches.
fn rar_versions(corpus: &Corpus) {
    for version in [15, 20, 26, 29, 36] {
        for seed in 0..4_u64 {
            let mut packed = noise(seed + 50, 3000);
            packed[0] = packed[0] & 0x3f | (seed as u8) << 6;
            let mut old = Writer3::default();
            old.entry(b"a", &[7; 20_000], &packed, (version, 0x33), (seed as u16 & 1) << 4);
            put(corpus, RAR, &format!("noise{version}.{seed}.rar"), &old.finish());
        }
    }
}

/// Every filter of RAR 5, and those programs of RAR 3 that are known by their sums.
fn rar_filters(corpus: &Corpus) {
    let content = noise(9, 3000).iter().map(|byte| byte % 8 + 0xe4).collect::<Vec<u8>>();
    for kind in 0..6 {
        let filter = [(9, 256), (2, 0), (8, 0), (2, 1), (8, 2500 & 0xff), (8, 2500 >> 8), (3, kind), (5, 2)];
        let mut new = Writer5::default();
        new.entry("a", &content, &pack_5(&content, 0, 500, &filter), 3 << 7, 0, &[]);
        put(corpus, RAR, &format!("filter{kind}.rar"), &new.finish());
    }
    let programs = [
        (53, 0xad57_6887),
        (57, 0x3cd7_e57e),
        (120, 0x3769_893f),
        (29, 0x0e06_077d),
        (149, 0x1c2c_5dc8),
        (216, 0xbc85_e701),
    ];
    let calls: Vec<Vec<(usize, u64)>> =
        programs.iter().map(|(length, sum)| call(0, 0, 2400, &forged(*length, *sum))).collect();
    for (number, call) in calls.iter().enumerate() {
        let mut old = Writer3::default();
        old.entry(b"a", &content, &pack_3(&content, 0, call), (29, 0x33), 0);
        put(corpus, RAR, &format!("program{number}.rar"), &old.finish());
    }
    let several: Vec<_> = (0..)
        .zip(programs)
        .flat_map(|(number, (length, sum))| call(number + 1, number * 400, 400, &forged(length, sum)))
        .collect();
    let mut old = Writer3::default();
    old.entry(b"a", &content, &pack_3(&content, 0, &several), (29, 0x33), 0);
    put_damaged(corpus, RAR, "programs.rar", &old.finish());
}

/// The bits that call a program that is new: its number, its block, three channels or a width of three, its code.
fn call(number: u64, start: u64, length: u64, code: &[u8]) -> Vec<(usize, u64)> {
    let mut bits = BitWriter::default();
    let mut put = |number: u64| {
        bits.put(2, 2);
        bits.put(16, number);
    };
    [number, start, length].into_iter().for_each(&mut put);
    bits.put(7, 0b11);
    for number in [3, 0, code.len() as u64] {
        bits.put(2, 2);
        bits.put(16, number);
    }
    code.iter().for_each(|byte| bits.put(8, (*byte).into()));
    let told = bits.bytes;
    // By flags: the number, the length and registers are told; the call's own length takes two bytes.
    let head =
        [(9, 257), (8, 0x80 | 0x20 | 0x10 | 7), (8, told.len() as u64 >> 8), (8, told.len() as u64 & 0xff)];
    head.into_iter().chain(told.iter().map(|byte| (8, u64::from(*byte)))).collect()
}

/// So many bytes with this CRC-32: what its last four must be is found backwards.
fn forged(length: usize, sum: u32) -> Vec<u8> {
    let row = |index: u32| (0..8).fold(index, |row, _| row >> 1 ^ if row & 1 == 1 { 0xedb8_8320 } else { 0 });
    let mut bytes = vec![0; length - 4];
    let state = !crc32fast::hash(&bytes);
    let mut wanted = !sum;
    for _ in 0..4 {
        let index = (0..256).find(|index| row(*index) >> 24 == wanted >> 24).expect("each is there once");
        wanted = (wanted ^ row(index)) << 8 | index;
    }
    bytes.extend((wanted ^ state).to_le_bytes());
    assert_eq!(crc32fast::hash(&bytes), sum);
    bytes
}

/// A header of level 0 for each method, and noise.
fn lha(corpus: &Corpus) {
    for (method, packed_bytes, bytes) in [
        ("-lh1-", 400, 2000_u32),
        // So many symbols that its tree is built anew.
        ("-lh1-", 50_000, 60_000),
        ("-lh4-", 400, 2000),
        ("-lh6-", 400, 2000),
        ("-lh7-", 400, 2000),
        ("-lhx-", 400, 2000),
        ("-lzs-", 400, 2000),
        ("-lz4-", 400, 400),
        ("-lz5-", 400, 2000),
        ("-pm2-", 400, 2000),
        ("-lhd-", 0, 0),
    ] {
        let packed = noise(11, packed_bytes);
        let mut header = method.as_bytes().to_vec();
        header.extend((packed.len() as u32).to_le_bytes());
        header.extend(bytes.to_le_bytes());
        header.extend([0, 0, 0x21, 0x50, 0x20, 0, 5]);
        header.extend(b"a.txt\0\0");
        let sum = header.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        let file = [&[header.len() as u8, sum][..], &header, &packed, &[0]].concat();
        put(corpus, LHA, &format!("{method}{packed_bytes}.lzh"), &file);
    }
}
