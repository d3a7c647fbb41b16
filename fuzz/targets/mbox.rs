//! The decoder of mailboxes. Rule: the same messages at every cut.
#![no_main]

use lockgate_model::FileType;

libfuzzer_sys::fuzz_target!(|input: &[u8]| lockgate_fuzz::decode(FileType::Mbox, input));
