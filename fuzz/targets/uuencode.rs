//! The uuencode decoder for what is pasted into text. Rule: the same parts at every cut.
#![no_main]

use lockgate_content::mime::UuencodeDecoder;
use lockgate_content::trace::trace;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let whole = trace(&mut UuencodeDecoder::new(), [content]);
    assert_eq!(whole, trace(&mut UuencodeDecoder::new(), pieces));
});
