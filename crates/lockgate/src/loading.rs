//! From a configuration to a generation of engines: [`load`]. Rule: what cannot be used is named with its place; a path that
//! cannot be read, or a file of which nothing can be used, is an error, so that a reload keeps what was loaded.

use crate::config::{Config, Source, source_name};
use crate::lists::{self, Lists};
use crate::memory;
use crate::rules::{self, Rules};
use crate::signatures::{self, DEMONSTRATION, DEMONSTRATION_NAME, Read, Signatures};
use lockgate_antivirus::Report;
use lockgate_inspect::Generation;
use lockgate_model::Database;
use lockgate_webfilter::Files;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was loaded, and what was not.
pub struct Loaded {
    /// Ready to serve.
    pub generation: Generation,
    /// The signatures in it, for the next generation to share.
    pub signatures: Arc<Signatures>,
    /// What became of the web lists.
    pub list_report: lockgate_webfilter::Report,
    /// What became of the intrusion rules.
    pub rule_report: lockgate_ids::Report,
    /// What keeps it from serving.
    pub errors: Vec<String>,
    /// What does not, and may be of interest.
    pub notes: Vec<String>,
}

impl Loaded {
    /// What became of the signatures.
    pub fn report(&self) -> &Report {
        &self.signatures.report
    }
}

/// Loads everything that the configuration names. Signatures whose sources are those of the generation before are shared with it.
pub fn load(config: &Config, number: u64, before: Option<&Arc<Signatures>>) -> Loaded {
    let Read { signatures, mut errors, notes } = signatures::load(config, before);
    let mut databases: Vec<Arc<dyn Database>> = vec![Arc::clone(&signatures.database) as _];
    let Lists { database, report: list_report, errors: list_errors } = lists::load(config);
    errors.extend(list_errors);
    if list_report.lines_loaded() > 0 || config.files != Files::default() {
        databases.push(Arc::new(database));
    }
    let Rules { database, report: rule_report, errors: rule_errors } = rules::load(config);
    errors.extend(rule_errors);
    if rule_report.both > 0 {
        databases.push(Arc::new(database));
    }
    memory::give_back();
    let generation = Generation {
        number,
        databases,
        policy: Arc::new(config.policy.clone()),
        limits: Arc::new(config.limits.clone()),
    };
    Loaded { generation, signatures, list_report, rule_report, errors, notes }
}

/// Where the signatures come from, in one line.
pub fn sources_line(config: &Config) -> String {
    let names: Vec<_> =
        config.databases.iter().map(|source| source_name(source).display().to_string()).collect();
    names.join(", ")
}

/// Every file in it and below, in the order of names: the order decides which of two alike is told. What is hidden is left
/// out, and what freshclam downloads right now (`tmp.*`). Links to directories are not followed, so that it ends.
pub fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        let entries: io::Result<Vec<_>> = std::fs::read_dir(&path)?.collect();
        let is_wanted = |entry: &std::fs::DirEntry| {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            !name.starts_with(b".") && !name.starts_with(b"tmp.")
        };
        let entries = entries?.into_iter().filter(is_wanted).map(|entry| entry.path());
        let mut entries: Vec<_> = entries.filter(|path| path.is_file() || !path.is_symlink()).collect();
        entries.sort_by(|a, b| b.cmp(a));
        waiting.append(&mut entries);
    }
    Ok(files)
}

/// A line of a database, as a rule's `FILE:LINE` names it: findings bear a file's name without its directory.
pub fn line_of(config: &Config, group: &str, rule: &str) -> Option<Vec<u8>> {
    let (file, line) = rule.rsplit_once(':')?;
    let line = line.parse::<usize>().ok()?.checked_sub(1)?;
    if file == DEMONSTRATION_NAME {
        return DEMONSTRATION.split(|c| *c == b'\n').nth(line).map(<[u8]>::to_vec);
    }
    if let Some((_, bytes)) = lists::DEMONSTRATION.iter().find(|(name, _)| *name == file) {
        return bytes.split(|c| *c == b'\n').nth(line).map(<[u8]>::to_vec);
    }
    if file == rules::DEMONSTRATION_NAME {
        return rules::DEMONSTRATION.split(|c| *c == b'\n').nth(line).map(<[u8]>::to_vec);
    }
    let named = |path: &PathBuf| path.ends_with(file);
    let signatures = config.databases.iter().find_map(|source| match source {
        Source::Demonstration => None,
        Source::Path(path) if path.is_dir() => files_below(path).ok()?.into_iter().find(named),
        Source::Path(path) => Some(path.clone()).filter(named),
    });
    let path = signatures.or_else(|| lists::files(config, group).into_iter().find(named));
    let path = path.or_else(|| rule_files(config).find(named))?;
    BufReader::new(File::open(path).ok()?).split(b'\n').nth(line)?.ok()
}

fn rule_files(config: &Config) -> impl Iterator<Item = PathBuf> + '_ {
    config.rules.iter().flat_map(|source| match source {
        Source::Demonstration => Vec::new(),
        Source::Path(path) => rules::files(path).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn config(databases: &[PathBuf]) -> Config {
        let mut config = Config::load(None).unwrap();
        config.databases = databases.iter().cloned().map(Source::Path).collect();
        config
    }

    #[test]
    fn the_demonstration_signatures_load() {
        let loaded = load(&Config::load(None).unwrap(), 1, None);
        assert_eq!(loaded.errors, [""; 0]);
        assert_eq!((loaded.report().signatures_loaded(), loaded.report().signatures_failed()), (3, 0));
    }

    #[test]
    fn a_directory_is_every_file_in_it_and_below() {
        let scratch = Scratch::new("loading-directory");
        scratch.write("a.ndb", "Good:0:*:6465616462656566\nBad:0:*:zz\n");
        scratch.write("b.cbc", "something else");
        scratch.write(".hidden.ndb", "Bad:0:*:zz\n");
        scratch.write("tmp.download/daily.ndb", "Bad:0:*:zz\n");
        scratch.write("below/further/c.ndb", "Also:0:*:6465616462656566\n");
        let loaded = load(&config(&[scratch.path().to_owned()]), 1, None);
        assert_eq!(loaded.errors, [""; 0]);
        assert_eq!((loaded.report().signatures_loaded(), loaded.report().signatures_failed()), (2, 1));
        assert_eq!(loaded.report().unknown.len(), 1);
    }

    #[test]
    fn a_rule_is_found_again_by_its_file_and_line() {
        let scratch = Scratch::new("loading-line");
        scratch.write("below/a.ndb", "one\ntwo\n");
        let config = config(&[scratch.path().to_owned()]);
        let line =
            |rule: &str| line_of(&config, "default", rule).map(|line| String::from_utf8(line).unwrap());
        assert_eq!(line("a.ndb:2").as_deref(), Some("two"));
        for gone in ["a.ndb:0", "a.ndb:9", "b.ndb:1", "a.ndb", "a.ndb:x"] {
            assert_eq!(line(gone), None, "{gone}");
        }
        let builtin = line(&format!("{DEMONSTRATION_NAME}:3"));
        assert!(builtin.is_some_and(|line| line.starts_with("Demo.Eicar")));
    }

    #[test]
    fn what_keeps_from_serving() {
        let scratch = Scratch::new("loading-broken");
        let broken = scratch.write("broken.ndb", "\u{1}\u{2}not a database\nat all\n");
        let missing = scratch.path().join("missing.ndb");
        let loaded = load(&config(&[broken, missing]), 1, None);
        assert_eq!(loaded.errors.len(), 2, "{:?}", loaded.errors);
        assert!(loaded.errors.iter().any(|e| e.contains("broken.ndb: none of its 2 signatures")));
        assert!(loaded.errors.iter().any(|e| e.contains("missing.ndb: cannot be read")));
        assert_eq!(load(&config(&[]), 1, None).errors.len(), 1);
        let newer = scratch.write(
            "newer.ldb",
            "Newer;Engine:150-255,Target:0;0&1;0:6465616462656566;fuzzy_img#af2ad01ed42993c7#0\n",
        );
        let loaded = load(&config(&[newer]), 1, None);
        assert_eq!(
            (loaded.errors.len(), loaded.report().signatures_failed()),
            (0, 1),
            "{:?}",
            loaded.report()
        );
    }
}
