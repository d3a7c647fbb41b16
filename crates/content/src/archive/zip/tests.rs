//! zip at every cut. Rule: archives of our own making, right and bent.

use super::ZipDecoder;
use crate::codec::lz::tests::{deflate64, implode, symbols as lz_symbols};
use crate::codec::ppmd::i::tests as ppmd;
use crate::codec::shrink::tests::shrink;
use crate::decoder::{Decoder, Entry};
use crate::samples::lzma;
use crate::samples::{
    LONG, Sizes, ZipFile, ZipWriter, assert_flips_told, assert_truncation_told, children, complains, deflate,
    noise, prose,
};
use crate::trace::{Said, assert_cut_invariant};
use bzip2::Compression;
use bzip2::read::BzEncoder;
use lockgate_model::{Pool, Reason};
use std::io::Read;

fn open() -> Box<dyn Decoder> {
    Box::new(ZipDecoder::new(&Pool::new(16 << 20)))
}

fn read(bytes: &[u8]) -> Vec<Said> {
    assert_cut_invariant(&open, bytes)
}

fn child(name: &str, content: &[u8]) -> Vec<Said> {
    let entry = Entry { label: name.into(), name: Some(name.into()), declared: None };
    let bytes = (!content.is_empty()).then(|| Said::Bytes(content.to_vec()));
    [Said::Open(entry)].into_iter().chain(bytes).chain([Said::Close]).collect()
}

fn broken(name: &str, content: &[u8], reason: Reason) -> Vec<Said> {
    let mut said = child(name, content);
    said.pop();
    said.push(Said::Broken(reason));
    said
}

fn all(parts: &[&[Said]]) -> Vec<Said> {
    [&parts.concat()[..], &[Said::End]].concat()
}

const FORMS: [Sizes; 6] = [
    Sizes::InHeader,
    Sizes::InZip64Extra,
    Sizes::InDescriptor { signed: true, wide: false },
    Sizes::InDescriptor { signed: true, wide: true },
    Sizes::InDescriptor { signed: false, wide: false },
    Sizes::InDescriptor { signed: false, wide: true },
];

const DISAGREES: Said = Said::Anomaly("a zip's directory shows other entries than there are");
const OTHER_NAMES: Said = Said::Anomaly("a zip's directory and its entries disagree on names or sums");

#[test]
fn an_empty_archive() {
    assert_eq!(read(&ZipWriter::of(&[])), [Said::End]);
}

#[test]
fn every_way_to_tell_sizes() {
    for content in [b"".to_vec(), b"a".to_vec(), prose(1, 700), prose(1, LONG)] {
        for form in FORMS {
            let file = ZipWriter::of(&[
                ZipFile::deflated("a.txt", &content).with(form),
                ZipFile::stored("b", b"behind"),
            ]);
            // An empty file's descriptor of 64 bits looks like one of 32 and padding.
            assert_eq!(read(&file), all(&[&child("a.txt", &content), &child("b", b"behind")]), "{form:?}");
        }
    }
}

#[test]
fn stored_in_every_way() {
    let tricky = [&b"PK\x07\x08PPKPK\x07\x07PK\x07\x08"[..], &[0; 20], b"PK\x03\x04 PK\x01\x02 PK"].concat();
    for content in [b"".to_vec(), b"a".to_vec(), tricky, noise(5, LONG)] {
        for form in FORMS {
            if matches!(form, Sizes::InDescriptor { signed: false, .. }) {
                continue;
            }
            let file = ZipWriter::of(&[
                ZipFile::stored("a.txt", &content).with(form),
                ZipFile::stored("b", b"behind"),
            ]);
            assert_eq!(read(&file), all(&[&child("a.txt", &content), &child("b", b"behind")]), "{form:?}");
        }
    }
}

#[test]
fn a_stored_zip_in_a_zip_of_unknown_size() {
    let form = Sizes::InDescriptor { signed: true, wide: false };
    let inner = ZipWriter::of(&[ZipFile::stored("in", b"content").with(form)]);
    let outer = ZipWriter::of(&[ZipFile::stored("out", &inner).with(form)]);
    assert_eq!(read(&outer), all(&[&child("out", &inner)]));
}

#[test]
fn stored_without_any_size_is_not_silent() {
    let form = Sizes::InDescriptor { signed: false, wide: false };
    let file = ZipWriter::of(&[ZipFile::stored("a", b"content").with(form)]);
    assert!(read(&file).contains(&Said::Broken(Reason::Truncated)));
}

#[test]
fn folders_are_no_parts() {
    let signed = Sizes::InDescriptor { signed: true, wide: false };
    let file = ZipWriter::of(&[
        ZipFile::stored("d/", b""),
        ZipFile::deflated("e/", b"").with(signed),
        ZipFile::stored("f/", b"").with(signed),
        ZipFile::stored("d/a", b"x"),
    ]);
    assert_eq!(read(&file), all(&[&child("d/a", b"x")]));
}

#[test]
fn a_folder_with_content_is_a_part() {
    let signed = Sizes::InDescriptor { signed: true, wide: false };
    let anomaly = Said::Anomaly("a folder with content of its own in a zip file");
    for content in [&b"x"[..], b"PK\x07content"] {
        for file in [
            ZipFile::stored("d/", content),
            ZipFile::stored("d/", content).with(signed),
            ZipFile::deflated("d/", content),
            ZipFile::deflated("d/", content).with(signed),
        ] {
            let said = read(&ZipWriter::of(&[file]));
            assert_eq!(said, all(&[std::slice::from_ref(&anomaly), &child("d/", content)]));
        }
    }
}

#[test]
fn names() {
    let mut cp437 = ZipFile::stored("x", b"1");
    cp437.name = b"b\x84r".to_vec();
    cp437.central_name = cp437.name.clone();
    let mut unicode = ZipFile::stored("x", b"2");
    unicode.name = b"z\x84r".to_vec();
    unicode.central_name = unicode.name.clone();
    let path = [&[1][..], &crc32fast::hash(&unicode.name).to_le_bytes(), "żár".as_bytes()].concat();
    unicode.extra = [&[0x75, 0x70, path.len() as u8, 0][..], &path, &[0, 0]].concat();
    let file = ZipWriter::of(&[cp437, unicode, ZipFile::stored("grün", b"3")]);
    assert_eq!(read(&file), all(&[&child("bär", b"1"), &child("żár", b"2"), &child("grün", b"3")]));
    let nul = read(&ZipWriter::of(&[ZipFile::stored("a.txt\0.exe", b"")]));
    assert_eq!(nul[0], Said::Anomaly("a NUL in a zip entry's name"));
}

#[test]
fn what_cannot_be_read_is_told_and_passed_over() {
    let behind = ZipFile::stored("b", b"behind");
    for (flags, method, reason) in [
        (1, 0, Reason::Encrypted),
        (1, 8, Reason::Encrypted),
        (0x41, 8, Reason::Encrypted),
        (1, 99, Reason::Encrypted),
        (0, 97, Reason::Unsupported),
    ] {
        for form in FORMS {
            let file = ZipFile { flags, method, ..ZipFile::stored("a", b"secret PK\x07\x08 secret") };
            let said = read(&ZipWriter::of(&[file.with(form), behind.clone()]));
            assert_eq!(said, all(&[&broken("a", b"", reason), &child("b", b"behind")]), "{method} {form:?}");
        }
    }
}

#[test]
fn wrong_sums_and_sizes() {
    for form in FORMS {
        for change in 0..3 {
            let mut file = ZipFile::deflated("a", b"some content, some content");
            match change {
                0 => file.crc ^= 1,
                1 => file.size += 1,
                _ => file.compressed.extend_from_slice(b"more"),
            }
            let bytes = ZipWriter::of(&[file.with(form), ZipFile::stored("b", b"behind")]);
            let said = read(&bytes);
            assert!(complains(&said), "{form:?}, change {change}: {said:?}");
            assert_eq!(children(&said)[0].1, b"some content, some content");
            let behind = ("b".to_owned(), b"behind".to_vec());
            assert!(children(&said).contains(&behind), "{form:?}, change {change}: {said:?}");
        }
    }
}

#[test]
fn broken_deflate() {
    for form in FORMS {
        let content = prose(9, 400);
        let mut file = ZipFile::deflated("a", &content).with(form);
        let middle = file.compressed.len() / 2;
        file.compressed[middle..middle + 40].fill(0xff);
        let said = read(&ZipWriter::of(&[file, ZipFile::stored("b", b"behind")]));
        assert!(said.contains(&Said::Broken(Reason::Damaged)));
        assert_eq!(children(&said)[1], ("b".into(), b"behind".to_vec()), "{form:?}");
    }
}

#[test]
fn the_directory_disagrees() {
    let (a, b) = (ZipFile::stored("a", b"1"), ZipFile::stored("b", b"2"));
    let mut renamed = a.clone();
    renamed.central_name = b"a.exe".to_vec();
    let said = read(&ZipWriter::of(&[renamed]));
    assert_eq!(said, all(&[&child("a", b"1"), &[OTHER_NAMES], &child("a.exe", b"1")]));

    let mut hidden = ZipWriter::default();
    hidden.add(&a);
    hidden.add_local(&b);
    let disagrees = [DISAGREES];
    assert_eq!(read(&hidden.finish()), all(&[&child("a", b"1"), &child("b", b"2"), &disagrees]));

    let mut only_there = ZipWriter::default();
    only_there.add(&a);
    only_there.add_central(&b, 5);
    let nowhere = |name| broken(name, b"", Reason::Damaged);
    assert_eq!(read(&only_there.finish()), all(&[&child("a", b"1"), &disagrees, &nowhere("b")]));

    let mut elsewhere = ZipWriter::default();
    elsewhere.add_local(&a);
    elsewhere.add_central(&a, 1);
    assert_eq!(read(&elsewhere.finish()), all(&[&child("a", b"1"), &disagrees, &nowhere("a")]));

    let mut two_directories = ZipWriter::of(std::slice::from_ref(&a));
    let end = two_directories.len() - 6;
    two_directories[end] ^= 1;
    assert_eq!(read(&two_directories), all(&[&child("a", b"1"), &disagrees, &nowhere("a")]));
}

#[test]
fn what_only_the_directory_shows_is_read() {
    // The local header says stored, the directory deflated, and the sizes of one thing and of another.
    let hidden = ZipFile::deflated("a", &prose(4, 900));
    let mut shown = ZipFile::stored("a", &hidden.compressed);
    shown.central_name = b"a".to_vec();
    let mut writer = ZipWriter::default();
    writer.add_local(&shown);
    writer.add_central(&hidden, 0);
    let parts = [child("a", &hidden.compressed), child("a", &prose(4, 900))];
    assert_eq!(read(&writer.finish()), all(&[&parts[0], &[DISAGREES], &parts[1]]));

    // An entry that stands within another one's content, of which the directory shows more than the descriptor ends.
    let signed = Sizes::InDescriptor { signed: true, wide: false };
    let first = ZipFile::stored("a", b"short").with(signed);
    let mut writer = ZipWriter::default();
    writer.add_local(&first);
    writer.bytes.extend_from_slice(b"and long");
    let content = writer.bytes[31..].to_vec();
    writer.add_central(&ZipFile::stored("a", &content), 0);
    let between = Said::Anomaly("bytes between the entries of a zip file");
    let ends = Said::Anomaly("a stored zip entry with more than one end");
    let parts = [child("a", b"short"), child("a", &content)];
    let expected = all(&[&parts[0], &[between, DISAGREES], &parts[1], &[ends], &parts[1]]);
    assert_eq!(read(&writer.finish()), expected);
}

#[test]
fn stored_without_any_size_is_read_by_the_directory() {
    let form = Sizes::InDescriptor { signed: false, wide: false };
    let file = ZipWriter::of(&[ZipFile::stored("a", b"one").with(form), ZipFile::stored("b", b"two")]);
    let said = read(&file);
    assert!(matches!(said[2], Said::Broken(Reason::Truncated)));
    assert_eq!(said[3..], all(&[&[DISAGREES], &child("a", b"one"), &child("b", b"two")]));
}

#[test]
fn the_second_reading_is_held_for() {
    let mut writer = ZipWriter::default();
    writer.add(&ZipFile::stored("a", &noise(1, 3000)));
    writer.add_central(&ZipFile::stored("b", b"2"), 5);
    let pool = Pool::new(2000);
    let said = crate::trace::trace(&mut ZipDecoder::new(&pool), [&writer.finish()[..]]);
    assert_eq!(said[3..], [DISAGREES, Said::Incomplete(Reason::Budget), Said::End]);
    let pool = Pool::new(1 << 20);
    let mut decoder = ZipDecoder::new(&pool);
    crate::trace::trace(&mut decoder, [&ZipWriter::of(&[ZipFile::deflated("a", b"1")])[..]]);
    assert_eq!(pool.bytes_taken(), 0, "nothing is held behind the end");
}

#[test]
fn nothing_is_held_for_a_second_reading_while_a_quarter_of_the_memory_is_out() {
    let mut disagreeing = ZipWriter::default();
    disagreeing.add(&ZipFile::stored("a", b"1"));
    disagreeing.add_central(&ZipFile::stored("b", b"2"), 5);
    let disagreeing = disagreeing.finish();
    let pool = Pool::new(1 << 20);
    let mut others = pool.grant();
    others.grow(1 << 18).unwrap();
    let read = |bytes: &[u8]| crate::trace::trace(&mut ZipDecoder::new(&pool), [bytes]);
    assert_eq!(read(&disagreeing)[3..], [DISAGREES, Said::Incomplete(Reason::Budget), Said::End]);
    assert_eq!(read(&ZipWriter::of(&[ZipFile::deflated("a", b"1")])), all(&[&child("a", b"1")]));
    // What looks like a descriptor within content of unknown length: another end, for some, and now unread.
    let signed = Sizes::InDescriptor { signed: true, wide: false };
    let doubtful = ZipFile::stored("a", b"one PK\x07\x08 two").with(signed);
    let said = read(&ZipWriter::of(&[doubtful]));
    assert_eq!(said[3..], [Said::Incomplete(Reason::Budget), Said::End]);
    others.clear();
    assert!(!read(&disagreeing).contains(&Said::Incomplete(Reason::Budget)));
}

#[test]
fn overlapping_entries_are_told_and_read() {
    // The first entry's content, deflated as stored blocks, holds the second entry's header; the directory has both.
    let inner = ZipFile::deflated("kernel", &prose(2, 3000));
    let mut quoted = ZipWriter::default();
    quoted.add_local(&inner);
    let outer = ZipFile::stored("outer", &quoted.bytes);
    let mut writer = ZipWriter::default();
    writer.add(&outer);
    let offset = writer.bytes.len() - quoted.bytes.len();
    writer.add_central(&inner, offset as u32);
    let said = read(&writer.finish());
    let parts = [child("outer", &quoted.bytes), child("kernel", &prose(2, 3000))];
    assert!(said == all(&[&parts[0], &[DISAGREES], &parts[1]]));
}

#[test]
fn junk_between_and_behind() {
    let between = Said::Anomaly("bytes between the entries of a zip file");
    let behind = Said::Anomaly("bytes behind the end of a zip file");
    for junk in [&b"x"[..], b"PK", b"PKPK\x03\x03P", &noise(1, 300)] {
        let mut writer = ZipWriter::default();
        writer.add(&ZipFile::stored("a", b"1"));
        writer.bytes.extend_from_slice(junk);
        writer.add(&ZipFile::stored("b", b"2"));
        let said = read(&writer.finish());
        assert_eq!(
            said,
            all(&[&child("a", b"1"), std::slice::from_ref(&between), &child("b", b"2")]),
            "{junk:?}"
        );
        let said = read(&[&ZipWriter::of(&[ZipFile::stored("a", b"1")]), junk].concat());
        assert_eq!(said, all(&[&child("a", b"1"), std::slice::from_ref(&behind)]), "{junk:?}");
    }
    let padded = [&ZipWriter::of(&[ZipFile::stored("a", b"1")])[..], b"\r\n\0\0\0\0"].concat();
    assert_eq!(read(&padded), all(&[&child("a", b"1")]));
    let one = ZipWriter::of(&[ZipFile::stored("a", b"1")]);
    assert_eq!(read(&[&one[..], &one].concat()), all(&[&child("a", b"1"), &child("a", b"1")]));
}

#[test]
fn a_signed_android_package() {
    let mut writer = ZipWriter::default();
    writer.add(&ZipFile::deflated("classes.dex", b"1"));
    writer.bytes.extend_from_slice(&noise(4, 100));
    writer.bytes.extend_from_slice(b"APK Sig Block 42");
    assert_eq!(read(&writer.finish()), all(&[&child("classes.dex", b"1")]));
}

#[test]
fn truncated_and_flipped() {
    let signed = Sizes::InDescriptor { signed: true, wide: false };
    let mut encrypted = ZipFile::stored("e", b"secret");
    encrypted.flags = 1;
    for files in [
        vec![encrypted, ZipFile::stored("b", b"content")],
        vec![ZipFile::stored("a", b"content"), ZipFile::deflated("b", &prose(2, 90))],
        vec![
            ZipFile::deflated("a", &prose(2, 90)).with(signed),
            ZipFile::stored("b", b"content").with(signed),
        ],
        vec![ZipFile::deflated("a", &prose(2, 90)).with(Sizes::InZip64Extra)],
    ] {
        let file = ZipWriter::of(&files);
        if files[0].flags == 0 {
            assert_truncation_told(&open, &file, file.len());
        }
        assert_flips_told(&open, &file);
    }
}

fn bzipped(name: &str, content: &[u8]) -> ZipFile {
    let mut compressed = Vec::new();
    BzEncoder::new(content, Compression::new(9)).read_to_end(&mut compressed).unwrap();
    ZipFile { method: 12, compressed, ..ZipFile::stored(name, content) }
}

#[test]
fn bzip2_inside() {
    for content in [b"".to_vec(), b"a".to_vec(), prose(1, 2000), noise(2, 700)] {
        for form in FORMS {
            let file = ZipWriter::of(&[
                bzipped("a", &content).with(form),
                bzipped("b", b"behind").with(form),
                ZipFile::deflated("c", b"last"),
            ]);
            let parts = [child("a", &content), child("b", b"behind"), child("c", b"last")];
            assert_eq!(read(&file), all(&[&parts[0], &parts[1], &parts[2]]), "{form:?}");
        }
    }
    let file = ZipWriter::of(&[bzipped("a", b"content"), ZipFile::deflated("b", b"behind")]);
    assert_truncation_told(&open, &file, file.len());
    assert_flips_told(&open, &file);
    let said = crate::trace::trace(&mut ZipDecoder::new(&Pool::new(0)), [&file[..]]);
    assert_eq!(said, all(&[&broken("a", b"", Reason::Budget), &child("b", b"behind")]));
}

#[test]
fn a_directory_of_64_bits() {
    let files = [ZipFile::stored("a", b"1"), ZipFile::deflated("b", b"2").with(Sizes::InZip64Extra)];
    let mut file = ZipWriter::of(&files);
    let end = file.split_off(file.len() - 22);
    let (length, offset) = (u32::from_le_bytes(end[12..16].try_into().unwrap()), file.len() as u64);
    file.extend_from_slice(b"PK\x06\x06");
    for number in [44, 0x002d_002d, 0, 2, 2, u64::from(length), offset - u64::from(length)] {
        // Versions and disk numbers are narrower, and make up the same eight bytes.
        file.extend_from_slice(&number.to_le_bytes()[..if number == 0x002d_002d { 4 } else { 8 }]);
    }
    file.extend_from_slice(b"PK\x06\x07\0\0\0\0");
    file.extend_from_slice(&offset.to_le_bytes());
    file.extend_from_slice(&[1, 0, 0, 0]);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend_from_slice(&[0xff; 12]);
    file.extend_from_slice(&[0, 0]);
    let parts = [child("a", b"1"), child("b", b"2")];
    assert_eq!(read(&file), all(&[&parts[0], &parts[1]]));
    assert_truncation_told(&open, &file, file.len());
    let place = file.len() - 22 - 20 - 8;
    file[place] ^= 1;
    let nowhere = [broken("a", b"", Reason::Damaged), broken("b", b"", Reason::Damaged)];
    assert_eq!(read(&file), all(&[&parts[0], &parts[1], &[DISAGREES], &nowhere[0], &nowhere[1]]));
}

#[test]
fn deflate_of_nothing() {
    let mut file = ZipFile::deflated("a", b"");
    file.compressed.clear();
    assert_eq!(read(&ZipWriter::of(&[file.clone()])), all(&[&child("a", b"")]));
    file.size = 1;
    assert!(complains(&read(&ZipWriter::of(&[file]))));
    assert!(!deflate(b"").is_empty());
}

fn zip_lzma(ending: lzma::Ending, content: &[u8]) -> Vec<u8> {
    [&[9, 20, 5, 0, 0x5d, 0, 0, 1, 0][..], &lzma::raw(ending, content)].concat()
}

#[test]
fn every_method() {
    let (symbols, made) = lz_symbols(4096, 300);
    let packed = |method, flags, compressed: Vec<u8>| ZipFile {
        method,
        flags,
        compressed,
        ..ZipFile::stored("a", &made)
    };
    let zstd = || ruzstd::encoding::compress_to_vec(&made[..], ruzstd::encoding::CompressionLevel::Fastest);
    for (file, forms) in [
        (packed(1, 0, shrink(&made)), 2),
        (packed(6, 0, implode(0, &symbols)), 2),
        (packed(6, 6, implode(6, &symbols)), 2),
        (packed(9, 0, deflate64(&symbols)), 6),
        (packed(14, 0, zip_lzma(lzma::Ending::Size, &made)), 2),
        (packed(14, 2, zip_lzma(lzma::Ending::Mark, &made)), 6),
        (packed(95, 0, lzma::xz(&made)), 6),
        (packed(93, 0, zstd()), 6),
        (packed(20, 0, zstd()), 6),
    ] {
        for form in &FORMS[..forms] {
            let bytes = ZipWriter::of(&[file.clone().with(*form), ZipFile::stored("b", b"behind")]);
            let stride = if *form == FORMS[0] { bytes.len() / 100 + 1 } else { bytes.len() };
            let whole = crate::trace::trace(&mut *open(), [&bytes[..]]);
            assert!(whole == all(&[&child("a", &made), &child("b", b"behind")]), "{} {form:?}", file.method);
            for at in (0..bytes.len()).step_by(stride) {
                assert!(
                    crate::trace::trace(&mut *open(), [&bytes[..at], &bytes[at..]]) == whole,
                    "cut at {at}"
                );
            }
            assert!(crate::trace::trace(&mut *open(), bytes.chunks(1)) == whole, "byte by byte");
        }
    }
}

#[test]
fn ppmd_inside() {
    for packed in ppmd::PACKED {
        let file = ZipFile { method: 98, compressed: packed.to_vec(), ..ZipFile::stored("a", &ppmd::sung()) };
        for form in FORMS {
            let said = read(&ZipWriter::of(&[file.clone().with(form), ZipFile::stored("b", b"behind")]));
            let read = match form {
                // It is read ahead of its end, which must be known.
                Sizes::InDescriptor { .. } => broken("a", b"", Reason::Unsupported),
                Sizes::InHeader | Sizes::InZip64Extra => child("a", &ppmd::sung()),
            };
            assert_eq!(said, all(&[&read, &child("b", b"behind")]), "{form:?}");
        }
        assert_flips_told(&open, &ZipWriter::of(&[file]));
    }
    // Noise is read for a while, and all that it was read as is given out before it is said to be none.
    let mut made = 0;
    for seed in 0..2 {
        let compressed = [&[7, 0][..], &noise(seed, 500)].concat();
        let file = ZipFile { method: 98, compressed, size: 1 << 20, ..ZipFile::stored("a", b"") };
        let said = read(&ZipWriter::of(&[file]));
        made += children(&said)[0].1.len();
        assert!(said.contains(&Said::Broken(Reason::Damaged)), "{said:?}");
    }
    assert!(made > 0);
}

#[test]
fn stored_content_is_read_to_each_plausible_end() {
    let ends = Said::Anomaly("a stored zip entry with more than one end");
    let signed = Sizes::InDescriptor { signed: true, wide: false };
    let descriptor = |crc: u32, length: u32| {
        [&b"PK\x07\x08"[..], &crc.to_le_bytes(), &length.to_le_bytes(), &length.to_le_bytes()].concat()
    };
    // Within the content stands one whose length is right, and one whose sum is.
    let mut content = b"one".to_vec();
    content.extend_from_slice(&descriptor(7, 3));
    let first_sum = crc32fast::hash(&content);
    content.extend_from_slice(&descriptor(first_sum, 5));
    content.extend_from_slice(b"two");
    let file = ZipWriter::of(&[ZipFile::stored("a", &content).with(signed), ZipFile::stored("b", b"2")]);
    let parts = [child("a", &content), child("b", b"2"), child("a", b"one"), child("a", &content[..19])];
    assert_eq!(read(&file), all(&[&parts[0], &parts[1], std::slice::from_ref(&ends), &parts[2], &parts[3]]));
    // Behind one that tells the truth the content may go on, up to the next record.
    let mut writer = ZipWriter::default();
    writer.add(&ZipFile::stored("a", b"one").with(signed));
    let start = 31;
    writer.bytes.extend_from_slice(b"and more");
    let longer = writer.bytes[start..].to_vec();
    writer.add(&ZipFile::stored("b", b"2"));
    let between = Said::Anomaly("bytes between the entries of a zip file");
    let parts = [child("a", b"one"), child("b", b"2"), child("a", &longer)];
    let expected = all(&[&parts[0], &[between], &parts[1], &[ends], &parts[2]]);
    assert_eq!(read(&writer.finish()), expected);
}

#[test]
fn overlapping_entries_do_not_multiply() {
    let kernel = ZipFile::deflated("kernel", &vec![0; 20_000]);
    let mut writer = ZipWriter::default();
    writer.add(&kernel);
    for name in 0..200 {
        let mut again = kernel.clone();
        again.central_name = format!("kernel{name}").into();
        writer.add_central(&again, 0);
    }
    let file = writer.finish();
    let said = crate::trace::trace(&mut *open(), [&file[..]]);
    assert!(said.contains(&Said::Broken(Reason::Expansion)) || children(&said).len() == 201);
    let mut long = ZipFile::stored("a", &noise(1, 3000));
    let mut writer = ZipWriter::default();
    writer.add(&long);
    for name in 0..20 {
        long.central_name = format!("a{name}").into();
        writer.add_central(&long, 0);
    }
    let said = crate::trace::trace(&mut *open(), [&writer.finish()[..]]);
    assert!(said.contains(&Said::Broken(Reason::Expansion)), "{}", children(&said).len());
}
