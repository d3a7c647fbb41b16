//! Where stored content of unknown length may end as well (APPNOTE.TXT, section 4.3.9). Rule: what another reader may take for
//! the end is a second reading, and there are few of them.
//!
//! The first reading takes for the end what tells the truth about all that came before it. Others ask less: that the length is
//! right, or the sum. Others again take no notice of what stands within, and read on to the next record.

use super::header::DESCRIPTOR;
use crate::decoder::{Entry, Event};
use crate::field::{label, u32_le};
use std::collections::VecDeque;

/// So many contents are remembered, and so many other ends of each.
const CONTENTS_MAX: usize = 64;
const ENDS_MAX: usize = 8;
/// The signature, the sum and two lengths.
const DESCRIPTOR_BYTES: usize = 16;
pub(super) const ANOMALY: &str = "a stored zip entry with more than one end";

/// Content that was read from there to there.
#[derive(Clone, Debug)]
struct Content {
    name: String,
    start: u64,
    end: u64,
}

/// Contents, and other ways to read them.
#[derive(Debug, Default)]
pub(super) struct Ends {
    contents: Vec<Content>,
    /// Other readings that are still to be given.
    others: VecDeque<Content>,
    open: Option<(usize, usize)>,
    has_spoken: bool,
    pending: VecDeque<Event>,
    worked_bytes: u64,
    /// Whether a descriptor that is not right in all ways was passed over.
    has_passed: bool,
}

impl Ends {
    /// Within content stands what looks like a descriptor, and is not taken for one.
    pub(super) fn pass(&mut self) {
        self.has_passed = true;
    }

    /// Whether, of what is known without a second look, there may be another reading.
    pub(super) fn is_doubtful(&self) -> bool {
        self.has_passed || !self.others.is_empty()
    }

    /// Stored content whose end a descriptor told.
    pub(super) fn meet(&mut self, name: String, start: u64, end: u64) {
        if self.contents.len() < CONTENTS_MAX {
            self.contents.push(Content { name, start, end });
        }
    }

    /// Behind the last content stands no record before that place.
    pub(super) fn goes_on(&mut self, end: u64) {
        if let Some(last) = self.contents.last().cloned() {
            self.others.push_back(Content { end, ..last });
        }
    }

    /// Whether anything is left to be looked at.
    pub(super) fn is_done(&self) -> bool {
        self.contents.is_empty() && self.others.is_empty() && self.open.is_none() && self.pending.is_empty()
    }

    /// The next thing of the other readings.
    pub(super) fn next(&mut self, whole: &[u8], scratch: &mut [u8]) -> Event {
        self.worked_bytes = 0;
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        if let Some((at, end)) = self.open {
            let piece = whole.get(at..end).unwrap_or_default();
            let length = piece.len().min(scratch.len());
            scratch[..length].copy_from_slice(&piece[..length]);
            self.open = (length > 0).then_some((at + length, end));
            return if length > 0 { Event::Output(length) } else { Event::Close };
        }
        if let Some(other) = self.others.pop_front() {
            return self.begin(other);
        }
        if let Some(content) = self.contents.pop() {
            self.look(content, whole);
        }
        Event::Working
    }

    /// How many bytes the last call looked at.
    pub(super) fn worked_bytes(&self) -> u64 {
        self.worked_bytes
    }

    fn begin(&mut self, other: Content) -> Event {
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        self.open = Some((place(other.start), place(other.end)));
        let entry = Entry { label: label(&other.name), name: Some(other.name), declared: None };
        let open = Event::Open(Box::new(entry));
        if std::mem::replace(&mut self.has_spoken, true) {
            return open;
        }
        self.pending.push_back(open);
        Event::Anomaly(ANOMALY)
    }

    /// Descriptors within content that are right in one way and wrong in another.
    fn look(&mut self, content: Content, whole: &[u8]) {
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let bytes = whole.get(place(content.start)..place(content.end)).unwrap_or_default();
        self.worked_bytes = bytes.len() as u64;
        let (mut crc, mut summed, mut found) = (crc32fast::Hasher::new(), 0, 0);
        for at in memchr::memmem::find_iter(bytes, &DESCRIPTOR) {
            let Some(descriptor) = bytes.get(at..at + DESCRIPTOR_BYTES) else { break };
            crc.update(&bytes[summed..at]);
            summed = at;
            let is_its_sum = crc.clone().finalize() == u32_le(descriptor, 4);
            let is_its_length = u32_le(descriptor, 8) as usize == at && u32_le(descriptor, 12) as usize == at;
            if is_its_sum != is_its_length && at > 0 && found < ENDS_MAX {
                found += 1;
                let end = content.start + at as u64;
                self.others.push_back(Content { end, ..content.clone() });
            }
        }
    }
}
