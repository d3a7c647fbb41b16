//! What became of the rules: [`Report`]. Rule: nothing is left out in silence.

use std::fmt;
use std::sync::Arc;

/// A rule that is not in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file's name as it was given.
    pub file: Arc<str>,
    /// The rule's first line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The column in the rule, its lines joined, in bytes from 1, where it is known.
    pub column: Option<usize>,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Where a rule that is loaded can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// In the proxies and on the wire.
    Both,
    /// On the wire alone: it asks for packets, or for protocols that no proxy speaks.
    Wire,
    /// Nowhere: it is about a protocol that is not taken apart.
    Nowhere,
}

/// What became of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rules in use that the proxies ask, and the wire.
    pub both: u64,
    /// Rules in use on the wire alone.
    pub wire: u64,
    /// Rules that are understood and never asked, by the protocol they are about.
    pub unread: std::collections::BTreeMap<&'static str, u64>,
    /// Rules that are not in use.
    pub failed: u64,
    /// Each of those, up to [`FAILURES_MAX`]; the count goes on.
    pub failures: Vec<Failure>,
    /// Of each file of which no rule is in use, though there are some, the first.
    pub useless: Vec<Failure>,
}

/// How many failures are listed.
pub const FAILURES_MAX: usize = 100_000;

impl Report {
    /// Rules in use.
    pub fn rules_loaded(&self) -> u64 {
        self.both + self.wire
    }

    /// Rules that are not.
    pub fn rules_failed(&self) -> u64 {
        self.failed + self.unread.values().sum::<u64>()
    }

    pub(crate) fn fail(&mut self, file: &Arc<str>, line: u32, column: Option<usize>, reason: String) {
        self.failed += 1;
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(Failure { file: Arc::clone(file), line, column, reason });
        }
    }
}
