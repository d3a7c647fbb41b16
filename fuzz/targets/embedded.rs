//! The decoder for files within text: uuencode, yEnc, BinHex. Rule: the same parts at every cut.
#![no_main]

use lockgate_model::FileType;

libfuzzer_sys::fuzz_target!(|input: &[u8]| lockgate_fuzz::decode(FileType::Text, input));
