//! tar at every cut. Rule: archives of our own making, right and bent.

use super::TarDecoder;
use crate::decoder::{Decoder, Entry};
use crate::samples::{LONG, assert_truncation_told, children, complains, noise};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::Reason;

fn open() -> Box<dyn Decoder> {
    Box::new(TarDecoder::new())
}

fn read(bytes: &[u8]) -> Vec<Said> {
    assert_cut_invariant(&open, bytes)
}

/// A header block with its sum.
fn header(kind: u8, name: &[u8], size: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..107].copy_from_slice(b"0000644");
    block[124..124 + size.len()].copy_from_slice(size);
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    sum(block)
}

fn sum(mut block: Vec<u8>) -> Vec<u8> {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

fn entry(kind: u8, name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(kind, name.as_bytes(), format!("{:011o}", content.len()).as_bytes());
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    [&entries.concat()[..], &[0; 1024]].concat()
}

fn record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let length = (rest + 1..).find(|l| l.to_string().len() + rest == *l).unwrap();
    format!("{length} {key}={value}\n")
}

fn child(name: &str, content: &[u8]) -> Vec<Said> {
    let entry = Entry { label: name.into(), name: Some(name.into()), declared: None };
    let bytes = (!content.is_empty()).then(|| Said::Bytes(content.to_vec()));
    [Said::Open(entry)].into_iter().chain(bytes).chain([Said::Close]).collect()
}

fn all(parts: &[&[Said]]) -> Vec<Said> {
    [&parts.concat()[..], &[Said::End]].concat()
}

const DAMAGED: Said = Said::Incomplete(Reason::Damaged);

#[test]
fn files_of_all_sizes() {
    for content in [vec![], b"a".to_vec(), noise(1, 511), noise(2, 512), noise(3, 513), noise(4, LONG)] {
        let file = tar(&[entry(b'0', "a/b", &content), entry(0, "c", b"behind")]);
        assert_eq!(read(&file), all(&[&child("a/b", &content), &child("c", b"behind")]));
    }
}

#[test]
fn names_without_content() {
    let kinds = b"3456V";
    let names: Vec<Vec<u8>> = kinds.iter().map(|k| entry(*k, "name", b"")).collect();
    let file = tar(&[names.concat(), entry(0, "folder/", b""), entry(b'0', "a", b"1")]);
    assert_eq!(read(&file), all(&[&child("a", b"1")]));
}

#[test]
fn links_are_names_for_what_is_elsewhere() {
    let long = entry(b'L', "././@LongLink", b"by a long name\0");
    let file = tar(&[
        entry(b'0', "a", b"1"),
        entry(b'1', "hard", b""),
        long,
        entry(b'2', "b", b""),
        entry(0, "c", b"2"),
    ]);
    let links = [child("hard", b""), child("by a long name", b"")].concat();
    assert_eq!(read(&file), all(&[&child("a", b"1"), &links, &child("c", b"2")]));
}

#[test]
fn a_folder_of_some_size_hides_nothing() {
    let hidden = tar(&[entry(b'0', "hidden", b"1")]);
    let said = read(&tar(&[entry(b'5', "d/", &hidden[..1024]), entry(b'0', "a", b"2")]));
    assert!(matches!(said[0], Said::Anomaly(_)));
    assert_eq!(said[1..], all(&[&child("hidden", b"1"), &child("a", b"2")]));
}

#[test]
fn a_folder_with_bytes_that_are_no_header() {
    let said = read(&tar(&[entry(b'5', "d/", &noise(1, 700)), entry(b'0', "a", b"2")]));
    assert!(matches!(said[0], Said::Anomaly(_)));
    assert_eq!(said[1..], all(&[&child("a", b"2")]));
}

#[test]
fn long_names() {
    let long = "d/".repeat(100) + "name";
    let gnu =
        [entry(b'K', "x", b"target"), entry(b'L', "././@LongLink", format!("{long}\0").as_bytes())].concat();
    let pax = entry(b'x', "x", (record("mtime", "1.5") + &record("path", &long)).as_bytes());
    let mut prefixed = header(b'0', b"name", b"00000000001");
    prefixed[345..351].copy_from_slice(b"prefix");
    let prefixed = [sum(prefixed), [&b"3"[..], &[0; 511]].concat()].concat();
    let file = tar(&[gnu, entry(b'0', "short", b"1"), pax, entry(b'0', "short", b"2"), prefixed]);
    assert_eq!(
        read(&file),
        all(&[&child(&long, b"1"), &child(&long, b"2"), &child("prefix/name", b"3")].map(|c| &c[..]))
            .into_iter()
            .map(|s| match s {
                Said::Open(e) => Said::Open(Entry { label: crate::field::label(&e.label), ..e }),
                other => other,
            })
            .collect::<Vec<_>>()
    );
}

#[test]
fn sizes() {
    let mut wide = vec![0x80; 1];
    wide.extend_from_slice(&[0; 10]);
    wide.push(3);
    let padded = [&b"abc"[..], &[0; 509]].concat();
    let file = tar(&[header(b'0', b"wide", &wide), padded.clone()]);
    assert_eq!(read(&file), all(&[&child("wide", b"abc")]));

    let file =
        tar(&[entry(b'x', "x", record("size", "3").as_bytes()), header(b'0', b"p", b"00000000000"), padded]);
    let said = read(&file);
    assert_eq!(said, all(&[&[Said::Anomaly("a tar entry with two sizes")], &child("p", b"abc")]));

    let file = tar(&[header(b'0', b"bad", b"9999"), entry(b'0', "a", b"1")]);
    assert_eq!(read(&file), all(&[&[DAMAGED], &child("a", b"1")]));
    let file = tar(&[header(b'0', b"negative", &[0xff; 12])]);
    assert!(complains(&read(&file)));
    let file = tar(&[header(b'0', b"endless", b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff")]);
    assert!(read(&file).contains(&Said::Broken(Reason::Truncated)));
}

/// A file of the oldest form, of which `ranges` are stored.
fn gnu_sparse(name: &[u8], ranges: &[(u64, u64)], size: u64, stored: &[u8]) -> Vec<u8> {
    let octal = |number: u64| format!("{number:011o}\0").into_bytes();
    let cell = |(offset, length): &(u64, u64)| [octal(*offset), octal(*length)].concat();
    let mut block = header(b'S', name, format!("{:011o}", stored.len()).as_bytes());
    let (first, more) = ranges.split_at(ranges.len().min(4));
    let first: Vec<u8> = first.iter().flat_map(cell).collect();
    block[386..386 + first.len()].copy_from_slice(&first);
    block[482] = u8::from(!more.is_empty());
    block[483..495].copy_from_slice(&octal(size));
    let mut bytes = sum(block);
    for (at, part) in more.chunks(21).enumerate() {
        let mut part: Vec<u8> = part.iter().flat_map(cell).collect();
        part.resize(504, 0);
        part.push(u8::from((at + 1) * 21 < more.len()));
        part.resize(512, 0);
        bytes.extend(part);
    }
    bytes.extend_from_slice(stored);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[test]
fn files_with_holes() {
    let ranges: Vec<(u64, u64)> = (0..40).map(|at| (at * 700, 30)).chain([(28_300, 0)]).collect();
    let stored = noise(1, 1200);
    let mut content = vec![0; 28_300];
    for (at, (offset, length)) in ranges.iter().enumerate() {
        let (offset, length) = (*offset as usize, *length as usize);
        content[offset..offset + length].copy_from_slice(&stored[at * 30..at * 30 + length]);
    }
    let numbers = |between: &str| {
        let cells = ranges.iter().map(|(offset, length)| format!("{offset}{between}{length}"));
        cells.collect::<Vec<_>>().join(between)
    };
    let each = |(offset, length): &(u64, u64)| {
        record("GNU.sparse.offset", &offset.to_string()) + &record("GNU.sparse.numbytes", &length.to_string())
    };
    let of_0_0 = record("GNU.sparse.size", "28300") + &ranges.iter().map(each).collect::<String>();
    let named = record("GNU.sparse.name", "s") + &record("GNU.sparse.size", "28300");
    let of_0_1 = named + &record("GNU.sparse.map", &numbers(","));
    let of_1_0 = [("major", "1"), ("minor", "0"), ("name", "s"), ("realsize", "28300")]
        .map(|(key, value)| record(&format!("GNU.sparse.{key}"), value));
    let mut lines = format!("{}\n{}\n", ranges.len(), numbers("\n")).into_bytes();
    lines.resize(lines.len().next_multiple_of(512), 0);
    for file in [
        gnu_sparse(b"s", &ranges, 28_300, &stored),
        [entry(b'x', "x", of_0_0.as_bytes()), entry(b'0', "s", &stored)].concat(),
        [entry(b'x', "x", of_0_1.as_bytes()), entry(b'0', "x/s", &stored)].concat(),
        [entry(b'x', "x", of_1_0.concat().as_bytes()), entry(b'0', "x/s", &[lines, stored.clone()].concat())]
            .concat(),
    ] {
        let said = read(&tar(&[file, entry(b'0', "a", b"1")]));
        assert!(said == all(&[&child("s", &content), &child("a", b"1")]), "{:?}", children(&said).len());
    }
}

#[test]
fn maps_that_make_no_sense_are_told() {
    let pax = |records: &[(&str, &str)]| {
        let records: String =
            records.iter().map(|(key, value)| record(&format!("GNU.sparse.{key}"), value)).collect();
        entry(b'x', "x", records.as_bytes())
    };
    let behind = entry(b'0', "a", b"1");
    for (file, reason) in [
        (gnu_sparse(b"s", &[(0, 4)], 10, b"abc"), Reason::Damaged),
        (gnu_sparse(b"s", &[(0, 1), (0, 1), (0, 1), (0, 1), (9, 9)], 10, b"abc"), Reason::Damaged),
        ([pax(&[("map", "0,3")]), entry(b'0', "s", b"abc")].concat(), Reason::Damaged),
        ([pax(&[("numbytes", "3"), ("size", "9")]), entry(b'0', "s", b"abc")].concat(), Reason::Unsupported),
        ([pax(&[("major", "2")]), entry(b'0', "s", b"abc")].concat(), Reason::Unsupported),
        ([pax(&[("major", "1"), ("realsize", "9")]), entry(b'0', "s", b"1\n0\n3")].concat(), Reason::Damaged),
        (
            [pax(&[("major", "1"), ("realsize", "9")]), entry(b'0', "s", &[b'1'; 600])].concat(),
            Reason::Damaged,
        ),
    ] {
        let said = read(&tar(&[file, behind.clone()]));
        assert_eq!(said[1..], all(&[&[Said::Broken(reason)], &child("a", b"1")]), "{said:?}");
    }
    let solaris = [entry(b'x', "x", record("SUN.holesdata", " 0 9").as_bytes()), entry(b'0', "s", b"abc")];
    assert!(read(&tar(&solaris)).contains(&Said::Broken(Reason::Unsupported)));
    let whole = gnu_sparse(b"s", &[(0, 3), (700, 0)], 700, b"abc");
    assert!(read(&whole[..514]).contains(&Said::Broken(Reason::Truncated)));
}

#[test]
fn wrong_sums_are_told_and_the_next_header_found() {
    let mut bad = entry(b'0', "bad", &noise(1, 900));
    bad[0] ^= 1;
    let said = read(&tar(&[entry(b'0', "a", b"1"), bad, entry(b'0', "b", b"2")]));
    assert_eq!(said, all(&[&child("a", b"1"), &[DAMAGED], &child("b", b"2")]));
}

#[test]
fn damaged_records_are_told() {
    let said = read(&tar(&[entry(b'x', "x", b"99 path=short\n"), entry(b'0', "a", b"1")]));
    assert_eq!(said[0], DAMAGED);
    let said = read(&tar(&[entry(b'g', "g", record("path", "all").as_bytes()), entry(b'0', "a", b"1")]));
    assert!(matches!(said[0], Said::Anomaly(_)));
    assert_eq!(said[1..], all(&[&child("a", b"1")]));
}

#[test]
fn behind_the_end() {
    let one = tar(&[entry(b'0', "a", b"1")]);
    let anomaly = Said::Anomaly("bytes behind the end of a tar file");
    assert_eq!(read(&[&one[..], &[0; 3000]].concat()), all(&[&child("a", b"1")]));
    assert_eq!(read(&[&one[..], b"x"].concat()), all(&[&child("a", b"1"), std::slice::from_ref(&anomaly)]));
    assert_eq!(
        read(&[&one[..], &noise(1, 2000)].concat()),
        all(&[&child("a", b"1"), std::slice::from_ref(&anomaly)])
    );
    assert_eq!(read(&[&one[..], &one].concat()), all(&[&child("a", b"1"), &[anomaly], &child("a", b"1")]));
}

#[test]
fn truncated() {
    let file = tar(&[entry(b'x', "x", record("path", "long").as_bytes()), entry(b'0', "a", &noise(1, 700))]);
    assert_truncation_told(&open, &file, file.len() - 512);
}

#[test]
fn flipped_bits_in_headers_are_told() {
    let mut file = tar(&[entry(b'0', "a", b"content"), entry(b'0', "b", b"more")]);
    for bit in (0..512 * 8).chain(1024 * 8..1536 * 8) {
        file[bit / 8] ^= 1 << (bit % 8);
        let said = trace(&mut *open(), [&file[..]]);
        assert_eq!(said, trace(&mut *open(), file.chunks(7)));
        assert!(complains(&said) || children(&said).len() == 2, "bit {bit}: {said:?}");
        file[bit / 8] ^= 1 << (bit % 8);
    }
}
