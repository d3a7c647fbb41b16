//! What a certificate says: [`Certificate`]. Rule: it is read, not believed; who has signed it is nobody's business here.

use super::Oddity;
use super::fingerprint::hex;
use sha1::{Digest, Sha1};
use std::net::{Ipv4Addr, Ipv6Addr};
use x509_parser::error::X509Error;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// How many alternative names are given.
pub const ALTERNATIVE_NAMES_MAX: usize = 1024;

/// A certificate's main points (RFC 5280 section 4.1), as rules and events have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is: `C=US, O=Example, CN=www.example`.
    pub subject: String,
    /// Who has signed it, in the same form.
    pub issuer: String,
    /// Its number: upper-case hexadecimal digits with a colon between bytes.
    pub serial: String,
    /// From when it is valid, in seconds since 1970.
    pub not_before: i64,
    /// Until when.
    pub not_after: i64,
    /// The hosts, addresses and others that it is for besides, [`ALTERNATIVE_NAMES_MAX`] at most.
    pub alternative_names: Vec<String>,
}

impl Certificate {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as rules call that.
    pub fn read(der: &[u8]) -> Result<Self, Oddity> {
        let (_, read) = X509Certificate::from_der(der).map_err(|error| oddity(&error))?;
        let serial: Vec<String> = read.raw_serial().iter().map(|byte| format!("{byte:02X}")).collect();
        let alternative = read.subject_alternative_name().ok().flatten();
        let names = alternative.iter().flat_map(|names| &names.value.general_names);
        Ok(Self {
            subject: read.subject().to_string(),
            issuer: read.issuer().to_string(),
            serial: serial.join(":"),
            not_before: read.validity().not_before.timestamp(),
            not_after: read.validity().not_after.timestamp(),
            alternative_names: names.filter_map(text).take(ALTERNATIVE_NAMES_MAX).collect(),
        })
    }
}

/// A certificate's SHA-1: lower-case hexadecimal digits with a colon between bytes.
pub fn fingerprint(der: &[u8]) -> String {
    hex(&Sha1::digest(der), ":")
}

fn text(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
            Some((*text).to_owned())
        }
        GeneralName::DirectoryName(name) => Some(name.to_string()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|four| Ipv4Addr::from(four).to_string()),
            16 => <[u8; 16]>::try_from(*bytes).ok().map(|sixteen| Ipv6Addr::from(sixteen).to_string()),
            _ => None,
        },
        _ => None,
    }
}

fn oddity(error: &x509_parser::nom::Err<X509Error>) -> Oddity {
    let (x509_parser::nom::Err::Error(error) | x509_parser::nom::Err::Failure(error)) = error else {
        return Oddity::CertificateInvalidLength;
    };
    match error {
        X509Error::InvalidVersion => Oddity::CertificateInvalidVersion,
        X509Error::InvalidSerial => Oddity::CertificateInvalidSerial,
        X509Error::InvalidAlgorithmIdentifier => Oddity::CertificateInvalidAlgorithm,
        X509Error::InvalidX509Name => Oddity::CertificateInvalidName,
        X509Error::InvalidDate => Oddity::CertificateInvalidDate,
        X509Error::InvalidExtensions | X509Error::DuplicateExtensions => Oddity::CertificateInvalidExtensions,
        X509Error::Der(_) => Oddity::CertificateInvalidDer,
        _ => Oddity::InvalidCertificate,
    }
}
