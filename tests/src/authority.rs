//! Authorities and certificates, made with openssl. Rule: each in a directory of its own, and gone with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run;
use crate::temporary::Directory;

/// Somebody who signs certificates.
#[derive(Debug)]
pub struct Authority {
    directory: Directory,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl Authority {
    /// A new one, with a key of this sort (`ec` or `rsa`), under this name.
    pub fn new(sort: &str, subject: &str) -> Self {
        let authority = Self { directory: Directory::new("authority") };
        let (certificate, key) = (authority.path("ca.pem"), authority.path("ca.key"));
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-nodes", "-days", "30", "-subj", subject]).args(new_key(sort));
        run(command.arg("-keyout").arg(key).arg("-out").arg(certificate));
        authority
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Its own certificate and key.
    pub fn pair(&self) -> Pair {
        Pair { certificate: self.path("ca.pem"), key: self.path("ca.key") }
    }

    /// Its certificate.
    pub fn certificate(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// A certificate for these alternative names, valid for so many days; less than none has expired.
    pub fn issue(&self, names: &str, days: i32) -> Pair {
        let pair = Pair { certificate: self.path("leaf.pem"), key: self.path("leaf.key") };
        let request = self.path("leaf.csr");
        let mut command = Command::new("openssl");
        command.args(["req", "-new", "-nodes", "-subj", "/CN=leaf"]).args(new_key("ec"));
        command.arg("-addext").arg(format!("subjectAltName={names}"));
        run(command.arg("-keyout").arg(&pair.key).arg("-out").arg(&request));
        let mut command = Command::new("openssl");
        command.args(["x509", "-req", "-copy_extensions", "copy", "-days", &days.to_string(), "-in"]);
        command.arg(&request).arg("-CA").arg(self.path("ca.pem")).arg("-CAkey").arg(self.path("ca.key"));
        run(command.arg("-out").arg(&pair.certificate));
        pair
    }
}

/// A certificate for these names that nobody but its own key has signed.
pub fn self_signed(directory: &Path, names: &str) -> Pair {
    let pair = Pair { certificate: directory.join("own.pem"), key: directory.join("own.key") };
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=own"]).args(new_key("ec"));
    command.arg("-addext").arg(format!("subjectAltName={names}"));
    run(command.arg("-keyout").arg(&pair.key).arg("-out").arg(&pair.certificate));
    pair
}

fn new_key(sort: &str) -> &'static [&'static str] {
    match sort {
        "rsa" => &["-newkey", "rsa:2048"],
        _ => &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    }
}
