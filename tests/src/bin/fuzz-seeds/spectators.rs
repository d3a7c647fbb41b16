//! Seeds of what the wire hears and no proxy speaks. Rule: each sort of record, and each oddity, is in one of them.

use crate::Corpus;

pub(crate) fn seeds(corpus: &Corpus) {
    dns(corpus);
}

fn message(flags: u16, counts: [u16; 4], body: &[&[u8]]) -> Vec<u8> {
    let header = [0x1234, flags].into_iter().chain(counts).flat_map(u16::to_be_bytes);
    header.chain(body.concat()).collect()
}

fn record(name: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    [name, &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60], &(data.len() as u16).to_be_bytes(), data].concat()
}

fn dns(corpus: &Corpus) {
    const QUESTION: &[u8] = b"\x03www\x07example\0\0\x01\0\x01";
    const FIRST: &[u8] = &[0xc0, 12];
    let soa = [FIRST, FIRST, &[0; 20]].concat();
    let records: Vec<Vec<u8>> = [
        (1, &[192, 0, 2, 1][..]),
        (28, &[1; 16]),
        (1, b"odd"),
        (5, FIRST),
        (15, b"\0\x0a\x01m\xc0\x0c"),
        (16, b"\x03one\x03two"),
        (6, &soa),
        (33, b"\0\x01\0\x02\0\x50\x03srv\0"),
        (44, &[1, 2, 3, 4]),
        (41, b"\0\x0a\0\x02ab"),
        (10, b"null"),
    ]
    .into_iter()
    .map(|(kind, data)| record(FIRST, kind, data))
    .collect();
    let answer = message(0x8583, [1, 11, 0, 0], &[QUESTION, &records.concat()]);
    let query = message(0x0100, [1, 0, 0, 0], &[QUESTION]);
    let sections = message(0x8180, [1, 0, 1, 1], &[QUESTION, &records[3], &records[9]]);
    let long = [&[63][..], &[b'x'; 63]].concat().repeat(20);
    let labels = b"\x01a".repeat(300);
    let inputs: [(&str, Vec<u8>); 9] = [
        ("query", query.clone()),
        ("answer", answer.clone()),
        ("sections", sections.clone()),
        ("long", message(0x3840, [1, 0, 0, 0], &[&long, &[0, 0, 1, 0, 1]])),
        ("labels", message(0, [2, 0, 0, 0], &[b"\xc0\x12\0\x01\0\x01", &labels, &[0, 0, 1, 0, 1]])),
        ("knot", message(0, [2, 0, 0, 0], &[b"\x01a\xc0\x14\0\x01\0\x01", b"\xc0\x14\0\x01\0\x01"])),
        ("cut", answer[..60].to_vec()),
        ("counts", message(0, [9999, 1, 1, 1], &[])),
        ("far", message(0, [1, 0, 0, 0], &[b"\xff\xff\0\x01\0\x01"])),
    ];
    for (name, bytes) in &inputs {
        corpus.put_cut("dns", name, bytes);
    }
    let framed = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
    corpus.put_cut(
        "dns",
        "stream",
        &[framed(&query), framed(&answer), framed(b""), framed(&sections)].concat(),
    );
    let many = message(
        0x8000,
        [1, 4000, 0, 0],
        &[&long[..960], &[0, 0, 1, 0, 1], &record(FIRST, 5, FIRST).repeat(4000)],
    );
    corpus.put_cut("dns", "many", &many);
}
