//! Memory that was needed for a moment: [`settle`], [`give_back`]. Rule: what loading took besides the database, and what a
//! rush of connections took, is not kept.

use lockgate_relay::server::Upkeep;
use std::time::Duration;

/// How often free pages are looked for.
pub const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(10);

/// What each thread that serves does about it: what is free in its own lists is its own to give back, and a thread that has
/// nothing to do any more would keep it.
pub const UPKEEP: Upkeep = Upkeep { interval: GIVE_BACK_INTERVAL, task: collect };

/// From so many bytes on a piece of memory that is the system's is a mapping of its own: it grows without being copied and
/// leaves no hole.
const MAPPED_BYTES_MIN: libc::c_int = 64 << 10;
/// So much may be free at the heap's end before it shrinks.
const FREE_BYTES_MAX: libc::c_int = 1 << 20;

/// Says once how large pieces of memory are to be had. By itself the system lets the first bound grow with each one that is
/// freed, up to where nothing is mapped and they share a heap.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the calls take no pointer, and the allocator locks itself.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
        libc::mallopt(libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX);
    }
}

/// Gives free pages back to the system. Compiling a database takes a few times its size in small pieces, and a rush leaves
/// holes between what stays; without this the allocators would keep them for the life of the process.
pub fn give_back() {
    lockgate_model::held::let_go();
    collect();
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and the allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn collect() {
    // SAFETY: the call takes no pointer and touches what is free alone.
    unsafe { libmimalloc_sys::mi_collect(true) };
}
