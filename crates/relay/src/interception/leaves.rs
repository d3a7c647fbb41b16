//! The certificates that clients see, made when they are asked for: [`Leaves`]. Rule: one host each, for a few days, and so
//! many at most.

use super::authority::{Authority, CLOCK_SKEW, since_1970};
use crate::tls::{TlsError, provider, wrong};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType,
    SerialNumber, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{Ticketer, sign::any_supported_type};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, ResolvesServerCertUsingSni};
use rustls::sign::{CertifiedKey, SigningKey};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Leaves that are remembered, twice: the young, and those that were young before.
const LEAVES_MAX: usize = 2048;
/// For how long one is handed out …
const USED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// … and for how long it is valid: clocks of clients may be ahead, and connections last.
const VALID_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The longest common name (RFC 5280 appendix A.1); what counts is the alternative name.
const COMMON_NAME_BYTES_MAX: usize = 64;

/// One key, and what was signed for it.
pub struct Leaves {
    pair: KeyPair,
    key: Arc<dyn SigningKey>,
    provider: Arc<CryptoProvider>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    young: HashMap<String, Leaf>,
    old: HashMap<String, Leaf>,
}

#[derive(Clone)]
struct Leaf {
    certified: Arc<CertifiedKey>,
    made_at: Duration,
}

impl Leaves {
    /// With a key of this process: it is never written anywhere.
    pub fn new() -> Result<Self, TlsError> {
        let nowhere = Path::new("");
        let pair = KeyPair::generate().map_err(|e| wrong(nowhere, e))?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        let key = any_supported_type(&der).map_err(|e| wrong(nowhere, e))?;
        Ok(Self { pair, key, provider: provider(), known: Mutex::default() })
    }

    /// The one for a host: the one that was made before, or one made now.
    pub fn of(&self, host: &str, authority: &Authority) -> io::Result<Arc<CertifiedKey>> {
        let now = since_1970(SystemTime::now());
        if let Some(certified) = self.known(host, now) {
            return Ok(certified);
        }
        let certified = Arc::new(self.make(host, authority, now)?);
        let leaf = Leaf { certified: Arc::clone(&certified), made_at: now };
        self.remember(host, leaf);
        Ok(certified)
    }

    fn known(&self, host: &str, now: Duration) -> Option<Arc<CertifiedKey>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = known.young.get(host).filter(|leaf| leaf.is_fit(now)) {
            return Some(Arc::clone(&leaf.certified));
        }
        let leaf = known.old.remove(host).filter(|leaf| leaf.is_fit(now))?;
        let certified = Arc::clone(&leaf.certified);
        known.add(host, leaf);
        Some(certified)
    }

    fn remember(&self, host: &str, leaf: Leaf) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).add(host, leaf);
    }

    fn make(&self, host: &str, authority: &Authority, now: Duration) -> io::Result<CertifiedKey> {
        let mut params = CertificateParams::default();
        let start = date_time_ymd(1970, 1, 1);
        let end = (now + VALID_FOR).min(Duration::from_secs(authority.about.not_after));
        params.not_before = start + now.saturating_sub(CLOCK_SKEW);
        params.not_after = start + end;
        params.serial_number = Some(self.serial()?);
        params.subject_alt_names = vec![match host.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(host.try_into().map_err(io::Error::other)?),
        }];
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Lockgate");
        if host.len() <= COMMON_NAME_BYTES_MAX {
            params.distinguished_name.push(DnType::CommonName, host);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&self.pair, &authority.issuer).map_err(io::Error::other)?;
        let chain = std::iter::once(leaf.into()).chain(authority.chain.iter().cloned()).collect();
        Ok(CertifiedKey::new(chain, Arc::clone(&self.key)))
    }

    /// By chance: a browser that meets the same number of one authority twice refuses both certificates.
    fn serial(&self) -> io::Result<SerialNumber> {
        let mut bytes = [0; 16];
        self.provider.secure_random.fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
        // Positive, and of full length.
        bytes[0] = bytes[0] & 0x7f | 0x40;
        Ok(SerialNumber::from_slice(&bytes))
    }
}

impl Leaf {
    fn is_fit(&self, now: Duration) -> bool {
        // A clock that was set back makes it one of the future.
        now.checked_sub(self.made_at).is_some_and(|age| age < USED_FOR)
    }
}

impl Known {
    fn add(&mut self, host: &str, leaf: Leaf) {
        if self.young.len() >= LEAVES_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(host.to_owned(), leaf);
    }
}

/// TLS towards clients, but for the certificate. Sessions are resumed by tickets, of which nothing is kept here.
pub fn config() -> Result<ServerConfig, TlsError> {
    let nowhere = Path::new("");
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(nowhere, e))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = Ticketer::new().map_err(|e| wrong(nowhere, e))?;
    Ok(config)
}
