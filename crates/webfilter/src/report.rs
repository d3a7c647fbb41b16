//! What became of the lists: [`Report`]. Rule: nothing is left out in silence.

use crate::ruleset::Kind;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What became of the lines of one kind of list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Lines in use.
    pub loaded: u64,
    /// Lines that are not in use; each stands in [`Report::failures`] with its reason.
    pub failed: u64,
    /// Lines that are about something that no gateway sees, such as parts of a page that is shown already.
    pub passed_over: u64,
}

/// A line that is not in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file's name as it was given.
    pub file: Arc<str>,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The character in the line, from 1, where that is known.
    pub column: Option<u32>,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if let Some(column) = self.column {
            write!(f, "column {column}: ")?;
        }
        f.write_str(&self.reason)
    }
}

/// What became of all lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By kind; a kind of which no file was given is missing.
    pub counts: BTreeMap<Kind, Count>,
    /// Each line that is not in use, up to [`FAILURES_MAX`]; the counts go on.
    pub failures: Vec<Failure>,
    /// Of each file of which no line is in use, though there are some, the first.
    pub useless: Vec<Failure>,
    /// Files of kinds that are not understood.
    pub unknown: Vec<Arc<str>>,
    /// Lists that decide nothing here, and why.
    pub idle: Vec<(Arc<str>, &'static str)>,
}

/// How many failures are listed.
pub const FAILURES_MAX: usize = 100_000;

impl Report {
    /// Lines in use, of all kinds.
    pub fn lines_loaded(&self) -> u64 {
        self.counts.values().map(|count| count.loaded).sum()
    }

    /// Lines not in use, of all kinds.
    pub fn lines_failed(&self) -> u64 {
        self.counts.values().map(|count| count.failed).sum()
    }

    /// What became of the lists of several groups together. A file that several have is one whose lines count for each.
    pub fn add(&mut self, other: Self) {
        for (kind, more) in other.counts {
            let count = self.counts.entry(kind).or_default();
            count.loaded += more.loaded;
            count.failed += more.failed;
            count.passed_over += more.passed_over;
        }
        let room = FAILURES_MAX - self.failures.len().min(FAILURES_MAX);
        self.failures.extend(other.failures.into_iter().take(room));
        self.useless.extend(other.useless);
        self.unknown.extend(other.unknown);
        self.idle.extend(other.idle);
    }

    pub(crate) fn fail(&mut self, file: &Arc<str>, line: u32, reason: String) {
        self.fail_at(file, line, None, reason);
    }

    pub(crate) fn fail_at(&mut self, file: &Arc<str>, line: u32, column: Option<u32>, reason: String) {
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(Failure { file: Arc::clone(file), line, column, reason });
        }
    }
}
