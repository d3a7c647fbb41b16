//! What every candidate searches for: [`Signatures`]. Rule: the same database files for all of a run.

use crate::mail;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names a directory of ClamAV databases, to be loaded in place of random signatures.
const DATABASES: &str = "BENCH_DATABASES";
/// What a database's name may end in.
const ENDINGS: [&str; 8] = ["ndb", "ldb", "hdb", "hsb", "mdb", "fp", "ign2", "cdb"];

/// Database files by name.
pub struct Signatures {
    /// What they are called in reports.
    pub name: String,
    files: Vec<(String, Vec<u8>)>,
}

impl Signatures {
    /// One database of this text (`.ndb`).
    pub fn of(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), files: vec![("bench.ndb".to_owned(), text.into_bytes())] }
    }

    /// So many random ones.
    pub fn random(count: usize) -> Self {
        Self::of(&format!("{count} random signatures"), mail::random_signatures(count))
    }

    /// Those of the directory that `BENCH_DATABASES` names, or so many random ones.
    ///
    /// # Errors
    ///
    /// Where the directory cannot be read or holds no database.
    pub fn named_or_random(count: usize) -> std::io::Result<Self> {
        let Some(directory) = std::env::var_os(DATABASES).map(PathBuf::from) else {
            return Ok(Self::random(count));
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            let is_database = path.extension().is_some_and(|end| ENDINGS.contains(&&*end.to_string_lossy()));
            if let Some(name) = path.file_name().filter(|_| is_database) {
                files.push((name.to_string_lossy().into_owned(), fs::read(&path)?));
            }
        }
        if files.is_empty() {
            return Err(std::io::Error::other(format!(
                "{DATABASES}: no database in {}",
                directory.display()
            )));
        }
        files.sort();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        Ok(Self { name: names.join(", "), files })
    }

    /// Writes them into a directory of their own, which is made.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn write(&self, directory: &Path) -> std::io::Result<()> {
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory)?;
        self.files.iter().try_for_each(|(name, bytes)| fs::write(directory.join(name), bytes))
    }

    /// The texts of the databases with this ending.
    pub fn texts(&self, ending: &str) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let files = self.files.iter().filter(move |(name, _)| name.rsplit('.').next() == Some(ending));
        files.map(|(_, bytes)| String::from_utf8_lossy(bytes))
    }

    /// The gateway's own engine, with all of them.
    pub fn compile(&self) -> lockgate_antivirus::Database {
        let mut sources = lockgate_antivirus::Sources::new();
        self.files.iter().for_each(|(name, bytes)| sources.add(name, bytes));
        sources.compile().0
    }
}
