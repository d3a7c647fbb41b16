//! What PKZIP shrank, written as it did. Rule: codes of every width, with clearings.

use super::*;
use crate::codec::lz::tests::BitWriter;
use crate::samples::{noise, prose};

/// A writer that clears each time its table is full.
pub(crate) fn shrink(content: &[u8]) -> Vec<u8> {
    let mut writer = BitWriter::default();
    let mut table = Shrink::new(&Pool::new(1 << 20), 0).unwrap();
    let (mut width, mut prefix) = (WIDTH_MIN, None);
    let child = |table: &Shrink, prefix: u32, byte: u8| {
        (257..CODES).find(|c| table.before[*c] == Some(prefix as u16) && table.last[*c] == byte)
    };
    let put = |writer: &mut BitWriter, width: &mut u32, code: u32| {
        while code >> *width > 0 {
            writer.put(CONTROL, *width);
            writer.put(WIDEN, *width);
            *width += 1;
        }
        writer.put(code, *width);
    };
    for byte in content {
        let Some(before) = prefix else {
            prefix = Some(u32::from(*byte));
            continue;
        };
        if let Some(code) = child(&table, before, *byte) {
            prefix = Some(code as u32);
            continue;
        }
        put(&mut writer, &mut width, before);
        // The reader learns of an entry with the code behind it.
        table.first = *byte;
        let from = table.searched + 1;
        if (from..CODES).all(|code| table.before[code].is_some()) {
            writer.put(CONTROL, width);
            writer.put(CLEAR, width);
            table.clear();
        }
        table.learn(before);
        prefix = Some(u32::from(*byte));
    }
    if let Some(code) = prefix {
        put(&mut writer, &mut width, code);
    }
    writer.bytes
}

fn unshrink(stream: &[u8], size: usize, piece: usize, room: usize) -> (Vec<u8>, usize, Outcome) {
    let mut shrink = Shrink::new(&Pool::new(1 << 20), size as u64).unwrap();
    let (mut made, mut at, mut output) = (Vec::new(), 0, vec![0; room]);
    loop {
        let end = (at + piece).min(stream.len());
        let run = shrink.run(&stream[at..end], &mut output);
        at += run.used;
        made.extend_from_slice(&output[..run.made]);
        if run.outcome != Outcome::Going || at == stream.len() && run.made == 0 && !shrink.owes() {
            return (made, at, run.outcome);
        }
    }
}

#[test]
fn every_width_and_with_clearings() {
    for content in [b"a".to_vec(), vec![7; 2000], prose(1, 9000), noise(2, 14_000)] {
        let stream = shrink(&content);
        let behind = [&stream[..], b"behind"].concat();
        for (piece, room) in [(1 << 20, 1 << 20), (1, 1), (7, 100), (100, 7)] {
            let (made, used, outcome) = unshrink(&behind, content.len(), piece, room);
            assert!(
                made == content && outcome == Outcome::Ended,
                "{piece} {room}: {outcome:?} {}",
                made.len()
            );
            assert_eq!(used, stream.len());
        }
        assert_eq!(unshrink(&stream[..stream.len() / 2], content.len(), 100, 100).2, Outcome::Going);
    }
}

#[test]
fn bent_streams_do_no_harm() {
    let (content, pool) = (prose(1, 3000), Pool::new(10));
    let stream = shrink(&content);
    for bit in (0..stream.len() * 8).step_by(17) {
        let mut bent = stream.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let whole = unshrink(&bent, content.len(), 1 << 20, 1 << 20);
        assert!(whole.0 == unshrink(&bent, content.len(), 1, 7).0, "bit {bit}");
    }
    assert!(Shrink::new(&pool, 1).is_err());
}
