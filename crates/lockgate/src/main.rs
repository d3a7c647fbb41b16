//! The gateway's binary. Rule: everything is in the library, where tests and fuzz targets reach it.

use std::process::ExitCode;

/// A page costs about a hundred pieces of memory, most of them short-lived: an allocator whose free lists are each thread's
/// own makes them cheaper, and holds less for long downloads than a heap with holes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lockgate::run()
}
