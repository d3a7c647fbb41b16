//! How servers are checked, and what is wrong with them: [`config`], [`Fault`]. Rule: a certificate that a browser would
//! refuse is refused here, since the browser does not see it.

use crate::tls::{TlsError, provider, read_certificates, wrong};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Servers of which a session is remembered to be resumed.
const SESSIONS_MAX: usize = 1024;

/// TLS towards servers, checked by the roots of these files.
pub fn config(files: &[PathBuf]) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    for file in files {
        let (added, _) = roots.add_parsable_certificates(read_certificates(file)?);
        if added == 0 {
            return Err(wrong(file, "none of its certificates can serve as a root"));
        }
    }
    let path = files.first().map_or(Path::new(""), PathBuf::as_path);
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let inner = inner.map_err(|e| wrong(path, e))?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(path, e))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Checked(inner)))
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
    Ok(config)
}

/// What the library checks, with one more name for what it finds.
#[derive(Debug)]
struct Checked(Arc<WebPkiServerVerifier>);

/// A certificate that nobody but its own key has signed.
#[derive(Debug)]
struct SelfSigned;

impl fmt::Display for SelfSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("self-signed certificate")
    }
}

impl std::error::Error for SelfSigned {}

impl ServerCertVerifier for Checked {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.0.verify_server_cert(certificate, chain, name, ocsp, now).map_err(|error| match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_))
                if is_self_signed(certificate) =>
            {
                Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(SelfSigned))))
            }
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

fn is_self_signed(certificate: &CertificateDer<'_>) -> bool {
    let parsed = X509Certificate::from_der(certificate);
    parsed.is_ok_and(|(_, certificate)| certificate.subject().as_raw() == certificate.issuer().as_raw())
}

/// What was wrong with a handshake, in words for people who wanted a page of that host.
pub fn words(error: &io::Error) -> String {
    let said = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match (said, error.kind()) {
        (Some(Error::InvalidCertificate(fault)), _) => of_certificate(fault),
        (Some(Error::AlertReceived(alert)), _) => {
            format!("the server broke the TLS handshake off: {alert:?}")
        }
        (Some(Error::PeerIncompatible(why)), _) => {
            format!("the server speaks no TLS that is safe enough: {why:?}")
        }
        (Some(Error::InvalidMessage(_)), _) => "what the server speaks is not TLS".to_owned(),
        (Some(other), _) => format!("the TLS handshake with the server failed: {other}"),
        (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            "the server closed the connection during the TLS handshake".to_owned()
        }
        (None, io::ErrorKind::TimedOut) => "the server does not go on with the TLS handshake".to_owned(),
        (None, _) => format!("the connection to the server broke during the TLS handshake: {error}"),
    }
}

fn of_certificate(fault: &CertificateError) -> String {
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet".to_owned()
        }
        CertificateError::NotValidForName => "the server's certificate is for another name".to_owned(),
        CertificateError::NotValidForNameContext { presented, .. } => {
            format!("the server's certificate is for another name: {}", presented.join(", "))
        }
        CertificateError::UnknownIssuer => {
            "the server's certificate is signed by nobody who is trusted".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the server's certificate is not one for servers".to_owned()
        }
        CertificateError::Other(OtherError(inner)) if inner.is::<SelfSigned>() => {
            "the server's certificate is signed by nobody but itself".to_owned()
        }
        other => format!("the server's certificate cannot be accepted: {other}"),
    }
}
