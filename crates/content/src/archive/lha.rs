//! LHA (`lzh`), headers of levels 0 to 3. Rule: what a header says in two places and in two ways is told.
//!
//! The headers are as "LHA header" by K. Watazaki and the sources of LHa for UNIX have them.

mod header;
#[cfg(test)]
mod tests;

use super::packed::{Content, Form, Sum};
use crate::codec::lzh::{Before, Method, Unlzh};
use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label};
use header::{Header, Need};
use lockgate_model::{Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// What skipping and copying cost, with the check sum.
const NANOS_PER_KIB: u32 = 2_000;
/// The first byte, which says that there is a header or that the archive ends.
const FIRST_BYTES: usize = 1;

/// An LHA file on its way.
pub struct LhaDecoder {
    pool: Arc<Pool>,
    expect: Expect,
    field: Field,
    pending: VecDeque<Event>,
    content: Option<Content>,
    unlzh: Option<Unlzh>,
    entries: u64,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Header,
    Content,
    /// Behind the byte that ends the archive.
    Behind,
    Nothing,
}

/// How an entry's content is to be read.
fn reading(header: &Header) -> Result<Option<Method>, Reason> {
    let blocks = |window_bits, distance_bits| {
        Ok(Some(Method::Blocks { window_bits, distance_bits, before: Before::Spaces }))
    };
    match &header.method {
        b"-lh0-" | b"-lz4-" | b"-pm0-" => Ok(None),
        b"-lh1-" => Ok(Some(Method::Adaptive)),
        b"-lh4-" => blocks(12, 4),
        b"-lh5-" => blocks(13, 4),
        b"-lh6-" => blocks(15, 5),
        b"-lh7-" => blocks(16, 5),
        b"-lhx-" => blocks(20, 5),
        b"-lzs-" => Ok(Some(Method::Lzs)),
        b"-lz5-" => Ok(Some(Method::Lz5)),
        _ => Err(Reason::Unsupported),
    }
}

impl LhaDecoder {
    /// Awaits the first header; windows are drawn from the pool.
    pub fn new(pool: &Arc<Pool>) -> Self {
        let mut decoder = Self {
            pool: Arc::clone(pool),
            expect: Expect::Header,
            field: Field::default(),
            pending: VecDeque::new(),
            content: None,
            unlzh: None,
            entries: 0,
        };
        decoder.await_header();
        decoder
    }

    fn await_header(&mut self) {
        self.expect = Expect::Header;
        self.field.begin(FIRST_BYTES as u64, FIRST_BYTES);
    }

    /// What there is of the header.
    fn header(&mut self) {
        let bytes = self.field.bytes();
        if bytes == [0] {
            self.expect = Expect::Behind;
            return;
        }
        match header::parse(bytes) {
            Ok(Need::More(missing)) => self.field.extend(missing),
            Ok(Need::Nothing(header)) => self.entry(*header),
            Err(reason) => self.stop(reason),
        }
    }

    /// What follows cannot be read.
    fn stop(&mut self, reason: Reason) {
        self.expect = Expect::Nothing;
        self.pending.push_back(Event::Incomplete(reason));
    }

    fn entry(&mut self, header: Header) {
        self.entries += 1;
        self.expect = Expect::Content;
        if header.is_damaged {
            self.pending.push_back(Event::Incomplete(Reason::Damaged));
        }
        if header.has_two_names {
            self.pending.push_back(Event::Anomaly("an lha entry with two names"));
        }
        let sum = header.crc.map_or(Sum::None, Sum::crc16);
        let is_folder = header.method == *b"-lhd-";
        if is_folder && header.packed == 0 {
            self.content = Some(Content::new(Form::Skipped, 0, None, Sum::None, None));
            return;
        }
        if is_folder {
            self.pending.push_back(Event::Anomaly("a folder with content of its own in an lha file"));
        }
        let read = if is_folder { Ok(None) } else { reading(&header) };
        let begun = read.and_then(|method| match method {
            None => Ok(Form::Stored),
            Some(method) => {
                self.unlzh = Some(Unlzh::new(&self.pool, method, header.size)?);
                Ok(Form::Packed)
            }
        });
        let entry = Entry { label: label(&header.name), name: Some(header.name), declared: None };
        self.pending.push_back(Event::Open(Box::new(entry)));
        let form = begun.unwrap_or_else(|reason| {
            self.pending.push_back(Event::Broken(reason));
            Form::Skipped
        });
        self.content = Some(Content::new(form, header.packed, Some(header.size), sum, None));
    }

    fn content(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match &mut self.content {
            Some(content) if !content.is_over() => content.step(&mut self.unlzh, input, more, scratch),
            _ => {
                (self.content, self.unlzh) = (None, None);
                self.await_header();
                Step::new(0, Event::Working)
            }
        }
    }

    /// The file ends here.
    fn end(&mut self) -> Step {
        let is_between = self.expect == Expect::Header && self.field.bytes().is_empty() && self.entries > 0;
        let has_ended = self.expect == Expect::Behind || is_between;
        self.expect = Expect::Nothing;
        Step::new(0, if has_ended { Event::End } else { Event::Incomplete(Reason::Truncated) })
    }
}

impl Decoder for LhaDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        match self.expect {
            Expect::Nothing => Step::new(0, Event::End),
            Expect::Content => self.content(input, more, scratch),
            _ if input.is_empty() && more == More::Follows => Step::new(0, Event::NeedInput),
            _ if input.is_empty() => self.end(),
            // Archives were padded to whole blocks of discs.
            Expect::Behind if input.iter().all(|b| matches!(b, 0 | 0x1a)) => {
                Step::new(input.len(), Event::Working)
            }
            Expect::Behind => {
                self.expect = Expect::Nothing;
                Step::new(input.len(), Event::Anomaly("bytes behind the end of an lha file"))
            }
            Expect::Header => {
                let used = self.field.take(input);
                if self.field.is_whole() {
                    self.header();
                }
                Step::new(used, Event::Working)
            }
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        self.unlzh.as_ref().map_or(0, Unlzh::worked_nanos)
    }
}
