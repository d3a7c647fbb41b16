//! Pages per second, latency and processor time: the gateway, a bare relay, and today's proxies, between the same clients
//! and origin. Rule: one run, one machine, the same pages, in turn; a page counts when it is whole at the client, and a ratio is of two
//! figures of one round.

use crate::gateway::{Gateway, binary};
use crate::peers::e2guardian::{self, Means, Phrases};
use crate::peers::{await_port, clamd, local, squid, stop};
use crate::report::Table;
use crate::scenario::mail_speed::SIGNATURES;
use crate::signatures::Signatures;
use crate::turns::{self, CLIENTS, Candidate, Figure, Load};
use crate::web_lists::Lists;
use crate::web_origin::PAGES;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often each candidate is measured; the median counts.
const ROUNDS: usize = 9;

const ORIGIN: &str = "origin, direct";
const RELAY: &str = "bare relay";
const LOCKGATE: &str = "lockgate";
const ENGINES_OFF: &str = "lockgate, engines off";
const SQUID: &str = "squid";
const E2GUARDIAN: &str = "e2guardian + clamd";
const E2GUARDIAN_BARE: &str = "e2guardian + clamd, no phrases";

/// Runs it and prints the tables.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let field = Field::open(&directory.join("web"))?;
    println!(
        "\nWhat each does: {LOCKGATE}: {SIGNATURES} signatures, the lists of e2guardian as Debian ships them with {}; {ENGINES_OFF}: \
         no signatures, no lists; {SQUID}: no cache, no lists, one process; {E2GUARDIAN}: the same lists, phrases and \
         signatures; {E2GUARDIAN_BARE}: the same with weightedphrasemode 0. All write a log. Connections are kept alive as \
         far as a candidate does so; the last column says how far. Client and origin share the machine's cores with them.",
        field.lists
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for bytes in PAGES {
        let local_set = tokio::task::LocalSet::new();
        let rounds = turns::take(&field.candidates, Load::freely(field.origin, bytes), turns::rounds(ROUNDS));
        let rounds = local_set.block_on(&runtime, rounds)?;
        let figures: Vec<Figure> = rounds.iter().map(|figures| Figure::median(figures)).collect();
        let title = format!("page of {} KB, {CLIENTS} connections", bytes >> 10);
        let mut table = Table::new(&title, &[&["candidate"], &turns::HEADS[..]].concat());
        for (candidate, figure) in field.candidates.iter().zip(&figures) {
            table.row(candidate.name, &figure.cells());
        }
        table.print();
        field.ratios(bytes, &rounds);
    }
    Ok(())
}

/// All of them, running; they stop when it is dropped.
struct Field {
    origin: SocketAddr,
    candidates: Vec<Candidate>,
    /// What lists they have.
    lists: String,
    _children: Children,
    _gateways: Gateways,
}

/// The gateway, with everything on, and looking for nothing.
pub struct Gateways {
    pub on: Gateway,
    pub off: Gateway,
}

impl Gateways {
    /// Both, of a build, below a directory of their own and at two ports in a row.
    pub fn start(
        program: &Path,
        directory: &Path,
        lists: &Lists,
        signatures: &Signatures,
        port: u16,
    ) -> std::io::Result<Self> {
        Self::with_rules(program, directory, lists, signatures, port, "rules = []\n")
    }

    /// The same, with what the configuration is to say of intrusion rules.
    pub fn with_rules(
        program: &Path,
        directory: &Path,
        lists: &Lists,
        signatures: &Signatures,
        port: u16,
        ids: &str,
    ) -> std::io::Result<Self> {
        let database = directory.join("databases");
        signatures.write(&database)?;
        let none = directory.join("none.ndb");
        std::fs::write(&none, "")?;
        let start = |name, port, databases: &Path, lists: &str| {
            let tables = format!(
                "[ids]\n{ids}[antivirus]\ndatabases = [{databases:?}]\n[webfilter]\nlists = [{lists}]\n"
            );
            Gateway::start_web(program, &directory.join(name), local(port), &tables)
        };
        Ok(Self {
            on: start("full", port, &database, &format!("{:?}", lists.directory))?,
            off: start("off", port + 1, &none, "")?,
        })
    }

    /// Where one of them tells what it has seen.
    pub fn events(directory: &Path) -> [std::path::PathBuf; 2] {
        ["full", "off"].map(|name| directory.join(name).join("eve.json"))
    }
}

impl Field {
    fn open(directory: &Path) -> std::io::Result<Self> {
        let lists = Lists::make(&directory.join("lists"))?;
        let signatures = Signatures::random(SIGNATURES);
        let (origin, relay, clamd) = (local(28080), local(28081), local(28310));
        // Whatever fails below, what runs by then is stopped.
        let mut running = Children(Vec::new());
        let children = &mut running.0;
        children.push(role(&["origin", &origin.to_string()], origin)?);
        children.push(role(&["relay", &relay.to_string(), &origin.to_string()], relay)?);
        let [squid, e2g, bare] = [28084, 28085, 28086].map(local);
        let gateways = Gateways::start(&binary()?, directory, &lists, &signatures, 28082)?;
        children.push(squid::start(&directory.join("squid"), squid, None)?);
        let home = directory.join("clamd");
        children.push(clamd::start(&home, &signatures, clamd)?);
        let socket = home.join("socket");
        let start = |name, address, phrases| {
            let means = Means { lists: &lists.directory, clamd: &socket, next: None };
            e2guardian::start(&directory.join(name), address, means, phrases)
        };
        children.push(start("e2guardian", e2g, Phrases::All)?);
        children.push(start("e2guardian-bare", bare, Phrases::Off)?);
        let pids: Vec<u32> = children.iter().map(Child::id).collect();
        let candidate = |name, address, pids: &[u32]| Candidate { name, address, pids: pids.to_vec() };
        let candidates = vec![
            candidate(ORIGIN, origin, &pids[..1]),
            candidate(RELAY, relay, &pids[1..2]),
            candidate(LOCKGATE, gateways.on.address, &[gateways.on.pid]),
            candidate(ENGINES_OFF, gateways.off.address, &[gateways.off.pid]),
            candidate(SQUID, squid, &pids[2..3]),
            candidate(E2GUARDIAN, e2g, &pids[3..5]),
            candidate(E2GUARDIAN_BARE, bare, &[pids[3], pids[5]]),
        ];
        Ok(Self { origin, candidates, lists: lists.words, _children: running, _gateways: gateways })
    }

    /// The ratios that are asked for, each beside what was seen.
    fn ratios(&self, bytes: usize, rounds: &[Vec<Figure>]) {
        let of = |name: &str| {
            let at = self.candidates.iter().position(|candidate| candidate.name == name);
            &rounds[at.expect("every name is a candidate's")][..]
        };
        let rates = |one: &str, other: &str| turns::ratio(of(one), of(other), |figure| figure.rate);
        let times = |one: &str, other: &str| turns::ratio(of(one), of(other), |figure| figure.processor_ms);
        let mut table =
            Table::new(&format!("page of {} KB: ratios", bytes >> 10), &["ratio", "asked", "seen"]);
        let (rate, time, squid) =
            if bytes == PAGES[0] { (">= 8", "<= 0.04", "<= 0.6") } else { (">= 40", "<= 0.01", "<= 0.4") };
        let mut row = |what: &str, asked: &str, seen: f64| {
            table.row(what, &[asked.to_owned(), format!("{seen:.3}")]);
        };
        row("pages/s over e2guardian's", rate, rates(LOCKGATE, E2GUARDIAN));
        row("processor time over e2guardian's", time, times(LOCKGATE, E2GUARDIAN));
        row("pages/s over e2guardian's without phrases", "-", rates(LOCKGATE, E2GUARDIAN_BARE));
        row("processor time over the same", "-", times(LOCKGATE, E2GUARDIAN_BARE));
        row("pages/s over engines off", ">= 0.5", rates(LOCKGATE, ENGINES_OFF));
        row("engines off: processor time over Squid's", squid, times(ENGINES_OFF, SQUID));
        row("engines off: processor time over the bare relay's", "-", times(ENGINES_OFF, RELAY));
        table.print();
    }
}

/// Processes that stop when they are dropped.
pub struct Children(pub Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        self.0.iter_mut().rev().for_each(stop);
    }
}

/// This program in another role, in a process of its own.
pub fn role(arguments: &[&str], address: SocketAddr) -> std::io::Result<Child> {
    let child = Command::new(std::env::current_exe()?).args(arguments).stdin(Stdio::null()).spawn()?;
    await_port(address, Duration::from_secs(10))?;
    Ok(child)
}
