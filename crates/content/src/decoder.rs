//! The frame of every push decoder: [`Decoder`], one [`Step`] at a time. Rule: no recursion, no clock, bounded memory.
//!
//! A decoder reads the bytes of one part (a mail, an archive, a compressed file) and says where its children begin
//! and end and what is in them. It never drives its children: the caller (`inspect::layers`) keeps the open decoders
//! on a stack of its own and hands each child's bytes to that child's decoder, deepest first, so that nesting costs
//! neither stack frames nor copies.

use lockgate_model::{Buffer, Pool, Reason};
use std::ops::Range;
use std::sync::Arc;

/// What a container says of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// How the child is called in a path: its section number (`1.2`), or its name with control characters replaced.
    pub label: String,
    /// The name that the container gives, decoded to text; `None` where there is none.
    pub name: Option<String>,
    /// The media type that the container declares, in lower case without parameters.
    pub declared: Option<String>,
}

/// What one step came to. Ready, need more, note and failure are never confused.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// All input was used (`consumed` is its length); go on with the next chunk.
    NeedInput,
    /// Nothing to tell but progress: call again. It lets a decoder bound the work of one step.
    Working,
    /// A child begins. It must be closed before the next one opens.
    Open(Box<Entry>),
    /// Another name that some reader gives the child that was just opened: what is banned by name is banned by this, too.
    Name(String),
    /// Bytes of the open child that stand unchanged in the input: a range of the slice given, always within `consumed`.
    Input(Range<usize>),
    /// Bytes of the open child: the first so many of the scratch buffer.
    Output(usize),
    /// Bytes of a named buffer of this part itself (not of the child): a range of the slice given.
    Side(Buffer, Range<usize>),
    /// The open child has ended well.
    Close,
    /// The open child cannot be read further, or only in part; it is closed by this, no `Close` follows.
    Broken(Reason),
    /// The open child, or (none open) this part, could not be inspected in whole; decoding goes on.
    Incomplete(Reason),
    /// The format is bent in a way that hides content from other readers; the words go into the finding.
    Anomaly(&'static str),
    /// This part has ended as far as the decoder is concerned: what follows is not its own and is not pushed.
    End,
}

/// How much of the input a step used, and what it came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes of the input used; the rest is given again.
    pub consumed: usize,
    /// What it came to.
    pub event: Event,
}

impl Step {
    /// A step that used so many bytes.
    pub fn new(consumed: usize, event: Event) -> Self {
        Self { consumed, event }
    }
}

/// Whether the input given ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// More chunks may follow.
    Follows,
    /// The part ends with this slice; it may be empty. A decoder then closes what is open and says [`Event::End`].
    Ended,
}

impl More {
    /// What is said where all input is used and more is needed: so, or else the part's end.
    pub(crate) fn or(self, end: impl FnOnce() -> Step) -> Step {
        match self {
            Self::Follows => Step::new(0, Event::NeedInput),
            Self::Ended => end(),
        }
    }
}

/// A push decoder for one part.
///
/// Called again and again until it says `NeedInput` (with `More::Follows`) or `End`. With `More::Ended` it must come
/// to `End` in a bounded number of steps. Each other step uses input, gives output, or changes state: a loop over
/// steps ends. The same bytes give the same children however they are cut.
pub trait Decoder: Send {
    /// One step. `scratch` is at least [`SCRATCH_BYTES_MIN`] long and holds nothing between steps.
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step;

    /// What a byte costs, in nanoseconds for each KiB of input used and of output given: an estimate that bounds how
    /// long a push may take before it yields.
    fn nanos_per_kib(&self) -> u32;

    /// What the last step cost beyond the bytes it used and gave, in nanoseconds: work on bytes that were used before.
    fn worked_nanos(&self) -> u64 {
        0
    }
}

/// The least scratch that a decoder is given for a step.
pub const SCRATCH_BYTES_MIN: usize = 4096;

/// What decoders may take besides their own few hundred bytes.
#[derive(Clone, Debug)]
pub struct Means {
    /// The transaction's share of the process-wide budget, which held bytes and large decoder states are drawn from.
    pub pool: Arc<Pool>,
}
