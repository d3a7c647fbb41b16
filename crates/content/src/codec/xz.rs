//! xz ("The .xz File Format", version 1.2): streams of blocks, with an index. Rule: what xz would write; what its index or its
//! sums deny is damaged.

mod block;
mod check;
mod index;

use super::lzma::NANOS_PER_KIB;
use super::stream::{StreamDecoder, Undo};
use super::{Outcome, Run};
use crate::decoder::More;
use crate::field::{Field, u32_le};
use block::Block;
use check::{Check, Kind};
use index::{Index, Record, Records};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

const MAGIC: [u8; 6] = *b"\xfd7zXZ\0";
/// Magic, flags, check sum (section 2.1.1).
const HEAD_BYTES: usize = 12;
/// A check sum, the index's size, flags, magic (section 2.1.2).
const FOOTER_BYTES: usize = 12;
const FOOTER_MAGIC: [u8; 2] = *b"YZ";

/// How many streams belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// One: what follows is not this format's.
    One,
    /// All that stand one behind the other, as in a file.
    All,
}

/// Streams on their way.
pub struct Xz {
    pool: Arc<Pool>,
    streams: Streams,
    expect: Expect,
    field: Field,
    /// The flags of the stream's head, which its foot repeats.
    flags: [u8; 2],
    check: Option<Check>,
    block: Option<Box<Block>>,
    records: Records,
    index: Option<Index>,
    streams_read: u32,
    padding: u64,
    failed: Option<Reason>,
    is_full: bool,
    has_rest: bool,
}

/// The next thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Head,
    /// The byte that tells how long a block's head is, or that there are no more blocks.
    HeadLength,
    BlockHead,
    Data,
    /// The zeros behind a block and its check.
    BlockEnd,
    Index,
    Footer,
    /// Zeros behind a stream, or another one.
    Behind,
}

/// Awaits an `.xz` file; takes memory when it needs it.
pub fn decoder(pool: &Arc<Pool>) -> StreamDecoder<Xz> {
    let pool = Arc::clone(pool);
    StreamDecoder::new(Box::new(move || Xz::new(&pool, Streams::All)))
}

impl Xz {
    /// Awaits the first stream.
    pub fn new(pool: &Arc<Pool>, streams: Streams) -> Self {
        let mut xz = Self {
            pool: Arc::clone(pool),
            streams,
            expect: Expect::Head,
            field: Field::default(),
            flags: [0; 2],
            check: None,
            block: None,
            records: Records::default(),
            index: None,
            streams_read: 0,
            padding: 0,
            failed: None,
            is_full: false,
            has_rest: false,
        };
        xz.await_field(Expect::Head, HEAD_BYTES);
        xz
    }

    fn await_field(&mut self, expect: Expect, length: usize) {
        self.expect = expect;
        self.field.begin(length as u64, length);
    }

    fn head(&mut self) -> Result<(), Reason> {
        let bytes = self.field.bytes();
        if bytes[..MAGIC.len()] != MAGIC || crc32fast::hash(&bytes[6..8]) != u32_le(bytes, 8) {
            return Err(Reason::Damaged);
        }
        self.flags = [bytes[6], bytes[7]];
        if self.flags[0] != 0 || self.flags[1] > 15 {
            return Err(Reason::Unsupported);
        }
        self.records = Records::default();
        self.await_field(Expect::HeadLength, 1);
        Ok(())
    }

    fn head_length(&mut self) {
        let byte = self.field.bytes()[0];
        if byte == 0 {
            self.index = Some(Index::new());
            self.expect = Expect::Index;
            return;
        }
        let length = (usize::from(byte) + 1) * 4;
        self.expect = Expect::BlockHead;
        self.field.extend(length - 1);
    }

    fn block_head(&mut self) -> Result<(), Reason> {
        self.block = Some(Box::new(Block::new(&self.pool, self.field.bytes())?));
        self.check = Some(Check::new(Kind(self.flags[1])));
        self.expect = Expect::Data;
        Ok(())
    }

    fn data(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let Some(block) = &mut self.block else { return Run { used: 0, made: 0, outcome: Outcome::Going } };
        let run = block.run(input, output);
        if let Some(check) = &mut self.check {
            check.update(&output[..run.made]);
        }
        if run.outcome != Outcome::Ended {
            return run;
        }
        let going = Run { outcome: Outcome::Going, ..run };
        if !block.is_as_said() {
            self.failed = Some(Reason::Damaged);
            return going;
        }
        let padding = block.padding();
        self.await_field(Expect::BlockEnd, padding + Kind(self.flags[1]).length());
        going
    }

    fn block_end(&mut self) -> Result<(), Reason> {
        let (Some(block), Some(check)) = (self.block.take(), self.check.take()) else { return Ok(()) };
        let (padding, sum) = self.field.bytes().split_at(block.padding());
        if padding.iter().any(|b| *b != 0) || !check.is(sum) {
            return Err(Reason::Damaged);
        }
        self.records.add(Record { unpadded: block.unpadded() + sum.len() as u64, made: block.made() });
        self.await_field(Expect::HeadLength, 1);
        Ok(())
    }

    fn index(&mut self, input: &[u8]) -> Result<usize, Reason> {
        let Some(index) = &mut self.index else { return Ok(0) };
        let (used, is_whole) = index.push(input)?;
        if is_whole {
            if !index.tells(&self.records) {
                return Err(Reason::Damaged);
            }
            self.await_field(Expect::Footer, FOOTER_BYTES);
        }
        Ok(used)
    }

    fn footer(&mut self) -> Result<(), Reason> {
        let bytes = self.field.bytes();
        let index_bytes = self.index.take().map_or(0, |index| index.length());
        let is_right = crc32fast::hash(&bytes[4..10]) == u32_le(bytes, 0)
            && (u64::from(u32_le(bytes, 4)) + 1) * 4 == index_bytes
            && bytes[8..10] == self.flags
            && bytes[10..] == FOOTER_MAGIC;
        self.streams_read = self.streams_read.saturating_add(1);
        self.padding = 0;
        self.await_field(Expect::Behind, HEAD_BYTES);
        if is_right { Ok(()) } else { Err(Reason::Damaged) }
    }

    /// The next byte behind a stream.
    fn behind(&mut self, byte: u8) -> Result<Outcome, Reason> {
        let seen = self.field.bytes().len();
        if seen == 0 && byte == 0 {
            self.padding += 1;
            return Ok(Outcome::Going);
        }
        if MAGIC.get(seen).is_some_and(|magic| *magic != byte) || !self.padding.is_multiple_of(4) {
            self.has_rest = true;
            return Ok(Outcome::Ended);
        }
        self.field.take(&[byte]);
        if self.field.is_whole() {
            self.head()?;
        }
        Ok(Outcome::Going)
    }

    fn is_behind(&self) -> bool {
        self.expect == Expect::Behind
    }

    /// A field that is whole.
    fn fielded(&mut self) -> Result<(), Reason> {
        match self.expect {
            Expect::Head => self.head(),
            Expect::HeadLength => {
                self.head_length();
                Ok(())
            }
            Expect::BlockHead => self.block_head(),
            Expect::BlockEnd => self.block_end(),
            Expect::Footer => self.footer(),
            Expect::Data | Expect::Index | Expect::Behind => Ok(()),
        }
    }

    fn advance(&mut self, input: &[u8], output: &mut [u8]) -> Result<Run, Reason> {
        let run = |used, outcome| Ok(Run { used, made: 0, outcome });
        match (self.expect, input.first()) {
            (Expect::Data, _) => {
                let run = self.data(input, output);
                self.is_full = run.made > 0;
                match run.outcome {
                    Outcome::Failed(reason) => Err(reason),
                    _ => Ok(run),
                }
            }
            (Expect::Behind, _) if self.streams == Streams::One => run(0, Outcome::Ended),
            (Expect::Behind, Some(byte)) => {
                let outcome = self.behind(*byte)?;
                run(1, outcome)
            }
            (Expect::Index, _) => {
                let used = self.index(input)?;
                run(used, Outcome::Going)
            }
            _ => {
                let used = self.field.take(input);
                if self.field.is_whole() {
                    self.fielded()?;
                }
                run(used, Outcome::Going)
            }
        }
    }
}

impl Undo for Xz {
    const BEHIND: &'static str = "bytes behind the end of an xz file";

    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        if let Some(reason) = self.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        if input.is_empty() && more == More::Ended && self.is_behind() {
            self.has_rest = !self.field.bytes().is_empty() || !self.padding.is_multiple_of(4);
            return Run { used: 0, made: 0, outcome: Outcome::Ended };
        }
        self.advance(input, output).unwrap_or_else(|reason| {
            self.failed = Some(reason);
            self.block = None;
            Run { used: 0, made: 0, outcome: Outcome::Failed(reason) }
        })
    }

    fn owes(&self, more: More) -> bool {
        let is_there = match self.expect {
            Expect::Data => self.is_full,
            Expect::Behind => more == More::Ended || self.streams == Streams::One,
            Expect::Index => false,
            // There may be neither padding nor check.
            _ => self.field.is_whole(),
        };
        self.failed.is_some() || is_there
    }

    fn has_rest(&self) -> bool {
        self.has_rest
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }
}

#[cfg(test)]
mod tests;
