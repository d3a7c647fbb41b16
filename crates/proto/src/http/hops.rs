//! What is between two neighbours alone (RFC 9110 section 7.6.1). Rule: nothing of one connection is told on the other.

use super::{Fields, Version};

/// Fields of one connection, whether Connection names them or not. Trailer is among them because whether there are
/// trailers is ours to say ([`Trailing`](super::Trailing)); the two that ask for credentials, because the client has been asked by us, not from afar.
pub(crate) const OF_ONE_HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Takes away what is between two neighbours alone: Connection and what it names, and the fields known to be such.
/// Content-Length stays, and says nothing: [`write_request`](super::write_request) and
/// [`write_response`](super::write_response) make their own. Who upgrades puts Connection and Upgrade back.
pub fn strip_hop_by_hop(fields: &mut Fields) {
    let named = connection_options(fields);
    fields.retain(|name| {
        !OF_ONE_HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop.as_bytes()))
            && !named.iter().any(|named| name.eq_ignore_ascii_case(named))
    });
}

/// What Connection names, as far as it may.
pub(crate) fn connection_options(fields: &Fields) -> Vec<Vec<u8>> {
    let is_named = |name: &&[u8]| !name.is_empty() && !is_for_all(name);
    fields.list("connection").filter(is_named).map(<[u8]>::to_vec).collect()
}

/// What says which resource is meant, or what the content is, must be the same for all on the way, or they would not
/// read the same: it may not be named in Connection, and where it is, it stays.
fn is_for_all(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"host")
        || name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"content-"))
}

/// Whether the connection ends behind this message (RFC 9112 section 9.3).
pub fn wants_close(fields: &Fields, version: Version) -> bool {
    match version {
        Version::Http11 => fields.list_has("connection", "close"),
        // A stream has no connection for itself.
        Version::Http2 => false,
        Version::Http10 => {
            fields.list_has("connection", "close") || !fields.list_has("connection", "keep-alive")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
    }

    #[test]
    fn what_is_of_one_hop_is_taken_away() {
        let mut sent = fields(&[
            ("Host", "a"),
            ("Connection", "X-Mine, close,,content-type , HOST"),
            ("connection", "keep-alive"),
            ("Keep-Alive", "300"),
            ("x-mine", "1"),
            ("X-MINE", "2"),
            ("X-Mine-Too", "3"),
            ("Content-Type", "text/html"),
            ("Proxy-Authorization", "Basic eDp5"),
            ("TE", "trailers"),
            ("Transfer-Encoding", "chunked"),
            ("Upgrade", "websocket"),
        ]);
        strip_hop_by_hop(&mut sent);
        assert_eq!(sent, fields(&[("Host", "a"), ("X-Mine-Too", "3"), ("Content-Type", "text/html")]));
    }

    #[test]
    fn a_connection_ends_where_one_side_says_so() {
        let cases = [
            (Version::Http11, "", false),
            (Version::Http11, "keep-alive", false),
            (Version::Http11, "upgrade, Close", true),
            (Version::Http10, "", true),
            (Version::Http10, "Keep-Alive", false),
            (Version::Http10, "keep-alive, close", true),
        ];
        for (version, value, expected) in cases {
            assert_eq!(
                wants_close(&fields(&[("Connection", value)]), version),
                expected,
                "{version:?} {value}"
            );
        }
    }
}
