//! Archives behind and within other bytes, at every cut. Rule: what is nearly one is none.

use super::CarrierDecoder;
use crate::archive::disguise::{DisguiseDecoder, Guise};
use crate::decoder::Decoder;
use crate::samples::{ZipFile, ZipWriter, children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::Pool;

fn open() -> Box<dyn Decoder> {
    Box::new(CarrierDecoder::new(&Pool::new(1 << 20), Guise::Program))
}

fn seven(behind: &[u8]) -> Vec<u8> {
    let told = [&3_u64.to_le_bytes()[..], &(behind.len() as u64 - 3).to_le_bytes(), b"crc."].concat();
    [&b"7z\xbc\xaf\x27\x1c\0\x04"[..], &crc32fast::hash(&told).to_le_bytes(), &told, behind].concat()
}

fn cab(bytes: usize) -> Vec<u8> {
    let mut out = [&b"MSCF\0\0\0\0"[..], &noise(1, bytes - 8)].concat();
    out[8..12].copy_from_slice(&(bytes as u32).to_le_bytes());
    out[12..30].copy_from_slice(b"\0\0\0\0\x2c\0\0\0\0\0\0\0\x03\x01\x01\0\x01\0");
    out
}

fn arj() -> Vec<u8> {
    let mut header = vec![0; 40];
    (header[0], header[6]) = (34, 2);
    [b"\x60\xea\x28\0", &header[..], &crc32fast::hash(&header).to_le_bytes(), b"\0\0 and files"].concat()
}

fn lha(level: u8) -> Vec<u8> {
    let mut out = [&b"\x20\0-lh5-"[..], &[7; 40], b" and files"].concat();
    out[20] = level;
    if level == 2 {
        out[24..27].copy_from_slice(&[5, 0, 0]);
        return out;
    }
    out[1] = out[2..34].iter().fold(0, |sum: u8, b| sum.wrapping_add(*b));
    out
}

fn to_the_end() -> Vec<Vec<u8>> {
    let rar4 = b"Rar!\x1a\x07\0\x12\x34\x73\0\0\x0d\0\0\0\0\0\0\0 and files".to_vec();
    let rar5 = b"Rar!\x1a\x07\x01\0\x12\x34\x56\x78\x0a\x01\0\0 and files".to_vec();
    vec![rar4, rar5, arj(), lha(0), lha(1), lha(2)]
}

#[test]
fn archives_to_the_end_are_children() {
    for archive in to_the_end() {
        for before in [b"MZ".to_vec(), prose(1, 100), noise(2, 301), b"MZRar!7z-lh-lh5MSCF\x60\xea".to_vec()]
        {
            let said = assert_cut_invariant(&open, &[&before[..], &archive].concat());
            assert_eq!(children(&said), [("1".to_string(), archive.clone())]);
            assert!(!complains(&said) && said.len() == 4, "{said:?}");
        }
    }
}

#[test]
fn archives_of_known_length_end_there() {
    let (seven, cab) = (seven(&prose(3, 50)), cab(300));
    let file = [b"MZ".to_vec(), seven.clone(), prose(4, 40), cab.clone(), seven.clone(), lha(0)].concat();
    let said = assert_cut_invariant(&open, &file);
    let contents: Vec<_> = children(&said).into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(contents, [seven.clone(), cab, seven.clone(), lha(0)]);
    let said = assert_cut_invariant(&open, &[b"MZ", &seven[..60]].concat());
    assert!(complains(&said));
    let other = || Box::new(CarrierDecoder::new(&Pool::new(1 << 20), Guise::Content)) as Box<dyn Decoder>;
    let said = assert_cut_invariant(&other, &[b"GIF", &seven[..]].concat());
    assert!(matches!(said[..], [Said::Anomaly(_), Said::Open(_), Said::Bytes(_), Said::Close, Said::End]));
}

#[test]
fn scripts_unpack_the_rest_of_themselves() {
    let of = |guise| move || Box::new(CarrierDecoder::new(&Pool::new(1 << 20), guise)) as Box<dyn Decoder>;
    let gzip = [&b"\x1f\x8b\x08\x08\x12\x34\x56\x78\x02\x03name\0"[..], &noise(5, 90)].concat();
    let bzip2 = [&b"BZh91AY&SY"[..], &noise(6, 90)].concat();
    let mut xz = [&b"\xfd7zXZ\0\0\x04"[..], &[0; 4], &noise(7, 90)].concat();
    let sum = crc32fast::hash(&xz[6..8]).to_le_bytes();
    xz[8..12].copy_from_slice(&sum);
    let zstd = [&b"\x28\xb5\x2f\xfd\x04"[..], &noise(8, 90)].concat();
    let lzma = [&b"\x5d\0\0\x80\0"[..], &[0xff; 8], &noise(9, 90)].concat();
    let lzip = [&b"LZIP\x01\x0c"[..], &noise(10, 90)].concat();
    let compress = [&b"\x1f\x9d\x90"[..], &noise(11, 90)].concat();
    for packed in [gzip, bzip2, xz, zstd, lzma, lzip, compress] {
        for before in [
            &b"#!/bin/sh\ntail -n +3 $0 | unpack\n"[..],
            b"#!\n\n",
            b"#!\n\x1f\n\x1f\x8b\nB\nBZh\n\xfd7z\nLZIP\n-lh7z\n",
        ] {
            let script = [before, &packed].concat();
            let said = assert_cut_invariant(&of(Guise::Script), &script);
            assert_eq!(children(&said), [("1".to_owned(), packed.clone())]);
            assert!(!complains(&said), "{said:?}");
            assert_eq!(assert_cut_invariant(&of(Guise::Program), &script), [Said::End]);
            let within_a_line = [before, b" ", &packed[..]].concat();
            assert_eq!(assert_cut_invariant(&of(Guise::Script), &within_a_line), [Said::End]);
        }
        for at in [2, 4] {
            let mut other = packed.clone();
            other[at] ^= 0x41;
            let script = [b"#!\n", &other[..]].concat();
            assert!(
                children(&assert_cut_invariant(&of(Guise::Script), &script)).len() <= usize::from(at == 4)
            );
        }
    }
}

#[test]
fn what_is_nearly_one_is_none() {
    let mut wrong = to_the_end();
    wrong.extend([seven(b"four"), cab(100)]);
    for (number, archive) in wrong.iter().enumerate() {
        // RAR's marker alone, a sum, a version, a type.
        let at = [9, 7, 20, 1, 20, 25, 9, 24][number];
        let mut bytes = archive.clone();
        bytes[at] ^= 0x4d;
        assert_eq!(assert_cut_invariant(&open, &[b"MZ", &bytes[..]].concat()), [Said::End], "{number}");
    }
    assert_eq!(trace(&mut *open(), noise(7, 300_000).chunks(4096)), [Said::End]);
    assert_eq!(trace(&mut *open(), prose(7, 300_000).chunks(4096)), [Said::End]);
}

#[test]
fn many_beginnings_are_passed_quickly() {
    let script = || Box::new(CarrierDecoder::new(&Pool::new(1 << 20), Guise::Script)) as Box<dyn Decoder>;
    for four in [
        &b"Rar!"[..],
        b"\x60\xea\xff\0",
        b"7z\xbc\xaf",
        b"-lh5",
        b"MSCF\0\0\0\0",
        b"\n\x1f\x8b\x08",
        b"\n\xfd7zXZ\0",
    ] {
        let long = four.repeat(100_000);
        for open in [&open as &dyn Fn() -> Box<dyn Decoder>, &script] {
            assert_eq!(trace(&mut *open(), [&long[..]]), [Said::End]);
            assert_eq!(trace(&mut *open(), long.chunks(5)), [Said::End]);
        }
    }
}

#[test]
fn zips_are_found_in_passing() {
    let zip = ZipWriter::of(&[ZipFile::deflated("a", &prose(1, 500))]);
    let pieces: [&[u8]; 10] =
        [b"P", b"PK", b"PK\x03", b"PK\x05", b"PK\x05\x06", b"-l", b"MSP", b"\x60\xeaPK\x03", b"RarP", b"7z"];
    let open = || Box::new(CarrierDecoder::new(&Pool::new(1 << 20), Guise::Content)) as Box<dyn Decoder>;
    for round in 0..40 {
        let mut file = b"GIF89a".to_vec();
        noise(round, 12).iter().for_each(|byte| file.extend(pieces[usize::from(*byte) % pieces.len()]));
        let other = &mut DisguiseDecoder::new(&Pool::new(1 << 20), Guise::Content);
        file.extend_from_slice(&zip);
        let said = assert_cut_invariant(&open, &file);
        assert_eq!(said, trace(other, [&file[..]]), "{}", file.escape_ascii());
        assert_eq!(children(&said), [("a".to_owned(), prose(1, 500))]);
        let behind_an_archive = [&seven(&prose(3, 50))[..], b"P", &file].concat();
        assert_eq!(children(&assert_cut_invariant(&open, &behind_an_archive)).len(), 2);
    }
}
