//! Requests. Rule: what the request is for is known from one place, and its end from one field.

use super::fields::is_token;
use super::lines::OddLines;
use super::machine::{Kind, Machine, Place};
use super::refusal::Oddities;
use super::url::host_and_port;
use super::{Disposition, Fields, Framing, Limits, Refusal, Scheme, Step, Target, Url, Version, framing};

/// A request without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// As it came: methods are told apart by case (RFC 9110 section 9.1).
    pub method: Vec<u8>,
    /// What it is for.
    pub target: Target,
    /// What the client speaks.
    pub version: Version,
    /// Its fields; Host and what frames the body among them, which [`write_request`](super::write_request) makes anew.
    pub fields: Fields,
}

impl RequestHead {
    /// The address asked for: the target's, else of the target and Host, with this scheme. There is none for CONNECT,
    /// for `*`, and where an HTTP/1.0 client says no Host.
    pub fn url(&self, scheme: Scheme) -> Option<Url> {
        match &self.target {
            Target::Absolute(url) => Some(url.clone()),
            Target::Origin(path) => {
                let (host, port) = self.host()?;
                Some(Url { scheme, host, port: port.unwrap_or(scheme.port()), path: path.clone() })
            }
            Target::Authority { .. } | Target::Asterisk => None,
        }
    }

    /// Host and port as Host says them, which for an absolute target count for nothing.
    pub fn host(&self) -> Option<(String, Option<u16>)> {
        host_and_port(self.fields.get("host")?).ok()
    }

    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 section 10.1.1).
    pub fn expects_continue(&self) -> bool {
        self.version != Version::Http10 && self.fields.list_has("expect", "100-continue")
    }
}

/// Reads one client's requests, one after another.
#[derive(Debug)]
pub struct RequestReader {
    machine: Machine<Requests>,
}

impl RequestReader {
    /// Awaits a head.
    pub fn new(disposition: Disposition, limits: Limits) -> Self {
        Self { machine: Machine::new(Requests, disposition, limits) }
    }

    /// What stands at the front of the input. The end of a message needs no further byte: behind its last one, a step
    /// without input says [`Frame::End`](super::Frame). Behind a CONNECT that is granted the bytes are no longer HTTP.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a, RequestHead> {
        self.machine.step(input)
    }

    /// Whether part of a request has come whose end has not.
    pub fn has_begun(&self) -> bool {
        self.machine.place() != Place::Between
    }

    /// What is odd about the request read last, as far as it has come.
    pub fn quirks(&self) -> &[Refusal] {
        self.machine.noted()
    }
}

#[derive(Debug)]
struct Requests;

#[derive(Debug)]
struct RequestLine {
    method: Vec<u8>,
    target: Target,
    version: Version,
}

impl Kind for Requests {
    type Start = RequestLine;
    type Head = RequestHead;
    const ODD_LINES: OddLines = OddLines::Refused;

    fn begins_with(&self, byte: u8) -> bool {
        is_token(&[byte])
    }

    /// RFC 9112 section 3: one space between the three, and none elsewhere.
    fn start(&self, line: &[u8], oddities: &mut Oddities) -> Result<RequestLine, Refusal> {
        let mut words = line.split(|byte| *byte == b' ');
        let method = words.next().unwrap_or_default();
        let (Some(target), Some(version), None) = (words.next(), words.next(), words.next()) else {
            oddities.met(Refusal::BadStartLine)?;
            return Ok(seen(line));
        };
        if !is_token(method) {
            oddities.met(Refusal::BadMethod)?;
        }
        let version = match Version::parse(version) {
            Some(version) => version,
            None => {
                // A line that only has three words is none of HTTP at all.
                let is_http = version.starts_with(b"HTTP/");
                oddities.met(if is_http { Refusal::BadVersion } else { Refusal::BadStartLine })?;
                Version::Http11
            }
        };
        let target = match Target::parse(method, target) {
            Ok(target) => target,
            Err(refusal) => {
                oddities.met(refusal)?;
                Target::Origin(target.to_vec())
            }
        };
        Ok(RequestLine { method: method.to_vec(), target, version })
    }

    fn head(
        &mut self,
        start: RequestLine,
        mut fields: Fields,
        oddities: &mut Oddities,
    ) -> Result<(RequestHead, Framing), Refusal> {
        let RequestLine { method, target, version } = start;
        host(&target, version, &fields, oddities)?;
        let mut framing = framing::of_request(&mut fields, version, oddities)?;
        if method == b"CONNECT" {
            // RFC 9110 section 9.3.6: what follows is the tunnel's, or would be taken for it.
            if !matches!(framing, Framing::None | Framing::Length(0)) {
                oddities.met(Refusal::BodyNotAllowed)?;
            }
            framing = Framing::None;
        }
        Ok((RequestHead { method, target, version, fields }, framing))
    }
}

/// What a spectator sees in a line that is no request line.
fn seen(line: &[u8]) -> RequestLine {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let method = words.next().unwrap_or_default().to_vec();
    let target = Target::Origin(words.next().unwrap_or_default().to_vec());
    RequestLine { method, target, version: Version::Http10 }
}

/// RFC 9112 section 3.2: one Host, and one that names a host, whatever the target says.
fn host(target: &Target, version: Version, fields: &Fields, oddities: &mut Oddities) -> Result<(), Refusal> {
    let mut hosts = fields.all("host");
    let Some(first) = hosts.next() else {
        return if version == Version::Http11 { oddities.met(Refusal::HostMissing) } else { Ok(()) };
    };
    if hosts.next().is_some() {
        oddities.met(Refusal::HostRepeated)?;
    }
    let (host, port) = match host_and_port(first) {
        Ok(said) => said,
        Err(refusal) => return oddities.met(refusal),
    };
    let differs = match target {
        Target::Absolute(url) => url.host != host || url.port != port.unwrap_or(url.scheme.port()),
        Target::Authority { host: other, port: other_port } => {
            *other != host || port.is_some_and(|port| port != *other_port)
        }
        Target::Origin(_) | Target::Asterisk => false,
    };
    if differs {
        oddities.note(Refusal::HostDiffers);
    }
    Ok(())
}
