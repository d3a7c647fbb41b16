//! Writers for tests of what the family of LZ77 shares. Rule: they write what they are told, right or wrong.

use super::*;
use crate::codec::deflate64::Deflate64;
use crate::codec::implode::Implode;

/// Bits, the lowest first.
#[derive(Default)]
pub(crate) struct BitWriter {
    pub(crate) bytes: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    pub(crate) fn put(&mut self, value: u32, count: u32) {
        for bit in 0..count {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= ((value >> bit & 1) as u8) << (self.bits % 8);
            self.bits += 1;
        }
    }

    /// A code, its highest bit first.
    fn code(&mut self, code: u32, count: u32) {
        (0..count).rev().for_each(|bit| self.put(code >> bit & 1, 1));
    }
}

/// One block with the codes that are fixed.
pub(crate) fn deflate64(symbols: &[Symbol]) -> Vec<u8> {
    let mut writer = BitWriter::default();
    writer.put(0b011, 3);
    for symbol in symbols {
        match *symbol {
            Symbol::Literal(byte @ 0..=143) => writer.code(0x30 + u32::from(byte), 8),
            Symbol::Literal(byte) => writer.code(0x190 + u32::from(byte) - 144, 9),
            // Any length by the symbol that has 16 bits more, any distance by its upper bits.
            Symbol::Copy { distance, length } => {
                writer.code(0xc0 + 285 - 280, 8);
                writer.put(length as u32 - 3, 16);
                let distance = distance as u32 - 1;
                let extra = if distance < 4 { 0 } else { distance.ilog2() - 1 };
                let code = if distance < 4 { distance } else { 2 * (extra + 1) + (distance >> extra & 1) };
                writer.code(code, 5);
                writer.put(distance & ((1 << extra) - 1), extra);
            }
            _ => {}
        }
    }
    writer.code(0, 7);
    writer.bytes
}

/// All codes have the same length: eight bits for literals, where they have a code, and six for all else.
pub(crate) fn implode(flags: u16, symbols: &[Symbol]) -> Vec<u8> {
    let mut writer = BitWriter::default();
    let has_literal_code = flags & 4 != 0;
    if has_literal_code {
        writer.put(15, 8);
        (0..16).for_each(|_| writer.put(0xf7, 8));
    }
    for _ in 0..2 {
        writer.put(3, 8);
        (0..4).for_each(|_| writer.put(0xf5, 8));
    }
    let (distance_bits, length_min) =
        (if flags & 2 != 0 { 7 } else { 6 }, if has_literal_code { 3 } else { 2 });
    for symbol in symbols {
        match *symbol {
            Symbol::Literal(byte) => {
                writer.put(1, 1);
                if has_literal_code { writer.code(!u32::from(byte), 8) } else { writer.put(byte.into(), 8) }
            }
            Symbol::Copy { distance, length } => {
                let (distance, length) = (distance as u32 - 1, (length - length_min) as u32);
                writer.put(0, 1);
                writer.put(distance & ((1 << distance_bits) - 1), distance_bits);
                writer.code(!(distance >> distance_bits), 6);
                writer.code(!length.min(63), 6);
                if length >= 63 {
                    writer.put(length - 63, 8);
                }
            }
            _ => {}
        }
    }
    writer.bytes
}

/// Literals, and copies from near and far; what they make.
pub(crate) fn symbols(reach: usize, length_max: usize) -> (Vec<Symbol>, Vec<u8>) {
    let mut made = Vec::new();
    let mut symbols = Vec::new();
    for (nth, byte) in crate::samples::noise(7, 120).into_iter().enumerate() {
        if nth > 3 && byte % 3 == 0 {
            let distance = (nth * 977 % reach).min(made.len() - 1) + 1;
            let length = 3 + nth * 7919 % (length_max - 2);
            symbols.push(Symbol::Copy { distance, length });
            (0..length).for_each(|_| made.push(made[made.len() - distance]));
        } else {
            symbols.push(Symbol::Literal(byte));
            made.push(byte);
        }
    }
    (symbols, made)
}

/// Pushes the input in pieces and takes the output in pieces; what was made, what was left of the input, how it ended.
fn run<S: Symbols>(lz: &mut Lz<S>, input: &[u8], piece: usize, room: usize) -> (Vec<u8>, usize, Outcome) {
    let (mut made, mut at) = (Vec::new(), 0);
    let mut output = vec![0; room];
    loop {
        let end = (at + piece).min(input.len());
        let run = lz.run(&input[at..end], &mut output);
        at += run.used;
        made.extend_from_slice(&output[..run.made]);
        if run.outcome != Outcome::Going || at == input.len() && !lz.owes() {
            return (made, input.len() - at, run.outcome);
        }
    }
}

fn check<S: Symbols>(open: &dyn Fn() -> S, size: Option<u64>, input: &[u8], expected: &[u8]) {
    let pool = Pool::new(1 << 20);
    let behind = [input, b"behind the end"].concat();
    for (piece, room) in [(1 << 20, 1 << 18), (1, 1), (1, 4096), (7, 3), (333, 555)] {
        let mut lz = Lz::new(&pool, open(), size).unwrap();
        let (made, left, outcome) = run(&mut lz, &behind, piece, room);
        assert!(made == expected, "{piece} {room}: {} of {}", made.len(), expected.len());
        assert_eq!((left, outcome), (behind.len() - input.len(), Outcome::Ended), "{piece} {room}");
    }
    let stride = expected.len() / 400 + 1;
    for length in (0..input.len()).step_by(stride) {
        let mut lz = Lz::new(&pool, open(), size).unwrap();
        let (made, _, outcome) = run(&mut lz, &input[..length], 100, 100);
        assert!(outcome == Outcome::Going && expected.starts_with(&made), "cut off at {length}");
    }
    for bit in (0..input.len() * 8).step_by(8 * stride + 1) {
        let mut bent = input.to_vec();
        bent[bit / 8] ^= 1 << (bit % 8);
        let whole = run(&mut Lz::new(&pool, open(), size).unwrap(), &bent, 1 << 20, 100);
        assert_eq!(run(&mut Lz::new(&pool, open(), size).unwrap(), &bent, 1, 7).0, whole.0, "bit {bit}");
    }
    assert_eq!(pool.bytes_taken(), 0);
}

#[test]
fn deflate_with_a_window_of_64_kib() {
    let (symbols, made) = symbols(65_536, 700);
    check(&Deflate64::new, None, &deflate64(&symbols), &made);
    let far =
        [vec![Symbol::Literal(7); 65_536], vec![Symbol::Copy { distance: 65_536, length: 65_538 }]].concat();
    check(&Deflate64::new, None, &deflate64(&far), &[7; 65_536 + 65_538]);
    let too_far = deflate64(&[Symbol::Literal(7), Symbol::Copy { distance: 2, length: 3 }]);
    let pool = Pool::new(1 << 20);
    let mut lz = Lz::new(&pool, Deflate64::new(), None).unwrap();
    assert_eq!(run(&mut lz, &too_far, 100, 100).2, Outcome::Failed(Reason::Damaged));
}

#[test]
fn what_both_deflates_write_alike() {
    for content in [b"".to_vec(), crate::samples::prose(1, 3000), crate::samples::noise(2, 900)] {
        let stream = crate::samples::deflate(&content);
        check(&Deflate64::new, None, &stream, &content);
    }
}

#[test]
fn imploded_in_each_way() {
    for flags in [0, 2, 4, 6] {
        let (symbols, made) = symbols(if flags & 2 != 0 { 8192 } else { 4096 }, 300);
        let stream = implode(flags, &symbols);
        check(&|| Implode::new(flags), Some(made.len() as u64), &stream, &made);
    }
    let zeros = implode(6, &[Symbol::Copy { distance: 5, length: 9 }]);
    check(&|| Implode::new(6), Some(9), &zeros, &[0; 9]);
}

#[test]
fn memory_is_asked_for() {
    let pool = Pool::new(1000);
    assert!(Lz::new(&pool, Deflate64::new(), None).is_err_and(|reason| reason == Reason::Budget));
}
