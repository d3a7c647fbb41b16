//! Both readings of coded content, at every cut. Rule: streams of our own making.

use super::{Coding, open_coded, open_coding};
use crate::decoder::{Decoder, Means};
use crate::samples::{ZipFile, ZipWriter, deflate, gzip, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{FileType, Pool, Reason};

fn means() -> Means {
    Means { pool: Pool::new(64 << 20) }
}

fn open(coding: Coding, seems: FileType) -> Box<dyn Decoder> {
    open_coded(coding, seems, &means()).expect("it is no container")
}

fn said(coding: Coding, seems: FileType, input: &[u8]) -> Vec<Said> {
    assert_cut_invariant(&|| open(coding, seems), input)
}

/// Whether the other reading is told, which it is at every cut, though not at the same place.
fn tells(seems: FileType, input: &[u8]) -> bool {
    let tells = |chunks: &[&[u8]]| {
        let said = trace(&mut *open(Coding::Deflate, seems), chunks.iter().copied());
        said.contains(&Said::Incomplete(Reason::Unsupported))
    };
    let whole = tells(&[input]);
    assert_eq!(tells(&input.chunks(1).collect::<Vec<_>>()), whole);
    for at in 0..=input.len() {
        let (a, b) = input.split_at(at);
        assert_eq!(tells(&[a, b]), whole, "cut at {at}");
    }
    whole
}

/// Raw deflate of content in one stored block: the content stands in it as it is.
fn stored(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_le_bytes();
    [&[1, length[0], length[1], !length[0], !length[1]][..], content].concat()
}

#[test]
fn codings_have_names() {
    for coding in Coding::ALL {
        assert_eq!(Coding::named(coding.name().to_uppercase().as_bytes()), Some(coding));
    }
    assert_eq!(Coding::named(b"X-Gzip"), Some(Coding::Gzip));
    for other in ["identity", "compress", "gzip ", "gzip;q=1", "", "*", "zst"] {
        assert_eq!(Coding::named(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn what_is_one_thing_only_is_decoded() {
    let content = prose(1, 3000);
    for seems in [FileType::Data, FileType::Text, FileType::Pe] {
        let said = said(Coding::Deflate, seems, &deflate(&content));
        assert!(matches!(&said[..], [_, Said::Bytes(bytes), Said::Close, Said::End] if *bytes == content));
    }
    let gzipped = said(Coding::Gzip, FileType::Gzip, &gzip(&content));
    assert!(matches!(&gzipped[..], [_, Said::Bytes(bytes), Said::Close, Said::End] if *bytes == content));
}

#[test]
fn a_container_without_its_coding_is_told() {
    for seems in [FileType::Zip, FileType::Gzip, FileType::Rar, FileType::Tar, FileType::Mail] {
        for coding in Coding::ALL.into_iter().filter(|coding| coding.name() != seems.name()) {
            assert_eq!(open_coded(coding, seems, &means()).err(), Some(Reason::Unsupported), "{seems:?}");
            assert!(open_coding(coding, &means()).is_ok());
        }
    }
}

#[test]
fn what_ends_like_an_archive_without_its_coding_is_told() {
    let zip = ZipWriter::of(&[ZipFile::stored("a", b"content")]);
    // Within the stream, and behind its end.
    for stream in [stored(&zip), [deflate(b"clean"), zip.clone()].concat()] {
        assert!(tells(FileType::Data, &stream));
    }
    let uuencoded = stored(b"\nbegin 644 a.txt\n#0V%T\n`\nend\n");
    assert!(tells(FileType::Text, &uuencoded));
    assert!(!tells(FileType::Data, &deflate(&zip)));
}
