//! The loosely coupled arrangement beside the gateway: e2guardian and Squid, and Suricata that listens to what they fetch. Rule: the same rules, pages
//! and clients as `ids_web`; all processes count, and what Suricata had no room for is said.

use crate::gateway::binary;
use crate::peers::e2guardian::{self, Means, Phrases};
use crate::peers::suricata::{self, Depths, Seen};
use crate::peers::{clamd, local, squid, stop};
use crate::proof::{self, ORIGIN, SNIFFED, VARIABLES};
use crate::report::Table;
use crate::rules::Rules;
use crate::scenario::ids_web;
use crate::scenario::mail_speed::SIGNATURES;
use crate::scenario::web_speed::{Children, Gateways, role};
use crate::signatures::Signatures;
use crate::turns::{self, CLIENTS, Candidate, Figure, HEADS};
use crate::web_lists::Lists;
use crate::web_origin::PAGES;
use std::path::Path;
use std::time::Duration;

const ROUNDS: usize = 3;
/// How long Suricata takes at most to tell what it has seen.
const SETTLING: Duration = Duration::from_millis(2500);

/// Runs it and prints the tables.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let directory = directory.join("ids-web-peers");
    let (lists, rules) = (Lists::make(&directory.join("lists"))?, ids_web::rules(&directory)?);
    println!(
        "\nRules: {}. clients → e2guardian with clamd ({SIGNATURES} signatures, {}) → Squid without a cache → origin; Suricata with one \
         worker for each core listens to what passes between Squid and origin, as Debian ships it (1 MB of each connection, 100 KB of each page) \
         and with its depths raised to all that passes. The gateway has the same rules, lists and signatures, and reads all; \"rules alone\" has \
         only the rules, as what is sniffed behind Squid has. While Suricata listens, the kernel shows it each packet of loopback, so that all \
         candidates are a little slower here than in `ids-web`.",
        rules.words, lists.words
    );
    let field = Field::open(&directory, &lists, &rules)?;
    for depths in [Depths::Shipped, Depths::Raised] {
        field.measure(&directory, &rules, depths)?;
    }
    Ok(())
}

/// What is measured beside Suricata, running.
struct Field {
    gateways: Gateways,
    children: Children,
}

/// Where who listens.
const PORTS: [u16; 3] = [28084, 28085, 28086];
const NAMES: [&str; 3] = ["squid, suricata", "e2guardian + clamd, squid, suricata", "the same, no phrases"];

impl Field {
    fn open(directory: &Path, lists: &Lists, rules: &Rules) -> std::io::Result<Self> {
        let signatures = Signatures::random(SIGNATURES);
        let [squid, filter, bare] = PORTS.map(local);
        let mut running = Children(Vec::new());
        let children = &mut running.0;
        children.push(role(&["origin", &ORIGIN.to_string()], ORIGIN)?);
        // That rules apply is proved by what the origin answers.
        let gateways =
            ids_web::with_rules(&binary()?, &directory.join("lockgate"), lists, &signatures, 28082, rules)?;
        children.push(squid::start(&directory.join("squid"), squid, Some(SNIFFED.into()))?);
        let home = directory.join("clamd");
        children.push(clamd::start(&home, &signatures, local(28310))?);
        let socket = home.join("socket");
        for (name, address, phrases) in
            [("e2guardian", filter, Phrases::All), ("e2guardian-bare", bare, Phrases::Off)]
        {
            let means = Means { lists: &lists.directory, clamd: &socket, next: Some(squid) };
            children.push(e2guardian::start(&directory.join(name), address, means, phrases)?);
        }
        Ok(Self { gateways, children: running })
    }

    /// All of them in turn, with Suricata beside.
    fn measure(&self, directory: &Path, rules: &Rules, depths: Depths) -> std::io::Result<()> {
        let home = directory.join("suricata");
        let filter = format!("host {SNIFFED} and port {}", ORIGIN.port());
        let mut listening = Children(vec![suricata::listen(&home, rules, depths, &VARIABLES, &filter)?]);
        let suricata = listening.0[0].id();
        proof::await_alerts(local(PORTS[0]), &home.join("eve.json"))?;
        let [_, squid, clamd, full, bare] = [0, 1, 2, 3, 4].map(|at| self.children.0[at].id());
        let candidate = |name, port, pids| Candidate { name, address: local(port), pids };
        let Gateways { on, off } = &self.gateways;
        let ours = |name, gateway: &crate::gateway::Gateway| Candidate {
            name,
            address: gateway.address,
            pids: vec![gateway.pid],
        };
        let pairs = [
            [ours("lockgate, rules alone", off), candidate(NAMES[0], PORTS[0], vec![squid, suricata])],
            [ours("lockgate", on), candidate(NAMES[1], PORTS[1], vec![full, clamd, squid, suricata])],
            [ours("lockgate", on), candidate(NAMES[2], PORTS[2], vec![bare, clamd, squid, suricata])],
        ];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for bytes in PAGES {
            let said = if depths == Depths::Shipped { "as shipped" } else { "all depths raised" };
            let title = format!("page of {} KB, {CLIENTS} connections, Suricata {said}", bytes >> 10);
            let heads = [&["candidate"], &HEADS[..], &["lockgate's pages/s over it", "packets without room"]];
            let mut table = Table::new(&title, &heads.concat());
            for pair in &pairs {
                let before = Seen::by(&home).unwrap_or_default();
                let local_set = tokio::task::LocalSet::new();
                let rounds = turns::take(pair, ORIGIN, bytes, turns::rounds(ROUNDS));
                let rounds = local_set.block_on(&runtime, rounds)?;
                std::thread::sleep(SETTLING);
                let lost = Seen::by(&home).unwrap_or_default().since(before).lost();
                let figures = [0, 1].map(|at| Figure::median(&rounds[at]));
                let ratio = format!("{:.1}", figures[0].rate / figures[1].rate);
                let told = [["-".to_owned(), "none".to_owned()], [ratio, lost]];
                for ((candidate, figure), told) in pair.iter().zip(&figures).zip(told) {
                    table.row(candidate.name, &[&figure.cells()[..], &told].concat());
                }
            }
            table.print();
        }
        listening.0.iter_mut().for_each(stop);
        Ok(())
    }
}
