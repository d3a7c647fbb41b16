//! The settings table of `[policy]` and `[[policy.group]]`. Rule: one row for each key, and one for each class and reason.

use crate::config::draft::{GroupDraft, Source};
use crate::config::table::{Key, Section, key};
use crate::config::value::{Value, Wrong};
use lockgate_model::{Class, Reason, Verdict};

/// What the section is about.
pub const ABOUT: &str = "What is done with what is found, for everybody whom no group covers. The actions are `pass`, \
                         `tag`, `quarantine`, `defer` and `reject`; the hardest one wins.";
/// What its findings are about.
pub const ABOUT_FINDINGS: &str = "The action for each class of findings.";
/// What its reasons are about.
pub const ABOUT_INCOMPLETE: &str = "The action where content could not be inspected, for each reason. The reasons that are the gateway's own \
     (`budget`, `overload`, `reloading`) are never milder than `defer`: load must never open a way round.";
/// What its groups are about.
pub const ABOUT_GROUP: &str = "Other actions for some; the first group that covers a transaction judges it. A group begins as a copy of \
     `[policy]` and takes all of its keys, `findings` and `incomplete` included \
     (`findings = { anomaly = \"reject\" }`).";

/// `[policy]`.
pub const POLICY: Section<GroupDraft> = Section { name: "policy", keys: POLICY_KEYS, below: BELOW };
/// `[[policy.group]]`: its own keys; those of `[policy]` are read besides.
pub const GROUP: Section<GroupDraft> = Section { name: "policy.group", keys: GROUP_KEYS, below: BELOW };
/// `[policy.findings]`.
pub const FINDINGS: Section<GroupDraft> = Section { name: "policy.findings", keys: FINDING_KEYS, below: &[] };
/// `[policy.incomplete]`.
pub const INCOMPLETE: Section<GroupDraft> =
    Section { name: "policy.incomplete", keys: INCOMPLETE_KEYS, below: &[] };

const BELOW: &[&Section<GroupDraft>] = &[&FINDINGS, &INCOMPLETE];

const ACTION: &str = "action";

const BANNED_NAMES: Key<GroupDraft> = key(
    "banned_names",
    "list of patterns, or table of pattern = action",
    "[]",
    "Names of attachments and archive entries, at every depth, that are findings of class `banned_name`: `*` and `?` \
     stand for any characters. In a table each has an action of its own: `{ \"*.exe\" = \"reject\", \"*.iso\" = \"tag\" }`.",
    |d, v| d.ban_names(v),
);
const BANNED_TYPES: Key<GroupDraft> = key(
    "banned_types",
    "list of types, or table of type = action",
    "[]",
    "The same for types, detected by content and not by name: `pe`, `elf`, `script`, `rar` …",
    |d, v| d.ban_types(v),
);
const BYPASS: Key<GroupDraft> = key(
    "bypass",
    "time",
    "",
    "How long a page that lists ban can be had all the same (http): the block page has a link for it, for that client, user \
     and host alone, and an event says that it was followed. What else is found is judged as ever. Without it, there is \
     no link.",
    |d, v| v.duration().map(|time| d.group.bypass = Some(time)),
);
const TAG_WHEN_STREAMED: Key<GroupDraft> = key(
    "tag_when_streamed",
    "\"pass\", \"defer\" or \"reject\"",
    "\"pass\"",
    "What `tag` becomes for a mail that has left already, longer than hold_bytes: it cannot be tagged any more.",
    |d, v| {
        let words = [Verdict::Pass, Verdict::Defer, Verdict::Reject].map(|verdict| (verdict.name(), verdict));
        v.choice(&words).map(|verdict| d.group.tag_when_streamed = verdict)
    },
);

const POLICY_KEYS: &[Key<GroupDraft>] = &[
    key(
        "quarantine",
        "directory",
        "",
        "Where mails with the action `quarantine` are kept: a maildir, to be read with any mail reader. Required for \
         that action; without it nothing is ever written to disk.",
        |d, v| v.path().map(|path| d.quarantine = Some(path)),
    ),
    BANNED_NAMES,
    BANNED_TYPES,
    BYPASS,
    TAG_WHEN_STREAMED,
];

const GROUP_KEYS: &[Key<GroupDraft>] = &[
    key("name", "name", "", "Required. Its name in events.", |d, v| v.name().map(|name| d.group.name = name)),
    key(
        "recipients",
        "list of addresses and domains",
        "[]",
        "Whom it covers: `a@example.org`, `example.org`, or `.example.org` with all subdomains. Empty: everybody. The \
         first recipient of a mail decides; one of another group is told to come in a mail of its own (452 4.5.3).",
        |d, v| v.names().map(|names| d.group.covers.recipients = names),
    ),
    key("networks", "list of networks", "[]", "Clients that it covers. Empty: all.", |d, v| {
        v.list(|item| item.parsed()).map(|networks| d.group.covers.networks = networks)
    }),
    key("listeners", "list of names", "[]", "Listeners that it covers. Empty: all.", |d, v| {
        v.names().map(|names| d.group.covers.listeners = names)
    }),
    key(
        "users",
        "list of names",
        "[]",
        "Users that it covers, of those who say who they are to a listener with `users`; `*` is each of them. Empty: \
         everybody, known or not.",
        |d, v| v.names().map(|names| d.group.covers.users = names),
    ),
    key(
        "lists",
        "list of files and directories",
        "",
        "Web lists of its own, in place of those of `[webfilter]`; `[]` is none. Groups with the same ones share them.",
        |d, v| v.list(Source::read).map(|sources| d.lists = Some(sources)),
    ),
    key(
        "naughtynesslimit",
        "number",
        "",
        "How many points the phrases in a page may have, in place of `webfilter.naughtynesslimit`.",
        |d, v| v.number(1).map(|points| d.points_max = Some(points)),
    ),
    BANNED_NAMES,
    BANNED_TYPES,
    BYPASS,
    TAG_WHEN_STREAMED,
];

fn on(d: &mut GroupDraft, class: Class, v: Value<'_>) -> Result<(), Wrong> {
    v.verdict().map(|verdict| d.group.set_finding(class, verdict))
}

fn un(d: &mut GroupDraft, reason: Reason, v: Value<'_>) -> Result<(), Wrong> {
    let verdict = v.verdict()?;
    if reason.is_ours() && verdict < Verdict::Defer {
        return Err("it is the gateway's own reason and never milder than \"defer\": load must never open a way round"
            .to_owned());
    }
    d.group.set_incomplete(reason, verdict);
    Ok(())
}

const FINDING_KEYS: &[Key<GroupDraft>] = &[
    key("virus", ACTION, "\"reject\"", "A virus signature matched.", |d, v| on(d, Class::Virus, v)),
    key("pua", ACTION, "\"tag\"", "A potentially unwanted application (signatures named `PUA.`).", |d, v| {
        on(d, Class::Pua, v)
    }),
    key("spam", ACTION, "\"tag\"", "A spam score over its threshold.", |d, v| on(d, Class::Spam, v)),
    key(
        "intrusion",
        ACTION,
        "\"reject\"",
        "An intrusion rule matched whose action is `drop` or `reject`.",
        |d, v| on(d, Class::Intrusion, v),
    ),
    key("alert", ACTION, "\"pass\"", "An intrusion rule matched whose action is `alert`.", |d, v| {
        on(d, Class::Alert, v)
    }),
    key("web", ACTION, "\"reject\"", "An unwanted page.", |d, v| on(d, Class::Web, v)),
    key(
        "anomaly",
        ACTION,
        "\"tag\"",
        "A format bent in a way that hides content, or that two readers read differently; both readings are inspected.",
        |d, v| on(d, Class::Anomaly, v),
    ),
    key("banned_name", ACTION, "\"reject\"", "A name on `banned_names`.", |d, v| on(d, Class::BannedName, v)),
    key("banned_type", ACTION, "\"reject\"", "A type on `banned_types`.", |d, v| on(d, Class::BannedType, v)),
];

const INCOMPLETE_KEYS: &[Key<GroupDraft>] = &[
    key("encrypted", ACTION, "\"tag\"", "The content is encrypted.", |d, v| un(d, Reason::Encrypted, v)),
    key("damaged", ACTION, "\"tag\"", "The content breaks its format's rules.", |d, v| {
        un(d, Reason::Damaged, v)
    }),
    key("truncated", ACTION, "\"tag\"", "The content ends before its format says.", |d, v| {
        un(d, Reason::Truncated, v)
    }),
    key("unsupported", ACTION, "\"tag\"", "A container or method that no decoder is there for.", |d, v| {
        un(d, Reason::Unsupported, v)
    }),
    key("depth", ACTION, "\"tag\"", "Nested deeper than `limits.depth_max`.", |d, v| un(d, Reason::Depth, v)),
    key("parts", ACTION, "\"tag\"", "More parts than `limits.parts_max`.", |d, v| un(d, Reason::Parts, v)),
    key("expansion", ACTION, "\"tag\"", "Grows by more than `limits.expansion_max`: a bomb.", |d, v| {
        un(d, Reason::Expansion, v)
    }),
    key("decoded_bytes", ACTION, "\"tag\"", "More than `limits.decoded_bytes_max`.", |d, v| {
        un(d, Reason::DecodedBytes, v)
    }),
    key(
        "held",
        ACTION,
        "\"tag\"",
        "More than `limits.part_held_bytes_max` would have to be held.",
        |d, v| un(d, Reason::Held, v),
    ),
    key(
        "work",
        ACTION,
        "\"tag\"",
        "A rule or an expression would take more work than it may: it was not asked to its end.",
        |d, v| un(d, Reason::Work, v),
    ),
    key("partial", ACTION, "\"tag\"", "Only a range of the content was transferred.", |d, v| {
        un(d, Reason::Partial, v)
    }),
    key("budget", ACTION, "\"defer\"", "`limits.content_pool_bytes` are spent.", |d, v| {
        un(d, Reason::Budget, v)
    }),
    key("overload", ACTION, "\"defer\"", "The gateway is overloaded.", |d, v| un(d, Reason::Overload, v)),
    key("reloading", ACTION, "\"defer\"", "An engine is not ready yet.", |d, v| un(d, Reason::Reloading, v)),
];
