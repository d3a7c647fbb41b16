//! e2guardian as Debian ships it, with a list of sites more. Rule: its own files, with only the paths and what is said changed.
//!
//! What is not stock, and why: clamd scans for viruses; requests go to their servers directly, which spares it a Squid.

use super::{await_port, directory, run, spawn};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Whether pages are searched for phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phrases {
    /// As it is shipped: every phrase list that its own lists include.
    Shipped,
    /// Not at all.
    Off,
}

/// Debian's lists in a directory of their own, with `sites` beside the sites that are banned.
pub fn copy_lists(home: &Path, sites: &str) -> std::io::Result<PathBuf> {
    let lists = home.join("lists");
    let _ = fs::remove_dir_all(home);
    directory(home, None)?;
    run(Command::new("cp").arg("-r").arg("/etc/e2guardian/lists").arg(&lists))?;
    move_paths(&lists, "/etc/e2guardian/lists", &lists)?;
    fs::write(lists.join("bench-sites"), sites)?;
    let banned = fs::read_to_string(lists.join("bannedsitelist"))?;
    fs::write(
        lists.join("bannedsitelist"),
        format!("{banned}\n.Include<{}/bench-sites>\n", lists.display()),
    )?;
    Ok(lists)
}

/// Starts it with these lists and the clamd at this socket.
pub fn start(
    home: &Path,
    address: SocketAddr,
    lists: &Path,
    clamd: &Path,
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
            Phrases::Shipped => text,
            Phrases::Off => text.replace("weightedphrasemode = 2", "weightedphrasemode = 0"),
        };
        format!(
            "{text}\ncontentscanner = '{at}/contentscanners/clamdscan.conf'\nloglocation = '{at}/access.log'\n\
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

/// Names the files of the copy in place of those of the system.
fn move_paths(directory: &Path, from: &str, to: &Path) -> std::io::Result<()> {
    let expression = format!("s,{from},{},g", to.display());
    let mut find = Command::new("find");
    find.arg(directory).args(["-type", "f", "-exec", "sed", "-i", &expression, "{}", "+"]);
    run(&mut find)
}
