//! The gateway's binary. Rule: everything is in the library, where tests and fuzz targets reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lockgate::run()
}
