//! zip (APPNOTE.TXT): local headers as they come, the directory as a cross-check. Rule: what cannot be read is said.
//!
//! Readers that seek begin at the directory; this one meets each entry before. It inspects what the local headers
//! show, and where the directory shows anything else, that is an anomaly, and incomplete.

mod data;
mod descriptor;
mod directories;
mod directory;
mod ends;
mod header;
mod search;
mod second;
pub(crate) mod seeker;

use crate::codec::unpacker::Unpacker;
use crate::decoder::{Decoder, Event, More, Step};
use crate::field::{Field, u16_le, u32_le, u64_le};
use directory::{Agreement, Tally};
pub(crate) use header::code_page_437;
use header::{End, Header, Place};
use lockgate_model::{Pool, Reason};
use search::Search;
use second::{OTHER_ENTRIES, Second};
use seeker::Content;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a name that are kept, in its header and in the extra field.
const NAME_BYTES_MAX: usize = 1024;
/// What skipping and copying cost, with the check sum.
const NANOS_PER_KIB_PLAIN: u32 = 200;

/// A zip file on its way.
pub struct ZipDecoder {
    expect: Expect,
    field: Field,
    /// Events that came together with the one that was given.
    pending: VecDeque<Event>,
    /// Bytes used so far.
    position: u64,
    entry: ZipEntry,
    tally: Tally,
    unpacker: Unpacker,
    /// Bytes that may be a data descriptor, or content.
    held: Vec<u8>,
    search: Search,
    search_is_expected: bool,
    /// Whether an end of directory has been read: then what follows is not needed.
    has_ended: bool,
    second: Second,
    /// The last record was stored content whose end a descriptor told.
    is_behind_stored: bool,
}

/// The entry, local or central, that is being read.
#[derive(Default)]
struct ZipEntry {
    header: Header,
    raw_name: Vec<u8>,
    unicode_name: Option<String>,
    extra_left: u64,
    extra_kind: u16,
    child: Child,
    crc: crc32fast::Hasher,
    /// Where the content begins in the file.
    content_at: u64,
    /// Compressed bytes used, and bytes made.
    used: u64,
    made: u64,
    /// The byte that showed that a folder has content, until the child is open.
    first_byte: Option<u8>,
    has_stream_ended: bool,
    content: Content,
}

impl ZipEntry {
    /// Compressed bytes that are still to come, by the header.
    fn left(&self) -> u64 {
        self.header.compressed.saturating_sub(self.used)
    }

    /// Whether packed bytes follow behind so many.
    fn more(&self, length: usize) -> More {
        let is_all = !self.header.has_descriptor() && self.left() <= length as u64;
        if is_all { More::Ended } else { More::Follows }
    }

    /// Content that stands as it is.
    fn take(&mut self, content: &[u8]) {
        self.crc.update(content);
        self.used += content.len() as u64;
        self.made += content.len() as u64;
    }

    /// Whether the content is what the header says.
    fn is_right(&self) -> bool {
        let is_long_enough = self.left() == 0 && self.made == self.header.size;
        is_long_enough && self.crc.clone().finalize() == self.header.crc
    }
}

/// Whether the entry has become a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Child {
    #[default]
    None,
    /// A folder that seems to be empty: it opens if it holds a byte after all.
    Folder,
    Open,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Record,
    Header(Place),
    Name(Place),
    ExtraHead(Place),
    ExtraBody(Place),
    ExtraRest(Place),
    Comment,
    /// Content that stands as it is, of known length.
    Stored,
    /// Content that stands as it is, up to a descriptor that tells the truth about it.
    StoredUntilDescriptor,
    Packed,
    Descriptor,
    /// The descriptor of an entry that was skipped: its form is guessed.
    DescriptorSkipped,
    /// The rest of an entry that is not read.
    Skip,
    /// The length of a record that says nothing of entries.
    OtherLength,
    Other,
    End64,
    Locator64,
    End,
    EndComment,
    Search,
    /// The part has ended: it is read once more, as those do who begin at its end.
    Second,
    Nothing,
}

impl ZipDecoder {
    /// Awaits the first record; large states are drawn from the pool.
    pub fn new(pool: &Arc<Pool>) -> Self {
        let mut decoder = Self {
            expect: Expect::Record,
            field: Field::default(),
            pending: VecDeque::new(),
            position: 0,
            entry: ZipEntry::default(),
            tally: Tally::default(),
            unpacker: Unpacker::new(pool),
            held: Vec::new(),
            search: Search::default(),
            search_is_expected: false,
            has_ended: false,
            second: Second::new(pool),
            is_behind_stored: false,
        };
        decoder.await_record();
        decoder
    }

    fn await_field(&mut self, expect: Expect, length: u64) {
        self.expect = expect;
        self.field.begin(length, NAME_BYTES_MAX);
    }

    fn await_record(&mut self) {
        self.await_field(Expect::Record, 4);
    }

    /// Takes from the input what the field misses; `Err` with the step to return while it is not whole.
    fn take(&mut self, input: &[u8]) -> Result<usize, Step> {
        let used = self.field.take(input);
        if self.field.is_whole() { Ok(used) } else { Err(Step::new(used, Event::Working)) }
    }

    /// Says the first of these now and the others next.
    fn say(&mut self, used: usize, events: impl IntoIterator<Item = Event>) -> Step {
        self.pending.extend(events);
        Step::new(used, self.pending.pop_front().unwrap_or(Event::Working))
    }

    /// Whether there is something to do or to say without input.
    fn needs_no_input(&self) -> bool {
        match self.expect {
            Expect::Second | Expect::Nothing => true,
            Expect::Stored => self.entry.left() == 0,
            Expect::Packed => {
                let is_bounded = !self.entry.header.has_descriptor();
                self.unpacker.owes(self.entry.more(0))
                    || self.entry.first_byte.is_some()
                    || self.entry.has_stream_ended
                    || is_bounded && self.entry.left() == 0
            }
            Expect::StoredUntilDescriptor | Expect::Descriptor | Expect::Search => false,
            _ => self.field.is_whole(),
        }
    }

    fn dispatch(&mut self, input: &[u8], scratch: &mut [u8]) -> Step {
        match self.expect {
            Expect::Stored => return self.stored(input),
            Expect::StoredUntilDescriptor => return self.stored_until_descriptor(input, scratch),
            Expect::Packed => return self.packed(input, scratch),
            Expect::Descriptor => return self.descriptor(input),
            Expect::Search => return self.search(input),
            Expect::Second => return self.second(scratch),
            Expect::Nothing => return Step::new(0, Event::End),
            _ => {}
        }
        let used = match self.take(input) {
            Ok(used) => used,
            Err(step) => return step,
        };
        match self.expect {
            Expect::Record => {
                let bytes = self.field.bytes();
                let signature = [bytes[0], bytes[1], bytes[2], bytes[3]];
                return self.record(signature, used);
            }
            Expect::Header(place) => self.header(place),
            Expect::Name(place) => self.name(place),
            Expect::ExtraHead(place) => self.extra_head(place),
            Expect::ExtraBody(place) => self.extra_body(place),
            Expect::ExtraRest(place) => return self.header_end(place, used),
            Expect::OtherLength => {
                let bytes = self.field.bytes();
                let length = if bytes.len() == 2 { u16_le(bytes, 0).into() } else { u32_le(bytes, 0).into() };
                self.await_field(Expect::Other, length);
            }
            Expect::Comment | Expect::Other | Expect::Locator64 => self.await_record(),
            Expect::Skip => self.entry_skipped(),
            Expect::DescriptorSkipped => self.descriptor_skipped(),
            Expect::End64 => self.end_64(),
            Expect::End => return self.end_of_directory(used),
            _ => self.behind_end(),
        }
        Step::new(used, Event::Working)
    }

    /// A record begins with these four bytes, which end `used` bytes into the input; or none does.
    fn record(&mut self, signature: [u8; 4], used: usize) -> Step {
        let begins_at = self.position + used as u64 - 4;
        match signature {
            header::LOCAL => {
                self.is_behind_stored = false;
                if self.has_ended {
                    // Another archive behind the first: its offsets count from its own beginning.
                    self.has_ended = false;
                    self.tally = Tally::new(begins_at);
                }
                self.entry = ZipEntry::default();
                self.entry.header.offset = begins_at - self.tally.base;
                self.await_field(Expect::Header(Place::Local), header::LOCAL_BYTES);
            }
            header::CENTRAL => {
                self.is_behind_stored = false;
                self.unpacker.clear();
                self.tally.directory_start.get_or_insert(begins_at);
                self.await_field(Expect::Header(Place::Central), header::CENTRAL_BYTES);
            }
            header::END_64 => {
                self.tally.directory_end = begins_at;
                self.await_field(Expect::End64, header::END_64_BYTES);
            }
            header::LOCATOR_64 => self.await_field(Expect::Locator64, header::LOCATOR_64_BYTES),
            header::END => {
                self.second.ends_at(begins_at);
                if self.tally.larger_end.is_none() {
                    self.tally.directory_end = begins_at;
                }
                self.await_field(Expect::End, header::END_BYTES);
            }
            header::SIGNATURE => self.await_field(Expect::OtherLength, 2),
            header::EXTRA_DATA => self.await_field(Expect::OtherLength, 4),
            header::DESCRIPTOR | header::SPLIT if begins_at == 0 => self.await_record(),
            _ => {
                self.search.begin(&signature);
                self.await_search(false);
            }
        }
        Step::new(used, Event::Working)
    }

    fn header(&mut self, place: Place) {
        let bytes = self.field.bytes();
        let header = match place {
            Place::Local => Header { offset: self.entry.header.offset, ..Header::local(bytes) },
            Place::Central => Header::central(bytes),
        };
        let name_bytes = header.name_bytes.into();
        self.entry = ZipEntry { extra_left: header.extra_bytes.into(), header, ..ZipEntry::default() };
        self.await_field(Expect::Name(place), name_bytes);
    }

    fn name(&mut self, place: Place) {
        self.entry.raw_name = self.field.bytes().to_vec();
        self.await_extra(place);
    }

    /// The next extra field; fewer bytes than its head are padding.
    fn await_extra(&mut self, place: Place) {
        if self.entry.extra_left < 4 {
            self.await_field(Expect::ExtraRest(place), self.entry.extra_left);
        } else {
            self.await_field(Expect::ExtraHead(place), 4);
        }
    }

    fn extra_head(&mut self, place: Place) {
        let (kind, length) = (u16_le(self.field.bytes(), 0), u16_le(self.field.bytes(), 2));
        self.entry.extra_left -= 4;
        self.entry.extra_kind = kind;
        if u64::from(length) > self.entry.extra_left {
            self.await_field(Expect::ExtraRest(place), self.entry.extra_left);
        } else {
            self.entry.extra_left -= u64::from(length);
            self.await_field(Expect::ExtraBody(place), length.into());
        }
    }

    fn extra_body(&mut self, place: Place) {
        let bytes = self.field.bytes();
        match self.entry.extra_kind {
            header::EXTRA_ZIP64 => self.entry.header.widen(place, bytes),
            header::EXTRA_UNICODE_PATH => {
                self.entry.unicode_name = header::unicode_path(bytes, &self.entry.raw_name);
            }
            _ => {}
        }
        self.await_extra(place);
    }

    fn header_end(&mut self, place: Place, used: usize) -> Step {
        self.field.clear();
        match place {
            Place::Local => {
                self.entry.content_at = self.position + used as u64;
                let events = self.begin_entry();
                self.say(used, events)
            }
            Place::Central => {
                self.tally.central(&self.entry.header, &self.entry.raw_name);
                let length = self.entry.header.comment_bytes.into();
                self.await_field(Expect::Comment, length);
                Step::new(used, Event::Working)
            }
        }
    }

    fn end_64(&mut self) {
        let bytes = self.field.bytes();
        self.tally.larger_end = Some(End::parse_64(bytes));
        // The record's length counts what follows the length itself.
        let rest = u64_le(bytes, 0).saturating_sub(header::END_64_BYTES - 8);
        self.await_field(Expect::Other, rest);
    }

    fn end_of_directory(&mut self, used: usize) -> Step {
        let bytes = self.field.bytes();
        let end = End::parse(bytes, self.tally.larger_end);
        let comment_bytes = u16_le(bytes, 16).into();
        let agreement = self.tally.judge(&end);
        self.has_ended = true;
        self.unpacker.clear();
        self.await_field(Expect::EndComment, comment_bytes);
        let mut events = Vec::new();
        if agreement != Agreement::Agree {
            events.push(Event::Anomaly(match agreement {
                Agreement::OtherNames => "a zip's directory and its entries disagree on names or sums",
                _ => OTHER_ENTRIES,
            }));
        }
        self.second.disagrees |= agreement != Agreement::Agree;
        if end.is_split {
            events.push(Event::Incomplete(Reason::Unsupported));
        }
        self.say(used, events)
    }

    /// Behind the comment: nothing, or another archive.
    fn behind_end(&mut self) {
        self.search.begin(&[]);
        self.await_search(false);
    }

    fn await_search(&mut self, is_expected: bool) {
        self.expect = Expect::Search;
        self.search_is_expected = is_expected;
        self.field.clear();
    }

    fn search(&mut self, input: &[u8]) -> Step {
        let (used, found) = self.search.find(input);
        let Some(signature) = found else { return Step::new(used, Event::Working) };
        let anomaly = self.passed(found);
        if anomaly.is_some() {
            self.passed_behind_stored(self.position + used as u64 - 4);
        }
        let step = self.record(signature, used);
        match anomaly {
            Some(anomaly) => Step::new(step.consumed, anomaly),
            None => step,
        }
    }

    /// What stands between stored content and this place may be more of it.
    fn passed_behind_stored(&mut self, place: u64) {
        if std::mem::take(&mut self.is_behind_stored) {
            self.second.stored.goes_on(place);
        }
    }

    fn passed(&self, found: Option<[u8; 4]>) -> Option<Event> {
        let says = self.search.passed_content(found) && !self.search_is_expected;
        says.then_some(Event::Anomaly(if self.has_ended {
            "bytes behind the end of a zip file"
        } else {
            "bytes between the entries of a zip file"
        }))
    }

    /// As those read it who begin at its end.
    fn second(&mut self, scratch: &mut [u8]) -> Step {
        let event = self.second.next(scratch);
        if event == Event::End {
            self.expect = Expect::Nothing;
        }
        Step::new(0, event)
    }

    /// The part has ended here.
    fn end(&mut self) -> Step {
        let is_searching = self.expect == Expect::Search;
        let is_whole = self.has_ended && (is_searching || self.expect == Expect::EndComment);
        let anomaly = if is_searching { self.passed(None) } else { None };
        if anomaly.is_some() {
            self.passed_behind_stored(self.position);
        }
        self.expect = Expect::Second;
        self.unpacker.clear();
        let loss = match std::mem::take(&mut self.entry.child) {
            Child::Open => Some(Event::Broken(Reason::Truncated)),
            Child::None | Child::Folder if is_whole => None,
            Child::None | Child::Folder => Some(Event::Incomplete(Reason::Truncated)),
        };
        self.say(0, loss.into_iter().chain(anomaly))
    }
}

impl Decoder for ZipDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        if input.is_empty() && !self.needs_no_input() {
            return match more {
                More::Follows => Step::new(0, Event::NeedInput),
                More::Ended if self.held.is_empty() || self.entry.child != Child::Open => self.end(),
                More::Ended if self.expect == Expect::Descriptor => self.end(),
                // What was held as a possible descriptor is content after all.
                More::Ended => Step::new(0, Event::Output(self.let_go_all(scratch))),
            };
        }
        let step = self.dispatch(input, scratch);
        self.position += step.consumed as u64;
        self.second.see(input.get(..step.consumed).unwrap_or_default());
        step
    }

    fn nanos_per_kib(&self) -> u32 {
        match self.expect {
            Expect::Packed => self.unpacker.nanos_per_kib(),
            Expect::Second => self.second.nanos_per_kib(),
            _ => NANOS_PER_KIB_PLAIN,
        }
    }

    fn worked_nanos(&self) -> u64 {
        if self.expect == Expect::Second { self.second.worked_nanos() } else { self.unpacker.worked_nanos() }
    }
}

#[cfg(test)]
mod tests;
