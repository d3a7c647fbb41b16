//! Clients that fetch mail by POP3: mpop and fetchmail. Rule: they add nothing, so what arrives is what was sent.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::dovecot::{PASSWORD, USER};
use crate::namespace::Namespace;
use crate::process::{outcome, printed_by};
use crate::temporary::{Directory, delivered};

/// Whether the session is encrypted.
#[derive(Clone, Copy, Debug)]
pub enum Security<'a> {
    /// It is not.
    Clear,
    /// By STLS; the server's certificate must be this one.
    Stls(&'a Path),
}

/// What came of it.
#[derive(Debug)]
pub struct Fetched {
    /// The client's exit status, 0 if all went well.
    pub status: i32,
    /// What the client printed.
    pub printed: String,
    /// The mails, with the line ends that files have.
    pub mails: Vec<Vec<u8>>,
}

/// Fetches and deletes everything with mpop, pipelining its commands.
pub fn mpop(server: SocketAddr, security: Security<'_>) -> Fetched {
    mpop_with(Command::new("mpop"), server, security)
}

/// The same in clear from within a namespace.
pub fn mpop_within(namespace: &Namespace, server: SocketAddr) -> Fetched {
    mpop_with(namespace.command("mpop"), server, Security::Clear)
}

/// Fetches and deletes everything with fetchmail.
pub fn fetchmail(server: SocketAddr, security: Security<'_>) -> Fetched {
    fetchmail_with(Command::new("fetchmail"), server, security)
}

/// The same in clear from within a namespace.
pub fn fetchmail_within(namespace: &Namespace, server: SocketAddr) -> Fetched {
    fetchmail_with(namespace.command("fetchmail"), server, Security::Clear)
}

/// TLS names are checked, so a server on this machine is called by the name in its certificate.
fn host(server: IpAddr) -> String {
    if server.is_loopback() { String::from("localhost") } else { server.to_string() }
}

fn mpop_with(mut command: Command, server: SocketAddr, security: Security<'_>) -> Fetched {
    let directory = Directory::new("mpop");
    for name in ["mail/new", "mail/cur", "mail/tmp"] {
        fs::create_dir_all(directory.join(name)).expect("a directory can be made");
    }
    let tls = match security {
        Security::Clear => String::from("tls off\n"),
        Security::Stls(certificate) => {
            format!("tls on\ntls_starttls on\ntls_trust_file {}\n", certificate.display())
        }
    };
    let configuration = format!(
        "account test\nhost {}\nport {}\nuser {USER}\npassword {PASSWORD}\nauth user\npipelining on\n{tls}\
         uidls_file {}\ndelivery maildir {}\nreceived_header off\nkeep off\n",
        host(server.ip()),
        server.port(),
        directory.join("uidls").display(),
        directory.join("mail").display(),
    );
    let file = secret(&directory, "mpoprc", &configuration);
    let output = outcome(command.arg("-C").arg(file).arg("test"));
    Fetched {
        status: output.status.code().unwrap_or(-1),
        printed: printed_by(&output),
        mails: delivered(&directory.join("mail")),
    }
}

fn fetchmail_with(mut command: Command, server: SocketAddr, security: Security<'_>) -> Fetched {
    let directory = Directory::new("fetchmail");
    let tls = match security {
        Security::Clear => String::from("sslproto \"\""),
        Security::Stls(certificate) => {
            format!("sslproto \"TLS1.2+\" sslcertck sslcertfile \"{}\"", certificate.display())
        }
    };
    fs::create_dir_all(directory.join("mail/new")).expect("a directory can be made");
    // Each mail goes to a file of its own; names by time would collide, by a counter they are in order.
    let agent = directory
        .write("deliver", format!("cd {}/mail/new && cat > $(ls | wc -l).eml\n", directory.path().display()));
    let configuration = format!(
        "set no bouncemail\nset invisible\npoll {} protocol pop3 port {} timeout 60\n\
         user \"{USER}\" password \"{PASSWORD}\" {tls} fetchall no keep no rewrite mda \"sh {}\"\n",
        host(server.ip()),
        server.port(),
        agent.display(),
    );
    let file = secret(&directory, "fetchmailrc", &configuration);
    command.env("FETCHMAILHOME", directory.path()).env("HOME", directory.path());
    let output = outcome(
        command
            .args(["--nodetach", "--verbose", "--fetchmailrc"])
            .arg(file)
            .arg("--pidfile")
            .arg(directory.join("pid")),
    );
    Fetched {
        status: output.status.code().unwrap_or(-1),
        printed: printed_by(&output),
        mails: delivered(&directory.join("mail")),
    }
}

/// Both clients refuse a file with a password in it that others may read.
fn secret(directory: &Directory, name: &str, text: &str) -> std::path::PathBuf {
    let path = directory.write(name, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    path
}
