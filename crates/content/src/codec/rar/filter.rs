//! Filters: blocks of what was unpacked that are turned back before they are given out. Rule: matches copy what was before that.

mod turn;

use crate::codec::lzhuf::window::Window;
use lockgate_model::{Grant, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most that await their block. Packers ask for a few.
const FILTERS_MAX: usize = 1024;
/// The longest block.
const BLOCK_BYTES_MAX: usize = 4 << 20;

/// What is done to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Differences of bytes, for each of so many channels.
    Delta { channels: usize },
    /// Absolute addresses of calls by x86, and of jumps where they are meant as well.
    X86 { opcodes: Opcodes, offsets: Offsets },
    /// Absolute addresses of ARM's calls.
    Arm,
    /// Of Itanium's.
    Itanium,
    /// Pictures of three bytes a pixel.
    Rgb { width: usize, red: usize },
    /// Samples of sound.
    Audio { channels: usize },
}

/// Which opcodes an address follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcodes {
    Call,
    CallAndJump,
}

/// How far offsets in the file count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offsets {
    Whole,
    /// Up to 16 MiB, then from 0.
    Wrapped,
}

/// One block to be turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filter {
    /// The first byte of the block, of all that the window made.
    start: u64,
    length: usize,
    turn: Turn,
}

/// Stands between the window and the output.
pub(crate) struct Sieve {
    filters: VecDeque<Filter>,
    /// The block, as far as it is there.
    block: Vec<u8>,
    /// What of it was given out, once it was turned.
    given: Option<usize>,
    /// Where the file begins, of all that the window made.
    file_start: u64,
    grant: Grant,
}

impl Sieve {
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self { filters: VecDeque::new(), block: Vec::new(), given: None, file_start: 0, grant: pool.grant() }
    }

    /// A file begins there.
    pub(crate) fn begin(&mut self, file_start: u64) {
        self.filters.clear();
        self.forget_block();
        self.file_start = file_start;
    }

    fn forget_block(&mut self) {
        self.given = None;
        self.block = Vec::new();
        self.grant.clear();
    }

    /// A block will begin there.
    ///
    /// # Errors
    ///
    /// Unsupported where it is too long or one too many.
    pub(crate) fn add(&mut self, start: u64, length: usize, turn: Turn) -> Result<(), Reason> {
        if length == 0 {
            return Ok(());
        }
        if length > BLOCK_BYTES_MAX || self.filters.len() >= FILTERS_MAX {
            return Err(Reason::Unsupported);
        }
        self.filters.push_back(Filter { start, length, turn });
        Ok(())
    }

    /// Gives out what can be.
    ///
    /// # Errors
    ///
    /// Damaged where a block begins within another, or as the pool says. Then all goes on as it is.
    pub(crate) fn give(&mut self, window: &mut Window, output: &mut [u8]) -> Result<usize, Reason> {
        let given = self.give_turned(window, output);
        if given.is_err() {
            self.filters.clear();
            self.give_block_as_it_is();
        }
        given
    }

    fn give_turned(&mut self, window: &mut Window, output: &mut [u8]) -> Result<usize, Reason> {
        loop {
            if let Some(given) = &mut self.given {
                let rest = &self.block[*given..];
                let length = rest.len().min(output.len());
                output[..length].copy_from_slice(&rest[..length]);
                *given += length;
                if *given == self.block.len() {
                    self.forget_block();
                }
                return Ok(length);
            }
            let Some(filter) = self.filters.front().copied() else { return Ok(window.drain(output)) };
            let position = window.made() - window.pending() as u64 - self.block.len() as u64;
            if position < filter.start {
                let before = usize::try_from(filter.start - position).unwrap_or(usize::MAX);
                let room = output.len().min(before);
                return Ok(window.drain(&mut output[..room]));
            }
            if position > filter.start {
                return Err(Reason::Damaged);
            }
            if !self.gather(filter.length, window)? {
                return Ok(0);
            }
            self.turn(filter)?;
        }
    }

    /// Takes bytes of the block from the window; whether it is whole.
    fn gather(&mut self, length: usize, window: &mut Window) -> Result<bool, Reason> {
        let had = self.block.len();
        if had == 0 {
            // Some turns need the block twice.
            self.grant.grow(2 * length as u64)?;
            self.block.reserve_exact(length);
        }
        self.block.resize(had + window.pending().min(length - had), 0);
        window.drain(&mut self.block[had..]);
        Ok(self.block.len() == length)
    }

    /// Turns the block by this filter and those behind it that have the same block.
    fn turn(&mut self, first: Filter) -> Result<(), Reason> {
        let offset = first.start.saturating_sub(self.file_start);
        while let Some(filter) = self.filters.front() {
            if filter.start != first.start || filter.length != first.length {
                break;
            }
            turn::turn(filter.turn, &mut self.block, offset)?;
            self.filters.pop_front();
        }
        self.given = Some(0);
        Ok(())
    }

    /// Nothing more is made: what is held is given out as it is.
    pub(crate) fn let_go(&mut self, window: &Window) {
        let whole_until = window.made();
        let is_whole = |f: &Filter| f.start.saturating_add(f.length as u64) <= whole_until;
        let wholes = self.filters.iter().take_while(|f| is_whole(f)).count();
        self.filters.truncate(wholes);
        if self.filters.is_empty() {
            self.give_block_as_it_is();
        }
    }

    fn give_block_as_it_is(&mut self) {
        if self.given.is_none() && !self.block.is_empty() {
            self.given = Some(0);
        }
    }
}
