//! Where a process's time goes, function by function, as `perf` samples it: [`Profile`]. Rule: the machine's own tool; where
//! it is not there, that is said.

use crate::report::Table;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Functions below this share are not listed.
const PERCENT_MIN: f64 = 1.5;

/// Samples that are being taken.
pub struct Profile {
    perf: Child,
    samples: PathBuf,
}

impl Profile {
    /// Begins to sample a process.
    pub fn start(pid: u32, samples: &Path) -> std::io::Result<Self> {
        let mut perf = Command::new("perf");
        perf.args(["record", "-q", "-F", "1999", "-p", &pid.to_string(), "-o"]).arg(samples);
        let perf = perf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let perf =
            perf.map_err(|_| std::io::Error::other("perf is not there; install linux-perf for the profile"))?;
        Ok(Self { perf, samples: samples.to_owned() })
    }

    /// Ends it.
    pub fn stop(&mut self) {
        crate::peers::stop(&mut self.perf);
    }

    /// Prints what was seen.
    pub fn print(&self, title: &str) -> std::io::Result<()> {
        let percent_min = PERCENT_MIN.to_string();
        let report = Command::new("perf")
            .args(["report", "--stdio", "--no-children", "--percent-limit", &percent_min, "-s", "symbol"])
            .arg("-i")
            .arg(&self.samples)
            .output()?;
        let mut table = Table::new(title, &["function", "percent"]);
        for line in String::from_utf8_lossy(&report.stdout).lines().filter(|line| line.contains('%')) {
            if let Some((percent, symbol)) = line.trim().split_once('%') {
                let kernel = if symbol.contains("[k]") { "kernel: " } else { "" };
                let name = symbol.trim().trim_start_matches("[k]").trim_start_matches("[.]").trim();
                table.row(
                    &format!("{kernel}{}", name.chars().take(90).collect::<String>()),
                    &[percent.trim().to_owned()],
                );
            }
        }
        table.print();
        Ok(())
    }
}
