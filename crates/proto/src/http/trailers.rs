//! Fields behind the content (RFC 9110 section 6.5). Rule: none of them changes what was decided without them: how the
//! message is framed, where it goes, who asks, what the content is, who may keep it.

use super::fields::trim;
use super::hops::{OF_ONE_HOP, connection_options};
use super::{Fields, Limits, Refusal, http2};

/// Fields that decide about a message before its content is read, and so cannot come behind it (RFC 9110 section 6.5.1);
/// those of a connection beside.
const NOT_IN_TRAILERS: &[&str] = &[
    // Framing and routing; who passed it on.
    "forwarded",
    "host",
    "http2-settings",
    "via",
    // Controls and conditionals of a request.
    "cache-control",
    "expect",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "max-forwards",
    "origin",
    "pragma",
    "range",
    // Who asks, and whether he may.
    "authorization",
    "cookie",
    "set-cookie",
    "www-authenticate",
    // What a response says to those who keep it or follow it.
    "age",
    "alt-svc",
    "date",
    "expires",
    "location",
    "refresh",
    "retry-after",
    "vary",
    "warning",
];

/// Beginnings of names that are none either: what says what the content is, and by which way a request came.
const NOT_IN_TRAILERS_BEGIN: &[&str] = &["content-", "x-forwarded-"];

/// Whether a field may come behind the content.
fn may_come(name: &[u8]) -> bool {
    let is = |other: &&str| name.eq_ignore_ascii_case(other.as_bytes());
    let begins = |other: &&str| {
        name.get(..other.len()).is_some_and(|start| start.eq_ignore_ascii_case(other.as_bytes()))
    };
    !NOT_IN_TRAILERS.iter().any(is) && !OF_ONE_HOP.iter().any(is) && !NOT_IN_TRAILERS_BEGIN.iter().any(begins)
}

/// Without those that may not come behind the content.
pub(crate) fn allowed(mut trailers: Fields) -> Fields {
    trailers.retain(may_come);
    trailers
}

/// Reads the trailers of a message of HTTP/2 (RFC 9113 section 8.1), as those of HTTP/1 are read: without those that may
/// not be any. Refused is what would be in a head.
pub fn trailers_from_http2(trailers: Fields, limits: &Limits) -> Result<Fields, Refusal> {
    http2::check(&trailers, limits.fields_max, limits.trailer_bytes_max, Refusal::TrailersTooLong)?;
    Ok(allowed(trailers))
}

/// What a message's head says of the fields behind its content. To be read before
/// [`strip_hop_by_hop`](super::strip_hop_by_hop).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailing {
    /// The value of `Trailer` (RFC 9110 section 6.6.2), without what may not come.
    announced: Vec<u8>,
    /// What Connection names is the connection's behind the content, too (RFC 9110 section 7.6.1).
    of_one_hop: Vec<Vec<u8>>,
}

impl Trailing {
    /// Reads a head's fields.
    pub fn of(head: &Fields) -> Self {
        let of_one_hop = connection_options(head);
        let names = head.list("trailer").filter(|name| !name.is_empty() && may_come(name));
        let names: Vec<&[u8]> = names.filter(|name| !is_among(&of_one_hop, name)).collect();
        Self { announced: names.join(&b", "[..]), of_one_hop }
    }

    /// Announces them in a head that leaves, as they were announced in the one that came.
    pub fn announce(&self, head: &mut Fields) {
        if !trim(&self.announced).is_empty() {
            head.push(b"Trailer", &self.announced);
        }
    }

    /// Those that go on.
    pub fn passed_on(&self, mut trailers: Fields) -> Fields {
        trailers.retain(|name| !is_among(&self.of_one_hop, name));
        trailers
    }
}

fn is_among(names: &[Vec<u8>], name: &[u8]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
    }

    #[test]
    fn what_was_decided_is_not_decided_again() {
        for (name, expected) in [
            ("grpc-status", true),
            ("Server-Timing", true),
            ("ETag", true),
            ("Repr-Digest", true),
            ("contents", true),
            ("Content-Length", false),
            ("content-type", false),
            ("Transfer-Encoding", false),
            ("Connection", false),
            ("TE", false),
            ("Trailer", false),
            ("Host", false),
            ("X-Forwarded-For", false),
            ("If-None-Match", false),
            ("Authorization", false),
            ("Proxy-Authenticate", false),
            ("Set-Cookie", false),
            ("Location", false),
            ("Alt-Svc", false),
            ("Vary", false),
        ] {
            assert_eq!(!allowed(fields(&[(name, "1")])).is_empty(), expected, "{name}");
        }
    }

    #[test]
    fn trailers_of_http_2_are_judged_as_a_head_is_and_have_limits() {
        let limits = Limits { trailer_bytes_max: 16, fields_max: 2, ..Limits::default() };
        type Lines<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Lines<'_>, Result<usize, Refusal>); 9] = [
            (&[], Ok(0)),
            (&[("a", "1"), ("b", "2")], Ok(2)),
            (&[("a", "1"), ("host", "b")], Ok(1)),
            (&[("a", "12345678901")], Ok(1)),
            (&[("a", "123456789012")], Err(Refusal::TrailersTooLong)),
            (&[("a", "1"), ("b", "2"), ("c", "3")], Err(Refusal::TooManyFields)),
            (&[("A", "1")], Err(Refusal::BadFieldName)),
            (&[("a", "1\r\nb: 2")], Err(Refusal::ControlCharacter)),
            (&[("connection", "a")], Err(Refusal::ConnectionField)),
        ];
        for (lines, expected) in cases {
            let read = trailers_from_http2(fields(lines), &limits);
            assert_eq!(read.map(|trailers| trailers.len()), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_is_announced_is_what_may_come() {
        let cases: [(&[(&str, &str)], &str); 5] = [
            (&[], ""),
            (&[("Trailer", "X-One"), ("trailer", ", grpc-status ,")], "X-One, grpc-status"),
            (&[("Trailer", "Content-Length, X-One, Host")], "X-One"),
            (&[("Connection", "x-one, close"), ("Trailer", "X-One, X-Two")], "X-Two"),
            (&[("Trailer", "Set-Cookie")], ""),
        ];
        for (head, expected) in cases {
            let mut out = Fields::new();
            Trailing::of(&fields(head)).announce(&mut out);
            let said = out.get("trailer").unwrap_or_default().escape_ascii().to_string();
            assert_eq!(said, expected, "{head:?}");
        }
        let trailing = Trailing::of(&fields(&[("Connection", "X-One, close")]));
        let trailers = fields(&[("x-one", "1"), ("X-Two", "2")]);
        assert_eq!(trailing.passed_on(trailers), fields(&[("X-Two", "2")]));
    }
}
