//! What intrusion rules cost the web proxy: the gateway with them and without, all other engines on and all of them off. Rule: the same pages and
//! clients as `web_speed`; a ratio is of two rounds that followed one another, and the rules have been seen to apply.

use crate::gateway::binary;
use crate::peers::stop;
use crate::proof::{self, ORIGIN, VARIABLES};
use crate::report::Table;
use crate::rules::Rules;
use crate::scenario::mail_speed::SIGNATURES;
use crate::scenario::web_engines::BEFORE;
use crate::scenario::web_speed::{Gateways, role};
use crate::signatures::Signatures;
use crate::turns::{self, CLIENTS, Candidate, Load};
use crate::web_lists::Lists;
use crate::web_origin::PAGES;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

const ROUNDS: usize = 7;
/// What rules may leave of the pages per second, and what they are to leave.
const ASKED: &str = ">= 0.65, aim 0.75";

/// Runs it and prints a table for each page.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let directory = directory.join("ids-web");
    let (lists, rules) = (Lists::make(&directory.join("lists"))?, rules(&directory)?);
    let signatures = Signatures::random(SIGNATURES);
    println!(
        "\nRules: {}. The other engines: {SIGNATURES} signatures, the lists of e2guardian as Debian ships them with {}. \
         Ratios are pages a second with rules over those without; what is asked is so of the gateway as it is used, all engines on.",
        rules.words, lists.words
    );
    let mut server = role(&["origin", &ORIGIN.to_string()], ORIGIN)?;
    let outcome = measure(&directory, &lists, &rules, &signatures);
    stop(&mut server);
    outcome
}

/// The rules of this run, and those that prove that they apply.
pub fn rules(home: &Path) -> std::io::Result<Rules> {
    let rules = Rules::make(home)?;
    proof::write(&rules)?;
    Ok(rules)
}

fn measure(directory: &Path, lists: &Lists, rules: &Rules, signatures: &Signatures) -> std::io::Result<()> {
    let mut builds = vec![(binary()?, ["engines on, rules", "engines on", "rules alone", "engines off"])];
    if let Some(before) = std::env::var_os(BEFORE).map(PathBuf::from) {
        let names =
            ["before: engines on, rules", "before: engines on", "before: rules alone", "before: engines off"];
        builds.push((before, names));
    }
    let (mut candidates, mut gateways) = (Vec::new(), Vec::new());
    for ((program, [all, engines, alone, none]), port) in builds.into_iter().zip((28082..).step_by(10)) {
        let home = directory.join(format!("{port}"));
        let with = with_rules(&program, &home.join("rules"), lists, signatures, (port, ORIGIN), rules)?;
        let without = Gateways::start(&program, &home, lists, signatures, port + 2)?;
        let candidate = |name, gateway: &crate::gateway::Gateway| Candidate {
            name,
            address: gateway.address,
            pids: vec![gateway.pid],
        };
        candidates.extend([candidate(all, &with.on), candidate(engines, &without.on)]);
        candidates.extend([candidate(alone, &with.off), candidate(none, &without.off)]);
        gateways.push((with, without));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for bytes in PAGES {
        let local_set = tokio::task::LocalSet::new();
        let rounds = turns::take(&candidates, Load::freely(ORIGIN, bytes), turns::rounds(ROUNDS));
        let rounds = local_set.block_on(&runtime, rounds)?;
        let title = format!("page of {} KB, {CLIENTS} connections", bytes >> 10);
        let ratios = turns::print_pairs(&title, ["gateway", "rules/none"], &candidates, &rounds);
        let mut table = Table::new(&format!("{title}: what rules leave"), &["pages/s", "asked", "seen"]);
        for (ratio, (what, asked)) in ratios.iter().zip([("all engines on", ASKED), ("all engines off", "-")])
        {
            table.row(what, &[asked.to_owned(), format!("{ratio:.3}")]);
        }
        table.print();
    }
    Ok(())
}

/// Gateways with these rules, which apply.
pub fn with_rules(
    program: &Path,
    home: &Path,
    lists: &Lists,
    signatures: &Signatures,
    (port, origin): (u16, SocketAddr),
    rules: &Rules,
) -> std::io::Result<Gateways> {
    let variables = VARIABLES.map(|(name, value)| format!("\"{name} = {value}\"")).join(", ");
    let table = format!("rules = [{:?}]\nvariables = [{variables}]\n", rules.directory);
    let gateways = Gateways::with_rules(program, home, lists, signatures, port, &table)?;
    // That rules apply is proved by what the server answers.
    for (gateway, events) in [&gateways.on, &gateways.off].into_iter().zip(Gateways::events(home)) {
        proof::await_alerts(gateway.address, origin, &events)?;
    }
    Ok(gateways)
}
