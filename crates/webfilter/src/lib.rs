//! Web lists, unchanged: ruleset (text → AST), compiler (→ [`Database`]), scanner (a request's host and path → findings).
//! Rule: bytes in, findings out; no file is opened here, and no line is left out in silence.
//!
//! ```
//! use lockgate_webfilter::{Address, Key, Moment, Outcome, Sources};
//!
//! let mut sources = Sources::new(Key(1, 2));
//! sources.add("bannedsitelist", b"#listcategory: \"Games\"\nplay.example\n");
//! let now = Moment { weekday: 0, minute: 0 };
//! let (database, report) = sources.compile(std::sync::Arc::new(move || now));
//! assert_eq!((report.lines_loaded(), report.lines_failed()), (1, 0));
//! let address = Address::parse("http://www.play.example/chess").unwrap();
//! let decision = database.decide(&address, now);
//! assert_eq!(decision.outcome, Outcome::Banned);
//! let by = decision.by.unwrap();
//! assert_eq!((&*by.file, by.line, &*by.category), ("bannedsitelist", 2, "Games"));
//! ```
//!
//! The lists are those of e2guardian and DansGuardian, in their order: local exceptions, then what is locally grey or banned,
//! then exceptions, grey, banned. Grey sites are not banned, but their content is looked into; exceptions are left alone.
//! Beside them plain lists of domains, hosts files, Adblock filters and the category trees of UT1 and Shalla, all of which
//! ban. What filters except is excepted from filters alone. A category whose file `usage` says `white` and not `black` is grey.
//!
//! Of lines that say the same a database keeps a few, unless it is to keep every one ([`Kept`]): `lockgate url` asks such a one.
//!
//! Names are kept as hashes under a key that the caller draws: a name that is not listed is taken for one that is once in
//! 2⁶⁴ / names look-ups, and nobody who has not the key can look for such a name (see `table`).

mod address;
mod asking;
mod compiler;
mod content_type;
#[cfg(test)]
mod cut_tests;
mod database;
mod decision;
mod earlier;
mod filters;
mod grouped;
mod hash;
mod moment;
mod networks;
mod patterns;
pub mod phrases;
mod report;
mod request;
mod rewriter;
mod rewrites;
#[cfg(test)]
mod rules_tests;
mod ruleset;
mod scanner;
#[cfg(test)]
mod scanner_tests;
mod table;

pub use address::Address;
pub use compiler::{Compiled, Include, Kept, Sources};
pub use content_type::ContentType;
pub use database::{Database, Files};
pub use decision::{Decision, Listing, Outcome};
pub use grouped::Grouped;
pub use hash::Key;
pub use moment::{Clock, Moment};
pub use report::{Count, FAILURES_MAX, Failure, Report};
pub use request::Request;
pub use ruleset::Kind;

#[cfg(test)]
mod tests;
