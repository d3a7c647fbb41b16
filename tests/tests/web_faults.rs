//! The server dies in every state. Rule: the client can tell, and what is not whole is not delivered as if it were.

use lockgate_tests::curl::{self, Fetched};
use lockgate_tests::{Directory, Gateway, mail, wait};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// When a server that is asked dies.
#[derive(Clone, Copy, Debug)]
enum Dies {
    /// As soon as it has accepted.
    AtOnce,
    /// When so many bytes of a request have come.
    Within(usize),
    /// When a request's head has come, and this was said.
    After(&'static str),
    /// The same, by a reset.
    ByReset(&'static str),
}

/// A server that dies so, again and again.
fn server(dies: Dies) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            thread::spawn(move || die(stream, dies));
        }
    });
    address
}

fn die(mut stream: TcpStream, dies: Dies) {
    let wanted = match dies {
        Dies::AtOnce => return,
        Dies::Within(bytes) => bytes,
        Dies::After(_) | Dies::ByReset(_) => usize::MAX,
    };
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while seen.len() < wanted && !(wanted == usize::MAX && seen.windows(4).any(|it| it == b"\r\n\r\n")) {
        match stream.read(&mut piece) {
            Ok(count @ 1..) => seen.extend_from_slice(&piece[..count]),
            _ => return,
        }
    }
    if let Dies::After(words) | Dies::ByReset(words) = dies {
        let _ = stream.write_all(words.as_bytes());
    }
    if matches!(dies, Dies::ByReset(_)) {
        let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    }
}

/// A page of the gateway's, or a transfer that curl knows to be broken.
fn assert_client_knows(what: &str, fetched: &Fetched) {
    let is_page = fetched.exit == 0 && matches!(fetched.status, 502 | 504);
    assert!(is_page || fetched.exit != 0, "{what}: {fetched:?}");
    assert!(!is_page || fetched.text().contains("<!DOCTYPE html>"), "{what}: {fetched:?}");
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n";

#[test]
fn a_server_that_dies_is_told_from_one_that_has_said_all() {
    let gateway = Gateway::http("", "");
    let long: &'static str =
        format!("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n{}", "x".repeat(800_000)).leak();
    let long_chunks: &'static str =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc3500\r\n{}\r\n", "x".repeat(0xc3500))
            .leak();
    let refused =
        TcpListener::bind("127.0.0.1:0").expect("a port is free").local_addr().expect("it is bound");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let within: [(&str, &'static str); 8] = [
        ("in the status line", "HTTP/1.1 20"),
        ("in the head", "HTTP/1.1 200 OK\r\nContent-Le"),
        ("behind the head", HEAD),
        ("in the content", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nten bytes."),
        ("behind an interim head", "HTTP/1.1 103 Early Hints\r\n\r\n"),
        ("in a chunk", [chunked, "a\r\nfive"].concat().leak()),
        ("before the last chunk", [chunked, "4\r\nfour\r\n"].concat().leak()),
        ("in the trailers", [chunked, "4\r\nfour\r\n0\r\nX: y\r\n"].concat().leak()),
    ];
    let mut cases = vec![
        ("refuses", refused),
        ("at once", server(Dies::AtOnce)),
        ("in the request", server(Dies::Within(9))),
    ];
    cases.push(("without a word", server(Dies::After(""))));
    for (what, words) in
        within.into_iter().chain([("in what streams", long), ("in chunks that stream", long_chunks)])
    {
        cases.push((what, server(Dies::After(words))));
        cases.push((what, server(Dies::ByReset(words))));
    }
    for (what, address) in cases {
        let url = format!("http://{address}/");
        for arguments in [vec![url.as_str()], vec!["--http1.0", &url], vec!["--data", "x", &url]] {
            let fetched = curl::through(gateway.address, &arguments);
            // Without chunks and without a length the end of the connection is all there is: it has to be a reset.
            assert_client_knows(&format!("{what} {arguments:?}"), &fetched);
        }
    }
    // What was said whole is whole, however the connection ends.
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour";
    let address = server(Dies::After(whole));
    for _ in 0..3 {
        let fetched = curl::through(gateway.address, &[&format!("http://{address}/")]);
        assert_eq!((fetched.exit, fetched.text().as_str()), (0, "four"), "{fetched:?}");
    }
}

#[test]
fn a_server_that_dies_during_an_upload_is_told() {
    let gateway = Gateway::http("", "");
    let files = Directory::new("uploads");
    let (short, long) =
        (files.write("short", mail::noise(1, 5000)), files.write("long", mail::noise(2, 6_000_000)));
    for dies in [
        Dies::AtOnce,
        Dies::Within(100),
        Dies::Within(500_000),
        Dies::After(""),
        Dies::After("HTTP/1.1 100 Continue\r\n\r\n"),
    ] {
        let url = format!("http://{}/", server(dies));
        for file in [&short, &long] {
            let file = file.display().to_string();
            for more in
                [&[][..], &["--header", "Transfer-Encoding: chunked"], &["--header", "Expect: 100-continue"]]
            {
                // A short one does not fill what the server waits for.
                if matches!(dies, Dies::Within(500_000)) && file.ends_with("short") {
                    continue;
                }
                let fetched =
                    curl::through(gateway.address, &[more, &["--upload-file", &file, &url]].concat());
                assert_client_knows(&format!("{dies:?} {more:?} {file}"), &fetched);
            }
        }
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let gateway = Gateway::http("reply_timeout = \"300 ms\"\ndata_block_timeout = \"300 ms\"", "");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let fetched = curl::through(gateway.address, &[&url]);
    assert_eq!((fetched.exit, fetched.status), (0, 504), "{fetched:?}");
    let half = server_that_stops();
    let fetched = curl::through(gateway.address, &[&format!("http://{half}/")]);
    assert_client_knows("it stops", &fetched);
    gateway.until_event(&["\"event_type\":\"verdict\"", "\"lost\""]);
}

/// A server that stays silent in the middle of its answer.
fn server_that_stops() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        stream.set_read_timeout(Some(wait::PATIENCE)).expect("a time above zero");
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(HEAD.as_bytes());
        // Until the gateway has gone.
        while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {}
    });
    address
}
