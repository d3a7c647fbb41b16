//! Raw requests and responses, odd ones among them: `http-raw`. Rule: two servers and a reader of our own say what a
//! message means; the gateway passes it with that meaning, or not at all.

mod cases;
mod requests;
mod responses;

use std::path::Path;

/// Runs every case, and prints what became of it.
pub fn check(directory: &Path) -> Vec<String> {
    let cases = cases::Cases::read(directory);
    let mut wrong = requests::check(&cases.requests);
    wrong.extend(responses::check(&cases.responses));
    wrong
}
