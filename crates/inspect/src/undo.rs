//! Content without its coding, in one piece: [`undo`]. Rule: for content that was inspected already, and within a limit.

use crate::scratch::SCRATCH_BYTES;
use lockgate_content::{Coding, Event, Means, More, open_coding};
use lockgate_model::Pool;
use std::sync::Arc;

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// All of it.
    Whole(Vec<u8>),
    /// It is longer than is wanted.
    TooLong,
    /// It cannot be read to its end.
    Broken,
}

/// Undoes one coding of content that is there in whole. What the decoder takes is drawn from the pool.
pub fn undo(coding: Coding, content: &[u8], bytes_max: usize, pool: &Arc<Pool>) -> Undone {
    let Ok(mut decoder) = open_coding(coding, &Means { pool: Arc::clone(pool) }) else {
        return Undone::Broken;
    };
    let mut scratch = vec![0; SCRATCH_BYTES];
    let (mut out, mut rest) = (Vec::new(), content);
    loop {
        let step = decoder.step(rest, More::Ended, &mut scratch);
        let used = rest.get(..step.consumed).unwrap_or(rest);
        rest = rest.get(step.consumed..).unwrap_or_default();
        match step.event {
            Event::Output(bytes) => out.extend_from_slice(scratch.get(..bytes).unwrap_or_default()),
            Event::Input(range) => out.extend_from_slice(used.get(range).unwrap_or_default()),
            Event::Working | Event::Open(_) | Event::Name(_) | Event::Close | Event::Side(..) => {}
            Event::End => return Undone::Whole(out),
            Event::NeedInput | Event::Broken(_) | Event::Incomplete(_) | Event::Anomaly(_) => {
                return Undone::Broken;
            }
        }
        if out.len() > bytes_max {
            return Undone::TooLong;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coding_is_undone_within_a_limit() {
        let pool = Pool::new(1 << 20);
        // Raw deflate of content in one stored block.
        let stored = b"\x01\x05\x00\xfa\xffhello";
        for (content, bytes_max, expected) in [
            (&stored[..], 5, Undone::Whole(b"hello".to_vec())),
            (&stored[..], 4, Undone::TooLong),
            (&stored[..7], 5, Undone::Broken),
            (b"\x07", 5, Undone::Broken),
        ] {
            assert_eq!(undo(Coding::Deflate, content, bytes_max, &pool), expected);
            assert_eq!(pool.bytes_taken(), 0);
        }
    }
}
