//! The gateway's binary. Rule: everything is in the library, where tests and fuzz targets reach it, but the allocator, which is
//! the program's own.

mod allocator;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    lockgate::run()
}
