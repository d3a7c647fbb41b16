//! What a request is for (RFC 9112 section 3.2, RFC 3986). Rule: a host that can be read in two ways is none.

use super::Refusal;
use super::framing::decimal;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The schemes that a proxy knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

impl Scheme {
    /// The port where none is said.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// An address of the web.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Url {
    /// How it is fetched.
    pub scheme: Scheme,
    /// In lower case, an IPv6 address without its brackets, a name without a dot at its end.
    pub host: String,
    /// Where it is fetched.
    pub port: u16,
    /// Path and query; begins with `/`.
    pub path: Vec<u8>,
}

impl Url {
    /// Reads an address in absolute form.
    ///
    /// # Errors
    ///
    /// Why it is none, or one that can be read in two ways.
    pub fn parse(text: &[u8]) -> Result<Self, Refusal> {
        match Target::parse(b"GET", text)? {
            Target::Absolute(url) => Ok(url),
            _ => Err(Refusal::BadTarget),
        }
    }
}

/// As it stands in a request in absolute form; the port only where it is not the scheme's.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = authority(&self.host, self.port, Some(self.scheme));
        write!(f, "{}://{authority}{}", self.scheme.name(), self.path.escape_ascii())
    }
}

/// A request's target, in its four forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The whole address: what a client says to its proxy.
    Absolute(Url),
    /// Path and query: what is said to a server. A proxy gets it where clients don't know of it.
    Origin(Vec<u8>),
    /// Host and port, of CONNECT.
    Authority {
        /// As in [`Url::host`].
        host: String,
        /// Never left out.
        port: u16,
    },
    /// `*`, of OPTIONS.
    Asterisk,
}

impl Target {
    /// Reads the target of a request with this method.
    pub(crate) fn parse(method: &[u8], target: &[u8]) -> Result<Self, Refusal> {
        // What is not ASCII has no reading here and none is given: it goes on as it came. A fragment is the client's own.
        if target.iter().any(|byte| byte.is_ascii_control() || matches!(byte, b' ' | b'#')) {
            return Err(Refusal::BadTarget);
        }
        if method == b"CONNECT" {
            let (host, port) = host_and_port(target)?;
            return Ok(Self::Authority { host, port: port.ok_or(Refusal::BadTarget)? });
        }
        match target {
            b"*" if method == b"OPTIONS" => Ok(Self::Asterisk),
            [b'/', ..] => Ok(Self::Origin(target.to_vec())),
            _ => absolute(target).map(Self::Absolute),
        }
    }
}

fn absolute(target: &[u8]) -> Result<Url, Refusal> {
    let colon = memchr::memchr(b':', target).ok_or(Refusal::BadTarget)?;
    let (scheme, rest) = target.split_at_checked(colon).ok_or(Refusal::BadTarget)?;
    let rest = rest.strip_prefix(b"://").ok_or(Refusal::BadTarget)?;
    let scheme = match scheme.to_ascii_lowercase().as_slice() {
        b"http" => Scheme::Http,
        b"https" => Scheme::Https,
        _ => return Err(Refusal::UnknownScheme),
    };
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).ok_or(Refusal::BadTarget)?;
    let (host, port) = host_and_port(authority)?;
    let path = if path.starts_with(b"/") { path.to_vec() } else { [b"/", path].concat() };
    Ok(Url { scheme, host, port: port.unwrap_or(scheme.port()), path })
}

/// Host and port of an authority, such as Host has. An empty port is none (RFC 3986 section 6.2.3).
pub(crate) fn host_and_port(authority: &[u8]) -> Result<(String, Option<u16>), Refusal> {
    if memchr::memchr(b'@', authority).is_some() {
        return Err(Refusal::UserInfo);
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix(b"[") {
        let end = memchr::memchr(b']', rest).ok_or(Refusal::HostBad)?;
        let (address, rest) = rest.split_at_checked(end).ok_or(Refusal::HostBad)?;
        (address_6(address)?, rest.get(1..).unwrap_or_default())
    } else {
        let end = memchr::memchr(b':', authority).unwrap_or(authority.len());
        let (name, rest) = authority.split_at_checked(end).ok_or(Refusal::HostBad)?;
        (host_name(name)?, rest)
    };
    let port = match port {
        [] | [b':'] => None,
        [b':', digits @ ..] if digits.len() <= 5 => {
            let port = decimal(digits).and_then(|port| u16::try_from(port).ok());
            Some(port.filter(|port| *port > 0).ok_or(Refusal::HostBad)?)
        }
        _ => return Err(Refusal::HostBad),
    };
    Ok((host, port))
}

fn address_6(text: &[u8]) -> Result<String, Refusal> {
    let text = std::str::from_utf8(text).map_err(|_| Refusal::HostBad)?;
    text.parse::<Ipv6Addr>().map(|address| address.to_string()).map_err(|_| Refusal::HostBad)
}

/// A name, or an IPv4 address in the one way to write it. `127.1`, `0x7f000001` and `2130706433` are the same address
/// for some resolvers and a name for others, so they are neither.
fn host_name(name: &[u8]) -> Result<String, Refusal> {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let is_label = |label: &[u8]| {
        (1..=63).contains(&label.len())
            && label.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if name.len() > 253 || !name.split(|byte| *byte == b'.').all(is_label) {
        return Err(Refusal::HostBad);
    }
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_number && name.parse::<Ipv4Addr>().is_err() {
        return Err(Refusal::HostBad);
    }
    Ok(name)
}

/// Host and port as they stand in Host and in a target; the port is left out where it is the scheme's.
pub(crate) fn authority(host: &str, port: u16, scheme: Option<Scheme>) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    if scheme.is_some_and(|scheme| scheme.port() == port) { host } else { format!("{host}:{port}") }
}
