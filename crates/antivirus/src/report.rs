//! What became of the database files: [`Report`]. Rule: nothing is left out in silence.

use crate::container::proof_of;
use lockgate_stored::{Reader, Stored, Unfit, Writer};
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
    /// MD5 of a Windows program's sections.
    Mdb,
    /// SHA1 and SHA256 of a Windows program's sections.
    Msb,
    /// Digests of a Windows program's import table.
    Imp,
    /// Body signatures.
    Ndb,
    /// Logical signatures.
    Ldb,
    /// What a container says of a file in it.
    Cdb,
    /// Icons that logical signatures name by their groups.
    Idb,
    /// YARA rules.
    Yar,
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
    pub const ALL: [Self; 14] = [
        Self::Hdb,
        Self::Hsb,
        Self::Mdb,
        Self::Msb,
        Self::Imp,
        Self::Ndb,
        Self::Ldb,
        Self::Cdb,
        Self::Idb,
        Self::Yar,
        Self::Fp,
        Self::Sfp,
        Self::Ign,
        Self::Ign2,
    ];

    /// The ending of a file's name, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hdb => "hdb",
            Self::Hsb => "hsb",
            Self::Mdb => "mdb",
            Self::Msb => "msb",
            Self::Imp => "imp",
            Self::Ndb => "ndb",
            Self::Ldb => "ldb",
            Self::Cdb => "cdb",
            Self::Idb => "idb",
            Self::Yar => "yar",
            Self::Fp => "fp",
            Self::Sfp => "sfp",
            Self::Ign => "ign",
            Self::Ign2 => "ign2",
        }
    }

    /// The kind that a file's name ends in. Signatures of unwanted programs stand in files of their own (`.hdu`, `.ndu` …)
    /// and are written like others.
    pub fn of_file(file_name: &str) -> Option<Self> {
        let (_, ending) = file_name.rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        match ending.as_str() {
            "hdu" => Some(Self::Hdb),
            "hsu" => Some(Self::Hsb),
            "mdu" => Some(Self::Mdb),
            "msu" => Some(Self::Msb),
            "ndu" => Some(Self::Ndb),
            "ldu" => Some(Self::Ldb),
            "yara" => Some(Self::Yar),
            ending => Self::ALL.into_iter().find(|kind| kind.name() == ending),
        }
    }
}

/// Whether the bytes of a file of that name are read: it is of a known [`Kind`], or a container of such files.
pub fn is_database(file_name: &str) -> bool {
    Kind::of_file(file_name).is_some() || proof_of(file_name).is_some()
}

/// Why a file of that kind is not read.
pub(crate) fn why_unread(ending: &str) -> &'static str {
    match ending {
        "cbc" => "programs for ClamAV's own machine are not run",
        "ftm" => "types of files are recognised by the gateway itself",
        "info" | "cfg" => "it describes other files, or sets up ClamAV",
        "pdb" | "gdb" | "wdb" => "links that hide where they lead are not judged",
        "crb" | "cat" => "signatures of programs are not verified",
        "pwdb" => "encrypted archives are not opened",
        _ => "it is of no kind that is known",
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

/// A file of a kind that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFile {
    /// The file's name as it was given.
    pub file: Arc<str>,
    /// Its ending without the dot; empty if it has none.
    pub kind: String,
    /// Why it is not read.
    pub reason: &'static str,
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

lockgate_stored::stored!(enum Kind {
    0 => Hdb,
    1 => Hsb,
    2 => Mdb,
    3 => Msb,
    4 => Imp,
    5 => Ndb,
    6 => Ldb,
    7 => Cdb,
    8 => Yar,
    9 => Fp,
    10 => Sfp,
    11 => Ign,
    12 => Ign2,
    13 => Idb,
});
lockgate_stored::stored!(struct Count { loaded, failed, ignored, other_engine });
lockgate_stored::stored!(struct Failure { file, line, column, reason });
lockgate_stored::stored!(struct Report { counts, failures, unknown });

impl Stored for UnknownFile {
    const BYTES_MIN: usize = 8;

    fn store(&self, to: &mut Writer<'_>) {
        // The reason follows from the kind.
        let Self { file, kind, reason: _ } = self;
        file.store(to);
        kind.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let (file, kind) = (Stored::load(from)?, String::load(from)?);
        let reason = why_unread(&kind.to_ascii_lowercase());
        Ok(Self { file, kind, reason })
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
        assert_eq!(Kind::of_file("daily.hdu"), Some(Kind::Hdb));
        assert!(is_database("daily.CLD") && is_database("a.ldu") && !is_database("a.cbc"));
        for name in ["daily.cvd", "a.cbc", "ndb", "a.ndb/README", ""] {
            assert_eq!(Kind::of_file(name), None, "{name}");
        }
    }
}
