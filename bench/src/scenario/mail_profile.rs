//! Where a mail's processor time goes, function by function, as `perf` samples the gateway under load. Rule: the same load as
//! `mail_speed`; without `perf` it says so.

use crate::gateway::Gateway;
use crate::load;
use crate::mail::{self, Mail};
use crate::peers::local;
use crate::process::exact_processor_ms;
use crate::profile::Profile;
use crate::scenario::mail_speed::SIGNATURES;
use crate::signatures::Signatures;
use crate::sink::{self, Offers};
use std::path::Path;

const CLIENTS: usize = 16;
const MAILS: usize = 2_000;

/// Runs it and prints a table for each kind of mail.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let executable = mail::executable(1 << 20)?;
    let zipped = mail::zip("program.bin", &executable)?;
    profile(&mail::with_attachment("executable", "program.bin", executable), directory)?;
    profile(&mail::with_attachment("zipped", "program.zip", zipped), directory)
}

fn profile(mail: &Mail, directory: &Path) -> std::io::Result<()> {
    let signatures = Signatures::random(SIGNATURES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let samples = directory.join("perf.data");
    let (profile, rate, processor_ms) = tokio::task::LocalSet::new().block_on(&runtime, async {
        let sink = local(25096);
        let arrivals = sink::open(sink, Offers::Data, 256 << 10).await?;
        let gateway = Gateway::start(&directory.join("lockgate"), &signatures, sink, "", "")?;
        let mut profile = Profile::start(gateway.pid, &samples)?;
        let before = exact_processor_ms(gateway.pid);
        let outcome = load::run(gateway.address, mail, 0, MAILS, CLIENTS, &arrivals).await;
        let processor_ms = (exact_processor_ms(gateway.pid) - before) / MAILS as f64;
        profile.stop();
        match outcome.errors.first() {
            None => Ok((profile, outcome.rate(), processor_ms)),
            Some(error) => Err(std::io::Error::other(error.clone())),
        }
    })?;
    profile.print(&format!(
        "{} mail: where {processor_ms:.2} ms of processor time go, at {rate:.0} a second",
        mail.name
    ))
}
