//! From a configuration to a database of web lists: [`load`]. Rule: as with signatures, what cannot be read, or a list of which
//! nothing can be used, is an error, so that a reload keeps what was loaded.

use crate::clock;
use crate::config::{Config, GroupLists, Source};
use crate::loading::files_below;
use lockgate_webfilter::{Compiled, Database, Grouped, Include, Kept, Key, Kind, Report, Sources};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The demonstration lists within the program.
pub const DEMONSTRATION: [(&str, &[u8]); 3] = [
    ("builtin:bannedsitelist", include_bytes!("../../../config/demonstration/bannedsitelist")),
    ("builtin:bannedurllist", include_bytes!("../../../config/demonstration/bannedurllist")),
    ("builtin:exceptionurllist", include_bytes!("../../../config/demonstration/exceptionurllist")),
];

/// How deep lists may include each other.
const INCLUDE_DEPTH_MAX: usize = 16;

/// What was loaded, and what was not.
pub struct Lists {
    /// Ready to be asked.
    pub database: Grouped,
    /// What became of the lines.
    pub report: Report,
    /// What keeps it from serving.
    pub errors: Vec<String>,
}

/// Loads every list that the configuration names, once for each set of lists that some group has, whatever their limits.
pub fn load(config: &Config) -> Lists {
    let (first, mut report, mut errors) = load_set(&config.lists, config, Kept::Deciding);
    let mut first = Set::new(first);
    let mut database = Grouped::new(first.with_limit(config.phrases.points_max));
    let mut sets = HashMap::from([(None, first)]);
    let mut known: HashSet<String> = errors.iter().cloned().collect();
    for GroupLists { group, lists, points_max } in &config.group_lists {
        let own = lists.as_ref().filter(|own| **own != config.lists);
        let set = sets.entry(own).or_insert_with(|| {
            let (compiled, more, wrong) = load_set(own.unwrap_or(&config.lists), config, Kept::Deciding);
            report.add(more);
            errors.extend(wrong.into_iter().filter(|wrong| known.insert(wrong.clone())));
            Set::new(compiled)
        });
        database = database.with(group, set.with_limit(points_max.unwrap_or(config.phrases.points_max)));
    }
    Lists { database, report, errors }
}

/// The lists that some groups have, for each of their limits.
struct Set {
    compiled: Compiled,
    of_limit: HashMap<i32, Arc<Database>>,
}

impl Set {
    fn new(compiled: Compiled) -> Self {
        Self { compiled, of_limit: HashMap::new() }
    }

    fn with_limit(&mut self, points_max: i32) -> Arc<Database> {
        let database = || Arc::new(self.compiled.with_limit(points_max));
        Arc::clone(self.of_limit.entry(points_max).or_insert_with(database))
    }
}

/// The lists of one group with every line of theirs, for who asks what lists something; and what keeps them from serving. It
/// takes more memory than a gateway needs.
pub fn load_whole(config: &Config, group: &str) -> (Database, Vec<String>) {
    let own = config.group_lists.iter().find(|own| own.group == group);
    let sources = own.and_then(|own| own.lists.as_ref()).unwrap_or(&config.lists);
    let points_max = own.and_then(|own| own.points_max).unwrap_or(config.phrases.points_max);
    let (compiled, _, errors) = load_set(sources, config, Kept::Every);
    (compiled.with_limit(points_max), errors)
}

/// One set of lists: for any limit, what became of the lines, and what keeps it from serving.
fn load_set(sources: &[Source], config: &Config, kept: Kept) -> (Compiled, Report, Vec<String>) {
    let mut reading = Reading::new();
    reading.sources.keep(kept);
    reading.sources.judge_phrases_by(config.phrases);
    reading.sources.set_files(config.files);
    for source in sources {
        match source {
            Source::Demonstration => {
                for (name, bytes) in DEMONSTRATION {
                    reading.sources.add(name, bytes);
                }
            }
            Source::Path(path) => reading.path(path),
        }
    }
    let Reading { sources, mut errors, .. } = reading.finish();
    let (compiled, report) = sources.compile_for_limits(Arc::new(clock::local));
    let is_malformed = |failure: &&lockgate_webfilter::Failure| !failure.reason.contains(" yet");
    errors.extend(report.useless.iter().filter(is_malformed).map(|first| {
        format!(
            "{}:{}: none of the file's lines can be used, this is the first: {}",
            first.file, first.line, first.reason
        )
    }));
    (compiled, report, errors)
}

/// Nobody outside may know under which key names are hashed, or he could look for two that meet.
fn drawn_key() -> Key {
    let chance = RandomState::new();
    Key(chance.hash_one(0), chance.hash_one(1))
}

struct Reading {
    sources: Sources,
    errors: Vec<String>,
    /// Files of no known kind: what they are may still be told by the list that includes them.
    unknown: Vec<PathBuf>,
    included: HashSet<PathBuf>,
}

impl Reading {
    fn new() -> Self {
        let sources = Sources::new(drawn_key());
        Self { sources, errors: Vec::new(), unknown: Vec::new(), included: HashSet::new() }
    }

    fn finish(mut self) -> Self {
        for path in std::mem::take(&mut self.unknown) {
            if !path.canonicalize().is_ok_and(|path| self.included.contains(&path)) {
                self.sources.add_unknown(&path.display().to_string());
            }
        }
        self
    }

    fn path(&mut self, path: &Path) {
        let read = if path.is_dir() { self.directory(path) } else { self.file(path) };
        if let Err(error) = read {
            self.errors.push(format!("{}: cannot be read: {error}", path.display()));
        }
    }

    /// Where there are e2guardian's lists, they say what else is in use: its `blacklists` are, or are not, included.
    fn directory(&mut self, directory: &Path) -> io::Result<()> {
        let files = files_below(directory)?;
        let kind = |path: &PathBuf| Kind::of_file(&path.display().to_string());
        let is_e2guardian = files.iter().any(|path| kind(path).is_some_and(Kind::is_e2guardian));
        for path in files {
            let is_text = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt"));
            let is_list = match kind(&path) {
                Some(kind) => kind.is_e2guardian() || !is_e2guardian,
                None => is_text && !is_e2guardian,
            };
            match is_list {
                true => {
                    if let Err(error) = self.file(&path) {
                        self.errors.push(format!("{}: cannot be read: {error}", path.display()));
                    }
                }
                false if kind(&path).is_none() => self.unknown.push(path),
                false => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        let bytes = std::fs::read(path)?;
        let includes = self.sources.add(&path.display().to_string(), &bytes);
        let mut above = HashSet::from([path.to_owned()]);
        self.includes(path, includes, &mut above);
        Ok(())
    }

    /// Reads what a list includes, and what that includes. `above` are the files that are being read.
    fn includes(&mut self, by: &Path, includes: Vec<Include>, above: &mut HashSet<PathBuf>) {
        for include in includes {
            let path = by.parent().unwrap_or(Path::new("")).join(&include.path);
            let read = match above.len() < INCLUDE_DEPTH_MAX && above.insert(path.clone()) {
                true => std::fs::read(&path).map_err(|error| format!("cannot be read: {error}")),
                false => Err("lists include each other in a circle, or too deep".to_owned()),
            };
            match read {
                Ok(bytes) => {
                    self.included.extend(path.canonicalize());
                    let below = self.sources.include(&include, &path.display().to_string(), &bytes);
                    self.includes(&path, below, above);
                    above.remove(&path);
                }
                Err(reason) => {
                    self.errors.push(format!(
                        "{}:{}: {}: {reason}",
                        by.display(),
                        include.line,
                        include.path
                    ));
                    self.sources.include_failed(&include, &reason);
                }
            }
        }
    }
}

/// The files that hold the configured lists, for looking a line up again: those of the group first, since others may have some
/// of the same names.
pub fn files(config: &Config, group: &str) -> Vec<PathBuf> {
    let of = |source: &Source| match source {
        Source::Demonstration => Vec::new(),
        Source::Path(path) if path.is_dir() => files_below(path).unwrap_or_default(),
        Source::Path(path) => vec![path.clone()],
    };
    let (own, others): (Vec<_>, Vec<_>) = config.group_lists.iter().partition(|own| own.group == group);
    let sets = own.iter().filter_map(|own| own.lists.as_ref()).chain([&config.lists]);
    sets.chain(others.iter().filter_map(|own| own.lists.as_ref())).flatten().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use lockgate_webfilter::Address;

    fn config(lists: &[PathBuf]) -> Config {
        let mut config = Config::load(None).unwrap();
        config.lists = lists.iter().cloned().map(Source::Path).collect();
        config
    }

    fn rule(lists: &Lists, url: &str) -> String {
        let decision = lists.database.of("default").decide(&Address::parse(url).unwrap(), clock::local());
        decision.by.map_or_else(String::new, |by| by.rule())
    }

    #[test]
    fn the_demonstration_lists_load() {
        let lists = load(&Config::load(None).unwrap());
        assert_eq!(lists.errors, [""; 0]);
        assert_eq!((lists.report.lines_loaded(), lists.report.lines_failed()), (3, 0));
        assert_eq!(rule(&lists, "http://www.blocked.example/"), "builtin:bannedsitelist:3");
        assert_eq!(rule(&lists, "http://news.example/games/1"), "builtin:bannedurllist:3");
    }

    #[test]
    fn of_e2guardians_directory_only_what_it_includes() {
        let scratch = Scratch::new("lists-e2guardian");
        scratch.write("group/bannedsitelist", ".Include<../blacklists/games/domains>\n.Include<own>\n");
        scratch.write("group/own", "own.example\n.Include<own>\n");
        scratch.write("blacklists/games/domains", "games.example\n");
        scratch.write("blacklists/news/domains", "news.example\n");
        scratch.write("README", "what this is\n");
        let lists = load(&config(&[scratch.path().to_owned()]));
        assert_eq!(rule(&lists, "games.example"), "games/domains:1");
        assert_eq!(rule(&lists, "own.example"), "own:1");
        assert_eq!(rule(&lists, "news.example"), "");
        assert_eq!(lists.errors.len(), 1, "{:?}", lists.errors);
        assert!(lists.errors[0].contains("own:2: own: lists include each other"), "{:?}", lists.errors);
        assert_eq!(lists.report.unknown.len(), 1);
        let alone = load(&config(&[scratch.path().join("blacklists")]));
        assert_eq!(rule(&alone, "news.example"), "news/domains:1");
    }

    #[test]
    fn groups_have_lists_of_their_own_and_share_what_is_the_same() {
        let scratch = Scratch::new("lists-groups");
        let strict = scratch.write("strict/bannedsitelist", "games.example\n");
        let broken = scratch.write("broken/bannedsitelist", "<html>\n");
        let mut config = config(&[]);
        let own = |path: &PathBuf| vec![Source::Path(path.clone())];
        let group =
            |group: &str, lists, points_max| GroupLists { group: group.to_owned(), lists, points_max };
        config.group_lists = vec![
            group("pupils", Some(own(&strict)), None),
            group("guests", Some(own(&strict)), None),
            group("staff", Some(Vec::new()), None),
            group("small", None, Some(10)),
        ];
        let lists = load(&config);
        assert_eq!(lists.errors, [""; 0]);
        assert_eq!(lists.report.lines_loaded(), 1, "the same lists are loaded once");
        for (group, expected) in [("pupils", true), ("guests", true), ("staff", false), ("default", false)] {
            let address = Address::parse("games.example").unwrap();
            let decision = lists.database.of(group).decide(&address, clock::local());
            assert_eq!(decision.by.is_some(), expected, "{group}");
        }
        assert!(Arc::ptr_eq(lists.database.of("pupils"), lists.database.of("guests")));
        assert!(Arc::ptr_eq(lists.database.of("staff"), lists.database.of("default")));
        assert!(!Arc::ptr_eq(lists.database.of("small"), lists.database.of("default")));
        // Another limit needs the lists no second time.
        let games = scratch.write("small/bannedsitelist", "games.example\n");
        config.lists = own(&games);
        let lists = load(&config);
        assert_eq!(lists.report.lines_loaded(), 2, "of small, and of strict");
        assert!(lists.database.of("small").shares_names_with(lists.database.of("default")));
        assert!(!lists.database.of("pupils").shares_names_with(lists.database.of("default")));
        config.group_lists.push(group("broken", Some(own(&broken)), None));
        assert!(load(&config).errors[0].contains("broken/bannedsitelist:1:"));
    }

    #[test]
    fn what_keeps_from_serving() {
        let scratch = Scratch::new("lists-broken");
        let broken = scratch.write("bannedsitelist", "<html>\n<body> not a list\n");
        let missing = scratch.path().join("missing");
        let lists = load(&config(&[broken, missing]));
        assert_eq!(lists.errors.len(), 2, "{:?}", lists.errors);
        assert!(lists.errors.iter().any(|e| e.contains("bannedsitelist:1: none of the file's lines")));
        assert!(lists.errors.iter().any(|e| e.contains("missing: cannot be read")));
    }
}
