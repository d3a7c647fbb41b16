//! Requests as clients and attackers send them. Rule: one reading, or the name of what is wrong.

use super::*;

fn read(input: &[u8]) -> Said {
    at_every_cut(input, |chunks| requests(Disposition::Strict, Limits::default(), chunks))
}

const READINGS: &[(&str, &[&str])] = &[
    (
        "GET http://A.Example/x?y HTTP/1.1\nHost: a.example\n\n",
        &["GET http://a.example/x?y Http11 None", "Host=a.example", "end"],
    ),
    (
        "GET HTTP://a:8080 HTTP/1.1\nHost: a:8080\n\n",
        &["GET http://a:8080/ Http11 None", "Host=a:8080", "end"],
    ),
    (
        "GET https://[2001:DB8::0:1]:?q HTTP/1.1\nHost: [2001:db8::1]:443\n\n",
        &["GET https://[2001:db8::1]/?q Http11 None", "Host=[2001:db8::1]:443", "end"],
    ),
    ("GET http://a./ HTTP/1.1\nHost: A\n\n", &["GET http://a/ Http11 None", "Host=A", "end"]),
    // The target wins, and Host is made from it.
    ("GET http://a/ HTTP/1.1\nHost: b\n\n", &["GET http://a/ Http11 None", "Host=b", "end [HostDiffers]"]),
    ("GET / HTTP/1.0\n\n", &["GET / Http10 None", "end"]),
    (
        "GET /\u{e9}|\"<> HTTP/1.1\nhost:192.0.2.1:81\n\n",
        &["GET /\\xc3\\xa9|\\\"<> Http11 None", "host=192.0.2.1:81", "end"],
    ),
    ("OPTIONS * HTTP/1.1\nHost: a\n\n", &["OPTIONS * Http11 None", "Host=a", "end"]),
    (
        "CONNECT a.example:443 HTTP/1.1\nHost: a.example:443\n\n",
        &["CONNECT a.example 443 Http11 None", "Host=a.example:443", "end"],
    ),
    (
        "CONNECT [::1]:443 HTTP/1.1\nHost: x\nContent-Length: 0\n\n",
        &["CONNECT ::1 443 Http11 None", "Host=x", "Content-Length=0", "end [HostDiffers]"],
    ),
    // One after another, with an empty line too many between them.
    (
        "POST / HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc\nPUT / HTTP/1.1\nHost: a\nContent-Length: 0\n\n",
        &[
            "POST / Http11 Length(3)",
            "Host=a",
            "Content-Length=3",
            "[abc]",
            "end",
            "PUT / Http11 Length(0)",
            "Host=a",
            "Content-Length=0",
            "end",
        ],
    ),
    (
        "POST / HTTP/1.1\nHost: a\nContent-Length: 003, 3\ncontent-length: 3\n\nabc",
        &["POST / Http11 Length(3)", "Host=a", "Content-Length=3", "[abc]", "end"],
    ),
    (
        "POST / HTTP/1.1\nHost: a\nTransfer-Encoding:\t Chunked \n\n4;x=\"y\"\nabc\n\n00A\n0123456789\n0\nX-Sum: 1\nHost: b\nContent-Length: 7\n\n",
        &[
            "POST / Http11 Chunked",
            "Host=a",
            "Transfer-Encoding=Chunked",
            "[abc\\r0123456789]",
            "trailers",
            "X-Sum=1",
            "end",
        ],
    ),
    ("GET / HTTP/1.1\nHost: a\nX:\nY: \t\n\n", &["GET / Http11 None", "Host=a", "X=", "Y=", "end"]),
];

#[test]
fn requests_have_their_reading() {
    for (text, expected) in READINGS {
        // The one chunk with a CR of its own is four bytes long.
        let input = String::from_utf8(wire(text)).unwrap().replace("abc\r\n\r\n00A", "abc\r\r\n00A");
        assert_eq!(read(input.as_bytes()), *expected, "{text}");
    }
}

#[test]
fn start_lines_that_are_none() {
    use Refusal::*;
    let cases: &[(&str, Refusal)] = &[
        ("GET /", BadStartLine),
        ("GET  / HTTP/1.1", BadStartLine),
        ("GET / HTTP/1.1 ", BadStartLine),
        (" GET / HTTP/1.1", BadStartLine),
        ("GET\t/ HTTP/1.1", BadStartLine),
        ("GET /a b HTTP/1.1", BadStartLine),
        ("GET / http/1.1", BadStartLine),
        ("GET / HTTP/1.2", BadVersion),
        ("GET / HTTP/2.0", BadVersion),
        ("GET / HTTP/1.10", BadVersion),
        ("G@T / HTTP/1.1", BadMethod),
        (" / HTTP/1.1", BadStartLine),
        ("GET x HTTP/1.1", BadTarget),
        ("GET * HTTP/1.1", BadTarget),
        ("GET /#x HTTP/1.1", BadTarget),
        ("GET /\u{1} HTTP/1.1", BadTarget),
        ("GET /\u{0} HTTP/1.1", Nul),
        ("GET http:/a HTTP/1.1", BadTarget),
        ("GET ftp://a/ HTTP/1.1", UnknownScheme),
        ("GET http://u:p@a/ HTTP/1.1", UserInfo),
        ("GET http:/// HTTP/1.1", HostBad),
        ("GET http://a..b/ HTTP/1.1", HostBad),
        ("GET http://a%2eb/ HTTP/1.1", HostBad),
        ("GET http://a\\b/ HTTP/1.1", HostBad),
        ("GET http://\u{e9}/ HTTP/1.1", HostBad),
        ("GET http://a:0/ HTTP/1.1", HostBad),
        ("GET http://a:65536/ HTTP/1.1", HostBad),
        ("GET http://a:+80/ HTTP/1.1", HostBad),
        ("GET http://127.1/ HTTP/1.1", HostBad),
        ("GET http://2130706433/ HTTP/1.1", HostBad),
        ("GET http://0x7f.1/ HTTP/1.1", HostBad),
        ("GET http://127.0.0.0x1/ HTTP/1.1", HostBad),
        ("GET http://127.0.0.01/ HTTP/1.1", HostBad),
        ("GET http://[::1/ HTTP/1.1", HostBad),
        ("GET http://[::1%25lo]/ HTTP/1.1", HostBad),
        ("GET http://[::1]x/ HTTP/1.1", HostBad),
        ("CONNECT a HTTP/1.1", BadTarget),
        ("CONNECT http://a/ HTTP/1.1", HostBad),
        ("CONNECT a:443/ HTTP/1.1", HostBad),
        ("CONNECT u@a:443 HTTP/1.1", UserInfo),
    ];
    for (line, expected) in cases {
        let input = format!("{line}\r\nHost: a\r\n\r\n");
        assert_eq!(read(input.as_bytes()), [format!("{expected:?}")], "{line}");
    }
}

#[test]
fn heads_that_are_none() {
    use Refusal::*;
    let cases: &[(&[u8], Refusal)] = &[
        (b"", HostMissing),
        (b"Host: a\r\nhost: a\r\n", HostRepeated),
        (b"Host: a, b\r\n", HostBad),
        (b"Host:\r\n", HostBad),
        (b"Host: http://a\r\n", HostBad),
        (b"Host: a\r\nX: y\n", BareLf),
        (b"Host: a\nX: y\r\n", BareLf),
        (b"Host: a\r\nX: y\rZ: z\r\n", BareCr),
        (b"Host: a\r\nX: y\r\r\n", BareCr),
        (b"Host: a\r\nX: y\0\r\n", Nul),
        (b"Host: a\r\nX: \x0b\r\n", ControlCharacter),
        (b"Host: a\r\nX\x7f: y\r\n", ControlCharacter),
        (b"Host: a\r\n X: y\r\n", ObsFold),
        (b" Host: a\r\n", ObsFold),
        (b"Host: a\r\nX : y\r\n", FieldNameSpace),
        (b"Host: a\r\nX\t: y\r\n", FieldNameSpace),
        (b"Host: a\r\nX y: z\r\n", BadFieldName),
        (b"Host: a\r\nX\xe9: z\r\n", BadFieldName),
        (b"Host: a\r\n: z\r\n", BadFieldName),
        (b"Host: a\r\nX\r\n", FieldWithoutColon),
        (b"Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n", ConflictingLengths),
        (b"Host: a\r\nContent-Length: 1, 2\r\n", ConflictingLengths),
        (b"Host: a\r\nContent-Length: +1\r\n", BadLength),
        (b"Host: a\r\nContent-Length: -1\r\n", BadLength),
        (b"Host: a\r\nContent-Length: 0x1\r\n", BadLength),
        (b"Host: a\r\nContent-Length: 1 1\r\n", BadLength),
        (b"Host: a\r\nContent-Length: 1,\r\n", BadLength),
        (b"Host: a\r\nContent-Length:\r\n", BadLength),
        (b"Host: a\r\nContent-Length: 18446744073709551616\r\n", BadLength),
        (b"Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", LengthAndChunked),
        (b"Host: a\r\nTransfer-Encoding: chunked, chunked\r\n", UnknownTransferCoding),
        (b"Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", UnknownTransferCoding),
        (b"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", UnknownTransferCoding),
        (b"Host: a\r\nTransfer-Encoding: chunked, identity\r\n", UnknownTransferCoding),
        (b"Host: a\r\nTransfer-Encoding: xchunked\r\n", UnknownTransferCoding),
        (b"Host: a\r\nTransfer-Encoding: chunked;x\r\n", UnknownTransferCoding),
        (b"Host: a\r\nTransfer-Encoding: \"chunked\"\r\n", UnknownTransferCoding),
        (b"Host: a\r\nTransfer-Encoding:\r\n", UnknownTransferCoding),
    ];
    for (fields, expected) in cases {
        let input = [b"POST / HTTP/1.1\r\n".as_slice(), fields, b"\r\n"].concat();
        assert_eq!(read(&input), [format!("{expected:?}")], "{}", fields.escape_ascii());
    }
    let old = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(read(old), ["TransferCodingInHttp10"]);
    for fields in ["Content-Length: 1", "Transfer-Encoding: chunked"] {
        let input = format!("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        assert_eq!(read(input.as_bytes()), ["BodyNotAllowed"]);
    }
}

#[test]
fn chunks_that_are_none() {
    use Refusal::*;
    let long = [b"1;".as_slice(), &b"x".repeat(300)].concat();
    let cases: &[(&[u8], Refusal)] = &[
        (b"\r\n", BadChunk),
        (b" 1\r\n", BadChunk),
        (b"1 2\r\n", BadChunk),
        (b"1 \x0b\r\n", BadChunk),
        (b"+1\r\n", BadChunk),
        (b"-1\r\n", BadChunk),
        (b"0x1\r\n", BadChunk),
        (b"1_0\r\n", BadChunk),
        (b";x\r\n", BadChunk),
        (b"g\r\n", BadChunk),
        (b"10000000000000000\r\n", BadChunk),
        (b"1\n", BareLf),
        (b"1\r\r\n", BareCr),
        (b"1;\0\r\n", Nul),
        (b"1;a\rb\r\n", BareCr),
        (b"1\r\nab\r\n", BadChunk),
        (b"1\r\na\n", BareLf),
        (b"1\r\na\r\r\n", BadChunk),
        (b"0\r\nX\r\n", FieldWithoutColon),
        (b"0\r\nX: y\n", BareLf),
        (b"0\r\nX: y\r\n z\r\n", ObsFold),
        (&long, ChunkLineTooLong),
    ];
    for (chunks, expected) in cases {
        let input =
            [b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), chunks].concat();
        let said = read(&input);
        assert_eq!(said.last(), Some(&format!("{expected:?}")), "{}: {said:?}", chunks.escape_ascii());
    }
}

#[test]
fn blanks_behind_the_size_of_a_chunk_say_nothing() {
    for size in ["2 ", "2\t ", "2 ;x", "02 ; x=y", "2;x "] {
        let input = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\nhi\r\n0 \r\n\r\n"
        );
        let said = read(input.as_bytes());
        assert_eq!(said.get(3..), Some(["[hi]".to_owned(), "end".to_owned()].as_slice()), "{size}: {said:?}");
    }
}

#[test]
fn limits_are_kept() {
    let limits = Limits {
        head_bytes_max: 32,
        fields_max: 3,
        start_line_bytes_max: 20,
        chunk_line_bytes_max: 4,
        trailer_bytes_max: 8,
    };
    let post = "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n";
    let cases: &[(&str, &str)] = &[
        ("GET /45678 HTTP/1.1\nHost: a\n\n", "StartLineTooLong"),
        ("GET /4567 HTTP/1.1\nHost: a\n\n", "end"),
        ("GET / HTTP/1.1\nHost: a\nX: 234567890123456789\n\n", "end"),
        ("GET / HTTP/1.1\nHost: a\nX: 2345678901234567890\n\n", "HeadTooLong"),
        ("GET / HTTP/1.1\nHost: a\nX: 23456789012345678901234567890", "HeadTooLong"),
        ("GET / HTTP/1.1\nHost: a\nB:\nC:\n\n", "end"),
        ("GET / HTTP/1.1\nHost: a\nB:\nC:\nD:\n\n", "TooManyFields"),
        ("\n\n\n\nGET / HTTP/1.1\nHost: a\n\n", "end"),
        ("\n\n\n\n\nGET / HTTP/1.1\nHost: a\n\n", "BadStartLine"),
    ];
    for (text, expected) in cases {
        let said = at_every_cut(&wire(text), |chunks| requests(Disposition::Strict, limits, chunks));
        assert_eq!(said.last().map(String::as_str), Some(*expected), "{text}: {said:?}");
    }
    let limits = Limits { head_bytes_max: 100, ..limits };
    for (chunks, expected) in [
        ("00\n\n", "end"),
        ("000\n", "ChunkLineTooLong"),
        ("0\nX: 345\n\n", "end"),
        ("0\nX: 3456\n\n", "TrailersTooLong"),
        ("0\nX:\nY:\n\n", "end"),
        ("0\nX:\nY:\nZ:\n\n", "TrailersTooLong"),
    ] {
        let input = wire(&format!("{post}{chunks}").replace("POST /", "POST /"));
        let said = at_every_cut(&input, |chunks| requests(Disposition::Strict, limits, chunks));
        assert_eq!(said.last().map(String::as_str), Some(expected), "{chunks}: {said:?}");
    }
}

#[test]
fn a_refusal_is_said_again() {
    let mut reader = RequestReader::new(Disposition::Strict, Limits::default());
    assert!(!reader.has_begun());
    for input in [b"GET / HTTP/3.0\r\n".as_slice(), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b""] {
        assert_eq!(reader.step(input), Step { consumed: 0, frame: Frame::Refused(Refusal::BadVersion) });
    }
    assert!(reader.has_begun());
    assert_eq!(Refusal::BadVersion.status(), 505);
}

#[test]
fn what_is_asked_for_is_known() {
    let cases = [
        ("GET http://a:8080/x HTTP/1.1\nHost: b\n\n", Some("http://a:8080/x"), None),
        ("GET /x HTTP/1.1\nHost: a.:80\nExpect: 100-Continue\n\n", Some("http://a/x"), Some("100")),
        ("GET /x HTTP/1.0\nExpect: 100-continue\n\n", None, None),
        ("CONNECT a:443 HTTP/1.1\nHost: a\n\n", None, None),
    ];
    for (text, url, waits) in cases {
        let mut reader = RequestReader::new(Disposition::Strict, Limits::default());
        let input = wire(text);
        let Frame::Head(head, _) = reader.step(&input).frame else { panic!("{text}") };
        assert_eq!(head.url(Scheme::Http).map(|url| url.to_string()).as_deref(), url, "{text}");
        assert_eq!(head.expects_continue(), waits.is_some(), "{text}");
    }
}
