//! ARJ (its `technote.txt`). Rule: every header's sum is right, or nothing behind it is believed.
//!
//! A file that is split between volumes is packed in each of them by itself: each part is read, and said to be partial.

#[cfg(test)]
mod tests;

use super::packed::{Content, Form, Sum};
use crate::codec::lzh::{Before, Method, Unlzh};
use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label, u16_le, u32_le};
use lockgate_model::{Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// What begins each header, with its length behind it.
const MAGIC: [u8; 2] = [0x60, 0xea];
const HEAD_BYTES: usize = 4;
/// The longest header, and the sum behind it.
const HEADER_BYTES_MAX: usize = 2600;
const SUM_BYTES: usize = 4;
/// Fields up to the name.
const FIXED_BYTES_MIN: usize = 30;
/// What skipping and copying cost, with the check sum.
const NANOS_PER_KIB: u32 = 1_000;

/// Flags.
const GARBLED: u8 = 1;
const GOES_ON: u8 = 4;
const GOES_ON_FROM: u8 = 8;
/// Types.
const MAIN: u8 = 2;
const FOLDER: u8 = 3;
const LABEL: u8 = 4;
const CHAPTER: u8 = 5;

/// An ARJ file on its way.
pub struct ArjDecoder {
    pool: Arc<Pool>,
    expect: Expect,
    field: Field,
    pending: VecDeque<Event>,
    /// The entry at hand, until its extended headers are passed.
    entry: Option<Header>,
    content: Option<Content>,
    unlzh: Option<Unlzh>,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Head,
    Header,
    /// The length of an extended header.
    Extended,
    ExtendedBody,
    Content,
    Behind,
    Nothing,
}

/// What a header says.
#[derive(Debug)]
struct Header {
    flags: u8,
    method: u8,
    kind: u8,
    packed: u32,
    size: u32,
    crc: u32,
    name: String,
    extension: Option<u32>,
}

impl Header {
    /// `None` where it is too short.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let fixed = usize::from(*bytes.first()?);
        if fixed < FIXED_BYTES_MIN {
            return None;
        }
        let raw = bytes.get(fixed..)?.split(|byte| *byte == 0).next()?;
        let name = match std::str::from_utf8(raw) {
            Ok(name) => name.to_owned(),
            Err(_) => raw.iter().copied().map(super::zip::code_page_437).collect(),
        };
        Some(Self {
            flags: bytes[4],
            method: bytes[5],
            kind: bytes[6],
            packed: u32_le(bytes, 12),
            size: u32_le(bytes, 16),
            crc: u32_le(bytes, 20),
            name: name.replace('\\', "/"),
            extension: (fixed >= FIXED_BYTES_MIN + 4).then(|| u32_le(bytes, FIXED_BYTES_MIN)),
        })
    }

    /// Whether the file is not whole here.
    fn is_split(&self) -> bool {
        let begins_before = self.flags & GOES_ON_FROM != 0 && self.extension.is_some_and(|at| at > 0);
        self.flags & GOES_ON != 0 || begins_before
    }

    fn reading(&self) -> Result<Option<Method>, Reason> {
        match self.method {
            _ if self.flags & GARBLED != 0 => Err(Reason::Encrypted),
            0 => Ok(None),
            1..=3 => Ok(Some(Method::Blocks { window_bits: 16, distance_bits: 5, before: Before::Nothing })),
            4 => Ok(Some(Method::Fastest)),
            _ => Err(Reason::Unsupported),
        }
    }
}

impl ArjDecoder {
    /// Awaits the first header; windows are drawn from the pool.
    pub fn new(pool: &Arc<Pool>) -> Self {
        let mut decoder = Self {
            pool: Arc::clone(pool),
            expect: Expect::Head,
            field: Field::default(),
            pending: VecDeque::new(),
            entry: None,
            content: None,
            unlzh: None,
        };
        decoder.await_field(Expect::Head, HEAD_BYTES);
        decoder
    }

    fn await_field(&mut self, expect: Expect, bytes: usize) {
        self.expect = expect;
        self.field.begin(bytes as u64, bytes);
    }

    /// What follows cannot be read.
    fn stop(&mut self, reason: Reason) {
        self.expect = Expect::Nothing;
        self.pending.push_back(Event::Incomplete(reason));
    }

    /// A field that was awaited is there.
    fn advance(&mut self) {
        let bytes = self.field.bytes();
        match self.expect {
            Expect::Head if !bytes.starts_with(&MAGIC) => self.stop(Reason::Damaged),
            Expect::Head => match usize::from(u16_le(bytes, 2)) {
                0 => self.expect = Expect::Behind,
                length if length > HEADER_BYTES_MAX => self.stop(Reason::Damaged),
                length => self.await_field(Expect::Header, length + SUM_BYTES),
            },
            Expect::Header => {
                let (header, sum) = bytes.split_at(bytes.len().saturating_sub(SUM_BYTES));
                let is_right = crc32fast::hash(header) == u32_le(sum, 0);
                match Header::parse(header).filter(|_| is_right) {
                    Some(header) => {
                        self.entry = Some(header);
                        self.await_field(Expect::Extended, 2);
                    }
                    None => self.stop(Reason::Damaged),
                }
            }
            Expect::Extended => match u16_le(bytes, 0) {
                0 => self.begin_entry(),
                length => {
                    self.expect = Expect::ExtendedBody;
                    self.field.begin(u64::from(length) + SUM_BYTES as u64, 0);
                }
            },
            Expect::ExtendedBody => self.await_field(Expect::Extended, 2),
            _ => {}
        }
    }

    fn begin_entry(&mut self) {
        let Some(header) = self.entry.take() else { return self.stop(Reason::Damaged) };
        match header.kind {
            // The archive's own header says nothing of files.
            MAIN => return self.await_field(Expect::Head, HEAD_BYTES),
            FOLDER | LABEL | CHAPTER if header.packed == 0 => {
                return self.await_field(Expect::Head, HEAD_BYTES);
            }
            FOLDER | LABEL | CHAPTER => {
                self.pending.push_back(Event::Anomaly("a folder with content of its own in an arj file"));
            }
            _ => {}
        }
        let begun = header.reading().and_then(|method| match method {
            None => Ok(Form::Stored),
            Some(method) => {
                self.unlzh = Some(Unlzh::new(&self.pool, method, header.size.into())?);
                Ok(Form::Packed)
            }
        });
        let cut = header.is_split().then_some(Reason::Partial);
        let entry = Entry { label: label(&header.name), name: Some(header.name), declared: None };
        self.pending.push_back(Event::Open(Box::new(entry)));
        let form = begun.unwrap_or_else(|reason| {
            self.pending.push_back(Event::Broken(reason));
            Form::Skipped
        });
        let (packed, size) = (header.packed.into(), Some(header.size.into()));
        self.content = Some(Content::new(form, packed, size, Sum::crc32(header.crc), cut));
        self.expect = Expect::Content;
    }

    fn content(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match &mut self.content {
            Some(content) if !content.is_over() => content.step(&mut self.unlzh, input, more, scratch),
            _ => {
                (self.content, self.unlzh) = (None, None);
                self.await_field(Expect::Head, HEAD_BYTES);
                Step::new(0, Event::Working)
            }
        }
    }

    /// The file ends here.
    fn end(&mut self) -> Step {
        let has_ended = self.expect == Expect::Behind;
        self.expect = Expect::Nothing;
        Step::new(0, if has_ended { Event::End } else { Event::Incomplete(Reason::Truncated) })
    }
}

impl Decoder for ArjDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        match self.expect {
            Expect::Nothing => Step::new(0, Event::End),
            Expect::Content => self.content(input, more, scratch),
            _ if input.is_empty() && more == More::Follows => Step::new(0, Event::NeedInput),
            _ if input.is_empty() => self.end(),
            Expect::Behind if input.iter().all(|b| matches!(b, 0 | 0x1a)) => {
                Step::new(input.len(), Event::Working)
            }
            Expect::Behind => {
                self.expect = Expect::Nothing;
                Step::new(input.len(), Event::Anomaly("bytes behind the end of an arj file"))
            }
            _ => {
                let used = self.field.take(input);
                if self.field.is_whole() {
                    self.advance();
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
