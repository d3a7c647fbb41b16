//! SZDD and KWAJ at every cut. Rule: files of our own making, right and bent.

use super::*;
use crate::decoder::Decoder;
use crate::samples::{LONG, assert_truncation_told, children, complains, deflate, prose};
use crate::trace::{Said, assert_cut_invariant, trace};

fn open() -> Box<dyn Decoder> {
    Box::new(decoder(&Pool::new(1 << 20)))
}

/// Copies of what was there just before, where there is any.
fn lzss(start: usize, content: &[u8]) -> Vec<u8> {
    let (mut out, mut items, mut kinds, mut count, mut at) = (Vec::new(), Vec::new(), 0_u8, 0, 0);
    while at < content.len() {
        let found = (1..=at.min(4000)).find_map(|back| {
            let same =
                (0..18).take_while(|n| content.get(at + n) == Some(&content[at - back + n % back])).count();
            let length = same.min(content.len() - at);
            (length >= 3).then_some((back, length))
        });
        match found {
            Some((back, length)) => {
                let place = (start + at - back) % WINDOW_BYTES;
                items.extend_from_slice(&[place as u8, (place >> 4 & 0xf0) as u8 | (length - 3) as u8]);
                at += length;
            }
            None => {
                kinds |= 1 << count;
                items.push(content[at]);
                at += 1;
            }
        }
        count += 1;
        if count == 8 || at == content.len() {
            out.push(kinds);
            out.append(&mut items);
            (kinds, count) = (0, 0);
        }
    }
    out
}

fn szdd(content: &[u8]) -> Vec<u8> {
    let size = (content.len() as u32).to_le_bytes();
    [SZDD, b"e", &size, &lzss(SZDD_START, content)].concat()
}

fn kwaj(method: u16, content: &[u8]) -> Vec<u8> {
    let packed = match method {
        1 => content.iter().map(|byte| !byte).collect(),
        2 => lzss(KWAJ_START, content),
        4 => {
            let block = [b"CK", &deflate(content)[..]].concat();
            [&(block.len() as u16).to_le_bytes()[..], &block].concat()
        }
        _ => content.to_vec(),
    };
    let size = (content.len() as u32).to_le_bytes();
    [KWAJ, &method.to_le_bytes(), &[25, 0], &[9, 0], &size, b"A.EXE\0\0", &packed].concat()
}

#[test]
fn every_way() {
    for content in [b"a".to_vec(), prose(1, 3000), vec![b' '; 100]] {
        for file in
            [szdd(&content), kwaj(0, &content), kwaj(1, &content), kwaj(2, &content), kwaj(4, &content)]
        {
            let said = assert_cut_invariant(&open, &file);
            assert!(children(&said) == [("1".into(), content.clone())] && !complains(&said), "{said:?}");
            assert_truncation_told(&open, &file, file.len());
            let behind = [&file[..], b"behind"].concat();
            assert!(assert_cut_invariant(&open, &behind).contains(&Said::Anomaly(Szdd::BEHIND)));
        }
    }
    let said = trace(&mut *open(), [&szdd(&prose(1, LONG))[..]]);
    assert!(children(&said)[0].1 == prose(1, LONG));
}

#[test]
fn what_is_not_read_is_told() {
    for file in
        [&b"SZDD"[..], b"SZDD\x88\xf0\x27\x33B", &kwaj(3, b"content"), &kwaj(9, b"x"), b"", &KWAJ[..8]]
    {
        assert!(complains(&assert_cut_invariant(&open, file)), "{file:?}");
    }
    let file = kwaj(4, &prose(2, 300));
    for bit in 0..file.len() * 8 {
        let mut bent = file.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(trace(&mut *open(), [&bent[..]]), trace(&mut *open(), bent.chunks(1)), "bit {bit}");
    }
    assert!(complains(&trace(&mut decoder(&Pool::new(10)), [&file[..]])));
}
