//! Which rules a buffer may be about: one search for the fast patterns of all. Rule: it leaves out no rule that could hold.

use crate::flow::locked;
use crate::ruleset::content::{Amount, Content, Fast, Place};
use crate::ruleset::rule::{Rule, Test};
use crate::ruleset::sticky::Sticky;
use lockgate_matcher::{self as matcher, Anchor, Case, Interest, PatternSet, Wildcard};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

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
const LAST_MAX: i64 = 7;

/// The fast patterns of the rules that look at one view, while they are gathered.
#[derive(Default)]
pub(crate) struct SearchBuilder {
    set: PatternSet,
    known: HashMap<Key, u32>,
    rules: Vec<Vec<u32>>,
}

/// A fast pattern's bytes, whether their case does not matter, and where it begins at last.
type Key = (Vec<u8>, bool, Option<u64>);

impl SearchBuilder {
    /// One more rule; `false` where its pattern cannot be searched.
    pub fn add(&mut self, fast: FastPattern<'_>, rule: u32) -> bool {
        let FastPattern { bytes, any_case, last } = fast;
        let key = (if any_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() }, any_case, last);
        if let Some(known) = self.known.get(&key) {
            self.rules[*known as usize].push(rule);
            return true;
        }
        let Some(id) = fast.add_to(&mut self.set) else { return false };
        self.known.insert(key, id);
        self.rules.push(vec![rule]);
        true
    }

    /// The search for all of them.
    pub fn finish(self) -> Searches {
        let mut patterns: Vec<Pattern> = self
            .known
            .into_iter()
            .map(|((bytes, any_case, last), id)| Pattern { id, bytes: bytes.into(), any_case, last })
            .collect();
        patterns.sort_unstable_by_key(|pattern| pattern.id);
        let rules: Box<[Box<[u32]>]> = self.rules.into_iter().map(Vec::into_boxed_slice).collect();
        let search = |database| Arc::new(Search { database, rules: rules.clone() });
        let whole = if patterns.is_empty() { None } else { self.set.compile().ok().map(search) };
        Searches { patterns: patterns.into(), whole, narrowed: Mutex::default() }
    }

    /// With those of another one.
    pub fn and(mut self, other: &Self) -> Self {
        for ((bytes, any_case, last), id) in &other.known {
            for rule in &other.rules[*id as usize] {
                self.add(FastPattern { bytes, any_case: *any_case, last: *last }, *rule);
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

/// A fast pattern, by its number.
struct Pattern {
    id: u32,
    bytes: Box<[u8]>,
    any_case: bool,
    last: Option<u64>,
}

/// For each pattern that is left its number, and which of its rules are.
type Left = Vec<(u32, Vec<u32>)>;

/// A search for all fast patterns of one kind of bytes, and for fewer of them where only some can matter.
#[derive(Default)]
pub(crate) struct Searches {
    patterns: Box<[Pattern]>,
    whole: Option<Arc<Search>>,
    /// By what is left in them.
    narrowed: Mutex<HashMap<Left, Arc<Search>>>,
}

impl Searches {
    /// For all of them; `None` where there are none.
    pub fn whole(&self) -> Option<Arc<Search>> {
        self.whole.clone()
    }

    /// Whether there is anything to search for.
    pub fn is_empty(&self) -> bool {
        self.whole.is_none()
    }

    /// For those of which a rule is of concern.
    pub fn narrowed(&self, concerns: &dyn Fn(u32) -> bool) -> Option<Arc<Search>> {
        let whole = self.whole.as_ref()?;
        let of = |id: u32| whole.rules[id as usize].iter().copied().filter(|rule| concerns(*rule)).collect();
        let left: Left = self.patterns.iter().map(|pattern| (pattern.id, of(pattern.id))).collect();
        let left: Left = left.into_iter().filter(|(_, rules)| !rules.is_empty()).collect();
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
        let mut builder = SearchBuilder::default();
        for (id, _) in left {
            let Pattern { bytes, any_case, last, .. } = &self.patterns[*id as usize];
            FastPattern { bytes, any_case: *any_case, last: *last }.add_to(&mut builder.set)?;
        }
        let database = builder.set.compile().ok()?;
        Some(Search { database, rules: left.iter().map(|(_, rules)| rules.as_slice().into()).collect() })
    }

    /// What it takes in memory, before any is narrowed.
    pub fn heap_bytes(&self) -> usize {
        self.whole.as_deref().map_or(0, Search::heap_bytes)
    }
}

/// Patterns that were found, each once however often.
#[derive(Debug, Default)]
pub(crate) struct Patterns(BTreeSet<u32>);

impl Patterns {
    fn add(&mut self, found: matcher::Match) -> Interest {
        self.0.insert(found.pattern.0);
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
}

/// The fast patterns of the rules that look at one view.
pub(crate) struct Search {
    database: matcher::Database,
    /// For each pattern, whose it is.
    rules: Box<[Box<[u32]>]>,
}

impl Search {
    /// State for one buffer.
    pub fn begin(&self) -> matcher::Scanner {
        self.database.scanner()
    }

    /// Adds the patterns that end in this chunk.
    pub fn scan(&self, state: &mut matcher::Scanner, chunk: &[u8], found: &mut Patterns) {
        state.scan(&self.database, chunk, &mut |one| found.add(one));
    }

    /// The buffer has ended.
    pub fn finish(&self, state: &mut matcher::Scanner, found: &mut Patterns) {
        state.finish(&self.database, &mut |one| found.add(one));
    }

    /// The patterns in a buffer that is there whole.
    pub fn whole(&self, buffer: &[u8]) -> Patterns {
        let mut found = Patterns::default();
        self.begin().scan_last(&self.database, buffer, &mut |one| found.add(one));
        found
    }

    /// The rules that these patterns are of.
    pub fn rules(&self, found: &Patterns) -> impl Iterator<Item = u32> + '_ {
        let patterns: Vec<u32> = found.0.iter().copied().collect();
        patterns.into_iter().flat_map(|pattern| self.rules[pattern as usize].iter().copied())
    }

    /// What it takes in memory.
    pub fn heap_bytes(&self) -> usize {
        self.database.heap_bytes() + self.rules.iter().map(|rules| rules.len() * 4 + 16).sum::<usize>()
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
