//! Seeds of TLS: hellos of openssl, and what they become by one change. Rule: each rule of the reader is met by one of them.

use crate::Corpus;
use lockgate_tests::openssl::{hello, with_ech, with_extension};

pub(crate) fn seeds(corpus: &Corpus) {
    let target = "tls_hello";
    let plain = hello("web.example");
    corpus.put_cut(target, "openssl", &plain);
    corpus.put_cut(target, "ech", &with_ech(&plain));
    for (name, kind, content) in [
        ("alpn", 16, &b"\0\x0c\x02h2\x08http/1.1"[..]),
        ("alpn.cut", 16, b"\0\x0c\x02h2"),
        ("grease", 0x3a3a, b""),
        ("twice", 43, b"\x02\x03\x04"),
        ("name", 0, b"\0\x04\0\0\x01b"),
    ] {
        corpus.put_cut(target, name, &with_extension(&plain, kind, content));
    }
    let (header, message) = plain.split_at(5);
    let records = message.chunks(7).flat_map(|piece| [&header[..3], &[0, piece.len() as u8], piece].concat());
    let records: Vec<u8> = records.collect();
    corpus.put_cut(target, "records", &records);
    let mut interleaved = records.clone();
    interleaved[12] = 21;
    corpus.put_cut(target, "interleaved", &interleaved);
    for (name, at, byte) in [
        ("no.tls", 0, b'G'),
        ("old", 1, 2),
        ("long.record", 3, 0x7f),
        ("server", 5, 2),
        ("long", 6, 1),
        ("session", 43, 33),
    ] {
        let mut changed = plain.clone();
        changed[at] = byte;
        corpus.put_cut(target, name, &changed);
    }
    corpus.put_cut(target, "empty.record", &[22, 3, 1, 0, 0]);
    let place = plain.windows(11).position(|window| window == b"web.example").unwrap_or_default();
    for (name, bytes) in [("space", b"web example"), ("labels", b"web..xample"), ("case", b"WEB.Example")] {
        let mut changed = plain.clone();
        changed[place..place + 11].copy_from_slice(bytes);
        corpus.put_cut(target, name, &changed);
    }
}
