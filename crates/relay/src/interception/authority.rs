//! Who signs the certificates that clients see: [`Authority`]. Rule: its key is made once, is read by nobody else, and
//! never leaves its file.

use crate::parent::base64;
use crate::settings::{self, Certificate};
use crate::tls::{TlsError, read_certificates, wrong};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PublicKeyData, date_time_ymd,
};
use rustls::SupportedCipherSuite;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::CertificateDer;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use x509_parser::prelude::{FromDer, X509Certificate};

/// How the certificate is called in its directory.
pub const CERTIFICATE_FILE: &str = "certificate.pem";
/// How the key is.
pub const KEY_FILE: &str = "key.pem";

/// How long an authority that is made here is valid: clients must install the next one by hand.
const VALID_FOR: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// How long before its end it is time to make another one.
const WARNED_BEFORE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// By how much clocks of clients may be behind.
pub(super) const CLOCK_SKEW: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// An authority, ready to sign.
pub struct Authority {
    /// Signs.
    pub(super) issuer: Issuer<'static, KeyPair>,
    /// Its certificate, and whoever signed that, but for the root.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// What it says of itself.
    pub about: About,
    /// Whether it was made just now.
    pub birth: Birth,
}

/// Where an authority comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Birth {
    /// It was there.
    Loaded,
    /// It is new: clients do not know it yet.
    Made,
}

/// What the certificate of an authority says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its file.
    pub path: PathBuf,
    /// Its name.
    pub subject: String,
    /// Until when it is valid, in seconds since 1970.
    pub not_after: u64,
    /// The certificate.
    pub der: CertificateDer<'static>,
}

impl About {
    /// How long it is still valid.
    pub fn valid_for(&self, now: SystemTime) -> Duration {
        Duration::from_secs(self.not_after).saturating_sub(since_1970(now))
    }

    /// That its end is near, if it is.
    pub fn warning(&self, now: SystemTime) -> Option<String> {
        let left = self.valid_for(now);
        let days = left.as_secs() / (24 * 60 * 60);
        (left < WARNED_BEFORE).then(|| {
            let path = self.path.display();
            format!(
                "{path} is valid for {days} more days: then no client accepts what it signs; \
                 make another one in time, which clients must trust before it is used"
            )
        })
    }

    /// The certificate as PEM.
    pub fn pem(&self) -> String {
        const LINE: usize = 64;
        let text = base64(&self.der);
        let mut out = String::from("-----BEGIN CERTIFICATE-----\n");
        for line in text.as_bytes().chunks(LINE) {
            out.extend(line.iter().copied().map(char::from));
            out.push('\n');
        }
        out + "-----END CERTIFICATE-----\n"
    }

    /// Its SHA-256, as browsers show it.
    pub fn fingerprint(&self) -> String {
        // The library that is here for TLS has a hash of its own.
        let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else { return String::new() };
        let hash = suite.common.hash_provider.hash(&self.der);
        let pairs: Vec<_> = hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        pairs.join(":")
    }
}

/// Where an authority's files are.
pub fn files(settings: &settings::Interception) -> Certificate {
    match &settings.authority {
        Some(given) => given.clone(),
        None => Certificate {
            chain: settings.directory.join(CERTIFICATE_FILE),
            key: settings.directory.join(KEY_FILE),
        },
    }
}

impl Authority {
    /// Loads it; where it is neither there nor given, it is made.
    pub fn open(settings: &settings::Interception, hostname: &str) -> Result<Self, TlsError> {
        let files = files(settings);
        let is_missing = settings.authority.is_none() && !files.chain.exists();
        if is_missing {
            make(&settings.directory, &files, hostname)?;
        }
        Self::load(&files, if is_missing { Birth::Made } else { Birth::Loaded })
    }

    fn load(files: &Certificate, birth: Birth) -> Result<Self, TlsError> {
        let about = about(&files.chain)?;
        let key = read_key(&files.key)?;
        let (_, certificate) = X509Certificate::from_der(&about.der).map_err(|e| wrong(&files.chain, e))?;
        if certificate.public_key().raw != key.subject_public_key_info() {
            return Err(wrong(&files.key, format!("it is not the key of {}", files.chain.display())));
        }
        let chain = read_certificates(&files.chain)?;
        let issuer = Issuer::from_ca_cert_der(&about.der, key).map_err(|e| wrong(&files.chain, e))?;
        Ok(Self { issuer, chain, about, birth })
    }
}

/// What the certificate in a file says; the first one, if there are several.
pub fn about(path: &Path) -> Result<About, TlsError> {
    let der =
        read_certificates(path)?.into_iter().next().ok_or_else(|| wrong(path, "no certificate in it"))?;
    let (_, certificate) = X509Certificate::from_der(&der).map_err(|e| wrong(path, e))?;
    if !certificate.is_ca() {
        return Err(wrong(
            path,
            "it is no certificate of an authority: basicConstraints does not say CA:TRUE",
        ));
    }
    let subject = certificate.subject().to_string();
    let not_after = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
    if since_1970(SystemTime::now()).as_secs() >= not_after {
        return Err(wrong(path, "it has expired: no client accepts what it signs"));
    }
    Ok(About { path: path.to_owned(), subject, not_after, der })
}

fn read_key(path: &Path) -> Result<KeyPair, TlsError> {
    let named = |e: io::Error| wrong(path, e);
    let mode = fs::metadata(path).map_err(named)?.mode();
    if mode & 0o007 != 0 {
        let words =
            "everybody on this machine may use it, and pose as any server to your clients: chmod 600 it";
        return Err(wrong(path, words));
    }
    let pem = fs::read_to_string(path).map_err(named)?;
    KeyPair::from_pem(&pem).map_err(|e| {
        wrong(
            path,
            format!("no private key as PKCS #8 in PEM form ({e}): openssl pkcs8 -topk8 -nodes makes one"),
        )
    })
}

/// Makes a key and a certificate. The certificate comes last: what has one is whole.
fn make(directory: &Path, files: &Certificate, hostname: &str) -> Result<(), TlsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |e: io::Error| wrong(&path, format!("an authority cannot be made there: {e}"))
    };
    DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(failed(directory))?;
    let key = match read_key(&files.key) {
        Ok(key) => key,
        Err(_) if !files.key.exists() => {
            let key = KeyPair::generate().map_err(|e| wrong(&files.key, e))?;
            write_new(&files.key, 0o600, &key.serialize_pem()).map_err(failed(&files.key))?;
            key
        }
        Err(error) => return Err(error),
    };
    let certificate =
        params(hostname, SystemTime::now()).self_signed(&key).map_err(|e| wrong(&files.chain, e))?;
    write_new(&files.chain, 0o644, &certificate.pem()).map_err(failed(&files.chain))
}

fn params(hostname: &str, now: SystemTime) -> CertificateParams {
    let now = since_1970(now);
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(1970, 1, 1) + (now - CLOCK_SKEW.min(now));
    params.not_after = date_time_ymd(1970, 1, 1) + now + VALID_FOR;
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, "Lockgate");
    // Two gateways, or one that was set up anew, are told apart by people and by browsers, which look for the signer by
    // its name.
    let day = (date_time_ymd(1970, 1, 1) + now).date();
    name.push(DnType::CommonName, format!("Lockgate authority of {hostname}, {day}"));
    params.distinguished_name = name;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params
}

/// Writes a file that is whole or not there, and nobody else's before it is.
fn write_new(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)
}

pub(super) fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interception::leaves::Leaves;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    /// A directory of this test's own, which is gone at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("lockgate-authority-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }

        fn settings(&self) -> settings::Interception {
            settings::Interception { directory: self.0.clone(), ..settings::Interception::default() }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn it_is_made_once_and_found_again() {
        let scratch = Scratch::new("once");
        let made = Authority::open(&scratch.settings(), "gate.example").unwrap();
        assert_eq!(made.birth, Birth::Made);
        assert!(made.about.subject.contains("Lockgate authority of gate.example"), "{}", made.about.subject);
        let found = Authority::open(&scratch.settings(), "elsewhere.example").unwrap();
        assert_eq!((found.birth, &found.about), (Birth::Loaded, &made.about));
        assert_eq!(found.about.fingerprint().len(), 95);
        let days_before = |days: u64| {
            UNIX_EPOCH + Duration::from_secs(found.about.not_after) - Duration::from_secs(days * 24 * 60 * 60)
        };
        assert_eq!(found.about.warning(SystemTime::now()), None);
        assert_eq!(found.about.warning(days_before(30)), None);
        assert!(found.about.warning(days_before(29)).unwrap().contains("for 29 more days"));
        assert_eq!(found.about.valid_for(days_before(0) + CLOCK_SKEW), Duration::ZERO);
        let exported = fs::read_to_string(scratch.0.join(CERTIFICATE_FILE)).unwrap();
        assert_eq!(found.about.pem(), exported, "what is exported is what is there");
        // A start that was cut off behind the key goes on with it.
        fs::remove_file(scratch.0.join(CERTIFICATE_FILE)).unwrap();
        assert_eq!(Authority::open(&scratch.settings(), "gate.example").unwrap().birth, Birth::Made);
    }

    #[test]
    fn what_is_wrong_with_it_is_said() {
        let scratch = Scratch::new("wrong");
        Authority::open(&scratch.settings(), "a").unwrap();
        let (key, certificate) = (scratch.0.join(KEY_FILE), scratch.0.join(CERTIFICATE_FILE));
        let wrong = || Authority::open(&scratch.settings(), "a").err().unwrap().to_string();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(wrong().contains("chmod 600"), "{}", wrong());
        fs::remove_file(&key).unwrap();
        write_new(&key, 0o600, &KeyPair::generate().unwrap().serialize_pem()).unwrap();
        assert!(wrong().contains("it is not the key of"), "{}", wrong());
        fs::write(&key, "nothing").unwrap();
        assert!(wrong().contains("PKCS #8"), "{}", wrong());
        fs::write(&certificate, "nothing").unwrap();
        assert!(wrong().contains("no certificate"), "{}", wrong());
        let own = CertificateParams::default().self_signed(&KeyPair::generate().unwrap()).unwrap();
        fs::write(&certificate, own.pem()).unwrap();
        assert!(wrong().contains("CA:TRUE"), "{}", wrong());
    }

    #[test]
    fn leaves_are_remembered_each_with_a_number_of_its_own() {
        let scratch = Scratch::new("leaves");
        let authority = Authority::open(&scratch.settings(), "a").unwrap();
        let leaves = Leaves::new().unwrap();
        let first = leaves.of("a.example", &authority).unwrap();
        assert!(Arc::ptr_eq(&first, &leaves.of("a.example", &authority).unwrap()));
        for host in ["b.example", "192.0.2.1", "2001:db8::1", &"long.".repeat(40)] {
            let other = leaves.of(host.trim_end_matches('.'), &authority).unwrap();
            let serial = |key: &rustls::sign::CertifiedKey| {
                let (_, certificate) = X509Certificate::from_der(&key.cert[0]).unwrap();
                certificate.raw_serial().to_vec()
            };
            assert_ne!(serial(&first), serial(&other), "{host}");
            assert_eq!(other.cert.len(), 2, "the authority comes with it");
        }
        assert!(leaves.of("\u{e9}.example", &authority).is_err(), "it is no name");
    }
}
