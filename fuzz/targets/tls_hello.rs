//! The client's hello of TLS. Rule: the same answer at every cut, and a host name in its one form.
#![no_main]

use lockgate_proto::tls::{HelloReader, Step, WIRE_BYTES_MAX};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let whole = HelloReader::new().push(content);
    let mut reader = HelloReader::new();
    let steps = pieces.iter().map(|piece| reader.push(piece));
    let found = steps.into_iter().find(|step| *step != Step::NeedInput).unwrap_or(Step::NeedInput);
    assert_eq!(found, whole);
    match whole {
        Step::NeedInput => assert!(content.len() < WIRE_BYTES_MAX),
        Step::Refused(refusal) => assert!(!refusal.to_string().is_empty()),
        Step::Hello(hello) => {
            if let Some(name) = &hello.server_name {
                assert!(!name.is_empty() && name.len() <= 253 && !name.ends_with('.'));
                assert_eq!(*name, name.to_ascii_lowercase());
            }
            assert!(hello.version_max() >= hello.legacy_version || !hello.supported_versions.is_empty());
        }
    }
});
