//! Where a mail's processor time goes, function by function, as `perf` samples the gateway under load. Rule: the same load as
//! `mail_speed`; without `perf` it says so.

use crate::gateway::Gateway;
use crate::load;
use crate::mail::{self, Mail};
use crate::peers::local;
use crate::process::exact_processor_ms;
use crate::report::Table;
use crate::scenario::mail_speed::SIGNATURES;
use crate::sink::{self, Offers};
use std::path::Path;
use std::process::{Command, Stdio};

const CLIENTS: usize = 16;
const MAILS: usize = 2_000;
/// Functions below this share are not listed.
const PERCENT_MIN: f64 = 1.5;

/// Runs it and prints a table for each kind of mail.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let executable = mail::executable(1 << 20)?;
    let zipped = mail::zip("program.bin", &executable)?;
    profile(&mail::with_attachment("executable", "program.bin", executable), directory)?;
    profile(&mail::with_attachment("zipped", "program.zip", zipped), directory)
}

fn profile(mail: &Mail, directory: &Path) -> std::io::Result<()> {
    let signatures = mail::random_signatures(SIGNATURES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let samples = directory.join("perf.data");
    let (rate, processor_ms) = tokio::task::LocalSet::new().block_on(&runtime, async {
        let sink = local(25096);
        let arrivals = sink::open(sink, Offers::Data, 256 << 10).await?;
        let gateway = Gateway::start(&directory.join("lockgate"), &signatures, sink, "", "")?;
        let mut perf = Command::new("perf");
        perf.args(["record", "-q", "-F", "1999", "-p", &gateway.pid.to_string(), "-o"]).arg(&samples);
        let perf = perf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut perf =
            perf.map_err(|_| std::io::Error::other("perf is not there; install linux-perf for the profile"))?;
        let before = exact_processor_ms(gateway.pid);
        let outcome = load::run(gateway.address, mail, 0, MAILS, CLIENTS, &arrivals).await;
        let processor_ms = (exact_processor_ms(gateway.pid) - before) / MAILS as f64;
        crate::peers::stop(&mut perf);
        match outcome.errors.first() {
            None => Ok((outcome.rate(), processor_ms)),
            Some(error) => Err(std::io::Error::other(error.clone())),
        }
    })?;
    let report = Command::new("perf")
        .args([
            "report",
            "--stdio",
            "--no-children",
            "--percent-limit",
            &PERCENT_MIN.to_string(),
            "-s",
            "symbol",
            "-i",
        ])
        .arg(&samples)
        .output()?;
    let mut table = Table::new(
        &format!(
            "{} mail: where {processor_ms:.2} ms of processor time go, at {rate:.0} a second",
            mail.name
        ),
        &["function", "percent"],
    );
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
