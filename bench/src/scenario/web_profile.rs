//! Where a page's processor time goes, function by function, with the engines on and off. Rule: the same load and the same
//! gateways as `web_speed`.

use crate::gateway::binary;
use crate::peers::stop;
use crate::process::exact_processor_ms;
use crate::profile::Profile;
use crate::scenario::mail_speed::SIGNATURES;
use crate::scenario::web_speed::{Gateways, role};
use crate::signatures::Signatures;
use crate::turns::CLIENTS;
use crate::web_lists::Lists;
use crate::web_load;
use crate::web_origin::PAGES;
use std::path::Path;
use std::time::Duration;

const DURATION: Duration = Duration::from_secs(4);

/// Runs it and prints a table for each page and gateway.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let directory = directory.join("web-profile");
    let origin = crate::peers::local(28090);
    let mut server = role(&["origin", &origin.to_string()], origin)?;
    let outcome = profile_all(&directory, &origin.to_string());
    stop(&mut server);
    outcome
}

fn profile_all(directory: &Path, origin: &str) -> std::io::Result<()> {
    let lists = Lists::make(&directory.join("lists"))?;
    let gateways = Gateways::start(&binary()?, directory, &lists, &Signatures::random(SIGNATURES), 28082)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for (name, gateway) in [("all engines on", &gateways.on), ("engines off", &gateways.off)] {
        for bytes in PAGES {
            let url = format!("http://{origin}/{bytes}");
            let load = |duration| web_load::run(gateway.address, &url, bytes, CLIENTS, (duration, None));
            let local = tokio::task::LocalSet::new();
            // The first pages open the connections.
            local.block_on(&runtime, load(DURATION / 8));
            let mut profile = Profile::start(gateway.pid, &directory.join("perf.data"))?;
            let before = exact_processor_ms(gateway.pid);
            let outcome = local.block_on(&runtime, load(DURATION));
            let pages = outcome.latencies.len().max(1) as f64;
            let processor_ms = (exact_processor_ms(gateway.pid) - before) / pages;
            profile.stop();
            if let Some(error) = outcome.errors.first() {
                return Err(std::io::Error::other(error.clone()));
            }
            profile.print(&format!(
                "page of {} KB, {name}: where {:.0} µs of processor time go, at {:.0} a second",
                bytes >> 10,
                processor_ms * 1e3,
                outcome.rate()
            ))?;
        }
    }
    Ok(())
}
