//! Unpacking that copies from what was made before: [`Unlz`] drives one [`Scheme`]. Rule: a symbol is begun when all of it is there.
//!
//! The old archivers all pack so, and differ in how symbols are written. A scheme reads one symbol at a time from
//! [`Bits`], where what it needs at most is held ahead, and writes to a [`Window`]; so it needs no state for half a symbol.

pub(crate) mod bits;
pub(crate) mod code;
pub(crate) mod window;

use super::{Outcome, Run};
use crate::decoder::More;
use bits::Bits;
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;
use window::Window;

/// The most that is made before some is given out.
const AHEAD_BYTES_MAX: usize = 16 << 10;
/// The most that is taken in one run.
const INPUT_BYTES_MAX: usize = 8 << 10;
/// What a byte made, and a symbol, cost.
const BYTE_NANOS: u64 = 1;
const SYMBOL_NANOS: u64 = 12;
/// What is held beside the window: bits ahead, and codes.
const STATE_BYTES: u64 = 32 << 10;

/// How a symbol left the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// It goes on.
    Read,
    /// Nothing was read yet: work went on for so many nanoseconds.
    Working(u64),
    /// It has ended by itself.
    End,
}

/// One way of packing.
pub(crate) trait Scheme: Send {
    /// Bits that the next symbol may take at most. No more than 4 KiB.
    fn bits_needed(&self) -> usize;

    /// Bytes that a symbol may make at most. Less than the window has.
    fn bytes_made_max(&self) -> usize;

    /// Reads one symbol.
    ///
    /// # Errors
    ///
    /// Where the stream cannot be read on.
    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason>;

    /// Gives out what was made; answers how much.
    ///
    /// # Errors
    ///
    /// Where what was made cannot be given out.
    fn give(&mut self, window: &mut Window, output: &mut [u8]) -> Result<usize, Reason> {
        Ok(window.drain(output))
    }

    /// Nothing more is made: what is held is given out as it is.
    fn let_go(&mut self, _window: &Window) {}

    /// Bits that may stand behind the last byte and say something.
    fn bits_behind(&self) -> usize {
        0
    }

    /// The last byte was made; bits behind it are there.
    fn end(&mut self, _bits: &mut Bits) {}

    /// What a stream ends by.
    fn ends_by(&self) -> EndsBy {
        EndsBy::Count
    }
}

/// What a stream ends by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndsBy {
    /// By the number of bytes that the archive says.
    Count,
    /// By a symbol of its own, or where its input does.
    Mark,
}

/// Unpacks one stream after the other.
pub(crate) struct Unlz<S> {
    pub(crate) scheme: S,
    pub(crate) window: Window,
    bits: Bits,
    /// What the archive says that the stream makes.
    size: Option<u64>,
    /// What the window had made when the stream began, and what was given out since.
    begun_at: u64,
    given: u64,
    outcome: Outcome,
    /// Whether it has worked for long enough.
    is_working: bool,
    worked_nanos: u64,
    _grant: Grant,
}

impl<S: Scheme> Unlz<S> {
    /// Awaits a stream.
    ///
    /// # Errors
    ///
    /// Where the pool grants no state.
    pub(crate) fn new(pool: &Arc<Pool>, scheme: S) -> Result<Self, Reason> {
        let mut grant = pool.grant();
        grant.grow(STATE_BYTES)?;
        Ok(Self {
            scheme,
            window: Window::new(pool),
            bits: Bits::new(),
            size: None,
            begun_at: 0,
            given: 0,
            outcome: Outcome::Going,
            is_working: false,
            worked_nanos: 0,
            _grant: grant,
        })
    }

    /// A stream begins that makes so many bytes; scheme and window have been told by the caller.
    pub(crate) fn begin(&mut self, size: Option<u64>) {
        self.bits.begin();
        (self.size, self.begun_at, self.given) = (size, self.window.made(), 0);
        self.outcome = Outcome::Going;
    }

    /// Goes on until the input is used, the output full, or the stream at its end.
    pub(crate) fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        self.worked_nanos = 0;
        // So that symbols that make nothing take no longer than others.
        let (input, more) = match input.get(..INPUT_BYTES_MAX) {
            Some(first) if input.len() > INPUT_BYTES_MAX => (first, More::Follows),
            _ => (input, more),
        };
        let (mut used, mut made) = (0, 0);
        loop {
            let before = made;
            match self.give(&mut output[made..]) {
                Ok(given) => made += given,
                Err(reason) => {
                    self.fail(reason);
                    made += self.give(&mut output[made..]).unwrap_or(0);
                }
            }
            if made == output.len() {
                return Run { used, made, outcome: Outcome::Going };
            }
            if made == before && self.outcome != Outcome::Going {
                return Run { used, made, outcome: self.outcome };
            }
            if self.outcome == Outcome::Going && !self.make(input, more, &mut used) {
                return Run { used, made, outcome: Outcome::Going };
            }
        }
    }

    /// Whether there is something to do or to say without further input.
    pub(crate) fn owes(&self, more: More) -> bool {
        let may_go_on = more == More::Ended || self.bits.has(self.scheme.bits_needed());
        self.window.pending() > 0 || self.outcome != Outcome::Going || may_go_on
    }

    /// What the last run cost beyond its bytes, in nanoseconds.
    pub(crate) fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }

    fn give(&mut self, output: &mut [u8]) -> Result<usize, Reason> {
        // What is made beyond the size is for the streams behind this one to copy from.
        let left = self.size.map_or(u64::MAX, |size| size - self.given);
        let room = output.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let given = self.scheme.give(&mut self.window, &mut output[..room])?;
        self.given += given as u64;
        Ok(given)
    }

    /// Makes some bytes; `false` where it needs more input first.
    fn make(&mut self, input: &[u8], more: More, used: &mut usize) -> bool {
        let ahead = AHEAD_BYTES_MAX.min(self.window.size().saturating_sub(self.scheme.bytes_made_max()));
        let mut has_read = false;
        while self.window.pending() < ahead.max(1) {
            let is_enough = self.is_enough();
            let needed = if is_enough { self.scheme.bits_behind() } else { self.scheme.bits_needed() };
            if !self.bits.has(needed) {
                *used += self.bits.feed(&input[*used..], more);
                if self.bits.has(needed) {
                    continue;
                }
                return has_read;
            }
            if is_enough {
                self.scheme.end(&mut self.bits);
                self.outcome = Outcome::Ended;
            } else {
                self.symbol();
            }
            has_read = true;
            if std::mem::take(&mut self.is_working) {
                return false;
            }
            if self.outcome != Outcome::Going {
                self.scheme.let_go(&self.window);
                break;
            }
        }
        true
    }

    /// Whether the stream has ended by its count.
    fn is_enough(&self) -> bool {
        let is_full = self.size.is_some_and(|size| self.window.made() - self.begun_at >= size);
        is_full && (self.scheme.ends_by() == EndsBy::Count || self.bits.is_used_up())
    }

    fn symbol(&mut self) {
        let before = self.window.made();
        let read = self
            .window
            .reserve(self.scheme.bytes_made_max())
            .and_then(|()| self.scheme.symbol(&mut self.bits, &mut self.window));
        let made = self.window.made() - before;
        self.worked_nanos += SYMBOL_NANOS + made * BYTE_NANOS;
        // All is made: the mark may be missing, and what follows may be anything.
        let was_whole = self.size.is_some_and(|size| before - self.begun_at >= size);
        let is_beyond = self.size.is_some_and(|size| self.window.made() - self.begun_at > size);
        match read {
            _ if was_whole && made == 0 && (read.is_err() || self.bits.is_overrun()) => {
                self.outcome = Outcome::Ended;
            }
            _ if self.bits.is_overrun() => self.outcome = Outcome::Failed(Reason::Truncated),
            Ok(_) if is_beyond && self.scheme.ends_by() == EndsBy::Mark => {
                self.outcome = Outcome::Failed(Reason::Damaged);
            }
            Ok(Symbol::Read) => {}
            Ok(Symbol::Working(nanos)) => {
                self.worked_nanos += nanos;
                self.is_working = true;
            }
            Ok(Symbol::End) => self.outcome = Outcome::Ended,
            Err(reason) => self.outcome = Outcome::Failed(reason),
        }
    }

    fn fail(&mut self, reason: Reason) {
        if self.outcome == Outcome::Going || self.outcome == Outcome::Ended {
            self.outcome = Outcome::Failed(reason);
        }
        self.scheme.let_go(&self.window);
    }
}
