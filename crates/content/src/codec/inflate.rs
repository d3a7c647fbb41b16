//! Deflate (RFC 1951) in pieces, raw or within zlib's wrapping (RFC 1950). Rule: no memory before the first compressed byte, none at all within a run.

use super::{Outcome, Run};
use lockgate_model::Reason;
use zlib_rs::{Inflate, InflateFlush, Status};

/// What inflating costs for each KiB in and out; with the check sum.
pub const NANOS_PER_KIB: u32 = 1500;

/// The base-2 logarithm of deflate's window.
const WINDOW_BITS: u8 = 15;

/// What stands around a deflate stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrapping {
    /// Nothing.
    #[default]
    Raw,
    /// A header and a check sum (RFC 1950).
    Zlib,
}

/// A deflate stream on its way. Its state is about 44 KiB, taken when the first byte arrives.
#[derive(Default)]
pub struct Inflater {
    wrapping: Wrapping,
    state: Option<Inflate>,
    debt: Debt,
}

/// What a run has left for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Debt {
    #[default]
    None,
    /// The output was full: there may be more without further input.
    Output,
    /// The stream is damaged, which is said only once what was made before it is out.
    Damage,
}

impl Inflater {
    /// Awaits a stream that is wrapped so.
    pub fn new(wrapping: Wrapping) -> Self {
        Self { wrapping, ..Self::default() }
    }

    /// Whether there is something to say without further input.
    pub fn owes(&self) -> bool {
        self.debt != Debt::None
    }

    /// Makes itself ready for another stream, and keeps its memory for it.
    pub fn reset(&mut self) {
        self.debt = Debt::None;
        if let Some(state) = &mut self.state {
            state.reset(self.wrapping == Wrapping::Zlib);
        }
    }

    /// Gives its memory back.
    pub fn clear(&mut self) {
        *self = Self::new(self.wrapping);
    }

    /// Inflates until the input is used, the output full, or the stream at its end.
    pub fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let nothing = |outcome| Run { used: 0, made: 0, outcome };
        match self.debt {
            Debt::None if input.is_empty() => return nothing(Outcome::Going),
            Debt::Damage => return nothing(Outcome::Failed(Reason::Damaged)),
            Debt::None | Debt::Output => {}
        }
        let has_header = self.wrapping == Wrapping::Zlib;
        let state = self.state.get_or_insert_with(|| Inflate::new(has_header, WINDOW_BITS));
        let (used_before, made_before) = (state.total_in(), state.total_out());
        let outcome = match state.decompress(input, output, InflateFlush::NoFlush) {
            Ok(Status::Ok | Status::BufError) => Outcome::Going,
            Ok(Status::StreamEnd) => Outcome::Ended,
            Err(_) => Outcome::Failed(Reason::Damaged),
        };
        let used = (state.total_in() - used_before) as usize;
        let made = (state.total_out() - made_before) as usize;
        self.debt = match outcome {
            Outcome::Going if made == output.len() => Debt::Output,
            Outcome::Failed(_) => Debt::Damage,
            Outcome::Going | Outcome::Ended => Debt::None,
        };
        match outcome {
            Outcome::Failed(_) if made > 0 => Run { used, made, outcome: Outcome::Going },
            _ => Run { used, made, outcome },
        }
    }
}
