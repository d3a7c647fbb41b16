//! What the first reading leaves to the second one. Rule: what is not held for it is told, where it would have been read.

use super::ends::Ends;
use super::header::Header;
use super::seeker::{Content, Met, Seeker};
use crate::decoder::Event;
use lockgate_model::{Held, Pool, Reason};
use std::sync::Arc;

/// What remembering an entry takes.
const MET_BYTES: u64 = 96;
/// Ends of directories that are remembered.
const ENDS_MAX: usize = 8;
/// While so much of what the process may hold is out, nothing is held: thousands of mails at once would each hold their share.
const POOL_PERCENT_MAX: u64 = 25;
/// What is said of the first entry that only the second reading meets.
pub(super) const OTHER_ENTRIES: &str = "a zip's directory shows other entries than there are";

/// The bytes, and what has been read of them.
pub(super) struct Second {
    held: Held,
    seeker: Seeker,
    /// Why the bytes are not held.
    lost: Option<Reason>,
    ends: Vec<u64>,
    grant: lockgate_model::Grant,
    state: State,
    pub(super) stored: Ends,
    /// What the directory says was found not to be so.
    pub(super) disagrees: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Holding,
    Reading,
    /// Stored content that ends in another way.
    Ends,
    Done,
}

impl Second {
    /// Holds nothing yet.
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            held: Held::new(pool),
            seeker: Seeker::new(pool, Some(OTHER_ENTRIES)),
            lost: None,
            ends: Vec::new(),
            grant: pool.grant(),
            state: State::Holding,
            stored: Ends::default(),
            disagrees: false,
        }
    }

    /// Bytes of the part, as they come. Most zips need no second reading in the end, and other decoders cannot do without
    /// their memory: while a quarter of it is out, nothing is held here.
    pub(super) fn see(&mut self, input: &[u8]) {
        if self.lost.is_some() {
            return;
        }
        let is_scarce = self.grant.pool().is_taken_to(POOL_PERCENT_MAX);
        let held = if is_scarce { Err(Reason::Budget) } else { self.held.push(input) };
        if let Err(reason) = held {
            self.lose(reason);
        }
    }

    fn lose(&mut self, reason: Reason) {
        self.lost = Some(reason);
        self.held.clear();
        self.grant.clear();
        self.seeker.met.clear();
    }

    /// An entry that stands there has been read.
    pub(super) fn meet(&mut self, offset: u64, header: &Header, raw_name: &[u8], content: Content) {
        if self.lost.is_some() {
            return;
        }
        match self.grant.grow(MET_BYTES) {
            Ok(()) => {
                self.seeker.met.insert(Met::new(offset, header, raw_name, content));
            }
            Err(reason) => self.lose(reason),
        }
    }

    /// A directory ends there.
    pub(super) fn ends_at(&mut self, position: u64) {
        if self.ends.len() < ENDS_MAX {
            self.ends.push(position);
        }
    }

    /// The next thing of the second reading, once the part has ended.
    pub(super) fn next(&mut self, scratch: &mut [u8]) -> Event {
        match self.state {
            State::Holding => {
                self.state = State::Reading;
                if self.disagrees {
                    self.seeker.say_no_more();
                }
                let is_found = self.lost.is_none() && self.seeker.begin(self.held.bytes(), 0, &self.ends);
                if is_found {
                    return Event::Working;
                }
                self.state = if self.lost.is_none() { State::Ends } else { State::Done };
                match self.lost {
                    _ if !self.disagrees && !self.stored.is_doubtful() => Event::Working,
                    None if !self.disagrees => Event::Working,
                    lost => Event::Incomplete(lost.unwrap_or(Reason::Damaged)),
                }
            }
            State::Reading => {
                let event = self.seeker.next(self.held.bytes(), scratch);
                if event != Event::End {
                    return event;
                }
                self.state = State::Ends;
                Event::Working
            }
            State::Ends if !self.stored.is_done() => self.stored.next(self.held.bytes(), scratch),
            State::Ends => {
                self.state = State::Done;
                Event::Working
            }
            State::Done => {
                self.held.clear();
                self.grant.clear();
                Event::End
            }
        }
    }

    /// As [`Decoder::nanos_per_kib`](crate::Decoder::nanos_per_kib).
    pub(super) fn nanos_per_kib(&self) -> u32 {
        self.seeker.nanos_per_kib()
    }

    /// As [`Decoder::worked_nanos`](crate::Decoder::worked_nanos).
    pub(super) fn worked_nanos(&self) -> u64 {
        self.seeker.worked_nanos() + self.stored.worked_bytes() / 2
    }
}
