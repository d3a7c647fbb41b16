//! What phrases make of pages, and how fast: `phrases LIST,LIST… PAGE…`. Rule: one core, its own time.
//!
//! Prints the points of each page; with `--speed`, the time for each over many readings.

use lockgate_webfilter::{Include, Key, Moment, Sources};
use std::path::Path;
use std::sync::Arc;

const ROUNDS: u32 = 1000;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_timed = arguments.iter().any(|argument| argument == "--speed");
    arguments.retain(|argument| argument != "--speed");
    let (lists, pages) = arguments.split_first().expect("phrases LIST,LIST... PAGE...");
    let mut sources = Sources::new(Key(1, 2));
    for list in lists.split(',') {
        let bytes = std::fs::read(list).expect("a list that can be read");
        let includes = sources.add(list, &bytes);
        follow(&mut sources, Path::new(list), includes);
    }
    let now = Moment { weekday: 0, minute: 0 };
    let (database, report) = sources.compile(Arc::new(move || now));
    eprintln!(
        "{} lines, {} not understood, {} phrases, {} KiB",
        report.lines_loaded(),
        report.lines_failed(),
        database.phrase_count(),
        database.heap_bytes() >> 10
    );
    for failure in &report.failures {
        eprintln!("{failure}");
    }
    let (mut bytes, started) = (0, busy_seconds());
    for name in pages {
        let page = std::fs::read(name).expect("a page that can be read");
        let rounds = if is_timed { ROUNDS } else { 1 };
        for _ in 1..rounds {
            std::hint::black_box(database.score(&page, None, now));
        }
        bytes += page.len() as u64 * u64::from(rounds);
        let score = database.score(&page, None, now);
        if !is_timed {
            println!("{} {} {}", score.points, score.outcome.name(), name);
        }
        if std::env::var_os("TERMS").is_some() {
            for term in &score.terms {
                println!("  {:?} x{} {:?} {}:{}", term.points, term.times, term.phrase, term.file, term.line);
            }
        }
    }
    if is_timed {
        let seconds = busy_seconds() - started;
        println!(
            "{:.0} MB/s, {:.1} us for 40 KiB",
            bytes as f64 / 1e6 / seconds,
            seconds * 1e6 * 40960.0 / bytes as f64
        );
    }
}

/// How long this thread has been running: other programs on the machine don't count.
fn busy_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedule.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn follow(sources: &mut Sources, by: &Path, includes: Vec<Include>) {
    for include in includes {
        let path = by.parent().unwrap_or(Path::new("")).join(&include.path);
        match std::fs::read(&path) {
            Ok(bytes) => {
                let below = sources.include(&include, &path.display().to_string(), &bytes);
                follow(sources, &path, below);
            }
            Err(error) => sources.include_failed(&include, &error.to_string()),
        }
    }
}
