//! Messages of HTTP/2 (RFC 9113 section 8), read as HTTP/1's are. Rule: what HTTP/1 could read in another way, or at all
//! differently, is refused, so that a message is the same on whichever side it leaves.
//!
//! Frames and header compression are somebody else's; here are the fields of one message, and what they mean.

use super::fields::is_token;
use super::framing;
use super::refusal::Oddities;
use super::url::{self, host_and_port};
use super::{
    Disposition, Fields, Framing, Limits, Refusal, RequestHead, ResponseHead, Scheme, Target, Url, Version,
};

/// The pseudo-header fields of a request (RFC 9113 section 8.3.1), as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pseudo<'a> {
    /// `:method`.
    pub method: &'a [u8],
    /// `:scheme`.
    pub scheme: Option<&'a [u8]>,
    /// `:authority`.
    pub authority: Option<&'a [u8]>,
    /// `:path`.
    pub path: Option<&'a [u8]>,
}

/// Whether content may follow a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// It may: the stream is open.
    Content,
    /// The head has ended the stream.
    Nothing,
}

/// Reads a request's head, and says how its content is framed. [`Framing::Chunked`] is content whose length is not said.
pub fn request_from_http2(
    pseudo: Pseudo<'_>,
    mut fields: Fields,
    follows: Follows,
    limits: &Limits,
) -> Result<(RequestHead, Framing), Refusal> {
    if !is_token(pseudo.method) {
        return Err(Refusal::BadMethod);
    }
    let target_bytes = pseudo.path.map_or(0, <[u8]>::len) + pseudo.authority.map_or(0, <[u8]>::len);
    if target_bytes > limits.start_line_bytes_max {
        return Err(Refusal::StartLineTooLong);
    }
    check(&fields, limits.fields_max, limits.head_bytes_max, Refusal::HeadTooLong)?;
    let target = target(pseudo, &fields)?;
    join_cookies(&mut fields);
    let framing = match (length(&mut fields)?, follows) {
        (None | Some(0), Follows::Nothing) if pseudo.method == b"CONNECT" => Framing::None,
        (None, Follows::Nothing) => Framing::None,
        (Some(0), Follows::Nothing) => Framing::Length(0),
        (Some(_), Follows::Nothing) => return Err(Refusal::LengthDiffers),
        (Some(_), Follows::Content) if pseudo.method == b"CONNECT" => return Err(Refusal::BodyNotAllowed),
        (None, Follows::Content) if pseudo.method == b"CONNECT" => Framing::None,
        (Some(length), Follows::Content) => Framing::Length(length),
        (None, Follows::Content) => Framing::Chunked,
    };
    let head = RequestHead { method: pseudo.method.to_vec(), target, version: Version::Http2, fields };
    Ok((head, framing))
}

/// Reads the head of a response to a request with this method, and says how its content is framed.
pub fn response_from_http2(
    status: u16,
    mut fields: Fields,
    follows: Follows,
    method: &[u8],
    limits: &Limits,
) -> Result<(ResponseHead, Framing), Refusal> {
    // Nothing changes its protocol within HTTP/2 (RFC 9113 section 8.6).
    if !(100..=999).contains(&status) || status == 101 {
        return Err(Refusal::BadStatus);
    }
    check(&fields, limits.fields_max, limits.head_bytes_max, Refusal::HeadTooLong)?;
    let length = length(&mut fields)?;
    let is_without = match status {
        100..=199 | 204 => {
            fields.remove("content-length");
            true
        }
        304 => true,
        _ => method == b"HEAD",
    };
    let framing = match (length, follows) {
        // Content that follows all the same is refused when it comes.
        _ if is_without => Framing::None,
        (None | Some(0), Follows::Nothing) => Framing::Length(0),
        (Some(_), Follows::Nothing) => return Err(Refusal::LengthDiffers),
        (Some(length), Follows::Content) => Framing::Length(length),
        (None, Follows::Content) => Framing::Chunked,
    };
    Ok((ResponseHead { status, reason: Vec::new(), version: Version::Http2, fields }, framing))
}

/// Whether a field of this name may stand in a message of HTTP/2 that leaves: none of a connection's, and none that says
/// what others do.
pub fn may_leave_by_http2(name: &[u8]) -> bool {
    let is_made_anew =
        [&b"host"[..], b"content-length", b"te"].iter().any(|own| name.eq_ignore_ascii_case(own));
    is_token(name) && !is_made_anew && !is_of_a_connection(name)
}

/// RFC 9113 section 8.2.2.
fn is_of_a_connection(name: &[u8]) -> bool {
    let names: [&[u8]; 5] =
        [b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"];
    names.iter().any(|hop| name.eq_ignore_ascii_case(hop))
}

/// RFC 9113 section 8.2: names and values that are none in HTTP/1 are none here.
pub(crate) fn check(
    fields: &Fields,
    fields_max: usize,
    bytes_max: usize,
    too_long: Refusal,
) -> Result<(), Refusal> {
    if fields.len() > fields_max {
        return Err(Refusal::TooManyFields);
    }
    let mut bytes = 0;
    for (name, value) in fields.iter() {
        // As long as the line that it would be.
        bytes += name.len() + value.len() + 4;
        if !is_token(name) || name.iter().any(u8::is_ascii_uppercase) {
            return Err(Refusal::BadFieldName);
        }
        if memchr::memchr(0, value).is_some() {
            return Err(Refusal::Nul);
        }
        if value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err(Refusal::ControlCharacter);
        }
        let is_te = name == b"te" && !value.eq_ignore_ascii_case(b"trailers");
        if is_te || is_of_a_connection(name) {
            return Err(Refusal::ConnectionField);
        }
    }
    if bytes > bytes_max { Err(too_long) } else { Ok(()) }
}

/// What the request is for. A path alone has no meaning here: the authority is said, by the one field or the other.
fn target(pseudo: Pseudo<'_>, fields: &Fields) -> Result<Target, Refusal> {
    let mut hosts = fields.all("host");
    let said = hosts.next();
    if hosts.next().is_some() {
        return Err(Refusal::HostRepeated);
    }
    if pseudo.method == b"CONNECT" {
        let (None, None, Some(authority)) = (pseudo.scheme, pseudo.path, pseudo.authority) else {
            return Err(Refusal::BadTarget);
        };
        let (host, port) = host_and_port(authority)?;
        let port = port.ok_or(Refusal::BadTarget)?;
        return match said.map(host_and_port).transpose()? {
            Some((other, other_port)) if other != host || other_port.is_some_and(|other| other != port) => {
                Err(Refusal::HostDiffers)
            }
            _ => Ok(Target::Authority { host, port }),
        };
    }
    let scheme = match pseudo.scheme {
        Some(b"http") => Scheme::Http,
        Some(b"https") => Scheme::Https,
        Some(_) => return Err(Refusal::UnknownScheme),
        None => return Err(Refusal::BadTarget),
    };
    let authority = pseudo.authority.or(said).ok_or(Refusal::HostMissing)?;
    let (host, port) = host_and_port(authority)?;
    let port = port.unwrap_or(scheme.port());
    if let Some((other, other_port)) = said.map(host_and_port).transpose()?
        && (other != host || other_port.unwrap_or(scheme.port()) != port)
    {
        // For some the one counts, for some the other.
        return Err(Refusal::HostDiffers);
    }
    let path = pseudo.path.ok_or(Refusal::BadTarget)?;
    match Target::parse(pseudo.method, path)? {
        Target::Origin(path) => Ok(Target::Absolute(Url { scheme, host, port, path })),
        Target::Asterisk => Ok(Target::Asterisk),
        Target::Absolute(_) | Target::Authority { .. } => Err(Refusal::BadTarget),
    }
}

/// The authority that a request's head has for HTTP/2.
pub fn authority_of(head: &RequestHead, scheme: Scheme) -> Option<String> {
    match &head.target {
        Target::Absolute(url) => Some(url::authority(&url.host, url.port, Some(url.scheme))),
        Target::Authority { host, port } => Some(url::authority(host, *port, None)),
        Target::Origin(_) | Target::Asterisk => {
            let (host, port) = head.host()?;
            Some(url::authority(&host, port.unwrap_or(scheme.port()), Some(scheme)))
        }
    }
}

/// RFC 9113 section 8.2.3: what was cut for compression is one field for HTTP/1.
fn join_cookies(fields: &mut Fields) {
    if fields.all("cookie").nth(1).is_none() {
        return;
    }
    let joined = fields.all("cookie").collect::<Vec<_>>().join(&b"; "[..]);
    fields.remove("cookie");
    fields.push(b"cookie", &joined);
}

fn length(fields: &mut Fields) -> Result<Option<u64>, Refusal> {
    framing::length(fields, &mut Oddities::new(Disposition::Strict))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines<'a> = &'a [(&'a str, &'a str)];
    type Read = Result<(RequestHead, Framing), Refusal>;

    fn fields(lines: Lines<'_>) -> Fields {
        lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
    }

    fn pseudo<'a>(method: &'a str, scheme: &'a str, authority: &'a str, path: &'a str) -> Pseudo<'a> {
        let some = |text: &'a str| Some(text.as_bytes()).filter(|text| !text.is_empty());
        Pseudo {
            method: method.as_bytes(),
            scheme: some(scheme),
            authority: some(authority),
            path: some(path),
        }
    }

    fn read(pseudo: Pseudo<'_>, lines: Lines<'_>, follows: Follows) -> Read {
        request_from_http2(pseudo, fields(lines), follows, &Limits::default())
    }

    #[test]
    fn what_a_request_is_for_has_one_reading() {
        use Refusal::{
            BadMethod, BadTarget, HostBad, HostDiffers, HostMissing, HostRepeated, UnknownScheme, UserInfo,
        };
        let host: Lines<'_> = &[("host", "a.example")];
        let cases: [(Pseudo<'_>, Lines<'_>, Result<&str, Refusal>); 24] = [
            (pseudo("GET", "https", "A.example", "/x?y"), &[], Ok("https://a.example/x?y")),
            (pseudo("GET", "http", "a.example:8080", "/"), &[], Ok("http://a.example:8080/")),
            (pseudo("GET", "https", "a.example:443", "/"), host, Ok("https://a.example/")),
            (pseudo("GET", "https", "", "/"), host, Ok("https://a.example/")),
            (pseudo("OPTIONS", "https", "a.example", "*"), &[], Ok("*")),
            (pseudo("CONNECT", "", "a.example:443", ""), host, Ok("a.example:443")),
            (pseudo("GET", "https", "", "/"), &[], Err(HostMissing)),
            (pseudo("GET", "https", "b.example", "/"), host, Err(HostDiffers)),
            (pseudo("GET", "https", "a.example:444", "/"), host, Err(HostDiffers)),
            (pseudo("GET", "https", "a.example", "/"), &[host[0], host[0]], Err(HostRepeated)),
            (pseudo("GET", "https", "u@a.example", "/"), &[], Err(UserInfo)),
            (pseudo("GET", "https", "a.example, b.example", "/"), &[], Err(HostBad)),
            (pseudo("GET", "https", "a.example", "/"), &[("host", "a b")], Err(HostBad)),
            (pseudo("GET", "ftp", "a.example", "/"), &[], Err(UnknownScheme)),
            (pseudo("GET", "", "a.example", "/"), &[], Err(BadTarget)),
            (pseudo("GET", "https", "a.example", ""), &[], Err(BadTarget)),
            (pseudo("GET", "https", "a.example", "*"), &[], Err(BadTarget)),
            (pseudo("GET", "https", "a.example", "/ HTTP/1.1\r\nX: y"), &[], Err(BadTarget)),
            (pseudo("GET", "https", "a.example", "http://b.example/"), &[], Err(BadTarget)),
            (pseudo("GET", "https", "a.example", "/#x"), &[], Err(BadTarget)),
            (pseudo("G ET", "https", "a.example", "/"), &[], Err(BadMethod)),
            (pseudo("CONNECT", "https", "a.example:443", "/"), &[], Err(BadTarget)),
            (pseudo("CONNECT", "", "a.example", ""), &[], Err(BadTarget)),
            (pseudo("CONNECT", "", "b.example:443", ""), host, Err(HostDiffers)),
        ];
        for (pseudo, lines, expected) in cases {
            let target = read(pseudo, lines, Follows::Nothing).map(|(head, _)| match head.target {
                Target::Absolute(url) => url.to_string(),
                Target::Authority { host, port } => format!("{host}:{port}"),
                Target::Asterisk => "*".to_owned(),
                Target::Origin(path) => panic!("{path:?} names no host"),
            });
            assert_eq!(target.as_deref().map_err(|refusal| *refusal), expected, "{pseudo:?} {lines:?}");
        }
    }

    #[test]
    fn what_http_1_would_read_differently_is_refused() {
        use Refusal::{BadFieldName, BadLength, ConflictingLengths, ConnectionField, ControlCharacter, Nul};
        let cases: [(&str, &str, Refusal); 16] = [
            ("X-Upper", "1", BadFieldName),
            ("x y", "1", BadFieldName),
            ("x:", "1", BadFieldName),
            (":path", "/", BadFieldName),
            ("", "1", BadFieldName),
            ("x\r\ny", "1", BadFieldName),
            ("x", "1\r\ny: 2", ControlCharacter),
            ("x", "1\ny", ControlCharacter),
            ("x", "1\0", Nul),
            ("x", "1\x7f", ControlCharacter),
            ("connection", "close", ConnectionField),
            ("transfer-encoding", "chunked", ConnectionField),
            ("upgrade", "h2c", ConnectionField),
            ("te", "trailers, deflate", ConnectionField),
            ("content-length", "+1", BadLength),
            ("content-length", "1, 2", ConflictingLengths),
        ];
        let get = pseudo("GET", "https", "a.example", "/");
        for (name, value, expected) in cases {
            let lines = [(name, value)];
            assert_eq!(read(get, &lines, Follows::Content).map(drop), Err(expected), "{lines:?}");
            let response =
                response_from_http2(200, fields(&lines), Follows::Content, b"GET", &Limits::default());
            assert_eq!(response.map(drop), Err(expected), "{lines:?}");
        }
    }

    #[test]
    fn the_end_of_content_is_known_from_one_place() {
        use Framing::{Chunked, Length, None};
        let cases: [(&str, Follows, Result<Framing, Refusal>); 8] = [
            ("", Follows::Nothing, Ok(None)),
            ("", Follows::Content, Ok(Chunked)),
            ("0", Follows::Nothing, Ok(Length(0))),
            ("0", Follows::Content, Ok(Length(0))),
            ("7", Follows::Content, Ok(Length(7))),
            ("7, 7", Follows::Content, Ok(Length(7))),
            ("7", Follows::Nothing, Err(Refusal::LengthDiffers)),
            ("18446744073709551616", Follows::Content, Err(Refusal::BadLength)),
        ];
        for (length, follows, expected) in cases {
            let lines = [("content-length", length)];
            let lines = if length.is_empty() { &[][..] } else { &lines };
            let post = pseudo("POST", "https", "a.example", "/");
            assert_eq!(read(post, lines, follows).map(|(_, framing)| framing), expected, "{length}");
        }
        let connect = pseudo("CONNECT", "", "a.example:443", "");
        assert_eq!(read(connect, &[], Follows::Content).unwrap().1, None);
        assert_eq!(
            read(connect, &[("content-length", "3")], Follows::Content).map(drop),
            Err(Refusal::BodyNotAllowed)
        );
    }

    #[test]
    fn where_a_response_ends_is_decided_by_method_status_and_fields() {
        use Framing::{Chunked, Length, None};
        type Ended = Result<(Framing, bool), Refusal>;
        let cases: [(u16, &str, &str, Follows, Ended); 12] = [
            (200, "GET", "", Follows::Content, Ok((Chunked, false))),
            (200, "GET", "", Follows::Nothing, Ok((Length(0), false))),
            (200, "GET", "9", Follows::Content, Ok((Length(9), true))),
            (200, "GET", "9", Follows::Nothing, Err(Refusal::LengthDiffers)),
            (200, "HEAD", "9", Follows::Nothing, Ok((None, true))),
            (200, "HEAD", "9", Follows::Content, Ok((None, true))),
            (304, "GET", "9", Follows::Nothing, Ok((None, true))),
            (204, "GET", "9", Follows::Nothing, Ok((None, false))),
            (103, "GET", "9", Follows::Content, Ok((None, false))),
            (101, "GET", "", Follows::Content, Err(Refusal::BadStatus)),
            (99, "GET", "", Follows::Nothing, Err(Refusal::BadStatus)),
            (1000, "GET", "", Follows::Nothing, Err(Refusal::BadStatus)),
        ];
        for (status, method, length, follows, expected) in cases {
            let lines = [("content-length", length)];
            let lines = if length.is_empty() { fields(&[]) } else { fields(&lines) };
            let read = response_from_http2(status, lines, follows, method.as_bytes(), &Limits::default());
            let seen = read.map(|(head, framing)| (framing, head.fields.get("content-length").is_some()));
            assert_eq!(seen, expected, "{status} {method} {length}");
        }
    }

    #[test]
    fn cookies_are_one_field_again_and_heads_have_limits() {
        let get = pseudo("GET", "https", "a.example", "/");
        let lines = [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=3; d")];
        let (head, _) = read(get, &lines, Follows::Nothing).unwrap();
        assert_eq!(head.fields, fields(&[("x", "y"), ("cookie", "a=1; b=2; c=3; d")]));
        let limits =
            Limits { head_bytes_max: 20, fields_max: 2, start_line_bytes_max: 12, ..Limits::default() };
        let cases: [(&str, Lines<'_>, Option<Refusal>); 5] = [
            ("/", &[("a", "1"), ("b", "2")], None),
            ("/", &[("a", "1"), ("b", "2"), ("c", "3")], Some(Refusal::TooManyFields)),
            ("/", &[("a", "123456789012345")], None),
            ("/", &[("a", "1234567890123456")], Some(Refusal::HeadTooLong)),
            ("/12345", &[], Some(Refusal::StartLineTooLong)),
        ];
        for (path, lines, expected) in cases {
            let pseudo = pseudo("GET", "http", "a.test", path);
            let pseudo = Pseudo { authority: Some(&b"a.test1"[..]), ..pseudo };
            let read = request_from_http2(pseudo, fields(lines), Follows::Nothing, &limits);
            assert_eq!(read.err(), expected, "{path} {lines:?}");
        }
    }

    #[test]
    fn nothing_of_a_connection_leaves() {
        for (name, expected) in [
            ("x-mine", true),
            ("Cookie", true),
            ("Host", false),
            ("Connection", false),
            ("Transfer-Encoding", false),
            ("content-length", false),
            ("x y", false),
            (":path", false),
        ] {
            assert_eq!(may_leave_by_http2(name.as_bytes()), expected, "{name}");
        }
    }
}
