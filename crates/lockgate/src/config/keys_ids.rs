//! The rows of `[ids]`. Rule: one row for each key; its default is the one that the code has, which a test checks.

use crate::config::draft::{Draft, Source};
use crate::config::table::{Section, key};
use crate::config::value::{Value, Wrong};

/// What the section is about.
pub const ABOUT: &str = "Intrusion rules. What becomes of what they match is `policy.findings.intrusion` for rules with \
    `drop` and `reject`, `policy.findings.alert` for those with `alert`.";

/// `[ids]`: rules.
pub const IDS: Section<Draft> = Section {
    name: "ids",
    keys: &[
        key(
            "rules",
            "list of files and directories",
            "[\"builtin:demonstration\"]",
            "Rules of Suricata or Snort as they are: files, directories (every `.rules` file in them and below, and \
             `classification.config`), or names with a star such as `/etc/suricata/rules/*.rules`. `builtin:demonstration` stops \
             addresses with `/demonstration/attack`: replace it by real ones.",
            |d, v| v.list(Source::read).map(|sources| d.rules = sources),
        ),
        key(
            "variables",
            "list of `\"NAME = list\"`",
            "[]",
            "What `$NAME` stands for in rules, where it is not what Suricata's own configuration says: addresses, or ports for \
             names that end in `_PORTS`. `\"HOME_NET = [10.0.0.0/8, 2001:db8::/32]\"`.",
            |d, v| v.list(variable).map(|variables| d.rule_variables = variables),
        ),
        key(
            "action_order",
            "list of `pass`, `drop`, `reject`, `alert`",
            "[\"pass\", \"drop\", \"reject\", \"alert\"]",
            "Which rules go first of those that match at one moment; behind one with `pass` none is asked.",
            |d, v| v.list(|v| v.text().map(str::to_owned)).map(|order| d.action_order = order),
        ),
    ],
    below: &[],
};

fn variable(value: Value<'_>) -> Result<(String, String), Wrong> {
    let text = value.text()?;
    let (name, list) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} lacks its =: write it as \"HOME_NET = 10.0.0.0/8\""))?;
    Ok((name.trim().trim_start_matches('$').to_owned(), list.trim().to_owned()))
}
