//! curl, through the gateway. Rule: what it was given is compared byte for byte.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use crate::namespace::Namespace;
use crate::process::{outcome, printed_by};
use crate::temporary::Directory;

/// What came of one run.
#[derive(Debug)]
pub struct Fetched {
    /// curl's exit status, 0 if all went well.
    pub exit: i32,
    /// The status of the last response, 0 if there was none.
    pub status: u16,
    /// The heads of all responses, those of CONNECT among them.
    pub heads: String,
    /// The body.
    pub body: Vec<u8>,
    /// What curl printed.
    pub printed: String,
}

impl Fetched {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Fetches with the gateway as proxy; `arguments` are curl's own, the address among them.
pub fn through(proxy: SocketAddr, arguments: &[&str]) -> Fetched {
    let proxy = format!("http://{proxy}");
    fetch(Command::new("curl"), &[&["--proxy", &proxy], arguments].concat())
}

/// Fetches from within a namespace, without a proxy.
pub fn within(namespace: &Namespace, arguments: &[&str]) -> Fetched {
    fetch(namespace.command("curl"), &[&["--noproxy", "*"], arguments].concat())
}

fn fetch(mut command: Command, arguments: &[&str]) -> Fetched {
    let directory = Directory::new("curl");
    let (heads, body) = (directory.join("heads"), directory.join("body"));
    // No configuration of the user's, and a test that hangs is to end.
    command.args(["-q", "--silent", "--show-error", "--max-time", "30"]);
    command.arg("--dump-header").arg(&heads).arg("--output").arg(&body);
    command.args(["--write-out", "%{http_code}"]).args(arguments);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    let output = outcome(&mut command);
    // One behind the other where several addresses were asked for.
    let statuses = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let last = statuses.len().saturating_sub(3);
    let status = statuses.get(last..).and_then(|status| status.parse().ok()).unwrap_or(0);
    Fetched {
        exit: output.status.code().unwrap_or(-1),
        status,
        heads: fs::read_to_string(heads).unwrap_or_default(),
        body: fs::read(body).unwrap_or_default(),
        printed: printed_by(&output),
    }
}
