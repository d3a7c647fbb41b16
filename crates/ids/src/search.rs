//! Which rules a buffer may be about: one search for the fast patterns of all. Rule: it leaves out no rule that could hold.

use crate::flow::locked;
use crate::head::Head;
use crate::ruleset::content::{Amount, Content, Fast, Place};
use crate::ruleset::rule::{Rule, Test};
use crate::ruleset::sticky::Sticky;
use crate::views::ViewId;
use lockgate_matcher::{self as matcher, Anchor, Case, Interest, PatternSet, Wildcard};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

/// What a rule is first looked for by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FastPattern<'a> {
    pub bytes: &'a [u8],
    /// Whether ASCII letters agree in both cases.
    pub any_case: bool,
    /// The last offset at which it can begin, where it is one of the first few.
    pub last: Option<u64>,
}

/// How far from the beginning a pattern may begin that is only looked for there: each offset costs a look at each buffer.
pub(crate) const LAST_MAX: i64 = 7;

/// The fast patterns of the rules that look at one view, while they are gathered.
#[derive(Default)]
pub(crate) struct SearchBuilder {
    set: PatternSet,
    known: HashMap<Key, u32>,
    rules: Vec<Vec<u32>>,
}

/// A fast pattern's bytes, whether their case does not matter, where it begins at last, and in what it counts.
type Key = (Vec<u8>, bool, Option<u64>, Of);

/// In what a pattern counts, of bytes that are searched for several things at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Of {
    /// All that is searched.
    All,
    /// A view of a head.
    View(ViewId),
    /// The bytes of the connection.
    Connection,
}

impl SearchBuilder {
    /// One more rule; `false` where its pattern cannot be searched.
    pub fn add(&mut self, fast: FastPattern<'_>, rule: u32) -> bool {
        let is_known = self.known.contains_key(&fast.key(Of::All));
        if !is_known && fast.add_to(&mut self.set).is_none() {
            return false;
        }
        self.put(fast.key(Of::All), rule);
        true
    }

    fn put(&mut self, key: Key, rule: u32) {
        let next = self.rules.len() as u32;
        match *self.known.entry(key).or_insert(next) {
            known if known == next => self.rules.push(vec![rule]),
            known => self.rules[known as usize].push(rule),
        }
    }

    /// The search for all of them.
    pub fn finish(self) -> Searches {
        let mut known: Vec<(Key, u32)> = self.known.into_iter().collect();
        known.sort_unstable_by_key(|(_, id)| *id);
        let pattern = |(((bytes, any_case, last, of), _), rules): ((Key, u32), Vec<u32>)| Pattern {
            bytes: bytes.into(),
            any_case,
            last,
            of,
            rules: rules.into(),
        };
        let patterns = known.into_iter().zip(self.rules).map(pattern).collect();
        Searches { patterns, ..Searches::default() }
    }

    /// With those of another one.
    pub fn and(self, other: &Self) -> Self {
        self.and_of(Of::All, other)
    }

    /// With those of another one, which count in this view of a head.
    pub fn and_in(self, view: ViewId, other: &Self) -> Self {
        self.and_of(Of::View(view), other)
    }

    /// With those of another one, which count in the bytes of the connection.
    pub fn and_of_connection(self, other: &Self) -> Self {
        self.and_of(Of::Connection, other)
    }

    /// The same without what can stand at their beginning only.
    pub fn and_within_connection(self, other: &Self) -> Self {
        self.and_of_some(Of::Connection, other, |last| last.is_none())
    }

    fn and_of(self, of: Of, other: &Self) -> Self {
        self.and_of_some(of, other, |_| true)
    }

    fn and_of_some(mut self, of: Of, other: &Self, is_one: impl Fn(&Option<u64>) -> bool) -> Self {
        let mut others: Vec<(&Key, &u32)> = other.known.iter().collect();
        others.sort_unstable_by_key(|(_, id)| **id);
        for ((bytes, any_case, last, _), id) in others.into_iter().filter(|((.., last, _), _)| is_one(last)) {
            for rule in &other.rules[*id as usize] {
                self.put((bytes.clone(), *any_case, *last, of), *rule);
            }
        }
        self
    }
}

impl<'a> FastPattern<'a> {
    /// A content, or the part of it that its rule has chosen. `at` is its place among the tests of its list.
    fn of(content: &'a Content, at: usize) -> Option<Self> {
        let (offset, bytes) = match content.fast {
            Fast::Chop { offset, length } => {
                let (offset, length) = (usize::from(offset), usize::from(length));
                (offset, content.bytes.get(offset..offset + length)?)
            }
            _ => (0, &content.bytes[..]),
        };
        let last = last_of(content, at).map(|last| last + offset as i64);
        let last = last.filter(|last| (0..=LAST_MAX).contains(last)).map(|last| last as u64);
        Some(Self { bytes, any_case: content.any_case, last })
    }

    /// Wherever it may stand.
    pub fn anywhere(self) -> Self {
        Self { last: None, ..self }
    }

    fn key(self, of: Of) -> Key {
        let Self { bytes, any_case, last } = self;
        (if any_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() }, any_case, last, of)
    }

    /// Its number in a set; `None` where it cannot be searched.
    fn add_to(self, set: &mut PatternSet) -> Option<u32> {
        let case = if self.any_case { Case::Insensitive } else { Case::Sensitive };
        // Offsets are counted anew behind what is missing of a stream, so that any before the last may be the first.
        let anchor = self.last.map_or(Anchor::Anywhere, |last| Anchor::Within { first: 0, last });
        set.add(&Wildcard::literal(self.bytes), case, anchor).ok().map(|id| id.0)
    }
}

/// The last offset at which a content may begin. What is relative to nothing is to the beginning.
fn last_of(content: &Content, at: usize) -> Option<i64> {
    let (from, length) = match content.place {
        Place::Absolute { offset: Amount::Number(from), depth: Some(Amount::Number(length)) } => {
            (from, length)
        }
        Place::Relative { distance: Amount::Number(from), within: Some(Amount::Number(length)) }
            if at == 0 =>
        {
            (from, length)
        }
        _ => return None,
    };
    from.checked_add(length)?.checked_sub(content.bytes.len() as i64)
}

/// How many narrower searches are made of one. Beyond that, all is searched for.
const NARROWED_MAX: usize = 32;

/// A fast pattern, and whose it is.
struct Pattern {
    bytes: Box<[u8]>,
    any_case: bool,
    last: Option<u64>,
    of: Of,
    rules: Box<[u32]>,
}

/// For each pattern that is left its number, and which of its rules are.
type Left = Vec<(u32, Vec<u32>)>;

/// A search for all fast patterns of one kind of bytes, and for fewer of them where only some can matter.
#[derive(Default)]
pub(crate) struct Searches {
    patterns: Box<[Pattern]>,
    /// Made where it is needed: flows mostly are of a kind that has its own.
    whole: OnceLock<Option<Arc<Search>>>,
    /// By what is left in them.
    narrowed: Mutex<HashMap<Left, Arc<Search>>>,
}

impl Searches {
    /// For all of them; `None` where there are none.
    pub fn whole(&self) -> Option<Arc<Search>> {
        let all = || self.patterns.iter().map(|pattern| (pattern, pattern.rules.clone()));
        let made = || if self.is_empty() { None } else { Search::of(all()).map(Arc::new) };
        self.whole.get_or_init(made).clone()
    }

    /// Whether there is anything to search for.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// For those of which a rule is of concern.
    pub fn narrowed(&self, concerns: &dyn Fn(u32) -> bool) -> Option<Arc<Search>> {
        let of = |pattern: &Pattern| pattern.rules.iter().copied().filter(|rule| concerns(*rule)).collect();
        let left = self.patterns.iter().zip(0..).map(|(pattern, number)| (number, of(pattern)));
        let left: Left = left.filter(|(_, rules): &(u32, Vec<u32>)| !rules.is_empty()).collect();
        if left.is_empty() {
            return None;
        }
        let mut narrowed = locked(&self.narrowed);
        if let Some(known) = narrowed.get(&left) {
            return Some(Arc::clone(known));
        }
        if narrowed.len() >= NARROWED_MAX || left.len() == self.patterns.len() {
            return self.whole();
        }
        let made = Arc::new(self.made(&left)?);
        narrowed.insert(left, Arc::clone(&made));
        Some(made)
    }

    fn made(&self, left: &Left) -> Option<Search> {
        Search::of(left.iter().map(|(id, rules)| (&self.patterns[*id as usize], rules.as_slice().into())))
    }

    /// What those take in memory that have been made.
    pub fn heap_bytes(&self) -> usize {
        let narrowed = locked(&self.narrowed).values().map(|search| search.heap_bytes()).sum::<usize>();
        let whole = self.whole.get().and_then(Option::as_deref).map_or(0, Search::heap_bytes);
        narrowed + whole
    }
}

/// Patterns that were found, each once however often: a bit for each.
#[derive(Debug, Default)]
pub(crate) struct Patterns(Vec<u64>);

impl Patterns {
    fn add(&mut self, found: matcher::Match) -> Interest {
        let (word, bit) = (found.pattern.0 as usize / 64, found.pattern.0 % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
        Interest::More
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// None any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let of_word = |(word, first): (u64, u32)| {
            let bits = std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
            bits.take_while(|word| *word != 0).map(move |word| first + word.trailing_zeros())
        };
        self.0.iter().copied().zip((0..).step_by(64)).flat_map(of_word)
    }
}

/// The fast patterns of the rules that look at one view.
pub(crate) struct Search {
    database: matcher::Database,
    /// For each pattern, whose it is.
    rules: Box<[Box<[u32]>]>,
    /// In heads: for each pattern, where it counts.
    counts: Box<[Counts]>,
    singles: Box<[Single]>,
    /// From which pattern on they count in the bytes of the connection.
    of_connection: u32,
    /// How long the longest pattern is.
    pub longest: usize,
}

/// Where in heads a pattern counts.
#[derive(Clone, Copy)]
struct Counts {
    view: ViewId,
    /// The last offset there at which it may begin, if any.
    last: Option<u64>,
}

/// A byte that is the only one of its pattern: as it stands everywhere, it is looked for where it counts.
struct Single {
    byte: u8,
    any_case: bool,
    counts: Counts,
    rules: Box<[u32]>,
}

impl Counts {
    fn is_there(self, head: &Head, place: Range<usize>) -> bool {
        let offset = head.offset(self.view, place);
        offset.is_some_and(|offset| self.last.is_none_or(|last| offset as u64 <= last))
    }
}

impl Single {
    fn is_in(&self, head: &Head) -> bool {
        let agrees = |byte: &u8| *byte == self.byte || self.any_case && byte.eq_ignore_ascii_case(&self.byte);
        let Counts { view, last } = self.counts;
        let near = last.map_or(usize::MAX, |last| last as usize + 1);
        let mut own = head.pieces().filter(|(its, _)| *its == view).map(|(_, piece)| piece.bytes);
        own.any(|bytes| bytes.iter().take(near).any(agrees))
    }
}

impl Search {
    /// For these, each with those of its rules that are left.
    fn of<'p>(patterns: impl Iterator<Item = (&'p Pattern, Box<[u32]>)>) -> Option<Self> {
        let mut set = PatternSet::for_text();
        let (mut all, mut counts, mut singles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut of_connection, mut longest) = (u32::MAX, 0);
        for (Pattern { bytes, any_case, last, of, .. }, rules) in patterns {
            let (any_case, last) = (*any_case, *last);
            let fast = FastPattern { bytes, any_case, last };
            let id = match (*of, &**bytes) {
                (Of::View(view), [byte]) => {
                    let counts = Counts { view, last };
                    singles.push(Single { byte: *byte, any_case, counts, rules });
                    continue;
                }
                (Of::View(view), _) => {
                    counts.push(Counts { view, last });
                    fast.anywhere().add_to(&mut set)?
                }
                _ => fast.add_to(&mut set)?,
            };
            if *of == Of::Connection {
                of_connection = of_connection.min(id);
            }
            longest = longest.max(bytes.len());
            all.push(rules);
        }
        let database = set.compile().ok()?;
        let (counts, singles) = (counts.into(), singles.into());
        Some(Self { database, rules: all.into(), counts, singles, of_connection, longest })
    }

    /// State for one buffer.
    pub fn begin(&self) -> matcher::Scanner {
        self.database.scanner()
    }

    /// Adds the patterns that end in this chunk.
    pub fn scan(&self, state: &mut matcher::Scanner, chunk: &[u8], found: &mut Patterns) {
        state.scan(&self.database, chunk, &mut |one| found.add(one));
    }

    /// The same, where those that count in the bytes of the connection are told apart.
    pub fn scan_apart(
        &self,
        state: &mut matcher::Scanner,
        chunk: &[u8],
        found: &mut Patterns,
        of_connection: &mut Patterns,
    ) {
        state.scan(&self.database, chunk, &mut |one| {
            if one.pattern.0 < self.of_connection { found.add(one) } else { of_connection.add(one) }
        });
    }

    /// The buffer has ended: nothing waits for that of the bytes of a connection, which go on.
    pub fn finish(&self, state: &mut matcher::Scanner, found: &mut Patterns) {
        state.finish(&self.database, &mut |one| {
            if one.pattern.0 < self.of_connection { found.add(one) } else { Interest::More }
        });
    }

    /// The patterns in a buffer that is there whole.
    pub fn whole(&self, buffer: &[u8]) -> Patterns {
        let mut found = Patterns::default();
        self.begin().scan_last(&self.database, buffer, &mut |one| found.add(one));
        found
    }

    /// Adds the rules that a head may be about, by patterns in their views, and those that the connection may be about, by patterns in the
    /// head as it came.
    pub fn in_head(&self, head: &Head, rules: &mut Vec<u32>, of_connection: &mut Vec<u32>) {
        let (mut found, mut others) = (Patterns::default(), Patterns::default());
        let came = head.came().len() as u64;
        self.begin().scan_last(&self.database, &head.bytes, &mut |one| {
            let is_there = |counts: &Counts| counts.is_there(head, one.start as usize..one.end as usize);
            if one.pattern.0 >= self.of_connection {
                if one.end <= came {
                    others.add(one);
                }
            } else if self.counts.get(one.pattern.0 as usize).is_some_and(is_there) {
                found.add(one);
            }
            Interest::More
        });
        rules.extend(self.rules(&found));
        of_connection.extend(self.rules(&others));
        let singles = self.singles.iter().filter(|single| single.is_in(head));
        singles.for_each(|single| rules.extend_from_slice(&single.rules));
    }

    /// The rules that these patterns are of.
    pub fn rules<'s>(&'s self, found: &'s Patterns) -> impl Iterator<Item = u32> + 's {
        found.iter().flat_map(|pattern| self.rules[pattern as usize].iter().copied())
    }

    /// What it takes in memory.
    pub fn heap_bytes(&self) -> usize {
        let rules = self.rules.iter().map(|rules| rules.len() * 4 + 16).sum::<usize>();
        self.database.heap_bytes() + rules + self.counts.len() * size_of::<Counts>()
    }
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} patterns", self.rules.len())
    }
}

/// The content that a rule is first looked for by, in those of its lists that may be searched, and in which of them.
pub(crate) fn fast_pattern(rule: &Rule, may: impl Fn(Sticky) -> bool) -> Option<(usize, FastPattern<'_>)> {
    let contents = rule.lists.iter().enumerate().flat_map(|(list, tests)| {
        let of_list = tests.tests.iter().enumerate().filter_map(|(at, test)| match test {
            Test::Content(content) if !content.is_negated => Some((at, content)),
            _ => None,
        });
        of_list.map(move |(at, content)| (list, tests.sticky, at, content))
    });
    let contents = contents.filter(|(_, sticky, ..)| may(*sticky));
    let (list, _, at, content) = contents.max_by_key(|(_, sticky, _, content)| worth(*sticky, content))?;
    Some((list, FastPattern::of(content, at)?))
}

/// How well a content tells its rule from others. What the rule's author chose goes before all.
fn worth(sticky: Sticky, content: &Content) -> (bool, u32, u32) {
    let is_chosen = content.fast != Fast::Perhaps;
    // What nearly every exchange has says little, and the payload is searched for by so many.
    let of_sticky = match sticky {
        Sticky::HttpMethod | Sticky::HttpProtocol | Sticky::HttpStatusCode | Sticky::HttpStatusMessage => 0,
        Sticky::Payload => 1,
        _ => 2,
    };
    (is_chosen, of_sticky, strength(&content.bytes))
}

/// More for bytes that are seldom and differ.
fn strength(bytes: &[u8]) -> u32 {
    let mut seen = [false; 256];
    let worth = |byte: &u8| match byte {
        byte if std::mem::replace(&mut seen[usize::from(*byte)], true) => 1,
        byte if byte.is_ascii_alphabetic() => 3,
        byte if byte.is_ascii_graphic() || matches!(byte, b' ' | 0 | 1 | 0xff) => 4,
        _ => 6,
    };
    bytes.iter().map(worth).sum()
}
