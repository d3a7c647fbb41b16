//! Suricata that reads a capture. Rule: its configuration as Debian ships it, with what is said changed; one worker, Hyperscan for all searches.

use super::directory;
use crate::process::{Finished, finish};
use crate::rules::Rules;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// How much of what is said it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depths {
    /// As much as its configuration says: 1 MB of a stream, 100 KB of a body or of an attachment.
    Shipped,
    /// All of it, as this gateway does.
    Raised,
}

/// What is said of it to look at all.
const RAISED: [&str; 4] = [
    "stream.reassembly.depth=0",
    "app-layer.protocols.http.libhtp.default-config.request-body-limit=0",
    "app-layer.protocols.http.libhtp.default-config.response-body-limit=0",
    "app-layer.protocols.smtp.inspected-tracker.content-limit=1000000000",
];

/// Reads a capture from its beginning to its end.
///
/// # Errors
///
/// Where it is not there, or does not end well.
pub fn read(home: &Path, rules: &Rules, capture: &Path, depths: Depths) -> io::Result<Finished> {
    let _ = fs::remove_dir_all(home);
    let home = directory(home, None)?;
    let classes = format!("classification-file={}", rules.classes().display());
    let mut command = Command::new("suricata");
    command
        .args(["--runmode", "single", "-k", "none", "-c", "/etc/suricata/suricata.yaml", "-r"])
        .arg(capture);
    command.arg("-S").arg(rules.pattern()).arg("-l").arg(&home);
    let all = if depths == Depths::Raised { &RAISED[..] } else { &[] };
    for setting in ["mpm-algo=hs", "spm-algo=hs", "unix-command.enabled=no", &classes].iter().chain(all) {
        command.args(["--set", setting]);
    }
    finish(&mut command)
}

/// How long it says that the last capture took: from when the rules were there to when all packets were done with.
///
/// # Errors
///
/// Where it has not said.
pub fn elapsed_seconds(home: &Path) -> io::Result<f64> {
    let log = fs::read_to_string(home.join("suricata.log"))?;
    let said = log.rsplit_once("time elapsed ").and_then(|(_, behind)| behind.split_once('s'));
    said.and_then(|(seconds, _)| seconds.parse().ok())
        .ok_or_else(|| io::Error::other("suricata.log does not say how long reading took"))
}

/// How many alerts it has told of.
pub fn alerts(home: &Path) -> usize {
    crate::rules::alerts(&home.join("eve.json"))
}
