//! Pushes by the clock: [`push`] and [`finish`]. Rule: whoever inspects says how long it took, so that one slow pair of
//! signatures and content does not make others wait.

use lockgate_inspect::{Inspection, Progress, Pushed};

/// [`Inspection::push`], timed.
pub fn push<'a>(inspection: &mut Inspection, chunk: &'a [u8]) -> Pushed<'a> {
    let begun = thread_nanos();
    let pushed = inspection.push(chunk);
    inspection.took(thread_nanos().saturating_sub(begun));
    pushed
}

/// [`Inspection::finish`], timed.
pub fn finish(inspection: &mut Inspection) -> Progress {
    let begun = thread_nanos();
    let progress = inspection.finish();
    inspection.took(thread_nanos().saturating_sub(begun));
    progress
}

/// Processor time of this thread so far: a wall clock would also count the times when other programs had the core.
fn thread_nanos() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the structure it is given and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    let (seconds, nanos) = (u64::try_from(now.tv_sec).unwrap_or(0), u64::try_from(now.tv_nsec).unwrap_or(0));
    seconds * 1_000_000_000 + nanos
}
