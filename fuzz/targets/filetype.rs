//! The detection of file types. Rule: the same type at every cut, and never more held than is said.
#![no_main]

use lockgate_content::filetype::{PREFIX_BYTES_MAX, Sniffer};
use lockgate_model::FileType;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    assert_eq!(sniff([content]), sniff(pieces));
});

fn sniff<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> FileType {
    let mut sniffer = Sniffer::new();
    for chunk in chunks {
        if let Some(decided) = sniffer.push(chunk) {
            assert!(sniffer.take_prefix().len() <= PREFIX_BYTES_MAX);
            return decided;
        }
    }
    sniffer.end()
}
