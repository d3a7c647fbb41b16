//! Responses as servers and attackers send them. Rule: one reading, or the name of what is wrong.

use super::*;

fn read(methods: &[&str], input: &[u8]) -> Said {
    at_every_cut(input, |chunks| responses(Disposition::Strict, methods, chunks))
}

const READINGS: &[(&str, &[&str])] = &[
    (
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nhiHTTP/1.1 404 Not  Found\nContent-Length: 0\n\n",
        &[
            "200 OK Http11 Length(2) keeps",
            "Content-Length=2",
            "[hi]",
            "end",
            "404 Not  Found Http11 Length(0) keeps",
            "Content-Length=0",
            "end",
            "eof Complete",
        ],
    ),
    (
        "HTTP/1.1 200\nContent-Length: 5\n\nhi",
        &["200  Http11 Length(5) keeps", "Content-Length=5", "[hi]", "eof Truncated"],
    ),
    ("HTTP/1.1 200 OK\n\nhi", &["200 OK Http11 UntilClose closes", "[hi]", "eof Complete"]),
    (
        "HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 1\n\nx",
        &[
            "200 OK Http10 Length(1) keeps",
            "Connection=keep-alive",
            "Content-Length=1",
            "[x]",
            "end",
            "eof Complete",
        ],
    ),
    (
        "HTTP/1.1 200 OK\nConnection: close\nContent-Length: 1\n\nx",
        &[
            "200 OK Http11 Length(1) closes",
            "Connection=close",
            "Content-Length=1",
            "[x]",
            "end",
            "eof Complete",
        ],
    ),
    (
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\nA: b\n\n",
        &[
            "200 OK Http11 Chunked keeps",
            "Transfer-Encoding=chunked",
            "[hi]",
            "trailers",
            "A=b",
            "end",
            "eof Complete",
        ],
    ),
    (
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n",
        &["200 OK Http11 Chunked keeps", "Transfer-Encoding=chunked", "[hi]", "eof Truncated"],
    ),
    // The chunks count (RFC 9112 section 6.3), the length is gone and so is the connection.
    (
        "HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n",
        &[
            "200 OK Http11 Chunked closes",
            "Transfer-Encoding=chunked",
            "[hi]",
            "end [LengthAndChunked]",
            "eof Complete",
        ],
    ),
    // HTTP/1.0 has no chunks.
    (
        "HTTP/1.0 200 OK\nTransfer-Encoding: chunked\nContent-Length: 2\n\nhi",
        &[
            "200 OK Http10 Length(2) closes",
            "Content-Length=2",
            "[hi]",
            "end [TransferCodingInHttp10]",
            "eof Complete",
        ],
    ),
    (
        "HTTP/1.1 200 OK\nA: b\n  c\n \n\td\nTransfer-Encoding:\n chunked\n\n0\n\n",
        &[
            "200 OK Http11 Chunked keeps",
            "A=b c d",
            "Transfer-Encoding=chunked",
            "end [ObsFold]",
            "eof Complete",
        ],
    ),
    (
        "HTTP/1.1 200 OK\nA: b\n\tTransfer-Encoding: chunked\nContent-Length: 1\n\nx",
        &[
            "200 OK Http11 Length(1) keeps",
            "A=b Transfer-Encoding: chunked",
            "Content-Length=1",
            "[x]",
            "end [ObsFold]",
            "eof Complete",
        ],
    ),
    (
        "\n\nHTTP/1.1 999 \u{e9}\nContent-Length: 0\n\n",
        &["999 \\xc3\\xa9 Http11 Length(0) keeps", "Content-Length=0", "end", "eof Complete"],
    ),
    ("HTTP/1.1 204 x\n\n", &["204 x Http11 None keeps", "end", "eof Complete"]),
    (
        "HTTP/1.1 204 x\nContent-Length: 2\n\nhi",
        &["204 x Http11 None closes", "end [BodyNotAllowed]", "BadStartLine"],
    ),
    (
        "HTTP/1.1 304 x\nContent-Length: 2\nTransfer-Encoding: chunked\n\n",
        &["304 x Http11 None closes", "end [LengthAndChunked]", "eof Complete"],
    ),
    (
        "HTTP/1.1 304 x\nContent-Length: 2\n\n",
        &["304 x Http11 None keeps", "Content-Length=2", "end", "eof Complete"],
    ),
    (
        "HTTP/1.1 103 Early\nLink: x\n\nHTTP/1.1 100\n\nHTTP/1.1 200 OK\nContent-Length: 0\n\n",
        &[
            "103 Early Http11 None keeps",
            "Link=x",
            "end",
            "100  Http11 None keeps",
            "end",
            "200 OK Http11 Length(0) keeps",
            "Content-Length=0",
            "end",
            "eof Complete",
        ],
    ),
    ("", &["eof Complete"]),
    ("HTTP/1.1 200 OK\n", &["eof Truncated"]),
    ("HTTP", &["eof Truncated"]),
];

#[test]
fn responses_have_their_reading() {
    for (text, expected) in READINGS {
        assert_eq!(read(&[], &wire(text)), *expected, "{text}");
    }
}

#[test]
fn the_method_says_where_a_response_ends() {
    let two = wire(
        "HTTP/1.1 100\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    );
    let said = read(&["HEAD", "GET"], &two);
    let expected = [
        "100  Http11 None keeps",
        "end",
        "200 OK Http11 None keeps",
        "Content-Length=2",
        "end",
        "200 OK Http11 Length(2) keeps",
        "Content-Length=2",
        "[hi]",
        "end",
        "eof Complete",
    ];
    assert_eq!(said, expected);
    let tunnel = wire("HTTP/1.1 200 OK\nContent-Length: 2\n\n");
    assert_eq!(
        read(&["CONNECT"], &tunnel),
        ["200 OK Http11 None closes", "end [BodyNotAllowed]", "eof Complete"]
    );
    let refused = wire("HTTP/1.1 403 no\nContent-Length: 2\n\nno");
    assert_eq!(
        read(&["CONNECT"], &refused),
        ["403 no Http11 Length(2) keeps", "Content-Length=2", "[no]", "end", "eof Complete"]
    );
}

#[test]
fn responses_that_are_none() {
    use Refusal::*;
    let interim = "HTTP/1.1 100 x\r\n\r\n".repeat(17);
    let ok = "HTTP/1.1 200 OK\r\n";
    let cases: &[(&str, &str, Refusal)] = &[
        ("", "<html>\r\n", BadStartLine),
        ("", " HTTP/1.1 200 OK\r\n", BadStartLine),
        ("", "ICY 200 OK\r\n", BadStartLine),
        ("", "HTTP/1.10 200 OK\r\n", BadVersion),
        ("", "HTTP/1.1\t200 OK\r\n", BadVersion),
        ("", "HTTP/2.0 200 OK\r\n", BadVersion),
        ("", "HTTP/1.1\r\n", BadStatus),
        ("", "HTTP/1.1  200 OK\r\n", BadStatus),
        ("", "HTTP/1.1 2000 OK\r\n", BadStatus),
        ("", "HTTP/1.1 20 OK\r\n", BadStatus),
        ("", "HTTP/1.1 099 OK\r\n", BadStatus),
        ("", "HTTP/1.1 +20 OK\r\n", BadStatus),
        ("", "HTTP/1.1 200 O\u{7}K\r\n", ControlCharacter),
        ("", "HTTP/1.1 200 OK\rX: y\r\n", BareCr),
        (ok, "Transfer-Encoding: chunked\n\n1\n", BareLf),
        ("", "\0HTTP/1.1 200 OK\r\n", BadStartLine),
        ("", "H\0TTP/1.1 200 OK\r\n", Nul),
        ("", "\r\nX", BadStartLine),
        ("", "\r\n\r\n\r\n\r\n\r\n", BadStartLine),
        ("", &interim, TooManyInterim),
        (ok, " X: y\r\n", ObsFold),
        (ok, "X: \u{b}\r\n", ControlCharacter),
        (ok, "X\0\r\n", Nul),
        (ok, "X:\rY: z\r\n", BareCr),
        (ok, "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", ConflictingLengths),
        (ok, "Content-Length: 1\r\n 2\r\n\r\n", BadLength),
        (ok, "Content-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n", BadLength),
        (ok, "Transfer-Encoding: x chunked\r\n\r\n", UnknownTransferCoding),
        (ok, "Transfer-Encoding: gzip\r\n\r\n", UnknownTransferCoding),
        ("HTTP/1.0 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n", TransferCodingInHttp10),
    ];
    for (start, rest, expected) in cases {
        let input = format!("{start}{rest}");
        let said = read(&[], input.as_bytes());
        assert_eq!(said.last(), Some(&format!("{expected:?}")), "{input}: {said:?}");
    }
}

#[test]
fn odd_lines_of_a_head_are_mended() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("X: y\r\nContent-Length: 2\n\n", &["X=y", "Content-Length=2"], "BareLf"),
        ("X : y\r\nContent-Length \t: 2\r\n\r\n", &["X=y", "Content-Length=2"], "FieldNameSpace"),
        ("Content-Length: 2\r\nX\r\n\u{b}\r\n\r\n", &["Content-Length=2"], "FieldWithoutColon"),
        ("Content-Length: 2\r\n: y\r\nX Y: z\r\n\r\n", &["Content-Length=2"], "BadFieldName"),
    ];
    for (fields, expected, noted) in cases {
        let said = read(&["GET"], format!("HTTP/1.1 200 OK\r\n{fields}hi").as_bytes());
        let end = format!("end [{noted}]");
        let expected =
            [&["200 OK Http11 Length(2) closes"], *expected, &["[hi]", end.as_str(), "eof Complete"]]
                .concat();
        assert_eq!(said, expected, "{fields}");
    }
}
