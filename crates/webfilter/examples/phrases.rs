//! Loads phrase lists and what they include, then says what a page comes to, and how long that takes.
//!
//! `cargo run --release -p lockgate-webfilter --example phrases -- PAGE LIST...`

use lockgate_webfilter::{Key, Moment, Sources};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the page is read; the fastest counts, since other programs may run beside.
const ROUNDS: usize = 300;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let page = std::fs::read(arguments.next().unwrap_or_default())?;
    let mut sources = Sources::new(Key(1, 2));
    for path in arguments {
        let mut includes = sources.add(&path, &std::fs::read(&path)?);
        while let Some(include) = includes.pop() {
            match std::fs::read(&include.path) {
                Ok(bytes) => includes.extend(sources.include(&include, &include.path, &bytes)),
                Err(error) => sources.include_failed(&include, &error.to_string()),
            }
        }
    }
    let now = Moment { weekday: 0, minute: 0 };
    let started = Instant::now();
    let (database, report) = sources.compile(Arc::new(move || now));
    println!(
        "{} lines loaded, {} failed, in {:.0?}; {} KiB",
        report.lines_loaded(),
        report.lines_failed(),
        started.elapsed(),
        database.heap_bytes() >> 10,
    );
    let mut least = Duration::MAX;
    let evict: usize = std::env::var("EVICT").ok().and_then(|v| v.parse().ok()).unwrap_or(0);
    let mut other = vec![1u8; evict];
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        for at in (0..other.len()).step_by(64) {
            other[at] = other[at].wrapping_add(1);
        }
        std::hint::black_box(&mut other);
        let started = Instant::now();
        std::hint::black_box(database.score(&page, None, now));
        let e = started.elapsed();
        all.push(e);
        least = least.min(e);
    }
    all.sort();
    if evict > 0 {
        least = all[all.len() / 4];
    }
    let score = database.score(&page, None, now);
    println!("{} points by {} phrases: {:?}", score.points, score.terms.len(), score.outcome);
    let nanos = least.as_nanos() as f64;
    println!("{} bytes in {:.1} µs: {:.2} ns a byte", page.len(), nanos / 1e3, nanos / page.len() as f64);
    Ok(())
}
