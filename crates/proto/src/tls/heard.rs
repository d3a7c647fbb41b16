//! A hello as a spectator hears it: [`Hello`]. Rule: whatever can be read is given, as it came; what is odd is noted.

use super::bytes::Bytes;
use super::hello::{
    ALPN, EC_POINT_FORMATS, HOST_NAME, RANDOM_BYTES, SERVER_NAME, SESSION_ID_BYTES_MAX, SIGNATURE_ALGORITHMS,
    SUPPORTED_GROUPS, SUPPORTED_VERSIONS,
};
use super::{Oddity, Refusal, is_grease};
use crate::Side;

/// How many protocols of a hello are kept.
pub const ALPN_MAX: usize = 64;
/// The longest server name that is one, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// A client's or a server's hello (RFC 8446 sections 4.1.2 and 4.1.3, RFC 5246 sections 7.4.1.2 and 7.4.1.3). Numbers are
/// those of IANA's registries, in the order they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Whose it is.
    pub from: Side,
    /// The version in its first field: 0x0303 from TLS 1.2 on.
    pub legacy_version: u16,
    /// The 32 random bytes.
    pub random: Vec<u8>,
    /// What a client would resume, or a server says can be resumed.
    pub session_id: Vec<u8>,
    /// The cipher suites; of a server, the one it has chosen.
    pub cipher_suites: Vec<u16>,
    /// The kinds of all extensions.
    pub extensions: Vec<u16>,
    /// The server's name, as it came.
    pub server_name: Option<Vec<u8>>,
    /// The protocols for what is within, [`ALPN_MAX`] at most.
    pub alpn: Vec<Vec<u8>>,
    /// The versions in the extension for them; of a server, the one it has chosen.
    pub supported_versions: Vec<u16>,
    /// The groups for the key exchange.
    pub groups: Vec<u16>,
    /// The signature algorithms.
    pub signature_algorithms: Vec<u16>,
    /// The formats of points.
    pub point_formats: Vec<u8>,
}

impl Hello {
    /// Reads the message without its header; `None` where the fields before the extensions are not whole.
    pub(super) fn read(body: &[u8], from: Side, odd: &mut Vec<Oddity>) -> Option<Self> {
        let mut body = Bytes(body);
        let (mut hello, extensions) = match Self::begin(&mut body, from) {
            Ok(begun) => begun,
            Err(_) => {
                odd.push(Oddity::HandshakeInvalidLength);
                return None;
            }
        };
        if hello.read_extensions(extensions, odd).is_err() {
            odd.push(Oddity::HandshakeInvalidLength);
        }
        Some(hello)
    }

    fn begin<'a>(body: &mut Bytes<'a>, from: Side) -> Result<(Self, Bytes<'a>), Refusal> {
        let mut hello = Self {
            from,
            legacy_version: body.u16()?,
            random: body.take(RANDOM_BYTES)?.to_vec(),
            session_id: body.within_u8()?.0.to_vec(),
            cipher_suites: Vec::new(),
            extensions: Vec::new(),
            server_name: None,
            alpn: Vec::new(),
            supported_versions: Vec::new(),
            groups: Vec::new(),
            signature_algorithms: Vec::new(),
            point_formats: Vec::new(),
        };
        if hello.session_id.len() > SESSION_ID_BYTES_MAX {
            return Err(Refusal::Malformed);
        }
        match from {
            Side::Client => {
                hello.cipher_suites = body.within_u16()?.numbers()?;
                body.within_u8()?;
            }
            Side::Server => {
                hello.cipher_suites = vec![body.u16()?];
                body.u8()?;
            }
        }
        let extensions = if body.0.is_empty() { Bytes(&[]) } else { body.within_u16()? };
        Ok((hello, extensions))
    }

    fn read_extensions(&mut self, mut extensions: Bytes<'_>, odd: &mut Vec<Oddity>) -> Result<(), Refusal> {
        while !extensions.0.is_empty() {
            let kind = extensions.u16()?;
            let content = extensions.within_u16()?;
            self.extensions.push(kind);
            // What is in one says nothing of the next: it is read as far as it goes, and only the name is worth a word.
            if self.read_extension(kind, content, odd).is_err() && kind == SERVER_NAME {
                odd.push(Oddity::HandshakeInvalidLength);
            }
        }
        Ok(())
    }

    fn read_extension(
        &mut self,
        kind: u16,
        mut content: Bytes<'_>,
        odd: &mut Vec<Oddity>,
    ) -> Result<(), Refusal> {
        match (kind, self.from) {
            // A server that has used the name says so with nothing.
            (SERVER_NAME, Side::Client) => self.read_name(content, odd)?,
            (SUPPORTED_GROUPS, Side::Client) => self.groups = content.within_u16()?.numbers()?,
            (EC_POINT_FORMATS, Side::Client) => self.point_formats = content.within_u8()?.0.to_vec(),
            (SIGNATURE_ALGORITHMS, Side::Client) => {
                self.signature_algorithms = content.within_u16()?.numbers()?;
            }
            (SUPPORTED_VERSIONS, Side::Client) => {
                self.supported_versions = content.within_u8()?.numbers()?;
            }
            (SUPPORTED_VERSIONS, Side::Server) => self.supported_versions = vec![content.u16()?],
            (ALPN, _) => {
                let mut names = content.within_u16()?;
                while !names.0.is_empty() && self.alpn.len() < ALPN_MAX {
                    self.alpn.push(names.within_u8()?.0.to_vec());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The first name counts, as it does for servers.
    fn read_name(&mut self, mut content: Bytes<'_>, odd: &mut Vec<Oddity>) -> Result<(), Refusal> {
        if content.0.is_empty() {
            return Ok(());
        }
        if self.server_name.is_some() {
            odd.push(Oddity::MultipleSniExtensions);
            return Ok(());
        }
        let mut list = content.within_u16()?;
        if list.u8()? != HOST_NAME {
            odd.push(Oddity::InvalidSniType);
            return Ok(());
        }
        let name = list.within_u16()?.0;
        if name.len() > NAME_BYTES_MAX {
            odd.push(Oddity::InvalidSniLength);
            return Ok(());
        }
        self.server_name = Some(name.to_vec());
        Ok(())
    }

    /// The version that is meant: of a server, the one it has chosen; of a client, the first that it offers, GREASE aside.
    pub fn version(&self) -> u16 {
        let known = |version: &&u16| matches!(**version, 0x0300..=0x0304) || **version >> 8 == 0x7f;
        self.supported_versions.iter().find(known).copied().unwrap_or(self.legacy_version)
    }

    /// The highest version that a client offers, GREASE aside.
    pub fn version_max(&self) -> u16 {
        let offered = self.supported_versions.iter().copied().filter(|version| !is_grease(*version));
        offered.max().unwrap_or(self.legacy_version)
    }
}

/// What a version is called in events.
pub fn version_name(version: u16) -> String {
    match version {
        0x0002 | 0x0200 => "SSLv2".to_owned(),
        0x0300 => "SSLv3".to_owned(),
        0x0301 => "TLSv1".to_owned(),
        0x0302..=0x0304 => format!("TLS 1.{}", version - 0x0301),
        0x7f00..=0x7fff => format!("TLS 1.3 draft-{}", version - 0x7f00),
        other => format!("0x{other:04x}"),
    }
}
