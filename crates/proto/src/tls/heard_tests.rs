//! Handshakes as a spectator hears them. Rule: the same answer whole, byte by byte and at every cut, and no panic whatever comes.

use super::*;
use crate::Side;

fn within(length_bytes: usize, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&length[4 - length_bytes..], content].concat()
}

fn words(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &within(2, content)].concat()
}

fn server_name(kind: u8, name: &[u8]) -> Vec<u8> {
    extension(0, &within(2, &[&[kind][..], &within(2, name)].concat()))
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &within(3, body)].concat()
}

fn client_hello(version: u16, suites: &[u16], extensions: &[u8]) -> Vec<u8> {
    let body = [
        &version.to_be_bytes()[..],
        &[7; 32],
        &within(1, &[9; 32]),
        &within(2, &words(suites)),
        &within(1, &[0]),
        &within(2, extensions),
    ];
    message(1, &body.concat())
}

fn server_hello(version: u16, suite: u16, extensions: &[u8]) -> Vec<u8> {
    let body = [
        &version.to_be_bytes()[..],
        &[8; 32],
        &within(1, &[]),
        &suite.to_be_bytes(),
        &[0],
        &within(2, extensions),
    ];
    message(2, &body.concat())
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind, 3, 3][..], &within(2, content)].concat()
}

fn records(message: &[u8], bytes: usize) -> Vec<u8> {
    message.chunks(bytes).flat_map(|piece| record(22, piece)).collect()
}

fn run<'a>(from: Side, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Said>, bool) {
    let (mut spectator, mut said) = (Spectator::new(from), Vec::new());
    for piece in pieces {
        spectator.push(piece, &mut |one| said.push(one));
        assert!(spectator.held_bytes() <= MESSAGE_BYTES_MAX + 16);
    }
    (said, spectator.is_over())
}

/// The same at every cut.
fn heard(from: Side, input: &[u8]) -> Vec<Said> {
    let whole = run(from, [input]);
    for at in 0..=input.len() {
        assert_eq!(run(from, [&input[..at], &input[at..]]), whole, "cut at {at}");
    }
    assert_eq!(run(from, input.chunks(1)), whole, "byte by byte");
    whole.0
}

fn usual() -> Vec<u8> {
    [
        extension(0x3a3a, b""),
        server_name(0, b"Web.Example"),
        extension(10, &within(2, &words(&[0x2a2a, 29, 23]))),
        extension(11, &within(1, &[0])),
        extension(13, &within(2, &words(&[0x0403]))),
        extension(16, &within(2, b"\x02h2\x08http/1.1")),
        extension(43, &within(1, &words(&[0x8a8a, 0x0304, 0x0303]))),
    ]
    .concat()
}

#[test]
fn a_clients_hello_in_one_record_or_many() {
    let hello = client_hello(0x0303, &[0x1a1a, 0x1301, 0xc02f], &usual());
    for bytes in [1, 3, 5, 50, hello.len()] {
        let said = heard(Side::Client, &records(&hello, bytes));
        let [Said::Hello(hello)] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!(hello.server_name.as_deref(), Some(&b"Web.Example"[..]), "as it came");
        assert_eq!((hello.legacy_version, hello.version(), hello.version_max()), (0x0303, 0x0304, 0x0304));
        assert_eq!(hello.alpn, [b"h2".to_vec(), b"http/1.1".to_vec()]);
        assert_eq!((hello.random.len(), hello.session_id.len()), (32, 32));
        assert_eq!(hello.ja3(), "771,4865-49199,0-10-11-13-16-43,29-23,0");
        assert!(hello.ja4().starts_with("t13d0206h2_"), "{}", hello.ja4());
    }
}

#[test]
fn fingerprints_are_those_of_their_authors() {
    let extensions = [
        server_name(0, b"a"),
        extension(10, &within(2, &words(&[23, 24, 25]))),
        extension(11, &within(1, &[0])),
    ]
    .concat();
    let suites = [47, 53, 5, 10, 49161, 49162, 49171, 49172, 50, 56, 19, 4];
    let said = heard(Side::Client, &records(&client_hello(769, &suites, &extensions), 99));
    let [Said::Hello(hello)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(hello.ja3(), "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,0-10-11,23-24-25,0");
    assert_eq!(ja3_hash(&hello.ja3()), "ada70206e40642a3e4461f35503241d5");

    let suites = [
        0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x9c, 0x9d,
        0x2f, 0x35,
    ];
    let kinds = [0x5, 0xa, 0xb, 0x12, 0x15, 0x17, 0x1b, 0x23, 0x2d, 0x33, 0x4469, 0xff01];
    let mut extensions: Vec<Vec<u8>> = kinds.iter().map(|kind| extension(*kind, b"")).collect();
    let algorithms = [0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601];
    extensions.push(server_name(0, b"a"));
    extensions.push(extension(13, &within(2, &words(&algorithms))));
    extensions.push(extension(16, &within(2, b"\x02h2")));
    extensions.push(extension(43, &within(1, &words(&[0x0304]))));
    let hello = client_hello(0x0303, &suites, &extensions.concat());
    let (said, _) = run(Side::Client, [records(&hello, 999).as_slice()]);
    let Some(Said::Hello(hello)) = said.first() else { panic!("{said:?}") };
    assert_eq!(hello.ja4(), "t13d1516h2_8daaf6152771_e5627efa2ab1");
}

#[test]
fn what_ja4_says_of_little() {
    let body = [&[3, 0][..], &[7; 32], &within(1, b""), &within(2, b""), &within(1, &[0])].concat();
    let said = heard(Side::Client, &records(&message(1, &body), 100));
    let [Said::Hello(hello)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(hello.ja4(), "ts3i000000_000000000000_000000000000");
    for (alpn, ends) in [(&b"\x04\xabcd\xef"[..], "af"), (b"\x01x", "xx"), (b"\0", "00")] {
        let hello = client_hello(0x0302, &[1], &extension(16, &within(2, alpn)));
        let said = heard(Side::Client, &records(&hello, 999));
        let [Said::Hello(hello)] = said.as_slice() else { panic!("{said:?}") };
        assert!(hello.ja4().starts_with(&format!("t11i0101{ends}_")), "{}", hello.ja4());
    }
    let names = [0x0002, 0x0300, 0x0301, 0x0303, 0x0304, 0x7f12, 5].map(version_name);
    assert_eq!(names, ["SSLv2", "SSLv3", "TLSv1", "TLS 1.2", "TLS 1.3", "TLS 1.3 draft-18", "0x0005"]);
}

#[test]
fn a_servers_side_up_to_encryption() {
    let chain = [within(3, &certificate()), within(3, b"another")].concat();
    let flight = [
        server_hello(0x0303, 0xc02f, &[extension(0, b""), extension(16, &within(2, b"\x02h2"))].concat()),
        message(11, &within(3, &chain)),
        message(12, &[5; 300]),
        message(14, b""),
    ]
    .concat();
    for bytes in [7, 100, 9000] {
        let input = [records(&flight, bytes), record(20, &[1]), record(22, &[0xee; 40])].concat();
        let said = heard(Side::Server, &input);
        let [Said::Hello(hello), Said::Certificates(chain), Said::Encrypted] = said.as_slice() else {
            panic!("{said:?}")
        };
        assert_eq!((hello.version(), hello.cipher_suites.as_slice()), (0x0303, &[0xc02f][..]));
        assert_eq!((hello.ja3().as_str(), hello.server_name.as_ref()), ("771,49199,0-16", None));
        assert_eq!((chain[0].as_slice(), chain[1].as_slice()), (certificate().as_slice(), &b"another"[..]));
    }
    let hello = server_hello(0x0303, 0x1301, &extension(43, &[3, 4]));
    let said = heard(Side::Server, &[records(&hello, 999), record(23, &[1; 9])].concat());
    let [Said::Hello(hello), Said::Encrypted] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(hello.version(), 0x0304);
}

#[test]
fn what_is_odd_has_a_name() {
    let hello = |extensions: &[Vec<u8>]| records(&client_hello(0x0303, &[1], &extensions.concat()), 9999);
    let heartbeat = |kind: u8, said: u16, bytes: usize| {
        record(24, &[&[kind][..], &said.to_be_bytes(), &vec![0; bytes]].concat())
    };
    let long = [&[22, 3, 3, 0, 4][..], &[1, 1, 0, 1]].concat();
    let mut cut = client_hello(0x0303, &[1], b"");
    cut.truncate(30);
    cut[3] = 26;
    let cases: Vec<(&str, Vec<u8>, Vec<&str>)> = vec![
        ("http", b"GET / HTTP/1.1\r\n".to_vec(), vec!["tls.invalid_tls_header"]),
        ("ssl 2", b"\x80\x2e\x01\x03\x01\0\x15".to_vec(), vec![]),
        ("kind", [record(21, &[1, 0]), vec![9, 3, 3, 0, 0]].concat(), vec!["tls.invalid_record_type"]),
        ("version", vec![22, 4, 3, 0, 0], vec!["tls.invalid_record_version"]),
        ("length", vec![22, 3, 3, 0x50, 0], vec!["tls.invalid_record_length"]),
        (
            "a server's message",
            records(&server_hello(0x303, 1, b""), 99),
            vec!["tls.invalid_handshake_message"],
        ),
        ("a long message", long, vec!["tls.handshake_invalid_length"]),
        ("no room", records(&cut, 99), vec!["tls.handshake_invalid_length"]),
        ("alert", record(21, &[1, 0, 0]), vec!["tls.invalid_alert_message"]),
        ("alert that is fine", record(21, &[1, 0]), vec![]),
        ("heartbeat", heartbeat(1, 4, 20), vec![]),
        ("heartbleed", heartbeat(1, 0x4000, 0), vec!["tls.overflow_heartbeat_message"]),
        ("padding", heartbeat(2, 4, 19), vec!["tls.invalid_heartbeat_message"]),
        ("no heartbeat", heartbeat(3, 4, 20), vec!["tls.invalid_heartbeat_message"]),
        ("a short one", record(24, &[1]), vec!["tls.invalid_heartbeat_message"]),
        (
            "two names",
            hello(&[server_name(0, b"a"), server_name(0, b"b")]),
            vec!["tls.multiple_sni_extensions"],
        ),
        ("kind of name", hello(&[server_name(9, b"a")]), vec!["tls.invalid_sni_type"]),
        ("long name", hello(&[server_name(0, &[b'a'; 300])]), vec!["tls.invalid_sni_length"]),
        ("empty name", hello(&[extension(0, b"")]), vec![]),
        ("odd list", hello(&[extension(10, &within(2, &[0]))]), vec![]),
        ("name cut", hello(&[extension(0, &within(2, b"\0\0"))]), vec!["tls.handshake_invalid_length"]),
        ("extension cut", hello(&[vec![0, 10, 0, 9, 0]]), vec!["tls.handshake_invalid_length"]),
        ("chain", records(&message(11, &[0, 0, 9]), 99), vec!["tls.handshake_invalid_length"]),
    ];
    for (what, input, names) in cases {
        let odd = heard(Side::Client, &input).into_iter().filter_map(|said| match said {
            Said::Odd(oddity) => Some(oddity.name()),
            _ => None,
        });
        assert_eq!(odd.collect::<Vec<_>>(), names, "{what}");
    }
}

#[test]
fn nothing_is_read_behind_a_gap() {
    let hello = records(&client_hello(0x0303, &[1], b""), 50);
    let mut spectator = Spectator::new(Side::Client);
    spectator.push(&hello[..20], &mut |_| panic!("it is not whole"));
    spectator.gap();
    assert!(spectator.is_over() && spectator.held_bytes() == 0);
    spectator.push(&hello, &mut |_| panic!("nothing is read any more"));
}

#[test]
fn damage_and_truncation() {
    let client = records(&client_hello(0x0303, &[1, 2], &usual()), 60);
    let flight = [server_hello(0x0303, 1, &usual()), message(11, &within(3, &within(3, &certificate())))];
    let server = records(&flight.concat(), 60);
    for (from, input) in [(Side::Client, client), (Side::Server, server)] {
        for at in 0..input.len() {
            run(from, [&input[..at]]);
            for bits in [1, 0x80, 0xff] {
                let mut damaged = input.clone();
                damaged[at] ^= bits;
                assert_eq!(run(from, [damaged.as_slice()]), run(from, damaged.chunks(7)));
            }
        }
    }
}

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = if length < 128 {
        vec![tag, length as u8]
    } else {
        vec![tag, 0x82, (length >> 8) as u8, length as u8]
    };
    [head, content.to_vec()].concat()
}

/// A name of a country, an organisation and a common name.
fn name(common: &[u8]) -> Vec<u8> {
    let part =
        |kind: u8, text: &[u8]| der(0x31, &der(0x30, &[der(6, &[0x55, 4, kind]), der(0x13, text)].concat()));
    der(0x30, &[part(6, b"US"), part(10, b"Example"), part(3, common)].concat())
}

/// A certificate that nobody has signed.
fn certificate() -> Vec<u8> {
    let algorithm =
        der(0x30, &[der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11]), der(5, b"")].concat());
    let names =
        [der(0x82, b"www.example"), der(0x87, &[192, 0, 2, 1]), der(0x87, &[0; 16]), der(0x86, b"u:x")];
    let alternative = der(0x30, &[der(6, &[0x55, 0x1d, 17]), der(4, &der(0x30, &names.concat()))].concat());
    let key = der(0x30, &[der(0x30, &[der(6, &[0x2b, 0x65, 0x70])].concat()), der(3, &[0; 33])].concat());
    let body = [
        der(0xa0, &der(2, &[2])),
        der(2, &[0, 0xab, 0x01]),
        algorithm.clone(),
        name(b"an issuer"),
        der(0x30, &[der(0x17, b"200101000000Z"), der(0x17, b"300101000000Z")].concat()),
        name(b"www.example"),
        key,
        der(0xa3, &der(0x30, &alternative)),
    ];
    der(0x30, &[der(0x30, &body.concat()), algorithm, der(3, &[0; 9])].concat())
}

#[test]
fn what_a_certificate_says() {
    let bytes = certificate();
    let read = Certificate::read(&bytes).unwrap();
    assert_eq!(read.subject, "C=US, O=Example, CN=www.example");
    assert_eq!(read.issuer, "C=US, O=Example, CN=an issuer");
    assert_eq!(read.serial, "00:AB:01");
    assert_eq!((read.not_before, read.not_after), (1_577_836_800, 1_893_456_000));
    assert_eq!(read.alternative_names, ["www.example", "192.0.2.1", "::", "u:x"]);
    assert_eq!(fingerprint(b"abc"), "a9:99:3e:36:47:06:81:6a:ba:3e:25:71:78:50:c2:6c:9c:d0:d8:9d");
    for at in 0..bytes.len() {
        let cut = Certificate::read(&bytes[..at]).unwrap_err();
        assert!(cut.name().contains("certificate"), "{at}");
        for bits in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= bits;
            if let Err(oddity) = Certificate::read(&damaged) {
                assert!(oddity.name().contains("certificate"), "{at}");
            }
        }
    }
}
