//! Cabinets at every cut. Rule: cabinets of our own making, right and bent.

use super::*;
use crate::codec::lzx::tests::frames;
use crate::samples::{assert_truncation_told, children, complains, deflate, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};

fn open() -> Box<dyn Decoder> {
    Box::new(CabDecoder::new(&Pool::new(1 << 20)))
}

/// A folder: how it is packed, its blocks with what they make, and its files: name, offset, size, number of folder.
struct Made {
    packing: u16,
    blocks: Vec<(Vec<u8>, usize)>,
    files: Vec<(&'static str, usize, usize, Option<u16>)>,
}

fn cabinet(reserve: &[u8], folders: &[Made]) -> Vec<u8> {
    let files: usize = folders.iter().map(|folder| folder.files.len()).sum();
    let mut head = vec![0; 36];
    head[..4].copy_from_slice(MAGIC);
    head[24..26].copy_from_slice(&[3, 1]);
    head[26..28].copy_from_slice(&(folders.len() as u16).to_le_bytes());
    head[28..30].copy_from_slice(&(files as u16).to_le_bytes());
    if !reserve.is_empty() {
        head[30] = 4;
        head.extend_from_slice(&[reserve.len() as u8, 0, 2, 3]);
        head.extend_from_slice(reserve);
    }
    let extra: usize = if reserve.is_empty() { 0 } else { 1 };
    let files_at = head.len() + folders.len() * (8 + 2 * extra);
    head[16..20].copy_from_slice(&(files_at as u32).to_le_bytes());
    let mut records = Vec::new();
    for (nth, folder) in folders.iter().enumerate() {
        for (name, offset, size, number) in &folder.files {
            records.extend_from_slice(&(*size as u32).to_le_bytes());
            records.extend_from_slice(&(*offset as u32).to_le_bytes());
            records.extend_from_slice(&number.unwrap_or(nth as u16).to_le_bytes());
            records.extend_from_slice(&[0x21, 0x5b, 0, 0, 0x20, 0]);
            records.extend_from_slice(name.as_bytes());
            records.push(0);
        }
    }
    let (mut data, data_at) = (Vec::new(), files_at + records.len());
    for folder in folders {
        head.extend_from_slice(&((data_at + data.len()) as u32).to_le_bytes());
        head.extend_from_slice(&(folder.blocks.len() as u16).to_le_bytes());
        head.extend_from_slice(&folder.packing.to_le_bytes());
        head.extend_from_slice(&vec![0; 2 * extra]);
        for (packed, size) in &folder.blocks {
            let sizes = [(packed.len() as u16).to_le_bytes(), (*size as u16).to_le_bytes()].concat();
            data.extend_from_slice(&header::sum(&sizes, header::sum(packed, 0)).to_le_bytes());
            data.extend_from_slice(&sizes);
            data.extend_from_slice(&vec![7; 3 * extra]);
            data.extend_from_slice(packed);
        }
    }
    let mut bytes = [head, records, data].concat();
    let length = (bytes.len() as u32).to_le_bytes();
    bytes[8..12].copy_from_slice(&length);
    bytes
}

fn stored(content: &[u8], files: Vec<(&'static str, usize, usize, Option<u16>)>) -> Made {
    let blocks = content.chunks(32_768).map(|block| (block.to_vec(), block.len())).collect();
    Made { packing: 0, blocks, files }
}

fn mszip(content: &[u8], files: Vec<(&'static str, usize, usize, Option<u16>)>) -> Made {
    let block = |block: &[u8]| ([b"CK", &deflate(block)[..]].concat(), block.len());
    Made { packing: 1, blocks: content.chunks(32_768).map(block).collect(), files }
}

/// Each file's name and content, without a complaint.
fn assert_reads(cabinet: &[u8], expected: &[(&str, &[u8])]) {
    let said = assert_cut_invariant(&open, cabinet);
    assert!(
        !complains(&said),
        "{:?}",
        said.iter().filter(|s| !matches!(s, Said::Bytes(_))).collect::<Vec<_>>()
    );
    let expected: Vec<_> =
        expected.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    assert!(children(&said) == expected);
}

#[test]
fn stored_and_mszip_in_folders() {
    let (a, b) = (prose(1, 700), noise(2, 40_000));
    let both = [&a[..], &b].concat();
    let files =
        vec![("a.txt", 0, a.len(), None), ("dir\\b.bin", a.len(), b.len(), None), ("empty", 40_700, 0, None)];
    let expected = [("a.txt", &a[..]), ("dir\\b.bin", &b), ("empty", b"")];
    for reserve in [&b""[..], b"kept for a signature"] {
        assert_reads(&cabinet(reserve, &[stored(&both, files.clone())]), &expected);
        assert_reads(&cabinet(reserve, &[mszip(&both, files.clone())]), &expected);
    }
    let two = [mszip(&a, vec![("a", 0, a.len(), None)]), stored(&b, vec![("b", 5, 100, None)])];
    assert_reads(&cabinet(b"", &two), &[("a", &a), ("b", &b[5..105])]);
    assert_reads(&cabinet(b"", &[]), &[]);
}

#[test]
fn lzx_in_a_folder() {
    let (blocks, made) = frames(16);
    let files = vec![("a", 0, 50_000, None), ("b", 50_000, made.len() - 50_000, None)];
    let cabinet = cabinet(b"", &[Made { packing: 0x1003, blocks, files }]);
    let said = trace(&mut *open(), cabinet.chunks(333));
    assert!(!complains(&said));
    assert!(
        children(&said) == [("a".into(), made[..50_000].to_vec()), ("b".into(), made[50_000..].to_vec())]
    );
    assert!(said == trace(&mut *open(), [&cabinet[..]]));
}

#[test]
fn quantum_in_a_folder() {
    let (blocks, made) = crate::codec::quantum::tests::frames(16);
    let cabinet = cabinet(b"", &[Made { packing: 0x1072, blocks, files: vec![("a", 0, made.len(), None)] }]);
    let said = trace(&mut *open(), cabinet.chunks(333));
    assert!(!complains(&said) && children(&said) == [("a".into(), made)]);
}

#[test]
fn what_is_in_another_cabinet_is_told() {
    let content = prose(1, 700);
    let before = ("a", 0, 100, Some(0xfffd));
    let said =
        assert_cut_invariant(&open, &cabinet(b"", &[mszip(&content, vec![before, ("b", 100, 9, None)])]));
    let broken =
        |said: &[Said]| said.iter().filter(|s| matches!(s, Said::Broken(Reason::Unsupported))).count();
    assert_eq!((children(&said).len(), broken(&said)), (2, 2));
    let mut folder = stored(&content, vec![("a", 0, 100, None), ("b", 100, 9000, Some(0xfffe))]);
    folder.blocks.push((b"half a block".to_vec(), 0));
    let said = assert_cut_invariant(&open, &cabinet(b"", &[folder]));
    assert_eq!(broken(&said), 1);
    assert!(children(&said)[0].1 == content[..100] && children(&said)[1].1 == content[100..]);
}

#[test]
fn what_cannot_be_read_is_told() {
    let content = prose(1, 700);
    let all = || vec![("a", 0, 700, None)];
    for (packing, reason) in [(2, Reason::Damaged), (7, Reason::Unsupported), (3, Reason::Damaged)] {
        let folder = Made { packing, ..stored(&content, all()) };
        let said =
            assert_cut_invariant(&open, &cabinet(b"", &[folder, stored(b"b", vec![("b", 0, 1, None)])]));
        assert!(said.contains(&Said::Broken(reason)), "{packing}: {said:?}");
        assert_eq!(children(&said)[1], ("b".into(), b"b".to_vec()));
    }
    for files in
        [vec![("a", 0, 701, None)], vec![("a", 0, 9, Some(7))], vec![("a", 0, 9, None), ("b", 5, 9, None)]]
    {
        assert!(complains(&assert_cut_invariant(&open, &cabinet(b"", &[stored(&content, files)]))));
    }
    let mut bent = cabinet(b"", &[stored(&content, all())]);
    *bent.last_mut().unwrap() ^= 1;
    let said = assert_cut_invariant(&open, &bent);
    assert!(said.contains(&Said::Incomplete(Reason::Damaged)) && children(&said)[0].1.len() == 700);
    let behind = [&cabinet(b"", &[stored(&content, all())])[..], b"behind"].concat();
    assert!(
        assert_cut_invariant(&open, &behind).contains(&Said::Anomaly("bytes behind the end of a cabinet"))
    );
    assert!(complains(&trace(&mut CabDecoder::new(&Pool::new(100)), [&behind[..]])));
}

#[test]
fn truncated_and_bent() {
    let content = prose(1, 300);
    let whole = cabinet(b"", &[mszip(&content, vec![("a", 0, 100, None), ("b", 100, 200, None)])]);
    assert_truncation_told(&open, &whole, whole.len());
    for bit in 0..whole.len() * 8 {
        let mut bent = whole.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let said = trace(&mut *open(), [&bent[..]]);
        assert_eq!(said, trace(&mut *open(), bent.chunks(1)), "bit {bit}");
    }
}
