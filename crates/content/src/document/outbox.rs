//! What a parser has to say, until it is asked for: [`Outbox`]. Rule: in the order in which it was said, and no more than a few KiB.

use crate::decoder::{Entry, Event};
use lockgate_model::Reason;
use std::collections::VecDeque;

/// Memory that is kept when nothing waits.
const KEPT_BYTES: usize = 512;

/// Events on their way out.
#[derive(Default)]
pub(super) struct Outbox {
    items: VecDeque<Item>,
    bytes: Vec<u8>,
    given: usize,
    is_open: bool,
}

enum Item {
    Event(Event),
    /// So many of the bytes belong to the open child.
    Bytes(usize),
}

impl Outbox {
    /// A child begins; one that is still open ends well.
    pub(super) fn open(&mut self, entry: Entry) {
        self.close();
        self.is_open = true;
        self.items.push_back(Item::Event(Event::Open(Box::new(entry))));
    }

    /// Bytes of the open child; with none open they are nobody's.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if !self.is_open || bytes.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        match self.items.back_mut() {
            Some(Item::Bytes(length)) => *length += bytes.len(),
            _ => self.items.push_back(Item::Bytes(bytes.len())),
        }
    }

    /// The open child ends well; with none open it is nothing.
    pub(super) fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.items.push_back(Item::Event(Event::Close));
        }
    }

    /// The open child cannot be read on; with none open the part is incomplete.
    pub(super) fn broken(&mut self, reason: Reason) {
        let is_open = std::mem::take(&mut self.is_open);
        let event = if is_open { Event::Broken(reason) } else { Event::Incomplete(reason) };
        self.items.push_back(Item::Event(event));
    }

    /// Something of the open child, or of the part, could not be inspected.
    pub(super) fn incomplete(&mut self, reason: Reason) {
        self.items.push_back(Item::Event(Event::Incomplete(reason)));
    }

    /// The format is bent.
    pub(super) fn anomaly(&mut self, words: &'static str) {
        self.items.push_back(Item::Event(Event::Anomaly(words)));
    }

    /// Whether a child is open.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The next thing; bytes go into the scratch.
    pub(super) fn next(&mut self, scratch: &mut [u8]) -> Option<Event> {
        let Some(item) = self.items.pop_front() else {
            self.rest();
            return None;
        };
        let length = match item {
            Item::Event(event) => return Some(event),
            Item::Bytes(length) => length,
        };
        let now = length.min(scratch.len());
        scratch[..now].copy_from_slice(&self.bytes[self.given..self.given + now]);
        self.given += now;
        if now < length {
            self.items.push_front(Item::Bytes(length - now));
        }
        if self.given == self.bytes.len() {
            self.given = 0;
            self.bytes.clear();
        }
        Some(Event::Output(now))
    }

    /// Nothing waits.
    fn rest(&mut self) {
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}
