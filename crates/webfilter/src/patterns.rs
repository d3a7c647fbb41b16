//! Regular expressions for URLs, all at once: [`Patterns`]. Rule: linear in the URL whatever it says, and bounded in memory;
//! what cannot be had so is reported.

use crate::table::ListId;
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// How large one expression may become.
const PATTERN_BYTES_MAX: usize = 4 << 20;
/// How large a set of them may become before the next begins.
const SET_BYTES_MAX: usize = 32 << 20;
/// What a set may keep of what it has worked out, for each thread.
const CACHE_BYTES_MAX: usize = 4 << 20;
/// Expressions in one set, at most.
const SET_PATTERNS_MAX: usize = 512;

/// One expression, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub text: String,
    pub list: ListId,
    pub line: u32,
}

/// All expressions.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    patterns: Vec<Pattern>,
    /// Each with the number of its first expression.
    sets: Vec<(usize, RegexSet)>,
}

/// Whether an expression can be had, and if not, why.
pub(crate) fn check(text: &str) -> Result<(), String> {
    compile(text).map(|_| ())
}

/// One expression by itself.
pub(crate) fn compile(text: &str) -> Result<Regex, String> {
    let built =
        RegexBuilder::new(text).case_insensitive(true).unicode(false).size_limit(PATTERN_BYTES_MAX).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            "the expression is too large: make its repetitions smaller".to_owned()
        }
        error => {
            // The last line says what is wrong; those before it show where.
            let words = error.to_string();
            let what = words.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            format!("the expression cannot be used: {what}")
        }
    })
}

/// How far into an expression its fault is, in characters.
pub(crate) fn fault_offset(text: &str) -> Option<usize> {
    let error = Regex::new(text).err()?.to_string();
    let is_mark = |line: &&str| line.contains('^') && line.chars().all(|c| matches!(c, ' ' | '^'));
    // The library shows it below the expression, which it moves to the right.
    error.lines().find(is_mark)?.find('^')?.checked_sub(INDENTED)
}

/// How far the library moves the expression that it shows.
const INDENTED: usize = 4;

impl Patterns {
    /// Compiles expressions that have been checked. Those that find no room in a set are handed back.
    pub fn new(patterns: Vec<Pattern>) -> (Self, Vec<Pattern>) {
        let mut own = Self { patterns: Vec::with_capacity(patterns.len()), sets: Vec::new() };
        let mut left = Vec::new();
        let mut waiting: Vec<Vec<Pattern>> =
            patterns.chunks(SET_PATTERNS_MAX).map(<[_]>::to_vec).rev().collect();
        while let Some(mut some) = waiting.pop() {
            match build(&some) {
                Some(set) => {
                    own.sets.push((own.patterns.len(), set));
                    own.patterns.append(&mut some);
                }
                None if some.len() > 1 => {
                    let second = some.split_off(some.len() / 2);
                    waiting.push(second);
                    waiting.push(some);
                }
                None => left.append(&mut some),
            }
        }
        (own, left)
    }

    /// The expressions that match a text.
    pub fn find(&self, text: &[u8]) -> Vec<&Pattern> {
        // Most match nothing, and to know that needs no list of those that do.
        let matching = self.sets.iter().filter(|(_, set)| set.is_match(text));
        let numbers = matching.flat_map(|(first, set)| set.matches(text).into_iter().map(move |n| first + n));
        numbers.filter_map(|number| self.patterns.get(number)).collect()
    }

    pub fn len(&self) -> usize {
        self.patterns.len()
    }
}

fn build(patterns: &[Pattern]) -> Option<RegexSet> {
    RegexSetBuilder::new(patterns.iter().map(|pattern| &pattern.text))
        .case_insensitive(true)
        .unicode(false)
        .size_limit(SET_BYTES_MAX)
        .dfa_size_limit(CACHE_BYTES_MAX)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once() {
        let pattern = |n: u32| Pattern { text: format!("/x{n}/"), list: 1, line: n };
        let (patterns, left) = Patterns::new((1..=2000).map(pattern).collect());
        assert_eq!((patterns.len(), left.len()), (2000, 0));
        let lines = |text: &[u8]| patterns.find(text).iter().map(|pattern| pattern.line).collect::<Vec<_>>();
        assert_eq!(lines(b"a.example/X7/x1999/"), [7, 1999]);
        assert_eq!(lines(b"a.example/x7"), [0; 0]);
    }

    #[test]
    fn what_cannot_be_had_says_why() {
        assert_eq!(check(r"(images?\.google)+.*(\.jpg|\.mov)"), Ok(()));
        assert_eq!(check(r"yahoo.com\/image\/"), Ok(()));
        for (text, words) in [
            ("(?=a)b", "look-around"),
            (r"(a)\1", "backreferences"),
            ("(a", "unclosed group"),
            ("(a{1000}){1000}", "too large"),
        ] {
            let reason = check(text).unwrap_err();
            assert!(reason.contains(words), "{text}: {reason}");
        }
        for (text, offset) in [("a(?=b)", Some(1)), (r"(a)\1", Some(3)), ("x", None)] {
            assert_eq!(fault_offset(text), offset, "{text}");
        }
    }
}
