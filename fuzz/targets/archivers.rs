//! RAR, LHA and ARJ. Rule: the same parts at every cut.
#![no_main]

use lockgate_model::FileType;

/// The first byte says which.
const TYPES: [FileType; 3] = [FileType::Rar, FileType::Lha, FileType::Arj];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some((first, rest)) = input.split_first() {
        lockgate_fuzz::decode(TYPES[usize::from(*first) % TYPES.len()], rest);
    }
});
