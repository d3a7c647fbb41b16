//! bzip2 at every cut, against the library. Rule: streams that the library wrote.

use super::Bzip2Decoder;
use crate::decoder::{Decoder, Event, More, SCRATCH_BYTES_MIN};
use crate::samples::{LONG, assert_flips_told, assert_truncation_told, children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use bzip2::Compression;
use bzip2::read::{BzEncoder, MultiBzDecoder};
use lockgate_model::{Pool, Reason};
use std::io::Read;

fn open() -> Box<dyn Decoder> {
    Box::new(Bzip2Decoder::new(&Pool::new(16 << 20)))
}

fn compress(content: &[u8], level: u32) -> Vec<u8> {
    let mut file = Vec::new();
    BzEncoder::new(content, Compression::new(level)).read_to_end(&mut file).unwrap();
    file
}

fn assert_reads(file: &[u8], content: &[u8]) {
    let said = trace(&mut *open(), [file]);
    assert!(children(&said) == [("1".into(), content.to_vec())], "content of {} bytes", content.len());
    assert_eq!(said[said.len() - 2..], [Said::Close, Said::End]);
}

#[test]
fn small_files_at_every_cut() {
    let runs: Vec<u8> = (0..300_usize).flat_map(|i| vec![i as u8; i % 9]).collect();
    for content in
        [vec![], b"a".to_vec(), vec![7; 4], vec![7; 259], vec![7; 700], runs, prose(1, 3000), noise(2, 500)]
    {
        let said = assert_cut_invariant(&open, &compress(&content, 9));
        assert_eq!(children(&said), [("1".into(), content)]);
    }
}

#[test]
fn blocks_of_every_level() {
    let content = [prose(1, 250_000), noise(2, 60_000), vec![0; 400_000], prose(3, 50_000)].concat();
    for level in 1..=9 {
        assert_reads(&compress(&content, level), &content);
    }
    assert_reads(&compress(&vec![b'x'; 60 << 20], 9), &vec![b'x'; 60 << 20]);
}

#[test]
fn streams_make_one_file() {
    let two = [compress(b"one ", 1), compress(&prose(1, LONG), 9)].concat();
    let content = [b"one ".to_vec(), prose(1, LONG)].concat();
    let said = assert_cut_invariant(&open, &two);
    assert_eq!(children(&said), [("1".into(), content)]);
    assert!(!complains(&said));
    let padded = [compress(b"one", 1), vec![0; 100]].concat();
    assert_eq!(assert_cut_invariant(&open, &padded).len(), 4);
    for garbage in [&b"x"[..], b"B", b"BZ", b"BZx", b"\0\0x"] {
        let said = assert_cut_invariant(&open, &[&compress(b"one", 1), garbage].concat());
        assert!(matches!(said[..], [_, _, Said::Close, Said::Anomaly(_), Said::End]), "{garbage:?}");
    }
}

#[test]
fn truncated_and_flipped() {
    let file = compress(&prose(5, 120), 9);
    assert_truncation_told(&open, &file, file.len());
    assert_flips_told(&open, &file);
    let two = [compress(b"one", 9), file].concat();
    assert!(complains(&trace(&mut *open(), [&two[..two.len() - 1]])));
}

#[test]
fn damaged_as_the_library_says() {
    let file = compress(&[prose(1, 4000), noise(2, 400)].concat(), 1);
    for seed in 0..400 {
        let mut bytes = file.clone();
        for pair in noise(seed + 1, 4).chunks(2) {
            let at = usize::from(pair[0]) * bytes.len() / 256;
            bytes[at] ^= pair[1];
        }
        let said = trace(&mut *open(), [&bytes[..]]);
        let mut content = Vec::new();
        if MultiBzDecoder::new(&bytes[..]).read_to_end(&mut content).is_ok() && !content.is_empty() {
            assert_eq!(children(&said), [("1".into(), content)], "seed {seed}");
        } else {
            assert!(complains(&said), "seed {seed}: {said:?}");
        }
    }
}

#[test]
fn memory_is_drawn_and_given_back() {
    let content = noise(1, 900_000);
    let file = compress(&content, 9);
    let pool = Pool::new(16 << 20);
    let mut decoder = Bzip2Decoder::new(&pool);
    assert_eq!(pool.bytes_taken(), 0);
    let mut scratch = [0; SCRATCH_BYTES_MIN];
    let mut most = 0;
    let mut input = &file[..];
    loop {
        let step = decoder.step(input, More::Ended, &mut scratch);
        input = &input[step.consumed..];
        most = most.max(pool.bytes_taken());
        if step.event == Event::End {
            break;
        }
    }
    assert!((3_600_000..3_800_000).contains(&most), "{most}");
    assert_eq!(pool.bytes_taken(), 0);

    let small = compress(b"small", 9);
    let said = trace(&mut Bzip2Decoder::new(&Pool::new(128 << 10)), [&small[..]]);
    assert!(!complains(&said));
    let said = trace(&mut Bzip2Decoder::new(&Pool::new(1 << 20)), [&file[..]]);
    assert!(said.contains(&Said::Broken(Reason::Budget)));
    let said = trace(&mut Bzip2Decoder::new(&Pool::new(100)), [&file[..]]);
    assert_eq!(said, [Said::Incomplete(Reason::Budget), Said::End]);
}

#[test]
fn no_step_works_long() {
    let file = [compress(&vec![0; 40 << 20], 9), compress(&noise(1, 900_000), 9)].concat();
    let mut decoder = open();
    let mut scratch = [0; SCRATCH_BYTES_MIN];
    let mut input = &file[..];
    loop {
        let step = decoder.step(input, More::Ended, &mut scratch);
        input = &input[step.consumed..];
        let given = if let Event::Output(length) = step.event { length } else { 0 };
        assert!(decoder.worked_nanos() < 400_000, "{}", decoder.worked_nanos());
        assert!(step.consumed <= 32 << 10 && given <= scratch.len());
        if step.event == Event::End {
            break;
        }
    }
}
