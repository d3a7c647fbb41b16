//! The records of a zip file (APPNOTE.TXT, section 4.3). Rule: bytes to values; no state, no opinion.

use crate::codec::unpacker::{Extent, Packing};
use crate::field::{u16_le, u32_le, u64_le};

/// `PK` and two bytes begin every record.
pub(super) const LOCAL: [u8; 4] = *b"PK\x03\x04";
pub(super) const CENTRAL: [u8; 4] = *b"PK\x01\x02";
pub(super) const END: [u8; 4] = *b"PK\x05\x06";
pub(super) const END_64: [u8; 4] = *b"PK\x06\x06";
pub(super) const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
pub(super) const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";
pub(super) const EXTRA_DATA: [u8; 4] = *b"PK\x06\x08";
pub(super) const SIGNATURE: [u8; 4] = *b"PK\x05\x05";
/// A split archive that fits into one piece begins with this.
pub(super) const SPLIT: [u8; 4] = *b"PK00";

/// Lengths of the records' fixed parts, behind the four bytes that begin them.
pub(super) const LOCAL_BYTES: u64 = 26;
pub(super) const CENTRAL_BYTES: u64 = 42;
pub(super) const END_BYTES: u64 = 18;
pub(super) const END_64_BYTES: u64 = 52;
pub(super) const LOCATOR_64_BYTES: u64 = 16;

/// Kinds of extra fields that are read.
pub(super) const EXTRA_ZIP64: u16 = 0x0001;
pub(super) const EXTRA_UNICODE_PATH: u16 = 0x7075;

const FLAG_ENCRYPTED: u16 = 1;
const FLAG_DESCRIPTOR: u16 = 1 << 3;
const FLAG_STRONG: u16 = 1 << 6;
const FLAG_UTF8: u16 = 1 << 11;
const FLAG_MASKED: u16 = 1 << 13;

/// Which of the two headers of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Local,
    Central,
}

/// How an entry is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Packed(Packing),
    Other,
}

/// What a local or central header says of an entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    /// Where the local header is, for a central one.
    pub(super) offset: u64,
    pub(super) name_bytes: u16,
    pub(super) extra_bytes: u16,
    pub(super) comment_bytes: u16,
    pub(super) is_zip64: bool,
}

impl Header {
    /// Section 4.3.7.
    pub(super) fn local(bytes: &[u8]) -> Self {
        Self {
            flags: u16_le(bytes, 2),
            method: u16_le(bytes, 4),
            crc: u32_le(bytes, 10),
            compressed: u32_le(bytes, 14).into(),
            size: u32_le(bytes, 18).into(),
            name_bytes: u16_le(bytes, 22),
            extra_bytes: u16_le(bytes, 24),
            ..Self::default()
        }
    }

    /// Section 4.3.12.
    pub(super) fn central(bytes: &[u8]) -> Self {
        Self {
            flags: u16_le(bytes, 4),
            method: u16_le(bytes, 6),
            crc: u32_le(bytes, 12),
            compressed: u32_le(bytes, 16).into(),
            size: u32_le(bytes, 20).into(),
            name_bytes: u16_le(bytes, 24),
            extra_bytes: u16_le(bytes, 26),
            comment_bytes: u16_le(bytes, 28),
            offset: u32_le(bytes, 38).into(),
            ..Self::default()
        }
    }

    /// Section 4.5.3: only the numbers that did not fit are there, in this order.
    pub(super) fn widen(&mut self, place: Place, extra: &[u8]) {
        let numbers = [&mut self.size, &mut self.compressed, &mut self.offset];
        let count = if place == Place::Local { 2 } else { 3 };
        let mut at = 0;
        for number in numbers.into_iter().take(count) {
            if *number == u32::MAX.into() && extra.len() >= at + 8 {
                *number = u64_le(extra, at);
                at += 8;
            }
        }
        self.is_zip64 = true;
    }

    pub(super) fn method(&self) -> Method {
        match self.method {
            0 => Method::Stored,
            1 => Method::Packed(Packing::Shrink(self.size)),
            6 => Method::Packed(Packing::Implode { flags: self.flags, size: self.size }),
            8 => Method::Packed(Packing::Deflate),
            9 => Method::Packed(Packing::Deflate64),
            14 => Method::Packed(Packing::Lzma(self.known_size())),
            95 => Method::Packed(Packing::Xz),
            20 | 93 => Method::Packed(Packing::Zstd(self.extent())),
            12 => Method::Packed(Packing::Bzip2),
            // It is read ahead of its end, which is to be known then.
            98 if !self.has_descriptor() => Method::Packed(Packing::PpmdI(self.size)),
            _ => Method::Other,
        }
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED) != 0
    }

    /// The same where sizes and sum are known already.
    pub(super) fn without_descriptor(self) -> Self {
        Self { flags: self.flags & !FLAG_DESCRIPTOR, ..self }
    }

    pub(super) fn has_descriptor(&self) -> bool {
        self.flags & FLAG_DESCRIPTOR != 0
    }

    /// Whether the header knows where the content ends.
    fn extent(&self) -> Extent {
        if self.has_descriptor() { Extent::Unknown } else { Extent::Known }
    }

    /// The size, where the header knows it.
    fn known_size(&self) -> Option<u64> {
        (!self.has_descriptor()).then_some(self.size)
    }

    /// The compressed size, where the header knows it.
    pub(super) fn known_compressed(&self) -> Option<u64> {
        (!self.has_descriptor() || self.compressed != 0).then_some(self.compressed)
    }

    /// The name as text: Unicode where the flag or the bytes say so, else code page 437 (appendix D).
    pub(super) fn name(&self, raw: &[u8]) -> String {
        match std::str::from_utf8(raw) {
            Ok(text) => text.to_owned(),
            Err(_) if self.flags & FLAG_UTF8 != 0 => String::from_utf8_lossy(raw).into_owned(),
            Err(_) => raw.iter().copied().map(code_page_437).collect(),
        }
    }
}

/// The name in the extra field of section 4.6.9, if it belongs to this one.
pub(super) fn unicode_path(extra: &[u8], raw_name: &[u8]) -> Option<String> {
    let is_its = extra.first() == Some(&1) && u32_le(extra, 1) == crc32fast::hash(raw_name);
    let text = extra.get(5..)?;
    is_its.then(|| String::from_utf8_lossy(text).into_owned())
}

/// The end of the central directory, of either size (sections 4.3.14 and 4.3.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) is_split: bool,
    pub(super) entries: u64,
    pub(super) directory_bytes: u64,
    pub(super) directory_offset: u64,
}

impl End {
    pub(super) fn parse_64(bytes: &[u8]) -> Self {
        Self {
            is_split: u32_le(bytes, 12) != 0 || u32_le(bytes, 16) != 0,
            entries: u64_le(bytes, 28),
            directory_bytes: u64_le(bytes, 36),
            directory_offset: u64_le(bytes, 44),
        }
    }

    /// Numbers that do not fit are in the larger record, if there was one.
    pub(super) fn parse(bytes: &[u8], larger: Option<Self>) -> Self {
        let is_split = |disk: u16| disk != 0 && disk != u16::MAX;
        let mut end = Self {
            is_split: is_split(u16_le(bytes, 0)) || is_split(u16_le(bytes, 2)),
            entries: u16_le(bytes, 6).into(),
            directory_bytes: u32_le(bytes, 8).into(),
            directory_offset: u32_le(bytes, 12).into(),
        };
        if let Some(larger) = larger {
            end.is_split |= larger.is_split;
            if end.entries == u16::MAX.into() {
                end.entries = larger.entries;
            }
            if end.directory_bytes == u32::MAX.into() {
                end.directory_bytes = larger.directory_bytes;
            }
            if end.directory_offset == u32::MAX.into() {
                end.directory_offset = larger.directory_offset;
            }
        }
        end
    }
}

/// What code page 437 has in its upper half.
pub(crate) fn code_page_437(byte: u8) -> char {
    const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
    match byte {
        0..=127 => char::from(byte),
        _ => UPPER.chars().nth(usize::from(byte - 128)).unwrap_or('\u{fffd}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_page() {
        let upper: String = (128..=255).map(code_page_437).collect();
        assert_eq!(upper.chars().count(), 128);
        assert!(!upper.contains('\u{fffd}'));
        assert_eq!(code_page_437(0x81), 'ü');
        assert_eq!(code_page_437(0xe1), 'ß');
        assert_eq!(code_page_437(0xb0), '░');
    }

    #[test]
    fn widening_takes_only_what_did_not_fit() {
        let mut header = Header { compressed: u32::MAX.into(), size: 7, ..Header::default() };
        header.widen(Place::Local, &5_u64.to_le_bytes());
        assert_eq!((header.compressed, header.size), (5, 7));
    }
}
