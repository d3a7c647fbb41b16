//! The settings table, but for listeners, policy and the web filter, which have files of their own. Rule: one row for each key; its default is
//! the one that the code has, which a test checks.

use crate::config::draft::{Cache, Draft, Source};
use crate::config::table::{Info, Section, key};
use crate::config::{keys_ids, keys_interception, keys_listen, keys_page, keys_policy, keys_webfilter};
use lockgate_relay::settings::EventsTo;

/// `[gateway]`: the process.
pub const GATEWAY: Section<Draft> = Section {
    name: "gateway",
    keys: &[
        key(
            "hostname",
            "name",
            "",
            "The name the gateway gives itself in greetings, EHLO and trace headers. Without it, the system's.",
            |d, v| v.name().map(|name| d.settings.hostname = name),
        ),
        key("threads", "number", "0", "Threads that serve connections; 0 is one for each core.", |d, v| {
            v.number(0).map(|n| d.settings.threads = n)
        }),
        key(
            "connections_max",
            "number",
            "10000",
            "Connections at once, over all listeners. Who comes after that is told to come again (421).",
            |d, v| v.number(1).map(|n| d.settings.connections_max = n),
        ),
        key(
            "names_kept",
            "time",
            "\"1 min\"",
            "How long it is remembered what a name leads to. That it leads nowhere is remembered for 5 s at most.",
            |d, v| v.duration().map(|time| d.settings.names_kept = time),
        ),
        key(
            "idle_servers_max",
            "number",
            "256",
            "Connections to web servers that each thread keeps open for requests to come, whoever's they are.",
            |d, v| v.number(0).map(|n| d.settings.idle_servers_max = n),
        ),
        key("idle_server_timeout", "time", "\"30 s\"", "How long it keeps one that nobody needs.", |d, v| {
            v.duration().map(|time| d.settings.idle_server_timeout = time)
        }),
        key(
            "drain_timeout",
            "time",
            "\"1 min\"",
            "How long connections may go on after SIGTERM before they are dropped.",
            |d, v| v.duration().map(|time| d.settings.drain_timeout = time),
        ),
    ],
    below: &[],
};

/// `[antivirus]`: signatures.
pub const ANTIVIRUS: Section<Draft> = Section {
    name: "antivirus",
    keys: &[
        key(
            "databases",
            "list of files and directories",
            "[\"builtin:demonstration\"]",
            "Signature databases in ClamAV's formats; of a directory, every file in it and below. `builtin:demonstration` is a handful of \
             harmless demonstration signatures, EICAR among them: replace it by real ones.",
            |d, v| v.list(Source::read).map(|sources| d.databases = sources),
        ),
        key(
            "cache",
            "\"auto\", \"off\" or directory",
            "\"auto\"",
            "Where large databases are kept as they were compiled, so that the next start need not compile them: `auto` is \
             beside them, or if that cannot be written to, `$CACHE_DIRECTORY`, `/var/cache/lockgate` or the user's own cache. \
             A file there that does not fit is made anew, and may be deleted at any time.",
            |d, v| Cache::read(v.text()?, || v.path()).map(|cache| d.cache = cache),
        ),
    ],
    below: &[],
};

/// `[events]`: what is written down.
pub const EVENTS: Section<Draft> = Section {
    name: "events",
    keys: &[
        key(
            "eve",
            "path or \"stderr\"",
            "",
            "Where events are written as EVE JSON, one a line; the file is opened anew on SIGHUP. Without it, none are.",
            |d, v| {
                d.settings.events.eve = match v.text()? {
                    "stderr" => EventsTo::Stderr,
                    _ => EventsTo::File(v.path()?),
                };
                Ok(())
            },
        ),
        key(
            "squid_access_log",
            "path",
            "",
            "Where a line for each web exchange is written as Squid's native `access.log` has it: time, milliseconds, \
             client, `TCP_MISS/200`, bytes of content, method, URL, user, `HIER_DIRECT/` and server, type. The file is \
             opened anew on SIGHUP.",
            |d, v| v.path().map(|path| d.settings.events.access = EventsTo::File(path)),
        ),
        key(
            "waiting_max",
            "number",
            "8192",
            "Event lines that may wait for a slow disk. What comes after that is counted and dropped: \
             writing events never delays a mail.",
            |d, v| v.number(1).map(|n| d.settings.events_waiting_max = n),
        ),
        key(
            "stats_interval",
            "time",
            "\"1 min\"",
            "How often figures about the gateway itself are written: an event of type `stats`.",
            |d, v| v.duration().map(|time| d.settings.stats_interval = time),
        ),
    ],
    below: &[],
};

/// `[limits]`: what content may cost.
pub const LIMITS: Section<Draft> = Section {
    name: "limits",
    keys: &[
        key("depth_max", "number", "24", "How deep parts may nest; the mail itself is at 0.", |d, v| {
            v.number(0).map(|n| d.limits.depth_max = n)
        }),
        key("parts_max", "number", "10000", "Parts in one mail or file, over all depths.", |d, v| {
            v.number(1).map(|n| d.limits.parts_max = n)
        }),
        key(
            "expansion_max",
            "number",
            "250",
            "Bytes that may be decoded for each byte received, over all layers …",
            |d, v| v.number(1).map(|n| d.limits.expansion_max = n),
        ),
        key(
            "expansion_free_bytes",
            "size",
            "\"16 MiB\"",
            "… once so many have been decoded: small files compress well and do no harm.",
            |d, v| v.bytes().map(|n| d.limits.expansion_free_bytes = n),
        ),
        key(
            "decoded_bytes_max",
            "size",
            "\"1 GiB\"",
            "Bytes that may be decoded of one mail or file, over all layers.",
            |d, v| v.bytes().map(|n| d.limits.decoded_bytes_max = n),
        ),
        key(
            "part_held_bytes_max",
            "size",
            "\"8 MiB\"",
            "How much of one part may be held for a format that cannot be read as a stream.",
            |d, v| v.bytes().map(|n| d.limits.part_held_bytes_max = n),
        ),
        key(
            "held_bytes_max",
            "size",
            "\"32 MiB\"",
            "How much may be held for all parts of one mail or file.",
            |d, v| v.bytes().map(|n| d.limits.held_bytes_max = n),
        ),
        key(
            "hold_pool_bytes",
            "size",
            "\"256 MiB\"",
            "Bytes of mails, pages and uploads that may be held at once, over all connections. When they are spent, mails \
             stream from their first byte. When a sixteenth is, what has a tail to hold (pop3, http) streams from \
             `tail_bytes` on.",
            |d, v| v.bytes().map(|n| d.settings.hold_pool_bytes = n),
        ),
        key(
            "content_pool_bytes",
            "size",
            "\"512 MiB\"",
            "Bytes that decoders may hold at once, over all connections. When they are spent, clients are told to \
             come again (451): load never opens a way round.",
            |d, v| v.bytes().map(|n| d.settings.content_pool_bytes = n),
        ),
    ],
    below: &[],
};

/// A section as people see it.
pub struct Shown {
    /// Its heading in the file: `[limits]`, `[[listen]]`.
    pub heading: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its rows.
    pub rows: Vec<&'static Info>,
}

/// Every section, in the order of the reference.
pub fn shown() -> Vec<Shown> {
    fn rows<T>(section: &'static Section<T>) -> Vec<&'static Info> {
        section.keys.iter().map(|key| &key.info).collect()
    }
    vec![
        Shown { heading: "[gateway]", about: "The process as a whole.", rows: rows(&GATEWAY) },
        Shown { heading: "[[listen]]", about: keys_listen::ABOUT, rows: rows(&keys_listen::LISTEN) },
        Shown { heading: "[antivirus]", about: "Virus signatures.", rows: rows(&ANTIVIRUS) },
        Shown {
            heading: "[webfilter]",
            about: keys_webfilter::ABOUT,
            rows: rows(&keys_webfilter::WEBFILTER),
        },
        Shown { heading: "[ids]", about: keys_ids::ABOUT, rows: rows(&keys_ids::IDS) },
        Shown {
            heading: "[tls_interception]",
            about: keys_interception::ABOUT,
            rows: rows(&keys_interception::INTERCEPTION),
        },
        Shown { heading: "[policy]", about: keys_policy::ABOUT, rows: rows(&keys_policy::POLICY) },
        Shown {
            heading: "[policy.findings]",
            about: keys_policy::ABOUT_FINDINGS,
            rows: rows(&keys_policy::FINDINGS),
        },
        Shown {
            heading: "[policy.incomplete]",
            about: keys_policy::ABOUT_INCOMPLETE,
            rows: rows(&keys_policy::INCOMPLETE),
        },
        Shown {
            heading: "[[policy.group]]",
            about: keys_policy::ABOUT_GROUP,
            rows: rows(&keys_policy::GROUP),
        },
        Shown { heading: "[page]", about: keys_page::ABOUT, rows: rows(&keys_page::PAGE) },
        Shown {
            heading: "[limits]",
            about: "What content may cost; over a limit it is `Incomplete`, and policy decides.",
            rows: rows(&LIMITS),
        },
        Shown { heading: "[events]", about: "What is written down.", rows: rows(&EVENTS) },
    ]
}
