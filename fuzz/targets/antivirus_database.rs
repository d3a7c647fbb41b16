//! ClamAV's database files as text. Rule: every line is loaded or reported, none is left out in silence.
#![no_main]

use lockgate_antivirus::Sources;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((names, text)) = lockgate_fuzz::halves(input) else { return };
    let mut sources = Sources::new();
    for name in names.lines().take(12) {
        sources.add(name, text);
    }
    let (database, report) = sources.compile();
    assert!(database.signatures() as u64 <= report.signatures_loaded());
    let _ = (report.signatures_failed(), database.heap_bytes(), database.strategies());
});
