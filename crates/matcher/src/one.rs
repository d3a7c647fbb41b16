//! Search for one segment by itself. Rule: finds every place where the bytes of its check stand; it never verifies.

use crate::fragment::Check;
use crate::look::{Hits, LOOKS_MAX, Landmarks};
use crate::view::View;

/// Each offset of the chunk where a segment with this check may start, in order; where that hangs on bytes to come, too.
pub(crate) fn starts(check: &Check, view: &View<'_>, found: &mut dyn FnMut(u64)) {
    let (chunk, base) = (view.chunk(), view.chunk_start());
    let at = check.at as usize;
    let known = chunk.get(at..).unwrap_or_default();
    // The last of them have not all of their eight bytes here.
    let whole = known.len().saturating_sub(7);
    match check.landmarks() {
        Some(landmarks) => {
            let landmarks = Landmarks::new(landmarks);
            let mut hits = Hits::new();
            for first in (0..whole).step_by(LOOKS_MAX) {
                let count = landmarks.look(known, first, LOOKS_MAX.min(whole - first), &mut hits);
                for start in hits.first(count) {
                    let eight = known.get(*start as usize..).and_then(|rest| rest.first_chunk());
                    if eight.is_some_and(|eight| check.passes(u64::from_le_bytes(*eight))) {
                        found(base + u64::from(*start));
                    }
                }
            }
        }
        None => (0..whole).for_each(|start| found(base + start as u64)),
    }
    (whole..chunk.len()).for_each(|start| found(base + start as u64));
}
