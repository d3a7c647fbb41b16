//! Suricata that reads a capture, or listens to an interface. Rule: its configuration as Debian ships it, with what is said changed; Hyperscan for all
//! searches, one worker for captures and one for each core for what passes.

use super::{directory, spawn, stop};
use crate::process::{Finished, finish};
use crate::rules::Rules;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long loading may take.
const PATIENCE: Duration = Duration::from_secs(120);

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
    let mut command = prepare(home, rules, depths)?;
    finish(command.args(["--runmode", "single", "-r"]).arg(capture))
}

/// How an interface is listened to: by a ring of the kernel's newest kind, with room for some seconds of bursts.
const RING: [&str; 4] = ["use-mmap=yes", "tpacket-v3=yes", "ring-size=200000", "block-size=1048576"];

/// Begins to listen to what passes on an interface and is let through by `filter` (as in tcpdump). It listens when this returns.
///
/// # Errors
///
/// Where it is not there, or has not begun in time.
pub fn listen(
    home: &Path,
    rules: &Rules,
    depths: Depths,
    variables: &[(&str, &str)],
    (interface, filter): (&str, &str),
) -> io::Result<Child> {
    let mut command = prepare(home, rules, depths)?;
    command
        .args(["--runmode", "workers", "--set", "stats.interval=1"])
        .arg(format!("--af-packet={interface}"));
    for setting in [&format!("interface={interface}")[..]].iter().chain(&RING) {
        command.args(["--set", &format!("af-packet.0.{setting}")]);
    }
    for (name, value) in variables {
        let group = if name.ends_with("_PORTS") { "port-groups" } else { "address-groups" };
        command.args(["--set", &format!("vars.{group}.{name}={value}")]);
    }
    let out = home.with_extension("out");
    let mut child = spawn(command.arg(filter), &out)?;
    let deadline = Instant::now() + PATIENCE;
    let words = || fs::read_to_string(&out).unwrap_or_default();
    // What has come before is thrown away, and of a connection that began then nothing is told.
    while !words().contains("Engine started") {
        if Instant::now() > deadline || child.try_wait()?.is_some() {
            stop(&mut child);
            let words = words();
            return Err(io::Error::other(format!("suricata does not listen: {words}")));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(child)
}

/// How many packets it was shown, and how many of them it had no room for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub packets: u64,
    pub dropped: u64,
}

impl Seen {
    /// By the last figures that it has told, which it does each second; `None` before the first.
    pub fn by(home: &Path) -> Option<Self> {
        let text = fs::read_to_string(home.join("stats.log")).ok()?;
        text.contains("uptime").then(|| {
            let last = |name: &str| {
                let mut lines = text.lines().rev();
                let line = lines.find(|line| line.starts_with(name))?;
                line.rsplit('|').next()?.trim().parse().ok()
            };
            let last = |name| last(name).unwrap_or(0);
            Self { packets: last("capture.kernel_packets "), dropped: last("capture.kernel_drops ") }
        })
    }
}

impl Seen {
    /// What has come since.
    pub fn since(self, before: Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(before.packets),
            dropped: self.dropped.saturating_sub(before.dropped),
        }
    }

    /// How much of it there was no room for, in words.
    pub fn lost(self) -> String {
        format!("{:.1} % of {}", 100.0 * self.dropped as f64 / self.packets.max(1) as f64, self.packets)
    }
}

fn prepare(home: &Path, rules: &Rules, depths: Depths) -> io::Result<Command> {
    let _ = fs::remove_dir_all(home);
    let home = directory(home, None)?;
    let classes = format!("classification-file={}", rules.classes().display());
    let mut command = Command::new("suricata");
    command.args(["-k", "none", "-c", "/etc/suricata/suricata.yaml"]);
    command.arg("-S").arg(rules.pattern()).arg("-l").arg(&home);
    let all = if depths == Depths::Raised { &RAISED[..] } else { &[] };
    for setting in ["mpm-algo=hs", "spm-algo=hs", "unix-command.enabled=no", &classes].iter().chain(all) {
        command.args(["--set", setting]);
    }
    Ok(command)
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
