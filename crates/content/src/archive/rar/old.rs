//! Blocks of the container of RAR 1.5 to 4. Rule: a header whose sum is wrong is said to be damaged, and read as unpackers read it.

use super::{Expect, FileHeader, RarDecoder, Uses};
use crate::archive::packed::Sum;
use crate::codec::rar::{Packed, Start, Version};
use crate::decoder::Event;
use crate::field::{u16_le, u32_le};
use lockgate_model::Reason;

/// What each block begins with: sum, type, flags, length.
const HEAD_BYTES: usize = 7;

/// Types of blocks.
const MAIN: u8 = 0x73;
const FILE: u8 = 0x74;
const SERVICE: u8 = 0x7a;
const END: u8 = 0x7b;

/// Flags of any block: more bytes follow it.
const HAS_DATA: u16 = 0x8000;
/// Flags of the main block.
const MAIN_SOLID: u16 = 8;
const MAIN_ENCRYPTED: u16 = 0x80;
/// Flags of files.
const SPLIT_BEFORE: u16 = 1;
const SPLIT_AFTER: u16 = 2;
const ENCRYPTED: u16 = 4;
const HAS_COMMENT: u16 = 8;
const SOLID: u16 = 0x10;
const WINDOW: u16 = 0xe0;
const LARGE: u16 = 0x100;
const UNICODE: u16 = 0x200;

/// Fields of a file's header end here; then come the large sizes, if any, and the name.
const FILE_BYTES: usize = 32;
/// Windows are no smaller than this, whatever a header says.
const WINDOW_BYTES_MIN: usize = 256 << 10;

/// What the main block says of all files.
#[derive(Debug, Default)]
pub(super) struct Archive {
    /// Whether the container is the new one.
    pub(super) is_new: bool,
    is_solid: bool,
}

impl RarDecoder {
    pub(super) fn await_old_head(&mut self) {
        self.await_field(Expect::OldHead, HEAD_BYTES);
    }

    pub(super) fn old_head(&mut self) {
        let length = usize::from(u16_le(self.field.bytes(), 5));
        if length < HEAD_BYTES {
            return self.stop(Reason::Damaged);
        }
        self.expect = Expect::OldHeader;
        self.field.extend(length - HEAD_BYTES);
        if length == HEAD_BYTES {
            self.old_header();
        }
    }

    pub(super) fn old_header(&mut self) {
        let header = self.field.bytes().to_vec();
        let (kind, flags) = (header[2], u16_le(&header, 3));
        if !is_sum_right(&header) {
            self.pending.push_back(Event::Incomplete(Reason::Damaged));
        }
        let data = if flags & HAS_DATA != 0 { u64::from(u32_le(&header, 7)) } else { 0 };
        match kind {
            MAIN => {
                self.archive.is_solid = flags & MAIN_SOLID != 0;
                if flags & MAIN_ENCRYPTED != 0 {
                    return self.stop(Reason::Encrypted);
                }
                self.pass_over(data);
            }
            FILE | SERVICE if header.len() < FILE_BYTES => self.stop(Reason::Damaged),
            FILE => self.old_file(&header),
            SERVICE => self.old_service(&header),
            END => {
                self.end_of_archive();
                self.expect = Expect::Behind;
            }
            // Comments, signatures and recovery records of old.
            0x72 | 0x75..=0x79 => self.pass_over(data),
            _ => self.stop(Reason::Damaged),
        }
    }

    fn old_file(&mut self, header: &[u8]) {
        let flags = u16_le(header, 3);
        let is_folder = flags & WINDOW == WINDOW;
        let file = self.old_entry(header, Uses::Files);
        if is_folder && file.packed == 0 {
            return self.await_old_head();
        }
        if is_folder {
            self.pending.push_back(Event::Anomaly("a folder with content of its own in a rar file"));
        }
        self.begin_file(file);
    }

    /// A comment, or an NTFS stream: what people may see. All else is for unpackers.
    fn old_service(&mut self, header: &[u8]) {
        let file = self.old_entry(header, Uses::Beside);
        match file.name.as_str() {
            "CMT" | "STM" => self.begin_file(file),
            _ => self.pass_over(file.packed),
        }
    }

    fn old_entry(&mut self, header: &[u8], uses: Uses) -> FileHeader {
        let flags = u16_le(header, 3);
        let is_large = flags & LARGE != 0;
        let high = |at| if is_large { u64::from(u32_le(header, at)) << 32 } else { 0 };
        let packed = u64::from(u32_le(header, 7)) | high(FILE_BYTES);
        let size = u64::from(u32_le(header, 11)) | high(FILE_BYTES + 4);
        let is_unknown = size == if is_large { u64::MAX >> 1 } else { u64::from(u32::MAX) };
        let name_at = FILE_BYTES + if is_large { 8 } else { 0 };
        let raw = header.get(name_at..).unwrap_or_default();
        let raw = raw.get(..usize::from(u16_le(header, 26))).unwrap_or(raw);
        if uses == Uses::Files && has_two_names(raw, flags) {
            self.pending.push_back(Event::Anomaly("a rar entry with two names"));
        }
        let is_split = flags & (SPLIT_BEFORE | SPLIT_AFTER) != 0;
        FileHeader {
            name: name(raw, flags),
            packed,
            // Split files tell the size of the whole.
            size: (!is_unknown && !is_split).then_some(size),
            sum: Sum::crc32(u32_le(header, 16)),
            packing: self.old_packing(header, (!is_unknown).then_some(size), uses),
            cut: is_split.then_some(Reason::Partial),
            uses,
        }
    }

    fn old_packing(&self, header: &[u8], size: Option<u64>, uses: Uses) -> Result<Option<Packed>, Reason> {
        let (flags, version, method) = (u16_le(header, 3), header[24], header[25]);
        if flags & ENCRYPTED != 0 {
            return Err(Reason::Encrypted);
        }
        if method == 0x30 {
            return Ok(None);
        }
        if flags & SPLIT_BEFORE != 0 {
            return Err(Reason::Partial);
        }
        let (version, is_solid) = match version {
            // The oldest say it once for all files.
            15 => (Version::V1, self.archive.is_solid && self.files_seen > 0),
            20 | 26 => (Version::V2, flags & SOLID != 0),
            29 | 36 => (Version::V3, flags & SOLID != 0),
            _ => return Err(Reason::Unsupported),
        };
        if size.is_none() && version != Version::V3 {
            return Err(Reason::Damaged);
        }
        let is_solid = is_solid && uses == Uses::Files;
        let window = 64 << 10 << (flags >> 5 & 7).min(6);
        Ok(Some(Packed {
            version,
            window: window.max(WINDOW_BYTES_MIN),
            start: if is_solid { Start::Solid } else { Start::Anew },
            size,
        }))
    }

    /// Bytes that say nothing of files.
    pub(super) fn pass_over(&mut self, bytes: u64) {
        use crate::archive::packed::{Content, Form};
        self.expect = Expect::Content;
        self.uses = Uses::Beside;
        self.content = Some(Content::new(Form::Skipped, bytes, None, Sum::None, None));
    }
}

/// The sum counts all behind it; where an old comment stands within the header, all before that.
fn is_sum_right(header: &[u8]) -> bool {
    let is = |length: usize| {
        header.get(2..length).is_some_and(|part| crc32fast::hash(part) as u16 == u16_le(header, 0))
    };
    let (kind, flags) = (header[2], u16_le(header, 3));
    let before_comment = match kind {
        MAIN if flags & 2 != 0 => 13,
        FILE if flags & HAS_COMMENT != 0 => FILE_BYTES + usize::from(u16_le(header, 26)),
        // The end of an archive that was cut off a larger one may have none.
        _ => header.len(),
    };
    is(header.len()) || is(before_comment)
}

/// Two names in one: for those who know Unicode, and for others.
fn halves(raw: &[u8], flags: u16) -> (&[u8], Option<&[u8]>) {
    match raw.iter().position(|b| *b == 0) {
        Some(at) if flags & UNICODE != 0 => (&raw[..at], Some(&raw[at + 1..])),
        _ => (raw, None),
    }
}

fn name(raw: &[u8], flags: u16) -> String {
    let (plain, encoded) = halves(raw, flags);
    let name = match encoded {
        Some(encoded) => unicode(plain, encoded),
        None => match std::str::from_utf8(plain) {
            Ok(text) => text.to_owned(),
            Err(_) => plain.iter().copied().map(crate::archive::zip::code_page_437).collect(),
        },
    };
    name.replace('\\', "/")
}

fn has_two_names(raw: &[u8], flags: u16) -> bool {
    let (plain, encoded) = halves(raw, flags);
    let is_other = |name: String| name.is_ascii() && name.as_bytes() != plain;
    encoded.is_some_and(|encoded| plain.is_ascii() && is_other(unicode(plain, encoded)))
}

/// The name's characters, as they differ from the plain name's: two bits say how each is told.
fn unicode(plain: &[u8], encoded: &[u8]) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut bytes = encoded.iter().copied();
    let high = u16::from(bytes.next().unwrap_or(0)) << 8;
    while let Some(mut flags) = bytes.next() {
        for _ in 0..4 {
            let told = flags >> 6;
            flags <<= 2;
            let Some(low) = bytes.next() else { break };
            match told {
                0 => units.push(low.into()),
                1 => units.push(high | u16::from(low)),
                2 => units.push(u16::from(low) | u16::from(bytes.next().unwrap_or(0)) << 8),
                _ => {
                    let moved = (low & 0x80 != 0).then(|| bytes.next().unwrap_or(0));
                    for _ in 0..(low & 0x7f) + 2 {
                        let Some(same) = plain.get(units.len()) else { break };
                        units.push(match moved {
                            Some(by) => high | u16::from(same.wrapping_add(by)),
                            None => u16::from(*same),
                        });
                    }
                }
            }
        }
    }
    String::from_utf16_lossy(&units)
}
