//! What a spectator makes of messages that a proxy refuses. Rule: nothing is refused, and nothing odd goes unsaid.

use super::*;

#[test]
fn odd_requests_are_read_and_noted() {
    let cases: &[(&str, &[&str])] = &[
        ("GET / HTTP/1.1\nHost: a\n\n", &["GET / Http11 None", "Host=a", "end [BareLf]"]),
        ("\n\nGET / HTTP/1.0\r\n\r\n", &["GET / Http10 None", "end [BareLf]"]),
        (" GET  /x  HTTP/9\r\n\r\n", &["GET /x Http10 None", "end [BadStartLine]"]),
        (
            "GET x HTTP/1.7\r\nX : y\r\n z\r\njunk\r\n\r\n",
            &[
                "GET x Http11 None",
                "X=y z",
                "end [BadVersion, BadTarget, FieldNameSpace, ObsFold, FieldWithoutColon, HostMissing]",
            ],
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 4\r\nTransfer-Encoding: x, chunked\r\n\r\n2\nhi\n0\n\n",
            &[
                "POST / Http11 Chunked",
                "Host=a",
                "Host=b",
                "Transfer-Encoding=x, chunked",
                "[hi]",
                "end [HostRepeated, UnknownTransferCoding, LengthAndChunked, BareLf]",
            ],
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 3\r\n\r\nhi",
            &["POST / Http11 Length(2)", "Host=a", "Content-Length=2", "[hi]", "end [ConflictingLengths]"],
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
            &["POST / Http11 Chunked", "Host=a", "Transfer-Encoding=chunked", "[ac]"],
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nz\r\nabc",
            &["POST / Http11 Chunked", "Host=a", "Transfer-Encoding=chunked", "[abc]"],
        ),
        (
            "GET / HTTP/1.1\r\nHost: a b\0\u{1}\r\n\r\n",
            &["GET / Http11 None", "Host=a b\\x00\\x01", "end [Nul, ControlCharacter, HostBad]"],
        ),
    ];
    for (text, expected) in cases {
        let read = |chunks: &[&[u8]]| requests(Disposition::Passive, Limits::default(), chunks);
        assert_eq!(at_every_cut(text.as_bytes(), read), *expected, "{text}");
    }
}

#[test]
fn what_is_too_long_is_cut_off() {
    let limits = Limits {
        head_bytes_max: 24,
        fields_max: 2,
        start_line_bytes_max: 18,
        chunk_line_bytes_max: 4,
        trailer_bytes_max: 4,
    };
    let input = b"GET /345678901234567890 HTTP/1.1\r\nHost: a\r\nX: 34567890123456\r\nY: z\r\nZ:\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    let said = at_every_cut(input, |chunks| requests(Disposition::Passive, limits, chunks));
    assert_eq!(
        said,
        [
            "GET /3456789012345 Http10 None",
            "Host=a",
            "X=345678901234",
            "end [StartLineTooLong, BadStartLine, HeadTooLong, TooManyFields]",
            "GET / Http11 None",
            "end [HostMissing]"
        ]
    );
}

#[test]
fn odd_responses_are_read_and_noted() {
    let cases: &[(&str, &[&str])] = &[
        ("<html>\r\n\r\nx", &["eof Truncated"]),
        ("junk\r\n\0HTTP/1.1 200 OK\r\n\r\nx", &["200 OK Http11 UntilClose closes", "[x]", "eof Complete"]),
        ("HTTP/1.1 200 OK\nA: b\n \nx", &["200 OK Http11 UntilClose closes", "A=b", "[x]", "eof Complete"]),
        (
            "HTTP/1.1 200 OK\r\nA: b\n\r\r\nx",
            &["200 OK Http11 UntilClose closes", "A=b", "[x]", "eof Complete"],
        ),
        (
            "HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: z\r\n\r\nx",
            &["200 OK Http11 UntilClose closes", "Content-Length=z", "[x]", "eof Complete"],
        ),
        (
            "HTTP/1.0 200 OK\nTransfer-Encoding: chunked\n\n1",
            &["200 OK Http10 UntilClose closes", "[1]", "eof Complete"],
        ),
        (
            "HTTP/1.1 200 O\u{1}\rK\r\nTransfer-Encoding: gzip\r\n\r\nx",
            &["200 O\\x01\\rK Http11 UntilClose closes", "Transfer-Encoding=gzip", "[x]", "eof Complete"],
        ),
    ];
    for (text, expected) in cases {
        let read = |chunks: &[&[u8]]| responses(Disposition::Passive, &[], chunks);
        assert_eq!(at_every_cut(text.as_bytes(), read), *expected, "{text}");
    }
}

#[test]
fn sizes_are_seen_in_what_stands_around_them() {
    let sizes = ["f", "f\r", "f\0", "f\x0b", "\r\n\r\nf", "\rf", "\nf", " f", "f x", "00f;x=y"];
    for size in sizes {
        let text = format!("{size}\r\n012345678901234\r\n0\r\n\r\n");
        let read = |pieces: &[&[u8]]| {
            let (mut chunks, mut content) = (Chunks::new(), Vec::new());
            for mut piece in pieces.iter().copied() {
                while !piece.is_empty() {
                    let (used, said) = chunks.step(piece);
                    content.extend_from_slice(said.unwrap_or_default());
                    piece = &piece[used..];
                }
            }
            vec![String::from_utf8(content).unwrap()]
        };
        assert_eq!(at_every_cut(text.as_bytes(), read), ["012345678901234"], "{size:?}");
    }
}
