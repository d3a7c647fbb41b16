//! Mail fetched by its reader. Rule: what is clean arrives as it is, what is not is a notice that can be deleted.

use lockgate_tests::dovecot::{Dovecot, PASSWORD, USER};
use lockgate_tests::fetch::{self, Security};
use lockgate_tests::gateway::Gateway;
use lockgate_tests::smtp::Client;
use lockgate_tests::temporary::delivered;
use lockgate_tests::{mail, wait};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Longer than is held, so that it streams.
fn long(subject: &str, last: &[u8]) -> Vec<u8> {
    let content = [mail::noise(7, 900_000), last.to_vec(), mail::noise(8, 300_000)].concat();
    mail::with_attachment(subject, "long.bin", &content)
}

fn before(dovecot: &Dovecot, lines: &str) -> Gateway {
    Gateway::pop3(&dovecot.pop3.to_string(), lines, "")
}

#[test]
fn clean_mails_arrive_byte_for_byte() {
    let dovecot = Dovecot::start();
    let certificate = dovecot.certificate().to_owned();
    let key = certificate.with_file_name("key.pem");
    let gateway = before(
        &dovecot,
        &format!(
            "tls = \"offered\"\ncertificate = \"{}\"\nkey = \"{}\"",
            certificate.display(),
            key.display()
        ),
    );
    let mails = [
        mail::plain("dots", ".\r\n..\r\n...\r\n\r\n"),
        mail::plain("short", "hello"),
        long("long", b"nothing"),
        b"Subject: bare\r\n\r\n".to_vec(),
    ];
    for security in [Security::Clear, Security::Stls(&certificate)] {
        for fetch in [fetch::mpop, fetch::fetchmail] {
            for (index, content) in mails.iter().enumerate() {
                dovecot.put(&format!("{index}"), content);
            }
            let fetched = fetch(gateway.address, security);
            assert_eq!(fetched.status, 0, "{security:?}: {}", fetched.printed);
            let expected: Vec<Vec<u8>> = mails.iter().map(|mail| mail::with_line_feeds(mail)).collect();
            assert_eq!(fetched.mails, expected, "{security:?}");
            assert_eq!(dovecot.count(), 0, "what was fetched is deleted");
        }
    }
}

#[test]
fn an_infected_mail_is_a_notice_and_can_be_deleted() {
    let dovecot = Dovecot::start();
    let gateway = before(&dovecot, "");
    for fetch in [fetch::mpop, fetch::fetchmail] {
        for infected in [mail::infected("virus"), long("virus", &mail::eicar())] {
            dovecot.put("1", &infected);
            dovecot.put("2", &mail::plain("after", "hello"));
            let fetched = fetch(gateway.address, Security::Clear);
            assert_eq!(fetched.status, 0, "{}", fetched.printed);
            assert_eq!(fetched.mails.len(), 2);
            let notice = String::from_utf8_lossy(&fetched.mails[0]);
            assert!(notice.contains("Test.Eicar"), "{notice}");
            assert!(fetched.mails[0].len() < infected.len());
            assert_eq!(fetched.mails[1], mail::with_line_feeds(&mail::plain("after", "hello")));
            assert_eq!(dovecot.count(), 0, "the notice is the end of it: no endless retry");
        }
    }
    gateway.until_event(&["\"verdict\"", "Test.Eicar", "\"reject\""]);
}

const INTO_QUARANTINE: &str = "[policy]\nquarantine = \"DIRECTORY/kept\"\nfindings.virus = \"quarantine\"";

/// Longer than is held, with the virus where any reader of the text sees it, and as much again behind it.
fn long_and_in_clear() -> Vec<u8> {
    let lines = mail::base64(&mail::noise(9, 900_000));
    let virus = String::from_utf8(mail::eicar()).expect("it is ASCII");
    mail::plain("clear", &format!("{lines}{virus}\r\n{lines}"))
}

fn holds(bytes: &[u8], words: &[u8]) -> bool {
    bytes.windows(words.len()).any(|window| window == words)
}

#[test]
fn what_goes_into_quarantine_is_kept_byte_for_byte_and_the_reader_has_a_notice() {
    let dovecot = Dovecot::start();
    let gateway = Gateway::pop3(&dovecot.pop3.to_string(), "", INTO_QUARANTINE);
    let kept = gateway.directory().join("kept");
    let dotted = [mail::infected("dots"), b".\r\n..\r\n".to_vec()].concat();
    let infected = [(dotted, "\"replaced\""), (long_and_in_clear(), "\"cut\"")];
    let cases =
        infected.iter().flat_map(|case| [(case, fetch::mpop as fn(_, _) -> _), (case, fetch::fetchmail)]);
    for (index, ((infected, action), fetch)) in cases.enumerate() {
        dovecot.put("1", infected);
        dovecot.put("2", &mail::plain("clean", "hello"));
        let fetched = fetch(gateway.address, Security::Clear);
        assert_eq!(fetched.status, 0, "{}", fetched.printed);
        assert_eq!(dovecot.count(), 0, "both are deleted");
        assert_eq!(fetched.mails[1], mail::with_line_feeds(&mail::plain("clean", "hello")));
        assert!(holds(&fetched.mails[0], b"the virus Test.Eicar"), "a notice");
        assert!(!holds(&fetched.mails[0], &mail::eicar()), "nothing leaves from the virus on");

        let copies = delivered(&kept);
        assert_eq!(copies.len(), index + 1, "one for each infected mail, none for a clean one");
        assert!(fs::read_dir(kept.join("tmp")).expect("a maildir").next().is_none());
        let copy = copies.last().expect("one copy");
        let id =
            copy.strip_prefix(b"X-Lockgate-Id: ").and_then(|rest| rest.get(..13)).expect("an id above it");
        assert!(copy[b"X-Lockgate-Id: ".len() + 13..] == [b"\r\n", &infected[..]].concat(), "byte for byte");
        assert!(holds(&fetched.mails[0], id), "the notice names it");
        let id = String::from_utf8_lossy(id);
        let event = gateway.until_event(&["\"event_type\":\"verdict\"", &id]);
        for words in ["\"quarantine\"", action, "kept in quarantine", "Test.Eicar", "Ann <ann@example.org>"] {
            assert!(event.contains(words), "{words}: {event}");
        }
    }
}

#[test]
fn what_cannot_be_kept_stays_on_the_server() {
    let dovecot = Dovecot::start();
    let gateway = Gateway::pop3(&dovecot.pop3.to_string(), "", INTO_QUARANTINE);
    gateway.directory().write("kept", "a file in its way");
    let (user, password) = (format!("USER {USER}"), format!("PASS {PASSWORD}"));
    dovecot.put("1", &long_and_in_clear());
    dovecot.put("2", &mail::infected("held"));
    let answers = session(gateway.address, &[&user, &password, "RETR 2", "STAT", "QUIT"]);
    assert!(answers.contains("-ERR [SYS/TEMP] the quarantine failed: "), "{answers}");
    assert_eq!(answers.matches("+OK").count(), 5, "the session goes on: {answers}");
    gateway.until_event(&["\"quarantine\"", "\"deferred\"", "the quarantine failed: "]);

    let fetched = fetch::mpop(gateway.address, Security::Clear);
    assert_ne!(fetched.status, 0, "{}", fetched.printed);
    gateway.until_event(&["<clear@example.org>", "\"deferred\"", "the quarantine failed: "]);
    assert_eq!(dovecot.count(), 2);
}

#[test]
fn the_top_of_a_mail_is_kept_only_if_it_is_all_of_it() {
    let dovecot = Dovecot::start();
    let gateway = Gateway::pop3(&dovecot.pop3.to_string(), "", INTO_QUARANTINE);
    let infected = mail::plain("virus", &String::from_utf8(mail::eicar()).expect("it is ASCII"));
    dovecot.put("1", &infected);
    let (user, password) = (format!("USER {USER}"), format!("PASS {PASSWORD}"));
    // The second is how fetchmail fetches a mail that is to stay unread.
    for (top, copies) in [("TOP 1 9", 0), ("TOP 1 99999999", 1)] {
        let answers = session(gateway.address, &[&user, &password, top, "QUIT"]);
        assert!(answers.contains("the virus Test.Eicar"), "{answers}");
        assert_eq!(delivered(&gateway.directory().join("kept")).len(), copies, "{top}");
    }
}

/// A whole session at once; returns all that came back.
fn session(server: SocketAddr, commands: &[&str]) -> String {
    let mut stream = TcpStream::connect(server).expect("the gateway listens");
    stream.set_read_timeout(Some(wait::PATIENCE)).expect("a time above zero");
    stream.write_all((commands.join("\r\n") + "\r\n").as_bytes()).expect("it reads");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("it closes after QUIT");
    answers
}

#[test]
fn every_command_passes_also_pipelined() {
    let dovecot = Dovecot::start();
    let gateway = before(&dovecot, "");
    let content = mail::plain("top", "one\r\ntwo\r\n.three\r\n");
    dovecot.put("1", &content);
    dovecot.put("2", &mail::infected("virus"));
    let user = format!("USER {USER}");
    let password = format!("PASS {PASSWORD}");
    let commands = [
        "CAPA", &user, &password, "STAT", "LIST", "LIST 1", "UIDL", "UIDL 1", "TOP 1 1", "RETR 1", "NOOP",
        "DELE 1", "RSET", "RETR 9", "QUIT",
    ];
    let through = session(gateway.address, &commands);
    let direct = session(dovecot.pop3, &commands);
    assert_eq!(without_greeting(&through), without_greeting(&direct));
    assert_eq!(dovecot.count(), 2);
}

/// The greeting bears a time stamp; capabilities are those that both sides know.
fn without_greeting(answers: &str) -> Vec<&str> {
    let login = answers.find("+OK Logged in").unwrap_or_else(|| panic!("no login in {answers}"));
    answers[login..].lines().collect()
}

#[test]
fn a_command_whose_reply_nobody_can_frame_is_not_relayed() {
    let dovecot = Dovecot::start();
    let gateway = before(&dovecot, "");
    let answers = session(gateway.address, &["XYZZY", "QUIT"]);
    let answers: Vec<&str> = answers.lines().skip(1).collect();
    assert!(answers[0].starts_with("-ERR "), "{answers:?}");
    assert!(answers[1].starts_with("+OK "), "{answers:?}");
}

#[test]
fn a_server_that_is_not_there_is_said_so() {
    let nobody = wait::free_address();
    let gateway = Gateway::pop3(&nobody.to_string(), "", "");
    let mut stream = TcpStream::connect(gateway.address).expect("the gateway listens");
    stream.set_read_timeout(Some(wait::PATIENCE)).expect("a time above zero");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it closes");
    assert!(answer.starts_with("-ERR "), "{answer:?}");
    drop(Client::connect(gateway.address));
}
