//! The methods on what is packed here. Rule: packers write literals and matches as the formats have them, nothing well.

use super::*;
use crate::archive::rar::writer::BitWriter;
use crate::codec::Outcome;
use crate::samples::{noise, prose};

/// A byte, or so many bytes from so far before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Literal(u8),
    Match { distance: usize, length: usize },
}

/// Cuts content into literals and matches of the last place where three bytes stood.
fn pieces(content: &[u8], distance_max: usize, length_max: usize) -> Vec<Piece> {
    let mut seen = std::collections::HashMap::new();
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < content.len() {
        let before = content.get(at..at + 3).and_then(|key| seen.insert(key, at));
        match before.filter(|from| at - from <= distance_max) {
            Some(from) => {
                let same = content[at..].iter().zip(&content[from..]).take_while(|(a, b)| a == b).count();
                let length = same.min(length_max);
                pieces.push(Piece::Match { distance: at - from, length });
                at += length;
            }
            None => {
                pieces.push(Piece::Literal(content[at]));
                at += 1;
            }
        }
    }
    pieces
}

/// Blocks: all symbols have codes of nine bits, all distances of as many as their number is told in.
pub(crate) fn blocks(content: &[u8], window_bits: u32, distance_bits: u32) -> Vec<u8> {
    let mut bits = BitWriter::default();
    for block in pieces(content, (1 << window_bits) - 300, 256).chunks(700) {
        bits.put(16, block.len() as u64);
        // One length for all symbols, and so a code of no bits for it.
        bits.put(5, 0);
        bits.put(5, 9 + 2);
        bits.put(9, 510);
        bits.put(distance_bits as usize, (1 << distance_bits) - 1);
        (0..(1 << distance_bits) - 1).for_each(|_| bits.put(3, distance_bits.into()));
        for piece in block {
            match *piece {
                Piece::Literal(byte) => bits.put(9, byte.into()),
                Piece::Match { distance, length } => {
                    bits.put(9, 253 + length as u64);
                    let slot = usize::BITS - (distance - 1).leading_zeros();
                    bits.put(distance_bits as usize, slot.into());
                    if slot > 1 {
                        bits.put(slot as usize - 1, (distance - 1) as u64 & ((1 << (slot - 1)) - 1));
                    }
                }
            }
        }
    }
    bits.bytes
}

/// By the tree that the unpacker has, walked the other way.
pub(crate) fn adapted(content: &[u8]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    let mut tree = adaptive::Tree::new();
    for piece in pieces(content, 4000, 60) {
        let symbol = match piece {
            Piece::Literal(byte) => usize::from(byte),
            Piece::Match { length, .. } => 253 + length,
        };
        tree.path(symbol).into_iter().for_each(|bit| bits.put(1, bit.into()));
        tree.update(symbol);
        if let Piece::Match { distance, .. } = piece {
            let high = (distance - 1) >> 6;
            let (mut code, mut first) = (0, 0);
            for (length, count) in (3..).zip(adaptive::DISTANCE_CODES) {
                if high < first + count {
                    bits.put(length, (code + high - first) as u64);
                    break;
                }
                (code, first) = ((code + count) << 1, first + count);
            }
            bits.put(6, (distance - 1) as u64 & 63);
        }
    }
    bits.bytes
}

/// The place in LArc's window, where the first byte goes so far before its end.
fn place(at: usize, distance: usize, start: usize, window: usize) -> u64 {
    ((at + 2 * window - distance - start) % window) as u64
}

pub(crate) fn lzs(content: &[u8]) -> Vec<u8> {
    let (mut bits, mut at) = (BitWriter::default(), 0);
    for piece in pieces(content, 2000, 17) {
        match piece {
            Piece::Literal(byte) => {
                bits.put(9, 0x100 | u64::from(byte));
                at += 1;
            }
            Piece::Match { distance, length } => {
                bits.put(1, 0);
                bits.put(11, place(at, distance, 17, 2048));
                bits.put(4, length as u64 - 2);
                at += length;
            }
        }
    }
    bits.bytes
}

pub(crate) fn lz5(content: &[u8]) -> Vec<u8> {
    let (mut packed, mut at) = (Vec::new(), 0);
    for eight in pieces(content, 4000, 18).chunks(8) {
        let flags_at = packed.len();
        packed.push(0);
        for (bit, piece) in eight.iter().enumerate() {
            match *piece {
                Piece::Literal(byte) => {
                    packed[flags_at] |= 1 << bit;
                    packed.push(byte);
                    at += 1;
                }
                Piece::Match { distance, length } => {
                    let place = place(at, distance, 18, 4096);
                    packed.push(place as u8);
                    packed.push((place >> 4) as u8 & 0xf0 | (length as u8 - 3));
                    at += length;
                }
            }
        }
    }
    packed
}

pub(crate) fn fastest(content: &[u8]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    let number = |bits: &mut BitWriter, from: usize, to: usize, number: usize| {
        let (mut width, mut base) = (from, 0);
        while width < to && number >= base + (1 << width) {
            bits.put(1, 1);
            base += 1 << width;
            width += 1;
        }
        if width < to {
            bits.put(1, 0);
        }
        bits.put(width, (number - base) as u64);
    };
    for piece in pieces(content, 15_000, 250) {
        match piece {
            Piece::Literal(byte) => {
                number(&mut bits, 0, 7, 0);
                bits.put(8, byte.into());
            }
            Piece::Match { distance, length } => {
                number(&mut bits, 0, 7, length - 2);
                number(&mut bits, 9, 13, distance - 1);
            }
        }
    }
    bits.bytes
}

/// All of it, in pieces of the input.
fn unpacked(method: Method, packed: &[u8], size: usize, piece: usize) -> (Vec<u8>, Outcome) {
    let mut unlzh = Unlzh::new(&Pool::new(4 << 20), method, size as u64).unwrap();
    let (mut content, mut output) = (Vec::new(), [0; 4096]);
    let mut pieces = packed.chunks(piece).peekable();
    let mut input = pieces.next().unwrap_or_default();
    loop {
        let more = if pieces.peek().is_none() { More::Ended } else { More::Follows };
        let run = unlzh.run(input, more, &mut output);
        input = &input[run.used..];
        content.extend_from_slice(&output[..run.made]);
        if run.outcome != Outcome::Going {
            return (content, run.outcome);
        }
        if input.is_empty() && run.made == 0 {
            input = pieces.next().unwrap_or_default();
        }
    }
}

/// What packs for a method.
type Pack = fn(&[u8]) -> Vec<u8>;

#[test]
fn what_each_method_packs_is_unpacked() {
    let spaces = Before::Spaces;
    let methods: [(Method, Pack); 7] = [
        (Method::Adaptive, adapted),
        (Method::Blocks { window_bits: 12, distance_bits: 4, before: spaces }, |c| blocks(c, 12, 4)),
        (Method::Blocks { window_bits: 16, distance_bits: 5, before: spaces }, |c| blocks(c, 16, 5)),
        (Method::Blocks { window_bits: 16, distance_bits: 5, before: Before::Nothing }, |c| blocks(c, 15, 5)),
        (Method::Lzs, lzs),
        (Method::Lz5, lz5),
        (Method::Fastest, fastest),
    ];
    let mixed = [prose(1, 20_000), noise(2, 3_000), vec![b'a'; 70_000], prose(3, 60_000)].concat();
    for (method, pack) in methods {
        for content in [&b""[..], b"a", &mixed] {
            let packed = pack(content);
            for piece in [1, 77, 1 << 20] {
                let (made, outcome) = unpacked(method, &packed, content.len(), piece);
                assert!(made == content, "{method:?} in pieces of {piece}");
                assert_eq!(outcome, Outcome::Ended, "{method:?}");
            }
            let (_, outcome) = unpacked(method, &packed, content.len() + 1000, 1 << 20);
            assert!(matches!(outcome, Outcome::Failed(_)), "{method:?}");
        }
        for seed in 0..20 {
            unpacked(method, &noise(seed, 3000), 100_000, 500);
        }
    }
}

#[test]
fn what_stands_before_the_first_byte() {
    // A match of five bytes from 100 before.
    let mut bits = BitWriter::default();
    bits.put(16, 1);
    bits.put(5, 0);
    bits.put(5, 11);
    bits.put(9, 510);
    bits.put(4, 0);
    bits.put(4, 7);
    bits.put(9, 258);
    bits.put(6, 99 - 64);
    let read =
        |before| unpacked(Method::Blocks { window_bits: 13, distance_bits: 4, before }, &bits.bytes, 5, 99);
    assert_eq!(read(Before::Spaces), (b"     ".to_vec(), Outcome::Ended));
    assert_eq!(read(Before::Nothing).1, Outcome::Failed(Reason::Damaged));
}
