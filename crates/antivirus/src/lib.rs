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
//! What a signature sees: the part's bytes as they are, if it is for any target or for the part's own. Text and scripts are
//! also read as ClamAV's normaliser gives text (lower case, white space folded), by the signatures of target 7 and those for
//! any; pages as its three texts of a page, by the signatures of target 3 (these see nothing else), those for any and, what
//! scripts come to, those of target 7. Unlike ClamAV, which reads pages as these texts alone, signatures for any target see
//! a page's bytes as they are, too.

mod asking;
mod asks;
mod compiler;
mod container;
mod database;
mod findings;
mod group;
mod hashes;
mod held;
mod icons;
mod lane;
mod late;
mod layout;
mod logical;
mod needed;
mod page;
mod programs;
mod report;
mod ruleset;
mod scanner;
mod sections;
mod signed;
mod stored;
mod tagged;
mod text;
mod texts;
mod yara;

pub use compiler::Sources;
pub use database::Database;
pub use lockgate_stored::Unfit;
pub use report::{Count, FAILURES_MAX, Failure, Kind, Report, UnknownFile, is_database};
pub use stored::BUILD;

#[cfg(test)]
mod asks_tests;
#[cfg(test)]
mod late_tests;
#[cfg(test)]
mod stored_tests;
#[cfg(test)]
mod tests;
