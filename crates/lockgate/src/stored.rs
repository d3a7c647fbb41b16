//! Compiled signatures in a file: [`Kept`]. Rule: a file that does not fit is no error, it is as if it were not there; and it is
//! whole from the moment that it has its name.
//!
//! Three lines say what it is: the format, the build that made it, the key of what it was made of. The rest is the engine's.
//! Whoever may change the sources may change what is found, so their owner may also own the file; nobody else but us and root.

use crate::config::{Config, Source};
use crate::signatures::{Key, name_of};
use lockgate_antivirus::{BUILD, Database, Report};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// The first line.
const MAGIC: &str = "lockgate signatures 1";
/// Where a service keeps what it could make anew.
const SYSTEM_DIRECTORY: &str = "/var/cache/lockgate";
/// A file on its way for so long has been left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);
/// Who alone may read a file, and who may if everybody may read the sources.
const MODES: (u32, u32) = (0o600, 0o644);

/// Where compiled signatures may be kept, the best place first.
pub struct Kept {
    directories: Vec<PathBuf>,
    file_name: String,
    /// The files of the sources' own places.
    sources: Vec<PathBuf>,
}

impl Kept {
    /// Nowhere.
    pub fn nowhere() -> Self {
        Self { directories: Vec::new(), file_name: String::new(), sources: Vec::new() }
    }

    /// In this directory, or where it is best.
    pub fn of(config: &Config, directory: Option<&Path>) -> Self {
        let paths = config.databases.iter().filter_map(|source| match source {
            Source::Path(path) => Some(path.clone()),
            Source::Demonstration => None,
        });
        let sources: Vec<PathBuf> = paths.collect();
        let directories = match directory {
            Some(directory) => vec![directory.to_owned()],
            None => beside(&sources).into_iter().chain(own_directories()).collect(),
        };
        // It begins with a dot, so that it is not taken for a source.
        Self { directories, file_name: format!(".lockgate-{:016x}", name_of(config)), sources }
    }

    /// What is kept under this key.
    pub fn load(&self, key: Key, notes: &mut Vec<String>) -> Option<(Database, Report)> {
        self.directories.iter().find_map(|directory| {
            let path = directory.join(&self.file_name);
            let why = match self.load_from(&path, key) {
                Ok(loaded) => return Some(loaded),
                Err(Unused::Missing) => return None,
                Err(Unused::Unread(error)) => format!("cannot be read: {error}"),
                Err(Unused::Unfit(why)) => why.to_owned(),
            };
            notes.push(format!("{}: compiled signatures are not used: {why}", path.display()));
            None
        })
    }

    fn load_from(&self, path: &Path, key: Key) -> Result<(Database, Report), Unused> {
        // Of a pipe, opening would wait for somebody to write to it.
        if !fs::metadata(path)?.is_file() {
            return Err(Unused::Unfit("they are none"));
        }
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        if !self.may_own(about.uid()) {
            return Err(Unused::Unfit("somebody else owns them"));
        }
        let header = header(key);
        let mut found = vec![0; header.len()];
        let length = about.len().checked_sub(header.len() as u64).ok_or(Unused::Unfit("they are cut"))?;
        file.read_exact(&mut found)?;
        let (mut lines, mut wanted) = (found.split(|byte| *byte == b'\n'), header.split('\n'));
        for why in ["they are none", "another build made them", "their sources have changed"] {
            if lines.next() != wanted.next().map(str::as_bytes) {
                return Err(Unused::Unfit(why));
            }
        }
        Database::load(&mut file, length).map_err(|unfit| Unused::Unfit(unfit.0))
    }

    fn may_own(&self, owner: u32) -> bool {
        let owner_of = |path: &PathBuf| fs::metadata(path).ok().map(|about| about.uid());
        // The kernel says who we are without a library call.
        let ours = owner_of(&PathBuf::from("/proc/self"));
        let owns_sources = || self.sources.iter().all(|path| owner_of(path) == Some(owner));
        owner == 0 || ours == Some(owner) || (!self.sources.is_empty() && owns_sources())
    }

    /// Keeps them in the first place that takes them.
    ///
    /// # Errors
    ///
    /// Why none does.
    pub fn store(&self, key: Key, database: &Database, report: &Report) -> Result<(), String> {
        let mut why = Vec::new();
        for directory in &self.directories {
            let path = directory.join(&self.file_name);
            match self.store_to(directory, &path, key, database, report) {
                Ok(()) => return Ok(()),
                Err(error) => why.push(format!("{}: {error}", path.display())),
            }
        }
        if why.is_empty() {
            return Ok(());
        }
        Err(format!(
            "compiled signatures are kept nowhere, and compiled again at the next start: {}",
            why.join("; ")
        ))
    }

    fn store_to(
        &self,
        directory: &Path,
        path: &Path,
        key: Key,
        database: &Database,
        report: &Report,
    ) -> io::Result<()> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !directory.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        self.clean(directory);
        let number = NUMBER.fetch_add(1, Relaxed);
        // Of a name that nobody else writes to; two who compile the same at once replace each other's whole files.
        let temporary = directory.join(format!("{}.{}-{number}.tmp", self.file_name, std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODES.0).open(&temporary)?;
        let written = file
            .write_all(header(key).as_bytes())
            .and_then(|()| database.store(report, &mut file))
            .and_then(|()| file.set_permissions(fs::Permissions::from_mode(self.mode())))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Who may read the sources may read what is made of them.
    fn mode(&self) -> u32 {
        let is_open = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.mode() & 0o004 != 0);
        let below = |path: &PathBuf| match crate::loading::files_below(path) {
            Ok(below) if path.is_dir() => below.iter().all(is_open),
            _ => true,
        };
        if self.sources.iter().all(|path| is_open(path) && below(path)) { MODES.1 } else { MODES.0 }
    }

    /// Takes away what writers left that did not come to an end.
    fn clean(&self, directory: &Path) {
        let begin = format!("{}.", self.file_name);
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_left = || {
                let age = entry.metadata().and_then(|about| about.modified()).ok()?.elapsed().ok()?;
                Some(age > LEFT_BEHIND)
            };
            let name = name.to_string_lossy();
            if name.starts_with(&begin) && name.ends_with(".tmp") && is_left() == Some(true) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Why a file is not used.
enum Unused {
    Missing,
    Unread(io::Error),
    Unfit(&'static str),
}

impl From<io::Error> for Unused {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Unread(error),
        }
    }
}

fn header(key: Key) -> String {
    let digits: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{MAGIC}\n{BUILD}\n{digits}\n")
}

/// The directory of the first source.
fn beside(sources: &[PathBuf]) -> Option<PathBuf> {
    let first = sources.first()?;
    if first.is_dir() {
        return Some(first.clone());
    }
    let parent = first.parent()?;
    Some(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() })
}

/// Where a program keeps such things that may write nowhere else.
fn own_directories() -> Vec<PathBuf> {
    let of = |name: &str| {
        let value = std::env::var_os(name)?;
        // systemd names several parted by colons; the first is ours.
        let first = std::env::split_paths(&value).next()?;
        Some(first).filter(|path| path.is_absolute())
    };
    let system = Some(PathBuf::from(SYSTEM_DIRECTORY)).filter(|path| path.is_dir());
    let user = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    [of("CACHE_DIRECTORY"), system, user.map(|path| path.join("lockgate"))].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn only_who_is_trusted_anyway_may_own_the_file() {
        let scratch = Scratch::new("stored-owner");
        let file = scratch.write("a.ndb", "");
        let ours = fs::metadata(&file).unwrap().uid();
        let of = |sources: &[&Path]| Kept {
            sources: sources.iter().map(|path| path.to_path_buf()).collect(),
            ..Kept::nowhere()
        };
        let stranger = 0xfff0;
        for (kept, owner, expected) in [
            (of(&[]), 0, true),
            (of(&[]), ours, true),
            (of(&[]), stranger, false),
            (of(&[&file]), stranger, false),
            (of(&[&file, Path::new("/proc/self")]), ours, true),
            (of(&[&scratch.path().join("missing")]), stranger, false),
        ] {
            assert_eq!(kept.may_own(owner), expected, "{owner}");
        }
    }
}
