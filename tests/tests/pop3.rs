//! Mail fetched by its reader. Rule: what is clean arrives as it is, what is not is a notice that can be deleted.

use lockgate_tests::dovecot::{Dovecot, PASSWORD, USER};
use lockgate_tests::fetch::{self, Security};
use lockgate_tests::gateway::Gateway;
use lockgate_tests::smtp::Client;
use lockgate_tests::{mail, wait};
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
