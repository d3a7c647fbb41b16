//! Memory that was needed for a moment: [`settle`], [`give_back`]. Rule: what loading took besides the database, and what a
//! rush of connections took, is not kept.

use std::time::Duration;

/// How often free pages are looked for.
pub const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(10);

/// From so many bytes on a piece of memory is the system's own mapping: it grows without being copied and leaves no hole. What
/// is held of a long download is one of these, a page of text is not.
const MAPPED_BYTES_MIN: libc::c_int = 64 << 10;
/// So much may be free at the heap's end before it shrinks.
const FREE_BYTES_MAX: libc::c_int = 1 << 20;

/// Says once how memory is to be had. By itself the allocator lets the first bound grow with each larger piece that is freed,
/// up to where nothing is mapped and long downloads share a heap with what comes and goes.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the calls take no pointer, and the allocator locks itself.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
        libc::mallopt(libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX);
    }
}

/// Gives free pages back to the system. Compiling a database takes a few times its size in small pieces, and a rush leaves
/// holes between what stays; without this the allocator would keep them for the life of the process.
pub fn give_back() {
    lockgate_model::held::let_go();
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and the allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}
