//! LZMA: a bare stream, [`Lzma`], in pieces of any length. Rule: the same bytes come out however the input is cut.
//!
//! The format is that of the LZMA SDK's specification. A symbol is read when all its bytes are there: of up to twenty
//! that may be missing some, it is first tried. Dictionaries may be up to 4 GiB; what is held of them is what is
//! made, as far as it is granted, and only a match that goes back further fails.

mod alone;
mod bits;
mod lzma2;
mod model;
#[cfg(test)]
mod tests;
mod window;

pub use alone::{Alone, InZip, decoder};
pub(crate) use lzma2::Lzma2;
pub use model::Properties;

use super::{Outcome, Run};
use bits::{Bits, LEARN, TRY};
use lockgate_model::{Grant, Pool, Reason};
use model::{Model, Place, Symbol};
use std::sync::Arc;
use window::Window;

/// What a byte costs for each KiB, in and out; the worst case is eight bits that are hard to foresee.
pub(crate) const NANOS_PER_KIB: u32 = 16_000;
/// No symbol has more bytes.
const SYMBOL_BYTES_MAX: usize = 20;
/// What is held besides literals and window.
const STATE_BYTES: u64 = 10 << 10;
/// What begins a range decoder.
const HEAD_BYTES: u8 = 5;

/// A bare LZMA stream on its way.
pub(crate) struct Lzma {
    model: Box<Model>,
    window: Window,
    range: u32,
    code: u32,
    /// Of the head, so many bytes are missing.
    head_missing: u8,
    /// The beginning of a symbol that is not all there.
    carried: Vec<u8>,
    /// What is left of a match.
    repeating: usize,
    _grant: Grant,
}

/// Why [`Lzma::fill`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The input is used.
    Input,
    /// So much was made as was asked for.
    Room,
    /// The mark of the end.
    Mark,
    Failed(Reason),
}

impl Lzma {
    /// Awaits the stream's head.
    ///
    /// # Errors
    ///
    /// Where the pool gives no more.
    pub fn new(pool: &Arc<Pool>, properties: Properties, dictionary_bytes: u32) -> Result<Self, Reason> {
        let mut grant = pool.grant();
        grant.grow(STATE_BYTES + 2 * properties.literals() as u64)?;
        Ok(Self {
            model: Box::new(Model::new(properties)),
            window: Window::new(pool, dictionary_bytes),
            range: u32::MAX,
            code: 0,
            head_missing: HEAD_BYTES,
            carried: Vec::new(),
            repeating: 0,
            _grant: grant,
        })
    }

    /// Awaits another head, with the model as it is.
    fn restart(&mut self) {
        (self.range, self.code, self.head_missing) = (u32::MAX, 0, HEAD_BYTES);
        self.carried.clear();
        self.repeating = 0;
    }

    /// Whether all bits have been read, in the middle of nothing: no encoder leaves more behind.
    pub fn is_at_rest(&self) -> bool {
        self.head_missing == 0 && self.code == 0 && self.carried.is_empty() && self.repeating == 0
    }

    /// Makes up to `output.len()` bytes.
    pub fn make(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Halt) {
        let (mut used, mut made) = (0, 0);
        loop {
            let room = match self.window.room(output.len() - made) {
                Ok(room) => room,
                Err(reason) => return (used, made, Halt::Failed(reason)),
            };
            let from = self.window.at();
            let (taken, halt) = self.fill(&input[used..], from + room);
            used += taken;
            let bytes = self.window.since(from);
            output[made..made + bytes.len()].copy_from_slice(bytes);
            made += bytes.len();
            if halt != Halt::Room || made == output.len() {
                return (used, made, halt);
            }
        }
    }

    /// Fills the window up to this place.
    fn fill(&mut self, input: &[u8], limit: usize) -> (usize, Halt) {
        let mut used = self.head(input);
        if self.head_missing > 0 {
            return (used, Halt::Input);
        }
        if self.code == u32::MAX {
            return (used, Halt::Failed(Reason::Damaged));
        }
        while !self.carried.is_empty() && self.window.at() < limit {
            let (taken, halt) = self.symbol_in_two(&input[used..]);
            used += taken;
            if let Some(halt) = halt {
                return (used, halt);
            }
        }
        let mut bits =
            Bits { range: self.range, code: self.code, input: &input[used..], at: 0, is_short: false };
        let halt = self.symbols(&mut bits, limit);
        (self.range, self.code) = (bits.range, bits.code);
        used += bits.at;
        if halt == Halt::Input {
            self.carried.extend_from_slice(&input[used..]);
            used = input.len();
        }
        (used, halt)
    }

    /// What is missing of the head; a first byte that is not 0 makes it fail later.
    fn head(&mut self, input: &[u8]) -> usize {
        let mut used = 0;
        while let (1.., Some(byte)) = (self.head_missing, input.get(used)) {
            if self.head_missing == HEAD_BYTES && *byte != 0 {
                (self.code, self.head_missing) = (u32::MAX, 0);
                return used;
            }
            self.code = self.code << 8 | u32::from(*byte);
            self.head_missing -= 1;
            used += 1;
        }
        used
    }

    /// One symbol that begins in what is carried.
    fn symbol_in_two(&mut self, input: &[u8]) -> (usize, Option<Halt>) {
        let before = self.carried.len();
        let more = input.len().min(SYMBOL_BYTES_MAX.saturating_sub(before));
        let mut bytes = std::mem::take(&mut self.carried);
        bytes.extend_from_slice(&input[..more]);
        let mut bits = Bits { range: self.range, code: self.code, input: &bytes, at: 0, is_short: false };
        if !self.is_there(&bits) {
            self.carried = bytes;
            return (more, Some(Halt::Input));
        }
        let symbol = self.model.read::<LEARN>(&mut bits, self.place());
        let halt = self.apply(symbol);
        (self.range, self.code) = (bits.range, bits.code);
        // What was carried was not enough, so all of it was used.
        (bits.at.saturating_sub(before), halt)
    }

    fn place(&self) -> Place {
        let matched = if self.model.is_behind_match() { self.window.back(self.model.distance()) } else { 0 };
        Place { position: self.window.made(), last: self.window.back(0), matched }
    }

    /// Whether the next symbol is all there.
    fn is_there(&mut self, bits: &Bits<'_>) -> bool {
        if bits.input.len() - bits.at >= SYMBOL_BYTES_MAX {
            return true;
        }
        let mut bits = bits.clone();
        self.model.read::<TRY>(&mut bits, self.place());
        !bits.is_short
    }

    fn symbols(&mut self, bits: &mut Bits<'_>, limit: usize) -> Halt {
        loop {
            let room = limit.saturating_sub(self.window.at());
            if self.repeating > 0 {
                let now = self.repeating.min(room);
                self.window.repeat(self.model.distance(), now);
                self.repeating -= now;
                if self.repeating > 0 {
                    return Halt::Room;
                }
                continue;
            }
            if room == 0 {
                return Halt::Room;
            }
            if !self.is_there(bits) {
                return Halt::Input;
            }
            let symbol = self.model.read::<LEARN>(bits, self.place());
            if let Some(halt) = self.apply(symbol) {
                return halt;
            }
        }
    }

    #[inline(always)]
    fn apply(&mut self, symbol: Symbol) -> Option<Halt> {
        self.model.note(symbol);
        match symbol {
            Symbol::Literal(byte) => self.window.push(byte),
            Symbol::End => return Some(Halt::Mark),
            Symbol::Match { length, .. } | Symbol::Again { length, .. } => {
                if let Err(reason) = self.window.reaches(self.model.distance()) {
                    return Some(Halt::Failed(reason));
                }
                self.repeating = length as usize;
            }
        }
        None
    }
}

/// A run that says a failure only when what was made before it is out.
#[derive(Default)]
struct Debt {
    failed: Option<Reason>,
    /// Whether there may be more without further input.
    is_full: bool,
}

impl Debt {
    fn owes(&self) -> bool {
        self.failed.is_some() || self.is_full
    }

    fn run(&mut self, used: usize, made: usize, outcome: Outcome) -> Run {
        let outcome = match outcome {
            Outcome::Failed(reason) => {
                self.failed = Some(reason);
                if made > 0 { Outcome::Going } else { outcome }
            }
            _ => outcome,
        };
        Run { used, made, outcome }
    }
}
