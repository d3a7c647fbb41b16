//! WebSocket through the gateway. Rule: messages arrive as they were said, and what is bad arrives in none of them.

use lockgate_tests::gateway::interception;
use lockgate_tests::nginx::Nginx;
use lockgate_tests::websocket::Server;
use lockgate_tests::{Directory, Gateway, mail, wait};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn messages_arrive_and_bad_ones_end_the_connection() {
    let (server, gateway) = (Server::start(&mail::eicar()), Gateway::http("", ""));
    let files = Directory::new("messages");
    let file =
        |sign: char, name: &str, content: Vec<u8>| format!("{sign}{}", files.write(name, content).display());
    let (small, large) =
        (file('@', "small", mail::noise(1, 300)), file('@', "large", mail::noise(2, 1_500_000)));
    let (halves, bad) = (file('%', "halves", mail::noise(3, 200_000)), file('%', "bad", mail::eicar()));
    let said = server.client(gateway.address, &["hello", &small, "", &large, &halves, "bye"]);
    let expected = "extensions 0\nsame 5\nsame 300\nsame 0\nsame 1500000\nsame 200000\nsame 3\nended\n";
    assert_eq!(said, expected);
    gateway.until_event(&["\"event_type\":\"verdict\"", "\"status\":101", "\"forwarded\""]);
    // What the client says, in two frames, and what the server says.
    for word in [bad.as_str(), "bad"] {
        let said = server.client(gateway.address, &["hello", word, "more"]);
        assert_eq!(said, "extensions 0\nsame 5\nclosed broken\n", "{word}");
    }
    wait::until("both are cut", || {
        let is_cut =
            |line: &String| ["\"cut\"", "Test.Eicar", "\"status\":101"].iter().all(|it| line.contains(it));
        (gateway.events().iter().filter(|line| is_cut(line)).count() == 2).then_some(())
    });
}

#[test]
fn within_tls_they_are_looked_into_alike() {
    let (server, nginx) = (Server::start(&mail::eicar()), Nginx::start());
    let lines = format!("intercept_tls = true\nconnect_ports = [{}]", nginx.http2.port());
    let gateway = Gateway::http(&lines, &interception(&[nginx.certificate()]));
    let (authority, url) = (gateway.exported_authority(), nginx.websocket(server.address));
    let files = Directory::new("messages");
    let file = |name: &str, content: Vec<u8>| format!("%{}", files.write(name, content).display());
    let (clean, bad) = (file("clean", mail::noise(1, 500_000)), file("bad", mail::eicar()));
    let said = |words: &[&str]| server.client_of(gateway.address, &url, &authority, words);
    assert_eq!(said(&["hello", &clean, "bye"]), "extensions 0\nsame 5\nsame 500000\nsame 3\nended\n");
    for word in [bad.as_str(), "bad"] {
        assert_eq!(said(&["hello", word, "more"]), "extensions 0\nsame 5\nclosed broken\n", "{word}");
    }
    let cut = gateway.until_event(&["\"verdict\"", "\"cut\"", "Test.Eicar", "\"status\":101"]);
    assert!(cut.contains("\"hostname\":\"localhost\""), "{cut}");
    gateway.until_event(&["\"tls\"", "\"intercepted\""]);
}

/// Asks for an upgrade; the server sees the request, answers so, and what comes of it is returned with what it saw.
fn asked(gateway: &Gateway, token: &str, answer: &str) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let mut client = TcpStream::connect(gateway.address).expect("it listens");
    client.set_read_timeout(Some(wait::PATIENCE)).expect("a time above zero");
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: {token}\r\n\
         Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    );
    client.write_all(request.as_bytes()).expect("it reads");
    let (mut server, _) = listener.accept().expect("the gateway comes");
    let (mut request, mut piece) = (String::new(), [0; 4096]);
    while !request.contains("\r\n\r\n") {
        let count = server.read(&mut piece).expect("a request");
        assert!(count > 0, "{request}");
        request.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    server.write_all(answer.as_bytes()).expect("it reads");
    let _ = server.shutdown(std::net::Shutdown::Write);
    let mut seen = Vec::new();
    let _ = client.shutdown(std::net::Shutdown::Write);
    let _ = client.read_to_end(&mut seen);
    (request, String::from_utf8_lossy(&seen).into_owned())
}

/// The connection is cut, with or without what was said before.
const CUT: u16 = 0;

#[test]
fn only_what_is_listed_and_asked_for_is_changed_to() {
    let gateway = Gateway::http("upgrades = [\"websocket\", \"chat\"]", "");
    let to = |token: &str, more: &str, behind: &str| {
        format!("HTTP/1.1 101 Go on\r\nConnection: Upgrade\r\nUpgrade: {token}\r\n{more}\r\n{behind}")
    };
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned();
    let eicar = String::from_utf8(mail::eicar()).expect("it is text");
    for (token, answer, is_asked, status, ends) in [
        ("WebSocket", to("websocket", "", "\u{1}\u{2}hi"), true, 101, "\u{1}\u{2}hi"),
        ("websocket", ok.clone(), true, 200, "ok"),
        ("chat", to("chat", "", "any words"), true, 101, "any words"),
        ("chat", to("chat", "", &eicar), true, CUT, ""),
        ("websocket", to("chat", "", ""), true, 502, ""),
        ("websocket", to("websocket", "Sec-WebSocket-Extensions: x\r\n", ""), true, 502, ""),
        ("websocket", to("websocket", "", "HTTP/1.1 200 OK\r\n"), true, CUT, ""),
        ("h2c", ok.clone(), false, 200, "ok"),
        ("h2c", to("h2c", "", ""), false, 502, ""),
        ("chat, websocket", ok, false, 200, "ok"),
    ] {
        let (request, seen) = asked(&gateway, token, &answer);
        assert_eq!(request.contains("\r\nUpgrade: "), is_asked, "{request}");
        let is_websocket = is_asked && token.eq_ignore_ascii_case("websocket");
        assert_ne!((is_websocket, request.contains("deflate")), (true, true), "{request}");
        if status == CUT {
            assert!(
                seen.is_empty() || seen.starts_with("HTTP/1.1 101 ") && seen.ends_with("\r\n\r\n"),
                "{seen}"
            );
            continue;
        }
        assert!(seen.starts_with(&format!("HTTP/1.1 {status} ")), "{token} {answer}: {seen}");
        assert!(status == 502 || seen.ends_with(ends), "{token} {answer}: {seen}");
    }
}
