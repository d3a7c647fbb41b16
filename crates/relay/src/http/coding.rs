//! Content codings (RFC 9110 section 8.4): [`unreadable`]. Rule: what cannot be decoded for inspection is not passed, since it
//! was not asked for either.
//!
//! `Accept-Encoding` goes on as `gzip` or nothing. A body in gzip is recognised by its first bytes like any other archive and
//! seen through by the inspection, however often it is applied.

use lockgate_proto::http::Fields;

/// The codings that the inspection sees through.
const READABLE: [&[u8]; 3] = [b"gzip", b"x-gzip", b"identity"];

/// The first coding of a response that cannot be decoded for inspection, if there is one, in words.
pub fn unreadable(fields: &Fields) -> Option<String> {
    let is_readable = |coding: &&[u8]| READABLE.iter().any(|readable| coding.eq_ignore_ascii_case(readable));
    let odd = fields.list("content-encoding").find(|coding| !coding.is_empty() && !is_readable(coding))?;
    Some(odd.escape_ascii().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_decoded_is_readable() {
        let cases: &[(&[&str], Option<&str>)] = &[
            (&[], None),
            (&["gzip"], None),
            (&["GZip, x-gzip"], None),
            (&["identity"], None),
            (&["", "gzip,"], None),
            (&["br"], Some("br")),
            (&["gzip", "deflate"], Some("deflate")),
            (&["gzip, zstd;q=1"], Some("zstd;q=1")),
            (&["gzip x"], Some("gzip x")),
        ];
        for (values, expected) in cases {
            let mut fields = Fields::new();
            values.iter().for_each(|value| fields.push(b"Content-Encoding", value.as_bytes()));
            assert_eq!(unreadable(&fields).as_deref(), *expected, "{values:?}");
        }
    }
}
