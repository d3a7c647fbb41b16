//! Dovecot with a configuration of the test's own: POP3, and passwords for Postfix. Rule: the system's own is not touched.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::namespace::Namespace;
use crate::process::{Running, run};
use crate::temporary::Directory;
use crate::wait;

/// The one user's name.
pub const USER: &str = "bob";
/// The one user's password.
pub const PASSWORD: &str = "correct-horse";

/// A Dovecot with one user and one maildir.
#[derive(Debug)]
pub struct Dovecot {
    /// Where its POP3 server is.
    pub pop3: SocketAddr,
    /// Where it answers whether a password is right (Postfix: `smtpd_sasl_path = inet:ADDRESS`).
    pub auth: SocketAddr,
    certificate: PathBuf,
    running: Option<Running>,
    directory: Directory,
}

impl Dovecot {
    /// Starts one.
    pub fn start() -> Self {
        Self::start_on(None, wait::free_address())
    }

    /// Starts one on port 110 of a namespace.
    pub fn start_within(namespace: &Namespace) -> Self {
        Self::start_on(Some(namespace), SocketAddr::from((Ipv4Addr::UNSPECIFIED, 110)))
    }

    fn start_on(namespace: Option<&Namespace>, pop3: SocketAddr) -> Self {
        let directory = Directory::new("dovecot");
        let auth = wait::free_address();
        let certificate = certificate(directory.path());
        for name in ["mail/new", "mail/cur", "mail/tmp", "run", "state"] {
            fs::create_dir_all(directory.join(name)).expect("a directory can be made");
        }
        let (user, group) = crate::postfix::ids_of("mail");
        run(Command::new("chown").arg("-R").arg(format!("{user}:{group}")).arg(directory.join("mail")));
        directory.write("users", format!("{USER}:{{PLAIN}}{PASSWORD}\n"));
        let configuration = CONFIGURATION
            .replace("DIRECTORY", &directory.path().display().to_string())
            .replace("POP3_ADDRESS", &pop3.ip().to_string())
            .replace("POP3_PORT", &pop3.port().to_string())
            .replace("AUTH_PORT", &auth.port().to_string())
            .replace("UID", &user.to_string())
            .replace("GID", &group.to_string());
        let file = directory.write("dovecot.conf", configuration);
        let mut command =
            namespace.map_or_else(|| Command::new("dovecot"), |within| within.command("dovecot"));
        let running = Running::start(command.arg("-F").arg("-c").arg(file), &directory.join("output"));
        for address in [pop3, auth] {
            match namespace {
                Some(namespace) => namespace.until_listening(address.port()),
                None => wait::until_listening(address),
            }
        }
        Self { pop3, auth, certificate, running: Some(running), directory }
    }

    /// Puts a mail into the mailbox, as delivery does: lines end in LF on disk, POP3 makes them CRLF.
    pub fn put(&self, name: &str, mail: &[u8]) {
        let path = self.directory.join("mail/tmp").join(name);
        fs::write(&path, crate::mail::with_line_feeds(mail)).expect("the maildir can be written");
        let (user, group) = crate::postfix::ids_of("mail");
        std::os::unix::fs::chown(&path, Some(user), Some(group)).expect("tests run as root");
        fs::rename(path, self.directory.join("mail/new").join(name)).expect("one directory beside the other");
    }

    /// How many mails are in the mailbox.
    pub fn count(&self) -> usize {
        let files = |name| fs::read_dir(self.directory.join(name)).map(Iterator::count).unwrap_or(0);
        files("mail/new") + files("mail/cur")
    }

    /// The certificate that clients may trust.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// Waits for a line of its log that holds all of these.
    pub fn until_logged(&self, words: &[&str]) -> String {
        wait::until_line(|| self.log(), words)
    }
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- Dovecot ---\n{}", self.log());
        }
        self.running.take();
    }
}

/// Makes a certificate for localhost and its key (`certificate.pem`, `key.pem`), and returns the path of the first.
pub fn certificate(directory: &Path) -> PathBuf {
    let path = directory.join("certificate.pem");
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    command.args(["-days", "30", "-subj", "/CN=localhost"]);
    command.args(["-addext", "subjectAltName=DNS:localhost,DNS:site.example,IP:127.0.0.1"]);
    // Not a certificate authority's: a server's certificate must not be one, even where it signs itself.
    command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    run(command.arg("-keyout").arg(directory.join("key.pem")).arg("-out").arg(&path));
    path
}

const CONFIGURATION: &str = "\
base_dir = DIRECTORY/run
state_dir = DIRECTORY/state
log_path = DIRECTORY/log
protocols = pop3
listen = POP3_ADDRESS
mail_location = maildir:DIRECTORY/mail
first_valid_uid = 1
disable_plaintext_auth = no
auth_mechanisms = plain login
ssl = yes
ssl_cert = <DIRECTORY/certificate.pem
ssl_key = <DIRECTORY/key.pem
pop3_uidl_format = %08Xu%08Xv
passdb {
  driver = passwd-file
  args = DIRECTORY/users
}
userdb {
  driver = static
  args = uid=UID gid=GID home=DIRECTORY/mail
}
service pop3-login {
  inet_listener pop3 {
    port = POP3_PORT
  }
  inet_listener pop3s {
    port = 0
  }
}
service auth {
  inet_listener {
    address = 127.0.0.1
    port = AUTH_PORT
  }
}
";
