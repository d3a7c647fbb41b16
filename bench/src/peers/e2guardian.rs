//! e2guardian as Debian ships it, with more lists. Rule: its own files, with only the paths and what is said changed.
//!
//! What is not stock, and why: clamd scans for viruses; requests go to their servers directly, which spares it a Squid, unless one is named.

use super::{await_port, directory, run, spawn};
use crate::web_lists::move_paths;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Whether pages are searched for phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phrases {
    /// Every phrase of its lists, once each in both readings, as it is shipped.
    All,
    /// Not at all.
    Off,
}

/// What it works with.
pub struct Means<'a> {
    pub lists: &'a Path,
    /// The socket of the clamd that it asks.
    pub clamd: &'a Path,
    /// The proxy that it sends requests to, where it does not go to servers itself.
    pub next: Option<SocketAddr>,
}

/// Starts it.
pub fn start(
    home: &Path,
    address: SocketAddr,
    Means { lists, clamd, next }: Means<'_>,
    phrases: Phrases,
) -> std::io::Result<Child> {
    let _ = fs::remove_dir_all(home);
    run(Command::new("cp").arg("-r").arg("/etc/e2guardian").arg(home))?;
    move_paths(home, "/etc/e2guardian/lists", lists)?;
    move_paths(home, "/etc/e2guardian", home)?;
    edit(&home.join("contentscanners/clamdscan.conf"), |text| {
        text.replace("/run/clamav/clamd.ctl", &clamd.display().to_string())
    })?;
    edit(&home.join("e2guardian.conf"), |text| {
        let text = text
            .replace("filterip =", &format!("filterip = {}", address.ip()))
            .replace("filterports = 8080", &format!("filterports = {}", address.port()))
            .replace("transparenthttpsport = 8443", "");
        let text = match phrases {
            Phrases::All => text,
            Phrases::Off => text.replace("weightedphrasemode = 2", "weightedphrasemode = 0"),
        };
        let next = next
            .map_or(String::new(), |next| format!("proxyip = {}\nproxyport = {}\n", next.ip(), next.port()));
        format!(
            "{text}\n{next}contentscanner = '{at}/contentscanners/clamdscan.conf'\nloglocation = '{at}/access.log'\n\
             pidfilename = '{at}/pid'\nfilecachedir = '{at}'\n",
            at = home.display()
        )
    })?;
    directory(home, Some("e2guardian:e2guardian"))?;
    let mut command = Command::new("e2guardian");
    command.arg("-N").arg("-c").arg(home.join("e2guardian.conf"));
    let log = home.with_extension("out");
    let child = spawn(&mut command, &log)?;
    await_port(address, Duration::from_secs(120))?;
    Ok(child)
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) -> std::io::Result<()> {
    let text = fs::read_to_string(path)?;
    fs::write(path, change(text))
}
