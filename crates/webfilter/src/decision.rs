//! What the lists say of a request: [`Decision`]. Rule: evidence, no opinion: which list, which line, which words of it.

use crate::ruleset::Kind;
use std::fmt;
use std::sync::Arc;

/// What a request is, by the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Outcome {
    /// No list has it.
    #[default]
    NotListed,
    /// It is on a list of exceptions: it is not filtered further.
    Exception,
    /// It is on a grey list: no list bans it, but its content is looked into.
    Grey,
    /// It is banned.
    Banned,
}

impl Outcome {
    /// The name used in output and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotListed => "not listed",
            Self::Exception => "exception",
            Self::Grey => "grey",
            Self::Banned => "banned",
        }
    }
}

/// One line of one list that has the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// What the list says.
    pub outcome: Outcome,
    /// The list's file, as it was named when it was loaded.
    pub file: Arc<str>,
    /// The line in it, from 1.
    pub line: u32,
    /// The list's category, or its kind where it names none.
    pub category: Arc<str>,
    /// What of the request is listed there: a site, an address, a regular expression.
    pub pattern: String,
}

impl Listing {
    /// `FILE:LINE`, the file without the directories that do not tell it from others.
    pub fn rule(&self) -> String {
        rule(&self.file, self.line)
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, category, pattern, .. } = self;
        write!(f, "{category}: {pattern} ({file}:{line})")
    }
}

/// `FILE:LINE` of a line.
pub(crate) fn rule(file: &str, line: u32) -> String {
    match line {
        // A rule of the configuration, not of a list.
        0 => short(file).to_owned(),
        line => format!("{}:{line}", short(file)),
    }
}

/// A file's name, with its directory where that is what tells it from others (`adult/domains`).
fn short(file: &str) -> &str {
    let mut slashes = file.rmatch_indices('/').map(|(at, _)| at + 1);
    let last = slashes.next().unwrap_or(0);
    let name = &file[last..];
    let is_of_phrases = ["weighted", "banned", "exception"].iter().any(|start| name.starts_with(start));
    match name {
        "domains" | "urls" | "expressions" => &file[slashes.next().unwrap_or(0)..],
        _ if is_of_phrases && Kind::of_file(name).is_none() => &file[slashes.next().unwrap_or(0)..],
        name => name,
    }
}

/// What all lists together say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What it comes to.
    pub outcome: Outcome,
    /// The line that decides.
    pub by: Option<Listing>,
    /// Other lines that have the request, the weightiest first.
    pub also: Vec<Listing>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_rule_is_called() {
        for (file, expected) in [
            ("/etc/lists/bannedsitelist", "bannedsitelist:7"),
            ("/ut1/adult/domains", "adult/domains:7"),
            ("adult/urls", "adult/urls:7"),
            ("/p/pornography/weighted_german", "pornography/weighted_german:7"),
            ("domains", "domains:7"),
            ("builtin:bannedsitelist", "builtin:bannedsitelist:7"),
        ] {
            let listing = Listing {
                outcome: Outcome::Banned,
                file: file.into(),
                line: 7,
                category: "c".into(),
                pattern: "p".to_owned(),
            };
            assert_eq!(listing.rule(), expected);
        }
    }
}
