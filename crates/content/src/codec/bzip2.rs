//! bzip2: streams one behind the other, which make one file. Rule: what bunzip2 would write, in slices of time.
//!
//! A block of up to 900,000 bytes must be whole before its first byte comes out, so it is held; its memory is drawn
//! from the pool as it fills. Libraries turn a block over in one go, which takes tens of milliseconds; this decoder
//! stops after a fraction of one.

mod bits;
mod block;
mod crc;
mod huffman;
mod random;
mod stream;

use crate::codec::Outcome;
use crate::decoder::{Decoder, Entry, Event, More, Step};
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;
use stream::Stream;

/// What a byte costs besides: the check sum, and copying runs.
pub(super) const NANOS_PER_KIB: u32 = 1000;
/// What a stream holds besides its block: codes, selectors and tables.
const STREAM_BYTES: u64 = 48 * 1024;
/// What begins a stream, before its level.
const MAGIC: [u8; 3] = *b"BZh";

/// A bzip2 file on its way.
pub struct Bzip2Decoder {
    pool: Arc<Pool>,
    bunzip: Option<Bunzip>,
    expect: Expect,
    is_open: bool,
}

/// One stream, with what it holds drawn from the pool.
pub(super) struct Bunzip {
    pub(super) stream: Stream,
    _grant: Grant,
}

impl Bunzip {
    /// An error where the pool gives no more.
    pub(super) fn new(pool: &Arc<Pool>) -> Result<Self, Reason> {
        let mut grant = pool.grant();
        grant.grow(STREAM_BYTES)?;
        Ok(Self { stream: Stream::new(pool.grant()), _grant: grant })
    }
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Stream,
    /// Behind a stream: another one, of whose magic so much has been seen.
    NextStream(usize),
    Padding,
    /// Bytes that are no bzip2 have been met and the child is closed.
    Garbage,
    Nothing,
}

impl Bzip2Decoder {
    /// Awaits the first stream; takes memory from the pool when its first byte arrives.
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self { pool: Arc::clone(pool), bunzip: None, expect: Expect::Stream, is_open: false }
    }

    fn owes(&self) -> bool {
        let unopened = |s: &Stream| !self.is_open && !s.is_at_header();
        self.expect == Expect::Stream
            && self.bunzip.as_ref().is_some_and(|b| b.stream.owes() || unopened(&b.stream))
    }

    fn stream(&mut self, input: &[u8], scratch: &mut [u8]) -> Step {
        let stream = match &mut self.bunzip {
            Some(bunzip) => &mut bunzip.stream,
            empty => match Bunzip::new(&self.pool) {
                Ok(bunzip) => &mut empty.insert(bunzip).stream,
                Err(reason) => return self.stop(0, reason),
            },
        };
        let is_at_header = stream.is_at_header();
        if !is_at_header && !self.is_open {
            self.is_open = true;
            let entry = Entry { label: "1".into(), ..Entry::default() };
            return Step::new(0, Event::Open(Box::new(entry)));
        }
        // The child opens once the header is there, and before anything comes out.
        let input = if is_at_header { &input[..input.len().min(1)] } else { input };
        let run = stream.run(input, scratch);
        match run.outcome {
            Outcome::Failed(reason) => return self.stop(run.used, reason),
            Outcome::Ended => {
                stream.reset();
                self.expect = Expect::NextStream(0);
            }
            Outcome::Going => {}
        }
        Step::new(run.used, if run.made > 0 { Event::Output(run.made) } else { Event::Working })
    }

    /// Byte by byte, so that it is known at each cut whether a stream begins.
    fn next_stream(&mut self, seen: usize, input: &[u8], scratch: &mut [u8]) -> Step {
        if seen == MAGIC.len() {
            self.expect = Expect::Stream;
            if let Some(bunzip) = &mut self.bunzip {
                bunzip.stream.run(&MAGIC, scratch);
            }
            return Step::new(0, Event::Working);
        }
        if input[0] == MAGIC[seen] {
            self.expect = Expect::NextStream(seen + 1);
        } else if seen == 0 && input[0] == 0 {
            self.expect = Expect::Padding;
        } else {
            return self.garbage(input.len());
        }
        Step::new(1, Event::Working)
    }

    fn garbage(&mut self, used: usize) -> Step {
        self.close();
        self.expect = Expect::Garbage;
        Step::new(used, Event::Close)
    }

    /// What is open breaks; what is not yet open is this part's own loss.
    fn stop(&mut self, used: usize, reason: Reason) -> Step {
        let was_open = self.is_open;
        self.close();
        self.expect = Expect::Nothing;
        Step::new(used, if was_open { Event::Broken(reason) } else { Event::Incomplete(reason) })
    }

    fn close(&mut self) {
        self.is_open = false;
        self.bunzip = None;
    }

    /// The part has ended here.
    fn end(&mut self) -> Step {
        match self.expect {
            Expect::NextStream(0) | Expect::Padding => {
                self.close();
                self.expect = Expect::Nothing;
                Step::new(0, Event::Close)
            }
            Expect::NextStream(seen) if seen < MAGIC.len() => self.garbage(0),
            _ => self.stop(0, Reason::Truncated),
        }
    }
}

impl Decoder for Bzip2Decoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match self.expect {
            Expect::Nothing => return Step::new(0, Event::End),
            Expect::Garbage => {
                self.expect = Expect::Nothing;
                return Step::new(0, Event::Anomaly("bytes behind the end of a bzip2 file"));
            }
            _ if self.owes() => return self.stream(input, scratch),
            _ if input.is_empty() && more == More::Follows => return Step::new(0, Event::NeedInput),
            _ if input.is_empty() => return self.end(),
            _ => {}
        }
        match self.expect {
            Expect::NextStream(seen) => self.next_stream(seen, input, scratch),
            Expect::Padding if input.iter().all(|b| *b == 0) => Step::new(input.len(), Event::Working),
            Expect::Padding => self.garbage(input.len()),
            _ => self.stream(input, scratch),
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        self.bunzip.as_ref().map_or(0, |b| b.stream.worked_nanos())
    }
}

#[cfg(test)]
mod tests;
