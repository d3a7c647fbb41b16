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
//! What a signature of a target sees: the part's bytes as they are; for text and scripts (target 7) lower-cased text
//! with white space folded, as ClamAV's own normaliser gives it; for HTML (target 3) both.

mod compiler;
mod database;
mod findings;
mod hashes;
mod layout;
mod logical;
mod report;
mod ruleset;
mod scanner;
mod text;

pub use compiler::Sources;
pub use database::Database;
pub use report::{Count, FAILURES_MAX, Failure, Kind, Report, UnknownFile};

#[cfg(test)]
mod tests;
