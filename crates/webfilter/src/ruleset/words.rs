//! Words that people look for. Rule: one form for a line and for a search, whatever order the words stand in.

use super::Fault;
use crate::address::unescaped;

/// A line: words joined with `+` or spaces.
pub(crate) fn parse(line: &str) -> Result<String, Fault> {
    match normal(line.as_bytes()) {
        none if none.is_empty() => Err(Fault(format!("{line:?} has no word: write them as one+other"))),
        words => Ok(words),
    }
}

/// The words of a search as they stand in a URL: escapes undone, in lower case and in order, joined with `+`.
pub(crate) fn normal(text: &[u8]) -> String {
    let text = unescaped(text);
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let mut words: Vec<&str> = text.split(|c: char| c == '+' || c.is_whitespace()).collect();
    words.retain(|word| !word.is_empty());
    words.sort_unstable();
    words.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_words_does_not_matter() {
        for (text, expected) in [
            ("girl+naughty", "girl+naughty"),
            ("Naughty%20GIRL", "girl+naughty"),
            (" naughty  girl ", "girl+naughty"),
            ("b%2Ba", "a+b"),
            ("caf%C3%89", "café"),
            ("one", "one"),
            ("+", ""),
        ] {
            assert_eq!(normal(text.as_bytes()), expected, "{text}");
        }
        assert!(parse("+").is_err());
    }
}
