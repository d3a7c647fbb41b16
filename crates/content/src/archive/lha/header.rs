//! One header of an LHA file, as much as is there of it. Rule: it says how much more it needs, and never reads what is not there.

use crate::archive::packed::crc16;
use crate::field::{u16_le, u32_le, u64_le};
use lockgate_model::Reason;

/// Up to the level, which says how the rest is read; and of the levels' own fields, up to the first extension's length.
const LEVEL_AT: usize = 20;
const FIXED_BYTES_2: usize = 26;
const FIXED_BYTES_3: usize = 32;
/// The longest header that is read. Real ones have some hundred bytes.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// Types of extensions.
const HEADER_SUM: u8 = 0;
const NAME: u8 = 1;
const FOLDER: u8 = 2;
const SIZES: u8 = 0x42;
const NAME_UTF16: u8 = 0x44;
const FOLDER_UTF16: u8 = 0x45;
const CODE_PAGE: u8 = 0x46;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) method: [u8; 5],
    /// Bytes that follow the header, and what they unpack to.
    pub(super) packed: u64,
    pub(super) size: u64,
    pub(super) crc: Option<u16>,
    pub(super) name: String,
    pub(super) is_damaged: bool,
    pub(super) has_two_names: bool,
}

/// How much of the header is missing.
pub(super) enum Need {
    /// At least so many bytes.
    More(usize),
    Nothing(Box<Header>),
}

/// Reads a header.
///
/// # Errors
///
/// Damaged where there is none.
pub(super) fn parse(bytes: &[u8]) -> Result<Need, Reason> {
    let need = |length: usize| Ok(Need::More(length.saturating_sub(bytes.len())));
    if bytes.len() <= LEVEL_AT {
        return need(LEVEL_AT + 1);
    }
    if bytes[2] != b'-' || bytes[6] != b'-' {
        return Err(Reason::Damaged);
    }
    let whole = match bytes[LEVEL_AT] {
        0 | 1 => usize::from(bytes[0]) + 2,
        2 => usize::from(u16_le(bytes, 0)),
        3 if u16_le(bytes, 0) == 4 && bytes.len() < 28 => return need(28),
        3 if u16_le(bytes, 0) == 4 => u32_le(bytes, 24) as usize,
        _ => return Err(Reason::Damaged),
    };
    let least = match bytes[LEVEL_AT] {
        0 => LEVEL_AT + 2,
        1 => LEVEL_AT + 7,
        2 => FIXED_BYTES_2,
        _ => FIXED_BYTES_3,
    };
    if whole < least {
        return Err(Reason::Damaged);
    }
    if whole > HEADER_BYTES_MAX {
        return Err(Reason::Held);
    }
    if bytes.len() < whole {
        return need(whole);
    }
    if bytes[LEVEL_AT] == 1 {
        // Extensions stand behind the header, each with the next one's length at its end.
        let mut end = whole;
        let mut next = usize::from(u16_le(bytes, whole - 2));
        while next > 0 {
            end += next;
            if next < 3 {
                return Err(Reason::Damaged);
            }
            if end > HEADER_BYTES_MAX {
                return Err(Reason::Held);
            }
            if bytes.len() < end {
                return need(end);
            }
            next = usize::from(u16_le(bytes, end - 2));
        }
        return Ok(Need::Nothing(Box::new(read(bytes, whole)?)));
    }
    Ok(Need::Nothing(Box::new(read(bytes, whole)?)))
}

/// All of it is there; the part without extensions of level 1 is so long.
fn read(bytes: &[u8], own: usize) -> Result<Header, Reason> {
    let level = bytes[LEVEL_AT];
    let mut names = Names::default();
    let mut header = Header {
        method: [bytes[2], bytes[3], bytes[4], bytes[5], bytes[6]],
        packed: u32_le(bytes, 7).into(),
        size: u32_le(bytes, 11).into(),
        crc: None,
        name: String::new(),
        is_damaged: false,
        has_two_names: false,
    };
    let extensions = match level {
        0 | 1 => {
            let sum = bytes[2..own].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            header.is_damaged = sum != bytes[1];
            let name_length = usize::from(bytes[LEVEL_AT + 1]);
            let name_end = LEVEL_AT + 2 + name_length;
            names.own = bytes.get(LEVEL_AT + 2..name_end).ok_or(Reason::Damaged)?.to_vec();
            // The oldest have no sum of the content.
            header.crc = (name_end + 2 <= own).then(|| u16_le(bytes, name_end));
            // Its own length counts the extensions as content.
            if level == 1 { Some((own - 2, 2)) } else { None }
        }
        2 => {
            header.crc = Some(u16_le(bytes, LEVEL_AT + 1));
            Some((FIXED_BYTES_2 - 2, 2))
        }
        _ => {
            header.crc = Some(u16_le(bytes, LEVEL_AT + 1));
            Some((FIXED_BYTES_3 - 4, 4))
        }
    };
    if level == 1 {
        let behind = (bytes.len() - own) as u64;
        header.packed = header.packed.checked_sub(behind).ok_or(Reason::Damaged)?;
    }
    if let Some((at, width)) = extensions {
        extend(&mut header, &mut names, bytes, at, width)?;
    }
    (header.name, header.has_two_names) = names.join();
    Ok(header)
}

/// Reads the extensions; the first one's length stands there, in so many bytes.
fn extend(
    header: &mut Header,
    names: &mut Names,
    bytes: &[u8],
    at: usize,
    width: usize,
) -> Result<(), Reason> {
    let length_at = |at| if width == 2 { usize::from(u16_le(bytes, at)) } else { u32_le(bytes, at) as usize };
    let (mut at, mut length) = (at + width, length_at(at));
    while length > 0 {
        let extension = bytes.get(at..at.saturating_add(length)).ok_or(Reason::Damaged)?;
        let (kind, rest) = extension.split_first().ok_or(Reason::Damaged)?;
        let content = rest.len().checked_sub(width).and_then(|end| rest.get(..end)).ok_or(Reason::Damaged)?;
        match *kind {
            HEADER_SUM => {
                // It counts the header with zeros in its own place.
                let place = at + 1;
                let mut zeroed = bytes.to_vec();
                if let Some(own) = zeroed.get_mut(place..place + 2) {
                    own.fill(0);
                }
                header.is_damaged |= crc16(0, &zeroed) != u16_le(bytes, place);
            }
            NAME => names.name = content.to_vec(),
            FOLDER => names.folder = content.to_vec(),
            SIZES if content.len() >= 16 => {
                (header.packed, header.size) = (u64_le(content, 0), u64_le(content, 8));
            }
            NAME_UTF16 => names.name_utf16 = utf16(content),
            FOLDER_UTF16 => names.folder_utf16 = utf16(content),
            CODE_PAGE => names.code_page = u32_le(content, 0),
            _ => {}
        }
        at += length;
        length = length_at(at - width);
    }
    Ok(())
}

/// The ways in which a name is told.
#[derive(Default)]
struct Names {
    /// In the header itself, with its folders.
    own: Vec<u8>,
    name: Vec<u8>,
    folder: Vec<u8>,
    name_utf16: String,
    folder_utf16: String,
    /// Windows' number of the charset.
    code_page: u32,
}

impl Names {
    /// The name; and whether there is another one.
    fn join(self) -> (String, bool) {
        let text = |bytes: &[u8]| text(bytes, self.code_page);
        let plain = if self.name.is_empty() { text(&self.own) } else { text(&self.name) };
        let has_other = !self.name.is_empty() && !self.own.is_empty() && self.own != self.name
            || !self.name_utf16.is_empty()
                && plain.is_ascii()
                && plain != self.name_utf16
                && !plain.is_empty();
        let name = if self.name_utf16.is_empty() { plain } else { self.name_utf16 };
        let folder = if self.folder_utf16.is_empty() { text(&self.folder) } else { self.folder_utf16 };
        let separator = if folder.is_empty() || folder.ends_with('/') { "" } else { "/" };
        (format!("{folder}{separator}{name}").replace('\\', "/"), has_other)
    }
}

/// Folders end with 0xff; characters are Japanese unless it is told otherwise.
fn text(bytes: &[u8], code_page: u32) -> String {
    const UTF_8: u32 = 65_001;
    let mut text = String::new();
    for (at, piece) in bytes.split(|byte| *byte == 0xff).enumerate() {
        if at > 0 {
            text.push('/');
        }
        // A comment may stand behind a zero.
        let piece = piece.split(|byte| *byte == 0).next().unwrap_or_default();
        match std::str::from_utf8(piece) {
            Ok(piece) => text.push_str(piece),
            Err(_) if code_page == UTF_8 => text.push_str(&String::from_utf8_lossy(piece)),
            Err(_) => text.push_str(&encoding_rs::SHIFT_JIS.decode_without_bom_handling(piece).0),
        }
    }
    text
}

fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|two| u16_le(two, 0));
    let units: Vec<u16> = units.map(|unit| if unit == 0xffff { u16::from(b'/') } else { unit }).collect();
    String::from_utf16_lossy(&units)
}
