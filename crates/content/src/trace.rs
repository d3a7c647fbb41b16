//! Runs one decoder over a cut input and writes down what it says. Rule: for tests and fuzzing; nothing else calls it.

use crate::decoder::{Decoder, Entry, Event, More, SCRATCH_BYTES_MIN};
use lockgate_model::{Buffer, Reason};

/// What a decoder said, neighbouring bytes joined: equal for every cut of the same input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A child began.
    Open(Entry),
    /// Another name of it.
    Name(String),
    /// Bytes of the open child.
    Bytes(Vec<u8>),
    /// Bytes of a named buffer of the part itself.
    Side(Buffer, Vec<u8>),
    /// The child ended well.
    Close,
    /// The child ended badly.
    Broken(Reason),
    /// Something could not be inspected.
    Incomplete(Reason),
    /// The format is bent.
    Anomaly(&'static str),
    /// The part has ended.
    End,
}

/// Pushes the chunks, then the end, and returns all that was said.
///
/// # Panics
///
/// Panics where the decoder breaks the frame's rules: no progress, bytes outside a child, ranges outside what it used.
pub fn trace<'a>(decoder: &mut dyn Decoder, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Said> {
    let mut said = Vec::new();
    let mut is_open = false;
    for chunk in chunks {
        if !push(decoder, chunk, More::Follows, &mut said, &mut is_open) {
            return said;
        }
    }
    push(decoder, &[], More::Ended, &mut said, &mut is_open);
    assert_eq!(said.last(), Some(&Said::End), "an ended part must come to its end");
    said
}

/// Pushes the input whole, byte by byte, and in two at each place, and asserts that it makes no difference.
///
/// # Panics
///
/// Panics where it does.
pub fn assert_cut_invariant(open: &dyn Fn() -> Box<dyn Decoder>, input: &[u8]) -> Vec<Said> {
    let whole = trace(&mut *open(), [input]);
    assert_eq!(trace(&mut *open(), input.chunks(1)), whole, "byte by byte");
    // Long inputs are cut at a sample of places: every cut of 4 KiB is enough to meet each state.
    let stride = input.len() / 4096 + 1;
    for at in (0..=input.len()).step_by(stride) {
        let (a, b) = input.split_at(at);
        assert_eq!(trace(&mut *open(), [a, b]), whole, "cut at {at}");
    }
    whole
}

/// Pushes one chunk; `false` once the decoder has said its end.
fn push(
    decoder: &mut dyn Decoder,
    mut input: &[u8],
    more: More,
    said: &mut Vec<Said>,
    is_open: &mut bool,
) -> bool {
    let mut scratch = [0; SCRATCH_BYTES_MIN];
    let mut idle_steps = 0;
    loop {
        let step = decoder.step(input, more, &mut scratch);
        let used = input.get(..step.consumed).expect("a step uses no more than it is given");
        idle_steps = if step.consumed == 0 { idle_steps + 1 } else { 0 };
        assert!(idle_steps < 1 << 20, "a decoder that makes no progress");
        input = &input[step.consumed..];
        match step.event {
            Event::NeedInput => {
                assert!(input.is_empty(), "a decoder that needs input uses all of it");
                assert_eq!(more, More::Follows, "a decoder asks for more than there is");
                return true;
            }
            Event::Working => {}
            Event::Open(entry) => {
                assert!(!*is_open, "one child at a time");
                *is_open = true;
                said.push(Said::Open(*entry));
            }
            Event::Name(name) => {
                assert!(*is_open, "only what is open has a name");
                said.push(Said::Name(name));
            }
            Event::Input(range) => add(said, *is_open, &used[range]),
            Event::Output(length) => add(said, *is_open, &scratch[..length]),
            Event::Side(buffer, range) => match said.last_mut() {
                Some(Said::Side(last, bytes)) if *last == buffer => bytes.extend_from_slice(&used[range]),
                _ => said.push(Said::Side(buffer, used[range].to_vec())),
            },
            Event::Close => {
                assert!(std::mem::take(is_open), "only what is open can close");
                said.push(Said::Close);
            }
            Event::Broken(reason) => {
                assert!(std::mem::take(is_open), "only what is open can break");
                said.push(Said::Broken(reason));
            }
            Event::Incomplete(reason) => said.push(Said::Incomplete(reason)),
            Event::Anomaly(words) => said.push(Said::Anomaly(words)),
            Event::End => {
                assert!(!*is_open, "the last child is closed before the end");
                said.push(Said::End);
                return false;
            }
        }
    }
}

fn add(said: &mut Vec<Said>, is_open: bool, bytes: &[u8]) {
    assert!(is_open, "bytes belong to an open child");
    match said.last_mut() {
        Some(Said::Bytes(last)) => last.extend_from_slice(bytes),
        _ if bytes.is_empty() => {}
        _ => said.push(Said::Bytes(bytes.to_vec())),
    }
}
