//! Memory after loading: [`give_back`]. Rule: what the loading took besides the database is not kept.

/// Gives free pages back to the system. Compiling a database takes a few times its size in small pieces; without this the
/// allocator would keep them for the life of the process.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and the allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}
