//! Hellos, whole and broken. Rule: the same answer whole, byte by byte and at every cut.

use super::*;

fn within(length_bytes: usize, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&length[4 - length_bytes..], content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &within(2, content)].concat()
}

fn server_name(name: &[u8]) -> Vec<u8> {
    let entry = [&[0][..], &within(2, name)].concat();
    extension(0, &within(2, &entry))
}

/// A message with these extensions.
fn message(extensions: &[Vec<u8>]) -> Vec<u8> {
    let body = [
        &[3, 3][..],
        &[7; 32],
        &within(1, &[9; 32]),
        &within(2, &[0x13, 0x01, 0x1a, 0x1a]),
        &within(1, &[0]),
        &within(2, &extensions.concat()),
    ];
    [&[1][..], &within(3, &body.concat())].concat()
}

/// In records of so many bytes.
fn records(message: &[u8], bytes: usize) -> Vec<u8> {
    message.chunks(bytes).flat_map(|piece| [&[22, 3, 1][..], &within(2, piece)].concat()).collect()
}

fn usual() -> Vec<Vec<u8>> {
    vec![
        extension(0x3a3a, b""),
        server_name(b"Web.Example."),
        extension(10, &within(2, &[0, 29, 0, 23])),
        extension(11, &within(1, &[0])),
        extension(13, &within(2, &[4, 3])),
        extension(16, &within(2, b"\x02h2\x08http/1.1")),
        extension(43, &within(1, &[0x8a, 0x8a, 3, 4, 3, 3])),
        extension(0xfe0d, b"whatever"),
    ]
}

fn whole(input: &[u8]) -> Step {
    HelloReader::new().push(input)
}

/// The same answer at every cut, and never sooner than at the byte that decides it.
fn read(input: &[u8]) -> Step {
    let expected = whole(input);
    for at in 0..=input.len() {
        let mut reader = HelloReader::new();
        let mut step = reader.push(&input[..at]);
        if step == Step::NeedInput {
            step = reader.push(&input[at..]);
        }
        assert_eq!(step, expected, "cut at {at}");
    }
    let mut reader = HelloReader::new();
    let steps = input.iter().map(|byte| reader.push(std::slice::from_ref(byte)));
    let found = steps.into_iter().find(|step| *step != Step::NeedInput).unwrap_or(Step::NeedInput);
    assert_eq!(found, expected, "byte by byte");
    expected
}

#[test]
fn a_hello_is_read_in_one_record_or_many() {
    let message = message(&usual());
    for bytes in [1, 2, 3, 5, 50, message.len()] {
        let input = [&records(&message, bytes)[..], b"what follows"].concat();
        let Step::Hello(hello) = read(&input) else { panic!("records of {bytes}") };
        assert_eq!(hello.server_name.as_deref(), Some("web.example"));
        assert_eq!(hello.alpn, [b"h2".to_vec(), b"http/1.1".to_vec()]);
        assert_eq!((hello.legacy_version, hello.version_max()), (0x0303, 0x0304), "GREASE is no version");
        assert_eq!(hello.cipher_suites, [0x1301, 0x1a1a]);
        assert_eq!((hello.groups, hello.signature_algorithms), (vec![29, 23], vec![0x0403]));
        assert_eq!((hello.point_formats, hello.ech), (vec![0], Ech::Offered));
        assert_eq!(hello.extensions, [0x3a3a, 0, 10, 11, 13, 16, 43, 0xfe0d]);
    }
    for end in 0..records(&message, 50).len() {
        assert_eq!(whole(&records(&message, 50)[..end]), Step::NeedInput, "{end}");
    }
}

#[test]
fn an_old_hello_says_less() {
    let body = [&[3, 1][..], &[7; 32], &within(1, b""), &within(2, &[0, 5]), &within(1, &[0])].concat();
    let message = [&[1][..], &within(3, &body)].concat();
    let Step::Hello(hello) = read(&records(&message, 100)) else { panic!("no extensions at all") };
    assert_eq!((hello.version_max(), hello.ech, hello.server_name), (0x0301, Ech::Absent, None));
}

#[test]
fn what_is_no_hello_has_a_name() {
    let usual = message(&usual());
    let message_of = |extension: Vec<u8>| records(&message(&[extension]), 16_384);
    let two_names = [&[0][..], &within(2, b"a"), &[0], &within(2, b"b")].concat();
    let mut behind = usual.clone();
    behind[3] += 1;
    behind.push(0);
    let cases: Vec<(&str, Vec<u8>, Refusal)> = vec![
        ("http", b"GET / HTTP/1.1\r\n".to_vec(), Refusal::NotTls),
        ("ssl 2", b"\x80\x2e\x01\x03\x01".to_vec(), Refusal::NotTls),
        ("no version", b"\x16\x02".to_vec(), Refusal::NotTls),
        ("an alert", b"\x15\x03\x01".to_vec(), Refusal::NotTls),
        ("a server's hello", records(b"\x02\0\0\0", 9), Refusal::NotHello),
        ("empty record", b"\x16\x03\x01\0\0".to_vec(), Refusal::EmptyRecord),
        ("long record", b"\x16\x03\x01\x40\x01".to_vec(), Refusal::LongRecord),
        (
            "alert between",
            [&records(&usual[..9], 9)[..], b"\x15\x03\x03\0\x02\0\0"].concat(),
            Refusal::Interleaved,
        ),
        ("long", records(b"\x01\x00\x80\x00", 9), Refusal::TooLong),
        ("wrapped", records(&[&[1, 0, 0x7f, 0][..], &[3; 20_000]].concat(), 1), Refusal::TooLong),
        ("rest", records(&behind, 500), Refusal::Malformed),
        ("odd list", message_of(extension(10, &within(2, &[0]))), Refusal::Malformed),
        ("extension cut off", message_of(vec![0, 10, 0, 9, 0]), Refusal::Malformed),
        ("no name", message_of(extension(0, &within(2, b""))), Refusal::Malformed),
        ("nothing in it", message_of(extension(0, b"")), Refusal::Malformed),
        ("alpn", message_of(extension(16, &within(2, b"\x09h2"))), Refusal::Malformed),
        ("two names", message_of(extension(0, &within(2, &two_names))), Refusal::Repeated),
        ("twice", records(&message(&[server_name(b"a"), server_name(b"a")]), 999), Refusal::Repeated),
        ("a space", message_of(server_name(b"a b")), Refusal::BadName),
        ("empty label", message_of(server_name(b"a..b")), Refusal::BadName),
        ("empty", message_of(server_name(b"")), Refusal::BadName),
        ("NUL", message_of(server_name(b"a\0.example")), Refusal::BadName),
        ("IPv6", message_of(server_name(b"2001:db8::1")), Refusal::BadName),
        ("long label", message_of(server_name(&[b'a'; 64])), Refusal::BadName),
        ("long name", message_of(server_name("a.".repeat(128).as_bytes())), Refusal::BadName),
    ];
    for (name, input, expected) in cases {
        let found = if name == "wrapped" { whole(&input) } else { read(&input) };
        assert_eq!(found, Step::Refused(expected), "{name}");
        assert!(!expected.words().is_empty());
    }
}

#[test]
fn a_name_of_another_kind_is_passed_over() {
    let list = [&[7][..], &within(2, b"?"), &[0], &within(2, b"a.example")].concat();
    let input = records(&message(&[extension(0, &within(2, &list))]), 999);
    let Step::Hello(hello) = read(&input) else { panic!("it names one host") };
    assert_eq!(hello.server_name.as_deref(), Some("a.example"));
}
