//! Files of our own making. Rule: what a reader could be led to is a child, or is told.

use super::filter::tests::ascii85;
use super::*;
use crate::samples::{children, complains, prose, zlib};
use crate::trace::{Said, assert_cut_invariant, trace};

fn open() -> Box<dyn Decoder> {
    Box::new(decoder())
}

/// An object with a stream.
fn stream(number: u32, dictionary: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("{number} 0 obj\n<<{dictionary}>>\nstream\r\n");
    [head.as_bytes(), content, b"\nendstream\nendobj\n"].concat()
}

fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    [b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec(), objects.concat(), b"trailer\n<</Size 9>>\n%%EOF\n".to_vec()]
        .concat()
}

fn child(label: &str, content: &[u8]) -> (String, Vec<u8>) {
    (label.to_owned(), content.to_vec())
}

#[test]
fn streams_are_children() {
    let long = prose(1, 30_000);
    let packed = zlib(&long);
    let length = format!("/Length {}/Filter/FlateDecode", packed.len());
    let bytes = file(&[
        stream(1, &length, &packed),
        stream(2, "/Length 9 0 R/Filter[/ASCII85Decode/FlateDecode]", &ascii85(&packed)),
        stream(3, "/Length 5", b"plain"),
        stream(4, "", b"no length\r"),
        stream(5, "/Filter/DCTDecode", b"\xff\xd8\xff"),
        stream(6, "/Type/XRef/Filter/FlateDecode", &zlib(b"numbers")),
    ]);
    let said = assert_cut_invariant(&open, &bytes);
    let expected = [
        child("object.1", &long),
        child("object.2", &long),
        child("object.3", b"plain"),
        child("object.4", b"no length"),
        child("object.5", b"\xff\xd8\xff"),
    ];
    assert!(
        children(&said) == expected,
        "{:?}",
        children(&said).iter().map(|c| (&c.0, c.1.len())).collect::<Vec<_>>()
    );
    assert!(!complains(&said) && !said.iter().any(|s| matches!(s, Said::Anomaly(_))), "{said:?}");
}

#[test]
fn names_and_scripts() {
    let objects = b"7 0 8 20 <</F(late.exe)/EF<</F 4 0 R>>>> <</S/JavaScript/JS(app.alert\\(1\\))>>";
    let bytes = file(&[
        b"3 0 obj<</Type/Filespec/F(a.txt)/UF(dir/early.exe)/EF<</F 5 0 R>>>>endobj\n".to_vec(),
        stream(4, "/Length 1", b"l"),
        stream(5, "/Length 1", b"e"),
        stream(6, "/Type/ObjStm/Filter/FlateDecode", &zlib(objects)),
        b"7 0 obj<</OpenAction<</J#53<6162>>>>>endobj".to_vec(),
    ]);
    let said = assert_cut_invariant(&open, &bytes);
    let found: Vec<_> = said
        .iter()
        .filter_map(|s| {
            if let Said::Open(entry) = s { Some((&entry.label[..], entry.name.as_deref())) } else { None }
        })
        .collect();
    let expected = [
        ("object.4", None),
        ("object.5", Some("early.exe")),
        ("object.6", None),
        ("object.4", Some("late.exe")),
        ("script.1", None),
        ("script.2", None),
    ];
    assert_eq!(found, expected);
    let found = children(&said);
    assert_eq!(found[4], child("script.1", b"app.alert(1)"));
    assert_eq!(found[5], child("script.2", b"ab"));
}

#[test]
fn lengths_that_lie() {
    let bytes = file(&[stream(1, "/Length 3", b"longer than that"), stream(2, "", b"x")]);
    let said = assert_cut_invariant(&open, &bytes);
    assert_eq!(children(&said), [child("object.1", b"longer than that"), child("object.2", b"x")]);

    // Whatever another reader may take for an object is told.
    let hidden = stream(2, "/Filter/FlateDecode", &zlib(b"hidden"));
    let outer = [b"1 0 obj<</Length 5000>>stream\n".to_vec(), hidden.clone(), vec![b' '; 6000]].concat();
    let said = assert_cut_invariant(&open, &file(&[outer]));
    assert!(said.iter().any(|s| matches!(s, Said::Anomaly(_))), "{said:?}");
    let outer = [b"1 0 obj<<>>stream\n".to_vec(), hidden].concat();
    let said = assert_cut_invariant(&open, &file(&[outer]));
    assert!(said.iter().any(|s| matches!(s, Said::Anomaly(_))), "{said:?}");

    // A filter that has ended needs no length.
    let bytes =
        file(&[stream(1, "/Filter/FlateDecode/Length 5000", &zlib(b"one")), stream(2, "/Length 3", b"two")]);
    let said = assert_cut_invariant(&open, &[bytes, vec![b'\n'; 6000]].concat());
    assert_eq!(children(&said), [child("object.1", b"one"), child("object.2", b"two")]);

    // A file within a file is read there.
    let inner = file(&[stream(1, "/Length 2", b"in")]);
    let bytes = file(&[stream(1, &format!("/Length {}", inner.len()), &inner)]);
    let said = assert_cut_invariant(&open, &bytes);
    assert_eq!(children(&said), [child("object.1", &inner)]);
    assert!(!said.iter().any(|s| matches!(s, Said::Anomaly(_))));
}

#[test]
fn what_cannot_be_read_is_told() {
    let broken = file(&[stream(1, "/Filter/FlateDecode", b"\x78\x9c\xff\xff\xff\xff"), stream(2, "", b"x")]);
    let said = assert_cut_invariant(&open, &broken);
    assert!(said.contains(&Said::Incomplete(Reason::Damaged)), "{said:?}");
    let encrypted = [&broken[..], b"trailer<</Encrypt 9 0 R>>\n"].concat();
    let said = assert_cut_invariant(&open, &encrypted);
    assert!(said.contains(&Said::Incomplete(Reason::Encrypted)));
    assert!(!said.contains(&Said::Incomplete(Reason::Damaged)));
    for dictionary in ["/Filter/Unheard", "/Filter[/Fl/Fl/Fl/Fl/Fl/Fl/Fl/Fl/Fl]"] {
        let said = assert_cut_invariant(&open, &file(&[stream(1, dictionary, b"x")]));
        assert!(complains(&said), "{dictionary}");
    }
    let bytes = file(&[stream(1, "/Filter/FlateDecode", &zlib(&prose(1, 3000)))]);
    for length in 60..bytes.len() - 60 {
        assert!(complains(&trace(&mut *open(), [&bytes[..length]])), "cut off at {length}");
    }
}

#[test]
fn nothing_bad_panics() {
    let mut bytes = file(&[
        stream(1, "/Filter[/AHx/Fl]/DecodeParms<</Predictor 12/Columns 4>>", b"789c4b4c4a06 00024d0127>"),
        stream(2, "/Filter[/LZW/RL]/Length 9", b"\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01"),
        b"3 0 obj<</JS(a\\)/EF<</F 1 0 R>>/F<61>>>endobj".to_vec(),
    ]);
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let said = trace(&mut *open(), [&bytes[..]]);
        assert_eq!(trace(&mut *open(), bytes.chunks(7)), said, "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}
