//! What commands have in common when they end. Rule: 0 all is well, 1 something was found, 2 something went wrong.

use crate::config::problem::Problem;

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
