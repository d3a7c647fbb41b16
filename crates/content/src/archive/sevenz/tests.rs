//! 7z files of our own writing, packed by another library. Rule: each coder once, and each way in which one can be wrong.

use super::decoder;
use crate::decoder::{Decoder, Entry};
use crate::samples::lzma::{Ending, lzma2, raw};
use crate::samples::{LONG, children, complains, deflate, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{Limits, Pool, Reason};
use std::io::Write;

fn open() -> Box<dyn Decoder> {
    Box::new(decoder(&Pool::new(64 << 20)))
}

/// A folder to be written: the bytes that tell its coders, what is packed, and the sizes that come out of the coders.
#[derive(Clone)]
struct Packed {
    coders: Vec<u8>,
    packs: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    /// Its files, one behind the other.
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Packed {
    fn of(method: &[u8], properties: &[u8], pack: Vec<u8>, content: &[u8]) -> Self {
        let mut coders = vec![1];
        coder(&mut coders, method, properties);
        Self {
            coders,
            packs: vec![pack],
            sizes: vec![content.len()],
            files: vec![("file", content.to_vec())],
        }
    }
}

fn coder(coders: &mut Vec<u8>, method: &[u8], properties: &[u8]) {
    coders.push(method.len() as u8 | if properties.is_empty() { 0 } else { 0x20 });
    coders.extend_from_slice(method);
    if !properties.is_empty() {
        coders.push(properties.len() as u8);
        coders.extend_from_slice(properties);
    }
}

fn number(out: &mut Vec<u8>, number: usize) {
    out.push(0xff);
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

/// The streams of these folders.
fn streams(folders: &[Packed], has_files: bool) -> Vec<u8> {
    let mut out = vec![6];
    number(&mut out, 0);
    number(&mut out, folders.iter().map(|folder| folder.packs.len()).sum());
    out.push(9);
    folders.iter().flat_map(|folder| &folder.packs).for_each(|pack| number(&mut out, pack.len()));
    out.extend_from_slice(&[0, 7, 0x0b]);
    number(&mut out, folders.len());
    out.push(0);
    folders.iter().for_each(|folder| out.extend_from_slice(&folder.coders));
    out.push(0x0c);
    folders.iter().flat_map(|folder| &folder.sizes).for_each(|size| number(&mut out, *size));
    out.push(0);
    if has_files {
        out.extend_from_slice(&[8, 0x0d]);
        folders.iter().for_each(|folder| number(&mut out, folder.files.len()));
        out.push(9);
        for folder in folders {
            let told = folder.files.split_last().map_or(&[][..], |(_, told)| told);
            told.iter().for_each(|(_, content)| number(&mut out, content.len()));
        }
        out.extend_from_slice(&[0x0a, 1]);
        for (_, content) in folders.iter().flat_map(|folder| &folder.files) {
            out.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        }
        out.push(0);
    }
    out.push(0);
    out
}

/// A directory of these folders and, before their files, a folder, an empty file and one to be taken away.
fn directory(folders: &[Packed], has_empty: bool) -> Vec<u8> {
    let mut out = vec![1, 4];
    out.extend_from_slice(&streams(folders, true));
    out.push(5);
    let mut names: Vec<&str> = if has_empty { vec!["folder", "empty", "anti"] } else { Vec::new() };
    names.extend(folders.iter().flat_map(|folder| &folder.files).map(|(name, _)| *name));
    number(&mut out, names.len());
    if has_empty {
        out.push(0x0e);
        let bytes = names.len().div_ceil(8);
        number(&mut out, bytes);
        out.push(0xe0);
        out.resize(out.len() + bytes - 1, 0);
        out.extend_from_slice(&[0x0f, 1, 0x60, 0x10, 1, 0x20, 0x19, 2, 0, 0]);
    }
    let names: Vec<u8> =
        names.iter().flat_map(|name| name.encode_utf16().chain([0])).flat_map(u16::to_le_bytes).collect();
    out.push(0x11);
    number(&mut out, names.len() + 1);
    out.push(0);
    out.extend_from_slice(&names);
    out.extend_from_slice(&[0, 0]);
    out
}

fn file(packed: &[u8], header: &[u8]) -> Vec<u8> {
    let mut start = Vec::new();
    start.extend_from_slice(&(packed.len() as u64).to_le_bytes());
    start.extend_from_slice(&(header.len() as u64).to_le_bytes());
    start.extend_from_slice(&crc32fast::hash(header).to_le_bytes());
    let crc = crc32fast::hash(&start).to_le_bytes();
    [&b"7z\xbc\xaf\x27\x1c\0\x04"[..], &crc, &start, packed, header].concat()
}

fn seven(folders: &[Packed]) -> Vec<u8> {
    let packed = folders.iter().flat_map(|folder| &folder.packs).flatten().copied().collect::<Vec<u8>>();
    file(&packed, &directory(folders, true))
}

fn lzma_of(content: &[u8]) -> Packed {
    Packed::of(&[3, 1, 1], &[0x5d, 0, 0, 1, 0], raw(Ending::Size, content), content)
}

fn entry(name: &str) -> Said {
    Said::Open(Entry { label: name.into(), name: Some(name.into()), declared: None })
}

fn expected(files: &[(&str, &[u8])]) -> Vec<Said> {
    let mut said = vec![entry("empty"), Said::Close];
    for (name, content) in files {
        said.extend([entry(name), Said::Bytes(content.to_vec()), Said::Close]);
    }
    said.push(Said::End);
    said
}

#[test]
fn each_coder_is_undone() {
    for content in [prose(1, LONG), noise(2, 3000), b"a".to_vec()] {
        let (dictionary, packed) = lzma2(&content);
        let mut bzip = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
        bzip.write_all(&content).unwrap();
        for folder in [
            Packed::of(&[0], &[], content.clone(), &content),
            lzma_of(&content),
            Packed::of(&[0x21], &[dictionary], packed, &content),
            Packed::of(&[4, 1, 8], &[], deflate(&content), &content),
            Packed::of(&[4, 2, 2], &[], bzip.finish().unwrap(), &content),
        ] {
            let said = trace(&mut *open(), seven(&[folder]).chunks(100));
            assert!(said == expected(&[("file", &content)]), "{said:?}");
        }
    }
}

/// A filter over a copy of what another library made of the content.
fn filtered<W: Write>(
    method: &[u8],
    properties: &[u8],
    content: &[u8],
    filter: fn(Vec<u8>) -> W,
    finish: fn(W) -> Vec<u8>,
) -> Packed {
    let mut writer = filter(Vec::new());
    writer.write_all(content).unwrap();
    Packed::of(method, properties, finish(writer), content)
}

#[test]
fn each_coder_is_undone_at_every_cut() {
    use crate::codec::lz::tests::{deflate64, symbols};
    use crate::codec::ppmd::h::tests as ppmd;
    use lzma_rust2::filter::bcj::BcjWriter;
    use lzma_rust2::filter::delta::DeltaWriter;
    let (symbols, unpacked) = symbols(4096, 300);
    let (text, code) = (prose(7, 600), noise(8, 600));
    let (dictionary, packed) = lzma2(&text);
    let mut bzip = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    bzip.write_all(&text).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
    let branches = |method: &[u8], filter| {
        filtered(method, &[], &code, filter, |w: BcjWriter<Vec<u8>>| w.finish().unwrap())
    };
    for folder in [
        Packed::of(&[0], &[], text.clone(), &text),
        lzma_of(&text),
        Packed::of(&[0x21], &[dictionary], packed, &text),
        Packed::of(&[3, 4, 1], &ppmd::PROPERTIES, ppmd::PACKED.to_vec(), &ppmd::sung()),
        Packed::of(&[4, 1, 8], &[], deflate(&text), &text),
        Packed::of(&[4, 1, 9], &[], deflate64(&symbols), &unpacked),
        Packed::of(&[4, 2, 2], &[], bzip.finish().unwrap(), &text),
        Packed::of(&[4, 0xf7, 0x11, 1], &[1, 5, 3, 0, 0], zstd, &text),
        filtered(&[3], &[2], &code, |w| DeltaWriter::new(w, 3), |w| w.into_inner()),
        branches(&[3, 3, 1, 3], |w| BcjWriter::new_x86(w, 0)),
        branches(&[3, 3, 2, 5], |w| BcjWriter::new_ppc(w, 0)),
        branches(&[3, 3, 4, 1], |w| BcjWriter::new_ia64(w, 0)),
        branches(&[3, 3, 5, 1], |w| BcjWriter::new_arm(w, 0)),
        branches(&[3, 3, 7, 1], |w| BcjWriter::new_arm_thumb(w, 0)),
        branches(&[3, 3, 8, 5], |w| BcjWriter::new_sparc(w, 0)),
        branches(&[0x0a], |w| BcjWriter::new_arm64(w, 0)),
    ] {
        let (coders, content) = (folder.coders.clone(), folder.files[0].1.clone());
        let said = assert_cut_invariant(&open, &seven(&[folder]));
        assert!(said == expected(&[("file", &content)]), "{coders:x?}: {said:?}");
    }
}

#[test]
fn coders_are_joined() {
    // Calls to one place, made absolute, packed by LZMA2 behind the filter.
    let (calls, absolute): (Vec<_>, Vec<_>) = (0..400_u32)
        .map(|n| {
            let operand = 5000_u32.wrapping_sub(10 * n + 5).to_le_bytes();
            (
                [&[0xe8][..], &operand, b"-----"].concat(),
                [&[0xe8][..], &5000_u32.to_le_bytes(), b"-----"].concat(),
            )
        })
        .unzip();
    let (content, absolute) = (calls.concat(), absolute.concat());
    let (dictionary, pack) = lzma2(&absolute);
    let mut coders = vec![2];
    coder(&mut coders, &[3, 3, 1, 3], &[]);
    coder(&mut coders, &[0x21], &[dictionary]);
    coders.extend_from_slice(&[0, 1]);
    let folder = Packed {
        coders,
        packs: vec![pack],
        sizes: vec![content.len(); 2],
        files: vec![("one", content[..999].to_vec()), ("two", content[999..].to_vec())],
    };
    let said = assert_cut_invariant(&open, &seven(&[lzma_of(b"before"), folder]));
    assert_eq!(said, expected(&[("file", b"before"), ("one", &content[..999]), ("two", &content[999..])]));
}

#[test]
fn calls_and_jumps_come_from_streams_of_their_own() {
    use lzma_rust2::filter::bcj2::{Bcj2Options, Bcj2Writer};
    let mut content: Vec<u8> = (0..900_u32)
        .flat_map(|n| {
            let opcode = [0xe8, 0xe9, 0x85][n as usize % 3];
            [&[0x0f, opcode][..], &4000_u32.wrapping_sub(7 * n).to_le_bytes(), b"-"].concat()
        })
        .collect();
    content.extend_from_slice(&noise(3, 20_000));
    let mut packs = [const { Vec::new() }; 4];
    let [main, calls, jumps, bits] = &mut packs;
    let mut writer = Bcj2Writer::new([main, calls, jumps, bits], &Bcj2Options::default()).unwrap();
    writer.write_all(&content).unwrap();
    writer.finish().unwrap();
    let coders = b"\x01\x14\x03\x03\x01\x1b\x04\x01\0\x01\x02\x03".to_vec();
    let folder = Packed {
        coders,
        packs: packs.to_vec(),
        sizes: vec![content.len()],
        files: vec![("file", content.clone())],
    };
    let said = trace(&mut *open(), [&seven(std::slice::from_ref(&folder))[..]]);
    assert!(said == expected(&[("file", &content)]), "{}", said.len());
    for pack in 0..4 {
        let mut short = folder.clone();
        short.packs[pack].truncate(3);
        assert!(complains(&trace(&mut *open(), [&seven(&[short])[..]])));
    }
}

#[test]
fn a_directory_may_be_packed() {
    let folder = lzma_of(&prose(4, 700));
    let plain = directory(std::slice::from_ref(&folder), true);
    let mut packed = folder.packs[0].clone();
    let header = lzma_of(&plain);
    let mut encoded = vec![0x17];
    let mut told = streams(std::slice::from_ref(&header), false);
    // Its bytes are behind the folder's.
    told[2..10].copy_from_slice(&(packed.len() as u64).to_le_bytes());
    encoded.extend_from_slice(&told);
    packed.extend_from_slice(&header.packs[0]);
    let said = assert_cut_invariant(&open, &file(&packed, &encoded));
    assert_eq!(said, expected(&[("file", &prose(4, 700))]));
    let said = assert_cut_invariant(&open, &[&file(&packed, &encoded)[..], b"more"].concat());
    assert!(said.contains(&Said::Anomaly("bytes behind the end of a 7z file")));
    assert_eq!(assert_cut_invariant(&open, &file(b"", b"")), [Said::End]);
}

#[test]
fn what_cannot_be_unpacked_is_said_of_each_file() {
    let mut folder = Packed::of(&[6, 0xf1, 7, 1], &[1], noise(1, 32), &noise(2, 20));
    folder.files = vec![("one", noise(2, 10)), ("two", noise(3, 10))];
    let broken = |reason| [entry("one"), Said::Broken(reason), entry("two"), Said::Broken(reason)];
    let said = trace(&mut *open(), [&seven(&[folder.clone()])[..]]);
    assert_eq!(said[2..6], broken(Reason::Encrypted));
    folder.coders = b"\x01\x03\x07\x07\x07".to_vec();
    let said = trace(&mut *open(), [&seven(&[folder.clone(), lzma_of(b"read")])[..]]);
    assert_eq!(said[2..6], broken(Reason::Unsupported));
    assert_eq!(children(&said).last(), Some(&("file".to_string(), b"read".to_vec())));
    let mut lzma = lzma_of(&prose(5, 3000));
    lzma.files = vec![("one", prose(5, 1000)), ("two", noise(4, 1000)), ("three", noise(5, 1000))];
    let said = trace(&mut *open(), [&seven(&[lzma.clone()])[..]]);
    let reasons = said.iter().filter(|s| **s == Said::Broken(Reason::Damaged)).count();
    assert_eq!(reasons, 2, "check sums are wrong, and all is read");
    lzma.packs[0].truncate(200);
    let said = trace(&mut *open(), [&seven(&[lzma])[..]]);
    assert!(said.iter().filter(|s| matches!(s, Said::Broken(_))).count() >= 2);
    assert_eq!(children(&said).len(), 4);
}

#[test]
fn nothing_is_damaged_or_cut_short_without_a_word() {
    let whole = seven(&[lzma_of(&prose(6, 300))]);
    for length in 0..whole.len() {
        assert!(complains(&trace(&mut *open(), [&whole[..length]])), "cut off at {length}");
    }
    let right = children(&trace(&mut *open(), [&whole[..]]));
    let mut bytes = whole.clone();
    for bit in 8 * 8..whole.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let said = trace(&mut *open(), [&bytes[..]]);
        assert!(complains(&said) || children(&said) == right, "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_directory_pays_for_what_is_kept_of_it() {
    for header in [
        &b"\x01\x05\xff\0\0\0\0\0\0\0\x40\0\0"[..],
        b"\x01\x04\x07\x0b\xff\0\0\0\0\0\0\0\x40\0",
        b"\x05",
        b"",
    ] {
        let said = trace(&mut *open(), [&file(b"", header)[..]]);
        assert!(complains(&said) || header.is_empty());
    }
    // A million entries without a name, in two megabytes.
    let many = [&b"\x01\x05\xff\0\0\x10\0\0\0\0\0"[..], &vec![0; 2 << 20]].concat();
    let said = trace(&mut *open(), [&file(b"", &many)[..]]);
    assert_eq!(said, [Said::Incomplete(Reason::Held), Said::End]);
    let pool = Pool::new(64 << 20).share(&Limits::default());
    trace(&mut decoder(&pool), [&file(b"", &many)[..]]);
    assert_eq!(pool.bytes_taken(), 0);
}
