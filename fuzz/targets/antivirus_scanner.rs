//! The virus engine over parts of an input. Rule: the same hits at every cut.
#![no_main]

use lockgate_antivirus::Database;
use lockgate_fuzz::virus;
use lockgate_model::FileType;
use std::sync::{Arc, LazyLock};

static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| Arc::new(virus::database()));

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((kind, input)) = input.split_first() else { return };
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let detected = FileType::ALL[usize::from(*kind) % FileType::ALL.len()];
    assert_eq!(virus::hits(&DATABASE, [content], detected), virus::hits(&DATABASE, pieces, detected));
});
