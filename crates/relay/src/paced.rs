//! Pushes by the clock: [`push`] and [`finish`]. Rule: whoever inspects says how long it took, so that one slow pair of
//! signatures and content does not make others wait.

use lockgate_inspect::{Inspection, Progress, Pushed};
use std::time::Instant;

/// [`Inspection::push`], timed.
pub fn push<'a>(inspection: &mut Inspection, chunk: &'a [u8]) -> Pushed<'a> {
    let begun = Instant::now();
    let pushed = inspection.push(chunk);
    inspection.took(nanos_since(begun));
    pushed
}

/// [`Inspection::finish`], timed.
pub fn finish(inspection: &mut Inspection) -> Progress {
    let begun = Instant::now();
    let progress = inspection.finish();
    inspection.took(nanos_since(begun));
    progress
}

/// By the wall clock, which costs no system call; that it also runs while other programs have the core is allowed for.
fn nanos_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
