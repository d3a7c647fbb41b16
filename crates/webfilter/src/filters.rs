//! Addresses with `*` and `^`, by the ten thousand: [`Filters`]. Rule: only those filters are tried that have a word of theirs
//! in the URL.

use crate::hash::Key;
use crate::table::{Draft, ListId, Table};

/// Words that stand in too many URLs to tell filters apart.
const COMMON: [&[u8]; 6] = [b"http", b"https", b"www", b"com", b"html", b"php"];
/// Shorter words are in too many URLs.
const WORD_BYTES_MIN: usize = 3;

/// Where a filter's address begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Anywhere,
    /// `|`: with the URL.
    Url,
    /// `||`: with the host, or with a name above it.
    Host,
}

/// One address with `*` (anything) and `^` (a character that is of no word, or the end).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    start: Start,
    ends_with_url: bool,
    /// In lower case.
    text: Box<[u8]>,
}

impl Glob {
    /// `None` where it would be everything.
    pub fn parse(text: &str) -> Option<Self> {
        let (start, text) = match (text.strip_prefix("||"), text.strip_prefix('|')) {
            (Some(rest), _) => (Start::Host, rest),
            (_, Some(rest)) => (Start::Url, rest),
            _ => (Start::Anywhere, text),
        };
        let (text, ends_with_url) = text.strip_suffix('|').map_or((text, false), |text| (text, true));
        let start = if text.starts_with('*') { Start::Anywhere } else { start };
        let ends_with_url = ends_with_url && !text.ends_with('*');
        let text = text.trim_matches('*').to_ascii_lowercase();
        let is_everything = text.bytes().all(|c| matches!(c, b'*' | b'^' | b'.' | b'/' | b':' | b'|'));
        (!is_everything).then(|| Self { start, ends_with_url, text: text.into_bytes().into() })
    }

    /// Whether a URL matches, in lower case; its host starts and ends there.
    pub fn matches(&self, url: &[u8], host: std::ops::Range<usize>) -> bool {
        match self.start {
            Start::Url => self.matches_at(url),
            Start::Anywhere => self.matches_within(url),
            Start::Host => {
                let name = url.get(host.clone()).unwrap_or_default();
                let above = name.iter().enumerate().filter(|(_, c)| **c == b'.').map(|(at, _)| at + 1);
                let mut starts = std::iter::once(0).chain(above);
                starts.any(|at| url.get(host.start + at..).is_some_and(|rest| self.matches_at(rest)))
            }
        }
    }

    fn matches_within(&self, url: &[u8]) -> bool {
        self.run(url, Some((0, 0)))
    }

    fn matches_at(&self, url: &[u8]) -> bool {
        self.run(url, None)
    }

    /// The last star is the only place to go back to: at most pattern × URL steps.
    fn run(&self, url: &[u8], mut star: Option<(usize, usize)>) -> bool {
        let (mut p, mut u) = (0, 0);
        loop {
            match (self.text.get(p), url.get(u)) {
                (None, rest) if rest.is_none() || !self.ends_with_url => return true,
                (Some(b'*'), _) => {
                    p += 1;
                    star = Some((p, u));
                    continue;
                }
                (Some(b'^'), None) => {
                    p += 1;
                    continue;
                }
                (Some(b'^'), Some(c)) if is_separator(*c) => (p, u) = (p + 1, u + 1),
                (Some(own), Some(c)) if own == c && *own != b'^' => (p, u) = (p + 1, u + 1),
                _ => match star {
                    Some((after, from)) if from < url.len() => {
                        star = Some((after, from + 1));
                        (p, u) = (after, from + 1);
                    }
                    _ => return false,
                },
            }
        }
    }

    /// A word that is whole in every URL that matches.
    fn word(&self) -> Option<&[u8]> {
        let mut best: Option<&[u8]> = None;
        let mut at = 0;
        for run in self.text.chunk_by(|a, b| is_of_word(*a) == is_of_word(*b)) {
            let (start, end) = (at, at + run.len());
            at = end;
            let is_whole_before = match start.checked_sub(1).and_then(|before| self.text.get(before)) {
                None => self.start != Start::Anywhere,
                Some(before) => *before != b'*',
            };
            let is_whole_behind = self.text.get(end).map_or(self.ends_with_url, |behind| *behind != b'*');
            let is_telling = is_of_word(run[0]) && run.len() >= WORD_BYTES_MIN && !COMMON.contains(&run);
            if is_telling
                && is_whole_before
                && is_whole_behind
                && best.is_none_or(|best| best.len() < run.len())
            {
                best = Some(run);
            }
        }
        best
    }

    /// As a person would write it.
    pub fn text(&self) -> String {
        let (start, end) = match self.start {
            Start::Anywhere => ("", self.ends_with_url),
            Start::Url => ("|", self.ends_with_url),
            Start::Host => ("||", self.ends_with_url),
        };
        format!("{start}{}{}", String::from_utf8_lossy(&self.text), if end { "|" } else { "" })
    }
}

/// What `^` stands for: anything but letters, digits and `_ - . %`.
fn is_separator(c: u8) -> bool {
    !(c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b'%') || c >= 0x80)
}

fn is_of_word(c: u8) -> bool {
    c.is_ascii_alphanumeric()
}

/// One filter, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub glob: Glob,
    pub list: ListId,
    pub line: u32,
}

/// All filters.
pub(crate) struct Filters {
    filters: Vec<Filter>,
    /// The number of each filter by a word of it.
    by_word: Table,
    /// Those without a telling word: they are always tried.
    without_word: Vec<u32>,
    key: Key,
}

impl Filters {
    pub fn new(key: Key, filters: Vec<Filter>) -> Self {
        let (mut drafts, mut without_word) = (Vec::new(), Vec::new());
        for (filter, number) in filters.iter().zip(0_u32..) {
            match filter.glob.word() {
                Some(word) => drafts.push(Draft { hash: word_hash(key, word), list: 0, line: number }),
                None => without_word.push(number),
            }
        }
        Self { filters, by_word: Table::keeping_all(drafts), without_word, key }
    }

    /// The filters that match a URL, in lower case; its host stands there.
    pub fn find(&self, url: &[u8], host: std::ops::Range<usize>) -> Vec<&Filter> {
        let words = url.chunk_by(|a, b| is_of_word(*a) == is_of_word(*b));
        let words = words.filter(|word| is_of_word(word[0]) && word.len() >= WORD_BYTES_MIN);
        let by_word =
            words.flat_map(|word| self.by_word.find(word_hash(self.key, word)).map(|entry| entry.line));
        let mut numbers: Vec<u32> = by_word.chain(self.without_word.iter().copied()).collect();
        // A word that comes again brings nothing new.
        numbers.sort_unstable();
        numbers.dedup();
        let filters = numbers.into_iter().filter_map(|number| self.filters.get(number as usize));
        filters.filter(|filter| filter.glob.matches(url, host.clone())).collect()
    }

    pub fn len(&self) -> usize {
        self.filters.len()
    }

    pub fn heap_bytes(&self) -> usize {
        let texts: usize = self.filters.iter().map(|filter| filter.glob.text.len()).sum();
        texts + self.filters.len() * size_of::<Filter>() + self.by_word.heap_bytes()
    }
}

fn word_hash(key: Key, word: &[u8]) -> u64 {
    key.hash(0x77, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &[u8] = b"http://www.ads.example/banner/7/img?x=y";

    fn host() -> std::ops::Range<usize> {
        7..22
    }

    #[test]
    fn what_matches() {
        for (glob, expected) in [
            ("/banner/*/img^", true),
            ("/banner/*/im^", false),
            ("||ads.example/banner", true),
            ("||example^", true),
            ("||ds.example", false),
            ("||ads.example^banner^7^", true),
            ("|http://www.ads", true),
            ("|http://ads", false),
            ("|https://", false),
            ("img?x=y|", true),
            ("img?x|", false),
            ("x=y^|", true),
            ("x=y^", true),
            ("BANNER", true),
            ("*ner*img*", true),
            ("^ads.", false),
            (".ads.", true),
        ] {
            let glob = Glob::parse(glob).unwrap();
            assert_eq!(glob.matches(URL, host()), expected, "{glob:?}");
            let filters = Filters::new(Key(1, 2), vec![Filter { glob: glob.clone(), list: 0, line: 1 }]);
            assert_eq!(
                filters.find(URL, host()).len(),
                usize::from(expected),
                "{glob:?} by {:?}",
                glob.word()
            );
        }
        for everything in ["", "*", "||", "|*|", "^", "://", "*.*"] {
            assert_eq!(Glob::parse(everything), None, "{everything}");
        }
    }

    #[test]
    fn words_are_whole() {
        for (glob, word) in [
            ("/banner/*/image", Some(&b"banner"[..])),
            ("banner", None),
            ("||banner.example^", Some(b"example")),
            ("|http://www.com/", None),
            ("/ad*vert/", None),
            ("/x/advert|", Some(b"advert")),
        ] {
            assert_eq!(Glob::parse(glob).unwrap().word(), word, "{glob}");
        }
    }

    #[test]
    fn many_with_one_word() {
        let filter =
            |n: u32| Filter { glob: Glob::parse(&format!("/banner/{n}/")).unwrap(), list: 3, line: n };
        let filters = Filters::new(Key(1, 2), (0..200).map(filter).collect());
        let lines: Vec<u32> = filters.find(URL, host()).iter().map(|filter| filter.line).collect();
        assert_eq!(lines, [7]);
    }
}
