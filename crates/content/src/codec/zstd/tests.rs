//! Zstandard at every cut. Rule: packed blocks are another library's making, the others our own.

use super::decoder;
use crate::decoder::{Decoder, Means};
use crate::samples::{assert_truncation_told, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{Pool, Reason};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn open() -> Box<dyn Decoder> {
    Box::new(decoder(&Pool::new(64 << 20)))
}

fn packed(content: &[u8]) -> Vec<u8> {
    compress_to_vec(content, CompressionLevel::Fastest)
}

/// One frame of such a window, in blocks of a kind: 0 as they are, 1 a byte again and again.
fn frame(window: u8, blocks: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, window];
    for (index, (kind, bytes, content)) in blocks.iter().enumerate() {
        let is_last = u32::from(index + 1 == blocks.len());
        out.extend_from_slice(&(bytes << 3 | kind << 1 | is_last).to_le_bytes()[..3]);
        out.extend_from_slice(content);
    }
    out
}

fn made(said: &[Said]) -> Option<&[u8]> {
    match said {
        [_, Said::Bytes(bytes), Said::Close, Said::End] => Some(bytes),
        [_, Said::Close, Said::End] => Some(&[]),
        _ => None,
    }
}

#[test]
fn frames_are_read_at_every_cut() {
    let text = prose(1, 3000);
    let skipped = [&[0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"xyz"].concat();
    let raw = frame(0, &[(0, 5, b"hello"), (0, 0, b""), (1, 300, b"a")]);
    let run = [&b"hello"[..], &[b'a'; 300]].concat();
    for (stream, content) in [
        (packed(&text), text.clone()),
        (packed(b""), Vec::new()),
        (packed(&[7; 900]), vec![7; 900]),
        (raw.clone(), run.clone()),
        ([&raw[..], &skipped, &packed(&text)].concat(), [&run[..], &text].concat()),
        ([&skipped[..], &raw].concat(), run.clone()),
    ] {
        let said = assert_cut_invariant(&open, &stream);
        assert_eq!(made(&said), Some(&content[..]), "{said:?}");
    }
}

#[test]
fn what_is_long_comes_through_its_window() {
    // Longer than the window, with matches from far away.
    let pieces: Vec<Vec<u8>> = (0..40).map(|n| prose(n % 7, 60_000)).collect();
    for content in [pieces.concat(), noise(3, 700_000), vec![b'x'; 3_000_000]] {
        let stream = packed(&content);
        for piece in [stream.len(), 4096] {
            let said = trace(&mut *open(), stream.chunks(piece));
            assert!(made(&said).is_some_and(|made| made == content), "{} bytes", content.len());
        }
    }
}

#[test]
fn nothing_is_cut_short_or_damaged_without_a_word() {
    let whole = packed(&prose(2, 600));
    assert_truncation_told(&open, &whole, whole.len());
    assert!(complains(&assert_cut_invariant(&open, b"plain text that is none")));
    assert!(complains(&assert_cut_invariant(&open, &[&whole[..], b"more"].concat())));
    let broken = |stream: &[u8]| match &assert_cut_invariant(&open, stream)[..] {
        [.., Said::Broken(reason), Said::End] => Some(*reason),
        _ => None,
    };
    for (stream, reason) in [
        // A block that is longer than any, and one of a kind that is not known.
        (frame(0, &[(1, (128 << 10) + 1, b"a")]), Reason::Damaged),
        (frame(0, &[(3, 1, b"a")]), Reason::Damaged),
        (frame(0, &[(2, 2, &[0, 1])]), Reason::Damaged),
        // A window beyond 8 MiB, a dictionary, a length that is not what comes.
        (frame(13 << 3 | 1, &[(0, 1, b"a")]), Reason::Held),
        (b"\x28\xb5\x2f\xfd\x21\x07\x05".to_vec(), Reason::Unsupported),
        (b"\x28\xb5\x2f\xfd\x20\x05\x09\0\0a".to_vec(), Reason::Damaged),
    ] {
        assert_eq!(broken(&stream), Some(reason), "{stream:x?}");
    }
    // A check sum that is right, in the middle and at the end; and each that is not.
    let mut summed = frame(0, &[(0, 1, b"a"), (0, 2, b"bc")]);
    summed[4] = 4;
    summed.extend_from_slice(&0xad77_0999_u32.to_le_bytes());
    for stream in [summed.clone(), [&summed[..], &frame(0, &[(0, 0, b"")])].concat()] {
        assert_eq!(made(&assert_cut_invariant(&open, &stream)), Some(&b"abc"[..]));
    }
    for bit in 0..32 {
        let mut wrong = summed.clone();
        let at = wrong.len() - 4 + bit / 8;
        wrong[at] ^= 1 << (bit % 8);
        assert_eq!(broken(&wrong), Some(Reason::Damaged), "bit {bit}");
    }
    // Whatever stands in a block, it comes to an end.
    for seed in 0..40 {
        let mut stream = packed(&prose(seed, 400));
        let at = 6 + seed as usize % (stream.len() - 6);
        stream[at] ^= 1 << (seed % 8);
        assert_cut_invariant(&open, &stream);
    }
}

#[test]
fn no_memory_is_told_and_all_of_it_given_back() {
    let stream = packed(&noise(3, 900_000));
    for bytes in [0, 100, 300_000, 450_000] {
        let means = Means { pool: Pool::new(bytes) };
        let said = trace(&mut decoder(&means.pool), [&stream[..]]);
        assert!(said.contains(&Said::Broken(Reason::Budget)), "{bytes}");
        assert_eq!(means.pool.bytes_taken(), 0);
    }
}
