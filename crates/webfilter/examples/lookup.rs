//! Loads list files, says what was understood, how long that took and what it takes; then looks up names of theirs and others.
//!
//! `cargo run --release -p lockgate-webfilter --example lookup -- FILE...`

use lockgate_webfilter::{Address, Key, Moment, Outcome, Sources};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// How many of each sort are looked up.
const LOOKUPS: usize = 200_000;

fn main() -> std::io::Result<()> {
    let mut sources = Sources::new(Key(0x1234, 0x5678));
    let mut lines: Vec<String> = Vec::new();
    let started = Instant::now();
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        sources.add(&path, &bytes);
        lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
    }
    let now = Moment { weekday: 0, minute: 0 };
    let (database, report) = sources.compile(Arc::new(move || now));
    println!(
        "{} lines loaded, {} failed, in {:.0?}; {} entries, {} expressions, {} filters, {:.2} bytes an entry",
        report.lines_loaded(),
        report.lines_failed(),
        started.elapsed(),
        database.entries(),
        database.patterns(),
        database.filters(),
        database.heap_bytes() as f64 / database.entries().max(1) as f64,
    );
    let step = (lines.len() / LOOKUPS).max(1);
    let mut listed: Vec<String> =
        lines.into_iter().step_by(step).filter(|line| !line.starts_with('#')).collect();
    shuffle(&mut listed);
    let others: Vec<String> = (0..LOOKUPS)
        .map(|n| format!("www.site{}.other{}.example/a/page.html?id={n}", n % 7919, n % 313))
        .collect();
    for (what, urls) in [("listed", &listed), ("not listed", &others)] {
        let addresses: Vec<Address> = urls.iter().filter_map(|url| Address::parse(url)).collect();
        let started = processor_nanos();
        let count =
            addresses.iter().filter(|a| database.decide(a, now).outcome != Outcome::NotListed).count();
        let nanos = (processor_nanos() - started) as f64 / addresses.len().max(1) as f64;
        println!("{what}: {} looked up, {count} found, {nanos:.0} ns each", addresses.len());
        let started = processor_nanos();
        for url in urls {
            black_box(Address::parse(black_box(url)));
        }
        println!(
            "  and {:.0} ns to bring a URL to its form",
            (processor_nanos() - started) as f64 / urls.len().max(1) as f64
        );
    }
    Ok(())
}

/// Nanoseconds that this process has had a processor, where Linux says so: others may be at work beside it.
fn processor_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

/// Neighbours in a list are neighbours in no cache of the real world.
fn shuffle(lines: &mut [String]) {
    let mut state = 88_172_645_463_325_252_u64;
    for at in (1..lines.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        lines.swap(at, (state % (at as u64 + 1)) as usize);
    }
}
