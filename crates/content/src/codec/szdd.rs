//! What Microsoft's COMPRESS makes: SZDD, and KWAJ. Rule: as much comes out as the head says, and nothing that it does not say.
//!
//! Both are known from what expands them. SZDD is LZSS with a window of 4 KiB that is full of blanks at first. KWAJ says how
//! it is packed: not at all, with all bits turned round, by the same LZSS, by a code that is not read here, or in MSZIP blocks.

use super::mszip::{self, Mszip};
use super::stream::{StreamDecoder, Undo};
use super::{Outcome, Run};
use crate::decoder::More;
use crate::field::{u16_le, u32_le};
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

const SZDD: &[u8] = b"SZDD\x88\xf0\x27\x33A";
const KWAJ: &[u8] = b"KWAJ\x88\xf0\x27\xd1";
/// Up to and with the size.
const HEAD_BYTES: usize = 14;
/// A longer head nobody writes.
const KWAJ_HEAD_BYTES_MAX: usize = 1 << 10;
const KWAJ_HAS_SIZE: u16 = 1;
const WINDOW_BYTES: usize = 4 << 10;
/// Where the window begins to be filled.
const SZDD_START: usize = WINDOW_BYTES - 16;
const KWAJ_START: usize = WINDOW_BYTES - 18;
const LENGTH_MIN: usize = 3;
/// A block packed, what it makes, and the window.
const STATE_BYTES: u64 = (64 << 10) + mszip::BLOCK_BYTES_MAX as u64 + WINDOW_BYTES as u64;

/// What a byte costs for each KiB in and out.
const NANOS_PER_KIB: u32 = 4000;

/// A file on its way.
pub struct Szdd {
    head: Vec<u8>,
    how: Option<How>,
    left: Option<u64>,
    made: Vec<u8>,
    given: usize,
    failed: Option<Reason>,
    has_ended: bool,
    worked_nanos: u64,
    pool: Arc<Pool>,
    grant: Grant,
}

enum How {
    /// Each byte with these bits turned round.
    Plain(u8),
    Lzss(Lzss),
    Blocks {
        mszip: Box<Mszip>,
        /// The block's length in two bytes, then the block.
        piece: Vec<u8>,
    },
}

/// Awaits a file; takes memory when its head has come.
pub fn decoder(pool: &Arc<Pool>) -> StreamDecoder<Szdd> {
    let pool = Arc::clone(pool);
    StreamDecoder::new(Box::new(move || Szdd::new(&pool)))
}

impl Szdd {
    fn new(pool: &Arc<Pool>) -> Self {
        Self {
            head: Vec::new(),
            how: None,
            left: None,
            made: Vec::new(),
            given: 0,
            failed: None,
            has_ended: false,
            worked_nanos: 0,
            pool: Arc::clone(pool),
            grant: pool.grant(),
        }
    }

    /// How long the head is, as far as that is known.
    fn head_bytes(&self) -> usize {
        match self.head.get(..HEAD_BYTES) {
            Some(head) if head.starts_with(KWAJ) => usize::from(u16_le(head, 10)).max(HEAD_BYTES),
            _ => HEAD_BYTES,
        }
    }

    /// A byte of the head; where it is the last one, what follows is known.
    fn take_head(&mut self, byte: u8) -> Result<(), Reason> {
        self.head.push(byte);
        if self.head.len() > KWAJ_HEAD_BYTES_MAX {
            return Err(Reason::Damaged);
        }
        if self.head.len() < self.head_bytes() {
            return Ok(());
        }
        self.grant.grow(STATE_BYTES)?;
        self.how = Some(if self.head.starts_with(SZDD) {
            self.left = Some(u32_le(&self.head, 10).into());
            How::Lzss(Lzss::new(SZDD_START))
        } else if self.head.starts_with(KWAJ) {
            self.kwaj()?
        } else {
            return Err(Reason::Damaged);
        });
        Ok(())
    }

    fn kwaj(&mut self) -> Result<How, Reason> {
        let (method, start, flags) = (u16_le(&self.head, 8), u16_le(&self.head, 10), u16_le(&self.head, 12));
        if usize::from(start) < HEAD_BYTES {
            return Err(Reason::Damaged);
        }
        if flags & KWAJ_HAS_SIZE != 0 && self.head.len() >= HEAD_BYTES + 4 {
            self.left = Some(u32_le(&self.head, HEAD_BYTES).into());
        }
        match method {
            0 => Ok(How::Plain(0)),
            1 => Ok(How::Plain(0xff)),
            2 => Ok(How::Lzss(Lzss::new(KWAJ_START))),
            4 => Ok(How::Blocks { mszip: Box::new(Mszip::new(&self.pool)?), piece: Vec::new() }),
            _ => Err(Reason::Unsupported),
        }
    }

    /// Takes a byte of what is packed.
    fn take(&mut self, byte: u8) -> Result<(), Reason> {
        match &mut self.how {
            None => return self.take_head(byte),
            Some(How::Plain(bits)) => self.made.push(byte ^ *bits),
            Some(How::Lzss(lzss)) => lzss.take(byte, &mut self.made),
            Some(How::Blocks { mszip, piece }) => {
                piece.push(byte);
                let length = usize::from(u16_le(piece, 0));
                if piece.len() < 2 || piece.len() < 2 + length {
                    return Ok(());
                }
                if length == 0 {
                    self.left = Some(self.left.map_or(0, |left| left.min(self.made.len() as u64)));
                } else {
                    mszip.block(&piece[2..], None, &mut self.made)?;
                    self.worked_nanos += self.made.len() as u64 * mszip::BYTE_NANOS;
                }
                piece.clear();
            }
        }
        Ok(())
    }

    /// Gives out what was made, as far as there is to be any.
    fn give(&mut self, output: &mut [u8]) -> usize {
        let wanted = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let rest = self.made.get(self.given..).unwrap_or_default();
        let length = rest.len().min(output.len()).min(wanted);
        output[..length].copy_from_slice(&rest[..length]);
        self.given += length;
        self.left = self.left.map(|left| left - length as u64);
        if self.given == self.made.len() || self.left == Some(0) {
            self.made.clear();
            self.given = 0;
        }
        length
    }

    /// Whether all that was to come out has.
    fn is_done(&self) -> bool {
        self.how.is_some() && self.left == Some(0) && self.made.is_empty()
    }

    /// The input ends here.
    fn end(&mut self) -> Run {
        let is_between = match &self.how {
            Some(How::Blocks { piece, .. }) => piece.is_empty(),
            how => how.is_some(),
        };
        let is_whole = is_between && self.left.is_none_or(|left| left == 0);
        self.has_ended = is_whole;
        let outcome = if is_whole { Outcome::Ended } else { Outcome::Failed(Reason::Truncated) };
        Run { used: 0, made: 0, outcome }
    }
}

impl Undo for Szdd {
    const BEHIND: &'static str = "bytes behind the end of a compressed file";

    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        self.worked_nanos = 0;
        let mut run = Run { used: 0, made: 0, outcome: Outcome::Going };
        loop {
            run.made += self.give(&mut output[run.made..]);
            if !self.made.is_empty() || run.made == output.len() {
                return run;
            }
            if self.is_done() {
                return Run { outcome: Outcome::Ended, ..run };
            }
            if let Some(reason) = self.failed {
                return if run.made > 0 { run } else { Run { outcome: Outcome::Failed(reason), ..run } };
            }
            let Some(byte) = input.get(run.used) else { break };
            run.used += 1;
            if let Err(reason) = self.take(*byte) {
                self.failed = Some(reason);
            }
        }
        if run.used == 0 && run.made == 0 && more == More::Ended { self.end() } else { run }
    }

    fn owes(&self, more: More) -> bool {
        self.failed.is_some() || !self.made.is_empty() || self.is_done() || more == More::Ended
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }
}

/// Eight items behind each byte that says which are copies: a place and a length in two bytes.
struct Lzss {
    window: Box<[u8; WINDOW_BYTES]>,
    at: usize,
    /// What the next items are, under a bit that marks the last.
    kinds: u16,
    low: Option<u8>,
}

impl Lzss {
    fn new(start: usize) -> Self {
        Self { window: Box::new([b' '; WINDOW_BYTES]), at: start, kinds: 1, low: None }
    }

    fn put(&mut self, byte: u8, made: &mut Vec<u8>) {
        self.window[self.at] = byte;
        self.at = (self.at + 1) % WINDOW_BYTES;
        made.push(byte);
    }

    fn take(&mut self, byte: u8, made: &mut Vec<u8>) {
        if self.kinds == 1 {
            self.kinds = u16::from(byte) | 0x100;
            return;
        }
        if self.kinds & 1 == 1 {
            self.put(byte, made);
        } else {
            let Some(low) = self.low.take() else {
                self.low = Some(byte);
                return;
            };
            let place = usize::from(low) | usize::from(byte & 0xf0) << 4;
            for nth in 0..usize::from(byte & 0xf) + LENGTH_MIN {
                self.put(self.window[(place + nth) % WINDOW_BYTES], made);
            }
        }
        self.kinds >>= 1;
    }
}

#[cfg(test)]
mod tests;
