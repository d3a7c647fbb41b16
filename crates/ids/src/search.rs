//! Which rules a buffer may be about: one search for the fast patterns of all. Rule: it leaves out no rule that could hold.

use crate::flow::locked;
use crate::ruleset::content::{Content, Fast};
use crate::ruleset::rule::{Rule, Test};
use crate::ruleset::sticky::Sticky;
use lockgate_matcher::{self as matcher, Anchor, Case, Interest, PatternSet, Wildcard};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// The fast patterns of the rules that look at one view, while they are gathered.
#[derive(Default)]
pub(crate) struct SearchBuilder {
    set: PatternSet,
    known: HashMap<(Vec<u8>, bool), u32>,
    rules: Vec<Vec<u32>>,
}

impl SearchBuilder {
    /// One more rule; `false` where its pattern cannot be searched.
    pub fn add(&mut self, bytes: &[u8], any_case: bool, rule: u32) -> bool {
        let key = if any_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
        if let Some(known) = self.known.get(&(key.clone(), any_case)) {
            self.rules[*known as usize].push(rule);
            return true;
        }
        let case = if any_case { Case::Insensitive } else { Case::Sensitive };
        let Ok(id) = self.set.add(&Wildcard::literal(bytes), case, Anchor::Anywhere) else { return false };
        self.known.insert((key, any_case), id.0);
        self.rules.push(vec![rule]);
        true
    }

    /// The search for all of them.
    pub fn finish(self) -> Searches {
        let mut patterns: Vec<Pattern> = self
            .known
            .into_iter()
            .map(|((bytes, any_case), id)| Pattern { id, bytes: bytes.into(), any_case })
            .collect();
        patterns.sort_unstable_by_key(|pattern| pattern.id);
        let rules: Box<[Box<[u32]>]> = self.rules.into_iter().map(Vec::into_boxed_slice).collect();
        let search = |database| Arc::new(Search { database, rules: rules.clone() });
        let whole = if patterns.is_empty() { None } else { self.set.compile().ok().map(search) };
        Searches { patterns: patterns.into(), whole, narrowed: Mutex::default() }
    }

    /// With those of another one.
    pub fn and(mut self, other: &Self) -> Self {
        for ((bytes, any_case), id) in &other.known {
            for rule in &other.rules[*id as usize] {
                self.add(bytes, *any_case, *rule);
            }
        }
        self
    }
}

/// How many narrower searches are made of one. Beyond that, all is searched for.
const NARROWED_MAX: usize = 32;

/// A fast pattern, by its number.
struct Pattern {
    id: u32,
    bytes: Box<[u8]>,
    any_case: bool,
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
            let Pattern { bytes, any_case, .. } = &self.patterns[*id as usize];
            let case = if *any_case { Case::Insensitive } else { Case::Sensitive };
            builder.set.add(&Wildcard::literal(bytes), case, Anchor::Anywhere).ok()?;
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

/// The content that a rule is first looked for by, in those of its lists that may be searched: in which of them, which bytes, and
/// whether their case does not matter.
pub(crate) fn fast_pattern(rule: &Rule, may: impl Fn(Sticky) -> bool) -> Option<(usize, &[u8], bool)> {
    let contents = rule.lists.iter().enumerate().flat_map(|(at, list)| {
        let of_list = list.tests.iter().filter_map(move |test| match test {
            Test::Content(content) if !content.is_negated => Some(content),
            _ => None,
        });
        of_list.map(move |content| (at, list.sticky, content))
    });
    let contents = contents.filter(|(_, sticky, _)| may(*sticky));
    let (at, _, content) = contents.max_by_key(|(_, sticky, content)| worth(*sticky, content))?;
    let bytes = match content.fast {
        Fast::Chop { offset, length } => {
            content.bytes.get(usize::from(offset)..usize::from(offset) + usize::from(length))?
        }
        _ => &content.bytes,
    };
    Some((at, bytes, content.any_case))
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
