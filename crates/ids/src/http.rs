//! A head of HTTP → the sticky buffers of it. Rule: each is made as Suricata's manual says ("HTTP Keywords"), of what the proxy or
//! the wire has read.

use crate::ruleset::sticky::Sticky;
use lockgate_model::Direction;
use std::borrow::Cow;

/// Where the buffers go, each whole.
pub(crate) type Fill<'a> = dyn FnMut(Sticky, &[u8]) + 'a;

/// The buffers of a request's first line: `METHOD target HTTP/version`.
pub(crate) fn request_line(line: &[u8], fill: &mut Fill<'_>) {
    fill(Sticky::HttpRequestLine, line);
    let mut words = line.splitn(2, |byte| *byte == b' ');
    let (method, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (target, protocol) = match rest.iter().rposition(|byte| *byte == b' ') {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => (&rest[..at], &rest[at + 1..]),
        _ => (rest, b"".as_slice()),
    };
    fill(Sticky::HttpMethod, method);
    fill(Sticky::HttpProtocol, protocol);
    fill(Sticky::HttpUriRaw, target);
    fill(Sticky::HttpUri, &normalised(target));
}

/// The buffers of a response's first line: `HTTP/version code message`.
pub(crate) fn response_line(line: &[u8], fill: &mut Fill<'_>) {
    fill(Sticky::HttpResponseLine, line);
    let mut words = line.splitn(3, |byte| *byte == b' ');
    fill(Sticky::HttpProtocol, words.next().unwrap_or_default());
    fill(Sticky::HttpStatusCode, words.next().unwrap_or_default());
    fill(Sticky::HttpStatusMessage, words.next().unwrap_or_default());
}

/// A line of a header.
#[derive(Clone, Copy)]
struct Field<'h> {
    name: &'h [u8],
    value: &'h [u8],
    /// `Name: value`, where the line has it so.
    as_written: Option<&'h [u8]>,
}

/// Fields that have a buffer of their own, in lower case.
const FIELDS: [(&str, Sticky, Option<Direction>); 13] = [
    ("user-agent", Sticky::HttpUserAgent, Some(Direction::ToServer)),
    ("host", Sticky::HttpHostRaw, Some(Direction::ToServer)),
    ("cookie", Sticky::HttpCookie, Some(Direction::ToServer)),
    ("set-cookie", Sticky::HttpCookie, Some(Direction::ToClient)),
    ("accept", Sticky::HttpAccept, Some(Direction::ToServer)),
    ("accept-encoding", Sticky::HttpAcceptEncoding, Some(Direction::ToServer)),
    ("accept-language", Sticky::HttpAcceptLanguage, Some(Direction::ToServer)),
    ("referer", Sticky::HttpReferer, Some(Direction::ToServer)),
    ("connection", Sticky::HttpConnection, None),
    ("content-length", Sticky::HttpContentLength, None),
    ("content-type", Sticky::HttpContentType, None),
    ("server", Sticky::HttpServer, Some(Direction::ToClient)),
    ("location", Sticky::HttpLocation, Some(Direction::ToClient)),
];

/// The buffers of a head's lines, `Name: value` and CRLF each. The head is its first line, as long as that says, with CRLF, its lines, and
/// an empty one.
pub(crate) fn header(head: &[u8], line_length: usize, direction: Direction, fill: &mut Fill<'_>) {
    let behind = head.get(line_length + 2..).unwrap_or_default();
    let lines = behind.strip_suffix(b"\r\n").unwrap_or(behind);
    let fields: Vec<Field<'_>> = lines.split_inclusive(|byte| *byte == b'\n').filter_map(field).collect();
    let own = match direction {
        Direction::ToServer => Sticky::HttpRequestHeader,
        Direction::ToClient => Sticky::HttpResponseHeader,
    };
    let mut made = Vec::with_capacity(lines.len() + 4);
    for field in &fields {
        fill(own, field.written(&mut made));
    }
    made.clear();
    made.extend_from_slice(b"\r\n");
    fields.iter().flat_map(|field| [field.name, b"\r\n"]).for_each(|bytes| made.extend_from_slice(bytes));
    made.extend_from_slice(b"\r\n");
    fill(Sticky::HttpHeaderNames, &made);
    fill(Sticky::HttpStart, head);
    made.clear();
    for Field { name, value, .. } in fields.iter().filter(|field| !field.is_cookie()) {
        [*name, b": ", *value, b"\r\n"].iter().for_each(|bytes| made.extend_from_slice(bytes));
    }
    // Mostly the lines are as they should be, and then nothing need be read twice.
    fill(Sticky::HttpHeader, if made == lines { lines } else { &made });
    fill(Sticky::HttpHeaderRaw, behind);
    for (name, sticky, of) in FIELDS {
        if of.is_none_or(|of| of == direction) {
            one_field(name, sticky, &fields, fill);
        }
    }
}

/// All values of one field; of several, with `, ` between them.
fn one_field(name: &str, sticky: Sticky, fields: &[Field<'_>], fill: &mut Fill<'_>) {
    let is_named = |field: &&Field<'_>| field.name.eq_ignore_ascii_case(name.as_bytes());
    let mut values = fields.iter().filter(is_named).map(|field| field.value);
    let Some(first) = values.next() else { return };
    let mut joined = Cow::Borrowed(first);
    for value in values {
        let joined = joined.to_mut();
        joined.extend_from_slice(b", ");
        joined.extend_from_slice(value);
    }
    if sticky == Sticky::HttpHostRaw {
        fill(Sticky::HttpHost, &host_of(&joined));
    }
    fill(sticky, &joined);
}

fn field(line: &[u8]) -> Option<Field<'_>> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..at], line[at + 1..].trim_ascii());
    let as_written = line.get(..at + 2 + value.len());
    let as_written = as_written.filter(|written| written[at + 1..].strip_prefix(b" ") == Some(value));
    Some(Field { name, value, as_written })
}

impl<'h> Field<'h> {
    fn is_cookie(&self) -> bool {
        self.name.eq_ignore_ascii_case(b"cookie") || self.name.eq_ignore_ascii_case(b"set-cookie")
    }

    /// `Name: value`, in `made` where the line has it otherwise.
    fn written<'m>(&self, made: &'m mut Vec<u8>) -> &'m [u8]
    where
        'h: 'm,
    {
        if let Some(written) = self.as_written {
            return written;
        }
        made.clear();
        [self.name, b": ", self.value].iter().for_each(|bytes| made.extend_from_slice(bytes));
        made
    }
}

/// In lower case, without a port./// In lower case, without a port.
fn host_of(raw: &[u8]) -> Cow<'_, [u8]> {
    let port =
        raw.iter().rposition(|byte| *byte == b':').filter(|at| raw[at + 1..].iter().all(u8::is_ascii_digit));
    let host = &raw[..port.unwrap_or(raw.len())];
    match host.iter().any(u8::is_ascii_uppercase) {
        true => host.to_ascii_lowercase().into(),
        false => host.into(),
    }
}

/// A target as its server would read it: without scheme and host, escapes undone, `.` and `..` gone.
fn normalised(target: &[u8]) -> Cow<'_, [u8]> {
    let target = without_authority(target);
    let is_escaped = target.contains(&b'%');
    // Only where a segment begins with a dot there can be one that is nothing else.
    if !is_escaped && !target.starts_with(b".") && !target.windows(2).any(|pair| pair == b"/.") {
        return target.into();
    }
    let query = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let mut uri = without_dots(&unescaped(&target[..query]));
    uri.extend_from_slice(&unescaped(&target[query..]));
    uri.into()
}

fn without_authority(target: &[u8]) -> &[u8] {
    let Some(at) = target.windows(3).position(|window| window == b"://") else { return target };
    if !target[..at].iter().all(u8::is_ascii_alphanumeric) {
        return target;
    }
    let rest = &target[at + 3..];
    let path = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    path.map_or(b"/".as_slice(), |path| &rest[path..])
}

/// Each `%` and two hexadecimal digits as the byte that they name; what is none stays.
pub(crate) fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((byte, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                rest = &behind[2..];
            }
            _ => {
                out.push(*byte);
                rest = behind;
            }
        }
    }
    out
}

/// RFC 3986 section 5.2.4.
fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    let mut segments = path.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            b"." => {}
            b".." => {
                out.pop();
                let parent = out.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
                out.truncate(parent);
                if out.is_empty() && path.first() == Some(&b'/') {
                    out.push(b'/');
                }
            }
            segment => {
                out.extend_from_slice(segment);
                if !is_last {
                    out.push(b'/');
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(run: impl Fn(&mut Fill<'_>)) -> Vec<(&'static str, String)> {
        let mut got = Vec::new();
        run(&mut |sticky, bytes| got.push((sticky.name(), String::from_utf8_lossy(bytes).into_owned())));
        got
    }

    #[test]
    fn a_requests_first_line() {
        let got = filled(|fill| request_line(b"GET http://a.example/x/../%41b?c=%20 HTTP/1.1", fill));
        let of = |name: &str| got.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str());
        assert_eq!(of("http.method"), Some("GET"));
        assert_eq!(of("http.protocol"), Some("HTTP/1.1"));
        assert_eq!(of("http.uri.raw"), Some("http://a.example/x/../%41b?c=%20"));
        assert_eq!(of("http.uri"), Some("/Ab?c= "));
    }

    #[test]
    fn the_lines_of_a_head() {
        let lines = b"Host: A.example:80\r\ncookie: a=b\r\nX-Y:  z \r\n";
        let line = b"GET / HTTP/1.1";
        let head = [line, &b"\r\n"[..], lines, b"\r\n"].concat();
        let got = filled(|fill| header(&head, line.len(), Direction::ToServer, fill));
        let of = |name: &str| got.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str());
        assert_eq!(of("http.header"), Some("Host: A.example:80\r\nX-Y: z\r\n"));
        assert_eq!(of("http.header_names"), Some("\r\nHost\r\ncookie\r\nX-Y\r\n\r\n"));
        assert_eq!(of("http.host"), Some("a.example"));
        assert_eq!(of("http.host.raw"), Some("A.example:80"));
        assert_eq!(of("http.cookie"), Some("a=b"));
        assert_eq!(of("http.referer"), None);
        assert!(of("http.start").is_some_and(|start| start.ends_with("\r\n\r\n")));
    }

    #[test]
    fn dots_and_escapes() {
        for (target, want) in [
            ("/a/./b/../c", "/a/c"),
            ("/../../a", "/a"),
            ("/a/..", "/"),
            ("/%2e%2e/a?b/../c", "/a?b/../c"),
            ("*", "*"),
            ("/%4", "/%4"),
            ("http://a", "/"),
        ] {
            assert_eq!(String::from_utf8_lossy(&normalised(target.as_bytes())), want, "{target}");
        }
    }
}
