//! A part that is one compressed stream without a name: [`StreamDecoder`]. Rule: one stream, and what stands behind it is told.

use super::{Outcome, Run};
use crate::decoder::{Decoder, Entry, Event, More, Step};
use lockgate_model::Reason;

/// Undoes one compressed stream in pieces.
pub trait Undo: Send {
    /// Goes on until the input is used, the output full, or the stream at its end.
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run;

    /// Whether there is something to do or say without further input.
    fn owes(&self, more: More) -> bool;

    /// Whether it used bytes that turned out to stand behind the stream.
    fn has_rest(&self) -> bool {
        false
    }

    /// As [`Decoder::worked_nanos`].
    fn worked_nanos(&self) -> u64 {
        0
    }

    /// As [`Decoder::nanos_per_kib`].
    fn nanos_per_kib(&self) -> u32;

    /// What an anomaly says of bytes behind the end.
    const BEHIND: &'static str;
}

/// The next thing of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// Nothing has come yet.
    First,
    Stream,
    /// The stream is at its end, which is not said yet.
    Close,
    Behind,
    Nothing,
}

/// One stream on its way.
pub struct StreamDecoder<U> {
    undo: Option<U>,
    begin: Box<dyn Fn() -> U + Send>,
    expect: Expect,
}

impl<U: Undo> StreamDecoder<U> {
    /// Awaits the first byte; nothing is held before it, and nothing behind the end.
    pub fn new(begin: Box<dyn Fn() -> U + Send>) -> Self {
        Self { undo: None, begin, expect: Expect::First }
    }

    fn stream(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        let undo = self.undo.get_or_insert_with(&self.begin);
        if input.is_empty() && !undo.owes(more) {
            return more.or(|| self.stop(0, Reason::Truncated));
        }
        let run = undo.run(input, more, scratch);
        match run.outcome {
            Outcome::Failed(reason) => return self.stop(run.used, reason),
            Outcome::Ended => self.expect = Expect::Close,
            Outcome::Going => {}
        }
        Step::new(run.used, if run.made > 0 { Event::Output(run.made) } else { Event::Working })
    }

    fn stop(&mut self, used: usize, reason: Reason) -> Step {
        (self.expect, self.undo) = (Expect::Nothing, None);
        Step::new(used, Event::Broken(reason))
    }
}

impl<U: Undo> Decoder for StreamDecoder<U> {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match self.expect {
            Expect::First if input.is_empty() && more == More::Follows => Step::new(0, Event::NeedInput),
            Expect::First => {
                self.expect = Expect::Stream;
                Step::new(0, Event::Open(Box::new(Entry { label: "1".into(), ..Entry::default() })))
            }
            Expect::Stream => self.stream(input, more, scratch),
            Expect::Close => {
                self.expect = Expect::Behind;
                Step::new(0, Event::Close)
            }
            Expect::Behind => {
                let has_rest = self.undo.take().is_some_and(|undo| undo.has_rest());
                if !input.is_empty() || has_rest {
                    self.expect = Expect::Nothing;
                    return Step::new(input.len(), Event::Anomaly(U::BEHIND));
                }
                Step::new(0, if more == More::Follows { Event::NeedInput } else { Event::End })
            }
            Expect::Nothing => Step::new(0, Event::End),
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        self.undo.as_ref().map_or(0, Undo::nanos_per_kib)
    }

    fn worked_nanos(&self) -> u64 {
        self.undo.as_ref().map_or(0, Undo::worked_nanos)
    }
}
