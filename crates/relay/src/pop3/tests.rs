//! Sessions over loopback with a scripted server and an engine that finds one word. Rule: the client's view is compared
//! as a whole, byte for byte.

use crate::server::{self, Running};
use crate::settings::{Listener, NextHop, Settings, Speaks, Timeouts};
use crate::shared::Shared;
use crate::testing::Words;
use lockgate_inspect::{Generation, Policy};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the server says behind its greeting: a reply to each command, by its start; then, at `QUIT`, it closes.
type Script = Vec<(&'static str, Vec<u8>)>;

fn serve_script(script: Script) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let script = script.clone();
            std::thread::spawn(move || answer(stream, &script));
        }
    });
    address
}

fn answer(mut stream: TcpStream, script: &Script) {
    stream.write_all(b"+OK ready <1.2@test>\r\n").unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
        let reply = script.iter().find(|(command, _)| line.starts_with(command));
        let reply = reply.map_or(&b"+OK\r\n"[..], |(_, reply)| reply);
        if stream.write_all(reply).is_err() || line.starts_with("QUIT") || reply.is_empty() {
            return;
        }
        line.clear();
    }
}

fn start(next_hop: SocketAddr, change: impl FnOnce(&mut Listener)) -> Running {
    let address = "127.0.0.1:0".parse().unwrap();
    let mut listener = Listener::new("pop3", Speaks::Pop3, address, NextHop::Address(next_hop.to_string()));
    listener.hold_bytes = 4096;
    listener.tail_bytes = 1024;
    change(&mut listener);
    let settings = Settings { listeners: vec![listener], threads: 1, ..Settings::default() };
    let (policy, limits) = (Arc::new(Policy::default()), Arc::default());
    let generation = Generation { number: 1, databases: vec![Arc::new(Words)], policy, limits };
    server::start(Shared::new(settings, Arc::new(generation)).unwrap(), None).unwrap()
}

/// Sends the commands in pieces of that size; returns all that came back before the end.
fn session(address: SocketAddr, commands: &str, piece_bytes: usize) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for piece in commands.as_bytes().chunks(piece_bytes) {
        stream.write_all(piece).unwrap();
    }
    let mut said = Vec::new();
    // A connection that was broken off ends with an error; what came before it counts.
    let _ = stream.read_to_end(&mut said);
    said
}

fn multi_line(status: &str, stuffed: &str) -> Vec<u8> {
    format!("{status}\r\n{stuffed}.\r\n").into_bytes()
}

fn mail_of(lines: usize, word_at: Option<usize>) -> String {
    let mut mail = String::from("From: a <a@b.example>\r\nSubject: about\r\n\r\n");
    for number in 0..lines {
        mail.push_str(if word_at == Some(number) { "WORM\r\n" } else { "..a line with a dot\r\n" });
    }
    mail
}

#[test]
fn clean_replies_pass_byte_for_byte_at_every_cut() {
    let script = vec![
        ("LIST", multi_line("+OK 2", "1 100\r\n2 200\r\n")),
        ("UIDL 1", b"+OK 1 abc\r\n".to_vec()),
        ("RETR 1", multi_line("+OK 100 octets", &mail_of(3, None))),
        ("RETR 2", multi_line("+OK 900000 octets", &mail_of(40_000, None))),
        ("RETR 3", b"-ERR no such message\r\n".to_vec()),
        ("RETR 4", multi_line("+OK", "")),
        ("TOP 1", multi_line("+OK", &mail_of(1, None))),
    ];
    let commands = "USER a\r\nPASS b\r\nLIST\r\nUIDL 1\r\nRETR 1\r\nRETR 2\r\nRETR 3\r\nTOP 1 1\r\nRETR 4\r\nDELE 1\r\nQUIT\r\n";
    let reply = |command: &str| {
        script
            .iter()
            .find(|(start, _)| command.starts_with(start))
            .map_or(b"+OK\r\n".to_vec(), |(_, r)| r.clone())
    };
    let replies: Vec<Vec<u8>> = commands.lines().map(reply).collect();
    let expected = [b"+OK ready <1.2@test>\r\n".to_vec(), replies.concat()].concat();
    let running = start(serve_script(script.clone()), |_| {});
    for piece_bytes in [1, 7, 1000] {
        let said = session(running.addresses()[0], commands, piece_bytes);
        assert!(said == expected, "in pieces of {piece_bytes}: {}", String::from_utf8_lossy(&said[..300]));
    }
    running.stop();
    running.join();
}

#[test]
fn a_bad_mail_is_a_notice_and_the_next_reply_is_whole() {
    let cases = [
        ("held", mail_of(10, Some(5))),
        ("streamed, found in the middle", mail_of(40_000, Some(20_000))),
        ("streamed, found at the end", mail_of(40_000, Some(39_999))),
    ];
    for (what, mail) in cases {
        let script = vec![("RETR 1", multi_line("+OK 4711 octets", &mail))];
        let running = start(serve_script(script), |_| {});
        let said = session(running.addresses()[0], "RETR 1\r\nNOOP\r\nQUIT\r\n", 1000);
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("Test.Worm") && !said.contains("WORM"), "{what}: {said:.300}");
        assert!(said.ends_with("\r\n.\r\n+OK\r\n+OK\r\n"), "{what}");
        assert_eq!(said.contains("+OK 4711 octets"), what != "held", "{what}");
        assert_eq!(said.matches("\r\n.\r\n").count(), 1, "{what}");
        if what == "held" {
            assert!(said.contains("+OK a notice in place of the mail follows\r\nFrom: Lockgate"), "{said}");
            assert!(said.contains("    From: a <a@b.example>\r\n    Subject: about\r\n"), "{said}");
        }
        running.stop();
        running.join();
    }
}

#[test]
fn a_server_that_breaks_off_never_ends_a_mail() {
    for (reply, expected) in [
        ("+OK\r\nSubject: x\r\n\r\nhalf".to_owned(), "-ERR [SYS/TEMP] the mail server closed"),
        (String::new(), "-ERR [SYS/TEMP] the mail server closed"),
        ("hello\r\n".to_owned(), "-ERR [SYS/TEMP] the mail server does not speak POP3"),
        ("+OK\r\n+OK\r\n".to_owned(), "-ERR [SYS/TEMP] the mail server's replies are out of step"),
        (format!("+OK 900000 octets\r\n{}", mail_of(40_000, None)), "+OK 900000 octets\r\n"),
    ] {
        let is_doubled = reply.starts_with("+OK\r\n+OK");
        let commands = if is_doubled { "NOOP\r\n" } else { "RETR 1\r\nSTAT\r\n" };
        // An empty reply is the end of the script's connection.
        let script =
            vec![("RETR 1", reply.clone().into_bytes()), ("NOOP", reply.into_bytes()), ("STAT", vec![])];
        let running = start(serve_script(script), |_| {});
        let said = session(running.addresses()[0], commands, 1000);
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(expected), "{expected}: {said:.200}");
        assert!(!said.ends_with("\r\n.\r\n"), "{said:.200}");
        running.stop();
        running.join();
    }
}

#[test]
fn silent_servers_and_limits_are_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = start(listener.local_addr().unwrap(), |listener| {
        listener.timeouts = Timeouts { greeting: Duration::from_millis(200), ..Timeouts::default() };
    });
    let said = session(running.addresses()[0], "", 1);
    assert_eq!(said, b"-ERR [SYS/TEMP] the mail server does not answer in time; try again later\r\n");
    running.stop();
    running.join();

    let next_hop = serve_script(vec![("STAT", b"+OK 0 0\r\n".to_vec())]);
    let running = start(next_hop, |listener| {
        listener.errors_max = 2;
        listener.next_hop_connections_max = 1;
    });
    let said = session(running.addresses()[0], "XYZ\r\nSTAT\r\nRETR x\r\nXYZ\r\nSTAT\r\n", 1000);
    let said = String::from_utf8_lossy(&said);
    let replies: Vec<&str> = said.lines().collect();
    assert_eq!(
        replies[1..],
        [
            "-ERR this command is not relayed",
            "+OK 0 0",
            "-ERR the argument is malformed",
            "-ERR too many errors; closing"
        ]
    );
    let _first = TcpStream::connect(running.addresses()[0]).unwrap();
    let mut greeted = BufReader::new(_first.try_clone().unwrap());
    greeted.read_line(&mut String::new()).unwrap();
    let said = session(running.addresses()[0], "", 1);
    assert!(said.starts_with(b"-ERR [SYS/TEMP] too many connections to the next hop"));
    running.stop();
    running.join();
}

#[test]
fn a_drain_closes_a_session_at_rest_and_finishes_a_mail() {
    let script = vec![("RETR 1", multi_line("+OK", &mail_of(100_000, None)))];
    let running = start(serve_script(script), |_| {});
    let mut resting = TcpStream::connect(running.addresses()[0]).unwrap();
    let mut fetching = BufReader::new(TcpStream::connect(running.addresses()[0]).unwrap());
    let mut line = String::new();
    fetching.read_line(&mut line).unwrap();
    fetching.get_ref().write_all(b"RETR 1\r\nQUIT\r\n").unwrap();
    line.clear();
    fetching.read_line(&mut line).unwrap();
    assert_eq!(line, "+OK\r\n");
    running.drain();
    let mut rest = Vec::new();
    resting.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"+OK ready <1.2@test>\r\n");
    rest.clear();
    fetching.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"\r\n.\r\n+OK\r\n"));
    assert_eq!(rest.len(), mail_of(100_000, None).len() + ".\r\n+OK\r\n".len());
    running.join();
}

#[test]
fn a_drain_that_comes_before_the_greeting_ends_as_soon() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = start(listener.local_addr().unwrap(), |_| {});
    let mut resting = TcpStream::connect(running.addresses()[0]).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    running.drain();
    server.write_all(b"+OK ready\r\n").unwrap();
    let began = Instant::now();
    let mut said = Vec::new();
    resting.read_to_end(&mut said).unwrap();
    drop(resting);
    running.join();
    assert_eq!(said, b"+OK ready\r\n");
    assert!(began.elapsed() < Duration::from_secs(20));
}
