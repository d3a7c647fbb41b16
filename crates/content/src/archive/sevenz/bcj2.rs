//! BCJ2: x86 code with the targets of calls and jumps apart. Rule: four streams in, one out; each is topped up before it is read.
//!
//! The format is that of the LZMA SDK's `Bcj2.c`.

use super::coders::{Feed, Pulled};
use lockgate_model::Reason;

/// What one instruction may take of a stream.
const AHEAD_BYTES: usize = 8;
const PROBABILITY_BITS: u32 = 11;
const LEARN_SHIFT: u16 = 5;
const RANGE_MIN: u32 = 1 << 24;
const HEAD_BYTES: usize = 5;

/// Code on its way.
pub(super) struct Bcj2 {
    main: Feed,
    calls: Feed,
    jumps: Feed,
    bits: Feed,
    has_begun: bool,
    range: u32,
    code: u32,
    /// E8 by the byte before it, E9, and the conditional jumps.
    probabilities: [u16; 258],
    last: u8,
    position: u32,
    /// Bytes of a target that did not fit.
    pending: Vec<u8>,
}

impl Bcj2 {
    pub fn new([main, calls, jumps, bits]: [Feed; 4]) -> Self {
        Self {
            main,
            calls,
            jumps,
            bits,
            has_begun: false,
            range: u32::MAX,
            code: 0,
            probabilities: [1 << (PROBABILITY_BITS - 1); 258],
            last: 0,
            position: 0,
            pending: Vec::new(),
        }
    }

    pub fn worked_nanos(&self) -> u64 {
        [&self.main, &self.calls, &self.jumps, &self.bits].iter().map(|feed| feed.worked_nanos()).sum()
    }

    /// As [`super::coders::Stage::pull`].
    pub fn pull(&mut self, whole: &[u8], output: &mut [u8]) -> Result<Pulled, Reason> {
        for feed in [&mut self.main, &mut self.calls, &mut self.jumps, &mut self.bits] {
            if !feed.top_up(whole, AHEAD_BYTES)? {
                return Ok(Pulled::Working);
            }
        }
        if !self.has_begun {
            self.begin()?;
        }
        let mut made = 0;
        while made < output.len() {
            if let Some(byte) = pop(&mut self.pending) {
                output[made] = byte;
                made += 1;
                continue;
            }
            let is_ready = |feed: &Feed| feed.is_ready(AHEAD_BYTES);
            if !(is_ready(&self.calls) && is_ready(&self.jumps) && is_ready(&self.bits)) {
                break;
            }
            let Some(byte) = self.main.next() else { break };
            output[made] = byte;
            made += 1;
            self.step(byte)?;
        }
        Ok(match made {
            0 if self.main.is_spent() => Pulled::End,
            0 => Pulled::Working,
            _ => Pulled::Bytes(made),
        })
    }

    fn begin(&mut self) -> Result<(), Reason> {
        for _ in 0..HEAD_BYTES {
            self.code = self.code << 8 | u32::from(self.bits.next().ok_or(Reason::Truncated)?);
        }
        self.has_begun = true;
        Ok(())
    }

    /// One byte of code has been given out.
    fn step(&mut self, byte: u8) -> Result<(), Reason> {
        self.position = self.position.wrapping_add(1);
        let before = std::mem::replace(&mut self.last, byte);
        let which = match byte {
            0xe8 => usize::from(before),
            0xe9 => 256,
            0x80..=0x8f if before == 0x0f => 257,
            _ => return Ok(()),
        };
        if !self.bit(which)? {
            return Ok(());
        }
        let targets = if byte == 0xe8 { &mut self.calls } else { &mut self.jumps };
        let mut target = 0;
        for _ in 0..4 {
            target = target << 8 | u32::from(targets.next().ok_or(Reason::Truncated)?);
        }
        self.position = self.position.wrapping_add(4);
        let operand = target.wrapping_sub(self.position).to_le_bytes();
        self.last = operand[3];
        self.pending = operand.into_iter().rev().collect();
        Ok(())
    }

    fn bit(&mut self, which: usize) -> Result<bool, Reason> {
        let probability = &mut self.probabilities[which];
        let bound = (self.range >> PROBABILITY_BITS) * u32::from(*probability);
        let is_one = self.code >= bound;
        if is_one {
            self.range -= bound;
            self.code -= bound;
            *probability -= *probability >> LEARN_SHIFT;
        } else {
            self.range = bound;
            *probability += ((1 << PROBABILITY_BITS) - *probability) >> LEARN_SHIFT;
        }
        if self.range < RANGE_MIN {
            self.range <<= 8;
            self.code = self.code << 8 | u32::from(self.bits.next().ok_or(Reason::Truncated)?);
        }
        Ok(is_one)
    }
}

fn pop(pending: &mut Vec<u8>) -> Option<u8> {
    pending.pop()
}
