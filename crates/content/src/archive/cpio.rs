//! cpio: newc, with and without sums, odc, and the old binary form in both byte orders. Rule: what does not begin as an entry
//! is said, and the next one is looked for, as GNU cpio does.
//!
//! The forms are those of cpio(5) of FreeBSD.

mod header;
#[cfg(test)]
mod tests;

use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label};
use header::{Form, Header, MAGIC_BYTES};
use lockgate_model::Reason;
use std::collections::VecDeque;

/// Bytes of a name that are kept.
const NAME_BYTES_MAX: usize = 4096;
/// Nothing follows this entry.
const TRAILER: &[u8] = b"TRAILER!!!";

/// A cpio file on its way.
pub struct CpioDecoder {
    expect: Expect,
    field: Field,
    pending: VecDeque<Event>,
    header: Header,
    /// Bytes of the content, or of what is skipped, that are still to come.
    left: u64,
    sum: u32,
    is_open: bool,
    place: Place,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Magic,
    Header(Form),
    Name,
    Content,
    Padding,
    Nothing,
}

/// Where in the file the headers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Entries,
    /// Something else stood where an entry should begin.
    Lost,
    /// Behind the entry that ends it all: zeros, or another one.
    BehindEnd,
    /// Something else stood there, which has been said.
    BehindGarbage,
}

impl Default for CpioDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl CpioDecoder {
    /// Awaits the first entry.
    pub fn new() -> Self {
        let mut decoder = Self {
            expect: Expect::Magic,
            field: Field::default(),
            pending: VecDeque::new(),
            header: Header::default(),
            left: 0,
            sum: 0,
            is_open: false,
            place: Place::Entries,
        };
        decoder.await_magic();
        decoder
    }

    fn await_magic(&mut self) {
        self.expect = Expect::Magic;
        self.field.begin(MAGIC_BYTES as u64, MAGIC_BYTES);
    }

    /// Six bytes with which an entry should begin. Where none does, one byte is let go, and one more looked at.
    fn magic(&mut self) -> Event {
        let bytes = self.field.bytes();
        let is_zero = bytes[0] == 0;
        if let Some(form) = Form::of(bytes) {
            self.field.extend(form.header_bytes() - MAGIC_BYTES);
            self.expect = Expect::Header(form);
            return Event::Working;
        }
        let rest = bytes[1..].to_vec();
        self.field.begin(MAGIC_BYTES as u64, MAGIC_BYTES);
        self.field.take(&rest);
        match self.place {
            Place::Entries => {
                self.place = Place::Lost;
                Event::Incomplete(Reason::Damaged)
            }
            Place::BehindEnd if !is_zero => {
                self.place = Place::BehindGarbage;
                Event::Anomaly("bytes behind the end of a cpio file")
            }
            _ => Event::Working,
        }
    }

    fn header(&mut self, form: Form) -> Event {
        let Some(header) = Header::parse(form, self.field.bytes()) else {
            let was = std::mem::replace(&mut self.place, Place::Lost);
            self.await_magic();
            return if was == Place::Lost { Event::Working } else { Event::Incomplete(Reason::Damaged) };
        };
        self.place = Place::Entries;
        self.header = header;
        self.expect = Expect::Name;
        self.field.begin(self.header.name_bytes_padded(), NAME_BYTES_MAX);
        Event::Working
    }

    fn name(&mut self) -> Event {
        let name_bytes = usize::try_from(self.header.name_bytes).unwrap_or(usize::MAX);
        let bytes = self.field.bytes();
        let name = bytes.get(..name_bytes).unwrap_or(bytes);
        let name = name.split(|b| *b == 0).next().unwrap_or_default();
        let is_trailer = name == TRAILER && self.header.size == 0;
        let name = String::from_utf8_lossy(name).into_owned();
        self.left = self.header.size;
        self.sum = 0;
        self.expect = Expect::Content;
        if is_trailer {
            self.place = Place::BehindEnd;
        } else if self.header.is_file || self.left > 0 {
            self.is_open = true;
            return Event::Open(Box::new(Entry { label: label(&name), name: Some(name), declared: None }));
        }
        Event::Working
    }

    fn content(&mut self, input: &[u8]) -> Step {
        if self.left > 0 {
            let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
            self.left -= length as u64;
            if self.header.sum.is_some() {
                self.sum = input[..length].iter().fold(self.sum, |sum, b| sum.wrapping_add(u32::from(*b)));
            }
            return Step::new(length, Event::Input(0..length));
        }
        self.expect = Expect::Padding;
        self.left = self.header.padding();
        let is_right = self.header.sum.is_none_or(|sum| sum == self.sum);
        let event = match (std::mem::take(&mut self.is_open), is_right) {
            (false, _) => Event::Working,
            (true, true) => Event::Close,
            (true, false) => Event::Broken(Reason::Damaged),
        };
        Step::new(0, event)
    }

    fn padding(&mut self, input: &[u8]) -> Step {
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
        self.left -= length as u64;
        if self.left == 0 {
            self.await_magic();
        }
        Step::new(length, Event::Working)
    }

    /// The part has ended here.
    fn end(&mut self) -> Event {
        let expect = std::mem::replace(&mut self.expect, Expect::Nothing);
        if std::mem::take(&mut self.is_open) {
            return Event::Broken(Reason::Truncated);
        }
        let rest = self.field.bytes();
        match (expect, self.place) {
            (Expect::Magic, Place::Lost | Place::BehindGarbage) => Event::End,
            (Expect::Magic, Place::BehindEnd) if rest.iter().all(|b| *b == 0) => Event::End,
            (Expect::Magic, Place::BehindEnd) => Event::Anomaly("bytes behind the end of a cpio file"),
            (Expect::Padding, Place::BehindEnd) => Event::End,
            _ => Event::Incomplete(Reason::Truncated),
        }
    }

    fn needs_no_input(&self) -> bool {
        match self.expect {
            Expect::Content | Expect::Padding => self.left == 0,
            Expect::Nothing => true,
            _ => self.field.is_whole(),
        }
    }
}

impl Decoder for CpioDecoder {
    fn step(&mut self, input: &[u8], more: More, _scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        if self.expect == Expect::Nothing {
            return Step::new(0, Event::End);
        }
        if input.is_empty() && !self.needs_no_input() {
            return more.or(|| Step::new(0, self.end()));
        }
        match self.expect {
            Expect::Content => return self.content(input),
            Expect::Padding => return self.padding(input),
            _ => {}
        }
        let mut used = self.field.take(input);
        if !self.field.is_whole() {
            return Step::new(used, Event::Working);
        }
        let event = match self.expect {
            Expect::Header(form) => self.header(form),
            Expect::Name => self.name(),
            _ => loop {
                // Where no entry begins, the next byte may begin one.
                let event = self.magic();
                used += self.field.take(&input[used..]);
                if event != Event::Working || self.expect != Expect::Magic || !self.field.is_whole() {
                    break event;
                }
            },
        };
        Step::new(used, event)
    }

    fn nanos_per_kib(&self) -> u32 {
        if self.place == Place::Lost || self.place == Place::BehindEnd { 20_000 } else { 300 }
    }
}
