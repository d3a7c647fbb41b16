//! The virus engine over parts of an input. Rule: the same hits at every cut.
#![no_main]

use lockgate_antivirus::{Database, Sources};
use lockgate_fuzz::virus;
use lockgate_model::FileType;
use std::sync::{Arc, LazyLock};

static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut sources = Sources::new();
    virus::SIGNATURES.iter().for_each(|(name, text)| sources.add(name, text.as_bytes()));
    let (database, report) = sources.compile();
    assert_eq!(report.signatures_failed(), 0);
    Arc::new(database)
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((kind, input)) = input.split_first() else { return };
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let detected = FileType::ALL[usize::from(*kind) % FileType::ALL.len()];
    assert_eq!(virus::hits(&DATABASE, [content], detected), virus::hits(&DATABASE, pieces, detected));
});
