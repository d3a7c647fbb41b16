//! e2guardian as Debian ships it, for the same pages side by side. Rule: its own files; only paths, the limit and what is logged
//! are changed.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::process::{Running, run};
use crate::temporary::Directory;
use crate::wait;

/// Where its lists are.
pub const LISTS: &str = "/etc/e2guardian/lists";

/// A filter that serves, in a directory of its own.
#[derive(Debug)]
pub struct E2guardian {
    /// Where it listens.
    pub address: SocketAddr,
    process: Running,
    directory: Directory,
}

/// What it made of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Its naughtyness.
    pub points: i64,
    /// Whether it was blocked.
    pub is_blocked: bool,
    /// Why.
    pub why: String,
}

impl E2guardian {
    /// Serves with this `naughtynesslimit`.
    pub fn start(limit: i32) -> Self {
        let directory = Directory::new("e2guardian");
        let address = wait::free_address();
        let at = directory.join("etc");
        run(Command::new("cp").arg("-r").arg("/etc/e2guardian").arg(&at));
        let mut find = Command::new("find");
        find.arg(&at).args(["-type", "f", "-exec", "sed", "-i"]);
        run(find.arg(format!("s,/etc/e2guardian,{},g", at.display())).args(["{}", "+"]));
        edit(&at.join("e2guardian.conf"), |text| {
            let text = text
                .replace("filterip =", &format!("filterip = {}", address.ip()))
                .replace("filterports = 8080", &format!("filterports = {}", address.port()))
                .replace("transparenthttpsport = 8443", "")
                .replace("httpworkers = 500", "httpworkers = 20")
                .replace("logfileformat = 6", "logfileformat = 1");
            let at = at.display();
            format!(
                "{text}\nloglocation = '{at}/access.log'\npidfilename = '{at}/pid'\nfilecachedir = '{at}'\n"
            )
        });
        let limit = format!("naughtynesslimit = {limit}");
        edit(&at.join("e2guardianf1.conf"), |text| text.replace("naughtynesslimit = 50", &limit));
        run(Command::new("chown").args(["-R", "e2guardian:e2guardian"]).arg(&at));
        let mut command = Command::new("e2guardian");
        command.arg("-N").arg("-c").arg(at.join("e2guardian.conf"));
        let mut process = Running::start(&mut command, &directory.join("log"));
        let listens = wait::within(Duration::from_secs(60), || {
            assert!(process.is_alive(), "e2guardian ended:\n{}", process.printed());
            std::net::TcpStream::connect(address).ok()
        });
        assert!(listens.is_some(), "e2guardian does not listen:\n{}", process.printed());
        Self { address, process, directory }
    }

    /// What it says of each URL in its log, once it has written so many lines.
    pub fn judged(&mut self, urls: usize) -> HashMap<String, Judged> {
        let log = self.directory.join("etc/access.log");
        let complete = wait::within(Duration::from_secs(20), || {
            let text = String::from_utf8_lossy(&fs::read(&log).ok()?).into_owned();
            (text.lines().count() >= urls).then_some(text)
        });
        let text = complete.unwrap_or_else(|| panic!("a line for each page: {}", self.process.printed()));
        text.lines().filter_map(judged).collect()
    }
}

impl Drop for E2guardian {
    fn drop(&mut self) {
        // Its workers end with it only when it is asked.
        self.process.signal("KILL");
    }
}

/// `DATE TIME USER ADDRESS URL WHY METHOD BYTES POINTS …`
fn judged(line: &str) -> Option<(String, Judged)> {
    let (before, after) = line.split_once(" GET ")?;
    let url = before.split(' ').find(|word| word.starts_with("http://"))?;
    let why = before.split_once(url)?.1.trim().to_owned();
    let points = after.split(' ').nth(1)?.parse().ok()?;
    Some((url.to_owned(), Judged { points, is_blocked: why.contains("*DENIED*"), why }))
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).expect("it is installed");
    fs::write(path, change(text)).expect("it can be written");
}
