//! Web lists of every kind. Rule: every line is loaded or reported, the same each time, and whatever a list says, a URL has
//! its answer.
#![no_main]

use lockgate_webfilter::{Address, Database, Key, Kind, Moment, Report, Sources};
use std::sync::Arc;

/// How many files are made of an input, and how many bytes each has: what a line does, it does in a short list too.
const FILES_MAX: usize = 2;
const TEXT_BYTES_MAX: usize = 2048;
/// How many repetitions of expressions are counted ones. More make expressions of megabytes, of which a few a second can be
/// compiled: that those are refused is for a unit test to show.
const REPETITIONS_MAX: usize = 1;
/// One input in so many is read twice.
const READ_TWICE: usize = 8;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((names, text)) = lockgate_fuzz::halves(input) else { return };
    if text.len() > TEXT_BYTES_MAX || is_costly(text) {
        return;
    }
    let _ = Kind::of_content(text);
    let (database, report) = compile(names, text);
    let again = text.len().is_multiple_of(READ_TWICE).then(|| compile(names, text));
    assert!(again.as_ref().is_none_or(|(_, again)| report == *again));
    let lines = text.split(|c| *c == b'\n').count() as u64;
    // An included file is the same again, once for each of at most a few files.
    assert!(report.lines_loaded() + report.lines_failed() <= lines * 25, "each line counts once");
    // Phrases have tables of 64 KiB.
    assert!(database.heap_bytes() <= (80 << 10) + text.len() * 2000);
    let now = Moment { weekday: 3, minute: 700 };
    for line in text.split(|c| *c == b'\n').take(20) {
        let Some(address) = Address::parse(&String::from_utf8_lossy(line)) else { continue };
        if let Some((again, _)) = &again {
            assert_eq!(database.decide(&address, now), again.decide(&address, now));
        }
        let decision = database.decide_type(&address, "video/mpeg", now);
        assert_eq!(decision.by.is_some(), decision.outcome.name() != "not listed");
    }
});

fn is_costly(text: &[u8]) -> bool {
    let counts = text.windows(4).filter(|window| window[0] == b'{' && window[1].is_ascii_digit());
    let large = counts.clone().filter(|window| window[3].is_ascii_digit());
    large.count() > 0 || counts.count() > REPETITIONS_MAX
}

fn compile(names: &str, text: &[u8]) -> (Database, Report) {
    let mut sources = Sources::new(Key(1, 2));
    for name in names.lines().take(FILES_MAX) {
        let includes = sources.add(name, text);
        if let Some(include) = includes.first() {
            // Never deeper than one: what includes what is the loader's care.
            let below = sources.include(include, &include.path, text);
            below.iter().for_each(|below| sources.include_failed(below, "too deep"));
        }
    }
    sources.compile(Arc::new(|| Moment { weekday: 3, minute: 700 }))
}
