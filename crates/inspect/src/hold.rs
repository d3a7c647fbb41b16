//! Which bytes may leave: [`Hold`]. Rule: only this file can make [`Released`], and only `Released` content can be written.

use lockgate_model::{Grant, Pool};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is held of a transaction's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldPlan {
    /// Nothing is kept and nothing leaves: the content is only looked at (`lockgate scan`).
    Discard,
    /// The first bytes are held; content that outgrows them streams, and the protocol holds the end (SMTP).
    Head {
        /// How much is held at most.
        hold_bytes: usize,
    },
    /// As `Head`, but of content that streams the last bytes are always held (POP3, HTTP).
    HeadAndTail {
        /// How much is held before anything leaves.
        hold_bytes: usize,
        /// How much is held of what streams.
        tail_bytes: usize,
    },
    /// The same, where something is to leave in the place of what is held whole: it is so however much others hold.
    WholeOrTail {
        /// How much is held before anything leaves.
        hold_bytes: usize,
        /// How much is held of what streams.
        tail_bytes: usize,
    },
}

/// Content that may leave: what was held, then a piece of the chunk at hand. The type is the proof that the hold let it go.
#[derive(Debug, Default)]
pub struct Released<'a> {
    held: VecDeque<Vec<u8>>,
    chunk: &'a [u8],
}

impl Released<'_> {
    /// How many bytes these are.
    pub fn bytes(&self) -> usize {
        self.held.iter().map(Vec::len).sum::<usize>() + self.chunk.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chunk.is_empty() && self.held.iter().all(Vec::is_empty)
    }

    /// The same, without the chunk's borrow: its bytes are copied.
    pub fn into_owned(mut self) -> Released<'static> {
        if !self.chunk.is_empty() {
            self.held.push_back(self.chunk.to_vec());
        }
        Released { held: self.held, chunk: &[] }
    }

    /// The part of it behind `skip` bytes, `take` of them at most; both are counted down, so that the next piece goes on.
    pub fn part(mut self, skip: &mut u64, take: &mut u64) -> Self {
        fn span(length: usize, skip: &mut u64, take: &mut u64) -> std::ops::Range<usize> {
            let at_most = |bytes: u64| usize::try_from(bytes).map_or(length, |bytes| bytes.min(length));
            let start = at_most(*skip);
            let end = start + at_most(*take).min(length - start);
            (*skip, *take) = (*skip - start as u64, *take - (end - start) as u64);
            start..end
        }
        for held in &mut self.held {
            let span = span(held.len(), skip, take);
            held.truncate(span.end);
            held.drain(..span.start);
        }
        self.chunk = &self.chunk[span(self.chunk.len(), skip, take)];
        self
    }

    /// With another piece behind it.
    pub fn followed_by(self, other: Released<'_>) -> Released<'static> {
        let mut all = self.into_owned();
        all.held.extend(other.into_owned().held);
        all
    }

    /// The slices, in order.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.held.iter().map(Vec::as_slice).chain(std::iter::once(self.chunk)).filter(|s| !s.is_empty())
    }
}

/// The bytes of one transaction that may not leave yet.
#[derive(Debug)]
pub struct Hold {
    plan: HoldPlan,
    held: VecDeque<Vec<u8>>,
    held_bytes: usize,
    grant: Grant,
    is_streaming: bool,
    released_bytes: u64,
}

/// While more than this part of the pool is out, content that has a tail to hold begins to stream when it is longer than
/// that: many downloads that begin at once do not hold a head each.
const CROWDED_PART: u64 = 16;

/// Held bytes lie in segments of this size at most, so that growing never copies what is there.
const SEGMENT_BYTES_MAX: usize = 32 << 10;
/// … and at least, so that a mail that comes in small pieces does not cost an allocation for each.
const SEGMENT_BYTES_MIN: usize = 2 << 10;

impl Hold {
    /// Nothing held yet.
    pub fn new(plan: HoldPlan, pool: &Arc<Pool>) -> Self {
        let (held, grant) = (VecDeque::new(), pool.grant());
        Self { plan, held, held_bytes: 0, grant, is_streaming: false, released_bytes: 0 }
    }

    /// Takes inspected bytes; what comes back may leave now.
    pub fn take<'a>(&mut self, chunk: &'a [u8]) -> Released<'a> {
        let (hold_bytes, tail_bytes) = match self.plan {
            HoldPlan::Discard => return Released::default(),
            HoldPlan::Head { hold_bytes } => (hold_bytes, 0),
            HoldPlan::HeadAndTail { hold_bytes, tail_bytes } if self.is_crowded() => {
                (hold_bytes.min(tail_bytes), tail_bytes)
            }
            HoldPlan::HeadAndTail { hold_bytes, tail_bytes }
            | HoldPlan::WholeOrTail { hold_bytes, tail_bytes } => (hold_bytes, tail_bytes),
        };
        if !self.is_streaming {
            let fits =
                self.held_bytes + chunk.len() <= hold_bytes && self.grant.grow(chunk.len() as u64).is_ok();
            if fits {
                self.keep(chunk);
                return Released::default();
            }
            // The pool is for what may leave in whole or not at all.
            self.grant.clear();
            self.is_streaming = true;
        }
        let released =
            if tail_bytes == 0 { self.release_all(chunk) } else { self.release_but(tail_bytes, chunk) };
        self.released_bytes += released.bytes() as u64;
        released
    }

    /// Lets everything go, behind a prefix of the gateway's own (trace and tag headers), which goes first if nothing
    /// has left yet and not at all otherwise.
    pub fn release(&mut self, prefix: &[u8]) -> Released<'static> {
        if self.released_bytes == 0 && !prefix.is_empty() {
            self.held.push_front(prefix.to_vec());
        }
        let released = self.release_all(&[]);
        self.released_bytes += released.bytes() as u64;
        released
    }

    /// Lets the tail of what streams go: for content whose end nobody can wait for, once it was held for its time.
    pub fn release_tail(&mut self) -> Released<'static> {
        if !self.is_streaming || self.plan == HoldPlan::Discard {
            return Released::default();
        }
        let released = self.release_all(&[]);
        self.released_bytes += released.bytes() as u64;
        released
    }

    /// How much is held.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Forgets what is held: it will never leave.
    pub fn discard(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
        self.grant.clear();
        self.plan = HoldPlan::Discard;
    }

    /// Whether bytes have begun to leave before the verdict.
    pub fn is_streaming(&self) -> bool {
        self.is_streaming
    }

    /// A copy of what is held.
    pub fn held(&self) -> Vec<u8> {
        let mut copy = Vec::with_capacity(self.held_bytes);
        self.held.iter().for_each(|segment| copy.extend_from_slice(segment));
        copy
    }

    /// How many bytes have left.
    pub fn released_bytes(&self) -> u64 {
        self.released_bytes
    }

    fn is_crowded(&self) -> bool {
        let pool = self.grant.pool();
        pool.bytes_taken() > pool.bytes_max() / CROWDED_PART
    }

    fn release_all<'a>(&mut self, chunk: &'a [u8]) -> Released<'a> {
        self.held_bytes = 0;
        self.grant.clear();
        Released { held: std::mem::take(&mut self.held), chunk }
    }

    /// Lets go all but the last `tail_bytes`.
    fn release_but<'a>(&mut self, tail_bytes: usize, chunk: &'a [u8]) -> Released<'a> {
        if let Some(free) = chunk.len().checked_sub(tail_bytes) {
            let released = self.release_all(&chunk[..free]);
            self.keep(&chunk[free..]);
            return released;
        }
        let mut excess = (self.held_bytes + chunk.len()).saturating_sub(tail_bytes);
        let mut released = Released::default();
        while excess > 0 {
            let Some(mut first) = self.held.pop_front() else { break };
            if first.len() > excess {
                self.held.push_front(first.split_off(excess));
            }
            excess -= first.len();
            self.held_bytes -= first.len();
            released.held.push_back(first);
        }
        self.keep(chunk);
        released
    }

    fn keep(&mut self, mut chunk: &[u8]) {
        self.held_bytes += chunk.len();
        if let Some(last) = self.held.back_mut() {
            let room = (last.capacity() - last.len()).min(chunk.len());
            last.extend_from_slice(&chunk[..room]);
            chunk = &chunk[room..];
        }
        while !chunk.is_empty() {
            let length = chunk.len().min(SEGMENT_BYTES_MAX);
            let mut segment = Vec::with_capacity(length.max(SEGMENT_BYTES_MIN));
            segment.extend_from_slice(&chunk[..length]);
            self.held.push_back(segment);
            chunk = &chunk[length..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(plan: HoldPlan, pool: &Arc<Pool>, content: &[u8], chunk_bytes: usize) -> (Vec<usize>, Vec<u8>) {
        let mut hold = Hold::new(plan, pool);
        let (mut lefts, mut out) = (Vec::new(), Vec::new());
        for chunk in content.chunks(chunk_bytes) {
            let released = hold.take(chunk);
            released.slices().for_each(|s| out.extend_from_slice(s));
            lefts.push(out.len());
        }
        hold.release(b"").slices().for_each(|s| out.extend_from_slice(s));
        assert_eq!(hold.released_bytes(), out.len() as u64);
        (lefts, out)
    }

    #[test]
    fn what_leaves_is_what_came() {
        let content: Vec<u8> = (0..200_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let pool = Pool::new(1 << 20);
        for plan in [
            HoldPlan::Head { hold_bytes: 0 },
            HoldPlan::Head { hold_bytes: 70_000 },
            HoldPlan::Head { hold_bytes: 1 << 20 },
            HoldPlan::HeadAndTail { hold_bytes: 1000, tail_bytes: 65_536 },
            HoldPlan::HeadAndTail { hold_bytes: 100_000, tail_bytes: 10 },
        ] {
            for chunk_bytes in [1, 1000, 65_536, 200_000] {
                let (_, out) = run(plan, &pool, &content, chunk_bytes);
                assert!(out == content, "{plan:?} {chunk_bytes}");
                assert_eq!(pool.bytes_taken(), 0);
            }
        }
    }

    #[test]
    fn the_head_is_held_to_its_limit_and_the_tail_for_ever() {
        let content = [b'x'; 100];
        let pool = Pool::new(1 << 20);
        let (lefts, _) = run(HoldPlan::Head { hold_bytes: 50 }, &pool, &content, 10);
        assert_eq!(lefts, [0, 0, 0, 0, 0, 60, 70, 80, 90, 100]);
        let plan = HoldPlan::HeadAndTail { hold_bytes: 50, tail_bytes: 25 };
        let (lefts, _) = run(plan, &pool, &content, 10);
        assert_eq!(lefts, [0, 0, 0, 0, 0, 35, 45, 55, 65, 75]);
    }

    #[test]
    fn a_part_is_the_same_however_the_whole_is_cut() {
        let pool = Pool::new(1 << 20);
        let content: Vec<u8> = (0..100).collect();
        for (skip, take) in [(0, 100), (0, 0), (10, 20), (99, 1), (100, 5), (40, 1000)] {
            let expected = &content[skip.min(100)..(skip + take).min(100)];
            for piece in [1, 7, 30, 100] {
                let (mut skip, mut take) = (skip as u64, take as u64);
                let mut hold = Hold::new(HoldPlan::HeadAndTail { hold_bytes: 20, tail_bytes: 9 }, &pool);
                let mut all = Released::default();
                for chunk in content.chunks(piece) {
                    all = all.followed_by(hold.take(chunk).part(&mut skip, &mut take));
                }
                all = all.followed_by(hold.release(b"").part(&mut skip, &mut take));
                assert_eq!(all.slices().collect::<Vec<_>>().concat(), expected, "{piece}");
            }
        }
    }

    #[test]
    fn a_tail_that_was_held_for_its_time_leaves_and_the_next_one_is_held() {
        let pool = Pool::new(1 << 20);
        let mut hold = Hold::new(HoldPlan::HeadAndTail { hold_bytes: 5, tail_bytes: 8 }, &pool);
        assert!(hold.take(b"12345").is_empty());
        assert!(hold.release_tail().is_empty(), "what is held whole is not a tail");
        assert_eq!(hold.take(b"6789").bytes(), 1);
        assert_eq!(hold.held_bytes(), 8);
        assert_eq!(hold.release_tail().slices().collect::<Vec<_>>().concat(), b"23456789");
        assert_eq!((hold.held_bytes(), hold.released_bytes(), pool.bytes_taken()), (0, 9, 0));
        assert!(hold.take(b"more").is_empty());
        hold.discard();
        assert!(hold.release_tail().is_empty());
    }

    #[test]
    fn a_spent_pool_streams_from_the_first_byte() {
        let pool = Pool::new(15);
        let (lefts, _) = run(HoldPlan::Head { hold_bytes: 50 }, &pool, &[b'x'; 40], 10);
        assert_eq!(lefts, [0, 20, 30, 40]);
    }

    #[test]
    fn who_has_a_tail_holds_no_more_than_that_while_others_hold_much() {
        let (hold_bytes, tail_bytes) = (50, 20);
        let with_tail = HoldPlan::HeadAndTail { hold_bytes, tail_bytes };
        for (others, plan, expected) in [
            (60, with_tail, [0, 0, 0, 0, 0]),
            (61, with_tail, [0, 0, 0, 0, 30]),
            (101, with_tail, [0, 0, 10, 20, 30]),
            (101, HoldPlan::Head { hold_bytes }, [0, 0, 0, 0, 0]),
            (101, HoldPlan::WholeOrTail { hold_bytes, tail_bytes }, [0, 0, 0, 0, 0]),
        ] {
            let pool = Pool::new(100 * CROWDED_PART);
            let mut grant = pool.grant();
            grant.grow(others).unwrap();
            let (lefts, out) = run(plan, &pool, &[b'x'; 50], 10);
            assert_eq!((lefts.as_slice(), out.len()), (&expected[..], 50), "{plan:?} beside {others}");
        }
    }

    #[test]
    fn what_streams_takes_nothing_of_the_pool() {
        let pool = Pool::new(1000);
        let mut hold = Hold::new(HoldPlan::HeadAndTail { hold_bytes: 50, tail_bytes: 20 }, &pool);
        assert!(hold.take(&[b'x'; 50]).is_empty());
        assert_eq!(pool.bytes_taken(), 50);
        assert_eq!(hold.take(b"y").bytes(), 31);
        assert_eq!((hold.held_bytes(), pool.bytes_taken()), (20, 0));
    }

    #[test]
    fn a_prefix_goes_first_or_not_at_all() {
        let pool = Pool::new(1 << 20);
        let mut hold = Hold::new(HoldPlan::Head { hold_bytes: 50 }, &pool);
        assert!(hold.take(b"body").is_empty());
        assert_eq!(hold.release(b"X: y\r\n").slices().collect::<Vec<_>>().concat(), b"X: y\r\nbody");
        let mut hold = Hold::new(HoldPlan::Head { hold_bytes: 2 }, &pool);
        assert_eq!(hold.take(b"body").bytes(), 4);
        assert!(hold.release(b"X: y\r\n").is_empty());
    }
}
