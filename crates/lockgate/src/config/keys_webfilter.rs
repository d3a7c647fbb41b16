//! The rows of `[webfilter]`. Rule: one row for each key; its default is the one that the code has, which a test checks.

use crate::config::draft::{Draft, Source};
use crate::config::table::{Section, key};
use lockgate_webfilter::Files;

/// What the section is about.
pub const ABOUT: &str =
    "Which pages are unwanted, by lists of sites and URLs. What becomes of them is `policy.findings.web`.";

/// `[webfilter]`: lists.
pub const WEBFILTER: Section<Draft> = Section {
    name: "webfilter",
    keys: &[
        key(
            "lists",
            "list of files and directories",
            "[\"builtin:demonstration\"]",
            "Lists as they are: those of e2guardian by their names (`bannedsitelist` …) with what they include, categories of \
         UT1 and Shalla (`adult/domains`), plain lists of domains, hosts files, Adblock filters. Of a directory, every list in it \
         and below; of one with e2guardian's lists, those and nothing else. `builtin:demonstration` bans `blocked.example` and \
         `news.example/games`: replace it by real ones.",
            |d, v| v.list(Source::read).map(|sources| d.lists = sources),
        ),
        key(
            "hold_bytes_max",
            "size",
            "\"1 MiB\"",
            "A page whose text some list has rules to replace (`contentregexplist`) is held whole, up to so many bytes, decoded or \
             not. A longer one passes as it came, and its event says so.",
            |d, v| v.bytes().map(|bytes| d.settings.replace_bytes_max = bytes),
        ),
        key(
            "downloads",
            "`\"all\"`, `\"excepted\"`",
            "\"all\"",
            "Which types of files may be fetched: all that no list bans, or none but those of `exceptionmimetypelist` and \
             `exceptionextensionlist` (e2guardian's `blockdownloads`).",
            |d, v| {
                v.choice(&[("all", Files::AllButBanned), ("excepted", Files::OnlyExcepted)])
                    .map(|files| d.files = files)
            },
        ),
    ],
    below: &[],
};
