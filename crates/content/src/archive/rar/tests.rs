//! The RAR decoder on archives made here. Rule: none is damaged, cut or split without a word.

use super::RarDecoder;
use super::writer::{BitWriter, Method, Solidity, Writer3, Writer5, pack_2, pack_3, pack_5};
use crate::decoder::Decoder;
use crate::samples::{assert_flips_told, assert_truncation_told, children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{Pool, Reason};

fn open() -> Box<dyn Decoder> {
    Box::new(RarDecoder::new(&Pool::new(64 << 20)))
}

fn contents() -> Vec<(String, Vec<u8>)> {
    let text = prose(1, 2000);
    let mixed = [&text[..900], &noise(2, 100), &text[..], &vec![b'a'; 9000][..]].concat();
    [("text", text), ("mixed", mixed), ("noise", noise(3, 300)), ("empty", vec![]), ("one", b"1".to_vec())]
        .map(|(name, content)| (name.to_owned(), content))
        .to_vec()
}

/// All contents in one archive of each container.
fn archives(method: Method, solidity: Solidity) -> [Vec<u8>; 2] {
    let (mut new, mut old) = (Writer5::default(), Writer3::default());
    for (at, (name, content)) in contents().iter().enumerate() {
        let solidity = if at == 0 { Solidity::Alone } else { solidity };
        new.file(name, content, method, solidity);
        old.file(name, content, method, solidity);
    }
    [new.finish(), old.finish()]
}

#[test]
fn stored_packed_and_solid() {
    for method in [Method::Stored, Method::Packed] {
        for solidity in [Solidity::Alone, Solidity::Solid] {
            for archive in archives(method, solidity) {
                let said = assert_cut_invariant(&open, &archive);
                assert!(!complains(&said), "{method:?} {solidity:?} {said:?}");
                assert_eq!(children(&said), contents(), "{method:?} {solidity:?}");
            }
        }
    }
}

#[test]
fn what_is_long_comes_back_as_well() {
    // Matches of all lengths from everywhere, zeros between them as linkers leave them.
    let page = |at: u64| [noise(at % 190, 1500), prose(at % 77, 1500), vec![0; 1096]].concat();
    let content = &(0..317).flat_map(page).collect::<Vec<_>>()[..];
    let (mut new, mut old) = (Writer5::default(), Writer3::default());
    new.entry("a", content, &pack_5(content, 0, 4000, &[]), 3 << 7 | 4 << 10, 0, &[]);
    old.file("a", content, Method::Packed, Solidity::Alone);
    for archive in [new.finish(), old.finish()] {
        let said = trace(&mut *open(), [&archive[..]]);
        assert!(children(&said) == [("a".to_owned(), content.to_vec())]);
    }
}

#[test]
fn nothing_is_held_behind_the_end() {
    let pool = Pool::new(64 << 20);
    for archive in archives(Method::Packed, Solidity::Solid) {
        let mut decoder = RarDecoder::new(&pool);
        assert!(!complains(&trace(&mut decoder, [&archive[..]])));
        assert_eq!(pool.bytes_taken(), 0);
    }
}

#[test]
fn where_the_pool_is_empty_that_is_said() {
    for archive in archives(Method::Packed, Solidity::Solid) {
        let said = trace(&mut RarDecoder::new(&Pool::new(10_000)), [&archive[..]]);
        assert!(said.contains(&Said::Broken(Reason::Budget)), "{said:?}");
        assert_eq!(children(&said).len(), contents().len());
    }
}

#[test]
fn damage_and_truncation_are_told() {
    let content = [&prose(4, 600)[..], &noise(5, 40)].concat();
    let (mut new, mut old) = (Writer5::default(), Writer3::default());
    for method in [Method::Packed, Method::Stored] {
        new.file("a", &content, method, Solidity::Alone);
        old.file("a", &content, method, Solidity::Alone);
    }
    let last_file_ends = old.bytes.len();
    let (new, old) = (new.finish(), old.finish());
    assert_truncation_told(&open, &new, new.len());
    for length in (0..old.len()).filter(|length| *length != last_file_ends) {
        let said = trace(&mut *open(), [&old[..length]]);
        // The end of this container is not always marked, so that it may end where a block does.
        let is_between = said.last() == Some(&Said::End) && children(&said).len() < 2;
        assert!(complains(&said) || is_between, "cut off at {length}: {said:?}");
    }
    assert_flips_told(&open, &new);
    assert_flips_told(&open, &old);
}

#[test]
fn what_is_encrypted_split_or_unknown_is_said() {
    let broken = |archive: &[u8], reason| {
        let said = assert_cut_invariant(&open, archive);
        assert!(said.contains(&Said::Broken(reason)), "{said:?}");
        assert_eq!(
            children(&said).last().map(|c| c.0.as_str()),
            Some("next"),
            "what follows is read: {said:?}"
        );
    };
    let old = |version: (u8, u8), flags| {
        let mut old = Writer3::default();
        old.entry(b"a", b"content", b"content", version, flags);
        old.file("next", b"more", Method::Packed, Solidity::Alone);
        old.finish()
    };
    let new = |compression, flags, extra: &[u8]| {
        let mut new = Writer5::default();
        new.entry("a", b"content", b"content", compression, flags, extra);
        new.file("next", b"more", Method::Packed, Solidity::Alone);
        new.finish()
    };
    broken(&old((29, 0x33), 4), Reason::Encrypted);
    broken(&old((29, 0x30), 4), Reason::Encrypted);
    broken(&old((77, 0x33), 0), Reason::Unsupported);
    broken(&new(0, 0, &[2, 1, 0]), Reason::Encrypted);
    broken(&new(9 | 1 << 7, 0, &[]), Reason::Unsupported);
    for flags in [1, 2] {
        broken(&old((20, 0x30), flags), Reason::Partial);
        broken(&new(0, 8 * u8::try_from(flags).unwrap(), &[]), Reason::Partial);
        let said = trace(&mut *open(), [&old((20, 0x30), flags)[..]]);
        assert_eq!(children(&said)[0].1, b"content", "what is here is inspected");
    }
    let mut new = Writer5::default();
    new.block(&[4, 0, 0, 0, 15]);
    let said = assert_cut_invariant(&open, &[&new.bytes[..], &noise(1, 300)].concat());
    assert_eq!(said, [Said::Incomplete(Reason::Encrypted), Said::End]);
    let said = assert_cut_invariant(&open, b"Rar!\x1a\x07\0\xce\x99\x73\x80\0\x0d\0\0\0\0\0\0\0 and more");
    assert_eq!(said, [Said::Incomplete(Reason::Encrypted), Said::End]);
}

#[test]
fn solid_files_behind_one_that_is_lost_are_lost_too() {
    let mut new = Writer5::default();
    new.entry("a", b"content", b"content", 1 << 7, 0, &[2, 1, 0]);
    new.file("b", b"content", Method::Packed, Solidity::Solid);
    new.file("c", b"content", Method::Packed, Solidity::Alone);
    let said = trace(&mut *open(), [&new.finish()[..]]);
    let reasons: Vec<_> = said.iter().filter(|s| matches!(s, Said::Broken(_) | Said::Close)).collect();
    let lost = &Said::Broken(Reason::Encrypted);
    assert_eq!(reasons, [lost, lost, &Said::Close]);
}

#[test]
fn bytes_behind_the_end_are_told() {
    for archive in archives(Method::Stored, Solidity::Alone) {
        let said = assert_cut_invariant(&open, &[&archive[..], &[0; 20]].concat());
        assert_eq!(said.last(), Some(&Said::End));
        assert!(!said.iter().any(|s| matches!(s, Said::Anomaly(_))), "volumes are padded with zeros");
        let said = assert_cut_invariant(&open, &[&archive[..], &[0; 20], b"more"].concat());
        assert!(matches!(said[..], [.., Said::Anomaly(_), Said::End]), "{said:?}");
    }
}

/// Differences of bytes, one channel behind the other.
fn delta(content: &[u8], channels: usize) -> Vec<u8> {
    let mut turned = Vec::new();
    for channel in 0..channels {
        let mut last = 0_u8;
        for byte in content.iter().skip(channel).step_by(channels) {
            turned.push(last.wrapping_sub(*byte));
            last = *byte;
        }
    }
    turned
}

#[test]
fn filters_turn_their_block_and_no_more() {
    let content: Vec<u8> = (0..4000_u32).map(|at| (at / 3 + at % 3 * 40) as u8).collect();
    let turned = [&delta(&content[..3000], 3)[..], &content[3000..]].concat();
    let mut new = Writer5::default();
    // A filter: from here, 3,000 bytes, differences in three channels.
    let filter = [(9, 256), (2, 0), (8, 0), (2, 1), (8, 3000 & 0xff), (8, 3000 >> 8), (3, 0), (5, 2)];
    new.entry("5", &content, &pack_5(&turned, 0, 100, &filter), 3 << 7, 0, &[]);
    let said = assert_cut_invariant(&open, &new.finish());
    assert!(!complains(&said));
    assert!(children(&said) == [("5".to_owned(), content)]);
    let mut old = Writer3::default();
    // A call of program 1, which is told as a single byte and not known.
    let call = [(9, 257), (8, 0x80 | 0x20 | 4), (8, 0), (8, 0x0e), (8, 0x90), (8, 0x50), (8, 0)];
    old.entry(b"3", b"content", &pack_3(b"content", 0, &call), (29, 0x33), 0);
    let said = assert_cut_invariant(&open, &old.finish());
    assert!(complains(&said), "{said:?}");
}

#[test]
fn names_of_unicode_and_of_others() {
    let mut old = Writer3::default();
    // As it is, with the high byte 4, as the plain name has it five times.
    old.entry(b"x?z.txt\0\x04\x1cx\x36\x03", b"1", b"1", (20, 0x30), 0x200);
    old.entry(b"a\\b\x81", b"2", b"2", (20, 0x30), 0);
    old.entry(b"good.txt\0\0\0bad.", b"3", b"3", (20, 0x30), 0x200);
    let said = assert_cut_invariant(&open, &old.finish());
    let names: Vec<_> = children(&said).into_iter().map(|c| c.0).collect();
    assert_eq!(names, ["x\u{436}z.txt", "a/b\u{fc}", "bad."]);
    assert!(said.contains(&Said::Anomaly("a rar entry with two names")), "{said:?}");
}

#[test]
fn what_rar_2_packs_solid() {
    let (first, second) = (prose(1, 3000), [&prose(2, 500)[..], &noise(3, 60), &prose(1, 900)].concat());
    let whole = [&first[..], &second].concat();
    let mut old = Writer3::default();
    old.entry(b"a", &first, &pack_2(&first, 0), (20, 0x33), 4 << 5);
    // It begins with the codes that the first left behind.
    let packed = pack_2(&whole, first.len());
    let codes_bits = 2 + 19 * 4 + (298 + 48 + 28) * 5;
    let mut bits = BitWriter::default();
    for at in codes_bits..packed.len() * 8 {
        bits.put(1, u64::from(packed[at / 8] >> (7 - at % 8) & 1));
    }
    old.entry(b"b", &second, &bits.bytes, (26, 0x33), 4 << 5 | 0x10);
    let said = assert_cut_invariant(&open, &old.finish());
    assert!(
        !complains(&said),
        "{:?}",
        said.iter().filter(|s| !matches!(s, Said::Bytes(_))).collect::<Vec<_>>()
    );
    assert!(children(&said) == [("a".to_owned(), first), ("b".to_owned(), second)]);
}

#[test]
fn noise_is_told_whatever_version_it_says() {
    for version in [15, 20, 26, 29, 36] {
        for seed in 0..30 {
            let mut old = Writer3::default();
            let mut packed = noise(seed, 4000);
            // Sound, PPMd and matches, each as often.
            packed[0] = packed[0] & 0x3f | (seed as u8) << 6;
            old.entry(b"a", &[7; 20_000], &packed, (version, 0x33), (seed as u16 & 1) << 4);
            old.file("next", b"more", Method::Packed, Solidity::Alone);
            let archive = old.finish();
            let said = trace(&mut *open(), [&archive[..]]);
            assert!(complains(&said), "{version}");
            assert_eq!(children(&said)[1].1, b"more", "what follows is read");
            assert_eq!(trace(&mut *open(), archive.chunks(61)), said);
        }
    }
}
