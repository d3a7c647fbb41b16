//! A client's hello, taken apart: [`ClientHello`]. Rule: what could be read in two ways is refused.

use super::Refusal;
use super::bytes::Bytes;

/// What a client says before anything is encrypted (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2). Numbers are those
/// of IANA's registries, in the client's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// The version of the days before `supported_versions`: 0x0303 from TLS 1.2 on.
    pub legacy_version: u16,
    /// The cipher suites.
    pub cipher_suites: Vec<u16>,
    /// The kinds of all extensions.
    pub extensions: Vec<u16>,
    /// The server's name (RFC 6066 section 3) in lower case, without a dot at its end.
    pub server_name: Option<String>,
    /// The protocols for what is within (RFC 7301).
    pub alpn: Vec<Vec<u8>>,
    /// The versions; empty where the client is older than TLS 1.3.
    pub supported_versions: Vec<u16>,
    /// The groups for the key exchange.
    pub groups: Vec<u16>,
    /// The signature algorithms.
    pub signature_algorithms: Vec<u16>,
    /// The formats of points.
    pub point_formats: Vec<u8>,
    /// Whether the true hello may be within, encrypted.
    pub ech: Ech,
}

/// Encrypted client hello (RFC 9849).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ech {
    /// There is none: the server's name is the one that is meant.
    #[default]
    Absent,
    /// There is one, or what looks like it: browsers send a made-up one (GREASE) to servers of which they know no key,
    /// so that nobody can tell the two apart. Then the server's name may be that of whoever keeps the key.
    Offered,
}

pub(super) const SERVER_NAME: u16 = 0;
pub(super) const SUPPORTED_GROUPS: u16 = 10;
pub(super) const EC_POINT_FORMATS: u16 = 11;
pub(super) const SIGNATURE_ALGORITHMS: u16 = 13;
pub(super) const ALPN: u16 = 16;
pub(super) const SUPPORTED_VERSIONS: u16 = 43;
const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;

pub(super) const HOST_NAME: u8 = 0;
pub(super) const RANDOM_BYTES: usize = 32;
pub(super) const SESSION_ID_BYTES_MAX: usize = 32;
/// The longest host name, and the longest label in it (RFC 1035 section 2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

impl ClientHello {
    /// Reads the message without its header.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let mut body = Bytes(body);
        let mut hello = Self { legacy_version: body.u16()?, ..Self::default() };
        body.take(RANDOM_BYTES)?;
        if body.within_u8()?.0.len() > SESSION_ID_BYTES_MAX {
            return Err(Refusal::Malformed);
        }
        hello.cipher_suites = body.within_u16()?.numbers()?;
        // Compression has been dead since CRIME; what matters is that the rest is found behind it.
        body.within_u8()?;
        if !body.0.is_empty() {
            let mut extensions = body.within_u16()?;
            body.end()?;
            while !extensions.0.is_empty() {
                let kind = extensions.u16()?;
                hello.extensions.push(kind);
                hello.extension(kind, extensions.within_u16()?)?;
            }
        }
        let mut kinds = hello.extensions.clone();
        kinds.sort_unstable();
        if kinds.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Refusal::Repeated);
        }
        Ok(hello)
    }

    fn extension(&mut self, kind: u16, mut content: Bytes<'_>) -> Result<(), Refusal> {
        match kind {
            SERVER_NAME => self.server_name = server_name(content.within_u16()?)?,
            SUPPORTED_GROUPS => self.groups = content.within_u16()?.numbers()?,
            EC_POINT_FORMATS => self.point_formats = content.within_u8()?.0.to_vec(),
            SIGNATURE_ALGORITHMS => self.signature_algorithms = content.within_u16()?.numbers()?,
            ALPN => {
                let mut names = content.within_u16()?;
                while !names.0.is_empty() {
                    self.alpn.push(names.within_u8()?.0.to_vec());
                }
            }
            SUPPORTED_VERSIONS => self.supported_versions = content.within_u8()?.numbers()?,
            ENCRYPTED_CLIENT_HELLO => {
                self.ech = Ech::Offered;
                return Ok(());
            }
            _ => return Ok(()),
        }
        content.end()
    }

    /// The highest version that the client speaks, GREASE aside: 0x0304 is TLS 1.3.
    pub fn version_max(&self) -> u16 {
        let offered = self.supported_versions.iter().copied().filter(|version| !is_grease(*version));
        offered.max().unwrap_or(self.legacy_version)
    }
}

/// Whether a number stands for nothing, sent so that servers learn to pass over what they do not know (RFC 8701).
pub fn is_grease(number: u16) -> bool {
    let [high, low] = number.to_be_bytes();
    high == low && low & 0x0f == 0x0a
}

fn server_name(mut list: Bytes<'_>) -> Result<Option<String>, Refusal> {
    let mut found = None;
    if list.0.is_empty() {
        return Err(Refusal::Malformed);
    }
    while !list.0.is_empty() {
        let kind = list.u8()?;
        let name = list.within_u16()?.0;
        if kind != HOST_NAME {
            continue;
        }
        if found.replace(host_name(name)?).is_some() {
            return Err(Refusal::Repeated);
        }
    }
    Ok(found)
}

/// A host name in its one form: lower case, no dot at its end.
fn host_name(bytes: &[u8]) -> Result<String, Refusal> {
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    let is_label = |label: &[u8]| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'-' || *c == b'_')
    };
    if bytes.len() > NAME_BYTES_MAX || !bytes.split(|c| *c == b'.').all(is_label) {
        return Err(Refusal::BadName);
    }
    Ok(String::from_utf8_lossy(bytes).to_ascii_lowercase())
}
