//! LZX, written by what its manual says. Rule: frames with every kind of block, right and bent.

use super::*;
use crate::codec::lz::Symbol;
use crate::samples::{noise, prose};

/// Bits in words of 16, the highest first.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    word: u32,
    bits: u32,
}

impl Writer {
    fn put(&mut self, value: u32, count: u32) {
        for bit in (0..count).rev() {
            self.word = self.word << 1 | (value >> bit & 1);
            self.bits += 1;
            if self.bits == 16 {
                self.bytes.extend_from_slice(&(self.word as u16).to_le_bytes());
                (self.word, self.bits) = (0, 0);
            }
        }
    }

    fn align(&mut self) {
        while self.bits > 0 {
            self.put(0, 1);
        }
    }

    /// A code by its symbols' lengths, as it is assigned.
    fn symbol(&mut self, lengths: &[u8], symbol: usize) {
        let before = |s: usize| {
            let length = lengths[symbol];
            lengths[s] > 0 && (lengths[s] < length || lengths[s] == length && s < symbol)
        };
        let length = u32::from(lengths[symbol]);
        let code: u64 = (0..lengths.len()).filter(|s| before(*s)).map(|s| 1_u64 << (16 - lengths[s])).sum();
        self.put((code >> (16 - length)) as u32, length);
    }

    /// Lengths, where those before were these: a code of the differences that gives each of 20 symbols four or five bits.
    fn lengths(&mut self, before: &[u8], lengths: &[u8]) {
        let code: Vec<u8> = (0..20).map(|symbol| if symbol < 12 { 4 } else { 5 }).collect();
        code.iter().for_each(|length| self.put((*length).into(), 4));
        for (old, new) in before.iter().zip(lengths) {
            self.symbol(&code, usize::from((17 + old - new) % 17));
        }
    }
}

/// What a writer of frames remembers.
pub(crate) struct LzxWriter {
    slots: usize,
    main: Vec<u8>,
    lengths: Vec<u8>,
    recent: [u32; 3],
    has_begun: bool,
    translation: u32,
}

impl LzxWriter {
    pub(crate) fn new(window_bits: usize, translation: u32) -> Self {
        let slots = [30, 32, 34, 36, 38, 42, 50][window_bits - 15];
        Self {
            slots,
            main: vec![0; 256 + 8 * slots],
            lengths: vec![0; 249],
            recent: [1; 3],
            has_begun: false,
            translation,
        }
    }

    fn begin(&mut self, writer: &mut Writer) {
        if !std::mem::replace(&mut self.has_begun, true) {
            writer.put((self.translation != 0).into(), 1);
            if self.translation != 0 {
                writer.put(self.translation, 32);
            }
        }
    }

    /// One frame of one block of bytes as they are.
    pub(crate) fn as_it_is(&mut self, content: &[u8]) -> Vec<u8> {
        let mut writer = Writer::default();
        self.begin(&mut writer);
        writer.put(3, 3);
        writer.put(content.len() as u32, 24);
        writer.put(0, 16 - writer.bits);
        self.recent.iter().for_each(|r| writer.bytes.extend_from_slice(&r.to_le_bytes()));
        writer.bytes.extend_from_slice(content);
        writer.bytes
    }

    /// One frame of one block of symbols that make so many bytes.
    pub(crate) fn symbols(&mut self, symbols: &[Symbol], size: usize, is_aligned: bool) -> Vec<u8> {
        let mut writer = Writer::default();
        self.begin(&mut writer);
        writer.put(if is_aligned { 2 } else { 1 }, 3);
        writer.put(size as u32, 24);
        if is_aligned {
            (0..8).for_each(|_| writer.put(3, 3));
        }
        // As even as such a number of codes can be.
        let even = |count: usize| {
            let bits = count.next_power_of_two().ilog2() as u8;
            let short = (1 << bits) - count;
            (0..count).map(|symbol| if symbol < short { bits - 1 } else { bits }).collect::<Vec<u8>>()
        };
        let (main, lengths) = (even(self.main.len()), even(249));
        writer.lengths(&self.main[..256], &main[..256]);
        writer.lengths(&self.main[256..], &main[256..]);
        writer.lengths(&self.lengths, &lengths);
        for symbol in symbols {
            match *symbol {
                Symbol::Literal(byte) => writer.symbol(&main, byte.into()),
                Symbol::Copy { distance, length } => {
                    let (slot, extra, more) = self.slot(distance as u32);
                    let short = (length - 2).min(7);
                    writer.symbol(&main, 256 + 8 * slot + short);
                    if short == 7 {
                        writer.symbol(&lengths, length - 9);
                    }
                    match extra {
                        3.. if is_aligned => {
                            writer.put(more >> 3, extra - 3);
                            writer.put(more & 7, 3);
                        }
                        _ => writer.put(more, extra),
                    }
                }
                _ => {}
            }
        }
        (self.main, self.lengths) = (main, lengths);
        writer.align();
        writer.bytes
    }

    fn slot(&mut self, distance: u32) -> (usize, u32, u32) {
        if let Some(at) = self.recent.iter().position(|recent| *recent == distance) {
            self.recent.swap(0, at);
            return (at, 0, 0);
        }
        self.recent = [distance, self.recent[0], self.recent[1]];
        let slot = (3..self.slots).rev().find(|slot| base(*slot) <= distance + 2).unwrap();
        let extra = if slot < 4 { 0 } else { (slot as u32 / 2 - 1).min(17) };
        (slot, extra, distance + 2 - base(slot))
    }
}

/// Frames with every kind of block, of a window with so many bits, and what they make.
pub(crate) fn frames(window_bits: usize) -> (Vec<(Vec<u8>, usize)>, Vec<u8>) {
    let mut writer = LzxWriter::new(window_bits, 0);
    let (mut frames, mut made) = (Vec::new(), prose(1, 32_768));
    frames.push((writer.as_it_is(&made), made.len()));
    for (nth, is_aligned) in [(1, false), (2, true), (3, false)] {
        let before = made.len();
        let mut symbols = Vec::new();
        for byte in noise(nth, 9000) {
            let room = before + 32_768 - made.len();
            let distance = (made.len() * 7919 % (1 << window_bits).min(made.len() - 9)) + 1;
            let length = (usize::from(byte) + 2).min(room);
            if byte % 5 == 0 && length > 2 {
                symbols.push(Symbol::Copy { distance, length });
                (0..length).for_each(|_| made.push(made[made.len() - distance]));
            } else if room > 0 {
                symbols.push(Symbol::Literal(byte));
                made.push(byte);
            }
        }
        let size = made.len() - before;
        frames.push((writer.symbols(&symbols, size, is_aligned), size));
    }
    let odd = noise(5, 777);
    frames.push((writer.as_it_is(&odd), odd.len()));
    made.extend_from_slice(&odd);
    (frames, made)
}

fn unpack(window_bits: usize, frames: &[(Vec<u8>, usize)]) -> (Vec<u8>, Result<(), Reason>) {
    let mut lzx = Lzx::new(&Pool::new(4 << 20), window_bits as u32).unwrap();
    let mut output = Vec::new();
    for (frame, size) in frames {
        if let Err(reason) = lzx.frame(frame, *size, &mut output) {
            return (output, Err(reason));
        }
    }
    (output, Ok(()))
}

#[test]
fn every_kind_of_block_and_window() {
    for window_bits in 15..=21 {
        let (frames, made) = frames(window_bits);
        let (output, outcome) = unpack(window_bits, &frames);
        assert!(outcome == Ok(()) && output == made, "{window_bits}: {outcome:?}");
    }
}

#[test]
fn calls_are_translated() {
    let mut content = noise(1, 100).iter().map(|byte| byte & 0x7f).collect::<Vec<u8>>();
    content[20..25].copy_from_slice(&[0xe8, 120, 0, 0, 0]);
    content[40..45].copy_from_slice(&[0xe8, 0xec, 0xff, 0xff, 0xff]);
    content[95..].copy_from_slice(&[0xe8, 120, 0, 0, 0]);
    let frame = LzxWriter::new(15, 1000).as_it_is(&content);
    let (output, outcome) = unpack(15, &[(frame, 100)]);
    assert_eq!(outcome, Ok(()));
    assert_eq!(output[20..25], [0xe8, 100, 0, 0, 0], "a place less where the call is");
    assert_eq!(output[40..45], [0xe8, 0xd4, 3, 0, 0], "a place before the beginning counts from the size");
    assert_eq!(output[95..], content[95..], "what may go on in the next frame is left");
}

#[test]
fn a_stream_that_begins_anew() {
    let (frames, made) = frames(15);
    let mut lzx = Lzx::new(&Pool::new(1 << 20), 15).unwrap();
    let mut output = Vec::new();
    for _ in 0..2 {
        frames.iter().for_each(|(frame, size)| lzx.frame(frame, *size, &mut output).unwrap());
        lzx.reset();
    }
    assert!(output == [&made[..], &made].concat());
}

#[test]
fn bent_frames_do_no_harm() {
    let (frames, _) = frames(15);
    for (nth, (frame, size)) in frames.iter().enumerate() {
        for bit in (0..frame.len() * 8).step_by(frame.len() / 12) {
            let mut bent = frames.clone();
            bent[nth].0[bit / 8] ^= 1 << (bit % 8);
            assert!(unpack(15, &bent).0.len() <= 6 * 32_768);
        }
        let cut = [(frame[..frame.len() / 2].to_vec(), *size)];
        assert_eq!(unpack(15, &[&frames[..nth], &cut].concat()).1, Err(Reason::Damaged));
    }
    let mut lzx = Lzx::new(&Pool::new(1 << 20), 15).unwrap();
    assert_eq!(lzx.frame(&frames[0].0, 32_769, &mut Vec::new()), Err(Reason::Damaged));
    let pool = Pool::new(1000);
    assert!(Lzx::new(&pool, 15).is_err_and(|reason| reason == Reason::Budget));
    assert!(Lzx::new(&pool, 22).is_err_and(|reason| reason == Reason::Damaged));
}
