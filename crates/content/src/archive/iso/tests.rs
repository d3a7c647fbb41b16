//! Discs of our own writing. Rule: the writer puts extents where it is told.

use crate::archive::carrier::CarrierDecoder;
use crate::archive::disguise::Guise;
use crate::decoder::Decoder;
use crate::samples::{children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{Pool, Reason};

const SECTOR: usize = 2048;

fn open() -> Box<dyn Decoder> {
    Box::new(CarrierDecoder::new(&Pool::new(1 << 20), Guise::Content))
}

struct File {
    name: &'static [u8],
    /// By Rock Ridge.
    real_name: Option<&'static str>,
    flags: u8,
    sector: u32,
    size: usize,
}

fn file(name: &'static [u8], sector: u32, size: usize) -> File {
    File { name, real_name: None, flags: 0, sector, size }
}

fn record(file: &File) -> Vec<u8> {
    let mut out = vec![0; 33];
    out[2..6].copy_from_slice(&file.sector.to_le_bytes());
    out[10..14].copy_from_slice(&(file.size as u32).to_le_bytes());
    out[25] = file.flags;
    out[32] = file.name.len() as u8;
    out.extend_from_slice(file.name);
    out.resize(out.len().next_multiple_of(2), 0);
    if let Some(name) = file.real_name {
        out.extend_from_slice(&[b'N', b'M', 5 + name.len() as u8, 1, 0]);
        out.extend_from_slice(name.as_bytes());
    }
    out[0] = out.len() as u8;
    out
}

fn directory(sector: u32, files: &[File]) -> (u32, Vec<u8>) {
    let own = [file(b"\0", sector, SECTOR), file(b"\x01", sector, SECTOR)];
    (sector, own.iter().chain(files).flat_map(record).collect())
}

fn descriptor(kind: u8, escape: &[u8], root: u32) -> Vec<u8> {
    let mut out = vec![0; SECTOR];
    out[0] = kind;
    out[1..6].copy_from_slice(b"CD001");
    out[88..88 + escape.len()].copy_from_slice(escape);
    out[128..130].copy_from_slice(&2048_u16.to_le_bytes());
    out[156..190].copy_from_slice(&record(&File { flags: 2, ..file(b"\0", root, SECTOR) }));
    out
}

/// Extents at their sectors, behind descriptors.
fn disc(descriptors: &[Vec<u8>], extents: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![0; 16 * SECTOR];
    descriptors.iter().for_each(|descriptor| out.extend_from_slice(descriptor));
    out.extend_from_slice(&descriptor(255, b"", 0));
    for (sector, bytes) in extents {
        let from = *sector as usize * SECTOR;
        out.resize(out.len().max(from + bytes.len()).next_multiple_of(SECTOR), 0);
        out[from..from + bytes.len()].copy_from_slice(bytes);
    }
    out
}

#[test]
fn names_of_all_kinds_are_read_at_every_cut() {
    let (one, two) = (prose(1, 3000), noise(2, 100));
    let joliet = b"\0l\0o\0n\0g\0.\0t\0x\0t";
    let image = disc(
        &[descriptor(1, b"", 20), descriptor(2, b"%/E", 21)],
        &[
            directory(
                20,
                &[
                    File { real_name: Some("Long.text"), ..file(b"LONG.TXT;1", 30, one.len()) },
                    File { flags: 2, ..file(b"SUB", 22, SECTOR) },
                    file(b"EMPTY.;1", 0, 0),
                ],
            ),
            directory(21, &[file(joliet, 30, one.len())]),
            directory(22, &[file(b"TWO.BIN;1", 29, two.len())]),
            (29, two.clone()),
            (30, one.clone()),
        ],
    );
    let said = assert_cut_invariant(&open, &image);
    let expected =
        [("EMPTY".to_string(), vec![]), ("SUB/TWO.BIN".to_string(), two), ("Long.text".to_string(), one)];
    assert_eq!(children(&said), expected);
    assert!(said.contains(&Said::Name("long.txt".into())) && !complains(&said), "{said:?}");
    // Each sector's beginning and end.
    for at in (16..32).flat_map(|sector| [sector * SECTOR - 1, sector * SECTOR, sector * SECTOR + 6]) {
        assert_eq!(trace(&mut *open(), [&image[..at], &image[at..]]), said, "cut at {at}");
    }
}

#[test]
fn files_of_several_extents() {
    let content = noise(3, 5000);
    let more = |sector, size| File { flags: 0x80, ..file(b"A.BIN;1", sector, size) };
    let image = disc(
        &[descriptor(1, b"", 20)],
        &[
            directory(
                20,
                &[more(23, 4096), file(b"A.BIN;1", 25, 904), more(30, 2048), file(b"A.BIN;1", 40, 10)],
            ),
            (23, content.clone()),
            (30, noise(4, 2048)),
            (40, noise(5, 10)),
        ],
    );
    let said = assert_cut_invariant(&open, &image);
    // Each extent's beginning and end, and the directory's.
    for at in [20, 21, 23, 25, 26, 30, 31, 40].map(|sector| sector * SECTOR) {
        for at in [at - 1, at, at + 1, at + 10, at + 904] {
            assert_eq!(trace(&mut *open(), [&image[..at], &image[at..]]), said, "cut at {at}");
        }
    }
    let lengths: Vec<usize> = children(&said).iter().map(|(_, bytes)| bytes.len()).collect();
    assert_eq!((lengths, &children(&said)[0].1), (vec![5000, 2048, 10], &content));
}

#[test]
fn what_has_passed_and_what_is_missing_is_said() {
    let files = || [file(b"A.TXT;1", 30, 10)];
    let early = disc(&[descriptor(1, b"", 40)], &[(30, noise(1, 10)), directory(40, &files())]);
    let said = assert_cut_invariant(&open, &early);
    assert_eq!(said, [Said::Incomplete(Reason::Held), Said::End]);
    let whole = disc(&[descriptor(1, b"", 20)], &[directory(20, &files()), (30, noise(1, 10))]);
    assert!(!complains(&trace(&mut *open(), [&whole[..]])));
    for length in [17 * SECTOR - 1, 19 * SECTOR, 21 * SECTOR, 30 * SECTOR + 9] {
        assert!(complains(&trace(&mut *open(), [&whole[..length]])), "cut off at {length}");
    }
    let mut udf = whole.clone();
    udf[18 * SECTOR + 1..18 * SECTOR + 6].copy_from_slice(b"NSR02");
    assert!(trace(&mut *open(), [&udf[..]]).contains(&Said::Incomplete(Reason::Unsupported)));
}

#[test]
fn whatever_a_disc_says_it_ends() {
    let whole = disc(
        &[descriptor(1, b"", 20), descriptor(2, b"%/E", 20)],
        &[
            directory(20, &[file(b"A.TXT;1", 22, 4000), File { flags: 2, ..file(b"B", 21, SECTOR) }]),
            directory(21, &[]),
        ],
    );
    for at in (16 * SECTOR..16 * SECTOR + 200).chain(20 * SECTOR..20 * SECTOR + 200) {
        for byte in [0, 1, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            let said = trace(&mut *open(), [&damaged[..]]);
            assert_eq!(trace(&mut *open(), damaged.chunks(777)), said);
        }
    }
}
