//! What PKZIP shrank (APPNOTE.TXT, method 1): LZW whose table is cleared in part. Rule: it ends where the entry's size says.
//!
//! The manual does not say what becomes of codes whose beginnings were cleared; here they are as PKZIP and Info-ZIP have them.

use super::lz::{Bits, Reservoir};
use super::{Outcome, Run};
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

const WIDTH_MIN: u32 = 9;
const WIDTH_MAX: u32 = 13;
const CODES: usize = 1 << WIDTH_MAX;
/// What follows it is no code, but one of these.
const CONTROL: u32 = 256;
const WIDEN: u32 = 1;
const CLEAR: u32 = 2;
/// The table, and what a code stands for.
const STATE_BYTES: u64 = 6 * CODES as u64;

/// A stream on its way.
pub(crate) struct Shrink {
    reservoir: Reservoir,
    width: u32,
    is_control: bool,
    previous: Option<u32>,
    /// What stands before the last byte of each code; `None` for codes that are free.
    before: Vec<Option<u16>>,
    last: Vec<u8>,
    /// The codes up to this one are not free.
    searched: usize,
    first: u8,
    /// What a code stands for, last byte first, not yet given out.
    pending: Vec<u8>,
    left: u64,
    failed: Option<Reason>,
    _grant: Grant,
}

impl Shrink {
    /// Awaits a stream that makes so many bytes.
    ///
    /// # Errors
    ///
    /// Where the pool gives no more.
    pub(crate) fn new(pool: &Arc<Pool>, size: u64) -> Result<Self, Reason> {
        let mut grant = pool.grant();
        grant.grow(STATE_BYTES)?;
        Ok(Self {
            reservoir: Reservoir::default(),
            width: WIDTH_MIN,
            is_control: false,
            previous: None,
            before: vec![None; CODES],
            last: (0..CODES).map(|code| code as u8).collect(),
            searched: CONTROL as usize,
            first: 0,
            pending: Vec::new(),
            left: size,
            failed: None,
            _grant: grant,
        })
    }

    /// Whether there is something to do or say without further input.
    pub(crate) fn owes(&self) -> bool {
        self.failed.is_some() || !self.pending.is_empty() || self.left == 0
    }

    /// Goes on until the input is used, the output full, or the stream at its end.
    pub(crate) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let mut reservoir = std::mem::take(&mut self.reservoir);
        let mut bits = Bits::new(&mut reservoir, input);
        let mut made = 0;
        let outcome = loop {
            made += self.give(&mut output[made..]);
            if self.left == 0 {
                break Outcome::Ended;
            }
            if made == output.len() {
                break Outcome::Going;
            }
            if let Some(reason) = self.failed {
                break if made > 0 { Outcome::Going } else { Outcome::Failed(reason) };
            }
            let Some(code) = bits.take(self.width) else { break Outcome::Going };
            bits.commit();
            self.failed = self.take(code).err();
        };
        // What is left of a code is kept; whole bytes behind it are not ours.
        let is_waiting = outcome == Outcome::Going && made < output.len() && self.failed.is_none();
        let used = if is_waiting { input.len() } else { bits.used() };
        self.reservoir = reservoir;
        Run { used, made, outcome }
    }

    fn take(&mut self, code: u32) -> Result<(), Reason> {
        if std::mem::take(&mut self.is_control) {
            match code {
                WIDEN if self.width < WIDTH_MAX => self.width += 1,
                CLEAR => self.clear(),
                _ => return Err(Reason::Damaged),
            }
            return Ok(());
        }
        if code == CONTROL {
            self.is_control = true;
            return Ok(());
        }
        let Some(previous) = self.previous else {
            self.first = u8::try_from(code).map_err(|_| Reason::Damaged)?;
            self.pending.push(self.first);
            self.previous = Some(code);
            return Ok(());
        };
        let is_free = |code: u32| code > CONTROL && self.before[code as usize].is_none();
        let mut at = code;
        if is_free(code) {
            // It gets its meaning now: what came before, and its first byte again.
            self.pending.push(self.first);
            at = previous;
        }
        while at > CONTROL {
            self.pending.push(self.last[at as usize]);
            let Some(before) = self.before[at as usize] else { return Err(Reason::Damaged) };
            at = before.into();
            if self.pending.len() > CODES {
                return Err(Reason::Damaged);
            }
        }
        self.first = at as u8;
        self.pending.push(self.first);
        self.learn(previous);
        self.previous = Some(code);
        Ok(())
    }

    /// The next free code stands for what came before and the byte that this one began with.
    fn learn(&mut self, previous: u32) {
        let from = self.searched + 1;
        let free = (from..CODES).find(|code| self.before[*code].is_none());
        self.searched = free.unwrap_or(CODES - 1);
        if let Some(free) = free {
            self.before[free] = Some(previous as u16);
            self.last[free] = self.first;
        }
    }

    /// Frees all codes that no other begins with.
    fn clear(&mut self) {
        let mut begins = vec![false; CODES];
        for before in self.before.iter().flatten() {
            begins[usize::from(*before)] = true;
        }
        for (before, begins) in self.before.iter_mut().zip(begins) {
            if !begins {
                *before = None;
            }
        }
        self.searched = CONTROL as usize;
    }

    fn give(&mut self, output: &mut [u8]) -> usize {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = self.pending.len().min(output.len()).min(wanted);
        let rest = self.pending.len() - count;
        for (to, byte) in output.iter_mut().zip(self.pending.drain(rest..).rev()) {
            *to = byte;
        }
        self.left -= count as u64;
        count
    }
}

#[cfg(test)]
pub(crate) mod tests;
