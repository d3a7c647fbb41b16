//! What compress(1) and Microsoft's programs pack: `.Z`, cabinets, compiled help, SZDD and KWAJ. Rule: the same parts at every cut.
#![no_main]

use lockgate_model::FileType;

/// The first byte says which.
const TYPES: [FileType; 4] = [FileType::Compress, FileType::Cab, FileType::Chm, FileType::Szdd];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some((first, rest)) = input.split_first() {
        lockgate_fuzz::decode(TYPES[usize::from(*first) % TYPES.len()], rest);
    }
});
