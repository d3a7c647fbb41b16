//! Signatures, compiled of their sources or as they were compiled before: [`load`]. Rule: what was kept is used only where it was
//! made of these very bytes by this very program.

use crate::config::{Cache, Config, Source, source_name};
use crate::loading::files_below;
use crate::stored::Kept;
use lockgate_antivirus::{Database, Failure, Report, Sources};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The demonstration signatures within the program.
pub const DEMONSTRATION: &[u8] = include_bytes!("../../../config/demonstration.ndb");
/// How they are called in findings.
pub const DEMONSTRATION_NAME: &str = "builtin:demonstration.ndb";

/// Sources smaller than this are compiled sooner than a file is looked for, so nobody finds one beside his own few rules.
const KEPT_BYTES_MIN: u64 = 256 << 10;
/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// What a compiled database was made of: a digest of the names and bytes of all its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

/// Compiled signatures, shared by the generations that have the same sources.
pub struct Signatures {
    /// What is scanned with.
    pub database: Arc<Database>,
    /// What became of the sources.
    pub report: Report,
    /// `None` where not all of them could be read.
    key: Option<Key>,
}

/// What [`load`] came to.
pub struct Read {
    /// The signatures.
    pub signatures: Arc<Signatures>,
    /// What keeps them from being used.
    pub errors: Vec<String>,
    /// What became of those that were kept, where that is of interest.
    pub notes: Vec<String>,
}

/// A file of signatures.
struct Listed {
    name: String,
    from: From,
}

enum From {
    Program(&'static [u8]),
    Path(PathBuf),
    /// It is only named in the report, so its bytes need not be read.
    Nowhere,
}

/// Loads all signatures that the configuration names, in the cheapest way there is.
pub fn load(config: &Config, before: Option<&Arc<Signatures>>) -> Read {
    let (files, mut errors) = list(config);
    let (key, mut notes) = (key_of(&files).ok().filter(|_| errors.is_empty()), Vec::new());
    if let Some(before) = before.filter(|before| key.is_some() && before.key == key.map(|(key, _)| key)) {
        return Read { signatures: Arc::clone(before), errors, notes };
    }
    let is_large = key.is_some_and(|(_, bytes)| bytes >= KEPT_BYTES_MIN);
    let kept = match &config.cache {
        Cache::Off => Kept::nowhere(),
        Cache::Auto if !is_large => Kept::nowhere(),
        Cache::Auto => Kept::of(config, None),
        Cache::In(directory) => Kept::of(config, Some(directory)),
    };
    if let Some((key, _)) = key
        && let Some((database, report)) = kept.load(key, &mut notes)
    {
        let signatures = Signatures { database: Arc::new(database), report, key: Some(key) };
        return Read { signatures: Arc::new(signatures), errors, notes };
    }
    let Compiled { database, report, key } = compile(&files, &mut errors);
    let key = key.filter(|_| errors.is_empty());
    if let Some(key) = key
        && let Err(note) = kept.store(key, &database, &report)
    {
        notes.push(note);
    }
    Read { signatures: Arc::new(Signatures { database: Arc::new(database), report, key }), errors, notes }
}

/// Every file of signatures, in the order that decides which of two alike is told, and why some are none.
fn list(config: &Config) -> (Vec<Listed>, Vec<String>) {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    for source in &config.databases {
        let found = match source {
            Source::Demonstration => {
                let from = From::Program(DEMONSTRATION);
                vec![Ok(Listed { name: DEMONSTRATION_NAME.to_owned(), from })]
            }
            Source::Path(path) if path.is_dir() => match files_below(path) {
                Ok(below) => below.into_iter().map(listed).collect(),
                Err(error) => vec![Err(unread(path, &error))],
            },
            Source::Path(path) => vec![listed(path.clone())],
        };
        for file in found {
            match file {
                Ok(file) => files.push(file),
                Err(error) => errors.push(error),
            }
        }
    }
    if config.databases.is_empty() {
        errors.push(format!(
            "{}: antivirus.databases is empty: name a file or directory, or {:?}",
            config.file,
            Source::DEMONSTRATION
        ));
    }
    (files, errors)
}

fn listed(path: PathBuf) -> Result<Listed, String> {
    let name = path.display().to_string();
    if lockgate_antivirus::is_database(&name) {
        return Ok(Listed { name, from: From::Path(path) });
    }
    // What is only named must be there, too.
    std::fs::metadata(&path).map_err(|error| unread(&path, &error))?;
    Ok(Listed { name, from: From::Nowhere })
}

fn unread(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be read: {error}", path.display())
}

/// The digest of what there is, and how many bytes it is. It is read a piece at a time, and not kept: mostly nobody needs it.
fn key_of(files: &[Listed]) -> io::Result<(Key, u64)> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut chunk = vec![0; CHUNK_BYTES];
    for file in files {
        begin(&mut digest, file);
        let mut length = 0;
        match &file.from {
            From::Nowhere => {}
            From::Program(content) => {
                digest.update(content);
                length += content.len() as u64;
            }
            From::Path(path) => {
                let mut content = File::open(path)?;
                loop {
                    let got = content.read(&mut chunk)?;
                    if got == 0 {
                        break;
                    }
                    digest.update(&chunk[..got]);
                    length += got as u64;
                }
            }
        }
        digest.update(length.to_le_bytes());
        bytes += length;
    }
    Ok((Key(digest.finalize().into()), bytes))
}

fn begin(digest: &mut Sha256, file: &Listed) {
    digest.update((file.name.len() as u64).to_le_bytes());
    digest.update(file.name.as_bytes());
}

/// What was compiled, and of what.
struct Compiled {
    database: Database,
    report: Report,
    key: Option<Key>,
}

fn compile(files: &[Listed], errors: &mut Vec<String>) -> Compiled {
    let (mut sources, mut lines, mut digest) = (Sources::new(), HashMap::new(), Sha256::new());
    let mut is_whole = true;
    for file in files {
        let content = match &file.from {
            From::Nowhere => Vec::new(),
            From::Program(content) => content.to_vec(),
            From::Path(path) => match std::fs::read(path) {
                Ok(content) => content,
                Err(error) => {
                    errors.push(unread(path, &error));
                    is_whole = false;
                    continue;
                }
            },
        };
        // Once more, of what is compiled now: it may have changed since it was looked at.
        begin(&mut digest, file);
        digest.update(&content);
        digest.update((content.len() as u64).to_le_bytes());
        lines.insert(file.name.as_str(), signature_lines(&content));
        sources.add(&file.name, content);
    }
    let (database, report) = sources.compile();
    errors.extend(broken_files(&report, &lines));
    Compiled { database, report, key: is_whole.then(|| Key(digest.finalize().into())) }
}

/// How many lines ought to be signatures.
fn signature_lines(content: &[u8]) -> usize {
    let is_signature = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    content.split(|c| *c == b'\n').filter(is_signature).count()
}

/// Whether the file as a whole could not be read.
fn is_container_broken(report: &Report, file: &str) -> bool {
    report.failures.iter().any(|failure| failure.line == 0 && &*failure.file == file)
}

/// Files of which every line is malformed: most likely they are no databases, or were cut off by a full disk. A line that is
/// only not understood yet does not count: a newer database must not keep the gateway from serving.
fn broken_files(report: &Report, lines: &HashMap<&str, usize>) -> Vec<String> {
    let mut failed: HashMap<&str, (usize, &str)> = HashMap::new();
    let is_malformed = |failure: &&Failure| !failure.reason.contains(" yet");
    for failure in report.failures.iter().filter(is_malformed) {
        failed.entry(&failure.file).or_insert((0, &failure.reason)).0 += 1;
    }
    let mut broken: Vec<_> = failed
        .into_iter()
        .filter(|(file, (count, _))| {
            is_container_broken(report, file) || lines.get(*file).is_some_and(|lines| *count >= *lines)
        })
        .map(|(file, (count, reason))| {
            format!("{file}: none of its {count} signatures can be used; the first: {reason}")
        })
        .collect();
    broken.sort();
    broken
}

/// Names all sources of a configuration, whatever is in them.
pub fn name_of(config: &Config) -> u64 {
    let mut digest = Sha256::new();
    for source in &config.databases {
        let path = source_name(source);
        let path =
            if *source == Source::Demonstration { path } else { std::path::absolute(&path).unwrap_or(path) };
        digest.update(path.as_os_str().as_encoded_bytes());
        digest.update([0]);
    }
    let digest: [u8; 32] = digest.finalize().into();
    digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

#[cfg(test)]
mod tests;
