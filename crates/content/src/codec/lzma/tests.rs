//! LZMA alone, in zip files, and LZMA2, at every cut. Rule: what is packed is another library's making.

use super::{InZip, Lzma2, decoder};
use crate::codec::{Outcome, Run};
use crate::decoder::{Decoder, Entry};
use crate::samples::lzma::{Ending, alone, alone_with, lzma2, raw};
use crate::samples::{LONG, assert_truncation_told, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{Limits, Pool, Reason};

fn open() -> Box<dyn Decoder> {
    Box::new(decoder(&Pool::new(64 << 20)))
}

fn child(content: &[u8]) -> Vec<Said> {
    let bytes = (!content.is_empty()).then(|| Said::Bytes(content.to_vec()));
    let open = Said::Open(Entry { label: "1".into(), ..Entry::default() });
    [open].into_iter().chain(bytes).chain([Said::Close, Said::End]).collect()
}

fn contents() -> Vec<Vec<u8>> {
    vec![
        vec![],
        b"a".to_vec(),
        vec![7; LONG],
        prose(1, LONG),
        noise(2, 5000),
        [prose(3, 900), noise(4, 900)].concat(),
    ]
}

#[test]
fn alone_is_read_at_every_cut() {
    for content in contents() {
        for ending in [Ending::Size, Ending::Mark] {
            assert_eq!(assert_cut_invariant(&open, &alone(ending, &content)), child(&content));
        }
    }
    for properties in [(0, 0, 0), (4, 0, 4), (0, 4, 0), (8, 0, 2), (2, 2, 1)] {
        let content = [prose(3, 3000), noise(4, 900)].concat();
        let file = alone_with(properties, Ending::Mark, &content);
        assert_eq!(trace(&mut *open(), file.chunks(7)), child(&content), "{properties:?}");
    }
}

#[test]
fn what_is_long_comes_through_its_window() {
    let pieces: Vec<Vec<u8>> = (0..40).map(|n| prose(n % 7, 20_000)).collect();
    for content in [pieces.concat(), noise(3, 300_000), vec![b'x'; 3_000_000]] {
        let file = alone(Ending::Mark, &content);
        for piece in [file.len(), 4096, 19] {
            assert!(trace(&mut *open(), file.chunks(piece)) == child(&content), "{} bytes", content.len());
        }
    }
}

#[test]
fn nothing_is_damaged_or_cut_short_without_a_word() {
    for ending in [Ending::Size, Ending::Mark] {
        let file = alone(ending, &prose(2, 600));
        assert_truncation_told(&open, &file, file.len());
        let said = assert_cut_invariant(&open, &[&file[..], b"more"].concat());
        assert!(matches!(said[..], [.., Said::Close, Said::Anomaly(_), Said::End]), "{said:?}");
        let mut bytes = file.clone();
        for bit in 0..file.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(trace(&mut *open(), [&bytes[..]]), trace(&mut *open(), bytes.chunks(1)), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
    // As much as the head says has come, and the stream goes on with something else.
    let mut short = alone(Ending::Size, &prose(2, 600));
    short[5] -= 1;
    assert!(complains(&assert_cut_invariant(&open, &short)));
    for wrong in
        [&b"\xff\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0"[..], b"\x5d\0\0\x01\0\x05\0\0\0\0\0\0\0\x01\0\0\0\0\0"]
    {
        assert!(complains(&assert_cut_invariant(&open, wrong)));
    }
}

#[test]
fn a_window_is_held_as_far_as_it_is_granted() {
    let limits = Limits { part_held_bytes_max: 64 << 10, ..Limits::default() };
    let read = |content: &[u8]| {
        let whole = Pool::new(64 << 20);
        let pool = whole.share(&limits);
        let mut file = alone(Ending::Mark, content);
        // A dictionary of 4 GiB costs nothing by itself.
        file[1..5].copy_from_slice(&[0xff; 4]);
        let said = trace(&mut decoder(&pool), [&file[..]]);
        assert_eq!((pool.bytes_taken(), whole.bytes_taken()), (0, 0));
        said
    };
    let near = vec![prose(1, 1000); 300].concat();
    assert!(read(&near) == child(&near), "no match goes further back than what is held");
    let mut writer = noise(5, 70_000);
    writer.extend_from_within(..30_000);
    let mut file = far(&writer);
    file[1..5].copy_from_slice(&[0xff; 4]);
    let pool = Pool::new(64 << 20).share(&limits);
    let said = trace(&mut decoder(&pool), [&file[..]]);
    assert!(matches!(said[..], [_, Said::Bytes(_), Said::Broken(Reason::Held), Said::End]), "{}", said.len());
}

/// Packed with a dictionary that reaches over all of it.
fn far(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let options = lzma_rust2::LzmaOptions { dict_size: 1 << 20, ..lzma_rust2::LzmaOptions::with_preset(5) };
    let mut writer = lzma_rust2::LzmaWriter::new_use_header(Vec::new(), &options, None).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

/// Runs over pieces; what was made, what was left, and how it ended.
fn drive(
    mut run: impl FnMut(&[u8], &mut [u8]) -> Run,
    input: &[u8],
    piece: usize,
    room: usize,
) -> (Vec<u8>, usize, Outcome) {
    let (mut made, mut output, mut at) = (Vec::new(), vec![0; room], 0);
    loop {
        let chunk = &input[at..input.len().min(at + piece)];
        let step = run(chunk, &mut output);
        at += step.used;
        made.extend_from_slice(&output[..step.made]);
        let is_stuck = step.used == 0 && step.made == 0 && chunk.is_empty();
        if step.outcome != Outcome::Going || is_stuck {
            return (made, input.len() - at, step.outcome);
        }
    }
}

#[test]
fn an_entry_of_a_zip_ends_by_its_size_or_its_mark() {
    for content in contents() {
        for ending in [Ending::Size, Ending::Mark] {
            let file = [&b"\x09\x14\x05\0\x5d\0\0\x01\0"[..], &raw(ending, &content), b"PK"].concat();
            let sizes = [Some(content.len() as u64), None];
            for size in if ending == Ending::Size { &sizes[..1] } else { &sizes[1..] } {
                for (piece, room) in [(file.len(), 4096), (1, 4096), (5, 1)] {
                    let mut entry = InZip::new(&Pool::new(1 << 20), *size);
                    let seen = drive(|input, output| entry.run(input, output), &file, piece, room);
                    assert!(seen == (content.clone(), 2, Outcome::Ended), "{piece}, {room}");
                }
            }
        }
    }
    let mut entry = InZip::new(&Pool::new(1 << 20), None);
    let run = entry.run(b"\x09\x14\x04\0\x5d\0\0\x01\0", &mut [0; 9]);
    assert_eq!(run.outcome, Outcome::Failed(Reason::Damaged));
}

#[test]
fn lzma2_is_read_at_every_cut() {
    for content in contents() {
        let (dictionary, stream) = lzma2(&content);
        let file = [&stream[..], b"behind"].concat();
        for (piece, room) in [(file.len(), 4096), (1, 4096), (3, 5), (64, 1)] {
            let mut lzma2 = Lzma2::new(&Pool::new(1 << 20), dictionary).unwrap();
            let seen = drive(|input, output| lzma2.run(input, output), &file, piece, room);
            assert!(seen == (content.clone(), 6, Outcome::Ended), "{} in {piece}, {room}", content.len());
        }
    }
    assert!(Lzma2::new(&Pool::new(1 << 20), 41).is_err());
}

#[test]
fn chunks_of_lzma2_come_in_their_order() {
    let outcome = |stream: &[u8]| {
        let mut lzma2 = Lzma2::new(&Pool::new(1 << 20), 0).unwrap();
        drive(|input, output| lzma2.run(input, output), stream, stream.len(), 100)
    };
    assert_eq!(outcome(b"\x01\0\x02abc\x02\0\0d\0"), (b"abcd".to_vec(), 0, Outcome::Ended));
    let damaged = Outcome::Failed(Reason::Damaged);
    for stream in [&b"\x02\0\0a\0"[..], b"\x03", b"\x80\0\0\0\0", b"\xc0\0\0\0\0\x5d", b"\xe0\0\0\0\0\x5f\0"]
    {
        assert_eq!(outcome(stream).2, damaged, "{stream:x?}");
    }
    // Bytes as they are tell no properties: the state before them is not there.
    assert_eq!(outcome(b"\x01\0\0a\xa0\0\0\0\x05\0\0\0\0\0\0").2, damaged);
}
