//! TLS without a socket of its own: configurations from PEM files, and [`TlsState`], which a
//! [`Stream`](crate::stream::Stream) drives. Rule: TLS 1.2 at least, one crypto provider, no plaintext kept behind.

use crate::queue::Queue;
use crate::scratch::with_ciphertext;
use crate::settings::{Certificate, Verify};
use crate::socket::Socket;
use crate::stream::{ReadOutcome, TlsInfo, receive};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme,
};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where Debian and most others keep the roots.
pub const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Why a configuration cannot be made: the file, and what is wrong with it.
#[derive(Debug)]
pub struct TlsError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it, and what to do.
    pub reason: String,
}

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for TlsError {}

/// TLS towards clients, with this certificate; by ALPN (RFC 7301) they may choose among these protocols.
pub fn server_config(certificate: &Certificate, alpn: &[&[u8]]) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = read_certificates(&certificate.chain)?;
    let key = PrivateKeyDer::from_pem_file(&certificate.key)
        .map_err(|e| wrong(&certificate.key, format!("no private key in PEM form: {e}")))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(&certificate.chain, e))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| wrong(&certificate.chain, format!("the certificate does not fit its key: {e}")))?;
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// TLS towards a next hop: checked by the roots of that file, or the system's, or not at all.
pub fn client_config(verify: Verify, roots: Option<&Path>) -> Result<Arc<ClientConfig>, TlsError> {
    let path = roots.unwrap_or(Path::new(SYSTEM_ROOTS));
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(path, e))?;
    let mut config = match verify {
        Verify::Name => builder.with_root_certificates(read_roots(path)?).with_no_client_auth(),
        Verify::Nothing => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider())))
            .with_no_client_auth(),
    };
    // Sessions are not resumed: a cache of tickets for each next hop costs more than it saves here.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

/// The name to be proved by a next hop: a host name or an address.
pub fn server_name(name: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(name.to_owned())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name for TLS")))
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

pub(crate) fn wrong(path: &Path, reason: impl std::fmt::Display) -> TlsError {
    TlsError { path: path.to_owned(), reason: reason.to_string() }
}

pub(crate) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(|certificates| certificates.collect());
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(wrong(path, "no certificate in it")),
        Ok(certificates) => Ok(certificates),
        Err(e) => Err(wrong(path, format!("no certificates in PEM form: {e}"))),
    }
}

fn read_roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(read_certificates(path)?);
    if added == 0 {
        return Err(wrong(path, "none of its certificates can serve as a root"));
    }
    Ok(roots)
}

/// Encryption without proof of identity (RFC 7435): signatures are checked, names are not.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// One side of one TLS connection.
pub(crate) struct TlsState(Connection);

/// What is read at once while shaking hands: little, since what follows the handshake is kept in rustls until it is asked
/// for.
const HANDSHAKE_READ_BYTES: usize = 4 << 10;
/// The longest record on the wire (RFC 8446 section 5.2): a partial one may already wait in rustls.
const RECORD_BYTES_MAX: usize = (16 << 10) + 261;

impl TlsState {
    pub(crate) fn accept(config: Arc<ServerConfig>) -> io::Result<Box<Self>> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Box::new(Self(Connection::Server(connection))))
    }

    pub(crate) fn connect(config: Arc<ClientConfig>, name: ServerName<'static>) -> io::Result<Box<Self>> {
        let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Box::new(Self(Connection::Client(connection))))
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    pub(crate) fn info(&self) -> TlsInfo {
        let version = match self.0.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLS",
        };
        let cipher = self.0.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str()).unwrap_or("");
        let server_name = match &self.0 {
            Connection::Server(server) => server.server_name().map(str::to_owned),
            Connection::Client(_) => None,
        };
        TlsInfo { version, cipher, server_name }
    }

    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        self.0.alpn_protocol()
    }

    /// Takes what was read before; leaves in `pending` what is to be sent.
    pub(crate) fn begin(&mut self, begun: &[u8], pending: &mut Queue) -> io::Result<()> {
        let fed = self.feed(begun, &mut []).map(drop);
        self.take_output(pending)?;
        fed
    }

    /// One step: reads what there is, leaves in `pending` what is to be sent.
    pub(crate) fn handshake(&mut self, socket: &Socket, pending: &mut Queue) -> io::Result<()> {
        self.take_output(pending)?;
        let read = with_ciphertext(|ciphertext| {
            let ciphertext = &mut ciphertext[..HANDSHAKE_READ_BYTES];
            match receive(socket, ciphertext)? {
                ReadOutcome::Bytes(count) => self.feed(&ciphertext[..count], &mut []).map(drop),
                ReadOutcome::WouldBlock => Ok(()),
                ReadOutcome::End => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        });
        self.take_output(pending)?;
        read
    }

    /// Whether a read would bring something without the socket.
    pub(crate) fn has_plaintext(&mut self) -> bool {
        match self.0.process_new_packets() {
            Ok(state) => state.plaintext_bytes_to_read() > 0 || state.peer_has_closed(),
            Err(_) => true,
        }
    }

    /// Reads what there is, as far as it fits; leaves in `pending` what is to be sent in answer.
    pub(crate) fn read(
        &mut self,
        socket: &Socket,
        plaintext: &mut [u8],
        pending: &mut Queue,
    ) -> io::Result<ReadOutcome> {
        let outcome = loop {
            match self.plaintext(plaintext) {
                Ok(ReadOutcome::WouldBlock) => {}
                outcome => break outcome,
            }
            let fed = with_ciphertext(|ciphertext| {
                // What comes out is never longer than what went in and what already waited; the rest must fit in rustls.
                let room = plaintext.len().saturating_sub(RECORD_BYTES_MAX).max(HANDSHAKE_READ_BYTES);
                let length = room.min(ciphertext.len());
                let ciphertext = &mut ciphertext[..length];
                match receive(socket, ciphertext)? {
                    ReadOutcome::Bytes(count) => {
                        self.feed(&ciphertext[..count], plaintext).map(ReadOutcome::Bytes)
                    }
                    other => Ok(other),
                }
            });
            match fed {
                // Records without content, such as session tickets.
                Ok(ReadOutcome::Bytes(0)) => {}
                outcome => break outcome,
            }
        };
        self.take_output(pending)?;
        outcome
    }

    /// Encrypts into `pending`.
    pub(crate) fn encrypt(&mut self, mut plaintext: &[u8], pending: &mut Queue) -> io::Result<()> {
        while !plaintext.is_empty() {
            let count = self.0.writer().write(plaintext)?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            plaintext = &plaintext[count..];
            self.take_output(pending)?;
        }
        Ok(())
    }

    /// Says that nothing more follows (RFC 8446 section 6.1).
    pub(crate) fn say_end(&mut self, pending: &mut Queue) -> io::Result<()> {
        self.0.send_close_notify();
        self.take_output(pending)
    }

    fn plaintext(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        match self.0.reader().read(into) {
            Ok(0) => Ok(ReadOutcome::End),
            Ok(count) => Ok(ReadOutcome::Bytes(count)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(ReadOutcome::WouldBlock),
            // An end without close_notify: mail protocols end their content themselves, so it is an end like another.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(ReadOutcome::End),
            Err(e) => Err(e),
        }
    }

    /// Decrypts; says how many bytes of plaintext came out.
    fn feed(&mut self, mut ciphertext: &[u8], plaintext: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while !ciphertext.is_empty() {
            self.0.read_tls(&mut ciphertext)?;
            self.0.process_new_packets().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
            while filled < plaintext.len() {
                match self.plaintext(&mut plaintext[filled..])? {
                    ReadOutcome::Bytes(count) => filled += count,
                    // What follows the peer's end is nobody's.
                    ReadOutcome::End => return Ok(filled),
                    ReadOutcome::WouldBlock => break,
                }
            }
        }
        Ok(filled)
    }

    fn take_output(&mut self, pending: &mut Queue) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(pending)?;
        }
        Ok(())
    }
}
