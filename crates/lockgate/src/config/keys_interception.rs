//! The rows of `[tls_interception]`. Rule: one row for each key; its default is the one that the code has, which a test checks.

use crate::config::draft::Draft;
use crate::config::table::{Section, key};
use lockgate_relay::settings::Unseen;

/// What the section is about.
pub const ABOUT: &str = "How TLS is intercepted by listeners with `intercept_tls = true`: `docs/interception.md` says what clients need \
     for it, and what it means for the people at them.";

const UNSEEN: [(&str, Unseen); 2] = [("refuse", Unseen::Refuse), ("pass", Unseen::Pass)];

/// `[tls_interception]`.
pub const INTERCEPTION: Section<Draft> = Section {
    name: "tls_interception",
    keys: &[
        key(
            "directory",
            "path",
            "\"/var/lib/lockgate/authority\"",
            "Where the authority is that signs what clients see: `certificate.pem` and `key.pem`. What is missing there is \
             made at the start. `lockgate ca export` prints the certificate.",
            |d, v| v.path().map(|path| d.settings.interception.directory = path),
        ),
        key(
            "certificate",
            "path",
            "",
            "An authority that is there already, PEM: its certificate, and behind it those between it and its root …",
            |d, v| v.path().map(|path| d.authority_certificate = Some(path)),
        ),
        key("key", "path", "", "… and its key, PEM (PKCS #8).", |d, v| {
            v.path().map(|path| d.authority_key = Some(path))
        }),
        key(
            "server_roots",
            "list of files",
            "[\"/etc/ssl/certs/ca-certificates.crt\"]",
            "The roots to check servers by, PEM: the system's, or others beside or in place of them.",
            |d, v| v.list(|item| item.path()).map(|paths| d.settings.interception.server_roots = paths),
        ),
        key(
            "except",
            "list of domains",
            "[]",
            "Hosts whose TLS is never intercepted, each with all below it: those whose clients know the server's certificate, \
             banks, medicine. They are judged by their names alone.",
            |d, v| v.names().map(|names| d.settings.interception.except = names),
        ),
        key(
            "except_files",
            "list of files",
            "[]",
            "Files with such hosts, one a line; what follows `#` is a comment.",
            |d, v| v.list(|item| item.path()).map(|paths| d.settings.interception.except_files = paths),
        ),
        key(
            "other_protocols",
            "\"refuse\" or \"pass\"",
            "\"refuse\"",
            "What becomes of what is not HTTP within TLS behind CONNECT, or where it is intercepted: nobody can look into it.",
            |d, v| v.choice(&UNSEEN).map(|unseen| d.settings.interception.other_protocols = unseen),
        ),
        key(
            "ech",
            "\"pass\" or \"refuse\"",
            "\"pass\"",
            "What becomes of TLS that is not intercepted, whose hello may hide another name than the one that is judged \
             (encrypted client hello). Browsers make every hello look so: `refuse` refuses theirs.",
            |d, v| v.choice(&UNSEEN).map(|unseen| d.settings.interception.ech = unseen),
        ),
    ],
    below: &[],
};
