//! The loosely coupled arrangement beside the gateway: e2guardian and Squid, and Suricata that listens to what they fetch. Rule: the same rules, pages
//! and clients as `ids_web`, at a pace that everybody keeps up with; all processes count, and what Suricata had no room for is said.

use crate::apart::{Apart, INTERFACE, ORIGIN, SNIFFED};
use crate::gateway::{Gateway, binary};
use crate::peers::e2guardian::{self, Means, Phrases};
use crate::peers::suricata::{self, Depths, Seen};
use crate::peers::{clamd, local, squid, stop};
use crate::proof::{self, VARIABLES};
use crate::report::Table;
use crate::rules::Rules;
use crate::scenario::ids_web;
use crate::scenario::mail_speed::SIGNATURES;
use crate::scenario::web_speed::{Children, Gateways};
use crate::signatures::Signatures;
use crate::turns::{self, CLIENTS, Candidate, Figure, HEADS, Load};
use crate::web_lists::Lists;
use crate::web_origin::PAGES;
use std::path::Path;
use std::time::Duration;

const ROUNDS: usize = 3;
/// How long Suricata takes at most to tell what it has seen.
const SETTLING: Duration = Duration::from_millis(2500);
/// How many pages a second are asked for, of each length in [`PAGES`]: of Squid, and of e2guardian before it. All of it runs on two cores.
const OF_SQUID: [f64; 2] = [1000.0, 250.0];
const OF_FILTER: [f64; 2] = [200.0, 40.0];

/// Runs it and prints the tables.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let directory = directory.join("ids-web-peers");
    let (lists, rules) = (Lists::make(&directory.join("lists"))?, ids_web::rules(&directory)?);
    println!(
        "\nRules: {}. clients → e2guardian with clamd ({SIGNATURES} signatures, {}) → Squid without a cache → origin, which is behind a pair of \
         interfaces in a network namespace; Suricata with one worker for each core listens there to what Squid fetches, as Debian ships it (1 MB of \
         each connection, 100 KB of each page) and with its depths raised to all that passes. Pages are asked for at a pace; what counts is \
         the processor time of all processes. The gateway has the same rules, lists and signatures, and reads all; \"rules alone\" has only the \
         rules, as what is sniffed behind Squid has.",
        rules.words, lists.words
    );
    let field = Field::open(&directory, &lists, &rules)?;
    for depths in [Depths::Shipped, Depths::Raised] {
        field.measure(&directory, &rules, depths)?;
    }
    Ok(())
}

/// What is measured beside Suricata and Squid, running.
struct Field {
    gateways: Gateways,
    children: Children,
    _apart: Apart,
}

/// Where who listens.
const PORTS: [u16; 3] = [28084, 28085, 28086];
const NAMES: [&str; 3] = ["squid, suricata", "e2guardian + clamd, squid, suricata", "the same, no phrases"];

impl Field {
    fn open(directory: &Path, lists: &Lists, rules: &Rules) -> std::io::Result<Self> {
        let signatures = Signatures::random(SIGNATURES);
        let [squid, filter, bare] = PORTS.map(local);
        let apart = Apart::open()?;
        let mut running = Children(Vec::new());
        let children = &mut running.0;
        children.push(apart.serve()?);
        let home = directory.join("lockgate");
        let gateways = ids_web::with_rules(&binary()?, &home, lists, &signatures, (28082, ORIGIN), rules)?;
        let home = directory.join("clamd");
        children.push(clamd::start(&home, &signatures, local(28310))?);
        let socket = home.join("socket");
        for (name, address, phrases) in
            [("e2guardian", filter, Phrases::All), ("e2guardian-bare", bare, Phrases::Off)]
        {
            let means = Means { lists: &lists.directory, clamd: &socket, next: Some(squid) };
            children.push(e2guardian::start(&directory.join(name), address, means, phrases)?);
        }
        Ok(Self { gateways, children: running, _apart: apart })
    }

    /// All of them in turn, with Suricata beside.
    fn measure(&self, directory: &Path, rules: &Rules, depths: Depths) -> std::io::Result<()> {
        let home = directory.join("suricata");
        let filter = format!("host {SNIFFED} and port {}", ORIGIN.port());
        let listening = suricata::listen(&home, rules, depths, &VARIABLES, (INTERFACE, &filter))?;
        let mut running = Children(vec![listening]);
        // Squid keeps its connections, and of one that began before it listened Suricata tells nothing.
        running.0.push(squid::start(&directory.join("squid"), local(PORTS[0]), Some(SNIFFED.into()))?);
        proof::await_alerts(local(PORTS[0]), ORIGIN, &home.join("eve.json"))?;
        let [suricata, squid] = [0, 1].map(|at| running.0[at].id());
        let [clamd, full, bare] = [1, 2, 3].map(|at| self.children.0[at].id());
        let candidate = |name, port, pids| Candidate { name, address: local(port), pids };
        let ours =
            |name, gateway: &Gateway| Candidate { name, address: gateway.address, pids: vec![gateway.pid] };
        let Gateways { on, off } = &self.gateways;
        let pairs = [
            (
                [ours("lockgate, rules alone", off), candidate(NAMES[0], PORTS[0], vec![squid, suricata])],
                OF_SQUID,
            ),
            (
                [ours("lockgate", on), candidate(NAMES[1], PORTS[1], vec![full, clamd, squid, suricata])],
                OF_FILTER,
            ),
            (
                [ours("lockgate", on), candidate(NAMES[2], PORTS[2], vec![bare, clamd, squid, suricata])],
                OF_FILTER,
            ),
        ];
        for (at, bytes) in PAGES.into_iter().enumerate() {
            let said = if depths == Depths::Shipped { "as shipped" } else { "all depths raised" };
            let title = format!("page of {} KB, {CLIENTS} connections, Suricata {said}", bytes >> 10);
            let heads =
                [&["candidate"], &HEADS[..], &["its processor time over lockgate's", "packets without room"]];
            let mut table = Table::new(&title, &heads.concat());
            for (pair, paces) in &pairs {
                let load = Load { origin: ORIGIN, bytes, pages_per_second: Some(paces[at]) };
                row(&mut table, pair, load, &home)?;
            }
            table.print();
        }
        running.0.iter_mut().for_each(stop);
        Ok(())
    }
}

/// One pair in turn.
fn row(table: &mut Table, pair: &[Candidate; 2], load: Load, home: &Path) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let before = Seen::by(home).unwrap_or_default();
    let local_set = tokio::task::LocalSet::new();
    let rounds = local_set.block_on(&runtime, turns::take(pair, load, turns::rounds(ROUNDS)))?;
    std::thread::sleep(SETTLING);
    let lost = Seen::by(home).unwrap_or_default().since(before).lost();
    let figures = [0, 1].map(|at| Figure::median(&rounds[at]));
    let ratio = format!("{:.1}", figures[1].processor_ms / figures[0].processor_ms);
    let told = [["-".to_owned(), "none".to_owned()], [ratio, lost]];
    for ((candidate, figure), told) in pair.iter().zip(&figures).zip(told) {
        table.row(candidate.name, &[&figure.cells()[..], &told].concat());
    }
    Ok(())
}
