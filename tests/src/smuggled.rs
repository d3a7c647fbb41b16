//! Requests whose end, or whose place, two readers could see differently. Rule: each names `ORIGIN` where the origin's
//! address is meant, and what it would smuggle asks for `/smuggled`.

/// A request, or what could be taken for one or two.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is odd about it.
    pub name: String,
    /// As it goes on the wire, with `ORIGIN` for the origin's address.
    pub bytes: Vec<u8>,
}

/// A request that a reader would find in a body.
const INNER: &str = "GET /smuggled HTTP/1.1\r\nHost: ORIGIN\r\n\r\n";

/// Transfer-Encoding, said so that some see it and some do not.
const CODINGS: &[&str] = &[
    "Transfer-Encoding: chunked",
    "transfer-encoding:chunked",
    "Transfer-Encoding: Chunked",
    "Transfer-Encoding: chunked ",
    "Transfer-Encoding:\tchunked",
    "Transfer-Encoding:\u{b}chunked",
    "Transfer-Encoding:\u{c}chunked",
    "Transfer-Encoding: \u{85}chunked",
    "Transfer-Encoding: chunked\u{b}",
    "Transfer-Encoding: chunked\0",
    "Transfer-Encoding\0: chunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding\t: chunked",
    " Transfer-Encoding: chunked",
    "\tTransfer-Encoding: chunked",
    "X: x\r\n Transfer-Encoding: chunked",
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding\r\n: chunked",
    "X: x\nTransfer-Encoding: chunked",
    "X: x\rTransfer-Encoding: chunked",
    "X: x\r\rTransfer-Encoding: chunked",
    "X: x\0\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\n",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunkedx",
    "Transfer-Encoding: chunk",
    "Transfer-Encoding: \"chunked\"",
    "Transfer-Encoding: 'chunked'",
    "Transfer-Encoding: chunked;q=1",
    "Transfer-Encoding: ;chunked",
    "Transfer-Encoding: ,chunked",
    "Transfer-Encoding: chunked,",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
    "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding:",
    "Transfer-Encoding",
    "Transfer_Encoding: chunked",
    "Transfer Encoding: chunked",
    "TransferEncoding: chunked",
    "Transfer-Encoding; chunked",
    "X-Transfer-Encoding: chunked",
    "Content-Encoding: chunked",
    "TE: chunked",
    "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked",
    "Connection: Content-Length\r\nTransfer-Encoding: chunked",
];

/// Content-Length, said so that some see 5 and some do not.
const LENGTHS: &[&str] = &[
    "Content-Length: 5",
    "Content-Length:5",
    "Content-Length:\t5 ",
    "Content-Length: +5",
    "Content-Length: -5",
    "Content-Length: 05",
    "Content-Length: 0x5",
    "Content-Length: 5.0",
    "Content-Length: 5e0",
    "Content-Length: 5;",
    "Content-Length: 5 5",
    "Content-Length: 5,5",
    "Content-Length: 5, 5",
    "Content-Length: 5,",
    "Content-Length: ,5",
    "Content-Length: 5, 0",
    "Content-Length: 0, 5",
    "Content-Length: \"5\"",
    "Content-Length: 5\u{b}",
    "Content-Length: \u{c}5",
    "Content-Length: 5\0",
    "Content-Length: 18446744073709551621",
    "Content-Length: 4294967301",
    "Content-Length:",
    "Content-Length: five",
    "Content-Length : 5",
    " Content-Length: 5",
    "Content-Length:\r\n 5",
    "Content-Length: 5\r\n 0",
    "Content_Length: 5",
    "Content-Length: 5\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 0",
    "Content-Length: 0\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 50",
    "X: x\nContent-Length: 5",
    "X: x\rContent-Length: 5",
    "Connection: Content-Length\r\nContent-Length: 5",
    "Content-Length: 5\nX: x",
];

/// A chunked body, said so that it ends here for some and there for others.
const CHUNKS: &[(&str, &str)] = &[
    ("an extension", "5;x=y\r\nhello\r\n0\r\n\r\n"),
    ("a quoted extension", "5;x=\"a;b\"\r\nhello\r\n0\r\n\r\n"),
    ("an extension with LF", "5;x\nINNERhello\r\n0\r\n\r\n"),
    ("an extension with CR", "5;x\rINNER\r\nhello\r\n0\r\n\r\n"),
    ("an extension with a quoted line end", "5;x=\"\r\nhello\r\n0\r\n\r\n\"\r\n"),
    ("spaces before the size", " 5\r\nhello\r\n0\r\n\r\n"),
    ("spaces behind the size", "5 \r\nhello\r\n0\r\n\r\n"),
    ("spaces before the extension", "5 ;x\r\nhello\r\n0\r\n\r\n"),
    ("zeros before the size", "0005\r\nhello\r\n0\r\n\r\n"),
    ("many zeros before the size", "0000000000000000000005\r\nhello\r\n0\r\n\r\n"),
    ("a size with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
    ("a size with a sign", "+5\r\nhello\r\n0\r\n\r\n"),
    ("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
    ("a size that is too large", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    ("a size of 32 bits and more", "100000005\r\nhello\r\n0\r\n\r\n"),
    ("a size with an underscore", "0_5\r\nhello\r\n0\r\n\r\n"),
    ("no size", "\r\nhello\r\n0\r\n\r\n"),
    ("a comma behind the size", "5,5\r\nhello\r\n0\r\n\r\n"),
    ("LF behind the size", "5\nhello\r\n0\r\n\r\n"),
    ("CR behind the size", "5\rhello\r\n0\r\n\r\n"),
    ("LF behind the chunk", "5\r\nhello\n0\r\n\r\n"),
    ("CR behind the chunk", "5\r\nhello\r0\r\n\r\n"),
    ("nothing behind the chunk", "5\r\nhello0\r\n\r\n"),
    ("two bytes behind the chunk", "5\r\nhelloXX0\r\n\r\nINNER"),
    ("LF behind the last chunk", "5\r\nhello\r\n0\n\n"),
    ("LF behind the end", "5\r\nhello\r\n0\r\n\n"),
    ("no end", "5\r\nhello\r\n0\r\n"),
    ("a chunk that is too short", "f\r\nhello\r\n0\r\n\r\n"),
    ("a chunk that is too long", "3\r\nhello\r\n0\r\n\r\n"),
    ("many zeros for the last chunk", "5\r\nhello\r\n0000\r\n\r\n"),
    ("an extension of the last chunk", "5\r\nhello\r\n0;x\r\n\r\n"),
    ("a request behind the end", "5\r\nhello\r\n0\r\n\r\nINNER"),
    ("a trailer", "5\r\nhello\r\n0\r\nX: x\r\n\r\n"),
    ("a trailer that frames", "5\r\nhello\r\n0\r\nContent-Length: 40\r\n\r\nINNER"),
    ("a trailer that codes", "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\nINNER"),
    ("a trailer that is a request", "5\r\nhello\r\n0\r\nGET /smuggled HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a folded trailer", "5\r\nhello\r\n0\r\nX: x\r\n y\r\n\r\n"),
];

/// Heads that are odd in other ways.
const HEADS: &[(&str, &str)] = &[
    ("GET with a length", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 5\r\n\r\nhello"),
    (
        "GET with a request as its body",
        "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: SIZE\r\n\r\nINNER",
    ),
    (
        "GET in chunks",
        "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ),
    ("HEAD with a length", "HEAD /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: SIZE\r\n\r\nINNER"),
    ("DELETE with a length", "DELETE /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: SIZE\r\n\r\nINNER"),
    ("POST without a length", "POST /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\nINNER"),
    ("an empty line before", "\r\nGET /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("LF before", "\nGET /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("LF at every line", "GET /case HTTP/1.1\nHost: ORIGIN\n\n"),
    ("LF at the end of the head", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\n\nINNER"),
    ("CR alone at the end of the head", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\rINNER"),
    ("NUL in a value", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nX: a\0b\r\n\r\n"),
    ("NUL in the target", "GET /case\0x HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a folded field", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nX: a\r\n b\r\n\r\n"),
    ("a folded Host", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\n .example\r\n\r\n"),
    ("a folded first field", "GET /case HTTP/1.1\r\n Host: ORIGIN\r\nHost: ORIGIN\r\n\r\n"),
    ("two hosts", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nHost: other.example\r\n\r\n"),
    ("the host twice", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nHost: ORIGIN\r\n\r\n"),
    ("two hosts in one", "GET /case HTTP/1.1\r\nHost: ORIGIN, other.example\r\n\r\n"),
    ("user information in Host", "GET /case HTTP/1.1\r\nHost: other.example@ORIGIN\r\n\r\n"),
    ("a path in Host", "GET /case HTTP/1.1\r\nHost: ORIGIN/other\r\n\r\n"),
    ("no Host", "GET /case HTTP/1.1\r\n\r\n"),
    ("no Host in HTTP/1.0", "GET /case HTTP/1.0\r\n\r\n"),
    ("Host with space before the colon", "GET /case HTTP/1.1\r\nHost : ORIGIN\r\n\r\n"),
    ("an absolute target", "GET http://ORIGIN/case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("an absolute target and another Host", "GET http://ORIGIN/case HTTP/1.1\r\nHost: other.example\r\n\r\n"),
    (
        "an absolute target with user information",
        "GET http://other.example@ORIGIN/case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
    ),
    ("an absolute target with another port", "GET http://ORIGIN/case HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n"),
    ("an absolute target without a path", "GET http://ORIGIN HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("an absolute target with only a query", "GET http://ORIGIN?case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    (
        "a backslash in the authority",
        "GET http://ORIGIN\\@other.example/case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
    ),
    ("a target with two slashes", "GET //other.example/case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a target without a slash", "GET case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a target with a space", "GET /case x HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a target with a tab", "GET /case\tx HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a target with a fragment", "GET /case#x HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a target with bytes above 127", "GET /case\u{e9} HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a target with an escaped line end", "GET /case%0d%0aX:%20x HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("two spaces in the request line", "GET  /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a tab in the request line", "GET\t/case\tHTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a space behind the version", "GET /case HTTP/1.1 \r\nHost: ORIGIN\r\n\r\n"),
    ("a method with a space before", " GET /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("a method in small letters", "get /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    (
        "a method that nobody knows",
        "SMUGGLE /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: SIZE\r\n\r\nINNER",
    ),
    ("HTTP/0.9", "GET /case\r\nINNER"),
    ("HTTP/1.2", "GET /case HTTP/1.2\r\nHost: ORIGIN\r\n\r\n"),
    ("HTTP/1.10", "GET /case HTTP/1.10\r\nHost: ORIGIN\r\n\r\n"),
    ("HTTP/2.0", "GET /case HTTP/2.0\r\nHost: ORIGIN\r\n\r\n"),
    ("http/1.1", "GET /case http/1.1\r\nHost: ORIGIN\r\n\r\n"),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    (
        "chunks in HTTP/1.0",
        "POST /case HTTP/1.0\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n5\r\nhello\r\n0\r\n\r\nINNER",
    ),
    ("HTTP/1.0 kept alive", "GET /case HTTP/1.0\r\nHost: ORIGIN\r\nConnection: keep-alive\r\n\r\n"),
    (
        "Expect with a body",
        "POST /case HTTP/1.1\r\nHost: ORIGIN\r\nExpect: 100-continue\r\nContent-Length: SIZE\r\n\r\nINNER",
    ),
    ("Expect without a body", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nExpect: 100-continue\r\n\r\n"),
    (
        "Expect of something else",
        "POST /case HTTP/1.1\r\nHost: ORIGIN\r\nExpect: x\r\nContent-Length: SIZE\r\n\r\nINNER",
    ),
    (
        "Expect obfuscated",
        "POST /case HTTP/1.1\r\nHost: ORIGIN\r\nExpect: y 100-continue\r\nContent-Length: SIZE\r\n\r\nINNER",
    ),
    (
        "Upgrade",
        "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nINNER",
    ),
    (
        "Upgrade to h2c",
        "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    ),
    ("Connection names Host", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nConnection: Host\r\n\r\n"),
    ("closed, and another behind", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nConnection: close\r\n\r\nINNER"),
    ("a field without a colon", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nX\r\n\r\n"),
    ("a field without a name", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\n: x\r\n\r\n"),
    ("a field name with a space within", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nX Y: x\r\n\r\n"),
    ("a field name with bytes above 127", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\nX\u{e9}: x\r\n\r\n"),
    ("a pipeline", "GET /case HTTP/1.1\r\nHost: ORIGIN\r\n\r\nGET /case2 HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    (
        "a pipeline with a body",
        "POST /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 5\r\n\r\nhelloGET /case2 HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
    ),
    (
        "line ends between two",
        "POST /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 5\r\n\r\nhello\r\n\r\nGET /case2 HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
    ),
    ("TRACE with a body", "TRACE /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: SIZE\r\n\r\nINNER"),
    ("OPTIONS of everything", "OPTIONS * HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"),
    (
        "OPTIONS of everything with a body",
        "OPTIONS * HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: SIZE\r\n\r\nINNER",
    ),
];

/// All of them, in the form that a server is asked in.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut put = |name: String, text: String| {
        let text = text.replace("SIZE", &INNER_LENGTH.to_string()).replace("INNER", INNER);
        // Bytes above 127 are meant as they are, not as UTF-8.
        let bytes = text.chars().map(|c| u8::try_from(c).expect("the cases are Latin-1")).collect();
        all.push(Case { name, bytes });
    };
    for coding in CODINGS {
        let escaped = coding.escape_debug();
        // By the length all of it is a body; by the chunks a request stands behind it.
        put(
            format!("CL.TE {escaped}"),
            format!(
                "POST /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: {}\r\n{coding}\r\n\r\n0\r\n\r\nINNER",
                INNER_LENGTH + 5
            ),
        );
        // By the chunks all of it is a body; by the length a request stands in it. Asked as a proxy is.
        put(
            format!("TE.CL {escaped}"),
            format!(
                "POST http://ORIGIN/case HTTP/1.1\r\nHost: ORIGIN\r\n{coding}\r\nContent-Length: 4\r\n\r\n{INNER_LENGTH:x}\r\nINNER\r\n0\r\n\r\n"
            ),
        );
        // By the chunks all of it is a body; without them, it is none.
        put(
            format!("TE.0 {escaped}"),
            format!(
                "POST /case HTTP/1.1\r\nHost: ORIGIN\r\n{coding}\r\n\r\n{INNER_LENGTH:x}\r\nINNER\r\n0\r\n\r\n"
            ),
        );
    }
    for length in LENGTHS {
        put(
            format!("CL {}", length.escape_debug()),
            format!("POST /case HTTP/1.1\r\nHost: ORIGIN\r\n{length}\r\n\r\nhelloINNER"),
        );
    }
    for (name, body) in CHUNKS {
        put(
            format!("chunks with {name}"),
            format!("POST /case HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\n\r\n{body}"),
        );
    }
    for (name, text) in HEADS {
        put((*name).to_owned(), (*text).to_owned());
    }
    // Longer than is held, so the server has a part of it when the end shows what it is.
    let long = "x".repeat(LONG_BYTES);
    for (name, end) in [
        ("its end", "\r\n0\r\n\r\n"),
        ("a request behind its end", "\r\n0\r\n\r\nINNER"),
        ("a malformed chunk", "\r\n-5\r\nhello\r\n0\r\n\r\nINNER"),
        ("no line end", "0\r\n\r\nINNER"),
    ] {
        let head = "POST /case HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked";
        put(format!("a long chunk with {name}"), format!("{head}\r\n\r\n{LONG_BYTES:x}\r\n{long}{end}"));
    }
    let head = format!("POST /case HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: {}", LONG_BYTES + 5);
    put(String::from("a long body with a request behind it"), format!("{head}\r\n\r\n{long}helloINNER"));
    all
}

/// More than a gateway holds.
const LONG_BYTES: usize = 700_000;

/// The length of [`INNER`] for an origin whose address is as long as `127.0.0.1:65535`.
const INNER_LENGTH: usize = INNER.len() - "ORIGIN".len() + "127.0.0.1:65535".len();
