//! A file around pieces: the right header for its target, each piece where its offset says. Rule: what does not fit is not
//! made.

use super::pattern::Piece;
use crate::random::{Random, Texture};

/// Where a piece stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    At(usize),
    /// So many bytes before the end.
    BeforeEnd(usize),
    Entry(i64),
    Section(usize, usize),
    LastSection(usize),
}

/// What a signature asks of the file as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole {
    pub target: u8,
    pub size: Option<(usize, usize)>,
    pub entry: Option<(usize, usize)>,
    pub sections: Option<(usize, usize)>,
}

/// Where a program's first section begins in the file.
const SECTIONS_AT: usize = 0x400;
/// The longest file that is made.
const FILE_BYTES_MAX: usize = 4 << 20;

/// Reads an offset and picks a place in its range; `true` is for one just beside it.
pub fn place(text: &str, random: &mut Random, beside: bool) -> Option<Place> {
    if text == "*" || text.is_empty() {
        return Some(Place::Anywhere);
    }
    let (base, shift) = text.split_once(',').unwrap_or((text, "0"));
    let shift: usize = shift.parse().ok()?;
    let by = if beside { shift + 1 } else { random.below(shift.min(4000) + 1) };
    if let Some(distance) = base.strip_prefix("EOF-") {
        return Some(Place::BeforeEnd(distance.parse::<usize>().ok()?.checked_sub(by)?));
    }
    if let Some(delta) = base.strip_prefix("EP") {
        return Some(Place::Entry(delta.parse::<i64>().ok()? + by as i64));
    }
    if let Some(delta) = base.strip_prefix("SL+") {
        return Some(Place::LastSection(delta.parse::<usize>().ok()? + by));
    }
    if let Some(section) = base.strip_prefix("SE") {
        return Some(Place::Section(section.parse().ok()?, 0x20));
    }
    if let Some((section, delta)) = base.strip_prefix('S').and_then(|rest| rest.split_once('+')) {
        return Some(Place::Section(section.parse().ok()?, delta.parse::<usize>().ok()? + by));
    }
    Some(Place::At(base.parse::<usize>().ok()? + by))
}

/// What texture files of a target have.
pub fn texture(target: u8) -> Texture {
    if matches!(target, 3 | 4 | 7) { Texture::Text } else { Texture::Binary }
}

/// The file. `None` where the pieces cannot stand where they ought to.
pub fn build(whole: Whole, pieces: &[(Place, Piece)], random: &mut Random) -> Option<Vec<u8>> {
    let mut canvas = if whole.target == 1 {
        program(whole, pieces, random)?
    } else {
        let mut canvas = Canvas::new(texture(whole.target));
        canvas.put(0, &header(whole.target))?;
        canvas
    };
    for (place, piece) in pieces {
        match place {
            Place::At(at) => canvas.put(*at, &piece.bytes)?,
            Place::Anywhere | Place::BeforeEnd(_) => {}
            _ if whole.target == 1 => {}
            _ => return None,
        }
    }
    for (place, piece) in pieces {
        if whole.target != 1 && *place == Place::Anywhere {
            let gap = canvas.bytes.len() + random.between(1, 9);
            canvas.grow(gap, random);
            canvas.put(gap, &piece.bytes)?;
            canvas.grow(gap + piece.bytes.len() + 1, random);
        }
    }
    end(whole, pieces, canvas, random)
}

/// Makes the file as long as it must be, with what stands before its end.
fn end(whole: Whole, pieces: &[(Place, Piece)], mut canvas: Canvas, random: &mut Random) -> Option<Vec<u8>> {
    let before_end = pieces.iter().filter_map(|(place, piece)| match place {
        Place::BeforeEnd(distance) => Some((*distance, piece)),
        _ => None,
    });
    let farthest = before_end.clone().map(|(distance, _)| distance).max().unwrap_or(0);
    let least = whole.size.map_or(0, |(least, _)| least);
    let length = (canvas.bytes.len() + farthest + 1).max(least);
    canvas.grow(length, random);
    for (distance, piece) in before_end {
        if piece.bytes.len() > distance {
            return None;
        }
        canvas.put(length - distance, &piece.bytes)?;
    }
    let fits = whole.size.is_none_or(|(_, most)| canvas.bytes.len() <= most);
    (fits && canvas.bytes.len() <= FILE_BYTES_MAX).then_some(canvas.bytes)
}

/// Bytes that are there, and those that are taken.
struct Canvas {
    bytes: Vec<u8>,
    taken: Vec<bool>,
    texture: Texture,
}

impl Canvas {
    fn new(texture: Texture) -> Self {
        Self { bytes: Vec::new(), taken: Vec::new(), texture }
    }

    fn grow(&mut self, length: usize, random: &mut Random) {
        while self.bytes.len() < length {
            let filler = random.filler(self.texture);
            self.bytes.push(filler);
            self.taken.push(false);
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> Option<()> {
        let end = at.checked_add(bytes.len()).filter(|end| *end <= FILE_BYTES_MAX)?;
        let mut filler = Random::new(end as u64);
        self.grow(end, &mut filler);
        for (at, byte) in (at..end).zip(bytes) {
            if self.taken[at] && self.bytes[at] != *byte {
                return None;
            }
            self.bytes[at] = *byte;
            self.taken[at] = true;
        }
        Some(())
    }

    /// Where so many bytes are free, from there on.
    fn free(&self, from: usize, count: usize) -> usize {
        let mut at = from;
        while let Some(used) = self.taken.iter().take(at + count).skip(at).rposition(|taken| *taken) {
            at += used + 2;
        }
        at
    }
}

fn header(target: u8) -> Vec<u8> {
    match target {
        2 => compound(),
        3 => b"<html><body>\n".to_vec(),
        4 => b"From: a@example.net\r\nTo: b@example.net\r\nSubject: q\r\nReceived: by q\r\n\r\n".to_vec(),
        5 => b"GIF89a\x01\x00\x01\x00\x00\x00\x00".to_vec(),
        6 => {
            let mut elf = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0\x01\0\0\0".to_vec();
            elf.resize(52, 0);
            elf
        }
        7 => b"qzjxv ".to_vec(),
        9 => b"\xce\xfa\xed\xfe\x07\0\0\0\x03\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        10 => b"%PDF-1.4\n".to_vec(),
        11 => b"FWS\x05\xff\x00\x00\x00".to_vec(),
        12 => b"\xca\xfe\xba\xbe\x00\x00\x00\x32\x00\x01".to_vec(),
        _ => Vec::new(),
    }
}

/// An OLE2 file with an empty directory.
fn compound() -> Vec<u8> {
    let mut bytes = vec![0; 1536];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    put(24, &[0x3e, 0, 3, 0, 0xfe, 0xff, 9, 0, 6, 0]);
    put(44, &[1, 0, 0, 0, 1, 0, 0, 0]);
    put(56, &[0, 0x10, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    put(68, &[0xfe, 0xff, 0xff, 0xff]);
    put(76, &[0; 4]);
    put(80, &[0xff; 432]);
    put(512, &[0xfd, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff]);
    put(520, &[0xff; 504]);
    let name: Vec<u8> = "Root Entry\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    put(1024, &name);
    put(1024 + 64, &[22, 0, 5, 1]);
    put(1024 + 68, &[0xff; 12]);
    put(1024 + 116, &[0xfe, 0xff, 0xff, 0xff]);
    bytes
}

/// A Windows program whose entry point and sections are where the pieces need them.
fn program(whole: Whole, pieces: &[(Place, Piece)], random: &mut Random) -> Option<Canvas> {
    let highest = pieces.iter().filter_map(|(place, _)| match place {
        Place::Section(section, _) => Some(section + 1),
        _ => None,
    });
    let least = whole.sections.map_or(1, |(least, _)| least).max(1);
    let count = highest.max().unwrap_or(1).max(least);
    if count > 16 || whole.sections.is_some_and(|(_, most)| count > most) {
        return None;
    }
    let before_entry = pieces.iter().filter_map(|(place, _)| match place {
        Place::Entry(delta) => Some(delta.unsigned_abs() as usize),
        _ => None,
    });
    let mut entry = SECTIONS_AT + 0x40 + before_entry.max().unwrap_or(0);
    if let Some((least, most)) = whole.entry {
        entry = entry.max(least);
        if entry > most {
            return None;
        }
    }
    let mut canvas = Canvas::new(Texture::Binary);
    let mut starts = Vec::new();
    let mut at = SECTIONS_AT;
    canvas.grow(at, random);
    for section in 0..count {
        starts.push(at);
        if section == 0 {
            canvas.grow(entry + 0x40, random);
        }
        for (place, piece) in pieces {
            match place {
                Place::Section(number, delta) if *number == section => {
                    canvas.put(at + delta, &piece.bytes)?
                }
                Place::LastSection(delta) if section + 1 == count => canvas.put(at + delta, &piece.bytes)?,
                Place::Entry(delta) if section == 0 => {
                    let at = usize::try_from(entry as i64 + delta).ok().filter(|at| *at >= SECTIONS_AT)?;
                    canvas.put(at, &piece.bytes)?;
                }
                Place::Anywhere if section == 0 => {
                    let free = canvas.free(entry + 8, piece.bytes.len() + 2);
                    canvas.grow(free, random);
                    canvas.put(free, &piece.bytes)?;
                }
                _ => {}
            }
        }
        at = (canvas.bytes.len() + 16).next_multiple_of(0x200);
        canvas.grow(at, random);
    }
    starts.push(at);
    headers(&starts, entry, &mut canvas)?;
    Some(canvas)
}

fn headers(starts: &[usize], entry: usize, canvas: &mut Canvas) -> Option<()> {
    let mut bytes = vec![0; SECTIONS_AT];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let word = |value: usize| (value as u32).to_le_bytes();
    put(0, b"MZ");
    put(0x3c, &word(0x40));
    put(0x40, b"PE\0\0\x4c\x01");
    put(0x46, &((starts.len() - 1) as u16).to_le_bytes());
    put(0x54, &[224, 0, 0x0f, 0x01]);
    let optional = 0x58;
    put(optional, &[0x0b, 0x01, 6, 0]);
    put(optional + 28, &word(0x40_0000));
    put(optional + 32, &word(0x1000));
    put(optional + 36, &word(0x200));
    put(optional + 40, &[4, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    put(optional + 60, &word(SECTIONS_AT));
    put(optional + 68, &[3, 0]);
    put(optional + 72, &word(0x10_0000));
    put(optional + 76, &word(0x1000));
    put(optional + 80, &word(0x10_0000));
    put(optional + 84, &word(0x1000));
    put(optional + 92, &word(16));
    let mut address = 0x1000;
    for (number, pair) in starts.windows(2).enumerate() {
        let (at, length) = (pair[0], pair[1] - pair[0]);
        let row = optional + 224 + number * 40;
        put(row, format!(".s{number}").as_bytes());
        for (field, value) in [(8, length), (12, address), (16, length), (20, at)] {
            put(row + field, &word(value));
        }
        put(row + 36, &[0x20, 0, 0, 0x60]);
        if (at..pair[1]).contains(&entry) {
            put(optional + 16, &word(address + entry - at));
        }
        address = (address + length).next_multiple_of(0x1000);
    }
    put(optional + 56, &word(address));
    canvas.put(0, &bytes)
}
