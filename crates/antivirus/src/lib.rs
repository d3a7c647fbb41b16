//! ClamAV databases, unchanged: ruleset (text → AST), compiler (→ [`Database`]), scanner (chunks → findings).
//! Rule: bytes in, findings out; no file is opened here, and no signature is left out in silence.
//!
//! ```
//! let mut sources = lockgate_antivirus::Sources::new();
//! sources.add("demonstration.ndb", b"Demonstration.Signature:0:*:6465616462656566\n");
//! let (database, report) = sources.compile();
//! assert_eq!((database.signatures(), report.signatures_failed()), (1, 0));
//! ```
//!
//! The formats are those of the ClamAV manual, "Signatures". Names are told as they stand in the database; `clamscan`
//! appends `.UNOFFICIAL` to those that come from outside a signed container.
//!
//! What a signature sees: the part's bytes as they are. Text, scripts and HTML are also read as ClamAV's normaliser
//! gives text (lower case, white space folded), by the signatures of target 7 or 3 and those for any target.

mod compiler;
mod container;
mod database;
mod findings;
mod group;
mod hashes;
mod held;
mod late;
mod layout;
mod logical;
mod perl;
mod programs;
mod report;
mod ruleset;
mod scanner;
mod sections;
mod stored;
mod text;
mod yara;

pub use compiler::Sources;
pub use database::Database;
pub use lockgate_stored::Unfit;
pub use report::{Count, FAILURES_MAX, Failure, Kind, Report, UnknownFile, is_database};
pub use stored::BUILD;

#[cfg(test)]
mod late_tests;
#[cfg(test)]
mod tests;
