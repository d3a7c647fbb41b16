//! LZW at every cut. Rule: what a writer of our own makes as compress(1) does, right and bent.

use super::*;
use crate::decoder::{Decoder, Entry};
use crate::samples::{LONG, children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use std::collections::HashMap;

fn open() -> Box<dyn Decoder> {
    Box::new(decoder(&Pool::new(1 << 20)))
}

/// When the writer clears its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clears {
    Never,
    /// After so many codes.
    After(usize),
}

/// Writes codes in groups of eight.
#[derive(Default)]
struct Codes {
    bytes: Vec<u8>,
    bits: usize,
    in_group: usize,
}

impl Codes {
    fn put(&mut self, code: u32, width: u32) {
        for bit in 0..width {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= ((code >> bit & 1) as u8) << (self.bits % 8);
            self.bits += 1;
        }
        self.in_group += 1;
    }

    fn end_group(&mut self, width: u32) {
        while !self.in_group.is_multiple_of(8) {
            self.put(0, width);
        }
        self.in_group = 0;
    }
}

fn compress(content: &[u8], width_max: u32, clears: Clears) -> Vec<u8> {
    let (mut codes, mut width, mut next, mut written) = (Codes::default(), 9, 257, 0);
    let mut table: HashMap<(u32, u8), u32> = HashMap::new();
    let mut prefix: Option<u32> = None;
    for byte in content {
        let Some(before) = prefix else {
            prefix = Some((*byte).into());
            continue;
        };
        if let Some(code) = table.get(&(before, *byte)) {
            prefix = Some(*code);
            continue;
        }
        codes.put(before, width);
        written += 1;
        prefix = Some((*byte).into());
        // A reader knows of an entry one code later than its writer.
        if next >= 1 << width && width < width_max {
            codes.end_group(width);
            width += 1;
        }
        if next < 1 << width_max {
            table.insert((before, *byte), next);
            next += 1;
        }
        if clears == Clears::After(written) {
            codes.put(256, width);
            codes.end_group(width);
            table.clear();
            (width, next, written) = (9, 257, 0);
        }
    }
    if let Some(code) = prefix {
        codes.put(code, width);
    }
    [&[0x1f, 0x9d, 0x80 | width_max as u8][..], &codes.bytes].concat()
}

fn child(content: &[u8]) -> Vec<Said> {
    let bytes = (!content.is_empty()).then(|| Said::Bytes(content.to_vec()));
    let open = Said::Open(Entry { label: "1".into(), ..Entry::default() });
    [open].into_iter().chain(bytes).chain([Said::Close, Said::End]).collect()
}

#[test]
fn every_width_and_with_clears() {
    for content in [vec![], b"a".to_vec(), vec![7; 3000], prose(1, LONG), noise(2, LONG)] {
        for width_max in 10..=16 {
            for clears in [Clears::Never, Clears::After(1), Clears::After(203), Clears::After(1000)] {
                let file = compress(&content, width_max, clears);
                let said = trace(&mut *open(), [&file[..]]);
                assert!(said == child(&content), "{width_max} {clears:?} {}", content.len());
            }
        }
    }
}

#[test]
fn cuts() {
    for content in [prose(3, 5000), noise(4, 2000)] {
        for clears in [Clears::Never, Clears::After(301)] {
            let file = compress(&content, 11, clears);
            assert!(assert_cut_invariant(&open, &file) == child(&content));
        }
    }
}

#[test]
fn what_compress_made() {
    // compress -c of "abababab".
    let file = b"\x1f\x9d\x90\x61\xc4\x04\x1c\x28\x06";
    let said = assert_cut_invariant(&open, file);
    assert_eq!(children(&said), [("1".into(), b"abababab".to_vec())]);
}

#[test]
fn nothing_damaged_passes_in_silence() {
    let file = compress(&prose(5, 400), 12, Clears::After(50));
    for bit in 0..file.len() * 8 {
        let mut bent = file.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let whole = trace(&mut *open(), [&bent[..]]);
        assert_eq!(trace(&mut *open(), bent.chunks(1)), whole, "bit {bit}");
    }
    for bent in [&b""[..], b"\x1f", b"\x1f\x9d", b"\x1f\x9d\x91", b"\x1f\x9d\xf0abc", b"\x1f\x9d\x90\xff\xff"]
    {
        assert!(complains(&assert_cut_invariant(&open, bent)), "{bent:?}");
    }
    let said = trace(&mut decoder(&Pool::new(1000)), [&file[..]]);
    assert!(said.contains(&Said::Broken(Reason::Budget)));
}
