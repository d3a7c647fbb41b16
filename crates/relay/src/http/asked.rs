//! What a request is for: [`Asked`]. Rule: what is inspected, where it goes and what the server is told come from one
//! reading of it.

use super::admission::{Guest, Passage};
use super::coding::{self, Codings};
use super::credentials::Credentials;
use super::page::Page;
use super::range::Range;
use super::replace;
use super::site::Site;
use crate::events;
use crate::language::Language;
use crate::parent::authority;
use lockgate_inspect::{Inspection, Root};
use lockgate_model::Buffer;
use lockgate_model::rewrite::Rewriting;
use lockgate_proto::http::{
    Fields, Framing, RequestHead, Scheme, Target, Trailing, Url, Version, request_line, strip_hop_by_hop,
    wants_close,
};
use std::cell::OnceCell;
use std::time::Instant;

/// A request's head, read.
pub struct Asked {
    /// Where it goes: the name or address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What of the method matters.
    pub method: Method,
    /// What the client speaks.
    pub version: Version,
    /// Whether the client awaits 100 before it sends the body.
    pub expects_continue: bool,
    /// Whether the client wants the connection to end behind the response.
    pub wants_close: bool,
    /// What the content is to be inspected as.
    pub root: Root,
    /// What its reader reads.
    pub language: Language,
    /// When it came.
    pub begun: Instant,
    head: RequestHead,
    user_agent: Option<String>,
    referrer: Option<String>,
    method_name: String,
    uri: String,
    scheme: Scheme,
    /// What the server is asked for where that is something else.
    other: Option<Url>,
    /// Its fields as engines see them, once one has asked.
    header: OnceCell<Vec<u8>>,
}

/// Where a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal<'a> {
    /// Whether it is under TLS.
    pub scheme: Scheme,
    /// The name or address.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

/// What of the method matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The response has no body.
    Head,
    /// It may be sent again when the connection broke (RFC 9110 section 9.2.2).
    Idempotent,
    /// It may not.
    Other,
    /// A tunnel is asked for.
    Connect,
}

impl Asked {
    /// Reads what is asked for; where that is nothing that can be served, the answer.
    pub fn read(mut head: RequestHead, site: Option<&Site>) -> Result<Self, Page> {
        if let Some(site) = site.filter(|_| head.fields.get("host").is_none()) {
            // HTTP/1.0 may leave it out, and there is only one that it can mean.
            let is_usual = site.port == Scheme::Https.port();
            let host = authority(&site.host, site.port);
            let host = if is_usual { host.trim_end_matches(":443") } else { &host };
            head.fields.push(b"Host", host.as_bytes());
        }
        let scheme = if site.is_some() { Scheme::Https } else { Scheme::Http };
        let method = match head.method.as_slice() {
            b"HEAD" => Method::Head,
            b"GET" | b"OPTIONS" | b"PUT" | b"DELETE" | b"TRACE" => Method::Idempotent,
            b"CONNECT" => Method::Connect,
            _ => Method::Other,
        };
        let (host, port, uri) = match &head.target {
            Target::Authority { .. } if site.is_some() => {
                return Err(Page::bad_request(400, "there is no way on from within a connection by CONNECT"));
            }
            Target::Authority { host, port } => (host.clone(), *port, authority(host, *port).into_bytes()),
            Target::Absolute(url) if url.scheme == Scheme::Https && site.is_none() => {
                return Err(Page::bad_request(501, "https goes through the proxy by CONNECT"));
            }
            Target::Absolute(url) => (url.host.clone(), url.port, url.path.clone()),
            Target::Origin(path) => {
                let (host, port) = said_host(&head, scheme)?;
                (host, port, path.clone())
            }
            Target::Asterisk => {
                let (host, port) = said_host(&head, scheme)?;
                (host, port, b"*".to_vec())
            }
        };
        if let Some(site) = site
            && (host != site.host || port != site.port || is_in_clear(&head.target))
        {
            // What the server has proved to be is one host; another one would be reached under its name.
            let words = format!(
                "the request is for {host}:{port}, and the connection for {}:{}",
                site.host, site.port
            );
            return Err(Page::bad_request(421, words));
        }
        let root = match coding::codings(&head.fields) {
            Codings::Known(root) => coding::sent_as(root, &head.fields),
            Codings::Refused(why) => return Err(Page::bad_request(415, format!("the request is {why}"))),
        };
        let text = |name| head.fields.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        Ok(Self {
            scheme,
            method,
            version: head.version,
            expects_continue: head.expects_continue(),
            wants_close: wants_close(&proxied(&head.fields), head.version),
            user_agent: text("user-agent"),
            referrer: text("referer"),
            method_name: String::from_utf8_lossy(&head.method).into_owned(),
            uri: String::from_utf8_lossy(&normal(&uri)).into_owned(),
            host,
            port,
            root,
            language: text("accept-language")
                .map_or_else(Language::default, |field| Language::wanted(&field)),
            begun: Instant::now(),
            head,
            other: None,
            header: OnceCell::new(),
        })
    }

    /// What a client that says no more than where it goes would say to a proxy.
    pub fn implied(host: String, port: u16) -> Self {
        let uri = authority(&host, port);
        let head = RequestHead {
            method: b"CONNECT".to_vec(),
            target: Target::Authority { host: host.clone(), port },
            version: Version::Http11,
            fields: Fields::new(),
        };
        Self {
            host,
            port,
            method: Method::Connect,
            version: Version::Http11,
            expects_continue: false,
            wants_close: false,
            root: Root::File,
            language: Language::default(),
            begun: Instant::now(),
            head,
            user_agent: None,
            referrer: None,
            method_name: "CONNECT".to_owned(),
            uri,
            scheme: Scheme::Https,
            other: None,
            header: OnceCell::new(),
        }
    }

    /// Where it goes to: the host that was asked for, unless the lists name another one.
    pub fn goal(&self) -> Goal<'_> {
        match &self.other {
            None => Goal { scheme: self.scheme, host: &self.host, port: self.port },
            Some(url) => Goal { scheme: url.scheme, host: &url.host, port: url.port },
        }
    }

    /// Takes over what the lists make of its URL.
    pub fn change(&mut self, rewriting: &Rewriting) {
        let Some(mut url) = rewriting.url.as_deref().and_then(|url| Url::parse(url).ok()) else { return };
        // What rules see has no port, and is http whatever it came by.
        if url.port == url.scheme.port() {
            let own = if self.scheme() == Scheme::Https.name() { Scheme::Https } else { Scheme::Http };
            (url.scheme, url.port) = (own, own.port());
            if url.host == self.host || self.is_tunnel() {
                url.port = self.port;
            }
        }
        self.other = Some(url);
    }

    /// Tells the engines what is asked for, before any content: of the request, and again of the response.
    pub fn tell(&self, inspection: &mut Inspection) {
        inspection.about(Buffer::HttpMethod, &self.head.method);
        inspection.about(Buffer::HttpHost, self.host.as_bytes());
        if let Some(user_agent) = self.head.fields.get("user-agent") {
            inspection.about(Buffer::HttpUserAgent, user_agent);
        }
        if inspection.wants(Buffer::HttpRequestLine) {
            inspection.about(Buffer::HttpRequestLine, &request_line(&self.head));
        }
        if inspection.wants(Buffer::HttpHeader) {
            inspection.about(Buffer::HttpHeader, self.header());
        }
        // Lists decide at its end: whatever else they look at has come before.
        inspection.about(Buffer::HttpUri, self.path().as_bytes());
    }

    /// Path and query; of a tunnel nothing is known but where it leads.
    pub fn path(&self) -> &str {
        if self.method == Method::Connect { "/" } else { &self.uri }
    }

    /// The lines of the header that are for the server: nothing of the client's connection, nor its password.
    pub fn header(&self) -> &[u8] {
        self.header.get_or_init(|| {
            let mut fields = self.head.fields.clone();
            strip_hop_by_hop(&mut fields);
            lines(&fields)
        })
    }

    /// The head that goes to the origin: nothing of the client's connection, no way to have the content in pieces or in
    /// a coding that is not seen through.
    pub fn outgoing(&self, hostname: &str, rewriting: &Rewriting) -> RequestHead {
        let mut head = self.head.clone();
        if let Some(url) = &self.other {
            head.target = Target::Absolute(url.clone());
        }
        let fields = &mut head.fields;
        let accepted = coding::accepted(fields);
        strip_hop_by_hop(fields);
        replace::edit(fields, &rewriting.lines);
        for name in ["expect", "range", "if-range", "accept-encoding"] {
            fields.remove(name);
        }
        if let Some(forwards) = self.forwards() {
            fields.remove("max-forwards");
            fields.push(b"Max-Forwards", forwards.saturating_sub(1).to_string().as_bytes());
        }
        fields.push(b"Accept-Encoding", accepted.as_bytes());
        fields.push(b"Via", format!("{} {hostname}", self.version.number()).as_bytes());
        head
    }

    /// The one range that is asked for.
    pub fn range(&self) -> Option<Range> {
        Range::asked_for(&self.head)
    }

    /// Lets the server send a range all the same.
    pub fn pass_range(&self, fields: &mut Fields) {
        for name in ["Range", "If-Range"] {
            self.head.fields.all(name).for_each(|value| fields.push(name.as_bytes(), value));
        }
    }

    /// Why it goes no further: it has been here before, or was not meant to go on (RFC 9110 sections 7.6.2, 7.6.3).
    pub fn goes_no_further(&self, hostname: &str) -> Option<Page> {
        let is_own = |via: &&[u8]| {
            let mut words = via.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
            words.nth(1).is_some_and(|by| by.eq_ignore_ascii_case(hostname.as_bytes()))
        };
        // Another gateway of this name may stand before this one; a request that was here twice comes again.
        if self.head.fields.list("via").filter(is_own).count() > 1 {
            return Some(Page::bad_request(
                508,
                "the request has been here before: it goes round in a circle",
            ));
        }
        match self.forwards() {
            Some(0) => Some(Page::bad_request(405, "Max-Forwards lets the request go no further than here")),
            _ => None,
        }
    }

    /// How many more may pass it on, where a method counts them.
    fn forwards(&self) -> Option<u64> {
        let counts = matches!(self.head.method.as_slice(), b"TRACE" | b"OPTIONS");
        let value = self.head.fields.get("max-forwards").filter(|_| counts)?;
        std::str::from_utf8(value).ok()?.trim().parse().ok()
    }

    /// What the request says that its content is.
    pub fn content_type(&self) -> Option<&str> {
        self.head.fields.get("content-type").and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Whether the client takes fields behind the content: who speaks HTTP/1.1 says so (RFC 9110 section 10.1.4).
    pub fn takes_trailers(&self) -> bool {
        match self.version {
            Version::Http10 => false,
            Version::Http11 => self.head.fields.list_has("te", "trailers"),
            Version::Http2 => true,
        }
    }

    /// Tells the server so where the client has said it, and announces what comes behind the request's own content.
    pub fn tell_trailers(&self, fields: &mut Fields, framing: Framing) {
        if self.version != Version::Http10 && self.head.fields.list_has("te", "trailers") {
            fields.push(b"Connection", b"TE");
            fields.push(b"TE", b"trailers");
        }
        if framing == Framing::Chunked {
            self.trailing().announce(fields);
        }
    }

    /// What the head says of what comes behind the content.
    pub fn trailing(&self) -> Trailing {
        Trailing::of(&self.head.fields)
    }

    /// The protocol that the client would change to (RFC 9110 section 7.8). One that names several is not asked again.
    pub fn upgrade(&self) -> Option<&str> {
        let fields = &self.head.fields;
        let is_asked = self.head.method == b"GET"
            && self.version == Version::Http11
            && fields.list_has("connection", "upgrade");
        let mut tokens = fields.list("upgrade");
        let token = tokens.next().filter(|_| is_asked)?;
        if tokens.next().is_some() { None } else { std::str::from_utf8(token).ok() }
    }

    /// Whether a login comes with it that is the connection's and not the request's.
    pub fn authorizes_connection(&self) -> bool {
        self.head.fields.all("authorization").any(is_of_connection)
    }

    /// What it is asked for by.
    pub fn scheme(&self) -> &'static str {
        if self.is_tunnel() { Scheme::Https.name() } else { self.scheme.name() }
    }

    /// Whether a tunnel is asked for.
    pub fn is_tunnel(&self) -> bool {
        self.method == Method::Connect
    }

    /// The address, for people.
    pub fn address(&self) -> String {
        match self.method {
            Method::Connect => self.uri.clone(),
            _ => format!("{}{}", self.site(), self.uri),
        }
    }

    /// Scheme, host and port, as an address begins.
    pub fn site(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let scheme = self.scheme.name();
        match self.port == self.scheme.port() {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}:{}", self.port),
        }
    }

    /// Path and query; for CONNECT, host and port.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The method.
    pub fn method_name(&self) -> &str {
        &self.method_name
    }

    /// Who the client says it is.
    pub fn credentials(&self) -> Result<Credentials, &'static str> {
        Credentials::read(&self.head.fields)
    }

    /// For events.
    pub fn noted<'a>(
        &'a self,
        guest: &'a Guest,
        status: Option<u16>,
        content_type: Option<&'a str>,
    ) -> events::Http<'a> {
        events::Http {
            user: guest.user.as_deref(),
            took: self.begun.elapsed(),
            is_bypassed: guest.passage == Passage::Bypassed,
            hostname: &self.host,
            port: self.port,
            url: &self.uri,
            method: &self.method_name,
            protocol: match self.version {
                Version::Http10 => "HTTP/1.0",
                Version::Http11 => "HTTP/1.1",
                Version::Http2 => "HTTP/2",
            },
            user_agent: self.user_agent.as_deref(),
            referrer: self.referrer.as_deref(),
            content_type,
            status,
        }
    }
}

/// Whether a challenge or a login is of a scheme that authenticates the connection (RFC 4559 section 6): whoever uses it
/// from then on is taken for the one who logged in.
pub fn is_of_connection(value: &[u8]) -> bool {
    let scheme = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    [&b"ntlm"[..], b"negotiate", b"kerberos"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Fields as lines, each `Name: value` and CRLF.
pub fn lines(fields: &Fields) -> Vec<u8> {
    let bytes = fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    let mut out = Vec::with_capacity(bytes);
    for (name, value) in fields.iter() {
        out.extend_from_slice(name);
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out
}

fn said_host(head: &RequestHead, scheme: Scheme) -> Result<(String, u16), Page> {
    let (host, port) = head.host().ok_or_else(|| Page::bad_request(400, "the request names no host"))?;
    Ok((host, port.unwrap_or(scheme.port())))
}

fn is_in_clear(target: &Target) -> bool {
    matches!(target, Target::Absolute(url) if url.scheme == Scheme::Http)
}

/// Old clients say Proxy-Connection to a proxy where they mean Connection.
fn proxied(fields: &Fields) -> Fields {
    let mut all = Fields::new();
    for name in ["connection", "proxy-connection"] {
        fields.all(name).for_each(|value| all.push(b"Connection", value));
    }
    all
}

/// Percent escapes of unreserved characters undone (RFC 3986 section 6.2.2.2): they hide a word from a list. Bytes beyond ASCII,
/// which no URL has, are escaped as browsers escape them, so that no two become one.
fn normal(uri: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(uri.len());
    let mut rest = uri;
    while let Some((first, behind)) = rest.split_first() {
        let escaped = match (first, behind) {
            (b'%', [high, low, ..]) => hexadecimal(*high).zip(hexadecimal(*low)).map(|(h, l)| h << 4 | l),
            _ => None,
        };
        match escaped {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(byte);
                rest = &behind[2..];
            }
            _ => {
                match first.is_ascii() {
                    true => out.push(*first),
                    false => out.extend_from_slice(format!("%{first:02X}").as_bytes()),
                }
                rest = behind;
            }
        }
    }
    out
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_that_hide_a_word_are_undone_once() {
        let cases: [(&[u8], &str); 6] = [
            (b"/%61%2Db%7e", "/a-b~"),
            (b"/a%2Fb%20c%3F", "/a%2Fb%20c%3F"),
            (b"/%2561", "/%2561"),
            (b"/%6", "/%6"),
            (b"/%%61%zz%", "/%a%zz%"),
            (b"/\xe9\xc3\xa9%c3%a9", "/%E9%C3%A9%c3%a9"),
        ];
        for (uri, expected) in cases {
            assert_eq!(normal(uri), expected.as_bytes(), "{expected}");
        }
    }
}
