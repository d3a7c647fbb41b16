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
    has_ended: bool,
}

impl<P: Parser> ParserDecoder<P> {
    pub(super) fn of(parser: P) -> Self {
        Self { parser, out: Outbox::default(), has_ended: false }
    }
}

impl<P: Parser> Decoder for ParserDecoder<P> {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.out.next(scratch) {
            return Step::new(0, event);
        }
        if self.has_ended {
            return Step::new(0, Event::End);
        }
        let mut used = 0;
        if self.parser.owes() {
            self.parser.push(&[], &mut self.out);
        } else if !input.is_empty() {
            used = self.parser.push(&input[..input.len().min(PIECE_BYTES)], &mut self.out);
        } else if more == More::Follows {
            return Step::new(0, Event::NeedInput);
        } else {
            self.parser.finish(&mut self.out);
            self.out.close();
            self.has_ended = true;
        }
        Step::new(used, self.out.next(scratch).unwrap_or(Event::Working))
    }

    fn nanos_per_kib(&self) -> u32 {
        self.parser.nanos_per_kib()
    }
}
