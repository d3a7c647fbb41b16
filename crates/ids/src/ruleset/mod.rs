//! Text of rule files → AST, one rule at a time. Rule: a bad rule is a [`Fault`] and never spoils the next one.

pub(crate) mod bits;
pub(crate) mod bytes;
pub(crate) mod content;
pub(crate) mod datasets;
pub(crate) mod digests;
pub(crate) mod draft;
pub(crate) mod header;
pub(crate) mod integer;
pub(crate) mod keywords;
pub(crate) mod lines;
pub(crate) mod network;
pub(crate) mod packet;
pub(crate) mod pcre;
pub(crate) mod rule;
pub(crate) mod spoken;
pub(crate) mod sticky;
pub(crate) mod threshold;
pub(crate) mod transform;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use draft::Draft;
use network::Variables;
use rule::Rule;

/// Why a rule is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where in the rule, in bytes from 0.
    pub at: usize,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl Fault {
    pub fn at(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

/// Reads one rule, without the lines' ends in it.
pub(crate) fn parse(text: &str, variables: &Variables) -> Result<Rule, Fault> {
    let (head, body, body_at) = words::split(text)?;
    let header = header::parse(head, variables)?;
    let mut draft = Draft::new(header, words::is_snort3(body));
    for word in words::words(body, body_at) {
        let word = word?;
        keywords::apply(&mut draft, &word)?;
    }
    draft.finish(text.len())
}
