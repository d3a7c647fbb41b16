//! Suricata's and Snort's rules, unchanged: ruleset (text → AST), compiler (→ [`Database`]), scanner (chunks → findings).
//! Rule: bytes in, findings out; no file is opened here, and no rule is left out in silence.

mod candidates;
mod classes;
mod compiler;
mod database;
mod decision;
mod ends;
mod evaluate;
mod filled;
mod flow;
mod ftp;
mod hashing;
mod head;
mod hosts;
mod http;
mod kinds;
mod mail;
mod memory;
mod packets;
mod raw;
mod report;
mod ruleset;
mod scanner;
mod search;
mod stream;
mod thresholds;
mod tuning;
mod views;
mod watch;

pub use compiler::{ReadList, Sources};
pub use database::{Clock, Database};
pub use report::{FAILURES_MAX, Failure, Report, Scope};
pub use watch::{Alert, FoundIn, Watch};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod watch_tests;
