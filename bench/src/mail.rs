//! The mails and signatures that scenarios send: [`Mail`]. Rule: made here, the same bytes for the same seed.

use std::fmt::Write as _;
use std::io::Write as _;

/// A mail as it goes on the wire in DATA: CR LF line ends, dots stuffed, without the final dot.
#[derive(Clone)]
pub struct Mail {
    /// What it is called in reports.
    pub name: &'static str,
    /// The wire form.
    pub wire: Vec<u8>,
    /// The attachment, before encoding.
    pub attachment: Vec<u8>,
}

/// A small, fast, repeatable source of bytes (splitmix64).
pub struct Random(u64);

impl Random {
    /// The same bytes for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Eight random bytes as a number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A ClamAV `.ndb` database of `count` random signatures of 10 to 100 bytes for any file at any offset.
pub fn random_signatures(count: usize) -> String {
    let mut random = Random::new(count as u64);
    let mut text = String::new();
    for n in 1..=count {
        let length = 10 + random.number() % 91;
        let _ = write!(text, "Bench.Random.{n}:0:*:");
        for _ in 0..length {
            let _ = write!(text, "{:02x}", random.number() as u8);
        }
        text.push('\n');
    }
    text
}

/// An executable of `bytes` made of programs that this machine has, with gaps as linkers leave them, so that it deflates
/// to about 37 % of its size, as the papers' attachments did.
pub fn executable(bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut code = Vec::new();
    for path in ["/usr/bin/bash", "/usr/bin/openssl", "/usr/bin/git", "/usr/bin/perl", "/usr/bin/python3"] {
        code.extend(std::fs::read(path).unwrap_or_default());
    }
    code.extend(std::fs::read("/proc/self/exe")?);
    let page = |real: usize| -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes);
        for piece in code.chunks(real).cycle() {
            if out.len() >= bytes {
                break;
            }
            out.extend_from_slice(piece);
            out.resize(out.len().next_multiple_of(4096), 0);
        }
        out.truncate(bytes);
        out
    };
    let (mut low, mut high) = (512, 4096);
    while high - low > 8 {
        let middle = (low + high) / 2;
        if deflate(&page(middle))?.len() * 100 > 37 * bytes { high = middle } else { low = middle }
    }
    Ok(page(low))
}

fn deflate(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    out.write_all(bytes)?;
    out.finish()
}

/// A zip archive with one deflated entry.
pub fn zip(name: &str, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let packed = deflate(bytes)?;
    let crc = crc32fast::hash(bytes);
    let sizes = |out: &mut Vec<u8>| {
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
    };
    let mut out = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\x21\x54".to_vec();
    sizes(&mut out);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(&packed);
    let directory_at = out.len() as u32;
    out.extend_from_slice(b"PK\x01\x02\x14\0\x14\0\0\0\x08\0\0\0\x21\x54");
    sizes(&mut out);
    out.extend_from_slice(&[0; 14]);
    out.extend_from_slice(name.as_bytes());
    let directory_bytes = out.len() as u32 - directory_at;
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend_from_slice(&directory_bytes.to_le_bytes());
    out.extend_from_slice(&directory_at.to_le_bytes());
    out.extend_from_slice(&0u16.to_le_bytes());
    Ok(out)
}

/// A mail with one attachment.
pub fn with_attachment(name: &'static str, file_name: &str, attachment: Vec<u8>) -> Mail {
    let boundary = "=_bench_7f3a";
    let mut wire = format!(
        "From: Alice <alice@sender.test>\r\nTo: Bob <bob@receiver.test>\r\nSubject: {name}\r\n\
         Date: Sat, 21 Nov 2026 12:00:00 +0000\r\nMessage-ID: <{name}@sender.test>\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=\"{boundary}\"\r\n\r\n--{boundary}\r\n\
         Content-Type: text/plain; charset=us-ascii\r\n\r\nThe program is attached.\r\n\r\n--{boundary}\r\n\
         Content-Type: application/octet-stream; name=\"{file_name}\"\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=\"{file_name}\"\r\n\r\n"
    )
    .into_bytes();
    encode_base64(&attachment, &mut wire);
    wire.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    Mail { name, wire, attachment }
}

/// A mail of about 4 KB of text.
pub fn small() -> Mail {
    let mut wire = b"From: Alice <alice@sender.test>\r\nTo: Bob <bob@receiver.test>\r\nSubject: Minutes\r\n\
        Message-ID: <minutes@sender.test>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n"
        .to_vec();
    let words =
        ["the", "report", "of", "our", "group", "shows", "that", "work", "went", "on", "in", "spring"];
    let mut random = Random::new(4096);
    while wire.len() < 4096 {
        let line: Vec<&str> =
            (0..11).map(|_| words[(random.number() % words.len() as u64) as usize]).collect();
        wire.extend_from_slice(line.join(" ").as_bytes());
        wire.extend_from_slice(b"\r\n");
    }
    Mail { name: "text", wire, attachment: Vec::new() }
}

fn encode_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for line in bytes.chunks(57) {
        for group in line.chunks(3) {
            let value = group.iter().fold(0u32, |sum, b| sum << 8 | u32::from(*b)) << (8 * (3 - group.len()));
            for at in 0..4 {
                let digit = DIGITS[(value >> (18 - 6 * at) & 63) as usize];
                out.push(if at <= group.len() { digit } else { b'=' });
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}
