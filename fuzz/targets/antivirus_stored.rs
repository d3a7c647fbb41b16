//! A stored database of which bytes are others, with the checksum that fits them. Rule: it is refused, or it can be scanned with.
#![no_main]

use lockgate_antivirus::{Database, Sources};
use lockgate_fuzz::virus;
use lockgate_model::FileType;
use std::sync::{Arc, LazyLock};

static STORED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut sources = Sources::new();
    virus::SIGNATURES.iter().for_each(|(name, text)| sources.add(name, text.as_bytes()));
    sources.add("a.cdb", b"C.Exe:CL_TYPE_ZIP:*:\\.exe$:*:10-20:0:1:*:*\nno signature\n");
    sources.add("a.cbc", b"");
    let (database, report) = sources.compile();
    let mut bytes = Vec::new();
    database.store(&report, &mut bytes).expect("memory takes it");
    bytes
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    // How many bytes are others, for each where it is and what it becomes, and what is scanned.
    let Some((count, rest)) = input.split_first() else { return };
    let Some((changes, content)) = rest.split_at_checked(usize::from(*count % 32) * 4) else { return };
    let mut bytes = STORED.clone();
    let payload = bytes.len() - 4;
    for [low, middle, high, value] in changes.as_chunks().0 {
        let at = u32::from_le_bytes([*low, *middle, *high, 0]) as usize;
        bytes[at % payload] = *value;
    }
    let sum = crc32fast::hash(&bytes[..payload]).to_le_bytes();
    bytes[payload..].copy_from_slice(&sum);
    let Ok((database, _)) = Database::load(&mut bytes.as_slice(), bytes.len() as u64) else { return };
    let database = Arc::new(database);
    for detected in [FileType::Data, FileType::Pe, FileType::Html] {
        virus::hits(&database, content.chunks(100), detected);
    }
});
