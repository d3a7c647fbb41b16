//! 7z, cpio, ar and RPM, the streams of LZMA, and what carries archives: programs, scripts and discs. Rule: the same parts at every cut.
#![no_main]

use lockgate_fuzz::CUT_BYTES;
use lockgate_model::FileType;

/// The first byte says which. Data is a disc, of which the fuzzer makes what stands behind its first 32 KiB.
const TYPES: [FileType; 10] = [
    FileType::Xz,
    FileType::Lzma,
    FileType::Lzip,
    FileType::SevenZip,
    FileType::Cpio,
    FileType::Ar,
    FileType::Rpm,
    FileType::Pe,
    FileType::Data,
    FileType::Script,
];
const SYSTEM_AREA: [u8; 32 << 10] = [0; 32 << 10];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else { return };
    let file_type = TYPES[usize::from(*first) % TYPES.len()];
    match rest.split_at_checked(CUT_BYTES) {
        Some((cuts, disc)) if file_type == FileType::Data => {
            lockgate_fuzz::decode(file_type, &[cuts, &SYSTEM_AREA, disc].concat());
        }
        _ => lockgate_fuzz::decode(file_type, rest),
    }
});
