//! What each filter does to its block. Rule: the same number of bytes, and no byte outside the block.

use super::{Offsets, Opcodes, Turn};
use crate::field::u32_le;
use lockgate_model::Reason;

/// Addresses within so many bytes are turned.
const X86_FILE_BYTES: u32 = 1 << 24;

/// Turns a block that stands so far from the file's first byte.
///
/// # Errors
///
/// Damaged where its parameters make no sense for it.
pub(super) fn turn(turn: Turn, block: &mut [u8], file_offset: u64) -> Result<(), Reason> {
    match turn {
        Turn::Delta { channels } => delta(block, channels)?,
        Turn::X86 { opcodes, offsets } => x86(block, opcodes, offsets, file_offset as u32),
        Turn::Arm => arm(block, file_offset as u32),
        Turn::Itanium => itanium(block, file_offset as u32),
        Turn::Rgb { width, red } => rgb(block, width, red)?,
        Turn::Audio { channels } => audio(block, channels)?,
    }
    Ok(())
}

/// Each channel stands by itself, as differences.
fn delta(block: &mut [u8], channels: usize) -> Result<(), Reason> {
    let source = block.to_vec();
    let mut source = source.iter();
    for channel in 0..channels.min(block.len()) {
        let mut last = 0_u8;
        for place in block[channel..].iter_mut().step_by(channels) {
            last = last.wrapping_sub(*source.next().ok_or(Reason::Damaged)?);
            *place = last;
        }
    }
    if channels == 0 { Err(Reason::Damaged) } else { Ok(()) }
}

fn x86(block: &mut [u8], opcodes: Opcodes, offsets: Offsets, file_offset: u32) {
    let mut at = 0;
    while at + 4 < block.len() {
        let byte = block[at];
        at += 1;
        if byte != 0xe8 && (byte != 0xe9 || opcodes == Opcodes::Call) {
            continue;
        }
        let mut offset = file_offset.wrapping_add(at as u32);
        if offsets == Offsets::Wrapped {
            offset %= X86_FILE_BYTES;
        }
        let address = u32_le(block, at);
        let is_negative = |number: u32| number >> 31 == 1;
        let turned = if is_negative(address) {
            (!is_negative(address.wrapping_add(offset))).then(|| address.wrapping_add(X86_FILE_BYTES))
        } else {
            is_negative(address.wrapping_sub(X86_FILE_BYTES)).then(|| address.wrapping_sub(offset))
        };
        if let Some(turned) = turned {
            block[at..at + 4].copy_from_slice(&turned.to_le_bytes());
        }
        at += 4;
    }
}

/// BL has its condition in the last byte, and counts words.
fn arm(block: &mut [u8], file_offset: u32) {
    for (at, word) in (0_u32..).step_by(4).zip(block.chunks_exact_mut(4)) {
        if word[3] == 0xeb {
            let offset = u32_le(word, 0) & 0xff_ffff;
            let turned = offset.wrapping_sub(file_offset.wrapping_add(at) / 4).to_le_bytes();
            word[..3].copy_from_slice(&turned[..3]);
        }
    }
}

/// Bundles of 16 bytes: five bits of template, three instructions of 41 bits.
fn itanium(block: &mut [u8], file_offset: u32) {
    const BRANCHES: [u8; 16] = [4, 4, 6, 6, 0, 0, 7, 7, 4, 4, 0, 0, 4, 4, 0, 0];
    let mut bundle_at = file_offset >> 4;
    let mut at = 0;
    while at + 21 < block.len() {
        let Some(bundle) = block.get_mut(at..at + 16) else { return };
        let mut bits = bundle.try_into().map_or(0, u128::from_le_bytes);
        let template = (bits & 0x1f) as usize;
        let branches = template.checked_sub(16).and_then(|t| BRANCHES.get(t)).copied().unwrap_or(0);
        for slot in (0..3).filter(|slot| branches >> slot & 1 == 1) {
            let start = slot * 41 + 5;
            if bits >> (start + 37) & 15 != 5 {
                continue;
            }
            let place = start + 13;
            let offset = (bits >> place) as u32 & 0xf_ffff;
            let turned = u128::from(offset.wrapping_sub(bundle_at) & 0xf_ffff);
            bits = bits & !(0xf_ffff << place) | turned << place;
        }
        bundle.copy_from_slice(&bits.to_le_bytes());
        bundle_at = bundle_at.wrapping_add(1);
        at += 16;
    }
}

/// Each pixel is predicted from its neighbours left and above, as PNG's filter of Paeth has it.
fn rgb(block: &mut [u8], width: usize, red: usize) -> Result<(), Reason> {
    let stride = width.checked_sub(3).ok_or(Reason::Damaged)?;
    if block.len() < 3 || stride > block.len() || red > 2 {
        return Err(Reason::Damaged);
    }
    let source = block.to_vec();
    let mut source = source.iter();
    for channel in 0..3 {
        let mut left = 0_u8;
        for at in (channel..block.len()).step_by(3) {
            let predicted = match at.checked_sub(stride) {
                Some(upper @ 3..) => paeth(left, block[upper], block[upper - 3]),
                _ => left,
            };
            left = predicted.wrapping_sub(*source.next().ok_or(Reason::Damaged)?);
            block[at] = left;
        }
    }
    for at in (red..block.len() - 2).step_by(3) {
        let green = block[at + 1];
        block[at] = block[at].wrapping_add(green);
        block[at + 2] = block[at + 2].wrapping_add(green);
    }
    Ok(())
}

fn paeth(left: u8, upper: u8, upper_left: u8) -> u8 {
    let predicted = i32::from(left) + i32::from(upper) - i32::from(upper_left);
    let away = |from: u8| (predicted - i32::from(from)).abs();
    if away(left) <= away(upper) && away(left) <= away(upper_left) {
        left
    } else if away(upper) <= away(upper_left) {
        upper
    } else {
        upper_left
    }
}

/// Each sample is predicted from the three differences before it, by weights that follow what they do.
fn audio(block: &mut [u8], channels: usize) -> Result<(), Reason> {
    if channels == 0 {
        return Err(Reason::Damaged);
    }
    let source = block.to_vec();
    let mut source = source.iter();
    for channel in 0..channels.min(block.len()) {
        let mut voice = Voice::default();
        for (count, place) in block[channel..].iter_mut().step_by(channels).enumerate() {
            *place = voice.next(*source.next().ok_or(Reason::Damaged)?, count);
        }
    }
    Ok(())
}

/// What is known of one channel.
#[derive(Default)]
struct Voice {
    last: u8,
    last_delta: i32,
    deltas: [i32; 3],
    weights: [i32; 3],
    /// How far off each change of a weight would have been.
    misses: [u32; 7],
}

impl Voice {
    fn next(&mut self, byte: u8, count: usize) -> u8 {
        let [d1, d2, _] = self.deltas;
        self.deltas = [self.last_delta, self.last_delta - d1, d2];
        let weighed: i32 = self.weights.iter().zip(self.deltas).map(|(w, d)| w * d).sum();
        let predicted = (8 * i32::from(self.last) + weighed) >> 3;
        let sample = (predicted as u8).wrapping_sub(byte);
        self.last_delta = i32::from(sample.wrapping_sub(self.last) as i8);
        self.last = sample;
        let miss = i32::from(byte as i8) << 3;
        self.misses[0] = self.misses[0].wrapping_add(miss.unsigned_abs());
        for (pair, delta) in self.misses[1..].chunks_exact_mut(2).zip(self.deltas) {
            pair[0] = pair[0].wrapping_add((miss - delta).unsigned_abs());
            pair[1] = pair[1].wrapping_add((miss + delta).unsigned_abs());
        }
        if count.is_multiple_of(32) {
            self.weigh();
        }
        sample
    }

    /// The change that would have been off least is made.
    fn weigh(&mut self) {
        let least = (0..7).min_by_key(|at| self.misses[*at]).unwrap_or(0);
        self.misses = [0; 7];
        if least == 0 {
            return;
        }
        let weight = &mut self.weights[(least - 1) / 2];
        match least % 2 {
            1 if *weight >= -16 => *weight -= 1,
            0 if *weight < 16 => *weight += 1,
            _ => {}
        }
    }
}
