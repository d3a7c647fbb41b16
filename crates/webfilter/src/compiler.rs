//! List files → [`Database`]. Rule: a line goes in whole or not at all, and what does not is reported.

use crate::database::{Database, Files, Hasher, List, Sort, Sorts};
use crate::filters::{Filter, Filters};
use crate::hash::Key;
use crate::moment::{Clock, TimeLimit};
use crate::networks::{Listed, Networks};
use crate::patterns::{self, Pattern, Patterns};
use crate::phrases::{self, Added, PhraseFile, Said};
use crate::report::Report;
use crate::rewrites::{Rewrites, Rule};
use crate::ruleset::kind::{Content, Rank};
use crate::ruleset::lines::{decoded, lines, raw_lines};
use crate::ruleset::{self, Entry, Fault, Kind, Line, Scope};
use crate::table::{Draft, ListId, Table};
use std::collections::HashMap;
use std::sync::Arc;

/// Which lines are kept of those that list the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// Those that some request or page may be decided by: what a gateway needs.
    #[default]
    Deciding,
    /// Every one, for who wants to know what else lists the same.
    Every,
}

/// List files, to be compiled together.
pub struct Sources {
    kept: Kept,
    hasher: Hasher,
    report: Report,
    lists: Vec<List>,
    drafts: Vec<Draft>,
    sorts: Sorts,
    networks: Vec<Listed>,
    patterns: Vec<Pattern>,
    headers: Vec<Pattern>,
    user_agents: Vec<Pattern>,
    no_searches: Vec<Pattern>,
    clients: Vec<Listed>,
    rules: Vec<Rule>,
    files: Files,
    filters: Vec<Filter>,
    blankets: Vec<(Scope, ListId, u32)>,
    phrases: phrases::Drafts,
    phrase_settings: phrases::Settings,
    /// For each directory of a category, whether its `usage` says that it is good for allowing only.
    usages: HashMap<String, Usage>,
}

/// Lists that are compiled but for the limit of points, which some groups have of their own.
pub struct Compiled {
    database: Database,
    phrases: phrases::Compiled,
}

impl Compiled {
    /// The lists where pages may have so many points. All such share what does not depend on it: the names and the search.
    pub fn with_limit(&self, points_max: i32) -> Database {
        let mut database = self.database.clone();
        if database.phrases.settings.points_max != points_max {
            database.phrases = Arc::new(self.phrases.with_limit(points_max));
        }
        database
    }
}

/// What a category is good for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Usage {
    Banning,
    Allowing,
}

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Loaded,
    PassedOver,
    /// It is about the list, or nothing.
    Said,
}

/// A list that another one wants read in its place. Whoever reads files finds it and gives it to [`Sources::include`].
#[derive(Clone, Debug)]
pub struct Include {
    /// Where it is, as the list says.
    pub path: String,
    /// The line that says so.
    pub line: u32,
    by: ListId,
}

impl Sources {
    /// No files. The key must be drawn at random wherever somebody outside may choose names.
    pub fn new(key: Key) -> Self {
        Self {
            kept: Kept::Deciding,
            hasher: Hasher(key),
            report: Report::default(),
            lists: Vec::new(),
            drafts: Vec::new(),
            sorts: Sorts::default(),
            networks: Vec::new(),
            patterns: Vec::new(),
            headers: Vec::new(),
            user_agents: Vec::new(),
            no_searches: Vec::new(),
            clients: Vec::new(),
            rules: Vec::new(),
            files: Files::default(),
            filters: Vec::new(),
            blankets: Vec::new(),
            phrases: phrases::Drafts::default(),
            phrase_settings: phrases::Settings::default(),
            usages: HashMap::new(),
        }
    }

    /// Which lines are kept of those that list the same.
    pub fn keep(&mut self, kept: Kept) {
        self.kept = kept;
    }

    /// How pages are judged by the phrases of the lists.
    pub fn judge_phrases_by(&mut self, settings: phrases::Settings) {
        self.phrase_settings = settings;
    }

    /// Which types of files may be fetched at all.
    pub fn set_files(&mut self, files: Files) {
        self.files = files;
    }

    /// Adds a file. Its name decides how its bytes are read, or else they do themselves. Answers with the lists that it
    /// includes.
    pub fn add(&mut self, file_name: &str, bytes: &[u8]) -> Vec<Include> {
        let by_content = || Kind::idle(file_name).is_none().then(|| Kind::of_content(bytes)).flatten();
        match Kind::of_file(file_name).or_else(by_content) {
            Some(kind) => self.read(file_name, kind, None, bytes),
            None => {
                self.add_unknown(file_name);
                Vec::new()
            }
        }
    }

    /// A file that nothing can be made of; it is only named in the report.
    pub fn add_unknown(&mut self, file_name: &str) {
        match Kind::idle(file_name) {
            Some(why) => self.report.idle.push((file_name.into(), why)),
            None => self.report.unknown.push(file_name.into()),
        }
    }

    /// Adds a file that a list includes: it is of that list's kind, and has its category where it names none.
    pub fn include(&mut self, include: &Include, file_name: &str, bytes: &[u8]) -> Vec<Include> {
        let Some(by) = self.lists.get(usize::from(include.by)) else { return Vec::new() };
        let kind = by.kind;
        self.read(file_name, kind, Some(include.by), bytes)
    }

    /// An included file cannot be had: the line that includes it fails.
    pub fn include_failed(&mut self, include: &Include, reason: &str) {
        let Some(by) = self.lists.get(usize::from(include.by)) else { return };
        let (file, kind) = (Arc::clone(&by.file), by.kind);
        let count = self.report.counts.entry(kind).or_default();
        count.failed += 1;
        // It was counted when it was read.
        count.loaded = count.loaded.saturating_sub(1);
        self.report.fail(&file, include.line, format!("{}: {reason}", include.path));
    }

    fn read(&mut self, name: &str, kind: Kind, by: Option<ListId>, bytes: &[u8]) -> Vec<Include> {
        if kind.content() == Content::Usage {
            self.read_usage(name, bytes);
            return Vec::new();
        }
        let file: Arc<str> = name.into();
        let Some(id) = ListId::try_from(self.lists.len()).ok().filter(|id| *id < ListId::MAX) else {
            self.report.fail(&file, 0, format!("there are more than {} lists", ListId::MAX));
            return Vec::new();
        };
        let parent = by.and_then(|by| self.lists.get(usize::from(by)));
        let times = parent.map_or_else(Vec::new, |parent| parent.times.clone());
        let inherited = parent.map(|parent| Arc::clone(&parent.category));
        self.lists.push(List {
            file: Arc::clone(&file),
            category: category_of(name).map(Into::into).or(inherited).unwrap_or_else(|| kind.name().into()),
            kind,
            rank: kind.rank(),
            has_entries: false,
            times,
        });
        let mut count = self.report.counts.get(&kind).copied().unwrap_or_default();
        let mut includes = Vec::new();
        let before = (count, self.report.failures.len());
        let mut phrases = PhraseFile::of(kind, id, name, bytes);
        for (number, line) in raw_lines(bytes) {
            let taken = line.map_err(|fault| (fault, None));
            match taken.and_then(|line| self.take_line(line, id, number, &mut phrases, &mut includes)) {
                Ok(Taken::Loaded) => count.loaded += 1,
                Ok(Taken::PassedOver) => count.passed_over += 1,
                Ok(Taken::Said) => {}
                Err((Fault(reason), column)) => {
                    count.failed += 1;
                    self.report.fail_at(&file, number, column, reason);
                }
            }
        }
        self.report.counts.insert(kind, count);
        let (count_before, failures_before) = before;
        if count.loaded == count_before.loaded && count.failed > count_before.failed {
            self.report.useless.extend(self.report.failures.get(failures_before).cloned());
        }
        includes
    }

    /// Takes a line, or says what is wrong with it and, where that is known, where.
    fn take_line(
        &mut self,
        line: &[u8],
        id: ListId,
        number: u32,
        phrases: &mut Option<PhraseFile>,
        includes: &mut Vec<Include>,
    ) -> Result<Taken, (Fault, Option<u32>)> {
        let nowhere = |fault| (fault, None);
        if let Some(file) = phrases {
            return self.take_phrase(line, file, number, includes).map_err(nowhere);
        }
        let Some(content) = self.lists.get(usize::from(id)).map(|list| list.kind.content()) else {
            return Ok(Taken::Said);
        };
        let text = decoded(line);
        let said = ruleset::parse(content, &text).map_err(nowhere)?;
        self.take(said, id, number, includes).map_err(|fault| (fault, column_of_fault(content, &text)))
    }

    /// A line of a phrase list.
    fn take_phrase(
        &mut self,
        line: &[u8],
        file: &mut PhraseFile,
        number: u32,
        includes: &mut Vec<Include>,
    ) -> Result<Taken, Fault> {
        match phrases::parse(line)? {
            Said::Phrase(phrase) => Ok(match self.phrases.add(phrase, file, number) {
                Added::Yes => Taken::Loaded,
                Added::NeverFound => Taken::PassedOver,
            }),
            Said::NoConvert => {
                file.keep_case();
                Ok(Taken::Said)
            }
            Said::Other => match ruleset::parse(Content::Phrases, &decoded(line))? {
                said @ (Line::Include(_) | Line::Category(_) | Line::Time(_)) => {
                    self.take(said, file.list, number, includes)
                }
                _ => Ok(Taken::Said),
            },
        }
    }

    /// Takes what a line says.
    fn take(
        &mut self,
        said: Line,
        id: ListId,
        line: u32,
        includes: &mut Vec<Include>,
    ) -> Result<Taken, Fault> {
        match said {
            Line::Entries(entries) => {
                for entry in entries {
                    self.take_entry(entry, id, line)?;
                }
                Ok(Taken::Loaded)
            }
            Line::Filter(rank, entry) => {
                let list = self.list_of_rank(id, rank)?;
                self.take_entry(entry, list, line)?;
                Ok(Taken::Loaded)
            }
            Line::Include(path) => {
                includes.push(Include { path, line, by: id });
                Ok(Taken::Loaded)
            }
            Line::Category(name) => {
                self.lists[usize::from(id)].category = name.into();
                Ok(Taken::Said)
            }
            Line::Time(limit) => {
                self.lists[usize::from(id)].times.push(limit);
                Ok(Taken::Said)
            }
            Line::PassedOver => Ok(Taken::PassedOver),
            Line::Comment => Ok(Taken::Said),
        }
    }

    /// The list with this rank that stands for the same file: filters say of themselves what they are.
    fn list_of_rank(&mut self, id: ListId, rank: Rank) -> Result<ListId, Fault> {
        let same = self.lists.iter().zip(0..).skip(usize::from(id)).find(|(list, _)| list.rank == rank);
        if let Some((_, same)) = same {
            return Ok(same);
        }
        let list = List { rank, ..self.lists[usize::from(id)].clone() };
        let id = ListId::try_from(self.lists.len()).ok().filter(|id| *id < ListId::MAX);
        self.lists.push(list);
        id.ok_or_else(|| Fault(format!("there are more than {} lists", ListId::MAX)))
    }

    fn take_entry(&mut self, entry: Entry, list: ListId, line: u32) -> Result<(), Fault> {
        self.lists[usize::from(list)].has_entries = true;
        let hasher = self.hasher;
        let mut add = |sort: Sort, name: &str| {
            self.sorts = self.sorts.with(sort);
            self.drafts.push(Draft { hash: hasher.of(sort, name.as_bytes()), list, line });
        };
        match entry {
            Entry::Site(name) => add(Sort::Site, &name),
            Entry::Name(name) => add(Sort::Name, &name),
            Entry::Top(name) => add(Sort::Top, &name),
            Entry::Extension(end) => add(Sort::Extension, &end),
            Entry::MediaType(name) => add(Sort::MediaType, &name),
            // Most are one address, and that needs no range.
            Entry::Network { first, last } if first == last => add(Sort::Address, &first.to_string()),
            Entry::Url { host, path } => {
                let site = hasher.of(Sort::Site, host.as_bytes());
                self.sorts = self.sorts.with(Sort::Site);
                self.drafts.push(Draft { hash: site, list: crate::table::Entry::MARK, line: 0 });
                self.drafts.push(Draft { hash: hasher.url(site, &path), list, line });
            }
            Entry::Network { first, last } => self.networks.push(Listed { first, last, list, line }),
            Entry::Blanket(scope) => self.blankets.push((scope, list, line)),
            Entry::Glob(glob) => self.filters.push(Filter { glob, list, line }),
            Entry::Pattern(text) => push_pattern(&mut self.patterns, text, list, line)?,
            Entry::Header(text) => push_pattern(&mut self.headers, text, list, line)?,
            Entry::UserAgent(text) => push_pattern(&mut self.user_agents, text, list, line)?,
            Entry::NoSearch(text) => push_pattern(&mut self.no_searches, text, list, line)?,
            Entry::Words(words) => add(Sort::Words, &words),
            Entry::Client { first, last } => self.clients.push(Listed { first, last, list, line }),
            Entry::Replacement { purpose, expression, template } => {
                self.rules.push(Rule::new(purpose, &expression, template, list, line).map_err(Fault)?);
            }
        }
        Ok(())
    }

    /// A category's `usage` lists what it is good for, a word a line.
    fn read_usage(&mut self, name: &str, bytes: &[u8]) {
        let mut usage = None;
        for (_, line) in lines(bytes) {
            usage = match line.as_deref() {
                Ok("black") => Some(Usage::Banning),
                Ok("white") if usage.is_none() => Some(Usage::Allowing),
                _ => usage,
            };
        }
        if let (Some(usage), Some((directory, _))) = (usage, name.rsplit_once('/')) {
            self.usages.insert(directory.to_owned(), usage);
        }
    }

    /// Makes a database of all that can be read, and a report of all that cannot. The clock is for lists with time limits.
    pub fn compile(self, clock: Clock) -> (Database, Report) {
        let (compiled, report) = self.compile_for_limits(clock);
        (compiled.database, report)
    }

    /// The same for several limits of points.
    pub fn compile_for_limits(mut self, clock: Clock) -> (Compiled, Report) {
        for list in &mut self.lists {
            let directory = list.file.rsplit_once('/').map_or("", |(directory, _)| directory);
            let is_category = list.kind.is_of_a_category() && list.rank == Rank::Banned;
            if is_category && self.usages.get(directory) == Some(&Usage::Allowing) {
                list.rank = Rank::Grey;
            }
        }
        let patterns = self.patterns_of(|own| &mut own.patterns);
        let headers = self.patterns_of(|own| &mut own.headers);
        let user_agents = self.patterns_of(|own| &mut own.user_agents);
        let no_searches = self.patterns_of(|own| &mut own.no_searches);
        let phrases = self.phrases.compile(self.phrase_settings, self.kept);
        let database = Database {
            hasher: self.hasher,
            lists: self.lists,
            table: Arc::new(match self.kept {
                Kept::Deciding => Table::new(self.drafts),
                Kept::Every => Table::keeping_all(self.drafts),
            }),
            sorts: self.sorts,
            networks: Arc::new(Networks::new(self.networks)),
            patterns: Arc::new(patterns),
            headers: Arc::new(headers),
            user_agents: Arc::new(user_agents),
            no_searches: Arc::new(no_searches),
            clients: Arc::new(Networks::new(self.clients)),
            rewrites: Arc::new(Rewrites::new(self.rules)),
            files: self.files,
            filters: Arc::new(Filters::new(self.hasher.0, self.filters)),
            blankets: self.blankets,
            phrases: Arc::new(phrases.with_limit(self.phrase_settings.points_max)),
            clock,
        };
        (Compiled { database, phrases }, self.report)
    }

    /// Expressions of one sort, all at once; those that find no room are reported.
    fn patterns_of(&mut self, which: fn(&mut Self) -> &mut Vec<Pattern>) -> Patterns {
        let (patterns, left) = Patterns::new(std::mem::take(which(self)));
        for Pattern { list, line, .. } in left {
            if let Some(List { file, kind, .. }) = self.lists.get(usize::from(list)) {
                let count = self.report.counts.entry(*kind).or_default();
                (count.loaded, count.failed) = (count.loaded.saturating_sub(1), count.failed + 1);
                self.report.fail(file, line, "the expression is too large beside the others".to_owned());
            }
        }
        patterns
    }
}

fn push_pattern(to: &mut Vec<Pattern>, text: String, list: ListId, line: u32) -> Result<(), Fault> {
    patterns::check(&text).map_err(Fault)?;
    to.push(Pattern { text, list, line });
    Ok(())
}

/// Where in a line its expression has its fault, from 1.
fn column_of_fault(content: Content, line: &str) -> Option<u32> {
    let (before, expression) = match content {
        Content::Replacements(_) => {
            let (expression, _) = ruleset::replacement::parse(line).ok()?;
            (line.chars().take_while(|c| *c != '"').count() + 1, expression)
        }
        Content::NoSearches => (usize::from(line.starts_with('"')), ruleset::replacement::unquoted(line)),
        Content::Patterns | Content::Headers | Content::UserAgents => {
            (0, ruleset::lines::without_spaced_comment(line))
        }
        _ => return None,
    };
    u32::try_from(before + patterns::fault_offset(expression)? + 1).ok()
}

/// The category that a file's place tells: the directory of `domains`, `urls` and `expressions`.
fn category_of(file_name: &str) -> Option<&str> {
    let (directory, name) = file_name.rsplit_once('/')?;
    let is_category = Kind::of_file(name).is_some_and(Kind::is_of_a_category) && !name.contains('.');
    let category = directory.rsplit('/').next()?;
    (is_category && !category.is_empty()).then_some(category)
}

/// The limits of a list and those that include it: all must hold.
pub(crate) fn all_hold(times: &[TimeLimit], now: crate::moment::Moment) -> bool {
    times.iter().all(|limit| limit.holds(now))
}
