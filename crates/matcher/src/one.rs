//! Search for one segment by itself. Rule: finds every place where the bytes of its check stand; it never verifies.

use crate::fragment::{Check, Landmark};
use crate::view::View;

/// How many places are looked at before a branch.
const TOGETHER: usize = 64;

/// Each offset of the chunk where a segment with this check may start, in order; where that hangs on bytes to come, too.
pub(crate) fn starts(check: &Check, view: &View<'_>, found: &mut dyn FnMut(u64)) {
    let (chunk, base) = (view.chunk(), view.chunk_start());
    let at = check.at as usize;
    let known = chunk.get(at..).unwrap_or_default();
    // The last of them have not all of their eight bytes here.
    let whole = known.len().saturating_sub(7);
    match check.landmarks() {
        Some(landmarks) => {
            let mut stand = |start: usize| {
                let eight = known.get(start..).and_then(|rest| rest.first_chunk());
                if eight.is_some_and(|eight| check.passes(u64::from_le_bytes(*eight))) {
                    found(base + start as u64);
                }
            };
            pairs(&known[..known.len().min(whole + 7)], whole, landmarks, &mut stand);
        }
        None => (0..whole).for_each(|start| found(base + start as u64)),
    }
    (whole..chunk.len()).for_each(|start| found(base + start as u64));
}

/// The first so many places where both bytes stand. There are seven bytes behind the last.
fn pairs(bytes: &[u8], places: usize, [one, other]: [Landmark; 2], found: &mut dyn FnMut(usize)) {
    let (Some(ones), Some(others)) = (bytes.get(one.at..), bytes.get(other.at..)) else { return };
    let stands = |landmark: Landmark, byte: u8| byte & landmark.mask == landmark.value;
    let (ones, others) = (ones.as_chunks::<TOGETHER>().0, others.as_chunks::<TOGETHER>().0);
    let mut done = 0;
    for (ones, others) in ones.iter().zip(others) {
        if done + TOGETHER > places {
            break;
        }
        let mut any = 0;
        for (first, second) in ones.iter().zip(others) {
            any |= u8::from(stands(one, *first) & stands(other, *second));
        }
        if any != 0 {
            let both =
                ones.iter().zip(others).map(|(first, second)| stands(one, *first) && stands(other, *second));
            both.enumerate().filter(|(_, both)| *both).for_each(|(at, _)| found(done + at));
        }
        done += TOGETHER;
    }
    (done..places).for_each(found);
}
