//! tar: ustar, GNU and pax. Rule: each block is a header that sums up, content of a file, or said to be neither.

mod header;
mod pax;
mod sparse;

use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label};
use header::{BLOCK_BYTES, Header, Kind};
use lockgate_model::Reason;
use pax::{Form, Pax};
use sparse::{Lines, Map, Piece, Sparse};
use std::collections::VecDeque;

pub(crate) use header::is_sum_right;

/// Bytes of a long name that are kept.
const NAME_BYTES_MAX: usize = 1024;
/// A largest file that a header can tell without an extension.
const OCTAL_SIZE_MAX: u64 = 1 << 33;

/// A tar file on its way.
pub struct TarDecoder {
    expect: Expect,
    field: Field,
    pending: VecDeque<Event>,
    /// Bytes of the entry that are still to come, and of the padding behind it.
    left: u64,
    padding: u64,
    long_name: Option<Vec<u8>>,
    pax: Pax,
    pax_global: Pax,
    is_open: bool,
    /// Of a file with holes: its map as far as it has come, and then the file.
    map: Map,
    lines: Lines,
    line_bytes: u64,
    sparse: Option<Sparse>,
    blocks: Blocks,
    /// Blocks that are content to some readers and headers to others.
    doubtful_blocks: u64,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Header,
    SparseMap,
    SparseLines,
    /// The rest of the block that the lines end in.
    SparseRest(u64),
    Content,
    Skip,
    LongName,
    Pax,
    PaxGlobal,
    Nothing,
}

/// Where in the file the headers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocks {
    Entries,
    /// A header did not sum up; the next one that does is looked for.
    Lost,
    /// Blocks of zeros end a tar.
    Ended,
    /// Other bytes behind them, which has been said.
    BehindEnd,
}

impl Default for TarDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl TarDecoder {
    /// Awaits the first header.
    pub fn new() -> Self {
        let mut decoder = Self {
            expect: Expect::Header,
            field: Field::default(),
            pending: VecDeque::new(),
            left: 0,
            padding: 0,
            long_name: None,
            pax: Pax::default(),
            pax_global: Pax::default(),
            is_open: false,
            map: Map::default(),
            lines: Lines::default(),
            line_bytes: 0,
            sparse: None,
            blocks: Blocks::Entries,
            doubtful_blocks: 0,
        };
        decoder.await_block(Expect::Header);
        decoder
    }

    fn await_block(&mut self, expect: Expect) {
        self.expect = expect;
        self.field.begin(BLOCK_BYTES, BLOCK_BYTES as usize);
    }

    fn await_body(&mut self, expect: Expect, size: u64) {
        self.expect = expect;
        self.left = size;
        self.padding = size.next_multiple_of(BLOCK_BYTES) - size;
    }

    /// A block that should be a header.
    fn header(&mut self) -> Option<Event> {
        let block = self.field.bytes();
        let is_zero = block.iter().all(|b| *b == 0);
        let is_header = !is_zero && is_sum_right(block);
        let header = is_header.then(|| Header::parse(block));
        self.field.begin(BLOCK_BYTES, BLOCK_BYTES as usize);
        let is_doubtful = self.doubtful_blocks > 0;
        self.doubtful_blocks = self.doubtful_blocks.saturating_sub(1);
        if is_doubtful && !is_header {
            return None;
        }
        if is_zero {
            if self.blocks != Blocks::BehindEnd {
                self.blocks = Blocks::Ended;
            }
            return None;
        }
        let was = self.blocks;
        if was == Blocks::Ended {
            self.blocks = Blocks::BehindEnd;
            self.pending.push_back(Event::Anomaly("bytes behind the end of a tar file"));
        }
        match header {
            Some(header) => {
                if was == Blocks::Lost {
                    self.blocks = Blocks::Entries;
                }
                self.entry(header);
            }
            None if was == Blocks::Entries => {
                self.blocks = Blocks::Lost;
                self.pending.push_back(Event::Incomplete(Reason::Damaged));
            }
            None => {}
        }
        self.pending.pop_front()
    }

    fn entry(&mut self, header: Header) {
        let Some(size) = header.size.or(self.pax.size) else {
            self.forget();
            self.blocks = Blocks::Lost;
            self.pending.push_back(Event::Incomplete(Reason::Damaged));
            return;
        };
        match header.kind {
            Kind::LongName => {
                self.await_body(Expect::LongName, size);
                self.field.begin(size, NAME_BYTES_MAX);
            }
            Kind::Pax => {
                self.pax = Pax::default();
                self.await_body(Expect::Pax, size);
            }
            Kind::PaxGlobal => {
                self.pax_global = Pax::default();
                self.await_body(Expect::PaxGlobal, size);
            }
            Kind::LongLink | Kind::Aside => self.await_body(Expect::Skip, size),
            Kind::Name | Kind::Link => {
                if header.kind == Kind::Link {
                    self.open(header.name);
                    self.pending.push_back(Event::Close);
                }
                if size > 0 {
                    // Some readers skip so many bytes, others read headers there. What sums up is read as a header here.
                    self.doubtful_blocks = size.div_ceil(BLOCK_BYTES);
                    self.pending.push_back(Event::Anomaly("a tar entry with a size that has no content"));
                }
                self.forget();
            }
            Kind::File | Kind::Sparse => self.file(header, size),
        }
    }

    fn file(&mut self, header: Header, size: u64) {
        let form = match (header.kind, self.pax.sparse) {
            (Kind::Sparse, _) => Some(Form::Records),
            (_, form) => form,
        };
        self.map = if header.kind == Kind::Sparse { header.map } else { std::mem::take(&mut self.pax.map) };
        let real = self.pax.size.unwrap_or(size);
        if real != size && real < OCTAL_SIZE_MAX {
            self.pending.push_back(Event::Anomaly("a tar entry with two sizes"));
        }
        self.open(header.name);
        self.forget();
        (self.is_open, self.sparse) = (true, None);
        self.await_body(Expect::Content, real);
        match form {
            None => {}
            Some(Form::Other) => self.give_up(Reason::Unsupported),
            Some(Form::Lines) => {
                (self.lines, self.line_bytes) = (Lines::new(std::mem::take(&mut self.map)), 0);
                self.expect = Expect::SparseLines;
            }
            Some(Form::Records) if header.has_more_map => self.await_block(Expect::SparseMap),
            Some(Form::Records) => self.begin_sparse(),
        }
    }

    /// The map of a file with holes is known.
    fn begin_sparse(&mut self) {
        match std::mem::take(&mut self.map).begin(self.left) {
            Some(sparse) => {
                self.sparse = Some(sparse);
                self.expect = Expect::Content;
            }
            None => self.give_up(Reason::Damaged),
        }
    }

    /// The open file cannot be read: its bytes are passed over.
    fn give_up(&mut self, reason: Reason) {
        (self.is_open, self.sparse) = (false, None);
        self.expect = Expect::Skip;
        self.pending.push_back(Event::Broken(reason));
    }

    /// A child begins, by the last name that was said of it.
    fn open(&mut self, name: Vec<u8>) {
        let name = self.pax.path.take().or(self.long_name.take()).unwrap_or(name);
        let name = String::from_utf8_lossy(&name).into_owned();
        let entry = Entry { label: label(&name), name: Some(name), declared: None };
        self.pending.push_back(Event::Open(Box::new(entry)));
    }

    /// What was said of the next entry has been used.
    fn forget(&mut self) {
        self.long_name = None;
        self.pax = Pax::default();
    }

    fn sparse_map(&mut self) {
        let block = self.field.bytes();
        self.map.go_on(block);
        let has_more = block.get(504).is_some_and(|more| *more != 0);
        if has_more { self.await_block(Expect::SparseMap) } else { self.begin_sparse() }
    }

    /// Lines before the content: they end with a block, and what follows is stored.
    fn sparse_lines(&mut self, input: &[u8]) -> Step {
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
        for (at, byte) in input[..length].iter().enumerate() {
            self.left -= 1;
            self.line_bytes += 1;
            if !self.lines.push(*byte) {
                continue;
            }
            let rest = self.line_bytes.next_multiple_of(BLOCK_BYTES) - self.line_bytes;
            self.map = std::mem::take(&mut self.lines).end();
            self.expect = Expect::SparseRest(rest);
            return Step::new(at + 1, Event::Working);
        }
        if self.left == 0 {
            self.give_up(Reason::Damaged);
        }
        Step::new(length, Event::Working)
    }

    fn sparse_rest(&mut self, rest: u64, input: &[u8]) -> Step {
        let rest = rest.min(self.left);
        let length = usize::try_from(rest).unwrap_or(usize::MAX).min(input.len());
        self.left -= length as u64;
        self.expect = Expect::SparseRest(rest - length as u64);
        if rest == length as u64 {
            self.begin_sparse();
        }
        Step::new(length, Event::Working)
    }

    /// Zeros that are not stored.
    fn hole(&mut self, length: u64, scratch: &mut [u8]) -> Step {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(scratch.len());
        scratch[..length].fill(0);
        self.pass(length);
        Step::new(0, Event::Output(length))
    }

    /// A range of a file with holes.
    fn stored(&mut self, length: u64, input: &[u8]) -> Step {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(input.len());
        self.left = self.left.saturating_sub(length as u64);
        self.pass(length);
        Step::new(length, Event::Input(0..length))
    }

    fn pass(&mut self, length: usize) {
        if let Some(sparse) = &mut self.sparse {
            sparse.pass(length as u64);
        }
    }

    fn needs_no_input(&self) -> bool {
        match self.expect {
            Expect::Header | Expect::SparseMap => false,
            Expect::Nothing => true,
            Expect::SparseLines => self.left == 0,
            Expect::SparseRest(rest) => rest.min(self.left) == 0,
            _ => self.left == 0 && (self.padding == 0 || self.is_open),
        }
    }

    fn body(&mut self, input: &[u8]) -> Step {
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
        if length > 0 {
            let part = &input[..length];
            self.left -= length as u64;
            match self.expect {
                Expect::Content => return Step::new(length, Event::Input(0..length)),
                Expect::Pax => self.pax.push(part),
                Expect::PaxGlobal => self.pax_global.push(part),
                Expect::LongName => drop(self.field.take(part)),
                _ => {}
            }
            return Step::new(length, Event::Working);
        }
        if self.left == 0 && self.is_open {
            self.is_open = false;
            self.expect = Expect::Skip;
            return Step::new(0, Event::Close);
        }
        let length = usize::try_from(self.padding).unwrap_or(usize::MAX).min(input.len());
        self.padding -= length as u64;
        if self.padding > 0 {
            return Step::new(length, Event::Working);
        }
        let event = self.body_ended();
        self.await_block(Expect::Header);
        Step::new(length, event.unwrap_or(Event::Working))
    }

    fn body_ended(&mut self) -> Option<Event> {
        let damaged = Event::Incomplete(Reason::Damaged);
        match self.expect {
            Expect::LongName => self.long_name = Some(header::text(self.field.bytes()).to_vec()),
            Expect::Pax => {
                self.pax.end();
                return self.pax.is_damaged.then_some(damaged);
            }
            Expect::PaxGlobal => {
                let mut global = std::mem::take(&mut self.pax_global);
                global.end();
                if global.is_damaged {
                    return Some(damaged);
                }
                // No writer does so, and readers disagree on what it means.
                let names_all = global.path.is_some() || global.size.is_some();
                return names_all
                    .then_some(Event::Anomaly("a tar file that gives all entries one name or size"));
            }
            _ => {}
        }
        None
    }

    fn end(&mut self) -> Step {
        let is_whole =
            matches!(self.blocks, Blocks::Ended | Blocks::BehindEnd) && self.expect == Expect::Header;
        let is_partial = !self.field.is_whole() && !self.field.bytes().is_empty();
        self.expect = Expect::Nothing;
        if std::mem::take(&mut self.is_open) {
            return Step::new(0, Event::Broken(Reason::Truncated));
        }
        let has_garbage =
            self.blocks == Blocks::Ended && is_partial && self.field.bytes().iter().any(|b| *b != 0);
        Step::new(
            0,
            match (is_whole, has_garbage) {
                (true, true) => Event::Anomaly("bytes behind the end of a tar file"),
                (true, false) => Event::Working,
                (false, _) => Event::Incomplete(Reason::Truncated),
            },
        )
    }
}

impl Decoder for TarDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        let piece = match (self.expect, &mut self.sparse) {
            (Expect::Content, Some(sparse)) => Some(sparse.piece()),
            _ => None,
        };
        match piece {
            Some(Piece::Hole(length)) => return self.hole(length, scratch),
            Some(Piece::End) => self.sparse = None,
            _ => {}
        }
        if input.is_empty() && !self.needs_no_input() {
            return more.or(|| self.end());
        }
        match self.expect {
            Expect::Nothing => Step::new(0, Event::End),
            Expect::Header | Expect::SparseMap => {
                let used = self.field.take(input);
                let mut event = None;
                if self.field.is_whole() {
                    match self.expect {
                        Expect::Header => event = self.header(),
                        _ => self.sparse_map(),
                    }
                }
                Step::new(used, event.unwrap_or(Event::Working))
            }
            Expect::SparseLines => self.sparse_lines(input),
            Expect::SparseRest(rest) => self.sparse_rest(rest, input),
            _ => match piece {
                Some(Piece::Stored(length)) => self.stored(length, input),
                _ => self.body(input),
            },
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        60
    }
}

#[cfg(test)]
mod tests;
