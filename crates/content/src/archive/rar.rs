//! RAR, both containers: that of 1.5 to 4 and that of 5 and 7. Rule: blocks are read in order, and none is passed over in silence.
//!
//! The container of 1.5 to 4 is as RAR's `technote.txt` has it, that of 5 as "RAR 5.0 archive format" at rarlab.com. An
//! entry that is split between volumes is read as far as it is here, and said to be partial.

mod new;
mod old;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod writer;

use super::packed::{Content, Form, Sum, Unpack};
use crate::codec::Run;
use crate::codec::rar::{Packed, Start, Unrar};
use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label};
use lockgate_model::{Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// What begins an archive of 1.5 to 4, which is its first block; that of 5 has one byte more and another last one but one.
const MAGIC_BYTES: u64 = 7;
const MAGIC_OLD: &[u8] = b"Rar!\x1a\x07\0";
const MAGIC_NEW: &[u8] = b"Rar!\x1a\x07\x01";
/// What skipping and copying cost, with the check sum.
const NANOS_PER_KIB: u32 = 600;

/// A RAR file on its way.
pub struct RarDecoder {
    expect: Expect,
    field: Field,
    pending: VecDeque<Event>,
    content: Option<Content>,
    /// What unpacks files; and what stands beside them, which is never solid.
    files: Unrar,
    beside: Unrar,
    uses: Uses,
    /// Why what goes on from the last file cannot be read.
    lost: Option<Reason>,
    archive: old::Archive,
    files_seen: u64,
}

/// Which of them unpacks the entry at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uses {
    Files,
    Beside,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Magic,
    /// The last byte of the longer magic.
    MagicEnd,
    OldHead,
    OldHeader,
    /// The check sum of a header, and the length of the rest, so many bytes of it.
    NewHead(usize),
    NewHeader,
    Content,
    /// Behind the end of the archive.
    Behind,
    Nothing,
}

/// What an entry's header says of it, in either container.
#[derive(Debug)]
struct FileHeader {
    name: String,
    packed: u64,
    size: Option<u64>,
    sum: Sum,
    /// `None` where it is stored; an error where it is packed as nobody knows.
    packing: Result<Option<Packed>, Reason>,
    /// Why it is not whole here.
    cut: Option<Reason>,
    uses: Uses,
}

impl RarDecoder {
    /// Awaits the magic; windows are drawn from the pool.
    pub fn new(pool: &Arc<Pool>) -> Self {
        let mut field = Field::default();
        field.begin(MAGIC_BYTES, MAGIC_BYTES as usize);
        Self {
            expect: Expect::Magic,
            field,
            pending: VecDeque::new(),
            content: None,
            files: Unrar::new(pool),
            beside: Unrar::new(pool),
            uses: Uses::Files,
            lost: None,
            archive: old::Archive::default(),
            files_seen: 0,
        }
    }

    fn await_field(&mut self, expect: Expect, bytes: usize) {
        self.expect = expect;
        self.field.begin(bytes as u64, bytes);
    }

    fn magic(&mut self) {
        match self.field.bytes() {
            MAGIC_OLD => self.await_old_head(),
            MAGIC_NEW => self.await_field(Expect::MagicEnd, 1),
            // The container before 1.5 is met in museums.
            _ => self.stop(Reason::Unsupported),
        }
    }

    /// What follows cannot be read.
    fn stop(&mut self, reason: Reason) {
        self.expect = Expect::Nothing;
        self.pending.push_back(Event::Incomplete(reason));
        self.end_of_archive();
    }

    /// Nothing is unpacked any more.
    fn end_of_archive(&mut self) {
        self.files.clear();
        self.beside.clear();
        self.content = None;
    }

    /// An entry begins.
    fn begin_file(&mut self, file: FileHeader) {
        let entry = Entry { label: label(&file.name), name: Some(file.name), declared: None };
        self.pending.push_back(Event::Open(Box::new(entry)));
        self.uses = file.uses;
        let begun = file.packing.and_then(|packing| match packing {
            None => Ok(Form::Stored),
            Some(packing) => self.begin_packed(packing).map(|()| Form::Packed),
        });
        let form = begun.unwrap_or_else(|reason| {
            self.pending.push_back(Event::Broken(reason));
            if file.uses == Uses::Files {
                self.lost = Some(reason);
            }
            Form::Skipped
        });
        self.expect = Expect::Content;
        self.content = Some(Content::new(form, file.packed, file.size, file.sum, file.cut));
    }

    fn begin_packed(&mut self, packing: Packed) -> Result<(), Reason> {
        if self.uses == Uses::Beside {
            return self.beside.begin(packing);
        }
        match (packing.start, self.lost) {
            (Start::Solid, Some(reason)) => return Err(reason),
            _ => self.lost = None,
        }
        self.files_seen += 1;
        self.files.begin(packing)
    }

    fn content(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        let unrar = match self.uses {
            Uses::Files => &mut self.files,
            Uses::Beside => &mut self.beside,
        };
        let Some(content) = &mut self.content else { return Step::new(0, Event::Working) };
        if !content.is_over() {
            return content.step(unrar, input, more, scratch);
        }
        if content.has_failed() && self.uses == Uses::Files {
            self.lost = Some(Reason::Damaged);
        }
        self.content = None;
        self.beside.clear();
        match self.archive.is_new {
            true => self.await_new_head(),
            false => self.await_old_head(),
        }
        Step::new(0, Event::Working)
    }

    fn field(&mut self, input: &[u8]) -> Step {
        let used = self.field.take(input);
        if self.field.is_whole() {
            match self.expect {
                Expect::Magic => self.magic(),
                Expect::MagicEnd if self.field.bytes() == b"\0" => {
                    self.archive.is_new = true;
                    self.await_new_head();
                }
                Expect::OldHead => self.old_head(),
                Expect::OldHeader => self.old_header(),
                Expect::NewHead(length_bytes) => self.new_head(length_bytes),
                Expect::NewHeader => self.new_header(),
                _ => self.stop(Reason::Unsupported),
            }
        }
        Step::new(used, Event::Working)
    }

    /// The file ends here.
    fn end(&mut self) -> Step {
        let is_between = self.field.bytes().is_empty() && self.expect == Expect::OldHead;
        let has_ended = self.expect == Expect::Behind || is_between;
        self.expect = Expect::Nothing;
        self.end_of_archive();
        Step::new(0, if has_ended { Event::End } else { Event::Incomplete(Reason::Truncated) })
    }
}

impl Unpack for Unrar {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        Unrar::run(self, input, more, output)
    }
}

impl Decoder for RarDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        match self.expect {
            Expect::Nothing => Step::new(0, Event::End),
            Expect::Content => self.content(input, more, scratch),
            _ if input.is_empty() && more == More::Follows => Step::new(0, Event::NeedInput),
            _ if input.is_empty() => self.end(),
            // Volumes are padded.
            Expect::Behind if input.iter().all(|b| *b == 0) => Step::new(input.len(), Event::Working),
            Expect::Behind => {
                self.expect = Expect::Nothing;
                Step::new(input.len(), Event::Anomaly("bytes behind the end of a rar file"))
            }
            _ => self.field(input),
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        match (&self.content, self.uses) {
            (None, _) => 0,
            (Some(_), Uses::Files) => self.files.worked_nanos(),
            (Some(_), Uses::Beside) => self.beside.worked_nanos(),
        }
    }
}
