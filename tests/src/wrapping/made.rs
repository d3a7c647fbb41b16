//! Formats that no program of Debian makes, written out by their manuals. Rule: the least that the format needs.

use crate::mail::{base64, crc32};
use crate::process::run;
use crate::rar::{Method, Solidity, Writer3, Writer5};
use crate::temporary::Directory;
use std::process::Command;

const NAME: &[u8] = b"content.txt";

/// RAR 5, one stored file (RAR 5.0 archive format, rarlab.com).
pub fn rar5(content: &[u8]) -> Vec<u8> {
    let block = |fields: &[u8]| {
        let mut sized = vint(fields.len() as u64);
        sized.extend_from_slice(fields);
        [&crc32(&sized).to_le_bytes()[..], &sized].concat()
    };
    let size = vint(content.len() as u64);
    let mut file = vec![2, 2];
    file.extend_from_slice(&size);
    // The check sum is there; attributes; the sum; method: stored; made on Unix.
    file.push(4);
    file.extend_from_slice(&size);
    file.extend_from_slice(&vint(0o100_644));
    file.extend_from_slice(&crc32(content).to_le_bytes());
    file.extend_from_slice(&[0, 1]);
    file.extend_from_slice(&vint(NAME.len() as u64));
    file.extend_from_slice(NAME);
    [b"Rar!\x1a\x07\x01\0", &block(&[1, 0, 0])[..], &block(&file), content, &block(&[5, 0, 0])].concat()
}

/// A number in groups of seven bits, the lowest first.
fn vint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// RAR 1.5 to 4, one stored file (technote.txt of RAR 4).
pub fn rar4(content: &[u8]) -> Vec<u8> {
    let block = |fields: &[u8]| [&crc32(fields).to_le_bytes()[..2], fields].concat();
    let size = (content.len() as u32).to_le_bytes();
    let mut file = b"\x74\0\x80".to_vec();
    file.extend_from_slice(&(32 + NAME.len() as u16).to_le_bytes());
    file.extend_from_slice(&size);
    file.extend_from_slice(&size);
    file.push(3);
    file.extend_from_slice(&crc32(content).to_le_bytes());
    file.extend_from_slice(&[0, 0, 0x21, 0, 20, 0x30]);
    file.extend_from_slice(&(NAME.len() as u16).to_le_bytes());
    file.extend_from_slice(&0o100_644_u32.to_le_bytes());
    file.extend_from_slice(NAME);
    let main = b"\x73\0\0\x0d\0\0\0\0\0\0\0";
    [b"Rar!\x1a\x07\0", &block(main)[..], &block(&file), content, &block(b"\x7b\0\x40\x07\0")].concat()
}

/// RAR 5, one packed file.
pub fn rar5_packed(content: &[u8]) -> Vec<u8> {
    let mut writer = Writer5::default();
    writer.file("content.txt", content, Method::Packed, Solidity::Alone);
    writer.finish()
}

/// RAR 3, one packed file.
pub fn rar4_packed(content: &[u8]) -> Vec<u8> {
    let mut writer = Writer3::default();
    writer.file("content.txt", content, Method::Packed, Solidity::Alone);
    writer.finish()
}

/// A program that unpacks the RAR behind it.
pub fn rar_program(content: &[u8]) -> Vec<u8> {
    [std::fs::read("/bin/true").expect("a program"), rar5_packed(content)].concat()
}

/// zip's method 93: a frame of Zstandard (APPNOTE.TXT 4.4.5).
pub fn zip_zstd(content: &[u8]) -> Vec<u8> {
    let directory = Directory::new("zip-zstd");
    directory.write("content.txt", content);
    run(Command::new("zstd").args(["-q", "content.txt"]).current_dir(directory.path()));
    zip(93, &std::fs::read(directory.join("content.txt.zst")).expect("a frame"), content)
}

/// zip's method 6 (5.3): two codes of 64 symbols, six bits each, that nothing uses, and literals as they are behind a bit.
pub fn zip_imploded(content: &[u8]) -> Vec<u8> {
    let mut packed = b"\x03\xf5\xf5\xf5\xf5".repeat(2);
    packed.extend(nines(content.iter().map(|byte| 1 | u16::from(*byte) << 1)));
    zip(6, &packed, content)
}

/// zip's method 1 (5.1): codes of nine bits, each for a byte.
pub fn zip_shrunk(content: &[u8]) -> Vec<u8> {
    let packed: Vec<u8> = nines(content.iter().map(|byte| u16::from(*byte))).collect();
    zip(1, &packed, content)
}

/// Numbers of nine bits, the lowest bit first.
fn nines(numbers: impl Iterator<Item = u16>) -> impl Iterator<Item = u8> {
    let bits: Vec<bool> = numbers.flat_map(|number| (0..9).map(move |bit| number >> bit & 1 == 1)).collect();
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    let bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
    bytes.into_iter()
}

/// A zip of one file, packed by a method (APPNOTE.TXT 4.3).
fn zip(method: u16, packed: &[u8], content: &[u8]) -> Vec<u8> {
    let common = [
        &b"\x14\0\0\0"[..],
        &method.to_le_bytes(),
        b"\0\0\x21\0",
        &crc32(content).to_le_bytes(),
        &(packed.len() as u32).to_le_bytes(),
        &(content.len() as u32).to_le_bytes(),
        &(NAME.len() as u16).to_le_bytes(),
        b"\0\0",
    ]
    .concat();
    let local = [b"PK\x03\x04", &common[..], NAME, packed].concat();
    let central = [b"PK\x01\x02\x14\0", &common[..], &[0; 14], NAME].concat();
    let sizes = [&(central.len() as u32).to_le_bytes()[..], &(local.len() as u32).to_le_bytes()].concat();
    [&local, &central, &b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &sizes, b"\0\0"].concat()
}

/// One attachment (MS-OXTNEF).
pub fn tnef(content: &[u8]) -> Vec<u8> {
    let attribute = |level: u8, tag: u32, data: &[u8]| {
        let sum = data.iter().fold(0_u16, |sum, byte| sum.wrapping_add((*byte).into()));
        let mut out = vec![level];
        out.extend_from_slice(&tag.to_le_bytes());
        out.extend_from_slice(&(data.len() as u32).to_le_bytes());
        out.extend_from_slice(data);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    };
    [
        &b"\x78\x9f\x3e\x22\x01\0"[..],
        &attribute(1, 0x0008_9006, &0x1_0000_u32.to_le_bytes()),
        &attribute(2, 0x0006_9002, &[1, 0, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0x20, 0, 0, 0, 0, 0]),
        &attribute(2, 0x0001_8010, &[NAME, b"\0"].concat()),
        &attribute(2, 0x0006_800f, content),
    ]
    .concat()
}

/// An embedded object of OLE 1 in hex (RTF 1.9.1, `\objdata`; MS-OLEDS 2.2.5) that is a package of one file.
pub fn rtf(content: &[u8]) -> Vec<u8> {
    let counted = |text: &[u8]| [&(text.len() as u32 + 1).to_le_bytes()[..], text, b"\0"].concat();
    let size = (content.len() as u32).to_le_bytes();
    let path = [&b"C:\\"[..], NAME, b"\0"].concat();
    let package = [
        &b"\x02\0"[..],
        NAME,
        b"\0",
        &path,
        b"\0\0\x03\0",
        &(path.len() as u32).to_le_bytes(),
        &path,
        &size,
        content,
    ]
    .concat();
    let object = [
        &b"\x01\x05\0\0\x02\0\0\0"[..],
        &counted(b"Package"),
        &[0; 8],
        &(package.len() as u32).to_le_bytes(),
        &package,
        b"\x01\x05\0\0\0\0\0\0",
    ]
    .concat();
    let hex: String = object.chunks(40).map(|line| hex(line) + "\r\n").collect();
    format!("{{\\rtf1\\ansi{{\\object\\objemb{{\\*\\objclass Package}}{{\\*\\objdata {hex}}}}}}}")
        .into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A section file's head and one blob of a file (MS-ONESTORE 2.3.1, 2.6.13).
pub fn onenote(content: &[u8]) -> Vec<u8> {
    let mut out = b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3".to_vec();
    out.resize(1024, 0);
    out.extend_from_slice(b"\xe7\x16\xe3\xbd\x65\x26\x11\x45\xa4\xc4\x8d\x4d\x0b\x7a\x9e\xac");
    out.extend_from_slice(&(content.len() as u64).to_le_bytes());
    out.extend_from_slice(&[0; 12]);
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(8), 0);
    out.extend_from_slice(b"\x22\xa7\xfb\x71\x79\x0f\x0b\x4a\xbb\x13\x89\x92\x56\x42\x6b\x24");
    out
}

/// Two mails of a mailbox, the second with the content attached (RFC 4155).
pub fn mbox(content: &[u8]) -> Vec<u8> {
    let from = "From ann@example.org Sat Nov 21 02:00:00 2026\n";
    let head = "From: Ann <ann@example.org>\nTo: Bob <bob@example.org>\nSubject: post\n";
    format!(
        "{from}{head}\nFirst.\n\n{from}{head}MIME-Version: 1.0\nContent-Type: application/octet-stream\n\
         Content-Transfer-Encoding: base64\n\n{}\n",
        base64(content).replace('\r', "")
    )
    .into_bytes()
}

/// A text with a file in yEnc (yEnc draft 1.3).
pub fn yenc(content: &[u8]) -> Vec<u8> {
    let name = String::from_utf8_lossy(NAME);
    let mut out =
        format!("Here it is.\r\n\r\n=ybegin line=128 size={} name={name}\r\n", content.len()).into_bytes();
    for line in content.chunks(128) {
        for byte in line {
            match byte.wrapping_add(42) {
                critical @ (0 | b'\n' | b'\r' | b'=' | b'.') => {
                    out.extend_from_slice(&[b'=', critical.wrapping_add(64)]);
                }
                other => out.push(other),
            }
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(
        format!("=yend size={} crc32={:08x}\r\n", content.len(), crc32(content)).as_bytes(),
    );
    out
}
