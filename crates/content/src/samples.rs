//! Writers of archives for tests. Rule: they write what they are told, right or wrong.

pub(crate) mod lzma;

use crate::decoder::{Decoder, SCRATCH_BYTES_MIN};
use crate::trace::{Said, trace};
use zlib_rs::{Deflate, DeflateFlush, Status};

/// Bytes that do not compress, the same each time.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Bytes that compress as text does.
pub(crate) fn prose(seed: u64, length: usize) -> Vec<u8> {
    const WORDS: [&str; 8] = ["the ", "gate ", "locks ", "behind ", "whoever ", "went ", "in ", "last.\n"];
    noise(seed, length).iter().flat_map(|b| WORDS[usize::from(*b % 8)].bytes()).take(length).collect()
}

/// Raw deflate.
pub(crate) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut output = vec![0; content.len() + content.len() / 8 + 256];
    let mut deflate = Deflate::new(6, false, 15);
    assert_eq!(deflate.compress(content, &mut output, DeflateFlush::Finish), Ok(Status::StreamEnd));
    output.truncate(deflate.total_out() as usize);
    output
}

/// Deflate within zlib's wrapping.
pub(crate) fn zlib(content: &[u8]) -> Vec<u8> {
    let (mut low, mut high) = (1u32, 0u32);
    for byte in content {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    [&b"\x78\x9c"[..], &deflate(content), &(high << 16 | low).to_be_bytes()].concat()
}

/// A gzip member with these flags and what they announce.
pub(crate) fn gzip_with(flags: u8, announced: &[u8], content: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
    file.extend_from_slice(announced);
    file.extend_from_slice(&deflate(content));
    file.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
    file.extend_from_slice(&(content.len() as u32).to_le_bytes());
    file
}

/// A gzip member without a name.
pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    gzip_with(0, b"", content)
}

/// How a zip entry tells its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    InHeader,
    InZip64Extra,
    InDescriptor { signed: bool, wide: bool },
}

/// One entry to be written.
#[derive(Clone, Debug)]
pub(crate) struct ZipFile {
    pub(crate) name: Vec<u8>,
    pub(crate) central_name: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) sizes: Sizes,
    pub(crate) extra: Vec<u8>,
    pub(crate) compressed: Vec<u8>,
    pub(crate) crc: u32,
    pub(crate) size: u64,
}

impl ZipFile {
    pub(crate) fn stored(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.into(),
            central_name: name.into(),
            flags: 0,
            method: 0,
            sizes: Sizes::InHeader,
            extra: Vec::new(),
            compressed: content.to_vec(),
            crc: crc32fast::hash(content),
            size: content.len() as u64,
        }
    }

    pub(crate) fn deflated(name: &str, content: &[u8]) -> Self {
        Self { method: 8, compressed: deflate(content), ..Self::stored(name, content) }
    }

    pub(crate) fn with(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }
}

/// A zip file being written.
#[derive(Default)]
pub(crate) struct ZipWriter {
    pub(crate) bytes: Vec<u8>,
    pub(crate) central: Vec<u8>,
    pub(crate) entries: u16,
}

impl ZipWriter {
    pub(crate) fn of(files: &[ZipFile]) -> Vec<u8> {
        let mut writer = Self::default();
        files.iter().for_each(|f| writer.add(f));
        writer.finish()
    }

    pub(crate) fn add(&mut self, file: &ZipFile) {
        let offset = self.bytes.len() as u32;
        self.add_local(file);
        self.add_central(file, offset);
    }

    pub(crate) fn add_local(&mut self, file: &ZipFile) {
        let mut extra = file.extra.clone();
        let mut flags = file.flags;
        let (mut crc, mut compressed, mut size) = (file.crc, file.compressed.len() as u32, file.size as u32);
        let mut descriptor = Vec::new();
        match file.sizes {
            Sizes::InHeader => {}
            Sizes::InZip64Extra => {
                extra.extend_from_slice(&[1, 0, 16, 0]);
                extra.extend_from_slice(&file.size.to_le_bytes());
                extra.extend_from_slice(&(file.compressed.len() as u64).to_le_bytes());
                (compressed, size) = (u32::MAX, u32::MAX);
            }
            Sizes::InDescriptor { signed, wide } => {
                flags |= 8;
                if signed {
                    descriptor.extend_from_slice(b"PK\x07\x08");
                }
                descriptor.extend_from_slice(&crc.to_le_bytes());
                for number in [file.compressed.len() as u64, file.size] {
                    let bytes = number.to_le_bytes();
                    descriptor.extend_from_slice(if wide { &bytes } else { &bytes[..4] });
                }
                (crc, compressed, size) = (0, 0, 0);
            }
        }
        self.bytes.extend_from_slice(b"PK\x03\x04\x14\0");
        for number in [flags, file.method, 0, 0] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [crc, compressed, size] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(file.name.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(extra.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&file.name);
        self.bytes.extend_from_slice(&extra);
        self.bytes.extend_from_slice(&file.compressed);
        self.bytes.extend_from_slice(&descriptor);
    }

    pub(crate) fn add_central(&mut self, file: &ZipFile, offset: u32) {
        self.entries += 1;
        self.central.extend_from_slice(b"PK\x01\x02\x14\0\x14\0");
        for number in [file.flags, file.method, 0, 0] {
            self.central.extend_from_slice(&number.to_le_bytes());
        }
        for number in [file.crc, file.compressed.len() as u32, file.size as u32] {
            self.central.extend_from_slice(&number.to_le_bytes());
        }
        self.central.extend_from_slice(&(file.central_name.len() as u16).to_le_bytes());
        self.central.extend_from_slice(&[0; 12]);
        self.central.extend_from_slice(&offset.to_le_bytes());
        self.central.extend_from_slice(&file.central_name);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let Self { mut bytes, central, entries } = self;
        let offset = bytes.len() as u32;
        bytes.extend_from_slice(&central);
        bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        bytes.extend_from_slice(&entries.to_le_bytes());
        bytes.extend_from_slice(&entries.to_le_bytes());
        bytes.extend_from_slice(&(central.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes
    }
}

/// Whether anything was said that keeps the part from being clean.
pub(crate) fn complains(said: &[Said]) -> bool {
    said.iter().any(|s| matches!(s, Said::Broken(_) | Said::Incomplete(_)))
}

/// The children's names with their bytes.
pub(crate) fn children(said: &[Said]) -> Vec<(String, Vec<u8>)> {
    let mut children: Vec<(String, Vec<u8>)> = Vec::new();
    for one in said {
        match one {
            Said::Open(entry) => children.push((entry.label.clone(), Vec::new())),
            Said::Bytes(bytes) => children.last_mut().unwrap().1.extend_from_slice(bytes),
            _ => {}
        }
    }
    children
}

/// Cuts the input off at each place, and asserts that it is never silent, but for the lengths that are whole.
pub(crate) fn assert_truncation_told(open: &dyn Fn() -> Box<dyn Decoder>, input: &[u8], whole_from: usize) {
    for length in 0..input.len() {
        let said = trace(&mut *open(), [&input[..length]]);
        assert_eq!(complains(&said), length < whole_from, "cut off at {length}: {said:?}");
    }
}

/// Turns each bit in turn: no panic, the same at some cut, and either told or of no consequence for the content.
pub(crate) fn assert_flips_told(open: &dyn Fn() -> Box<dyn Decoder>, input: &[u8]) {
    let right = children(&trace(&mut *open(), [input]));
    let mut bytes = input.to_vec();
    for bit in 0..input.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let said = trace(&mut *open(), [&bytes[..]]);
        let cut = trace(&mut *open(), bytes.chunks(1));
        assert_eq!(said, cut, "bit {bit}, byte by byte");
        let contents = |c: &[(String, Vec<u8>)]| c.iter().map(|c| c.1.clone()).collect::<Vec<_>>();
        let is_same = contents(&children(&said)) == contents(&right);
        let is_told = complains(&said) || said.iter().any(|s| matches!(s, Said::Anomaly(_)));
        assert!(is_same || is_told, "bit {bit} of byte {} changes content in silence", bit / 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

/// As many bytes as no scratch holds.
pub(crate) const LONG: usize = SCRATCH_BYTES_MIN * 5 + 123;
