//! The peers by themselves, without a gateway. Rule: what fails here is no fault of Lockgate's.

use lockgate_tests::dovecot::{self, Dovecot};
use lockgate_tests::fetch::{self, Security};
use lockgate_tests::postfix::{self, Postfix};
use lockgate_tests::sink::{Behaviour, Sink};
use lockgate_tests::smtp::Client;
use lockgate_tests::{mail, swaks};

#[test]
fn postfix_delivers_what_swaks_sends() {
    let postfix = Postfix::start("");
    let sent = swaks::send(postfix.address, &mail::plain("baseline", "hello"), &[]);
    assert_eq!(sent.status, 0, "{}", sent.dialogue);
    let delivered = postfix.until_delivered(1);
    assert_eq!(mail::body(&delivered[0]), b"hello\n");
}

#[test]
fn the_sink_takes_mails_as_they_are() {
    let sink = Sink::start(Behaviour::default());
    let content = mail::plain("sink", ".a dot\r\n..two");
    let reply = Client::greeted(sink.address).mail("ann@example.org", &["bob@example.org"], &content);
    assert_eq!(reply.code, 250);
    let taken = sink.until_taken(1);
    assert_eq!(taken[0].content, content);
    assert_eq!(taken[0].recipients, ["bob@example.org"]);
}

#[test]
fn dovecot_gives_what_is_in_its_mailbox() {
    let dovecot = Dovecot::start();
    let certificate = dovecot.certificate().to_owned();
    for security in [Security::Clear, Security::Stls(&certificate)] {
        for fetch in [fetch::mpop, fetch::fetchmail] {
            let content = mail::plain("pop3", "hello\r\n.a dot");
            dovecot.put("1", &content);
            dovecot.put("2", &mail::infected("virus"));
            let fetched = fetch(dovecot.pop3, security);
            assert_eq!(fetched.status, 0, "{security:?}: {}", fetched.printed);
            assert_eq!(fetched.mails.len(), 2, "{}", fetched.printed);
            assert_eq!(fetched.mails[0], mail::with_line_feeds(&content));
            assert_eq!(dovecot.count(), 0, "what was fetched is deleted");
        }
    }
}

#[test]
fn postfix_takes_passwords_and_tls() {
    let dovecot = Dovecot::start();
    let postfix = Postfix::start(&postfix::with_tls_and_passwords(&dovecot));
    let password = format!("--auth-user={} --auth-password={}", dovecot::USER, dovecot::PASSWORD);
    let options: Vec<&str> = password.split(' ').chain(["--tls", "--auth=PLAIN"]).collect();
    let sent = swaks::send(postfix.address, &mail::plain("auth", "hello"), &options);
    assert_eq!(sent.status, 0, "{}", sent.dialogue);
    assert!(sent.dialogue.contains("235 2.7.0"), "{}", sent.dialogue);
    postfix.until_delivered(1);
}
