//! Seeds of HTTP. Rule: each rule of the readers is met by one of them, kept and broken.

use crate::{CUTS, Corpus};

pub(crate) fn seeds(corpus: &Corpus) {
    requests(corpus);
    responses(corpus);
    heads_of_http2(corpus);
}

/// Lines are written with LF here, and come with CR LF.
fn wire(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

fn requests(corpus: &Corpus) {
    let messages = [
        "GET http://a.example:8080/x?y HTTP/1.1\nHost: a.example:8080\nConnection: close, X-Mine\nX-Mine: 1\n\n",
        "GET https://[2001:db8::1]? HTTP/1.1\nHost: b\n\n\nGET / HTTP/1.0\nConnection: keep-alive\n\n",
        "POST / HTTP/1.1\nHost: a:81\nContent-Length: 3, 3\nExpect: 100-continue\n\nabcPOST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n3;x=y\nabc\n00A\n0123456789\n0\nA: b\nHost: c\n\n",
        "CONNECT a.example:443 HTTP/1.1\nHost: a.example\n\n",
        "OPTIONS * HTTP/1.1\nHost: 192.0.2.1\n\nOPTIONS http://a HTTP/1.1\nHost: a\n\n",
        "\u{1} / HTTP/1.1\n\n",
        "GET / x\n\n",
        "GET  /  HTTP/1.1\n\n",
        "GET / HTTP/2.0\n\n",
        "CONNECT a HTTP/1.1\nHost: a\n\n",
        "CONNECT a:1 HTTP/1.1\nHost: a:2\nContent-Length: 1\n\n",
        "GET / HTTP/1.1\n\n",
        "GE(T / HTTP/1.1\nHost: a\n\n",
        "GET http://a/ HTTP/1.1\nHost: b\n\n",
        "GET / HTTP/1.1\nHost: a b\n\n",
        "GET / HTTP/1.1\nHost: a\nHost: a\n\n",
        "POST / HTTP/1.0\nTransfer-Encoding: chunked\n\n0\n\n",
        "GET /\u{e9}\\\"{}|^` HTTP/1.1\nHost: a\n\n",
        "\n\n\nGET / HTTP/1.1\nHost: a\nConnection: host, x\nX: y\nTE: trailers\n\n",
        " GET / HTTP/1.1\nHost: a\n\n",
    ];
    for (index, text) in messages.iter().enumerate() {
        corpus.put_cut("http_request", &format!("message{index}"), &wire(text));
        corpus.put_cut("http_request", &format!("message{index}.lf"), text.as_bytes());
    }
    let targets = [
        "ftp://a/",
        "http:/a",
        "http://",
        "http://u@a/",
        "http://a..b/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://[::1/",
        "http://[::1]x/",
        "http://a:0/",
        "http://a:99999/",
        "http://a:/",
        "http://a./",
        "/#",
        "x",
        "http://%41/",
        "/\u{e9}",
        "*",
        "//a/b",
    ];
    for (index, target) in targets.iter().enumerate() {
        let text = format!("GET {target} HTTP/1.1\nHost: a\n\n");
        corpus.put_cut("http_request", &format!("target{index}"), &wire(&text));
    }
    for (index, fields) in FIELDS.iter().enumerate() {
        let text = format!("POST / HTTP/1.1\nHost: a\n{fields}\n\n3\nabc\n0\n\n");
        corpus.put_cut("http_request", &format!("fields{index}"), &wire(&text));
    }
    for (index, chunks) in CHUNKS.iter().enumerate() {
        let text = format!("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n{chunks}");
        corpus.put_cut("http_request", &format!("chunks{index}"), &wire(&text));
    }
    long_requests(corpus);
}

/// Longer than any limit, or than the small ones.
fn long_requests(corpus: &Corpus) {
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(17_000));
    corpus.put_cut("http_request", "long", long.as_bytes());
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(201));
    corpus.put_cut("http_request", "many", many.as_bytes());
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(400));
    corpus.put_cut("http_request", "head", head.as_bytes());
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let line = format!("{chunked}1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(17_000));
    corpus.put_cut("http_request", "chunk-line", line.as_bytes());
    let trailers = format!("{chunked}0\r\nX: {}\r\n\r\n", "y".repeat(400));
    corpus.put_cut("http_request", "trailers", trailers.as_bytes());
}

/// A byte that says what there is, then method, scheme, authority, path, and names and values.
fn heads_of_http2(corpus: &Corpus) {
    let heads: [&[&str]; 20] = [
        &["GET", "https", "a.example", "/x?y", "cookie", "a=1", "cookie", "b=2"],
        &["POST", "http", "a.example:8080", "/", "content-length", "7", "content-length", "7"],
        &["OPTIONS", "https", "a.example", "*", "host", "a.example"],
        &["CONNECT", "", "a.example:443", ""],
        &["HEAD", "https", "[::1]", "/", "te", "trailers", "host", "[::1]:443"],
        &["GET", "https", "a.example", "/", "connection", "close"],
        &["GET", "ftp", "u@a.example", "/ HTTP/1.1", "transfer-encoding", "chunked"],
        &["GET", "https", "a.example", "/", "X", "\r\n", "y", "\0"],
        &["G T", "https", "a.example", "/"],
        &["", "https", "a.example", "/"],
        &["GET", "https", "a.example", "/", "y", "\0"],
        &["GET", "https", "a.example", "/", "y", "\u{1}"],
        &["GET", "https", "a.example", "/", "host", "a.example", "host", "a.example"],
        &["GET", "https", "a.example", "/", "host", "b.example"],
        &["GET", "https", "a.example:1", "/", "host", "a.example:2", "content-length", "0"],
        &["GET", "gopher", "a.example", "/"],
        &["GET", "http", "a.example", "x"],
        &["PUT", "https", "a.example", "a.example:443", "content-length", "x"],
        &["OPTIONS", "http", "", "*"],
        &["GET", "https", "a.example", "/", "1", "", "2", "", "3", "", "4", "", "5", "", "6", ""],
    ];
    for (index, words) in heads.iter().enumerate() {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        // The lowest bit: content follows; the next three: scheme, authority, path are left out.
        for first in [0, 1, 2 | 8, 2 | 8 | 1, 40, 41] {
            let content = [&[first][..], &words.join(&0xff)].concat();
            corpus.put("http2_heads", &format!("head{index}.{first}"), &content);
        }
    }
    // A fifth of the status of a response without content, and of one that has none.
    for first in [20, 41, 60, 61] {
        let long = "x".repeat(80);
        for words in
            [&["GET", "https", "a", "/", "content-length", "3"], &["GET", "https", "a", &long, "x", "y"]]
        {
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            let name = format!("status{first}.{}", words[3].len());
            corpus.put("http2_heads", &name, &[&[first][..], &words.join(&0xff)].concat());
        }
    }
}

fn responses(corpus: &Corpus) {
    let messages = [
        (
            "GET\nHEAD\nGET",
            "HTTP/1.1 200 OK\nContent-Length: 2\n\nhiHTTP/1.1 200\nContent-Length: 9\n\nHTTP/1.1 304 x\nContent-Length: 9\nTransfer-Encoding: chunked\n\n",
        ),
        ("GET", "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\nA: b\n\n"),
        ("GET", "HTTP/1.0 200 OK\nConnection: keep-alive\n\nuntil the end"),
        ("GET", "HTTP/1.0 200 OK\nTransfer-Encoding: chunked\nContent-Length: 1\n\nx"),
        ("GET", "HTTP/1.0 200 OK\nTransfer-Encoding: chunked\n\nx"),
        ("CONNECT\nGET", "HTTP/1.1 200 OK\nContent-Length: 2\n\nHTTP/1.1 204 x\nContent-Length: 0\n\n"),
        ("GET", "HTTP/1.1 200 OK\nA: b\n c\n \nTransfer-Encoding:\n\tchunked\nContent-Length: 3\n\n0\n\n"),
        ("GET", "\n\nHTTP/1.1 999 \u{e9}\n\nx"),
        ("GET", "<html>"),
        ("GET", "HTTP/1.1\n\n"),
        ("GET", "HTTP/1.2 200 OK\n\n"),
        ("GET", "HTTP/1.1 200 O\u{1}K\n\n"),
        ("GET", "HTTP/1.1 200 OK\n A: b\n\n"),
    ];
    let put = |name: &str, methods: &str, content: &[u8]| {
        corpus.put("http_response", name, &[methods.as_bytes(), b"\n\n", CUTS, content].concat());
    };
    for (index, (methods, text)) in messages.iter().enumerate() {
        put(&format!("message{index}"), methods, &wire(text));
        put(&format!("message{index}.lf"), methods, text.as_bytes());
    }
    for (index, fields) in FIELDS.iter().enumerate() {
        put(&format!("fields{index}"), "GET", &wire(&format!("HTTP/1.1 200 OK\n{fields}\n\n3\nabc\n0\n\n")));
    }
    for (index, chunks) in CHUNKS.iter().enumerate() {
        let text = format!("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n{chunks}");
        put(&format!("chunks{index}"), "GET", &wire(&text));
    }
    put("interim", "GET", &b"HTTP/1.1 103 x\r\n\r\n".repeat(20));
}

const FIELDS: &[&str] = &[
    "Content-Length: 3",
    "Content-Length: 3, 3",
    "Content-Length: 3\nContent-Length: 4",
    "Content-Length: +3",
    "Content-Length: 99999999999999999999",
    "Content-Length:",
    "Content-Length: 3\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: identity",
    "Host: b",
    "X : y",
    "X",
    ": y",
    "X y: z",
    "X: \0",
    "X: \u{7f}",
    "X: y\n z",
    "X: y\rZ: z",
    "Connection: upgrade\nUpgrade: websocket",
];

const CHUNKS: &[&str] = &[
    "3\nabc\n0\n\n",
    "003;x\nabc\n000\n\n",
    "3\nabcd\n0\n\n",
    "3\nabc\r0\n\n",
    " 3\nabc\n",
    "0x3\nabc\n",
    "g\n",
    "\n",
    "10000000000000000\n",
    "0\nA: b\nContent-Length: 1\n\n",
    "0\nA: b\n c\n\n",
    "0\nA\n\n",
];
