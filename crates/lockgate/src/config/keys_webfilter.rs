//! The rows of `[webfilter]`. Rule: one row for each key; its default is the one that the code has, which a test checks.

use crate::config::draft::{Draft, Source};
use crate::config::table::{Section, key};

/// What the section is about.
pub const ABOUT: &str =
    "Which pages are unwanted, by lists of sites and URLs. What becomes of them is `policy.findings.web`.";

/// `[webfilter]`: lists.
pub const WEBFILTER: Section<Draft> = Section {
    name: "webfilter",
    keys: &[key(
        "lists",
        "list of files and directories",
        "[\"builtin:demonstration\"]",
        "Lists as they are: those of e2guardian by their names (`bannedsitelist` …) with what they include, categories of \
         UT1 and Shalla (`adult/domains`), plain lists of domains, hosts files, Adblock filters. Of a directory, every list in it \
         and below; of one with e2guardian's lists, those and nothing else. `builtin:demonstration` bans `blocked.example` and \
         `news.example/games`: replace it by real ones.",
        |d, v| v.list(Source::read).map(|sources| d.lists = sources),
    )],
    below: &[],
};
