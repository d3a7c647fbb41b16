//! The content of one zip entry. Rule: what comes out is what the header promises, or the entry is broken.

use super::descriptor::{Forms, Likeness, Truth};
use super::header::{DESCRIPTOR, Method};
use super::seeker::Content;
use super::{Child, Expect, ZipDecoder, ZipEntry};
use crate::codec::Outcome;
use crate::codec::unpacker::Packing;
use crate::decoder::{Entry, Event, More, Step};
use crate::field::{before, label, u32_le, u64_le};
use lockgate_model::Reason;

impl ZipDecoder {
    /// The local header is whole: what becomes of the entry.
    pub(super) fn begin_entry(&mut self) -> Vec<Event> {
        let header = &self.entry.header;
        let known = header.known_compressed();
        let is_folder = self.entry.raw_name.ends_with(b"/");
        let unreadable = match header.method() {
            _ if header.is_encrypted() => Some(Reason::Encrypted),
            Method::Other => Some(Reason::Unsupported),
            Method::Stored | Method::Packed(_) => None,
        };
        if is_folder && known == Some(0) {
            self.count_and_go_on();
            return Vec::new();
        }
        if let Some(reason) = unreadable {
            let mut events = self.open_child();
            self.entry.child = Child::None;
            events.push(Event::Broken(reason));
            if known.is_none() {
                self.meet(Content::Sealed);
            }
            self.pass_over(known);
            return events;
        }
        self.expect = match header.method() {
            Method::Packed(packing) => {
                self.unpacker.begin(packing);
                Expect::Packed
            }
            _ if known.is_none() => Expect::StoredUntilDescriptor,
            _ => Expect::Stored,
        };
        if is_folder {
            // Some writers deflate a folder's nothing to two bytes.
            self.entry.child = Child::Folder;
            return Vec::new();
        }
        self.open_child()
    }

    /// The entry becomes a part.
    fn open_child(&mut self) -> Vec<Event> {
        let entry = &mut self.entry;
        entry.child = Child::Open;
        let raw = &entry.raw_name;
        let mut events = Vec::new();
        if raw.contains(&0) {
            events.push(Event::Anomaly("a NUL in a zip entry's name"));
        }
        if raw.ends_with(b"/") {
            events.push(Event::Anomaly("a folder with content of its own in a zip file"));
        }
        let name = match entry.unicode_name.take() {
            Some(unicode) => {
                if raw.is_ascii() && unicode.as_bytes() != raw {
                    events.push(Event::Anomaly("a zip entry with two names"));
                }
                unicode
            }
            None => entry.header.name(raw),
        };
        events.push(Event::Open(Box::new(Entry { label: label(&name), name: Some(name), declared: None })));
        events
    }

    /// Content that stands as it is, of a length that the header knows.
    pub(super) fn stored(&mut self, input: &[u8]) -> Step {
        let left = self.entry.left();
        if left == 0 {
            return self.content_ended(0);
        }
        if self.entry.child == Child::Folder {
            let events = self.open_child();
            return self.say(0, events);
        }
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        self.entry.take(&input[..length]);
        Step::new(length, Event::Input(0..length))
    }

    /// Content that stands as it is, up to a descriptor. A descriptor within the content is not taken for the end,
    /// because it must tell the sum and the length of all that came before it.
    pub(super) fn stored_until_descriptor(&mut self, input: &[u8], scratch: &mut [u8]) -> Step {
        if self.held.is_empty() {
            let length = before(input, DESCRIPTOR);
            if length == 0 {
                self.held.push(input[0]);
                return Step::new(1, Event::Working);
            }
            if self.entry.child == Child::Folder {
                let events = self.open_child();
                return self.say(0, events);
            }
            self.entry.take(&input[..length]);
            return Step::new(length, Event::Input(0..length));
        }
        if self.likeness(Forms::Signed) == Likeness::Whole {
            return self.descriptor_ended(0);
        }
        self.held.push(input[0]);
        match self.likeness(Forms::Signed) {
            Likeness::Whole => self.descriptor_ended(1),
            Likeness::Begun => Step::new(1, Event::Working),
            Likeness::None if self.entry.child == Child::Folder => {
                self.held.pop();
                let events = self.open_child();
                self.say(0, events)
            }
            Likeness::None => Step::new(1, Event::Output(self.let_go(scratch))),
        }
    }

    /// Gives out what was held, up to where a descriptor may begin.
    fn let_go(&mut self, scratch: &mut [u8]) -> usize {
        let mut length = 0;
        if self.held.starts_with(&DESCRIPTOR) {
            self.second.stored.pass();
        }
        while !self.held.is_empty() && self.likeness(Forms::Signed) == Likeness::None {
            scratch[length] = self.held.remove(0);
            self.entry.take(&scratch[length..=length]);
            length += 1;
        }
        length
    }

    /// Gives out all that is held, at the end of the part.
    pub(super) fn let_go_all(&mut self, scratch: &mut [u8]) -> usize {
        let length = self.held.len().min(scratch.len());
        scratch[..length].copy_from_slice(&self.held[..length]);
        self.held.clear();
        length
    }

    /// Packed content, of a length that the header knows, or else to the end of its stream.
    pub(super) fn packed(&mut self, input: &[u8], scratch: &mut [u8]) -> Step {
        if let Some(byte) = self.entry.first_byte.take() {
            scratch[0] = byte;
            return Step::new(0, Event::Output(1));
        }
        if std::mem::take(&mut self.entry.has_stream_ended) {
            return self.content_ended(0);
        }
        let is_bounded = !self.entry.header.has_descriptor();
        let length = if is_bounded {
            usize::try_from(self.entry.left()).unwrap_or(usize::MAX).min(input.len())
        } else {
            input.len()
        };
        if is_bounded && length == 0 && self.entry.left() == 0 && !self.unpacker.owes(More::Ended) {
            // Only nothing packs to nothing, and strictly speaking not even that.
            let is_nothing = self.entry.header.compressed == 0 && self.entry.made == 0;
            return if is_nothing { self.content_ended(0) } else { self.failed(0, Reason::Damaged) };
        }
        // Of a folder nothing is expected: one byte suffices to know that there is something.
        let room = if self.entry.child == Child::Folder { 1 } else { scratch.len() };
        let run = self.unpacker.run(&input[..length], self.entry.more(length), &mut scratch[..room]);
        self.entry.used += run.used as u64;
        self.entry.made += run.made as u64;
        self.entry.crc.update(&scratch[..run.made]);
        if self.entry.child == Child::Folder && run.made > 0 {
            self.entry.first_byte = Some(scratch[0]);
            self.entry.has_stream_ended = run.outcome == Outcome::Ended;
            let events = self.open_child();
            return self.say(run.used, events);
        }
        match run.outcome {
            Outcome::Going if run.made > 0 => Step::new(run.used, Event::Output(run.made)),
            Outcome::Going => Step::new(run.used, Event::Working),
            Outcome::Failed(reason) => self.failed(run.used, reason),
            Outcome::Ended => {
                let event = if run.made > 0 { Event::Output(run.made) } else { Event::Working };
                let step = self.content_ended(run.used);
                match event {
                    Event::Working => step,
                    output => {
                        self.pending.push_front(step.event);
                        Step::new(step.consumed, output)
                    }
                }
            }
        }
    }

    /// The content has come to its own end: compares it with what the header says, or awaits the descriptor.
    fn content_ended(&mut self, used: usize) -> Step {
        self.unpacker.begin(Packing::Deflate);
        if self.entry.header.has_descriptor() {
            self.held.clear();
            self.expect = Expect::Descriptor;
            return Step::new(used, Event::Working);
        }
        let is_right = self.entry.is_right();
        self.entry.content = if is_right { Content::Right } else { Content::Wrong };
        let left = self.entry.left();
        self.pass_over(Some(left));
        self.close_child(used, if is_right { Ok(()) } else { Err(Reason::Damaged) })
    }

    /// The content cannot be read on.
    fn failed(&mut self, used: usize, reason: Reason) -> Step {
        self.unpacker.begin(Packing::Deflate);
        self.entry.content = Content::Wrong;
        let left = (!self.entry.header.has_descriptor()).then(|| self.entry.left());
        self.pass_over(left);
        self.close_child(used, Err(reason))
    }

    fn close_child(&mut self, used: usize, content: Result<(), Reason>) -> Step {
        Step::new(
            used,
            match (std::mem::take(&mut self.entry.child), content) {
                (Child::Open, Ok(())) => Event::Close,
                (Child::Open, Err(reason)) => Event::Broken(reason),
                (Child::Folder | Child::None, Ok(())) => Event::Working,
                (Child::Folder | Child::None, Err(reason)) => Event::Incomplete(reason),
            },
        )
    }

    /// Passes over so many bytes, or, where that is not known, to the next record.
    fn pass_over(&mut self, length: Option<u64>) {
        match length {
            Some(0) if !self.entry.header.has_descriptor() => self.count_and_go_on(),
            Some(length) => self.await_field(Expect::Skip, length),
            None => {
                self.tally.is_uncertain = true;
                self.tally.local(&self.entry.header, &self.entry.raw_name);
                self.search.begin(&[]);
                self.await_search(true);
            }
        }
    }

    pub(super) fn entry_skipped(&mut self) {
        if self.entry.header.has_descriptor() {
            self.await_field(Expect::DescriptorSkipped, 4);
        } else {
            self.count_and_go_on();
        }
    }

    fn count_and_go_on(&mut self) {
        self.tally.local(&self.entry.header, &self.entry.raw_name);
        self.meet(self.entry.content);
        self.await_record();
    }

    /// The entry need not be read again.
    fn meet(&mut self, content: Content) {
        let ZipEntry { header, raw_name, .. } = &self.entry;
        self.second.meet(self.tally.base + header.offset, header, raw_name, content);
    }

    /// The descriptor of an entry that was not read: with its signature or without.
    pub(super) fn descriptor_skipped(&mut self) {
        let bytes = self.field.bytes();
        let sizes = if self.entry.header.is_zip64 { 16 } else { 8 };
        let is_signed = bytes.starts_with(&DESCRIPTOR);
        let start = if is_signed { 4 } else { 0 };
        if bytes.len() == 4 {
            self.field.extend(start + sizes);
            return;
        }
        let size = if sizes == 16 { u64_le(bytes, start + 12) } else { u32_le(bytes, start + 8).into() };
        self.entry.header.crc = u32_le(bytes, start);
        self.entry.header.size = size;
        self.count_and_go_on();
    }

    /// The descriptor of an entry that was read. It must say what was read.
    pub(super) fn descriptor(&mut self, input: &[u8]) -> Step {
        self.held.push(input[0]);
        match self.likeness(Forms::All) {
            Likeness::Whole => self.descriptor_ended(1),
            Likeness::Begun => Step::new(1, Event::Working),
            Likeness::None => {
                self.held.pop();
                self.pass_over(None);
                self.search.begin(&self.held);
                self.held.clear();
                self.close_child(0, Err(Reason::Damaged))
            }
        }
    }

    fn descriptor_ended(&mut self, used: usize) -> Step {
        let truth = self.truth();
        if self.expect == Expect::StoredUntilDescriptor && self.entry.child == Child::Open {
            let (entry, start) = (&self.entry, self.entry.content_at);
            let name = entry.header.name(&entry.raw_name);
            self.second.stored.meet(name, start, start.saturating_add(entry.used));
            self.is_behind_stored = true;
        }
        self.held.clear();
        self.entry.header.crc = truth.crc;
        self.entry.header.compressed = truth.compressed;
        self.entry.header.size = truth.size;
        self.count_and_go_on();
        self.close_child(used, Ok(()))
    }

    fn likeness(&self, forms: Forms) -> Likeness {
        self.truth().compare(&self.held, forms)
    }

    fn truth(&self) -> Truth {
        Truth {
            crc: self.entry.crc.clone().finalize(),
            compressed: self.entry.used,
            size: self.entry.made,
            is_zip64: self.entry.header.is_zip64,
        }
    }
}
