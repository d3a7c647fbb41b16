//! One web exchange in a line of Squid's native log: [`Visit`]. Rule: ten words and nothing else, whatever came from outside.
//!
//! `logformat squid %ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt`, which programs that read Squid's logs know.

use super::record::{CUT, URL_BYTES_MAX};
use std::fmt::Write;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How an exchange ended, as Squid calls it; there is no cache, so nothing is a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The server's response went to the client.
    Relayed,
    /// We answered in its place, since it is not allowed.
    Denied,
    /// We answered in its place, since there is none.
    Failed,
    /// What came was no request.
    Invalid,
    /// It was cut off.
    Aborted,
    /// What followed a CONNECT.
    Tunnelled,
}

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// The server that was asked for.
    Origin(IpAddr),
    /// A proxy behind this one.
    Parent(IpAddr),
}

/// One web exchange or tunnel, at its end.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// From the request's head to the end.
    pub took: Duration,
    /// The client's address.
    pub client: IpAddr,
    /// How it ended.
    pub ending: Ending,
    /// The status that the client was given; 0 where it was given none.
    pub status: u16,
    /// Bytes of content that went to the client.
    pub bytes: u64,
    /// The method.
    pub method: &'a str,
    /// The whole URL; of a CONNECT, `HOST:PORT`.
    pub url: &'a str,
    /// Who the client has proved to be.
    pub user: Option<&'a str>,
    /// Whom there was a connection to, if there was one.
    pub server: Option<Server>,
    /// The response's `Content-Type`, with or without parameters.
    pub content_type: Option<&'a str>,
}

/// The longest of the other words.
const WORD_BYTES_MAX: usize = 256;

impl Visit<'_> {
    /// The line, without its end. The time is that of the end, as with Squid.
    pub fn line(&self, now: SystemTime) -> String {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let result = match self.ending {
            Ending::Relayed | Ending::Failed => "TCP_MISS",
            Ending::Denied => "TCP_DENIED",
            Ending::Invalid => "NONE_NONE",
            Ending::Aborted => "TCP_MISS_ABORTED",
            Ending::Tunnelled => "TCP_TUNNEL",
        };
        let mut out = format!(
            "{}.{:03} {:6} {} {result}/{:03} {} ",
            since.as_secs(),
            since.subsec_millis(),
            self.took.as_millis(),
            self.client.to_canonical(),
            self.status,
            self.bytes,
        );
        word(self.method, WORD_BYTES_MAX, &mut out);
        word(self.url, URL_BYTES_MAX, &mut out);
        word(self.user.unwrap_or_default(), WORD_BYTES_MAX, &mut out);
        match self.server {
            Some(Server::Origin(address)) => _ = write!(out, "HIER_DIRECT/{} ", address.to_canonical()),
            Some(Server::Parent(address)) => _ = write!(out, "FIRSTUP_PARENT/{} ", address.to_canonical()),
            None => out.push_str("HIER_NONE/- "),
        }
        let media_type = self.content_type.and_then(|whole| whole.split(';').next()).unwrap_or_default();
        word(media_type.trim(), WORD_BYTES_MAX, &mut out);
        out.pop();
        out
    }
}

/// A word and the space behind it; `-` where there is none. Whatever could end a word or a line, or is no visible character
/// of ASCII, is percent-encoded; a percent sign is left alone, since addresses have them. What is too long is cut, and has a mark there.
fn word(text: &str, bytes_max: usize, out: &mut String) {
    if text.is_empty() {
        out.push_str("- ");
        return;
    }
    let mut mark = [0; 4];
    let mark = CUT.encode_utf8(&mut mark).bytes().filter(|_| text.len() > bytes_max);
    for byte in text.bytes().take(bytes_max).chain(mark) {
        match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}".contains(&byte) => out.push(char::from(byte)),
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out.push(' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit() -> Visit<'static> {
        Visit {
            took: Duration::from_millis(57),
            client: "::ffff:192.0.2.7".parse().unwrap(),
            ending: Ending::Relayed,
            status: 200,
            bytes: 4711,
            method: "GET",
            url: "http://a.example/x?y=%20z",
            user: Some("ann"),
            server: Some(Server::Origin("2001:db8::1".parse().unwrap())),
            content_type: Some("text/html; charset=utf-8"),
        }
    }

    #[test]
    fn a_line_as_squid_writes_it() {
        let now = UNIX_EPOCH + Duration::from_micros(1_795_228_819_042_999);
        let expected = "1795228819.042     57 192.0.2.7 TCP_MISS/200 4711 GET http://a.example/x?y=%20z ann \
                        HIER_DIRECT/2001:db8::1 text/html";
        assert_eq!(visit().line(now), expected);
        let tunnel = Visit {
            ending: Ending::Tunnelled,
            method: "CONNECT",
            url: "a.example:443",
            user: None,
            server: None,
            content_type: None,
            ..visit()
        };
        let expected = "0.000     57 192.0.2.7 TCP_TUNNEL/200 4711 CONNECT a.example:443 - HIER_NONE/- -";
        assert_eq!(tunnel.line(UNIX_EPOCH), expected);
        let gone = Visit { ending: Ending::Aborted, status: 0, ..visit() };
        assert!(gone.line(UNIX_EPOCH).contains(" TCP_MISS_ABORTED/000 "));
    }

    #[test]
    fn nobody_forges_a_word_or_a_line() {
        let long = "x".repeat(100_000);
        for hostile in
            ["a b", "a\r\nb", "a\tb", "\u{2028}", "ä\u{202e}", "a\0", "\"<>\\^`{|}", " ", "\u{7f}", &long]
        {
            let visit = Visit {
                method: hostile,
                url: hostile,
                user: Some(hostile),
                content_type: Some(hostile),
                ..visit()
            };
            let line = visit.line(UNIX_EPOCH);
            assert_eq!(line.split_whitespace().count(), 10, "{line:?}");
            assert!(line.bytes().all(|c| c == b' ' || c.is_ascii_graphic()), "{line:?}");
            assert!(line.len() < 3 * (URL_BYTES_MAX + 3 * WORD_BYTES_MAX) + 200);
        }
    }
}
