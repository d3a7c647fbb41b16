//! Zstandard (RFC 8878), a file's format and the content coding `zstd` (RFC 9659). Rule: a block is decoded when all of it is
//! there, and it makes no more than a block may.
//!
//! Frames stand one behind the other; skippable ones are skipped. Dictionaries are not known, and windows go up to the
//! 8 MiB that every reader of the content coding has. Behind a frame whose check sum is wrong nothing more is read, as with
//! everybody else who reads them.

mod bits;
mod fse;
mod huffman;
mod literals;
mod sequences;
mod sum;
#[cfg(test)]
mod tests;
mod window;

use super::stream::{StreamDecoder, Undo};
use super::{Outcome, Run};
use crate::decoder::More;
use huffman::Code;
use lockgate_model::{Grant, Pool, Reason};
use sequences::Tables;
use std::sync::Arc;
use sum::Sum;
use window::Window;

/// The largest window (RFC 9659 section 3).
const WINDOW_BYTES_MAX: u64 = 8 << 20;
/// The most that a block holds, packed or not.
const BLOCK_BYTES_MAX: usize = 128 << 10;
/// What is held beside the window: a block packed, its literals and itself, and tables.
const STATE_BYTES: u64 = 3 * BLOCK_BYTES_MAX as u64 + (32 << 10);
const MAGIC: u32 = 0xfd2f_b528;
/// The last four bits of a skippable frame's are anything.
const SKIPPABLE: u32 = 0x184d_2a50;

/// What copying in and out costs for each KiB.
pub(super) const NANOS_PER_KIB: u32 = 300;
/// What decoding costs for each byte of a block.
const BYTE_NANOS: u64 = 4;
/// What a block and a sequence cost besides.
const BLOCK_NANOS: u64 = 4_000;
const SEQUENCE_NANOS: u64 = 25;

/// Frames on their way.
pub struct Zstd {
    expect: Expect,
    /// The piece that is awaited, as far as it is there.
    piece: Vec<u8>,
    frames: u32,
    /// What the frame says that it makes, and has made so far.
    declared: Option<u64>,
    made: u64,
    /// Of what the frame has made, where it says a check sum.
    sum: Option<Sum>,
    code: Option<Code>,
    tables: Tables,
    literals: Vec<u8>,
    window: Window,
    /// How much of the block at hand was given out.
    given: usize,
    grant: Grant,
    failed: Option<Reason>,
    worked_nanos: u64,
}

/// The next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Magic,
    /// The length of a skippable frame.
    SkipLength,
    Skip(u32),
    /// The byte that says how long the rest of a frame's head is.
    Descriptor,
    Head(u8),
    BlockHead,
    Block {
        kind: u8,
        bytes: usize,
        is_last: bool,
    },
    Sum,
}

/// Awaits the first frame; takes memory when its first byte arrives.
pub fn decoder(pool: &Arc<Pool>) -> StreamDecoder<Zstd> {
    let pool = Arc::clone(pool);
    StreamDecoder::new(Box::new(move || Zstd::new(&pool)))
}

impl Zstd {
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        let mut grant = pool.grant();
        let failed = grant.grow(STATE_BYTES).err();
        Self {
            expect: Expect::Magic,
            piece: Vec::new(),
            frames: 0,
            declared: None,
            made: 0,
            sum: None,
            code: None,
            tables: Tables::new(),
            literals: Vec::new(),
            window: Window::new(pool),
            given: 0,
            grant,
            failed,
            worked_nanos: 0,
        }
    }

    /// How long the piece is that is awaited.
    fn awaited(&self) -> usize {
        match self.expect {
            Expect::Magic | Expect::SkipLength | Expect::Sum => 4,
            Expect::Skip(_) => 0,
            Expect::Descriptor => 1,
            Expect::Head(descriptor) => head_bytes(descriptor),
            Expect::BlockHead => 3,
            Expect::Block { kind: RUN, .. } => 1,
            Expect::Block { bytes, .. } => bytes,
        }
    }

    /// Takes input for the piece that is awaited; answers how much.
    fn gather(&mut self, input: &[u8]) -> usize {
        if let Expect::Skip(left) = &mut self.expect {
            let skipped = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= skipped as u32;
            return skipped;
        }
        let wanted = self.awaited() - self.piece.len();
        let taken = input.get(..wanted).unwrap_or(input);
        self.piece.extend_from_slice(taken);
        taken.len()
    }

    /// Whether the piece that is awaited is there.
    fn is_there(&self) -> bool {
        match self.expect {
            Expect::Skip(left) => left == 0,
            _ => self.piece.len() == self.awaited(),
        }
    }

    /// Whether nothing is under way, behind a frame.
    pub(super) fn is_between_frames(&self) -> bool {
        self.expect == Expect::Magic
            && self.piece.is_empty()
            && self.frames > 0
            && self.window.block_bytes() == 0
            && self.failed.is_none()
    }

    /// The piece that was awaited is there.
    fn advance(&mut self) -> Result<(), Reason> {
        let piece = std::mem::take(&mut self.piece);
        let word = number(&piece) as u32;
        self.expect = match self.expect {
            Expect::Magic if word == MAGIC => Expect::Descriptor,
            Expect::Magic if word & !15 == SKIPPABLE => Expect::SkipLength,
            Expect::Magic => return Err(Reason::Damaged),
            Expect::SkipLength => Expect::Skip(word),
            Expect::Descriptor => Expect::Head(word as u8),
            Expect::Head(descriptor) => self.begin_frame(descriptor, &piece)?,
            Expect::BlockHead => block_of(word)?,
            Expect::Block { kind, bytes, is_last } => {
                self.block(kind, bytes, &piece)?;
                match (is_last, &self.sum) {
                    (false, _) => Expect::BlockHead,
                    (true, Some(_)) => Expect::Sum,
                    (true, None) => self.end_frame()?,
                }
            }
            Expect::Sum if self.sum.as_ref().is_some_and(|sum| sum.value() != word) => {
                return Err(Reason::Damaged);
            }
            Expect::Sum => self.end_frame()?,
            Expect::Skip(_) => {
                self.frames = self.frames.saturating_add(1);
                Expect::Magic
            }
        };
        self.piece = piece;
        self.piece.clear();
        Ok(())
    }

    fn begin_frame(&mut self, descriptor: u8, head: &[u8]) -> Result<Expect, Reason> {
        // The bit is kept for what is to come.
        if descriptor & 8 != 0 {
            return Err(Reason::Unsupported);
        }
        let is_single = descriptor & 0x20 != 0;
        let (window, rest) = head.split_at(usize::from(!is_single));
        let (dictionary, size) = rest.split_at(dictionary_bytes(descriptor).min(rest.len()));
        if number(dictionary) != 0 {
            return Err(Reason::Unsupported);
        }
        self.declared = match size.len() {
            0 => None,
            2 => Some(number(size) + 256),
            _ => Some(number(size)),
        };
        let window_bytes = match window.first() {
            Some(byte) => {
                let base = 1_u64 << (10 + u32::from(byte >> 3));
                base + base / 8 * u64::from(byte & 7)
            }
            None => self.declared.unwrap_or_default(),
        };
        if window_bytes > WINDOW_BYTES_MAX {
            return Err(Reason::Held);
        }
        self.window.begin(usize::try_from(window_bytes).unwrap_or(usize::MAX));
        (self.code, self.tables, self.made) = (None, Tables::new(), 0);
        self.sum = (descriptor & 4 != 0).then(Sum::new);
        Ok(Expect::BlockHead)
    }

    fn end_frame(&mut self) -> Result<Expect, Reason> {
        if self.declared.is_some_and(|declared| declared != self.made) {
            return Err(Reason::Damaged);
        }
        self.frames = self.frames.saturating_add(1);
        Ok(Expect::Magic)
    }

    /// Makes what a block holds.
    fn block(&mut self, kind: u8, bytes: usize, piece: &[u8]) -> Result<(), Reason> {
        let mut sequences = 0;
        match (kind, piece) {
            (RAW, _) => self.window.append(piece),
            (RUN, [byte, ..]) => self.window.fill(*byte, bytes),
            (PACKED, _) => sequences = self.unpack(piece).ok_or(Reason::Damaged)?,
            _ => return Err(Reason::Damaged),
        }
        let made = self.window.block_bytes() as u64;
        self.made += made;
        if let Some(sum) = &mut self.sum {
            sum.update(self.window.block());
        }
        self.worked_nanos += BLOCK_NANOS + made * BYTE_NANOS + sequences as u64 * SEQUENCE_NANOS;
        Ok(())
    }

    fn unpack(&mut self, block: &[u8]) -> Option<usize> {
        let used = literals::read(block, &mut self.code, &mut self.literals)?;
        self.tables.run(block.get(used..)?, &self.literals, &mut self.window)
    }

    /// Gives out of the block at hand.
    fn give(&mut self, output: &mut [u8]) -> usize {
        let rest = self.window.block().get(self.given..).unwrap_or_default();
        let count = rest.len().min(output.len());
        output[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        if self.given == self.window.block_bytes() {
            self.given = 0;
            if let Err(reason) = self.window.keep_block() {
                // What was made before comes out before that is said.
                self.fail(reason);
            }
        }
        count
    }

    fn fail(&mut self, reason: Reason) {
        self.failed = Some(reason);
        self.grant.clear();
    }
}

/// The kinds of blocks.
const RAW: u8 = 0;
const RUN: u8 = 1;
const PACKED: u8 = 2;

fn block_of(head: u32) -> Result<Expect, Reason> {
    let (is_last, kind, bytes) = (head & 1 != 0, (head >> 1 & 3) as u8, (head >> 3) as usize);
    if kind > PACKED || bytes > BLOCK_BYTES_MAX {
        return Err(Reason::Damaged);
    }
    Ok(Expect::Block { kind, bytes, is_last })
}

fn dictionary_bytes(descriptor: u8) -> usize {
    [0, 1, 2, 4][usize::from(descriptor & 3)]
}

/// How much of a frame's head follows its descriptor.
fn head_bytes(descriptor: u8) -> usize {
    let is_single = descriptor & 0x20 != 0;
    let size = match descriptor >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    usize::from(!is_single) + dictionary_bytes(descriptor) + size
}

/// Bytes as a number, the first the lowest; at most eight.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Undo for Zstd {
    const BEHIND: &'static str = "bytes behind the end of a zstd stream";

    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        self.worked_nanos = 0;
        if let Some(reason) = self.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        if self.window.block_bytes() > 0 {
            return Run { used: 0, made: self.give(output), outcome: Outcome::Going };
        }
        if input.is_empty() && more == More::Ended && self.is_between_frames() {
            return Run { used: 0, made: 0, outcome: Outcome::Ended };
        }
        let mut used = 0;
        // One block at a time is made; what is not one costs little.
        while self.window.block_bytes() == 0 {
            used += self.gather(input.get(used..).unwrap_or_default());
            if !self.is_there() {
                break;
            }
            let is_block = matches!(self.expect, Expect::Block { .. });
            if let Err(reason) = self.advance() {
                self.fail(reason);
                return Run { used, made: 0, outcome: Outcome::Failed(reason) };
            }
            if is_block {
                break;
            }
        }
        Run { used, made: 0, outcome: Outcome::Going }
    }

    fn owes(&self, more: More) -> bool {
        let ends = more == More::Ended && self.is_between_frames();
        // What is awaited may be nothing: an empty block, an empty frame that is skipped.
        self.failed.is_some() || self.window.block_bytes() > 0 || self.is_there() || ends
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }
}
