//! Compiled lists: [`Database`]. Rule: immutable and compact; text is made only for what is found.

use crate::address::{Address, pieces};
use crate::compiler::all_hold;
use crate::decision::{Decision, Listing, Outcome};
use crate::filters::Filters;
use crate::hash::Key;
use crate::moment::{Clock, Moment, TimeLimit};
use crate::networks::Networks;
use crate::patterns::Patterns;
use crate::phrases::{Page, Phrases, Score, Told};
use crate::rewrites::Rewrites;
use crate::ruleset::kind::Rank;
use crate::ruleset::site::EXTENSION_BYTES_MAX;
use crate::ruleset::{Kind, Scope};
use crate::scanner;
use crate::table::{Entry, ListId, Table};
use lockgate_model::{Buffer, BufferSet, Engine, Flow, FlowState};
use std::borrow::Cow;
use std::sync::Arc;

/// All lists, ready to be asked. A clone shares what is large.
#[derive(Clone)]
pub struct Database {
    pub(crate) hasher: Hasher,
    pub(crate) lists: Vec<List>,
    pub(crate) table: Arc<Table>,
    pub(crate) sorts: Sorts,
    pub(crate) networks: Arc<Networks>,
    pub(crate) patterns: Arc<Patterns>,
    /// For the lines of a header.
    pub(crate) headers: Arc<Patterns>,
    pub(crate) user_agents: Arc<Patterns>,
    /// Addresses whose words are not looked at.
    pub(crate) no_searches: Arc<Patterns>,
    /// Who asks.
    pub(crate) clients: Arc<Networks>,
    pub(crate) rewrites: Arc<Rewrites>,
    pub(crate) files: Files,
    pub(crate) filters: Arc<Filters>,
    pub(crate) blankets: Vec<(Scope, ListId, u32)>,
    pub(crate) phrases: Arc<Phrases>,
    pub(crate) clock: Clock,
}

/// One file, as its lines have it in common.
#[derive(Clone)]
pub(crate) struct List {
    pub file: Arc<str>,
    pub category: Arc<str>,
    pub kind: Kind,
    pub rank: Rank,
    /// Whether any line says what is on it.
    pub has_entries: bool,
    /// When it holds: all must.
    pub times: Vec<TimeLimit>,
}

/// Which types of files may be fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// All but those that a list bans.
    #[default]
    AllButBanned,
    /// None but those that a list excepts (e2guardian's `blockdownloads`).
    OnlyExcepted,
}

/// What a hash in the table is of. Hashes of two sorts do not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Sort {
    /// A name and all below it.
    Site = 1,
    /// A name alone.
    Name,
    /// An address.
    Address,
    /// A top-level domain.
    Top,
    Extension,
    MediaType,
    /// Words that are looked for.
    Words,
}

/// Which sorts are listed at all: what is not need not be looked up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sorts(u8);

impl Sorts {
    pub fn with(self, sort: Sort) -> Self {
        Self(self.0 | 1 << sort as u8)
    }

    pub fn has(self, sort: Sort) -> bool {
        self.0 & (1 << sort as u8) != 0
    }
}

/// Hashes of names.
#[derive(Clone, Copy)]
pub(crate) struct Hasher(pub Key);

/// What a piece of a path's hash is told by, beside all that comes before it.
const PIECE: u64 = 0x70;

impl Hasher {
    pub fn of(self, sort: Sort, name: &[u8]) -> u64 {
        self.0.hash(sort as u64, name)
    }

    /// The hash of a path below a site: each piece's goes on from that of the piece before, so that one pass over the path
    /// of a request has the hashes of all that it lies below.
    pub fn url(self, site: u64, path: &[u8]) -> u64 {
        pieces(path).fold(site, |before, piece| self.piece(before, piece))
    }

    pub fn piece(self, before: u64, piece: &[u8]) -> u64 {
        self.0.hash(before ^ PIECE, piece)
    }
}

/// How closely a line says what it lists: of two of one rank, the closer one decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Closeness {
    Blanket,
    Top,
    Pattern,
    Network,
    Site(usize),
    Name,
    Url(usize, usize),
}

/// A line that has the request.
pub(crate) struct Match<'a> {
    pub list: ListId,
    pub line: u32,
    pub closeness: Closeness,
    pub pattern: Cow<'a, [u8]>,
}

impl Database {
    /// What time it is, by the clock that the database was compiled with.
    pub fn now(&self) -> Moment {
        let is_asked_for = self.lists.iter().any(|list| !list.times.is_empty());
        if is_asked_for { (self.clock)() } else { Moment { weekday: 0, minute: 0 } }
    }

    /// How many names, addresses and types it holds.
    pub fn entries(&self) -> usize {
        self.table.len()
    }

    /// How many regular expressions it holds.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// How many filters with wildcards it holds.
    pub fn filters(&self) -> usize {
        self.filters.len()
    }

    /// How many different phrases it looks for in pages, the parts of combinations among them.
    pub fn phrase_count(&self) -> usize {
        self.phrases.len()
    }

    /// Whether both are the same lists, in memory once, whatever their limits.
    pub fn shares_names_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
    }

    pub(crate) fn phrases(&self) -> &Phrases {
        &self.phrases
    }

    /// What the phrases in a page come to at a time. `charset` is the one that its server says it is in.
    pub fn score(&self, page: &[u8], charset: Option<&[u8]>, now: Moment) -> Score {
        let mut state = Page::new(&self.phrases, charset);
        state.push(&self.phrases, page);
        self.score_of(state, now, Told::Always)
    }

    /// The other lines for the phrase of one line, which is named as [`crate::phrases::Term::rule`] does. Only where every line is kept.
    pub fn lines_for_phrase_of(&self, rule: &str) -> Vec<String> {
        self.phrases.lines_for_phrase_of(rule, &self.lists)
    }

    /// What the phrases in a page that has been read come to.
    pub(crate) fn score_of(&self, page: Page, now: Moment, told: Told) -> Score {
        page.finish(&self.phrases, &self.lists, &|list| self.list(list, now).is_some(), told)
    }

    /// Bytes on the heap, about, but for the regular expressions.
    pub fn heap_bytes(&self) -> usize {
        self.table.heap_bytes()
            + self.networks.heap_bytes()
            + self.filters.heap_bytes()
            + self.phrases.heap_bytes()
            + self.lists.len() * size_of::<List>()
    }

    /// The host and all above it, and the paths below each.
    pub(crate) fn find_sites<'a>(&self, address: &'a Address, out: &mut Vec<Match<'a>>) {
        let bare = std::iter::once(&*address.host).filter(|host| address.ip.is_some() || !host.contains('.'));
        for site in address.sites().chain(bare).filter(|_| self.sorts.has(Sort::Site)) {
            let hash = self.hasher.of(Sort::Site, site.as_bytes());
            let mut has_urls = false;
            for entry in self.table.find(hash) {
                if entry.list == Entry::MARK {
                    has_urls = true;
                } else {
                    out.push(Match::new(entry, Closeness::Site(site.len()), site.as_bytes().into()));
                }
            }
            if has_urls {
                self.find_urls(site, hash, &address.path, out);
            }
        }
        let host = address.host.as_bytes();
        let Some(ip) = address.ip else { return self.find(Sort::Name, host, Closeness::Name, out) };
        self.find(Sort::Address, host, Closeness::Name, out);
        for range in self.networks.find(ip) {
            let (list, line) = (range.list, range.line);
            out.push(Match { list, line, closeness: Closeness::Network, pattern: host.into() });
        }
    }

    fn find_urls(&self, site: &str, site_hash: u64, path: &[u8], out: &mut Vec<Match<'_>>) {
        let mut hash = site_hash;
        let mut end = 0;
        for piece in pieces(path) {
            hash = self.hasher.piece(hash, piece);
            end += piece.len();
            out.extend(self.table.find(hash).map(|entry| {
                let whole = [site.as_bytes(), &path[..end]].concat();
                Match::new(entry, Closeness::Url(site.len(), end), whole.into())
            }));
        }
    }

    /// What is not about names: top-level domains, expressions, blankets.
    pub(crate) fn find_others<'a>(&'a self, address: &'a Address, out: &mut Vec<Match<'a>>) {
        if let Some(top) = address.top() {
            self.find(Sort::Top, top.as_bytes(), Closeness::Top, out);
        }
        self.find_texts(address, out);
        for (scope, list, line) in &self.blankets {
            let pattern: &[u8] = match scope {
                Scope::All => b"**",
                Scope::Addresses if address.ip.is_some() => b"*ip",
                Scope::Encrypted if address.scheme == "https" => b"**s",
                Scope::EncryptedAddresses if address.scheme == "https" && address.ip.is_some() => b"*ips",
                Scope::Addresses | Scope::Encrypted | Scope::EncryptedAddresses => continue,
            };
            let (list, line) = (*list, *line);
            out.push(Match { list, line, closeness: Closeness::Blanket, pattern: pattern.into() });
        }
    }

    /// What looks at the whole URL.
    fn find_texts<'a>(&'a self, address: &Address, out: &mut Vec<Match<'a>>) {
        if self.patterns.len() == 0 && self.filters.len() == 0 {
            return;
        }
        let text = address.text();
        let url = [address.scheme.as_bytes(), b"://", &text].concat();
        // squidGuard's expressions see the URL from its host on, e2guardian's with the scheme: an anchor means either.
        if self.patterns.len() > 0 {
            let mut found: Vec<_> =
                [&text, &url].into_iter().flat_map(|text| self.patterns.find(text)).collect();
            found.sort_unstable_by_key(|pattern| (pattern.list, pattern.line));
            found.dedup_by_key(|pattern| (pattern.list, pattern.line));
            out.extend(found.into_iter().map(|pattern| Match {
                list: pattern.list,
                line: pattern.line,
                closeness: Closeness::Pattern,
                pattern: pattern.text.as_bytes().into(),
            }));
        }
        if self.filters.len() > 0 {
            // Filters see the slash behind a host that is all there is.
            let mut url = url;
            if address.path.is_empty() || address.path.ends_with(b"/") {
                url.push(b'/');
            }
            let start = address.scheme.len() + b"://".len();
            for filter in self.filters.find(&url, start..start + address.host.len()) {
                let pattern = filter.glob.text().into_bytes().into();
                let (list, line) = (filter.list, filter.line);
                out.push(Match { list, line, closeness: Closeness::Pattern, pattern });
            }
        }
    }

    pub(crate) fn find_extension<'a>(&self, address: &'a Address, out: &mut Vec<Match<'a>>) {
        let name = address.file_name();
        // Longer ends are not listed.
        let near = name.get(name.len().saturating_sub(EXTENSION_BYTES_MAX)..).unwrap_or_default();
        for (at, _) in near.iter().enumerate().filter(|(_, c)| **c == b'.') {
            let end = &near[at..];
            self.find(Sort::Extension, end, Closeness::Site(end.len()), out);
        }
    }

    pub(crate) fn find<'a>(
        &self,
        sort: Sort,
        name: &'a [u8],
        closeness: Closeness,
        out: &mut Vec<Match<'a>>,
    ) {
        if self.sorts.has(sort) {
            let entries = self.table.find(self.hasher.of(sort, name));
            out.extend(entries.map(|entry| Match::new(entry, closeness, name.into())));
        }
    }

    pub(crate) fn list(&self, id: ListId, now: Moment) -> Option<&List> {
        self.lists.get(usize::from(id)).filter(|list| all_hold(&list.times, now))
    }

    /// Whether a list says that files may be fetched from there whatever they are.
    pub(crate) fn is_fetched_freely(&self, matches: &[Match<'_>], now: Moment) -> bool {
        let ranks = matches.iter().filter_map(|found| self.list(found.list, now)).map(|list| list.rank);
        ranks.into_iter().any(|rank| rank == Rank::FilesAllowed)
    }

    /// The weightiest line decides.
    pub(crate) fn decision(&self, matches: Vec<Match<'_>>, now: Moment) -> Decision {
        let mut ranked: Vec<_> = matches
            .into_iter()
            .filter_map(|found| Some((self.list(found.list, now)?, found)))
            .filter(|(list, _)| !matches!(list.rank, Rank::FilesAllowed | Rank::FileAllowed | Rank::Nothing))
            .collect();
        ranked.sort_by_key(|(list, found)| {
            (list.rank, std::cmp::Reverse(found.closeness), found.list, found.line)
        });
        // Grey is only about sites: words and types of files are banned there, too.
        let mut also = [Rank::SearchException, Rank::SearchBanned, Rank::FileBanned].into_iter();
        let also = also.find_map(|rank| ranked.iter().position(|(list, _)| list.rank == rank));
        if let (Some((first, _)), Some(at)) = (ranked.first(), also)
            && outcome_of(first.rank) == Outcome::Grey
        {
            ranked[..=at].rotate_right(1);
        }
        let mut listings = ranked.into_iter().map(|(list, found)| list.listing(&found));
        let by = listings.next();
        Decision {
            outcome: by.as_ref().map_or(Outcome::NotListed, |by| by.outcome),
            by,
            also: listings.collect(),
        }
    }
}

impl List {
    fn listing(&self, found: &Match<'_>) -> Listing {
        Listing {
            outcome: outcome_of(self.rank),
            file: Arc::clone(&self.file),
            line: found.line,
            category: Arc::clone(&self.category),
            pattern: String::from_utf8_lossy(&found.pattern).into_owned(),
        }
    }
}

impl<'a> Match<'a> {
    fn new(entry: Entry, closeness: Closeness, pattern: Cow<'a, [u8]>) -> Self {
        Self { list: entry.list, line: entry.line, closeness, pattern }
    }
}

fn outcome_of(rank: Rank) -> Outcome {
    match rank {
        Rank::ClientException
        | Rank::LocalException
        | Rank::Exception
        | Rank::RefererException
        | Rank::SemiException
        | Rank::SearchException => Outcome::Exception,
        // What a list of filters excepts is excepted from filters; other lists' authors did not say so.
        Rank::LocalGrey | Rank::Grey | Rank::FilterException => Outcome::Grey,
        Rank::ClientBanned
        | Rank::LocalSearchBanned
        | Rank::LocalBanned
        | Rank::Banned
        | Rank::ImportantFilter
        | Rank::Filter
        | Rank::SearchBanned
        | Rank::FileBanned => Outcome::Banned,
        Rank::FilesAllowed | Rank::FileAllowed | Rank::Nothing => Outcome::NotListed,
    }
}

impl lockgate_model::Database for Database {
    fn engine(&self) -> Engine {
        Engine::Webfilter
    }

    fn wants(&self) -> BufferSet {
        let wants = BufferSet::EMPTY
            .with(Buffer::HttpMethod)
            .with(Buffer::HttpHost)
            .with(Buffer::HttpUri)
            .with(Buffer::HttpContentType);
        let wants = if self.phrases.is_empty() { wants } else { wants.with(Buffer::FileData) };
        if self.looks_at_headers() { wants.with(Buffer::HttpHeader) } else { wants }
    }

    fn open_flow(self: Arc<Self>, flow: &Flow) -> Box<dyn FlowState> {
        Box::new(scanner::Connection::new(self, flow))
    }
}
