//! What commands have in common when they end. Rule: 0 all is well, 1 something was found, 2 something went wrong.

use crate::config::Problem;
use std::io::Write;

/// All is well.
pub const EXIT_CLEAN: u8 = 0;
/// Something was found.
pub const EXIT_FOUND: u8 = 1;
/// Something went wrong.
pub const EXIT_WRONG: u8 = 2;

/// Says what is wrong with a configuration.
pub fn say_problems(problems: &[Problem]) -> u8 {
    for problem in problems {
        eprintln!("lockgate: {problem}");
    }
    EXIT_WRONG
}

/// To standard output. Whoever reads it may have had enough of it (`| head`): then there is nobody left to tell.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
