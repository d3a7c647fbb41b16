//! Content codings (RFC 9110 section 8.4): [`codings`], [`accepted`]. Rule: what cannot be decoded for inspection is not
//! passed, since it was not asked for either.

use lockgate_inspect::{Coding, Root};
use lockgate_proto::http::Fields;

/// How many codings content may be in, one in the other. Servers use one; each costs a decoder.
const CODINGS_MAX: usize = 4;

/// What the fields of a message say of its content's codings.
#[derive(Debug, PartialEq, Eq)]
pub enum Codings {
    /// The content can be inspected so.
    Known(Root),
    /// It cannot, and why.
    Refused(String),
}

/// Reads what the content is coded in.
pub fn codings(fields: &Fields) -> Codings {
    let mut codings = Vec::new();
    for name in fields.list("content-encoding") {
        if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
            continue;
        }
        let Some(coding) = Coding::named(name) else {
            let name = name.escape_ascii();
            return Codings::Refused(format!("in a content coding that is not decoded: {name}"));
        };
        codings.push(coding);
    }
    if codings.len() > CODINGS_MAX {
        return Codings::Refused(format!("in more than {CODINGS_MAX} content codings"));
    }
    // They are named in the order in which they were applied.
    codings.reverse();
    Codings::Known(if codings.is_empty() { Root::File } else { Root::Coded(codings) })
}

/// What the content of a request is, whose parts a form's type names.
pub fn sent_as(root: Root, fields: &Fields) -> Root {
    // Of several, servers go by the first or the last; the reader of forms looks for the boundaries of either.
    let types: Vec<&[u8]> = fields.all("content-type").filter(|value| is_multipart(value)).collect();
    let codings = match root {
        Root::File => Vec::new(),
        Root::Coded(codings) => codings,
        other => return other,
    };
    match types.is_empty() {
        true if codings.is_empty() => Root::File,
        true => Root::Coded(codings),
        false => Root::Form { codings, content_types: types.into_iter().map(<[u8]>::to_vec).collect() },
    }
}

fn is_multipart(content_type: &[u8]) -> bool {
    let main = content_type.trim_ascii_start().get(..b"multipart/".len());
    main.is_some_and(|main| main.eq_ignore_ascii_case(b"multipart/"))
}

/// What a server is told of the codings that a client takes: those of them that are decoded, with the client's weights
/// (RFC 9110 section 12.5.3).
pub fn accepted(fields: &Fields) -> String {
    let mut accepted: Vec<String> = Vec::new();
    for element in fields.list("accept-encoding") {
        let mut words = element.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let Some(coding) = words.next().and_then(Coding::named) else { continue };
        let weight = words.find_map(weight);
        let is_named = |known: &String| known.split(';').next() == Some(coding.name());
        if weight.is_some_and(is_nothing) || accepted.iter().any(is_named) {
            continue;
        }
        accepted.push(match weight {
            Some(weight) => format!("{};q={}", coding.name(), weight.escape_ascii()),
            None => coding.name().to_owned(),
        });
    }
    if accepted.is_empty() { "identity".to_owned() } else { accepted.join(", ") }
}

/// The weight that a parameter gives. One that is none counts as nothing: then the coding is not asked for.
fn weight(word: &[u8]) -> Option<&[u8]> {
    let digits = word.strip_prefix(b"q=").or_else(|| word.strip_prefix(b"Q="))?;
    let is_weight = digits.len() <= 5 && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    Some(if is_weight { digits } else { b"0" })
}

fn is_nothing(weight: &[u8]) -> bool {
    weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coding::{Deflate, Gzip};

    fn fields(name: &str, values: &[&str]) -> Fields {
        let mut fields = Fields::new();
        values.iter().for_each(|value| fields.push(name.as_bytes(), value.as_bytes()));
        fields
    }

    #[test]
    fn codings_are_undone_from_the_last() {
        let cases: [(&[&str], &[Coding]); 8] = [
            (&[], &[]),
            (&["identity", ""], &[]),
            (&["gzip"], &[Gzip]),
            (&["GZip, x-gzip"], &[Gzip, Gzip]),
            (&["", "gzip,"], &[Gzip]),
            (&["deflate , identity", "gzip"], &[Gzip, Deflate]),
            (&["gzip", "deflate"], &[Deflate, Gzip]),
            (&["gzip, gzip, gzip", "gzip"], &[Gzip; 4]),
        ];
        for (values, expected) in cases {
            let root = if expected.is_empty() { Root::File } else { Root::Coded(expected.to_vec()) };
            assert_eq!(codings(&fields("Content-Encoding", values)), Codings::Known(root), "{values:?}");
        }
    }

    #[test]
    fn what_is_not_decoded_is_refused() {
        let cases: [(&[&str], &str); 5] = [
            (&["zst"], "zst"),
            (&["gzip", "compress"], "compress"),
            (&["gzip, deflate;q=1"], "deflate;q=1"),
            (&["gzip x"], "gzip x"),
            (&["gzip, gzip, gzip, gzip", "gzip"], "more than 4"),
        ];
        for (values, expected) in cases {
            let Codings::Refused(why) = codings(&fields("Content-Encoding", values)) else {
                panic!("{values:?} is known");
            };
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn what_the_client_takes_and_we_decode_is_asked_for() {
        let cases = [
            ("gzip, deflate, br, zstd, dcz", "gzip, deflate, br, zstd"),
            ("zstd;q=1.0, GZIP;q=0.5, Deflate", "zstd;q=1.0, gzip;q=0.5, deflate"),
            ("x-gzip, gzip", "gzip"),
            ("gzip;q=0", "identity"),
            ("gzip; q=0.000, deflate", "deflate"),
            ("gzip;q=1\"", "identity"),
            ("gzip;level=1;Q=0", "identity"),
            ("compress", "identity"),
            ("*", "identity"),
            ("", "identity"),
        ];
        for (value, expected) in cases {
            assert_eq!(accepted(&fields("Accept-Encoding", &[value])), expected, "{value}");
        }
    }
}
