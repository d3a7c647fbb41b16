//! What engines cost a page: the gateway with all of them on and with all of them off, in turn, and another build of it
//! beside both. Rule: the same pages and clients as `web_speed`; a ratio is of two rounds that followed one another.

use crate::gateway::{Gateway, binary};
use crate::peers;
use crate::scenario::mail_speed::SIGNATURES;
use crate::scenario::web_speed::{Gateways, role};
use crate::signatures::Signatures;
use crate::turns::{self, Candidate, Load};
use crate::web_lists::Lists;
use crate::web_origin::PAGES;
use std::path::{Path, PathBuf};

/// Names another build of the gateway, to be measured in the same rounds.
pub const BEFORE: &str = "BENCH_BEFORE";
const ROUNDS: usize = 7;

/// Runs it and prints a table for pages of 40 KB.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let directory = directory.join("web-engines");
    let lists = Lists::make(&directory.join("lists"))?;
    let signatures = Signatures::random(SIGNATURES);
    let before = std::env::var_os(BEFORE).map(PathBuf::from);
    let mut gateways = vec![Gateways::start(&binary()?, &directory, &lists, &signatures, 28082)?];
    let mut candidates = Vec::from(pair(["engines on", "engines off"], &gateways[0]));
    if let Some(before) = before {
        let other = Gateways::start(&before, &directory.join("before"), &lists, &signatures, 28092)?;
        candidates.extend(pair(["before: engines on", "before: engines off"], &other));
        gateways.push(other);
    }
    let origin = peers::local(28080);
    let mut server = role(&["origin", &origin.to_string()], origin)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local_set = tokio::task::LocalSet::new();
    let rounds = local_set
        .block_on(&runtime, turns::take(&candidates, Load::freely(origin, PAGES[1]), turns::rounds(ROUNDS)));
    peers::stop(&mut server);
    let title = format!("page of {} KB, {} connections", PAGES[1] >> 10, turns::CLIENTS);
    turns::print_pairs(&title, ["gateway", "on/off"], &candidates, &rounds?);
    Ok(())
}

fn pair([on, off]: [&'static str; 2], gateways: &Gateways) -> [Candidate; 2] {
    let candidate =
        |name, gateway: &Gateway| Candidate { name, address: gateway.address, pids: vec![gateway.pid] };
    [candidate(on, &gateways.on), candidate(off, &gateways.off)]
}
