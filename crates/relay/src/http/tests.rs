//! Exchanges over loopback with a scripted server and an engine that finds one word. Rule: the client's view is the same
//! however the bytes are cut on their way.

use crate::server::{self, Running};
use crate::settings::{Listener, NextHop, Settings, Speaks};
use crate::shared::Shared;
use crate::testing::Words;
use lockgate_inspect::{Generation, Policy};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A server that answers each request with the same bytes, in pieces, and may close behind each.
struct Origin {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    GoesOn,
    Closes,
    /// It says nothing at all.
    IsSilent,
}

fn origin(answer: &[u8], piece_bytes: usize, then: Then) -> Origin {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let (count, answer) = (Arc::clone(&connections), answer.to_vec());
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            count.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            std::thread::spawn(move || serve(stream, &answer, piece_bytes, then));
        }
    });
    Origin { address, connections }
}

fn serve(mut stream: TcpStream, answer: &[u8], piece_bytes: usize, then: Then) {
    stream.set_nodelay(true).unwrap();
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        seen.extend_from_slice(&piece[..count]);
        // A request without content, or with content in chunks.
        let is_whole =
            seen.ends_with(b"\r\n\r\n") && (!seen.starts_with(b"POST") || seen.ends_with(b"0\r\n\r\n"));
        if !is_whole || then == Then::IsSilent {
            continue;
        }
        seen.clear();
        for piece in answer.chunks(piece_bytes) {
            if stream.write_all(piece).is_err() {
                return;
            }
        }
        if then == Then::Closes {
            return;
        }
    }
}

fn start(change: impl FnOnce(&mut Listener)) -> Running {
    let address = "127.0.0.1:0".parse().unwrap();
    let mut listener = Listener::new("http", Speaks::Http, address, NextHop::Original);
    listener.hold_bytes = 4096;
    listener.tail_bytes = 1024;
    change(&mut listener);
    let hostname = "gate".to_owned();
    let settings = Settings { listeners: vec![listener], threads: 1, hostname, ..Settings::default() };
    let (policy, limits) = (Arc::new(Policy::default()), Arc::default());
    let generation = Generation { number: 1, databases: vec![Arc::new(Words)], policy, limits };
    server::start(Shared::new(settings, Arc::new(generation)).unwrap(), None).unwrap()
}

/// Says these words in pieces; returns all that came back before the end, and whether that was an orderly one.
fn converse(address: SocketAddr, words: &[u8], piece_bytes: usize) -> (String, bool) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for piece in words.chunks(piece_bytes) {
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer).is_ok();
    (String::from_utf8_lossy(&answer).into_owned(), ended)
}

fn over(running: Running) {
    running.stop();
    running.join();
}

const PIECES: [usize; 5] = [1, 2, 3, 7, 100_000];

#[test]
fn a_response_is_the_same_however_it_is_cut() {
    let long = "0123456789".repeat(2000);
    let length = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{long}", long.len());
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n";
    let with_interim =
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let no_content = "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n";
    let bad = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nWORM";
    let via = "Via: 1.1 gate\r\n";
    let cases = [
        (length.as_str(), format!("HTTP/1.1 200 OK\r\n{via}Content-Length: 20000\r\n\r\n{long}")),
        (
            chunked,
            format!("HTTP/1.1 200 OK\r\n{via}Transfer-Encoding: chunked\r\n\r\n6\r\nhello!\r\n0\r\n\r\n"),
        ),
        (
            with_interim,
            format!(
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n{via}\r\nHTTP/1.1 200 OK\r\n{via}Content-Length: 2\r\n\r\nok"
            ),
        ),
        (no_content, format!("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n{via}\r\n")),
        (bad, "HTTP/1.1 403 Forbidden\r\n".to_owned()),
    ];
    let running = start(|_| {});
    for (answer, expected) in cases {
        for piece_bytes in PIECES {
            // Scanned a byte at a time the word is not found: the engine does not look across cuts.
            if answer == bad && piece_bytes < 100 {
                continue;
            }
            let origin = origin(answer.as_bytes(), piece_bytes, Then::GoesOn);
            let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", origin.address);
            let twice = [request.as_str(), request.as_str()].concat();
            // The end comes when the gateway hears that there is no more.
            let mut stream = TcpStream::connect(running.addresses()[0]).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(twice.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut seen = String::new();
            stream.read_to_string(&mut seen).unwrap();
            if answer == bad {
                assert_eq!(seen.matches(&expected).count(), 2, "{seen}");
                continue;
            }
            assert_eq!(seen, [expected.as_str(), expected.as_str()].concat(), "{piece_bytes}");
            assert_eq!(origin.connections.load(Ordering::SeqCst), 1, "it is used again");
        }
    }
    over(running);
}

#[test]
fn a_request_is_the_same_however_it_is_cut() {
    let running = start(|_| {});
    let origin = origin(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 100, Then::GoesOn);
    let words = format!(
        "POST / HTTP/1.1\r\nHost: {0}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
         GET http://{0}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        origin.address
    );
    let one = "HTTP/1.1 200 OK\r\nVia: 1.1 gate\r\nContent-Length: 2\r\n\r\nok";
    let last = one.replace("gate\r\n", "gate\r\nConnection: close\r\n");
    for piece_bytes in PIECES {
        let (seen, ended) = converse(running.addresses()[0], words.as_bytes(), piece_bytes);
        assert_eq!((seen, ended), ([one, &last].concat(), true), "{piece_bytes}");
    }
    over(running);
}

#[test]
fn trailers_are_the_same_however_they_are_cut() {
    let answer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\nHost: b\r\n\r\n";
    let running = start(|_| {});
    for piece_bytes in PIECES {
        let origin = origin(answer.as_bytes(), piece_bytes, Then::GoesOn);
        for (asks, last) in [("TE: gzip, trailers\r\n", "X: y\r\n"), ("TE: gzip\r\n", ""), ("", "")] {
            // The server reads up to a last chunk; what stands behind this one ends like one.
            let words = format!(
                "POST / HTTP/1.1\r\nHost: {}\r\n{asks}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3\r\nabc\r\n0\r\nX-Sent: 0\r\n\r\n",
                origin.address
            );
            let (seen, ended) = converse(running.addresses()[0], words.as_bytes(), piece_bytes);
            let expected = format!(
                "HTTP/1.1 200 OK\r\nVia: 1.1 gate\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2\r\nok\r\n0\r\n{last}\r\n"
            );
            assert_eq!((seen, ended), (expected, true), "{piece_bytes} {asks}");
        }
    }
    over(running);
}

#[test]
fn a_connection_that_the_server_has_closed_costs_nobody_an_error() {
    let running = start(|_| {});
    let origin = origin(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 100, Then::Closes);
    let get = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", origin.address);
    let post = format!(
        "POST / HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
        origin.address
    );
    let words = [get.repeat(20), post].concat();
    let (seen, ended) = converse(running.addresses()[0], words.as_bytes(), words.len());
    assert_eq!((seen.matches("200 OK").count(), ended), (21, true), "{seen}");
    over(running);
}

#[test]
fn who_does_not_come_to_an_end_is_not_waited_for() {
    let short = Duration::from_millis(200);
    let running = start(|listener| {
        listener.timeouts.command = short;
        listener.timeouts.reply = short;
        listener.timeouts.data_block = short;
    });
    let silent = origin(b"", 1, Then::IsSilent).address;
    let half = origin(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 100, Then::GoesOn).address;
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{}", "x".repeat(9000));
    let streamed = origin(long.as_bytes(), 100_000, Then::GoesOn).address;
    for (words, status, ended) in [
        (String::new(), "", true),
        ("GET / HT".to_owned(), "HTTP/1.1 408 ", true),
        (
            format!("POST / HTTP/1.1\r\nHost: {silent}\r\nContent-Length: 9\r\n\r\nhalf"),
            "HTTP/1.1 408 ",
            true,
        ),
        (format!("GET / HTTP/1.1\r\nHost: {silent}\r\nConnection: close\r\n\r\n"), "HTTP/1.1 504 ", true),
        (format!("GET / HTTP/1.1\r\nHost: {half}\r\nConnection: close\r\n\r\n"), "HTTP/1.1 504 ", true),
        (format!("GET / HTTP/1.1\r\nHost: {streamed}\r\n\r\n"), "HTTP/1.1 200 ", false),
    ] {
        let (seen, orderly) = converse(running.addresses()[0], words.as_bytes(), 1000);
        assert!(seen.starts_with(status), "{words}: {seen}");
        assert_eq!(orderly, ended, "{words}: {seen}");
    }
    over(running);
}

#[test]
fn a_session_at_rest_ends_when_the_gateway_drains() {
    let running = start(|_| {});
    let origin = origin(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 100, Then::GoesOn);
    let mut stream = TcpStream::connect(running.addresses()[0]).unwrap();
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", origin.address).as_bytes()).unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\nok") {
        let mut piece = [0; 512];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0);
        seen.extend_from_slice(&piece[..count]);
    }
    running.drain();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    running.join();
}

#[test]
fn each_end_of_a_tunnel_is_passed_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let running = start(|listener| listener.connect_ports = vec![port]);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        stream.write_all(said.to_uppercase().as_bytes()).unwrap();
    });
    let mut stream = TcpStream::connect(running.addresses()[0]).unwrap();
    let words = "behind it ".repeat(50_000);
    let head = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all([head.as_str(), &words].concat().as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut seen = String::new();
    stream.read_to_string(&mut seen).unwrap();
    let (head, behind) = seen.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(behind == words.to_uppercase(), "{} bytes", behind.len());
    server.join().unwrap();
    over(running);
}
