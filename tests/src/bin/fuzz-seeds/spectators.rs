//! Seeds of what the wire hears and no proxy speaks. Rule: each sort of record, and each oddity, is in one of them.

use crate::Corpus;
use crate::packets::talked;
use lockgate_tests::authority::Authority;
use lockgate_tests::openssl::{Server, hello, with_extension};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub(crate) fn seeds(corpus: &Corpus) {
    dns(corpus);
    handshakes(corpus);
    ftp(corpus);
    http2(corpus);
}

/// Conversations: what the server says stands behind a `<`.
fn ftp(corpus: &Corpus) {
    let long = "X".repeat(5000);
    let many = "NOOP\n".repeat(1030);
    for (name, lines) in [
        (
            "passive",
            "<220-Hello\n< 220 not yet\n<220 there\nUSER me\n<331 more\nPASV\n<227 ok (192,0,2,1,4,1).\nRETR a b\n<150 -\n<226 done\n",
        ),
        (
            "extended",
            "EPSV\n<229 ok (|||6446|)\nSTOR up\n<226 done\nEPRT |1|192.0.2.1|1025|\n<200 ok\nLIST\n<226 ok\nEPRT |2|::1|9|\nNLST\n",
        ),
        ("active", "PORT 192,0,2,1,4,1\n<200 ok\nAPPE x\n<425 no\nPORT 1,2,3\n<500 no\nRETR\n"),
        ("pipelined", "PASV\nRETR x\n<227 =192,0,2,1,4,1\n<226-a\n<226 b\n"),
        ("secured", "AUTH TLS\n<234 ok\nrest"),
        ("nonsense", "\n  \n<\n<nonsense\n<20\n<200x\n<200\n"),
        ("long", &format!("{long}\n<200 {long}\n")),
        ("many", &many),
    ] {
        corpus.put_cut("ftp", name, lines.as_bytes());
    }
}

/// What a server of TLS 1.2 answers to a hello, up to where it waits.
fn flight(client: &[u8]) -> Vec<u8> {
    let authority = Authority::new("rsa", "/C=US/O=Example/CN=an authority");
    let pair = authority.issue("DNS:www.example,IP:192.0.2.1,URI:http://x,email:a@b.example", 30);
    let server = Server::start(&pair, &["-tls1_2"]);
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_millis(500))).expect("a time");
    stream.write_all(client).expect("it reads");
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..count]);
    }
    answer
}

fn handshakes(corpus: &Corpus) {
    let target = "tls_handshake";
    let client = hello("web.example");
    let server = flight(&client);
    corpus.put_cut(target, "client", &with_extension(&client, 16, b"\0\x0c\x02h2\x08http/1.1"));
    corpus.put_cut(target, "server", &server);
    talked(corpus, "tls", 0, &[(0, &client), (1, &server)]);
    for (name, kind, content) in [
        ("name.two", 0, &b"\0\x04\0\0\x01b"[..]),
        ("alpn.odd", 16, b"\0\x04\x03\x01\x02\x03"),
        ("groups.odd", 10, b"\0\x09\x01"),
        ("grease", 0x3a3a, b""),
    ] {
        corpus.put_cut(target, name, &with_extension(&client, kind, content));
    }
    let place = client.windows(11).position(|window| window == b"web.example").unwrap_or_default();
    for (name, at, byte) in [
        ("name.kind", place - 3, 9),
        ("name.long", place - 2, 2),
        ("other.side", 5, 2),
        ("length", 6, 9),
        ("no.tls", 0, 71),
    ] {
        let mut changed = client.clone();
        changed[at] = byte;
        corpus.put_cut(target, name, &changed);
    }
    let record = |kind: u8, content: &[u8]| [&[kind, 3, 3, 0, content.len() as u8][..], content].concat();
    let rest = [
        record(21, &[1, 0]),
        record(21, &[1]),
        record(24, &[[1, 0, 1].as_slice(), &[0; 17]].concat()),
        record(24, &[1, 64, 0]),
        record(24, &[1, 0, 1, 0]),
        record(24, &[9, 0, 1]),
        record(20, &[1]),
    ];
    corpus.put_cut(target, "others", &rest.concat());
    for (name, header) in [("kind", [9, 3, 3]), ("version", [22, 9, 3]), ("record", [22, 3, 3])] {
        corpus.put_cut(target, name, &[&record(21, &[1, 0])[..], &header, &[0xff, 0xff]].concat());
    }
    // A certificate by itself, whole and with one field that is none.
    let beginning = server.windows(2).position(|window| window == [0x30, 0x82]).unwrap_or_default();
    let certificate = server.get(beginning..).unwrap_or_default();
    corpus.put_cut(target, "certificate", certificate);
    for at in (0..400).step_by(7) {
        let mut changed = certificate.to_vec();
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 0x1f;
        }
        corpus.put_cut(target, &format!("certificate{at}"), &changed);
    }
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
    // In datagrams of at most 127 bytes, as the target's turns have them.
    talked(corpus, "dns", 5, &[(0, &query), (1, &sections), (1, b"odd")]);
    let framed = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
    corpus.put_cut(
        "dns",
        "stream",
        &[framed(&query), framed(&answer), framed(b""), framed(&sections)].concat(),
    );
    talked(corpus, "dns.stream", 1, &[(0, &framed(&query)), (1, &framed(&answer))]);
    let many = message(
        0x8000,
        [1, 4000, 0, 0],
        &[&long[..960], &[0, 0, 1, 0, 1], &record(FIRST, 5, FIRST).repeat(4000)],
    );
    corpus.put_cut("dns", "many", &many);
}

/// One side of HTTP/2 in clear (RFC 9113): heads in several frames, padding, trailers, a promise.
fn http2(corpus: &Corpus) {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let asked = [&[0x82, 0x86, 0x84, 0x41, 11][..], b"example.org", &[0x7a, 5], b"probe"].concat();
    let promise = [&[0, 0, 0, 2][..], &asked].concat();
    let client = [
        PREFACE.to_vec(),
        frame(4, 0, 0, &[0, 1, 0, 0, 16, 0]),
        frame(1, 0x20, 1, &[&[0, 0, 0, 0, 15][..], &asked[..3]].concat()),
        frame(9, 4, 1, &asked[3..]),
        frame(0, 8, 1, &[2, b'a', b'b', 0, 0]),
        frame(0, 1, 1, b"the end"),
        frame(1, 5, 3, &[0x82, 0xbf, 0xbe]),
        frame(3, 0, 3, &[0, 0, 0, 8]),
    ];
    let server = [
        frame(4, 0, 0, b""),
        frame(5, 4, 1, &promise),
        frame(1, 4, 1, &[0x3f, 0xe1, 0x1f, 0x88, 0x0f, 0x0d, 2, b'1', b'2']),
        frame(0, 0, 1, b"hello "),
        frame(1, 5, 1, &[0x10, 1, b'x', 0x83, 0x9d, 0x29, 0xaf]),
        frame(9, 4, 9, b""),
    ];
    corpus.put_cut("http2_frames", "client", &client.concat());
    corpus.put_cut("http2_frames", "server", &server.concat());
    talked(corpus, "http2", 0, &[(0, &client.concat()), (1, &server.concat())]);
}
