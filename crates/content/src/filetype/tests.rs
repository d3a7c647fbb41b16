//! What is taken for what, at every cut. Rule: beginnings of our own making, after the formats' manuals.

use super::*;
use crate::samples::{noise, prose};
use FileType::*;

/// The answer for these bytes, whole, byte by byte and in two at each place; what was held comes back.
fn sniff(bytes: &[u8]) -> FileType {
    let whole = sniff_chunks(&[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(sniff_chunks(&single), whole, "byte by byte: {:?}", &bytes[..bytes.len().min(40)]);
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(sniff_chunks(&[a, b]), whole, "cut at {at}: {:?}", &bytes[..bytes.len().min(40)]);
    }
    whole
}

fn sniff_chunks(chunks: &[&[u8]]) -> FileType {
    let mut sniffer = Sniffer::new();
    let mut pushed = Vec::new();
    for chunk in chunks {
        let decided = sniffer.push(chunk);
        if let Some(file_type) = decided {
            assert_eq!(sniffer.take_prefix(), pushed);
            return file_type;
        }
        pushed.extend_from_slice(chunk);
        assert!(pushed.len() < PREFIX_BYTES_MAX);
    }
    let file_type = sniffer.end();
    assert_eq!(sniffer.take_prefix(), pushed);
    file_type
}

fn then_noise(start: &[u8]) -> Vec<u8> {
    [start, &noise(7, 1500)].concat()
}

#[test]
fn magics() {
    let cases: &[(&[u8], FileType)] = &[
        (b"PK\x03\x04", Zip),
        (b"PK\x05\x06", Zip),
        (b"PK00PK\x03\x04", Zip),
        (b"\x1f\x8b\x08", Gzip),
        (b"BZh9", Bzip2),
        (b"BZh0", Data),
        (b"Rar!\x1a\x07\x01\0", Rar),
        (b"7z\xbc\xaf\x27\x1c", SevenZip),
        (b"\xfd7zXZ\0", Xz),
        (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff", Lzma),
        (b"\x2d\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0", Lzma),
        (b"\x5e\0\0\xc0\0\x01\0\0\0\0\0\0\0\0", Lzma),
        (b"\x2d\0\x11\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0", Data),
        (b"\0\x01\0\0\0\x0c\0\x80\0\x03\0\x40\0\0", Data),
        (b"\x28\xb5\x2f\xfd", Zstd),
        (b"\x53\x2a\x4d\x18", Zstd),
        (b"ab-lh5-", Lha),
        (b"\x60\xea\x2a\0", Arj),
        (b"MSCF\0\0\0\0", Cab),
        (b"\x1f\x9d\x90", Compress),
        (b"070701", Cpio),
        (b"!<arch>\n", Ar),
        (b"\x78\x9f\x3e\x22", Tnef),
        (b"ITSF", Chm),
        (b"\x04\x22\x4d\x18", Lz4),
        (b"LZIP\x01", Lzip),
        (b"\x89LZO\0\r\n\x1a\n", Lzop),
        (b"\x01\x02\x03\x04\x05\x06\x07**ACE**", Ace),
        (b"ZOO 2.10 Archive.\x1a\0\0\xdc\xa7\xc4\xfd", Zoo),
        (b"ALZ\x01\x0a\0\0\0", Alz),
        (b"EGGA\0\x01", Egg),
        (b"\xed\xab\xee\xdb", Rpm),
        (b"xar!\0\x1c", Xar),
        (b"MSWIM\0\0\0", Wim),
        (b"conectix", Vhd),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Ole2),
        (b"%PDF-1.7", Pdf),
        (b"{\\rtf1", Rtf),
        (b"%!PS", PostScript),
        (b"CWS\x0a", Swf),
        (b"\x7fELF\x02", Elf),
        (b"\xcf\xfa\xed\xfe", MachO),
        (b"\xca\xfe\xba\xbe\0\0\0\x02", MachO),
        (b"\xca\xfe\xba\xbe\0\0\0\x34", JavaClass),
        (b"L\0\0\0\x01\x14\x02\0", Lnk),
        (b"GIF89a", Gif),
        (b"\x89PNG\r\n\x1a\n", Png),
        (b"\xff\xd8\xff\xe0", Jpeg),
        (b"II*\0", Tiff),
        (b"BM\x36\x10\0\0\0\0\0\0\x36\0\0\0", Bmp),
        (b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0\x68\x04\0\0\x16\0\0\0", Icon),
        (b"RIFF\x10\0\0\0WEBP", Webp),
        (b"RIFF\x10\0\0\0WAVE", Riff),
        (b"ID3\x03", Mp3),
        (b"\xff\xfb\x90\x00", Mp3),
        (b"\0\0\0\x20ftypisom", Mp4),
        (b"OggS\0", Ogg),
        (b"\0\x01\x02\x03", Data),
    ];
    for (start, file_type) in cases {
        assert_eq!(sniff(&then_noise(start)), *file_type, "{start:?}");
        // A container is known without waiting for what follows.
        if file_type.kind() == lockgate_model::filetype::Kind::Container {
            assert_eq!(sniff(start), *file_type, "{start:?} alone");
        }
    }
}

#[test]
fn programs() {
    let mut program = vec![0; 600];
    program[..2].copy_from_slice(b"MZ");
    assert_eq!(sniff(&program), Dos);
    program[60] = 0x80;
    assert_eq!(sniff(&program), Dos);
    program[0x80..0x84].copy_from_slice(b"PE\0\0");
    assert_eq!(sniff(&program), Pe);
    program[..2].copy_from_slice(b"ZM");
    assert_eq!(sniff(&program), Pe);
    program[60..64].copy_from_slice(&0x4000_u32.to_le_bytes());
    assert_eq!(sniff(&program), Pe);
    assert_eq!(sniff(b"MZ is how a text may begin"), Text);
}

#[test]
fn tar_before_all_that_its_first_name_imitates() {
    for name in [&b"file.txt"[..], b"MZ", b"GIF89a", b"%PDF-1.4", b"<html>"] {
        let mut header = vec![0; 1024];
        header[..name.len()].copy_from_slice(name);
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(b"00000000000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        assert_eq!(sniff(&header), Tar, "by its sum");
        header[257..262].copy_from_slice(b"ustar");
        assert_eq!(sniff(&header), Tar, "by its magic");
    }
}

#[test]
fn texts() {
    let cases: &[(&str, FileType)] = &[
        ("", Empty),
        ("a", Text),
        ("just words\n", Text),
        ("  <!DOCTYPE HTML>", Html),
        ("\u{feff}\r\n<html>", Html),
        ("<script>x</script>", Html),
        ("<svg onload=x>", Html),
        ("<?xml version='1.0'?>\n<svg>", Html),
        ("<?xml version='1.0'?>\n<feed>", Text),
        ("#@~^AAAAAA==", Script),
        ("<xml>", Text),
        ("#!/bin/sh\n", Script),
        ("<?php echo 1;", Script),
        ("@echo off\r\n", Script),
        ("Received: from a\r\n", Mail),
        ("received: from a\n", Mail),
        ("From: a@b\nSubject: c\n\nd", Mail),
        ("X-Other: 1\n folded\nFrom: a@b\nTo: c", Mail),
        ("From a@b Sat Nov 21\nReturn-Path: <a@b>\n", Mbox),
        (">From a@b Sat Nov 21\nReturn-Path: <a@b>\n", Mail),
        ("x\n=ybegin line=128 size=2 name=x\n\x01\x02\n", Text),
        ("From me to you\nno field here\n", Text),
        ("From: the author\n\nDear reader, to: all", Text),
        ("Subject: words\nno field\n", Text),
        ("Note: this\nhas: colons\n", Text),
        ("some words, then %PDF-1.4", Pdf),
        ("Fro", Text),
        ("\u{1}x", Data),
    ];
    for (text, file_type) in cases {
        assert_eq!(sniff(text.as_bytes()), *file_type, "{text:?}");
    }
    assert_eq!(sniff(&prose(1, 3000)), Text);
    assert_eq!(sniff(b"\xff\xfea\0b\0"), Text);
    assert_eq!(sniff(&noise(3, 2000)), Data);
}

#[test]
fn a_long_first_chunk_is_not_copied() {
    let mut sniffer = Sniffer::new();
    assert_eq!(sniffer.push(&prose(1, 5000)), Some(Text));
    assert_eq!(sniffer.take_prefix().capacity(), 0);
}
