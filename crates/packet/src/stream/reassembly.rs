//! One side's bytes in their order: [`Reassembly`]. Rule: a byte is delivered once, and what was delivered never changes.

use super::policy::StreamPolicy;
use super::sequence::Sequence;
use crate::pieces::{Overlap, Pieces};

/// When bytes are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// When the receiver has acknowledged them: then it is known which of them it took.
    #[default]
    Acknowledged,
    /// When they are next in order: whoever may still drop a packet must know before. What came first stays.
    Immediate,
}

/// What comes out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output<'a> {
    /// Bytes at this offset of the side's stream.
    Data(u64, &'a [u8]),
    /// So many bytes from this offset on were never seen and have been acknowledged.
    Gap(u64, u64),
    /// The side's last byte was delivered.
    End,
    /// As much as is wanted of a side has been delivered.
    Depth,
}

/// What became of a segment's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// They are new, or overlap others.
    Kept(Overlap),
    /// All of them had been delivered before.
    Old,
    /// Nothing is wanted of this side any more.
    Unwanted,
}

/// One side of a stream.
#[derive(Debug)]
pub(crate) struct Reassembly {
    pieces: Pieces,
    /// The sequence number of the byte at `delivered`.
    sequence: Sequence,
    /// Bytes delivered or skipped.
    delivered: u64,
    /// What has been acknowledged, as an offset.
    acknowledged: u64,
    /// Where the side ends, once its FIN has been seen.
    end: Option<u64>,
    /// How many bytes are wanted.
    depth: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Unwanted,
}

impl Reassembly {
    /// Begins with the byte of this sequence number; `depth` bytes are wanted.
    pub(crate) fn new(first: Sequence, depth: u64) -> Self {
        Self {
            pieces: Pieces::default(),
            sequence: first,
            delivered: 0,
            acknowledged: 0,
            end: None,
            depth,
            state: State::Open,
        }
    }

    /// Begins elsewhere, as long as nothing has come: the handshake was another than thought.
    pub(crate) fn begin_at(&mut self, first: Sequence) {
        if self.delivered == 0 && self.pieces.held_bytes() == 0 {
            self.sequence = first;
            self.acknowledged = 0;
        }
    }

    /// The memory that it takes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.pieces.held_bytes()
    }

    /// Bytes delivered or skipped so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// No more is wanted of it.
    pub(crate) fn stop(&mut self) {
        self.pieces.clear();
        self.state = State::Unwanted;
    }

    /// The bytes of a segment.
    pub(crate) fn insert(
        &mut self,
        at: Sequence,
        bytes: &[u8],
        policy: StreamPolicy,
        delivery: Delivery,
    ) -> Inserted {
        if self.state != State::Open {
            return Inserted::Unwanted;
        }
        let floor = if delivery == Delivery::Immediate {
            self.acknowledged.min(self.delivered)
        } else {
            self.delivered
        };
        let distance = self.distance(at);
        let end = distance.saturating_add(bytes.len() as i64);
        if end <= floor as i64 {
            return Inserted::Old;
        }
        let skipped = (floor as i64).saturating_sub(distance).max(0);
        let bytes = bytes.get(skipped as usize..).unwrap_or_default();
        let start = distance.saturating_add(skipped) as u64;
        let policy = if delivery == Delivery::Immediate { StreamPolicy::First } else { policy };
        Inserted::Kept(self.pieces.insert(start, bytes, |new, old| policy.new_wins(new, old)))
    }

    /// The receiver has all before this sequence number.
    pub(crate) fn acknowledge(&mut self, until: Sequence) {
        let distance = self.distance(until);
        self.acknowledged = self.acknowledged.max(u64::try_from(distance).unwrap_or(0));
    }

    /// The side ends with the byte before this sequence number.
    pub(crate) fn end_at(&mut self, at: Sequence) {
        if self.end.is_none() {
            self.end = u64::try_from(self.distance(at)).ok();
        }
    }

    /// Delivers what may be.
    pub(crate) fn deliver(&mut self, delivery: Delivery, mut out: impl FnMut(Output<'_>)) {
        if self.state != State::Open {
            return;
        }
        let acknowledged = self.end.map_or(self.acknowledged, |end| end.min(self.acknowledged));
        let wanted = match delivery {
            Delivery::Acknowledged => acknowledged,
            Delivery::Immediate => u64::MAX,
        };
        self.deliver_until(wanted, acknowledged, &mut out);
        let kept = match delivery {
            Delivery::Acknowledged => self.delivered,
            Delivery::Immediate => acknowledged.min(self.delivered),
        };
        self.pieces.drop_before(kept);
    }

    /// Delivers all that is there, over gaps, acknowledged or not: there is no more room, or no more to come.
    pub(crate) fn flush(&mut self, mut out: impl FnMut(Output<'_>)) {
        if self.state == State::Open {
            let end = self.pieces.end();
            self.deliver_until(end, end, &mut out);
            self.pieces.clear();
        }
    }

    /// Delivers what is in order up to `wanted`; what is missing before `given_up` is skipped.
    fn deliver_until(&mut self, wanted: u64, given_up: u64, out: &mut impl FnMut(Output<'_>)) {
        let wanted = wanted.min(self.depth);
        loop {
            if self.delivered >= self.depth {
                out(Output::Depth);
                return self.stop();
            }
            if let Some(bytes) = self.pieces.at(self.delivered) {
                let length = (bytes.len() as u64).min(wanted.saturating_sub(self.delivered));
                if length == 0 {
                    break;
                }
                out(Output::Data(self.delivered, bytes.get(..length as usize).unwrap_or_default()));
                self.advance(length);
            } else {
                let behind = self.pieces.next_start(self.delivered);
                if behind.is_none() && given_up == self.delivered + 1 && self.end.is_none() {
                    // What was acknowledged may be a FIN that comes late.
                    break;
                }
                let next = behind.unwrap_or(u64::MAX);
                let gap = next.min(given_up).min(self.depth).saturating_sub(self.delivered);
                if gap == 0 {
                    break;
                }
                out(Output::Gap(self.delivered, gap));
                self.advance(gap);
            }
        }
        if self.end.is_some_and(|end| self.delivered >= end) {
            out(Output::End);
            self.state = State::Ended;
        }
    }

    fn advance(&mut self, bytes: u64) {
        self.delivered += bytes;
        self.sequence = self.sequence.plus(bytes as u32);
    }

    /// The offset of a byte that has not been delivered yet.
    pub(crate) fn offset_to_come(&self, at: Sequence) -> Option<u64> {
        u64::try_from(self.distance(at)).ok().filter(|offset| *offset >= self.delivered)
    }

    /// The offset of a sequence number: the one that is nearest to what has been delivered.
    fn distance(&self, at: Sequence) -> i64 {
        (self.delivered as i64).saturating_add(i64::from(at.minus(self.sequence)))
    }
}
