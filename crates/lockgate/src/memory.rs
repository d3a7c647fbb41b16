//! Memory that was needed for a moment: [`give_back`]. Rule: what loading took besides the database, and what a rush of
//! connections took, is not kept.

use std::time::Duration;

/// How often free pages are looked for.
pub const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(10);

/// Gives free pages back to the system. Compiling a database takes a few times its size in small pieces, and a rush leaves
/// holes between what stays; without this the allocator would keep them for the life of the process.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and the allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}
