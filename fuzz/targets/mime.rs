//! The mime decoder. Rule: the same parts at every cut.
#![no_main]

use lockgate_model::FileType;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    lockgate_fuzz::decode(FileType::Mail, input);
    lockgate_fuzz::form(input);
});
