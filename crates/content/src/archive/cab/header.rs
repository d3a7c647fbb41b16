//! The records of a cabinet (MS-CAB, section 2). Rule: bytes to values; no state, no opinion.

use crate::field::{u16_le, u32_le};

/// Lengths of the records' fixed parts.
pub(super) const HEAD_BYTES: u64 = 36;
pub(super) const RESERVE_SIZES_BYTES: u64 = 4;
pub(super) const FOLDER_BYTES: u64 = 8;
pub(super) const FILE_BYTES: u64 = 16;
pub(super) const BLOCK_BYTES: u64 = 8;
/// Longer names there are not (section 2.3); so much is kept of what is longer.
pub(super) const NAME_BYTES_MAX: usize = 257;

const FLAG_PREVIOUS: u16 = 1;
const FLAG_NEXT: u16 = 2;
const FLAG_RESERVE: u16 = 4;
const ATTRIBUTE_UTF8: u16 = 0x80;

/// A cabinet's head (section 2.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub(super) bytes: u64,
    pub(super) files_at: u64,
    pub(super) folders: u16,
    pub(super) files: u16,
    flags: u16,
    /// Bytes that writers keep for themselves: in the head, a folder, a block.
    pub(super) reserve: [u64; 3],
}

impl Head {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        Self {
            bytes: u32_le(bytes, 8).into(),
            files_at: u32_le(bytes, 16).into(),
            folders: u16_le(bytes, 26),
            files: u16_le(bytes, 28),
            flags: u16_le(bytes, 30),
            reserve: [0; 3],
        }
    }

    pub(super) fn has_reserve(&self) -> bool {
        self.flags & FLAG_RESERVE != 0
    }

    /// Takes the sizes of what is kept.
    pub(super) fn reserve(&mut self, bytes: &[u8]) {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0).into();
        self.reserve = [u16_le(bytes, 0).into(), byte(2), byte(3)];
    }

    /// How many texts follow: a cabinet and a disk before and behind this one.
    pub(super) fn texts(&self) -> u8 {
        let count = |flag| if self.flags & flag != 0 { 2 } else { 0 };
        count(FLAG_PREVIOUS) + count(FLAG_NEXT)
    }
}

/// How a folder is packed (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Stored,
    Mszip,
    Quantum { window_bits: u32 },
    Lzx { window_bits: u32 },
    Unknown,
}

/// Files that are packed together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folder {
    pub(super) at: u64,
    pub(super) blocks: u16,
    pub(super) packing: Packing,
}

impl Folder {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let packing = u16_le(bytes, 6);
        let window_bits = u32::from(packing >> 8 & 0x1f);
        Self {
            at: u32_le(bytes, 0).into(),
            blocks: u16_le(bytes, 4),
            packing: match packing & 0xf {
                0 => Packing::Stored,
                1 => Packing::Mszip,
                2 => Packing::Quantum { window_bits },
                3 => Packing::Lzx { window_bits },
                _ => Packing::Unknown,
            },
        }
    }
}

/// Where a file's content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In this cabinet's folder of that number.
    Folder(u16),
    /// It began in the cabinet before.
    Before,
    /// It begins in the last folder and goes on in the next cabinet.
    Behind,
}

/// A file (section 2.3).
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) place: Place,
    attributes: u16,
    pub(super) name: String,
    /// When its folder comes.
    pub(super) rank: u32,
}

impl File {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        Self {
            size: u32_le(bytes, 0).into(),
            offset: u32_le(bytes, 4).into(),
            place: match u16_le(bytes, 8) {
                0xfffd | 0xffff => Place::Before,
                0xfffe => Place::Behind,
                folder => Place::Folder(folder),
            },
            attributes: u16_le(bytes, 14),
            name: String::new(),
            rank: 0,
        }
    }

    /// The name as text: the code page is nowhere said.
    pub(super) fn call(&mut self, raw: &[u8]) {
        self.name = match std::str::from_utf8(raw) {
            Ok(text) => text.to_owned(),
            Err(_) if self.attributes & ATTRIBUTE_UTF8 != 0 => String::from_utf8_lossy(raw).into_owned(),
            Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(raw).0.into_owned(),
        };
    }
}

/// The sum of a block (section 3.1): words of 32 bits, and what is left over as its bytes turned round.
pub(super) fn sum(bytes: &[u8], seed: u32) -> u32 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder().iter().fold(0, |rest, byte| rest << 8 | u32::from(*byte));
    words.fold(seed, |sum, word| sum ^ u32_le(word, 0)) ^ rest
}
