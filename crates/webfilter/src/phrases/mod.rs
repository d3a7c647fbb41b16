//! Unwanted words: e2guardian's phrase lists → [`Phrases`], a page's bytes → a score. Rule: text is brought to its normal
//! forms once, and each is searched once for all phrases.
//!
//! `ruleset` reads a line, `compiler` makes the database, `normal` makes the readings of a page, `search` finds phrases in
//! them, `page` is the state of one page, and `score` says what the phrases that were found come to.

mod block;
mod charset;
mod compiler;
mod entity;
mod normal;
mod page;
mod ruleset;
mod score;
mod search;
mod seen;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use compiler::{Added, Compiled, Drafts, PhraseFile};
pub(crate) use page::{Page, Told};
pub(crate) use ruleset::{Said, parse};
pub use score::{Outcome, Score, Term};

use crate::compiler::Kept;
use crate::database::List;
use score::Rules;
use search::Search;
use std::sync::Arc;

/// How often a phrase counts: e2guardian's `weightedphrasemode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Phrases are not looked for at all (0).
    Never,
    /// Each time that it stands in the page (1).
    EachTime,
    /// Once, however often it stands there (2).
    Once,
}

/// Which readings of a page are searched: e2guardian's `phrasefiltermode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readings {
    /// The page as it is written, markup and all (0).
    Raw,
    /// The text that a reader sees (1).
    Text,
    /// Both, each by itself (2).
    Both,
    /// Title and `meta` elements only (3).
    Meta,
}

/// How pages are judged by phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A page with more points than this is unwanted: e2guardian's `naughtynesslimit`.
    pub points_max: i32,
    /// How often a phrase counts.
    pub counting: Counting,
    /// What is searched.
    pub readings: Readings,
    /// How much of a page is searched; what is behind is not.
    pub bytes_max: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { points_max: 50, counting: Counting::Once, readings: Readings::Both, bytes_max: 2 << 20 }
    }
}

/// All phrases, ready to be looked for.
pub(crate) struct Phrases {
    pub settings: Settings,
    kept: Kept,
    /// The same for every limit.
    search: Arc<Search>,
    rules: Rules,
}

impl Phrases {
    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.settings.counting == Counting::Never || self.search.is_empty()
    }

    /// How many different phrases there are, the parts of combinations among them.
    pub fn len(&self) -> usize {
        self.rules.parts.len()
    }

    /// The other lines for the phrase that a line lists, as `FILE:LINE`.
    pub fn lines_for_phrase_of(&self, rule: &str, lists: &[List]) -> Vec<String> {
        let number = rule.rsplit_once(':').and_then(|(_, line)| line.parse().ok());
        let name = |rule: &score::Rule| {
            let list = lists.get(usize::from(rule.list));
            list.map_or_else(String::new, |list| crate::decision::rule(&list.file, rule.line))
        };
        let is_it = |known: &score::Rule| Some(known.line) == number && name(known) == rule;
        let part = self.rules.lines().find(|(_, known)| is_it(known)).map(|(part, _)| part);
        let same = self.rules.lines().filter(|(other, known)| Some(*other) == part && !is_it(known));
        same.map(|(_, known)| name(&known)).collect()
    }

    /// Bytes on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        self.search.heap_bytes() + self.rules.heap_bytes()
    }
}
