//! Messages, whole, cut, broken and built to cost. Rule: the same answer at every cut, and no panic whatever comes.

use super::*;
use crate::Side;

fn name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8][..], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

fn header(flags: u16, counts: [u16; 4]) -> Vec<u8> {
    [0x1234, flags].into_iter().chain(counts).flat_map(u16::to_be_bytes).collect()
}

fn record(name: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u16).to_be_bytes();
    [name, &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60], &length, data].concat()
}

fn question(text: &str, kind: u16) -> Vec<u8> {
    [&name(text)[..], &kind.to_be_bytes(), &[0, 1]].concat()
}

/// A pointer to the first name of a message.
const FIRST: &[u8] = &[0xc0, 12];

fn answer() -> Vec<u8> {
    let soa = [&name("ns.example")[..], &name("mail.example"), &[0, 0, 0, 7].repeat(5)].concat();
    let answers = [
        record(FIRST, 5, &name("other.example")),
        record(FIRST, 1, &[192, 0, 2, 1]),
        record(FIRST, 28, &[0x20; 16]),
        record(FIRST, 15, &[&[0, 10][..], &[1, b'm'], FIRST].concat()),
        record(FIRST, 16, b"\x03one\x03two"),
        record(FIRST, 33, &[&[0, 1, 0, 2, 0, 80][..], &name("srv")].concat()),
        record(FIRST, 44, &[1, 2, 0xab, 0xcd]),
        record(FIRST, 10, b"null"),
        record(FIRST, 1, b"short"),
    ];
    let authorities = [record(FIRST, 2, &name("ns.example")), record(FIRST, 6, &soa)];
    let additionals = [[&[0, 0, 41, 16, 0, 1, 0, 0, 0, 0, 8][..], &[0, 10, 0, 4, 1, 2, 3, 4]].concat()];
    [
        header(0x8583, [1, answers.len() as u16, 2, 1]),
        question("www.example", 1),
        answers.concat(),
        authorities.concat(),
        additionals.concat(),
    ]
    .concat()
}

#[test]
fn an_answer_with_each_kind_of_record() {
    let message = Message::parse(&answer(), Side::Server).unwrap();
    assert_eq!(message.oddities, []);
    assert!(looks_like_answer(&answer()) && !looks_like_answer(&answer()[..60]));
    let header = message.header;
    assert!(header.is_response() && header.is_authoritative() && header.is_recursion_desired());
    assert!(header.is_recursion_available() && !header.is_truncated() && !header.is_z_set());
    assert_eq!(
        (header.id, header.opcode(), header.response_code(), message.response_code()),
        (0x1234, 0, 3, 19)
    );
    assert_eq!(message.questions, [Question { name: b"www.example".to_vec(), kind: 1, class: 1 }]);
    assert!(message.answers.iter().all(|record| record.name == b"www.example" && record.ttl == 60));
    let data: Vec<&Data> = message.answers.iter().map(|record| &record.data).collect();
    assert_eq!(*data[0], Data::Name(b"other.example".to_vec()));
    assert_eq!(*data[1], Data::Address([192, 0, 2, 1].into()));
    assert_eq!(*data[2], Data::Address([0x20; 16].into()));
    assert_eq!(*data[3], Data::Name(b"m.www.example".to_vec()));
    assert_eq!(*data[4], Data::Texts(vec![b"one".to_vec(), b"two".to_vec()]));
    assert_eq!(*data[5], Data::Service { priority: 1, weight: 2, port: 80, target: b"srv".to_vec() });
    assert_eq!(*data[6], Data::Fingerprint { algorithm: 1, digest: 2, fingerprint: vec![0xab, 0xcd] });
    assert_eq!((data[7], data[8]), (&Data::Other(b"null".to_vec()), &Data::Other(b"short".to_vec())));
    assert_eq!(message.authorities[0].data, Data::Name(b"ns.example".to_vec()));
    let (server, mailbox) = (b"ns.example".to_vec(), b"mail.example".to_vec());
    assert_eq!(message.authorities[1].data, Data::Authority { server, mailbox, numbers: [7; 5] });
    assert_eq!(message.edns().unwrap().data, Data::Options(vec![(10, vec![1, 2, 3, 4])]));
}

#[test]
fn numbers_have_names() {
    assert_eq!([kind_name(1), kind_name(65), kind_name(4000)], ["A", "HTTPS", "4000"]);
    assert_eq!([response_code_name(3), response_code_name(15)], ["NXDOMAIN", "15"]);
}

#[test]
fn what_is_odd_has_a_name() {
    let query = |flags: u16| [header(flags, [1, 0, 0, 0]), question("a", 1)].concat();
    let named = |text: &[u8]| [&header(0, [1, 0, 0, 0])[..], text, &[0, 1, 0, 1]].concat();
    let long = [&[63][..], &[b'x'; 63]].concat().repeat(20);
    let labels = b"\x01a".repeat(300);
    // The name of the question is a label, then a pointer to itself behind another.
    let knot = [&header(0, [2, 0, 0, 0])[..], b"\x01a\xc0\x14\0\x01\0\x01", b"\xc0\x14"].concat();
    let cases: Vec<(&str, Vec<u8>, Side, Vec<&str>)> = vec![
        ("usual", query(0), Side::Client, vec![]),
        ("an answer from a client", query(0x8000), Side::Client, vec!["dns.not_request"]),
        ("a question from a server", query(0), Side::Server, vec!["dns.not_response"]),
        ("z", query(0x40), Side::Client, vec!["dns.z_flag_set"]),
        ("opcode", query(0x3800), Side::Client, vec!["dns.invalid_opcode"]),
        ("cut off", header(0, [1, 0, 0, 0]), Side::Client, vec!["dns.malformed_data"]),
        ("counts", header(0, [40, 0, 0, 0]), Side::Client, vec!["dns.malformed_data"]),
        ("a pointer out", named(&[0xff, 0xff]), Side::Client, vec!["dns.malformed_data"]),
        ("a label of no kind", named(&[0x80, 0]), Side::Client, vec!["dns.malformed_data"]),
        ("a pointer to itself", named(FIRST), Side::Client, vec!["dns.malformed_data"]),
        ("a long name", named(&[&long[..], &[0]].concat()), Side::Client, vec!["dns.name_too_long"]),
        ("many labels", named(&[&labels[..], &[0]].concat()), Side::Client, vec!["dns.malformed_data"]),
        ("a knot", knot, Side::Client, vec!["dns.infinite_loop", "dns.malformed_data"]),
    ];
    for (what, bytes, from, oddities) in cases {
        let message = Message::parse(&bytes, from).unwrap();
        let found: Vec<&str> = message.oddities.iter().map(|oddity| oddity.name()).collect();
        assert_eq!(found, oddities, "{what}");
    }
    assert_eq!(Message::parse(b"short", Side::Client), None);
}

#[test]
fn a_ring_of_pointers_ends() {
    // Two names that point to each other, and a third that leads into the ring.
    let ring =
        [&header(0, [1, 1, 0, 0])[..], b"\xc0\x1c\0\x01\0\x01", &record(b"\xc0\x1e", 1, &[0; 4])].concat();
    let mut ring = ring;
    ring.extend_from_slice(b"\x01a\xc0\x1e\x01b\xc0\x22");
    for at in 12..ring.len() {
        let bytes = [&ring[..at], &[0xc0, at as u8 - 2], &ring[at..]].concat();
        Message::parse(&bytes, Side::Client);
    }
    let bytes = [&header(0, [1, 0, 0, 0])[..], b"\xc0\x12\0\x01\0\x01", b"\x01a\xc0\x12"].concat();
    let message = Message::parse(&bytes, Side::Client).unwrap();
    assert_eq!(message.oddities, [Oddity::TooManyLabels]);
    assert_eq!(message.questions[0].name.len(), 255);
}

#[test]
fn what_is_small_does_not_become_large() {
    let target = [&[63][..], &[b'x'; 63]].concat().repeat(15);
    let first = [&target[..], &[0, 0, 1, 0, 1]].concat();
    let records = record(FIRST, 5, FIRST).repeat(4000);
    let bytes = [header(0x8000, [1, 4000, 0, 0]), first, records].concat();
    assert!(bytes.len() < MESSAGE_BYTES_MAX);
    let message = Message::parse(&bytes, Side::Server).unwrap();
    assert_eq!(message.oddities, [Oddity::TooManyRecords]);
    assert!(message.answers.len() < 140, "{}", message.answers.len());
    let many = [header(0, [5000, 0, 0, 0]), [0, 0, 1, 0, 1].repeat(5000)].concat();
    let message = Message::parse(&many, Side::Client).unwrap();
    assert_eq!(
        (message.questions.len(), message.oddities.as_slice()),
        (RECORDS_MAX, &[Oddity::TooManyRecords][..])
    );
}

#[test]
fn broken_messages_are_read_as_far_as_they_go() {
    let whole = answer();
    for end in 0..whole.len() {
        let message = Message::parse(&whole[..end], Side::Server);
        assert_eq!(message.is_some(), end >= 12, "{end}");
        assert!(message.is_none_or(|message| !message.is_whole()), "{end}");
    }
    for at in 0..whole.len() {
        for bits in [1, 0x80, 0xff, 0xc0] {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            Message::parse(&damaged, Side::Server);
            looks_like(&damaged);
        }
    }
}

#[test]
fn a_stream_is_the_same_at_every_cut() {
    let framed = |message: &[u8]| [&(message.len() as u16).to_be_bytes()[..], message].concat();
    let query = [header(0x8000, [1, 0, 0, 0]), question("a.b", 1)].concat();
    let input = [framed(&answer()), framed(b""), framed(b"junk"), framed(&query), vec![0]].concat();
    let run = |cuts: &[usize]| {
        let (mut stream, mut messages, mut from) = (Stream::new(Side::Server), Vec::new(), 0);
        for to in cuts.iter().copied().chain([input.len()]) {
            stream.push(&input[from..to], &mut |message| messages.push(message));
            from = to;
        }
        assert_eq!(stream.held_bytes(), 1);
        messages
    };
    let whole = run(&[]);
    assert_eq!(whole.len(), 2);
    assert_eq!(whole[1].questions[0].name, b"a.b");
    for cut in 0..=input.len() {
        assert_eq!(run(&[cut]), whole, "cut at {cut}");
    }
    assert_eq!(run(&(0..input.len()).collect::<Vec<_>>()), whole);
}

#[test]
fn a_gap_ends_a_stream_or_not() {
    let query = [header(0, [1, 0, 0, 0]), question("a.b", 1)].concat();
    let framed = [&(query.len() as u16).to_be_bytes()[..], &query].concat();
    let run = |after: &[u8]| {
        let (mut stream, mut count) = (Stream::new(Side::Client), 0);
        stream.push(&framed[..9], &mut |_| count += 1);
        stream.gap();
        stream.push(after, &mut |_| count += 1);
        stream.push(&framed, &mut |_| count += 1);
        count
    };
    assert_eq!(run(&framed), 2);
    assert_eq!(run(&framed[9..]), 0);
    assert_eq!(Stream::looks_like(&framed[..13]), None);
    assert_eq!(Stream::looks_like(&framed[..14]), Some(true));
    assert_eq!(Stream::looks_like(&framed), Some(true));
    assert_eq!(Stream::looks_like(b"GET / HTTP/1.1\r\n\r\n"), Some(false));
}
