//! What compress(1) makes (`.Z`): LZW, as ncompress and gzip read it. Rule: codes grow and start anew where they do for those.
//!
//! Codes have 9 bits at first and stand in groups of eight. Where their width changes, or the table is cleared, the rest of
//! the group is passed over: writers fill it up.

use super::stream::{StreamDecoder, Undo};
use super::{Outcome, Run};
use crate::decoder::More;
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// What begins it.
const MAGIC: [u8; 2] = [0x1f, 0x9d];
const HEAD_BYTES: usize = 3;
const FLAG_BLOCKS: u8 = 0x80;
const FLAGS_RESERVED: u8 = 0x60;
const WIDTH_MIN: u32 = 9;
/// Codes that never grow are read by nobody as compress(1) writes them.
const WIDTH_GROWN_MIN: u32 = 10;
const WIDTH_MAX: u32 = 16;
/// Clears the table, where the flag is set.
const CLEAR: u32 = 256;
/// An entry of the table: the code before, and a byte.
const ENTRY_BYTES: u64 = 4;

/// What a byte costs in and out, for each KiB.
const NANOS_PER_KIB: u32 = 6000;

/// A stream on its way.
pub struct Lzw {
    head: Vec<u8>,
    has_clear: bool,
    width: u32,
    width_max: u32,
    bits: u64,
    count: u32,
    /// Codes read of this group, and bits of it to pass over.
    in_group: u32,
    skip_bits: u32,
    /// The next code that gets a meaning.
    next: u32,
    previous: Option<u32>,
    /// Of codes from 256 on: what stands before the last byte, and that byte.
    table: Vec<(u16, u8)>,
    /// What a code stands for, last byte first, not yet given out.
    pending: Vec<u8>,
    first: u8,
    failed: Option<Reason>,
    pool: Arc<Pool>,
    grant: Grant,
}

/// Awaits a stream; takes memory when its head has come.
pub fn decoder(pool: &Arc<Pool>) -> StreamDecoder<Lzw> {
    let pool = Arc::clone(pool);
    StreamDecoder::new(Box::new(move || Lzw::new(&pool)))
}

impl Lzw {
    fn new(pool: &Arc<Pool>) -> Self {
        Self {
            head: Vec::new(),
            has_clear: false,
            width: WIDTH_MIN,
            width_max: WIDTH_MIN,
            bits: 0,
            count: 0,
            in_group: 0,
            skip_bits: 0,
            next: 256,
            previous: None,
            table: Vec::new(),
            pending: Vec::new(),
            first: 0,
            failed: None,
            pool: Arc::clone(pool),
            grant: pool.grant(),
        }
    }

    /// The magic, and a byte that says how wide codes grow.
    fn begin(&mut self) -> Result<(), Reason> {
        let [first, second, flags] = *self.head.as_slice() else { return Ok(()) };
        self.width_max = u32::from(flags & 0x1f);
        if [first, second] != MAGIC {
            return Err(Reason::Damaged);
        }
        if flags & FLAGS_RESERVED != 0 || !(WIDTH_GROWN_MIN..=WIDTH_MAX).contains(&self.width_max) {
            return Err(Reason::Unsupported);
        }
        self.has_clear = flags & FLAG_BLOCKS != 0;
        self.grant = self.pool.grant();
        // The table, and the longest string that a code stands for.
        self.grant.grow((ENTRY_BYTES + 1) << self.width_max)?;
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.table.clear();
        self.previous = None;
        self.next = if self.has_clear { CLEAR + 1 } else { CLEAR };
        if self.has_clear {
            self.table.push((0, 0));
        }
        self.width = WIDTH_MIN;
    }

    /// Passes over the rest of the group.
    fn end_group(&mut self, width: u32) {
        self.skip_bits = (8 - self.in_group % 8) % 8 * width;
        self.in_group = 0;
    }

    /// Takes input until a code is there.
    fn code(&mut self, input: &mut &[u8]) -> Option<u32> {
        loop {
            let skipped = self.skip_bits.min(self.count);
            self.bits >>= skipped;
            (self.count, self.skip_bits) = (self.count - skipped, self.skip_bits - skipped);
            if self.skip_bits == 0 && self.count >= self.width {
                let code = self.bits as u32 & ((1 << self.width) - 1);
                self.bits >>= self.width;
                self.count -= self.width;
                self.in_group += 1;
                return Some(code);
            }
            let (first, rest) = input.split_first()?;
            self.bits |= u64::from(*first) << self.count;
            self.count += 8;
            *input = rest;
        }
    }

    /// What the code stands for is pending, and the table grows by an entry.
    fn unfold(&mut self, code: u32) -> Result<(), Reason> {
        if code == CLEAR && self.has_clear {
            let width = self.width;
            self.clear();
            self.end_group(width);
            return Ok(());
        }
        let Some(previous) = self.previous else {
            let byte = u8::try_from(code).map_err(|_| Reason::Damaged)?;
            (self.first, self.previous) = (byte, Some(code));
            self.pending.push(byte);
            return Ok(());
        };
        if code > self.next || code == self.next && self.is_full() {
            return Err(Reason::Damaged);
        }
        let mut at = code;
        if code == self.next {
            // Of what it stands for all is known: what came before, and its first byte again.
            self.pending.push(self.first);
            at = previous;
        }
        while let Some((before, byte)) = at.checked_sub(256).and_then(|at| self.table.get(at as usize)) {
            self.pending.push(*byte);
            at = u32::from(*before);
        }
        self.first = u8::try_from(at).map_err(|_| Reason::Damaged)?;
        self.pending.push(self.first);
        if !self.is_full() {
            self.table.push((previous as u16, self.first));
            self.next += 1;
        }
        self.previous = Some(code);
        if self.next >> self.width > 0 && self.width < self.width_max {
            self.end_group(self.width);
            self.width += 1;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.next >> self.width_max > 0
    }

    fn give(&mut self, output: &mut [u8]) -> usize {
        let count = self.pending.len().min(output.len());
        let rest = self.pending.len() - count;
        for (to, byte) in output.iter_mut().zip(self.pending.drain(rest..).rev()) {
            *to = byte;
        }
        count
    }

    fn fail(&mut self, reason: Reason, run: Run) -> Run {
        self.failed = Some(reason);
        self.grant.clear();
        (self.table, self.pending) = (Vec::new(), Vec::new());
        let outcome = if run.made > 0 { Outcome::Going } else { Outcome::Failed(reason) };
        Run { outcome, ..run }
    }

    /// The part has ended: what is left are the bits that fill up the last byte.
    fn end(&mut self) -> Run {
        let run = Run { used: 0, made: 0, outcome: Outcome::Ended };
        let is_whole = self.head.len() == HEAD_BYTES && self.count < 8 && self.bits == 0;
        if is_whole || self.skip_bits > 0 { run } else { self.fail(Reason::Truncated, run) }
    }
}

impl Undo for Lzw {
    const BEHIND: &'static str = "bytes behind the end of a compressed file";

    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        let mut run = Run { used: 0, made: 0, outcome: Outcome::Going };
        if let Some(reason) = self.failed {
            return Run { outcome: Outcome::Failed(reason), ..run };
        }
        if self.head.len() < HEAD_BYTES && !input.is_empty() {
            run.used = input.len().min(HEAD_BYTES - self.head.len());
            self.head.extend_from_slice(&input[..run.used]);
            return match self.begin() {
                Ok(()) => run,
                Err(reason) => self.fail(reason, run),
            };
        }
        if input.is_empty() && more == More::Ended && self.pending.is_empty() {
            return self.end();
        }
        let mut rest = input;
        loop {
            run.made += self.give(&mut output[run.made..]);
            run.used = input.len() - rest.len();
            if run.made == output.len() {
                return run;
            }
            let Some(code) = self.code(&mut rest) else { break };
            if let Err(reason) = self.unfold(code) {
                run.used = input.len() - rest.len();
                return self.fail(reason, run);
            }
        }
        run.used = input.len();
        run
    }

    fn owes(&self, more: More) -> bool {
        // A code may be there whole, where the output was full.
        let has_code = self.skip_bits == 0 && self.head.len() == HEAD_BYTES && self.count >= self.width;
        self.failed.is_some() || !self.pending.is_empty() || has_code || more == More::Ended
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }
}

#[cfg(test)]
mod tests;
