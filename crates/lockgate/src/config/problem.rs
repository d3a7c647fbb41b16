//! What is wrong with a configuration, and where. Rule: each problem names file, line and column, and what to do.

use std::fmt;
use std::ops::Range;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file's name as it was given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

/// Collects problems, so that one run names them all.
pub struct Problems<'a> {
    file: &'a str,
    text: &'a str,
    /// Where, in bytes, and what.
    found: Vec<(usize, String)>,
}

impl<'a> Problems<'a> {
    /// None yet.
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, found: Vec::new() }
    }

    /// One more, at a range of bytes of the file.
    pub fn add(&mut self, span: Range<usize>, message: impl Into<String>) {
        let at = if self.text.is_char_boundary(span.start) { span.start } else { self.text.len() };
        self.found.push((at, message.into()));
    }

    /// All of them in the file's order. The text is walked once, however many there are.
    pub fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(at, _)| *at);
        let (mut walked, mut line, mut column) = (0, 1, 1);
        let with_place = |(at, message)| {
            for c in self.text[walked..at].chars() {
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            walked = at;
            Problem { file: self.file.to_owned(), line, column, message }
        };
        self.found.into_iter().map(with_place).collect()
    }
}

/// The known word nearest to one that is not known, if one is near enough to be meant.
pub fn nearest<'k>(unknown: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let near_enough = unknown.chars().count() / 2 + 1;
    let distance = |word: &str| {
        // Half of a word is nearer than any typing error: depth for depth_max.
        let is_half = unknown.len() >= 3 && (word.starts_with(unknown) || word.ends_with(unknown));
        if is_half { 1 } else { edits(unknown, word) }
    };
    known
        .map(|word| (distance(word), word))
        .filter(|(distance, _)| *distance <= near_enough)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// How many characters must be put in, taken out, changed or swapped with their neighbour (optimal string alignment).
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().take(64).collect(), to.chars().take(64).collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let changed = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(before_last[j - 2] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one_in_characters() {
        let text = "a = 1\nü = \"x\"\n";
        let mut problems = Problems::new("f.toml", text);
        let at = text.find('"').unwrap();
        problems.add(at..at + 1, "second");
        problems.add(0..1, "first");
        problems.add(1000..1001, "beyond");
        let shown: Vec<_> = problems.into_sorted().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["f.toml:1:1: first", "f.toml:2:5: second", "f.toml:3:1: beyond"]);
    }

    #[test]
    fn the_nearest_word_is_offered() {
        let known = ["hold_bytes", "tail_bytes", "next_hop", "address"];
        for (unknown, expected) in [
            ("hold_byte", Some("hold_bytes")),
            ("holdbytes", Some("hold_bytes")),
            ("nxet_hop", Some("next_hop")),
            ("adress", Some("address")),
            ("tial_bytes", Some("tail_bytes")),
            ("hold", Some("hold_bytes")),
            ("hop", Some("next_hop")),
            ("colour", None),
        ] {
            assert_eq!(nearest(unknown, known.into_iter()), expected, "{unknown}");
        }
        assert_eq!((edits("", "abc"), edits("abc", ""), edits("ab", "ba")), (3, 3, 1));
    }
}
