//! A request of HTTP and its response, as events have them: [`Exchange`]. Rule: what stands in an event is bounded.

use lockgate_eve::Object;
use lockgate_proto::http::{Fields, RequestHead, ResponseHead, Target, Version};
use std::net::{IpAddr, SocketAddr};

/// How much of a value stands in an event.
const SHOWN_BYTES_MAX: usize = 8 << 10;

/// A request and its response, as events have them.
#[derive(Default)]
pub struct Exchange {
    pub method: String,
    pub url: String,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub user_agent: Option<String>,
    pub referrer: Option<String>,
    pub protocol: Option<&'static str>,
    pub content_type: Option<String>,
    pub location: Option<String>,
    pub status: Option<u16>,
    /// For whom proxies have asked: the first of them, and the last.
    pub forwarded: Option<[IpAddr; 2]>,
    pub length: u64,
    pub has_request: bool,
    pub is_over: bool,
}

impl Exchange {
    pub fn asks(&mut self, head: &RequestHead) {
        self.has_request = true;
        self.method = shown(&head.method);
        self.url = match &head.target {
            Target::Origin(path) => shown(path),
            Target::Absolute(url) => shown(&url.path),
            Target::Authority { host, port } => format!("{host}:{port}"),
            Target::Asterisk => "*".to_owned(),
        };
        let host = host_of(head);
        self.port = host.as_ref().and_then(|(_, port)| *port);
        self.host = host.map(|(host, _)| host);
        self.user_agent = value(&head.fields, "user-agent");
        self.referrer = value(&head.fields, "referer");
        self.protocol = Some(version(head.version));
        let mut addresses = head.fields.list("x-forwarded-for").filter_map(address);
        self.forwarded = addresses.next().map(|first| [first, addresses.last().unwrap_or(first)]);
    }

    pub fn answers(&mut self, head: &ResponseHead) {
        self.status = Some(head.status);
        self.content_type = value(&head.fields, "content-type").map(media_type);
        self.location = value(&head.fields, "location");
        self.protocol = self.protocol.or(Some(version(head.version)));
    }

    pub fn write(&self, length: u64, object: &mut Object<'_>) {
        object.text_if("hostname", self.host.as_deref());
        if let Some(port) = self.port {
            object.number("http_port", port.into());
        }
        if self.has_request {
            object.text("url", &self.url);
        }
        object.text_if("http_user_agent", self.user_agent.as_deref());
        object.text_if("http_content_type", self.content_type.as_deref());
        object.text_if("http_refer", self.referrer.as_deref());
        if self.has_request {
            object.text("http_method", &self.method);
        }
        object.text_if("protocol", self.protocol);
        if let Some(status) = self.status {
            object.number("status", status.into());
        }
        object.text_if("redirect", self.location.as_deref());
        object.number("length", length);
    }
}

/// What the content behind a head is called: as its server says, else by the path that is asked for.
pub fn file_name(fields: &Fields, url: &str) -> Option<String> {
    let said = fields.get("content-disposition").and_then(|value| {
        let value = String::from_utf8_lossy(value);
        let at = value.to_ascii_lowercase().find("filename=")? + "filename=".len();
        let name = value.get(at..)?.trim_start();
        let name = match name.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => name.split(';').next(),
        };
        name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
    });
    said.or_else(|| url.split('?').next().filter(|path| !path.is_empty()).map(str::to_owned))
}

/// Whom a request is for.
pub fn host_of(head: &RequestHead) -> Option<(String, Option<u16>)> {
    match &head.target {
        Target::Absolute(url) => Some((url.host.clone(), None)),
        _ => head.host().or_else(|| value(&head.fields, "host").map(|host| (host, None))),
    }
}

/// An address as `X-Forwarded-For` has it: perhaps with a port, of IPv6 perhaps in brackets.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.split(']').next());
    let parsed = bare.unwrap_or(text).parse().ok();
    parsed.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

fn version(version: Version) -> &'static str {
    match version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
        Version::Http2 => "HTTP/2",
    }
}

fn value(fields: &Fields, name: &str) -> Option<String> {
    fields.get(name).map(shown)
}

fn media_type(value: String) -> String {
    value.split(';').next().unwrap_or_default().trim().to_owned()
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..SHOWN_BYTES_MAX).unwrap_or(bytes)).into_owned()
}
