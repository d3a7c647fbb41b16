//! Writes RAR archives, for tests. Rule: by the formats' structure alone, so that what is read was written by something else.
//!
//! Nothing is packed well: all codes of an alphabet are of one length, and matches are the nearest. It needs nothing but
//! `crc32fast`, so that others may include it.

/// How content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As it is.
    Stored,
    /// Matches and literals.
    Packed,
}

/// Whether a file goes on from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solidity {
    /// It does not.
    Alone,
    /// It does.
    Solid,
}

/// Bits, most significant first.
#[derive(Default)]
pub struct BitWriter {
    /// What was written.
    pub bytes: Vec<u8>,
    /// How many bits that is.
    pub bits: usize,
}

impl BitWriter {
    /// The lowest so many bits of a number.
    pub fn put(&mut self, count: usize, number: u64) {
        for at in (0..count).rev() {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = (number >> at & 1) as u8;
            *self.bytes.last_mut().expect("there is one") |= bit << (7 - self.bits % 8);
            self.bits += 1;
        }
    }

    /// The lengths of codes: for each alphabet so many symbols of so many bits.
    fn lengths(&mut self, alphabets: &[(u64, u64)]) {
        // Each length has a code of five bits; 17 repeats the last, 11 times and more.
        (0..20).for_each(|_| self.put(4, 5));
        for (symbols, bits) in alphabets {
            self.put(5, *bits);
            let mut left = symbols - 1;
            while left >= 11 {
                let run = left.min(138);
                self.put(5, 17);
                self.put(7, run - 11);
                left -= run;
            }
            (0..left).for_each(|_| self.put(5, *bits));
        }
    }

    /// RAR 2's codes of matches and literals, no lengths kept from before.
    fn codes_of_2(&mut self) {
        self.put(2, 0);
        (0..19).for_each(|_| self.put(4, 5));
        for (symbols, length) in [(298, 9), (48, 6), (28, 5)] {
            (0..symbols).for_each(|_| self.put(5, length));
        }
    }

    /// What a slot of a table leaves open.
    fn slot(&mut self, (_, base, extra): (u64, u64, u64), number: u64) {
        self.put(extra as usize, number - base);
    }
}

/// One piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Literal(u8),
    Match { distance: usize, length: usize },
}

/// A match that reaches further has this length at least, for far ones count for less than they are.
const NEAR: usize = 0x100;
const FAR_LENGTH_MIN: usize = 6;

/// Cuts content into matches and literals; matches may reach back into what stands before it.
fn pieces(whole: &[u8], start: usize, length_max: usize) -> Vec<Piece> {
    let mut seen = std::collections::HashMap::new();
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < whole.len() {
        let key = whole.get(at..at + 4);
        let before = key.and_then(|key| seen.insert(key, at)).filter(|_| at >= start);
        let is_worth = |from: &usize| {
            at - from <= NEAR || whole.get(*from..from + FAR_LENGTH_MIN) == whole.get(at..at + FAR_LENGTH_MIN)
        };
        let Some(from) = before.filter(is_worth) else {
            if at >= start {
                pieces.push(Piece::Literal(whole[at]));
            }
            at += 1;
            continue;
        };
        let same = whole[at..].iter().zip(&whole[from..]).take_while(|(a, b)| a == b).count();
        let length = same.min(length_max);
        pieces.push(Piece::Match { distance: at - from, length });
        at += length;
    }
    pieces
}

/// Of slots (number, base, extra bits) the one that a number falls into.
fn slot_of(slots: impl Iterator<Item = (u64, u64, u64)>, number: u64) -> (u64, u64, u64) {
    slots.take_while(|slot| slot.1 <= number).last().expect("the first is 0")
}

fn slots_of_5(first: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    // As many slots without extra bits, then half as many of each number.
    let of = move |slot: u64| {
        if slot < first * 2 {
            return (slot, slot, 0);
        }
        let extra = slot / first - 1;
        (slot, (first + slot % first) << extra, extra)
    };
    (0..80).map(of)
}

/// The content as RAR 5 packs it, in blocks of so many pieces; `filter` comes before the first.
pub fn pack_5(whole: &[u8], start: usize, pieces_in_block: usize, filter: &[(usize, u64)]) -> Vec<u8> {
    let mut packed = Vec::new();
    let pieces = pieces(whole, start, 4000);
    let blocks = pieces.chunks(pieces_in_block).count().max(1);
    for number in 0..blocks {
        let first = number * pieces_in_block;
        let block = &pieces[first..pieces.len().min(first + pieces_in_block)];
        let mut bits = BitWriter::default();
        if number == 0 {
            bits.lengths(&[(306, 9), (64, 6), (16, 4), (44, 6)]);
            filter.iter().for_each(|(count, number)| bits.put(*count, *number));
        }
        block.iter().for_each(|piece| piece_5(&mut bits, *piece));
        let flags = ((bits.bits + 7) % 8) as u8
            | 2 << 3
            | if number == 0 { 0x80 } else { 0 }
            | if number + 1 == blocks { 0x40 } else { 0 };
        let size = (bits.bytes.len() as u32).to_le_bytes();
        packed.extend_from_slice(&[
            flags,
            0x5a ^ flags ^ size[0] ^ size[1] ^ size[2],
            size[0],
            size[1],
            size[2],
        ]);
        packed.extend_from_slice(&bits.bytes);
    }
    packed
}

fn piece_5(bits: &mut BitWriter, piece: Piece) {
    let (distance, length) = match piece {
        Piece::Literal(byte) => return bits.put(9, byte.into()),
        Piece::Match { distance, length } => (distance as u64, length as u64),
    };
    let bonus = [0x100, 0x2000, 0x40000].iter().filter(|least| distance > **least).count() as u64;
    let length = length - 2 - bonus;
    let slot = slot_of(slots_of_5(4), length);
    bits.put(9, 262 + slot.0);
    bits.slot(slot, length);
    let slot = slot_of(slots_of_5(2), distance - 1);
    bits.put(6, slot.0);
    let rest = distance - 1 - slot.1;
    match slot.2 {
        0..4 => bits.put(slot.2 as usize, rest),
        extra => {
            bits.put(extra as usize - 4, rest >> 4);
            bits.put(4, rest & 15);
        }
    }
}

/// The content as RAR 3 packs it; `filter` comes before the first piece.
pub fn pack_3(whole: &[u8], start: usize, filter: &[(usize, u64)]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    // Matches and literals, no lengths kept from before.
    bits.put(2, 0);
    bits.lengths(&[(299, 9), (60, 6), (17, 5), (28, 5)]);
    filter.iter().for_each(|(count, number)| bits.put(*count, *number));
    for piece in pieces(whole, start, 250) {
        piece_3(&mut bits, piece);
    }
    // The end of the block and of the file; the next has new codes.
    bits.put(9, 256);
    bits.put(2, 1);
    bits.bytes
}

fn piece_3(bits: &mut BitWriter, piece: Piece) {
    let (distance, length) = match piece {
        Piece::Literal(byte) => return bits.put(9, byte.into()),
        Piece::Match { distance, length } => (distance as u64, length as u64),
    };
    let bonus = u64::from(distance >= 0x2000) + u64::from(distance >= 0x40000);
    let slot = slot_of(slots_of_5(4).take(28), length - 3 - bonus);
    bits.put(9, 271 + slot.0);
    bits.slot(slot, length - 3 - bonus);
    let long = (0..14).map(|at| (34 + at, 0x20000 + (at << 16), 16));
    let slot = slot_of(slots_of_5(2).take(34).chain(long), distance - 1);
    bits.put(6, slot.0);
    let rest = distance - 1 - slot.1;
    if slot.0 < 10 {
        return bits.put(slot.2 as usize, rest);
    }
    bits.put(slot.2 as usize - 4, rest >> 4);
    bits.put(5, rest & 15);
}

/// The content as RAR 2 packs it.
pub fn pack_2(whole: &[u8], start: usize) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.codes_of_2();
    for piece in pieces(whole, start, 250) {
        let (distance, length) = match piece {
            Piece::Literal(byte) => {
                bits.put(9, byte.into());
                continue;
            }
            Piece::Match { distance, length } => (distance as u64, length as u64),
        };
        let length = length - 3 - u64::from(distance >= 0x2000) - u64::from(distance >= 0x40000);
        let slot = slot_of(slots_of_5(4).take(28), length);
        bits.put(9, 270 + slot.0);
        bits.slot(slot, length);
        let long = (0..14).map(|at| (34 + at, 0x20000 + (at << 16), 16));
        let slot = slot_of(slots_of_5(2).take(34).chain(long), distance - 1);
        bits.put(6, slot.0);
        bits.slot(slot, distance - 1);
    }
    // New codes for a file that goes on from this one: the same, told anew.
    bits.put(9, 269);
    bits.codes_of_2();
    bits.bytes
}

/// A number in groups of seven bits, the lowest first.
fn number_of_7(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// An archive of RAR 5 being written.
pub struct Writer5 {
    /// What was written.
    pub bytes: Vec<u8>,
    /// What the files hold, one behind the other, for those that go on from it.
    whole: Vec<u8>,
}

impl Default for Writer5 {
    fn default() -> Self {
        let mut writer = Self { bytes: b"Rar!\x1a\x07\x01\0".to_vec(), whole: Vec::new() };
        writer.block(&[1, 0, 0]);
        writer
    }
}

impl Writer5 {
    /// A block's header, by all that stands behind its length.
    pub fn block(&mut self, header: &[u8]) {
        let sized = [&number_of_7(header.len() as u64)[..], header].concat();
        self.bytes.extend_from_slice(&crc32fast::hash(&sized).to_le_bytes());
        self.bytes.extend_from_slice(&sized);
    }

    /// A file's header and what it is packed to; flags of the block beside those for data and extra.
    pub fn entry(
        &mut self,
        name: &str,
        content: &[u8],
        packed: &[u8],
        compression: u64,
        flags: u8,
        extra: &[u8],
    ) {
        let mut header = vec![2, flags | 2 | u8::from(!extra.is_empty())];
        if !extra.is_empty() {
            header.extend(number_of_7(extra.len() as u64));
        }
        header.extend(number_of_7(packed.len() as u64));
        header.push(4);
        header.extend(number_of_7(content.len() as u64));
        header.extend(number_of_7(0o100_644));
        header.extend(crc32fast::hash(content).to_le_bytes());
        header.extend(number_of_7(compression));
        header.push(1);
        header.extend(number_of_7(name.len() as u64));
        header.extend_from_slice(name.as_bytes());
        header.extend_from_slice(extra);
        self.block(&header);
        self.bytes.extend_from_slice(packed);
    }

    /// A file.
    pub fn file(&mut self, name: &str, content: &[u8], method: Method, solidity: Solidity) {
        if method == Method::Stored {
            return self.entry(name, content, content, 0, 0, &[]);
        }
        if solidity == Solidity::Alone {
            self.whole.clear();
        }
        let start = self.whole.len();
        self.whole.extend_from_slice(content);
        let packed = pack_5(&self.whole, start, 500, &[]);
        let solid = if solidity == Solidity::Solid { 0x40 } else { 0 };
        self.entry(name, content, &packed, 3 << 7 | solid | 3 << 10, 0, &[]);
    }

    /// The end of the archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.block(&[5, 0, 0]);
        self.bytes
    }
}

/// An archive of RAR 3 being written.
pub struct Writer3 {
    /// What was written.
    pub bytes: Vec<u8>,
    whole: Vec<u8>,
}

impl Default for Writer3 {
    fn default() -> Self {
        let mut writer = Self { bytes: b"Rar!\x1a\x07\0".to_vec(), whole: Vec::new() };
        writer.block(0x73, 0, &[0; 6]);
        writer
    }
}

impl Writer3 {
    /// A block's header, by all that stands behind its length.
    pub fn block(&mut self, kind: u8, flags: u16, rest: &[u8]) {
        let length = (rest.len() as u16 + 7).to_le_bytes();
        let summed = [&[kind][..], &flags.to_le_bytes(), &length, rest].concat();
        self.bytes.extend_from_slice(&crc32fast::hash(&summed).to_le_bytes()[..2]);
        self.bytes.extend_from_slice(&summed);
    }

    /// A file's header and what it is packed to.
    pub fn entry(
        &mut self,
        name: &[u8],
        content: &[u8],
        packed: &[u8],
        (version, method): (u8, u8),
        flags: u16,
    ) {
        let mut rest = (packed.len() as u32).to_le_bytes().to_vec();
        rest.extend((content.len() as u32).to_le_bytes());
        rest.push(3);
        rest.extend(crc32fast::hash(content).to_le_bytes());
        rest.extend([0, 0, 0x21, 0x50, version, method]);
        rest.extend((name.len() as u16).to_le_bytes());
        rest.extend(0o100_644_u32.to_le_bytes());
        rest.extend_from_slice(name);
        self.block(0x74, flags | 0x8000, &rest);
        self.bytes.extend_from_slice(packed);
    }

    /// A file.
    pub fn file(&mut self, name: &str, content: &[u8], method: Method, solidity: Solidity) {
        if method == Method::Stored {
            return self.entry(name.as_bytes(), content, content, (20, 0x30), 0);
        }
        if solidity == Solidity::Alone {
            self.whole.clear();
        }
        let start = self.whole.len();
        self.whole.extend_from_slice(content);
        let packed = pack_3(&self.whole, start, &[]);
        let solid = if solidity == Solidity::Solid { 0x10 } else { 0 };
        self.entry(name.as_bytes(), content, &packed, (29, 0x33), solid | 6 << 5);
    }

    /// The end of the archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.block(0x7b, 0x4000, &[]);
        self.bytes
    }
}
