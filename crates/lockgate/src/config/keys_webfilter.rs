//! The rows of `[webfilter]`. Rule: one row for each key; its default is the one that the code has, which a test checks.

use crate::config::draft::{Draft, Source};
use crate::config::table::{Section, key};
use crate::config::value::{Value, Wrong};
use lockgate_webfilter::Files;
use lockgate_webfilter::phrases::{Counting, Readings};

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
            "naughtynesslimit",
            "number",
            "50",
            "A page is unwanted when the phrases in it have more points than this. e2guardian's word: 50 is for young \
             children, 100 for older ones, 160 for young adults.",
            |d, v| v.number(1).map(|points| d.phrases.points_max = points),
        ),
        key(
            "weightedphrasemode",
            "`0`, `1` or `2`",
            "2",
            "How often a phrase counts: 0 no page is searched for phrases, 1 each time that it stands in the page, 2 once.",
            |d, v| {
                numbered(v, &[Counting::Never, Counting::EachTime, Counting::Once])
                    .map(|mode| d.phrases.counting = mode)
            },
        ),
        key(
            "phrasefiltermode",
            "`0`, `1`, `2` or `3`",
            "2",
            "What of a page is searched for phrases: 0 the page as it is written, 1 the text that a reader sees, 2 both, each by \
             itself, 3 only its title and `meta` elements.",
            |d, v| {
                let modes = [Readings::Raw, Readings::Text, Readings::Both, Readings::Meta];
                numbered(v, &modes).map(|mode| d.phrases.readings = mode)
            },
        ),
        key(
            "phrase_bytes_max",
            "size",
            "\"2 MiB\"",
            "How much of a page is searched for phrases. A longer one is judged by so much of its beginning.",
            |d, v| v.bytes().map(|bytes| d.phrases.bytes_max = bytes),
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

/// A mode by its number, as e2guardian has it.
fn numbered<T: Copy>(value: Value<'_>, modes: &[T]) -> Result<T, Wrong> {
    let number: usize = value.number(0)?;
    let last = modes.len() - 1;
    modes.get(number).copied().ok_or_else(|| format!("a number from 0 to {last} is wanted, not {number}"))
}
