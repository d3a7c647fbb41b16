//! Connections to servers: who shares them, and who does not. Rule: what a server knows by a connection is one client's.

use lockgate_tests::nginx::Nginx;
use lockgate_tests::{Gateway, curl, wait};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// One thread, so that all clients have the same connections before them.
fn gateway(listener_lines: &str) -> Gateway {
    Gateway::http(listener_lines, "[gateway]\nthreads = 1")
}

/// The connections by which nginx was asked, in order.
fn connections(nginx: &Nginx, count: usize) -> Vec<String> {
    wait::until("all requests are logged", || (nginx.log().len() == count).then_some(()));
    nginx.log().iter().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

#[test]
fn clients_share_connections_and_what_may_not_be_sent_twice_has_its_own() {
    let (nginx, gateway) = (Nginx::start(), gateway(""));
    let url = nginx.put("one", "one");
    for _ in 0..3 {
        assert_eq!(curl::through(gateway.address, &[&url]).text(), "one");
    }
    curl::through(gateway.address, &["--data", "x", &url]);
    let seen = connections(&nginx, 4);
    assert!(seen[..3].iter().all(|one| *one == seen[0]), "{seen:?}");
    assert_ne!(seen[3], seen[0], "what was posted goes by a connection that nobody is about to close");
}

/// A server that answers each request with the number of its connection, and asks for a login that is the connection's.
fn numbering(challenge: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { return };
            thread::spawn(move || answer_each(stream, number, challenge));
        }
    });
    address
}

fn answer_each(mut stream: TcpStream, number: usize, challenge: &str) {
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        seen.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        if head.starts_with("POST") && body.is_empty() {
            continue;
        }
        let says = if head.contains("Authorization: ") { "200 OK" } else { "401 Who are you" };
        let answer = format!("HTTP/1.1 {says}\r\n{challenge}Content-Length: 1\r\n\r\n{number}");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        seen.clear();
    }
}

/// What the client gets for each of its requests, one after another by one connection: the bodies.
fn asked(gateway: SocketAddr, server: SocketAddr, requests: &[&str]) -> String {
    let mut stream = TcpStream::connect(gateway).expect("it listens");
    stream.set_read_timeout(Some(wait::PATIENCE)).expect("a time above zero");
    let mut numbers = String::new();
    for request in requests {
        let request = request.replace("HOST", &server.to_string());
        stream.write_all(request.as_bytes()).expect("it reads");
        let (mut answer, mut piece) = (String::new(), [0; 4096]);
        while answer.split_once("\r\n\r\n").is_none_or(|(_, body)| body.is_empty()) {
            let count = stream.read(&mut piece).expect("it answers");
            assert!(count > 0, "{answer}");
            answer.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        numbers.push_str(&answer[answer.len() - 1..]);
    }
    numbers
}

const GET: &str = "GET / HTTP/1.1\r\nHost: HOST\r\n\r\n";
const LOGIN: &str = "GET / HTTP/1.1\r\nHost: HOST\r\nAuthorization: NTLM TlRMTVNTUAA\r\n\r\n";
const BASIC: &str = "GET / HTTP/1.1\r\nHost: HOST\r\nAuthorization: Basic eDp5\r\n\r\n";
const POST: &str =
    "POST / HTTP/1.1\r\nHost: HOST\r\nAuthorization: NTLM TlRMTVNTUAA\r\nContent-Length: 1\r\n\r\nx";

#[test]
fn a_connection_that_was_logged_in_by_is_its_clients_alone() {
    let gateway = gateway("");
    for (challenge, cases) in [
        // Where nothing is the connection's, all take the same.
        ("WWW-Authenticate: Basic realm=x\r\n", vec![(vec![GET, BASIC], "00"), (vec![GET], "0")]),
        // A login that came by it, and a challenge that was given by it, make it one client's; its uploads go there, too.
        (
            "",
            vec![
                (vec![GET, LOGIN, POST, GET], "0000"),
                (vec![GET, GET], "11"),
                (vec![LOGIN], "1"),
                (vec![GET], "2"),
            ],
        ),
        ("WWW-Authenticate: NTLM\r\n", vec![(vec![GET, LOGIN], "00"), (vec![GET, POST], "11")]),
        ("WWW-Authenticate: Basic realm=x, Negotiate\r\n", vec![(vec![GET, POST], "00"), (vec![GET], "1")]),
    ] {
        let server = numbering(challenge);
        for (requests, expected) in cases {
            assert_eq!(asked(gateway.address, server, &requests), expected, "{challenge:?} {requests:?}");
        }
    }
}
