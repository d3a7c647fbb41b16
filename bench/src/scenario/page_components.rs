//! What a page's way is made of, each part measured alone: the waist, signatures, lists, look-ups of sites. Rule: the
//! gateway's own code, one thread, processor time.

use crate::mail::{self, Random};
use crate::report::Table;
use crate::scenario::components::{thread_ms, time};
use crate::scenario::mail_speed::SIGNATURES;
use crate::web_lists::{Lists, SITES, made_sites};
use crate::web_origin::{PAGES, page};
use lockgate_inspect::{Generation, Group, HoldPlan, Policy, Pools, Progress, Root, Session};
use lockgate_model::{Buffer, Database, Direction, Flow, Limits, Pool, Protocol, Transaction, TransactionId};
use lockgate_webfilter::{Address, Key, Moment, Outcome};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

/// What one push brings at most: as much as the gateway reads at once.
const CHUNK_BYTES: usize = 128 << 10;
const LOOKUPS: usize = 200_000;
/// Pages for each figure, so that the clock's own cost does not count.
const PAGES_AT_ONCE: usize = 20;

/// Prints a table for the pages and one for the look-ups.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let lists = Lists::make(&directory.join("lists"))?;
    println!("\nLists: {}", lists.words);
    let mut table = Table::new(
        "parts of a page's way, processor µs",
        &["page", "nothing looked for", "sites and phrases", "signatures", "all of them"],
    );
    let mut sources = lockgate_antivirus::Sources::new();
    sources.add("bench.ndb", mail::random_signatures(SIGNATURES).as_bytes());
    let signatures: Arc<dyn Database> = Arc::new(sources.compile().0);
    let lists: Arc<dyn Database> = Arc::new(load(&lists.directory)?);
    for bytes in PAGES {
        let page = page(bytes);
        let cell = |databases: &[&Arc<dyn Database>]| {
            let mut session = session(databases.iter().map(|database| Arc::clone(database)).collect());
            let ms = time(|| (0..PAGES_AT_ONCE).for_each(|_| inspect(&mut session, &page)));
            format!("{:.1}", ms * 1e3 / PAGES_AT_ONCE as f64)
        };
        let cells = [cell(&[]), cell(&[&lists]), cell(&[&signatures]), cell(&[&lists, &signatures])];
        table.row(&format!("{} KB", bytes >> 10), &cells);
    }
    table.print();
    look_up(&sites(&made_sites()));
    Ok(())
}

/// The lists of a directory and what they include, as the gateway loads them.
fn load(directory: &Path) -> std::io::Result<lockgate_webfilter::Database> {
    let mut sources = lockgate_webfilter::Sources::new(Key(0x1234, 0x5678));
    for name in ["bannedsitelist", "weightedphraselist", "bannedphraselist", "exceptionphraselist"] {
        let path = directory.join(name);
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let mut includes = sources.add(&path.display().to_string(), &bytes);
        while let Some(include) = includes.pop() {
            match std::fs::read(&include.path) {
                Ok(bytes) => includes.extend(sources.include(&include, &include.path, &bytes)),
                Err(error) => sources.include_failed(&include, &error.to_string()),
            }
        }
    }
    Ok(sources.compile(Arc::new(|| NOW)).0)
}

fn sites(lines: &str) -> lockgate_webfilter::Database {
    let mut sources = lockgate_webfilter::Sources::new(Key(0x1234, 0x5678));
    sources.add("bannedsitelist", lines.as_bytes());
    sources.compile(Arc::new(|| NOW)).0
}

const NOW: Moment = Moment { weekday: 0, minute: 0 };

/// Look-ups of listed sites and others, in an order that no cache knows.
fn look_up(sites: &lockgate_webfilter::Database) {
    let mut random = Random::new(7);
    let listed: Vec<String> = made_sites().lines().map(str::to_owned).collect();
    let listed: Vec<String> = (0..LOOKUPS)
        .map(|_| format!("http://{}/", listed[(random.number() % listed.len() as u64) as usize]))
        .collect();
    let others: Vec<String> = (0..LOOKUPS)
        .map(|_| format!("http://www.site{}.example/a/page.html", random.number() % 1_000_000))
        .collect();
    let mut table = Table::new(
        &format!("a look-up among {SITES} sites"),
        &["site", "asked ns", "seen ns", "asked bytes/site", "seen bytes/site"],
    );
    for (what, urls, expected) in
        [("listed", &listed, Outcome::Banned), ("not listed", &others, Outcome::NotListed)]
    {
        let addresses: Vec<Address> = urls.iter().filter_map(|url| Address::parse(url)).collect();
        let before = thread_ms();
        let found =
            addresses.iter().filter(|address| sites.decide(black_box(address), NOW).outcome == expected);
        assert_eq!(found.count(), LOOKUPS, "every site that is {what} is found to be so");
        let nanos = (thread_ms() - before) * 1e6 / LOOKUPS as f64;
        let bytes = sites.heap_bytes() as f64 / sites.entries().max(1) as f64;
        table.row(what, &["< 1000".into(), format!("{nanos:.0}"), "< 16".into(), format!("{bytes:.1}")]);
    }
    table.print();
}

fn session(databases: Vec<Arc<dyn Database>>) -> Session {
    let generation = Generation {
        number: 1,
        databases,
        policy: Arc::new(Policy::default()),
        limits: Arc::new(Limits::default()),
    };
    let pools = Pools { hold: Pool::new(64 << 20), parts: Pool::new(64 << 20) };
    let address = ([127, 0, 0, 1], 80).into();
    let listener = String::new();
    let flow = Flow {
        security: lockgate_model::Security::Clear,
        id: 1,
        protocol: Protocol::Http,
        client: address,
        server: address,
        listener,
    };
    Session::open(Arc::new(generation), &pools, flow)
}

/// A response, from its request's words to the last byte let go.
fn inspect(session: &mut Session, page: &[u8]) {
    let about = Transaction {
        id: TransactionId(1),
        direction: Direction::ToClient,
        group: String::new(),
        sender: None,
        recipients: Vec::new(),
        name: None,
        length: None,
    };
    let plan = HoldPlan::HeadAndTail { hold_bytes: 256 << 10, tail_bytes: 64 << 10 };
    let mut inspection = session.begin(&about, Arc::new(Group::new("bench")), Root::File, plan);
    inspection.about(Buffer::HttpHost, b"www.site.example");
    inspection.about(Buffer::HttpUri, b"/news/today.html");
    inspection.about(Buffer::HttpContentType, b"text/html; charset=utf-8");
    for chunk in page.chunks(CHUNK_BYTES) {
        let mut rest = chunk;
        while !rest.is_empty() {
            let consumed = inspection.push(rest).consumed;
            rest = &rest[consumed..];
        }
    }
    while inspection.finish() == Progress::Busy {}
    assert_eq!(inspection.release(b"").bytes(), page.len());
}
