//! Quantum, written by what is known of it. Rule: frames of literals and of every kind of copy, right and bent.

use super::*;
use crate::samples::{noise, prose};

/// A writer whose models learn as the reader's do.
pub(crate) struct QuantumWriter {
    models: Quantum,
}

/// Bits of the code, and bits that stand between them: behind so many of the code's.
#[derive(Default)]
struct Coding {
    low: u16,
    high: u16,
    code: Vec<bool>,
    doubled: usize,
    waiting: usize,
    between: Vec<(usize, bool)>,
}

impl Coding {
    fn symbol(&mut self, model: &mut Model, symbol: u16) {
        let nth = model.number_of(symbol);
        let (range, total, low) = (u32::from(self.high - self.low) + 1, model.total(), u32::from(self.low));
        let (above, below) = model.bounds(nth);
        self.high = (low + above * range / total - 1) as u16;
        self.low = (low + below * range / total) as u16;
        model.learn(nth);
        loop {
            let bit = self.high & 0x8000 != 0;
            let Some(flip) = narrow(&mut self.low, &mut self.high) else { return };
            self.doubled += 1;
            if flip != 0 {
                self.waiting += 1;
            } else {
                self.bit(bit);
            }
        }
    }

    fn bit(&mut self, bit: bool) {
        self.code.push(bit);
        self.code.extend(std::iter::repeat_n(!bit, std::mem::take(&mut self.waiting)));
    }

    fn bits(&mut self, value: u32, count: u32) {
        let at = 16 + self.doubled;
        self.between.extend((0..count).rev().map(|bit| (at, value >> bit & 1 == 1)));
    }

    fn finish(mut self) -> Vec<u8> {
        for bit in (0..16).rev() {
            self.bit(self.high >> bit & 1 == 1);
        }
        self.code.resize(self.code.len().max(16 + self.doubled), false);
        let (mut bits, mut between) = (Vec::new(), self.between.into_iter().peekable());
        for (nth, bit) in self.code.iter().enumerate() {
            while let Some((_, bit)) = between.next_if(|(at, _)| *at <= nth) {
                bits.push(bit);
            }
            bits.push(*bit);
        }
        bits.extend(between.map(|(_, bit)| bit));
        bits.chunks(8)
            .map(|bits| (0..8).fold(0, |b, n| b << 1 | u8::from(bits.get(n) == Some(&true))))
            .collect()
    }
}

impl QuantumWriter {
    pub(crate) fn new(window_bits: u32) -> Self {
        Self { models: Quantum::new(&Pool::new(4 << 20), window_bits).unwrap() }
    }

    /// A frame; each fifth symbol or so is a copy, as far as there is anything to copy.
    pub(crate) fn frame(&mut self, content: &[u8], before: &[u8]) -> Vec<u8> {
        let models = &mut self.models;
        let mut coding = Coding { high: u16::MAX, ..Coding::default() };
        let whole = [before, content].concat();
        let mut at = before.len();
        while at < whole.len() {
            let reach = models.window.len().min(at);
            let found =
                [1, 2, 7, 100, 1000, 5000, 70_000].into_iter().filter(|d| *d <= reach).find_map(|distance| {
                    let same =
                        (at..whole.len()).take_while(|n| whole[*n] == whole[n - distance]).count().min(258);
                    let kind = same.min(5).checked_sub(3)?;
                    let slots = models.places[kind].symbols_count() as u32;
                    let slot = (0..slots).rev().find(|slot| place_slot(*slot).0 < distance as u32)?;
                    let (base, extra) = place_slot(slot);
                    let is_reached = distance as u32 - 1 - base < 1 << extra;
                    is_reached.then_some((distance as u32 - 1, same as u32, slot))
                });
            match found {
                None => {
                    let kind = u16::from(whole[at] >> 6);
                    coding.symbol(&mut models.kinds, kind);
                    coding.symbol(&mut models.literals[usize::from(kind)], whole[at].into());
                    at += 1;
                }
                Some((place, length, slot)) => {
                    let kind = length.min(5) as u16 + 1;
                    coding.symbol(&mut models.kinds, kind);
                    if kind == 6 {
                        let more = length - 5;
                        let slot = (0..27).rev().find(|slot| length_slot(*slot).0 <= more).unwrap();
                        coding.symbol(&mut models.lengths, slot as u16);
                        coding.bits(more - length_slot(slot).0, length_slot(slot).1);
                    }
                    coding.symbol(&mut models.places[usize::from(kind) - 4], slot as u16);
                    coding.bits(place - place_slot(slot).0, place_slot(slot).1);
                    at += length as usize;
                }
            }
        }
        coding.finish()
    }
}

/// Frames with literals and copies, and what they make.
pub(crate) fn frames(window_bits: u32) -> (Vec<(Vec<u8>, usize)>, Vec<u8>) {
    let mut writer = QuantumWriter::new(window_bits);
    let mut made: Vec<u8> = Vec::new();
    let contents = [
        prose(1, 32_768),
        [vec![7; 5000], noise(2, 3000), [1, 2].repeat(12_384)].concat(),
        prose(1, 9000).repeat(4)[..32_768].to_vec(),
        noise(3, 700),
    ];
    let frames = contents.map(|content| {
        let frame = writer.frame(&content, &made);
        made.extend_from_slice(&content);
        (frame, content.len())
    });
    (frames.to_vec(), made)
}

#[test]
fn literals_and_copies() {
    for window_bits in [10, 15, 21] {
        let (frames, made) = frames(window_bits);
        let mut quantum = Quantum::new(&Pool::new(4 << 20), window_bits).unwrap();
        let mut output = Vec::new();
        for (frame, size) in &frames {
            assert_eq!(quantum.frame(frame, *size, &mut output), Ok(()), "{window_bits}");
        }
        assert!(output == made, "{window_bits}");
        assert!(frames[0].0.len() < 30_000);
    }
}

#[test]
fn slots_follow_each_other() {
    let next = |(base, extra): (u32, u32)| base + (1 << extra);
    (0..41).for_each(|slot| assert_eq!(next(place_slot(slot)), place_slot(slot + 1).0));
    (0..26).for_each(|slot| assert_eq!(next(length_slot(slot)), length_slot(slot + 1).0));
}

#[test]
fn bent_frames_do_no_harm() {
    let (frames, _) = frames(15);
    let (frame, size) = &frames[1];
    for bit in (0..frame.len() * 8).step_by(331) {
        let mut bent = frame.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let mut output = Vec::new();
        let _ = Quantum::new(&Pool::new(1 << 20), 15).unwrap().frame(&bent, *size, &mut output);
        assert!(output.len() <= *size);
    }
    let mut quantum = Quantum::new(&Pool::new(1 << 20), 15).unwrap();
    let cut = &frames[0].0[..frames[0].0.len() / 2];
    assert_eq!(quantum.frame(cut, frames[0].1, &mut Vec::new()), Err(Reason::Damaged));
    assert_eq!(quantum.frame(cut, 32_769, &mut Vec::new()), Err(Reason::Damaged));
    assert!(Quantum::new(&Pool::new(1 << 20), 9).is_err() && Quantum::new(&Pool::new(10), 15).is_err());
}
