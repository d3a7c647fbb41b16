//! A document read from its beginning to its end: [`Parser`], and the [`ParserDecoder`] around it. Rule: a bounded piece at a time.

use super::outbox::Outbox;
use crate::decoder::{Decoder, Event, More, Step};

/// The most that is parsed in one step.
const PIECE_BYTES: usize = 4 << 10;

/// Reads a stream and says what it finds.
pub(super) trait Parser: Send {
    /// Reads on: how much of the input was used. It may be less than all of it, so that no piece makes too much; nothing
    /// of it only where something is said.
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize;

    /// No more input comes. What is owed then is asked for before [`finish`](Self::finish).
    fn end_input(&mut self, _out: &mut Outbox) {}

    /// The stream has ended.
    fn finish(&mut self, out: &mut Outbox);

    /// Whether there is something to say without further input: then it is pushed nothing.
    fn owes(&self) -> bool {
        false
    }

    /// As [`Decoder::nanos_per_kib`].
    fn nanos_per_kib(&self) -> u32;
}

/// A parser as a decoder.
pub(super) struct ParserDecoder<P> {
    parser: P,
    out: Outbox,
    expect: Expect,
}

/// The next thing of the part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Input,
    /// All input has come.
    Finish,
    Nothing,
}

impl<P: Parser> ParserDecoder<P> {
    pub(super) fn of(parser: P) -> Self {
        Self { parser, out: Outbox::default(), expect: Expect::Input }
    }
}

impl<P: Parser> Decoder for ParserDecoder<P> {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.out.next(scratch) {
            return Step::new(0, event);
        }
        if self.expect == Expect::Nothing {
            return Step::new(0, Event::End);
        }
        let mut used = 0;
        if self.parser.owes() {
            self.parser.push(&[], &mut self.out);
        } else if !input.is_empty() {
            used = self.parser.push(&input[..input.len().min(PIECE_BYTES)], &mut self.out);
        } else if more == More::Follows {
            return Step::new(0, Event::NeedInput);
        } else if self.expect == Expect::Input {
            self.parser.end_input(&mut self.out);
            self.expect = Expect::Finish;
        } else {
            self.parser.finish(&mut self.out);
            self.out.close();
            self.expect = Expect::Nothing;
        }
        Step::new(used, self.out.next(scratch).unwrap_or(Event::Working))
    }

    fn nanos_per_kib(&self) -> u32 {
        self.parser.nanos_per_kib()
    }
}
