//! What became of the database files: [`Report`]. Rule: nothing is left out in silence.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The kinds of database files that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// MD5 of whole files.
    Hdb,
    /// SHA1 and SHA256 of whole files.
    Hsb,
    /// Body signatures.
    Ndb,
    /// Logical signatures.
    Ldb,
    /// MD5 of files that are in order.
    Fp,
    /// SHA1 and SHA256 of files that are in order.
    Sfp,
    /// Names of signatures to leave out, the historical form.
    Ign,
    /// Names of signatures to leave out.
    Ign2,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Hdb, Self::Hsb, Self::Ndb, Self::Ldb, Self::Fp, Self::Sfp, Self::Ign, Self::Ign2];

    /// The ending of a file's name, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hdb => "hdb",
            Self::Hsb => "hsb",
            Self::Ndb => "ndb",
            Self::Ldb => "ldb",
            Self::Fp => "fp",
            Self::Sfp => "sfp",
            Self::Ign => "ign",
            Self::Ign2 => "ign2",
        }
    }

    /// The kind that a file's name ends in.
    pub fn of_file(file_name: &str) -> Option<Self> {
        let (_, ending) = file_name.rsplit_once('.')?;
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(ending))
    }
}

/// What became of the lines of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Signatures or entries in use.
    pub loaded: u64,
    /// Lines that are not in use; each stands in [`Report::failures`] with its reason.
    pub failed: u64,
    /// Signatures that an ignore list names.
    pub ignored: u64,
    /// Signatures for other functionality levels than ClamAV 1.4's.
    pub other_engine: u64,
}

/// A line that is not in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file's name as it was given.
    pub file: Arc<str>,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The column in bytes, from 1, where it is known.
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

/// A file of a kind that is not understood yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFile {
    /// The file's name as it was given.
    pub file: Arc<str>,
    /// Its ending without the dot; empty if it has none.
    pub kind: String,
}

/// What became of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By kind; a kind of which no file was given is missing.
    pub counts: BTreeMap<Kind, Count>,
    /// Each line that is not in use, up to [`FAILURES_MAX`]; the counts go on.
    pub failures: Vec<Failure>,
    /// Files of other kinds.
    pub unknown: Vec<UnknownFile>,
}

/// How many failures are listed.
pub const FAILURES_MAX: usize = 100_000;

impl Report {
    /// Signatures and entries in use, of all kinds.
    pub fn signatures_loaded(&self) -> u64 {
        self.counts.values().map(|count| count.loaded).sum()
    }

    /// Lines not in use, of all kinds.
    pub fn signatures_failed(&self) -> u64 {
        self.counts.values().map(|count| count.failed).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_the_kind() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_file(&format!("/a.b/daily.{}", kind.name())), Some(kind));
        }
        assert_eq!(Kind::of_file("MAIN.NDB"), Some(Kind::Ndb));
        for name in ["daily.cvd", "a.yar", "ndb", "a.ndb/README", ""] {
            assert_eq!(Kind::of_file(name), None, "{name}");
        }
    }
}
