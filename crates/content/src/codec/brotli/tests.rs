//! Brotli at every cut. Rule: streams of our own making, which are not compressed.

use super::decoder;
use crate::decoder::{Decoder, Means};
use crate::samples::{assert_truncation_told, complains, noise};
use crate::trace::{Said, assert_cut_invariant};
use lockgate_model::{Pool, Reason};

fn open() -> Box<dyn Decoder> {
    Box::new(decoder(&Pool::new(64 << 20)))
}

/// One block (RFC 7932 section 9.2) in a window of 64 KiB.
fn stored(content: &[u8]) -> Vec<u8> {
    let head = ((content.len() as u32 - 1) << 4 | 1 << 20).to_le_bytes();
    [&head[..3], content, &[3]].concat()
}

#[test]
fn a_stream_and_what_stands_behind_it() {
    for content in [b"a".to_vec(), noise(1, 3000)] {
        let said = assert_cut_invariant(&open, &stored(&content));
        assert!(
            matches!(&said[..], [_, Said::Bytes(b), Said::Close, Said::End] if *b == content),
            "{said:?}"
        );
        let said = assert_cut_invariant(&open, &[&stored(&content), &b"more"[..]].concat());
        assert!(matches!(said[..], [.., Said::Close, Said::Anomaly(_), Said::End]), "{said:?}");
    }
    assert!(matches!(assert_cut_invariant(&open, b"\x06")[..], [_, Said::Close, Said::End]));
}

#[test]
fn nothing_is_cut_short_or_damaged_without_a_word() {
    let whole = stored(&noise(2, 600));
    assert_truncation_told(&open, &whole, whole.len());
    assert!(complains(&assert_cut_invariant(&open, b"plain text that is none")));
}

#[test]
fn no_memory_is_told_and_all_of_it_given_back() {
    for bytes in [0, 100, 4000, 8000] {
        let means = Means { pool: Pool::new(bytes) };
        let said = crate::trace::trace(&mut decoder(&means.pool), [&stored(&noise(3, 9000))[..]]);
        assert!(said.contains(&Said::Broken(Reason::Budget)), "{bytes}");
        assert_eq!(means.pool.bytes_taken(), 0);
    }
}
