//! Patterns of the input's own in the rest of it. Rule: the same matches at every cut.
#![no_main]

use lockgate_matcher::{Anchor, Case, CountedBy, Database, Interest, Match, PatternSet, Wildcard};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((patterns, stream)) = lockgate_fuzz::halves(input) else { return };
    let Some((stream, pieces)) = lockgate_fuzz::cut(stream) else { return };
    let Some(database) = compile(patterns) else { return };
    let _ = (database.strategies(), database.heap_bytes(), database.pattern_count());
    assert_eq!(matches(&database, [stream]), matches(&database, pieces));
});

/// A pattern a line; a capital letter before it says how it is meant.
fn compile(lines: &str) -> Option<Database> {
    let mut set = PatternSet::new();
    for line in lines.lines().take(50) {
        let mut counted_by = CountedBy::Starts;
        let (case, anchor, text) = match line.as_bytes().first()? {
            b'X' => {
                counted_by = CountedBy::Ends;
                (Case::Sensitive, Anchor::Anywhere, &line[1..])
            }
            b'I' => (Case::Insensitive, Anchor::Anywhere, &line[1..]),
            b'W' => (Case::Sensitive, Anchor::Within { first: 3, last: 300 }, &line[1..]),
            b'Z' => (Case::Sensitive, Anchor::Within { first: 0, last: 0 }, &line[1..]),
            _ => (Case::Sensitive, Anchor::Anywhere, line),
        };
        if let Ok(wildcard) = Wildcard::parse(text) {
            let _ = set.add(&wildcard.counted_by(counted_by), case, anchor);
        }
    }
    if set.is_empty() {
        return None;
    }
    set.compile().ok()
}

fn matches<'a>(database: &Database, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Match> {
    let mut scanner = database.scanner();
    let mut found = Vec::new();
    let mut take = |hit| {
        found.push(hit);
        Interest::More
    };
    for chunk in chunks {
        scanner.scan(database, chunk, &mut take);
    }
    scanner.finish(database, &mut take);
    // In what order hits of one place come is not part of the promise between calls.
    found.sort();
    found
}
