//! The content coding zstd. Rule: the same parts at every cut.
#![no_main]

use lockgate_content::Coding;

libfuzzer_sys::fuzz_target!(|input: &[u8]| lockgate_fuzz::undo(Coding::Zstd, input));
