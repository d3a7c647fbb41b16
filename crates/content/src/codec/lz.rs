//! What the family of LZ77 shares: symbols from bits, a window, output in pieces. Rule: a symbol is read when all its bits are
//! there, or not at all.

mod bits;
mod code;

pub(crate) use bits::{Bits, Reservoir};
pub(crate) use code::{Code, Filled};

use super::{Outcome, Run};
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// What one symbol costs beside the bytes that it makes, in nanoseconds.
const SYMBOL_NANOS: u64 = 12;
/// Symbols read by one call at most: a fraction of a millisecond.
const SYMBOLS_A_CALL: usize = 16 << 10;

/// What the next bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// Something about what follows.
    Nothing,
    /// One byte.
    Literal(u8),
    /// So many bytes, from so far before.
    Copy { distance: usize, length: usize },
    /// The stream ends here, and the rest of this byte is nobody's.
    End,
}

/// One way to write symbols in bits.
pub(crate) trait Symbols: Send {
    /// The next symbol; `None` where bits of it are missing, and then nothing has changed. One takes 57 bits at most.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`] where no symbol is written so.
    fn next(&mut self, bits: &mut Bits<'_>) -> Option<Result<Symbol, Reason>>;

    /// How far back a copy may reach: a power of two.
    fn window_bytes(&self) -> usize;

    /// What a copy from before the beginning is.
    fn before(&self) -> Before {
        Before::Nothing
    }
}

/// What stands before a stream's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing: it is damaged.
    Nothing,
    /// Zeros.
    Zeros,
}

/// A stream on its way.
pub(crate) struct Lz<S> {
    symbols: S,
    reservoir: Reservoir,
    ring: Vec<u8>,
    /// Bytes made so far, and how many there are to be, where that is known.
    made: u64,
    size: Option<u64>,
    /// What is left of the copy at hand.
    distance: usize,
    left: usize,
    /// There may be something to do or to say without further input.
    owes: bool,
    failed: Option<Reason>,
    worked_nanos: u64,
    _grant: Grant,
}

impl<S: Symbols> Lz<S> {
    /// Awaits a stream that makes so many bytes, or, `None`, says itself where it ends.
    ///
    /// # Errors
    ///
    /// Where the pool gives no more.
    pub(crate) fn new(pool: &Arc<Pool>, symbols: S, size: Option<u64>) -> Result<Self, Reason> {
        let mut grant = pool.grant();
        grant.grow((symbols.window_bytes() + size_of::<S>()) as u64)?;
        let ring = vec![0; symbols.window_bytes()];
        let reservoir = Reservoir::default();
        let owes = size == Some(0);
        Ok(Self {
            symbols,
            reservoir,
            ring,
            made: 0,
            size,
            distance: 0,
            left: 0,
            owes,
            failed: None,
            worked_nanos: 0,
            _grant: grant,
        })
    }

    /// Whether there is something to do or say without further input.
    pub(crate) fn owes(&self) -> bool {
        self.owes
    }

    /// What the last call cost beside its bytes.
    pub(crate) fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }

    /// Goes on until the input is used, the output full, or the stream at its end.
    pub(crate) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        self.worked_nanos = 0;
        if let Some(reason) = self.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        let mut reservoir = std::mem::take(&mut self.reservoir);
        let mut bits = Bits::new(&mut reservoir, input);
        let mut made = 0;
        let stop = self.symbols(&mut bits, output, &mut made);
        // Bits that are missing are waited for with those that are there; else what was not needed is given back.
        let used = if stop == Stop::Wants { input.len() } else { bits.used() };
        self.reservoir = reservoir;
        self.owes = matches!(stop, Stop::Full | Stop::Enough);
        let outcome = match stop {
            Stop::Ended => Outcome::Ended,
            Stop::Failed(reason) => {
                self.failed = Some(reason);
                self.owes = made > 0;
                if made > 0 { Outcome::Going } else { Outcome::Failed(reason) }
            }
            Stop::Wants | Stop::Full | Stop::Enough => Outcome::Going,
        };
        Run { used, made, outcome }
    }

    fn symbols(&mut self, bits: &mut Bits<'_>, output: &mut [u8], made: &mut usize) -> Stop {
        for count in 0..SYMBOLS_A_CALL {
            self.worked_nanos = count as u64 * SYMBOL_NANOS;
            self.copy(output, made);
            if self.size.is_some_and(|size| self.made >= size) {
                return Stop::Ended;
            }
            if *made == output.len() {
                return Stop::Full;
            }
            let symbol = match self.symbols.next(bits) {
                None => return Stop::Wants,
                Some(Err(reason)) => return Stop::Failed(reason),
                Some(Ok(symbol)) => symbol,
            };
            bits.commit();
            match symbol {
                Symbol::Nothing => {}
                Symbol::Literal(byte) => self.put(byte, output, made),
                Symbol::Copy { distance, length } => {
                    let is_there = distance as u64 <= self.made || self.symbols.before() == Before::Zeros;
                    if distance == 0 || distance > self.ring.len() || !is_there {
                        return Stop::Failed(Reason::Damaged);
                    }
                    (self.distance, self.left) = (distance, length);
                }
                Symbol::End => return Stop::Ended,
            }
        }
        Stop::Enough
    }

    /// As much of the copy at hand as there is room for.
    fn copy(&mut self, output: &mut [u8], made: &mut usize) {
        let room = self.size.map_or(u64::MAX, |size| size - self.made);
        let count = self.left.min(output.len() - *made).min(usize::try_from(room).unwrap_or(usize::MAX));
        let mask = self.ring.len() - 1;
        for _ in 0..count {
            let byte = self.ring[(self.made as usize).wrapping_sub(self.distance) & mask];
            self.put(byte, output, made);
        }
        self.left -= count;
    }

    /// There is room for it.
    fn put(&mut self, byte: u8, output: &mut [u8], made: &mut usize) {
        let mask = self.ring.len() - 1;
        self.ring[self.made as usize & mask] = byte;
        output[*made] = byte;
        self.made += 1;
        *made += 1;
    }
}

/// Why a call came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// More input is needed.
    Wants,
    /// The output is full.
    Full,
    /// The bound on one call is met.
    Enough,
    Ended,
    Failed(Reason),
}

#[cfg(test)]
pub(crate) mod tests;
