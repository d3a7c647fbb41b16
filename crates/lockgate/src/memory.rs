//! Memory that was needed for a moment: [`give_back`]. Rule: what loading took besides the database, and what a rush of
//! connections took, is not kept.

use lockgate_relay::server::Upkeep;
use std::time::Duration;

/// How often free pages are looked for.
pub const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(10);

/// What each thread that serves does about it: what is free in its own lists is its own to give back, and a thread that has
/// nothing to do any more would keep it.
pub const UPKEEP: Upkeep = Upkeep { interval: GIVE_BACK_INTERVAL, task: collect };

/// Gives free pages back to the system. Compiling a database takes a few times its size in small pieces, and a rush leaves
/// holes between what stays; without this the allocator would keep them for the life of the process.
pub fn give_back() {
    lockgate_model::held::let_go();
    collect();
}

fn collect() {
    // SAFETY: the call takes no pointer and touches what is free alone.
    unsafe { libmimalloc_sys::mi_collect(true) };
}
