//! Brotli at every cut. Rule: streams of our own making, of content of our own.

use super::decoder;
use crate::decoder::{Decoder, Means};
use crate::samples::{assert_truncation_told, complains, noise};
use crate::trace::{Said, assert_cut_invariant};
use lockgate_model::{Pool, Reason};

/// [`TEXT`] as the reference's encoder packs it in its smallest window: commands with literals, copies and words.
const PACKED: [u8; 76] = [
    0xa1, 0x70, 0x04, 0x00, 0x23, 0xbb, 0x0d, 0x53, 0x5d, 0x48, 0xe3, 0x5c, 0xb1, 0x25, 0x83, 0xd5, 0x15,
    0x61, 0xa0, 0x83, 0x23, 0x38, 0x18, 0xae, 0xca, 0x03, 0x8c, 0xa8, 0xb3, 0xe6, 0x36, 0xb6, 0x5c, 0x82,
    0xbb, 0x1d, 0x14, 0xe9, 0x2a, 0x17, 0xdd, 0x92, 0xfe, 0x34, 0x01, 0x45, 0xab, 0x7b, 0x73, 0x6f, 0xbf,
    0xbb, 0x47, 0x8f, 0x99, 0x73, 0x2e, 0x6d, 0xe2, 0x46, 0x04, 0x37, 0xd8, 0x86, 0x3d, 0x31, 0xbe, 0x1a,
    0xf3, 0x02, 0x8b, 0x9a, 0x47, 0xd6, 0x22, 0x04,
];
const TEXT: &[u8] =
    b"one and one and two and three, one and one and the other one; what was said was said again and again, \
    in the same words and others: 1234567890.";

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

/// The library says what is wrong later or sooner, as the input is cut, and then keeps back what it decoded before.
#[test]
fn damage_is_the_same_at_every_cut() {
    let said = assert_cut_invariant(&open, &PACKED);
    assert!(matches!(&said[..], [_, Said::Bytes(b), Said::Close, Said::End] if b == TEXT), "{said:?}");
    let mut stream = PACKED;
    for bit in 0..PACKED.len() * 8 {
        stream[bit / 8] ^= 1 << (bit % 8);
        assert_cut_invariant(&open, &stream);
        stream[bit / 8] ^= 1 << (bit % 8);
    }
    for seed in 0..200 {
        let drawn = noise(seed, 6);
        let (mut stream, at) = (PACKED, |n: usize| usize::from(drawn[n]) % PACKED.len());
        (stream[at(0)], stream[at(1)]) = (drawn[2], drawn[3]);
        assert_cut_invariant(&open, &stream[..PACKED.len() - at(4) / 2]);
    }
    // A block as it is, then an end whose padding is not zero: the bytes come out, then the word.
    let stream = [&stored(b"whole")[..8], &[0xff; 3]].concat();
    let said = assert_cut_invariant(&open, &stream);
    assert!(
        matches!(&said[..], [_, Said::Bytes(b), Said::Broken(Reason::Damaged), Said::End] if b == b"whole"),
        "{said:?}"
    );
}

/// The library asks for input though not all that it decoded had room.
#[test]
fn what_was_decoded_before_the_input_ended_comes_out() {
    // More bytes than fit at once, and then the beginning of a block that never comes.
    let begun = [
        0x02, 0x20, 0x1e, 0x0b, 0x04, 0x72, 0x03, 0x2a, 0x04, 0x72, 0x03, 0x2a, 0x02, 0x20, 0x02, 0x00, 0x03,
        0x10, 0x01, 0x7f, 0x3c, 0x2a, 0x02, 0x20, 0x1e, 0x0b, 0x04, 0x72, 0x03, 0x2a, 0x04, 0x72, 0x03, 0x2a,
        0x02, 0x20, 0x02, 0x24, 0x54, 0x00, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x10, 0x0c, 0x00, 0x02,
        0x20, 0x02, 0x24, 0x24,
    ];
    let said = assert_cut_invariant(&open, &begun);
    assert!(
        matches!(&said[..], [_, Said::Bytes(b), Said::Broken(Reason::Truncated), Said::End] if b.len() > 4096),
        "{said:?}"
    );
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
