//! What is written. Rule: it reads back as what was meant, and as nothing more.

use super::*;

fn fields(lines: &[(&str, &str)]) -> Fields {
    lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
}

fn url(port: u16) -> Url {
    Url { scheme: Scheme::Http, host: "a.example".to_owned(), port, path: b"/x?y".to_vec() }
}

#[test]
fn requests_are_written_in_one_way() {
    let odd = [("X", "1"), ("host", "b:81"), ("Content-Length", "7"), ("transfer-encoding", "chunked")];
    let tunnel = || Target::Authority { host: "::1".to_owned(), port: 443 };
    let cases = [
        (
            Target::Absolute(url(80)),
            Form::Origin,
            Framing::None,
            "GET /x?y HTTP/1.1\nHost: a.example\nX: 1\n\n",
        ),
        (
            Target::Absolute(url(8080)),
            Form::Origin,
            Framing::Length(3),
            "GET /x?y HTTP/1.1\nHost: a.example:8080\nX: 1\nContent-Length: 3\n\n",
        ),
        (
            Target::Absolute(url(80)),
            Form::Absolute,
            Framing::Chunked,
            "GET http://a.example/x?y HTTP/1.1\nHost: a.example\nX: 1\nTransfer-Encoding: chunked\n\n",
        ),
        (
            Target::Origin(b"/z".to_vec()),
            Form::Origin,
            Framing::None,
            "GET /z HTTP/1.1\nHost: b:81\nX: 1\n\n",
        ),
        (
            Target::Origin(b"/z".to_vec()),
            Form::Absolute,
            Framing::None,
            "GET http://b:81/z HTTP/1.1\nHost: b:81\nX: 1\n\n",
        ),
        (tunnel(), Form::Origin, Framing::None, "GET [::1]:443 HTTP/1.1\nHost: [::1]:443\nX: 1\n\n"),
        (Target::Asterisk, Form::Origin, Framing::UntilClose, "GET * HTTP/1.1\nHost: b:81\nX: 1\n\n"),
    ];
    for (target, form, framing, expected) in cases {
        let head =
            RequestHead { method: b"GET".to_vec(), target, version: Version::Http10, fields: fields(&odd) };
        let mut out = Vec::new();
        write_request(&head, form, framing, &mut out);
        assert_eq!(String::from_utf8_lossy(&out).replace("\r\n", "\n"), expected);
    }
}

#[test]
fn responses_are_written_in_one_way() {
    let odd =
        [("X", "1"), ("Content-Length", "7"), ("transfer-encoding", "chunked"), ("Connection", "keep-alive")];
    let cases = [
        (200, Framing::Length(2), "X: 1\nConnection: keep-alive\nContent-Length: 2\n"),
        (200, Framing::Chunked, "X: 1\nConnection: keep-alive\nTransfer-Encoding: chunked\n"),
        (200, Framing::UntilClose, "X: 1\nConnection: close\n"),
        // What HEAD is told, and what 304 says of the one that is known.
        (200, Framing::None, "X: 1\nConnection: keep-alive\nContent-Length: 7\n"),
        (304, Framing::None, "X: 1\nConnection: keep-alive\nContent-Length: 7\n"),
        (204, Framing::None, "X: 1\nConnection: keep-alive\n"),
        (100, Framing::None, "X: 1\nConnection: keep-alive\n"),
    ];
    for (status, framing, expected) in cases {
        let head =
            ResponseHead { status, reason: b"ok".to_vec(), version: Version::Http10, fields: fields(&odd) };
        let mut out = Vec::new();
        write_response(&head, framing, &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out).replace("\r\n", "\n"),
            format!("HTTP/1.1 {status} ok\n{expected}\n")
        );
    }
}

#[test]
fn nothing_can_be_put_in_between() {
    let evil = "v\r\nSet-Cookie: x\0\u{7f}\n\n";
    let mut out = Vec::new();
    let head = RequestHead {
        method: b"GET / HTTP/1.1\r\n".to_vec(),
        target: Target::Origin(b"/ HTTP/1.1\r\nX: y".to_vec()),
        version: Version::Http11,
        fields: fields(&[("X", evil), ("Y: z\r\nZ", "1"), ("", "2"), ("Host", "a\r\nb")]),
    };
    write_request(&head, Form::Origin, Framing::None, &mut out);
    let expected =
        b"GET%20/%20HTTP/1.1%0D%0A /%20HTTP/1.1%0D%0AX:%20y HTTP/1.1\r\nX: v  Set-Cookie: x    \r\n\r\n";
    assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
    let head = ResponseHead {
        status: 65_535,
        reason: b"ok\r\nX: y".to_vec(),
        version: Version::Http11,
        fields: fields(&[("X", evil)]),
    };
    let mut out = Vec::new();
    write_response(&head, Framing::None, &mut out);
    assert_eq!(
        out.escape_ascii().to_string(),
        b"HTTP/1.1 999 ok  X: y\r\nX: v  Set-Cookie: x    \r\n\r\n".escape_ascii().to_string()
    );
}

#[test]
fn chunks_are_written_as_they_are_read() {
    for (bytes, expected) in [(1, "1\r\n"), (255, "ff\r\n"), (usize::MAX, "ffffffffffffffff\r\n")] {
        assert_eq!(&*chunk_head(bytes), expected.as_bytes());
    }
    assert_eq!(last_chunk_with(&Fields::new()), LAST_CHUNK);
    assert_eq!(last_chunk_with(&fields(&[("A", "b\n"), ("Content-Length", "1")])), b"0\r\nA: b \r\n\r\n");
}

#[test]
fn fields_are_found_in_any_case() {
    let mut fields = fields(&[("A", " 1, 2 ,,3\t"), ("b", ""), ("a", "4"), ("C", "5")]);
    assert_eq!(fields.get("B"), Some(b"".as_slice()));
    assert_eq!(fields.get("d"), None);
    assert_eq!(
        fields.list("a").map(|element| element.escape_ascii().to_string()).collect::<Vec<_>>(),
        ["1", "2", "", "3", "4"]
    );
    fields.remove("A");
    assert_eq!(format!("{fields:?}"), r#"[("b", ""), ("C", "5")]"#);
    assert_eq!((fields.len(), fields.is_empty()), (2, false));
    assert!(fields.list_has("c", "5") && !fields.list_has("c", ""));
}
