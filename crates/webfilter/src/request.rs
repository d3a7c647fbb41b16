//! All that lists look at of a request: [`Request`]. Rule: what is too long is cut, and nothing is looked at twice.

use crate::address::{Address, URI_BYTES_MAX, host_of_bytes};
use std::net::IpAddr;

/// How much of a header's lines is looked at.
pub(crate) const HEADER_BYTES_MAX: usize = 64 << 10;

/// One request, as lists see it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where it goes.
    pub address: Address,
    /// The same as it came, from `http://` on: expressions that replace look at this. e2guardian's name no other scheme,
    /// whatever the page came by, and no port.
    pub(crate) url: Vec<u8>,
    /// Where it comes from, by what the client says.
    pub(crate) referrer: Option<Address>,
    /// What the browser calls itself.
    pub(crate) user_agent: Vec<u8>,
    /// The lines of its header, each `Name: value`.
    pub(crate) lines: Vec<Vec<u8>>,
    /// Who sends it.
    pub(crate) client: Option<IpAddr>,
    /// Whether it asks for a tunnel.
    pub(crate) is_tunnel: bool,
}

impl Request {
    /// From what a proxy knows: the host, and the path with its query, in any spelling.
    pub fn new(scheme: &'static str, host: &[u8], uri: &[u8]) -> Self {
        let uri = uri.get(..URI_BYTES_MAX).unwrap_or(uri);
        let mut url = b"http://".to_vec();
        url.extend_from_slice(host_of_bytes(host).as_bytes());
        url.extend_from_slice(uri);
        Self::at(Address::new(scheme, host, uri), url)
    }

    /// From a URL as a person types it; the scheme may be missing. `None` where there is no host in it.
    pub fn parse(url: &str) -> Option<Self> {
        let address = Address::parse(url)?;
        let rest = url.trim().split_once("://").map_or(url.trim(), |(_, rest)| rest);
        let uri = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
        let uri = uri.split('#').next().unwrap_or_default();
        let url = format!("http://{}{uri}", address.host);
        Some(Self::at(address, url.into_bytes()))
    }

    fn at(address: Address, url: Vec<u8>) -> Self {
        Self {
            address,
            url,
            referrer: None,
            user_agent: Vec::new(),
            lines: Vec::new(),
            client: None,
            is_tunnel: false,
        }
    }

    /// By whom it is sent.
    #[must_use]
    pub fn by(mut self, client: IpAddr) -> Self {
        self.client = Some(client.to_canonical());
        self
    }

    /// That it asks for a tunnel, or not.
    #[must_use]
    pub fn through_tunnel(mut self, is_tunnel: bool) -> Self {
        self.is_tunnel = is_tunnel;
        self
    }

    /// With the lines of its header.
    #[must_use]
    pub fn with_header(mut self, header: &[u8]) -> Self {
        let header = header.get(..HEADER_BYTES_MAX).unwrap_or(header);
        for line in header.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"user-agent") {
                self.user_agent = value.to_vec();
            } else if name.eq_ignore_ascii_case(b"referer") {
                self.referrer = Address::parse(&String::from_utf8_lossy(value));
            }
            self.lines.push(line.to_vec());
        }
        self
    }
}
