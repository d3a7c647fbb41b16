//! A URL as lists see it: [`Address`]. Rule: two spellings that a server takes for one address are one address here.
//!
//! Hosts in lower case without port and last dot; paths in lower case, percent escapes undone, `.` and `..` and empty
//! segments resolved, as e2guardian does before it looks into a list.

use std::borrow::Cow;
use std::net::IpAddr;

/// Longer URLs are cut off for the look-up: servers refuse them, too.
pub(crate) const URI_BYTES_MAX: usize = 16 << 10;
/// The longest name there is (RFC 1035 section 2.3.4), with some room.
pub(crate) const HOST_BYTES_MAX: usize = 256;

/// One URL in the form in which it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// `http` or `https`, for patterns that name it.
    pub scheme: &'static str,
    /// In lower case, without port.
    pub host: String,
    /// The host, where it is an address and no name.
    pub ip: Option<IpAddr>,
    /// Path and query in lower case, unescaped; begins with `/`, or is empty.
    pub path: Vec<u8>,
}

impl Address {
    /// From what a proxy knows of a request: the host and its path with the query, in any spelling.
    pub fn new(scheme: &'static str, host: &[u8], uri: &[u8]) -> Self {
        let host = host_of_bytes(host);
        let ip = ip_of(&host);
        Self { scheme, ip, host, path: path_of(uri.get(..URI_BYTES_MAX).unwrap_or(uri)) }
    }

    /// From a URL as a person types it; the scheme may be missing. `None` where there is no host in it.
    pub fn parse(url: &str) -> Option<Self> {
        let url = url.trim();
        let (scheme, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => ("https", rest),
            Some((_, rest)) => ("http", rest),
            None => ("http", url),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, uri) = rest.split_at(end);
        let uri = uri.split('#').next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        let address = Self::new(scheme, host.as_bytes(), uri.as_bytes());
        (!address.host.is_empty()).then_some(address)
    }

    /// The name and those above it, without the topmost: `www.a.example` → itself, `a.example`.
    pub(crate) fn sites(&self) -> impl Iterator<Item = &str> {
        let is_name = self.ip.is_none();
        std::iter::successors(Some(&*self.host).filter(|_| is_name), |name| {
            name.split_once('.').map(|(_, above)| above)
        })
        .filter(|name| name.contains('.'))
    }

    /// The last label, where the host is a name.
    pub(crate) fn top(&self) -> Option<&str> {
        match self.ip {
            Some(_) => None,
            None => self.host.rsplit('.').next().filter(|top| !top.is_empty()),
        }
    }

    /// The last segment of the path, without the query.
    pub(crate) fn file_name(&self) -> &[u8] {
        let path = self.path.split(|c| *c == b'?').next().unwrap_or_default();
        path.rsplit(|c| *c == b'/').next().unwrap_or_default()
    }

    /// Host and path, without a slash at the end, as patterns see it.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = [self.host.as_bytes(), &self.path].concat();
        while text.last() == Some(&b'/') {
            text.pop();
        }
        text
    }
}

/// An address in one of the usual forms.
fn ip_of(host: &str) -> Option<IpAddr> {
    host.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// A host's name without port, brackets and last dots, in lower case.
pub(crate) fn host_of(text: &str) -> String {
    // Whatever is wrong with it, what comes out is in its final form: nothing would be left to take off it.
    let is_around = |c: char| c.is_whitespace() || matches!(c, '[' | ']');
    let text = text.trim_start_matches(is_around).split(']').next().unwrap_or_default();
    // Two colons and more are an IPv6 address.
    let host = match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => text,
    };
    let host = host.trim_end_matches(|c: char| is_around(c) || c == '.').to_ascii_lowercase();
    match ip_of(&host) {
        Some(ip) => ip.to_string(),
        None => host,
    }
}

/// The same of a host in any bytes. What stands for those that are no text is longer than they are: it is cut off, too, or
/// the final form would not be final.
pub(crate) fn host_of_bytes(host: &[u8]) -> String {
    let host = String::from_utf8_lossy(host.get(..HOST_BYTES_MAX).unwrap_or(host));
    let end = (0..=host.len().min(HOST_BYTES_MAX)).rev().find(|end| host.is_char_boundary(*end));
    host_of(&host[..end.unwrap_or(0)])
}

/// A path with its query in the form in which it is looked up.
pub(crate) fn path_of(uri: &[u8]) -> Vec<u8> {
    let mut unescaped = unescaped(uri).into_owned();
    unescaped.make_ascii_lowercase();
    let path_bytes = unescaped.iter().position(|c| *c == b'?').unwrap_or(unescaped.len());
    let (path, query) = unescaped.split_at(path_bytes);
    let mut out = Vec::with_capacity(unescaped.len());
    for segment in path.split(|c| *c == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => out.truncate(out.iter().rposition(|c| *c == b'/').unwrap_or(0)),
            segment => {
                out.push(b'/');
                out.extend_from_slice(segment);
            }
        }
    }
    if path.ends_with(b"/") || (out.is_empty() && !query.is_empty()) {
        out.push(b'/');
    }
    out.extend_from_slice(query);
    out
}

/// Percent escapes undone, once; what is no escape stays.
pub(crate) fn unescaped(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.contains(&b'%') {
        return Cow::Borrowed(bytes);
    }
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    Cow::Owned(out)
}

/// The pieces of a path: what stands between `/`, `?`, `&` and `=`, and each of these. A listed address covers what
/// goes on behind any of them.
pub(crate) fn pieces(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_mark = |byte: &u8| matches!(byte, b'/' | b'?' | b'&' | b'=');
    path.chunk_by(move |before, after| !is_mark(before) && !is_mark(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address() {
        for (url, host, path) in [
            ("http://Example.ORG", "example.org", ""),
            ("example.org:8080/", "example.org", "/"),
            ("https://u:p@example.org./a//b/./c/../d", "example.org", "/a/b/d"),
            ("example.org/%41%2fB?Q=%3d#part", "example.org", "/a/b?q=="),
            ("example.org?x", "example.org", "/?x"),
            ("example.org/../../x/", "example.org", "/x/"),
            ("example.org/100%/%zz%4", "example.org", "/100%/%zz%4"),
            ("http://[2001:DB8::1]:80/x", "2001:db8::1", "/x"),
            ("[[2001:db8::1/x", "2001:db8::1", "/x"),
            ("[ 192.0.2.1:80. ./", "192.0.2.1", "/"),
            ("http://[::ffff:192.0.2.1]/", "192.0.2.1", "/"),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((&*address.host, &*address.path), (host, path.as_bytes()), "{url}");
        }
        assert_eq!(Address::parse("http://"), None);
        assert_eq!(Address::parse("/path"), None);
    }

    #[test]
    fn a_host_in_its_final_form_stays_as_it_is() {
        // What is no text grows to three times its bytes, so that the second colon would come to stand behind the end.
        let grown = [&b"192.0.2.1:9/"[..], &[0xff; 100], b"::"].concat();
        let long = [&b"a."[..], "\u{e4}".repeat(200).as_bytes()].concat();
        for host in [&grown[..], &long, b"[192.0.2.1]:80", b"A.Example..", b"\xff", b""] {
            let once = Address::new("http", host, b"");
            assert!(once.host.len() <= HOST_BYTES_MAX);
            assert_eq!(Address::new("http", once.host.as_bytes(), b""), once, "{}", host.escape_ascii());
        }
    }

    #[test]
    fn names_above_a_name() {
        let sites = |url| Address::parse(url).unwrap().sites().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(sites("www.a.example"), ["www.a.example", "a.example"]);
        assert_eq!(sites("intranet"), [""; 0]);
        assert_eq!(sites("192.0.2.1"), [""; 0]);
        assert_eq!(Address::parse("www.a.example").unwrap().top(), Some("example"));
        assert_eq!(Address::parse("192.0.2.1").unwrap().top(), None);
    }

    #[test]
    fn pieces_of_a_path() {
        let parts: Vec<_> = pieces(b"/a/b?c=d&e").map(|piece| std::str::from_utf8(piece).unwrap()).collect();
        assert_eq!(parts, ["/", "a", "/", "b", "?", "c", "=", "d", "&", "e"]);
        assert_eq!(pieces(b"").count(), 0);
    }

    #[test]
    fn what_a_file_is_called() {
        for (url, name) in [("a.example/x/y.exe?z=/q.zip", "y.exe"), ("a.example", ""), ("a.example/d/", "")]
        {
            assert_eq!(Address::parse(url).unwrap().file_name(), name.as_bytes(), "{url}");
        }
    }
}
