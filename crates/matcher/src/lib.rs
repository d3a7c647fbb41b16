//! Many patterns, one pass, streaming. Rule: a stream gives the same matches however it is cut.
//!
//! [`PatternSet`] → [`Database`] (immutable, shared) → [`Scanner`] (a few words for each stream).
//!
//! # What is reported
//!
//! A pattern is cut into *segments* at its open gaps (`*`, `{n-}`) and at gaps that vary by more than 128 bytes.
//!
//! * A pattern of one segment is reported once for each offset it starts at, with the shortest match from there.
//! * One whose ends are counted ([`CountedBy::Ends`]) is reported once for each place where it ends behind a gap, with the first
//!   start that leads there.
//! * A pattern of several is reported once for each place where its last segment matches behind the others, with the
//!   shortest match of that segment; `start` is the start of a first segment that leads there, the earliest where
//!   several do without a break between them.
//! * A match is reported by the call that brings its last byte (with `(B)`, `(L)`, `(W)` at the pattern's end: the byte
//!   after it, or [`Scanner::finish`]), in order of that byte, then of the pattern, then of the start.
//!
//! # Bounds
//!
//! Verification of one start costs at most the pattern's length times how much its length may vary (256 bytes in a
//! segment); what starts in a row have looked through behind a gap, the next one does not. A stream keeps a tail of
//! [`Database::tail_bytes`], one entry for each start that still agrees and waits for bytes, and for each segment but the
//! first at most 256 ranges of offsets where it may begin. Where more would be needed, ranges are joined: a match is never
//! lost, and one too many may be reported.

mod blocks;
mod candidates;
mod classes;
mod database;
mod encoded;
mod fragment;
mod links;
mod look;
mod one;
mod places;
mod plan;
mod program;
mod rates;
mod runs;
mod scanner;
mod segment;
mod set;
mod short;
mod view;
mod wildcard;

pub use database::Database;
pub use look::Marks;
pub use scanner::{Interest, Match, Scanner, Sought};
pub use segment::Case;
pub use set::{Anchor, CompileError, PatternError, PatternId, PatternSet, Rarity};
pub use wildcard::{BRANCH_BYTES_MAX, BRANCHES_MAX, CountedBy, TEXT_LENGTH_MAX, Wildcard, WildcardError};

#[cfg(test)]
mod tests;
