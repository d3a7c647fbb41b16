//! nghttpd: an origin that speaks HTTP/2 and says fields behind the content. Rule: it serves files of the test's own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dovecot::certificate;
use crate::process::Running;
use crate::temporary::Directory;
use crate::wait;

/// An origin by HTTP/2 under TLS, as `localhost`.
#[derive(Debug)]
pub struct Nghttpd {
    /// Where it listens.
    pub address: SocketAddr,
    certificate: PathBuf,
    _running: Running,
    directory: Directory,
}

impl Nghttpd {
    /// Starts one that says these fields behind the content of every page.
    pub fn start(trailers: &[&str]) -> Self {
        let directory = Directory::new("nghttpd");
        let certificate = certificate(directory.path());
        let address = wait::free_address();
        let mut command = Command::new("nghttpd");
        command.args(["--address", "127.0.0.1", "--htdocs"]).arg(directory.path());
        for trailer in trailers {
            command.args(["--trailer", trailer]);
        }
        command.arg(address.port().to_string()).arg(directory.join("key.pem")).arg(&certificate);
        let running = Running::start(&mut command, &directory.join("output"));
        wait::until_listening(address);
        Self { address, certificate, _running: running, directory }
    }

    /// Puts a file where it is served, and returns its address.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.directory.write(name, content);
        format!("https://localhost:{}/{name}", self.address.port())
    }

    /// The certificate that clients may trust.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }
}
