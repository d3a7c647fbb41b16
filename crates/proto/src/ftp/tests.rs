//! Conversations, whole, cut and broken. Rule: the same answer at every cut.

use super::*;
use crate::Side;
use std::net::IpAddr;

/// What both sides say, one after the other.
type Script<'a> = [(Side, &'a [u8])];

const CLIENT: Side = Side::Client;
const SERVER: Side = Side::Server;

fn run(script: &Script<'_>, piece: usize) -> Vec<Said> {
    let (mut conversation, mut said) = (Conversation::new(), Vec::new());
    for (side, bytes) in script {
        for chunk in bytes.chunks(piece) {
            let taken = conversation.push(*side, chunk, &mut |one| said.push(one));
            assert_eq!(taken < chunk.len(), taken < chunk.len() && conversation.is_secured());
        }
        assert!(conversation.held_bytes() <= 2 * (LINE_BYTES_MAX + 1));
    }
    said
}

/// The same in pieces of any length.
fn heard(script: &Script<'_>) -> Vec<Said> {
    let whole = run(script, usize::MAX);
    let longest = script.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or_default();
    for piece in (1..=longest.min(80)).chain([longest.max(1)]) {
        assert_eq!(run(script, piece), whole, "in pieces of {piece}");
    }
    whole
}

fn expected(said: &[Said]) -> Vec<DataConnection> {
    let expected = said.iter().filter_map(|one| match one {
        Said::Expect(connection) => Some(connection.clone()),
        _ => None,
    });
    expected.collect()
}

fn odd(said: &[Said]) -> Vec<&'static str> {
    let odd = said.iter().filter_map(|one| match one {
        Said::Odd(_, oddity) => Some(oddity.name()),
        _ => None,
    });
    odd.collect()
}

fn replies(said: &[Said]) -> Vec<(Option<u64>, String, bool)> {
    let replies = said.iter().filter_map(|one| match one {
        Said::Reply { to, code, text, is_final } => {
            let text = [&code[..], b" ", text].concat();
            Some((*to, String::from_utf8_lossy(&text).into_owned(), *is_final))
        }
        _ => None,
    });
    replies.collect()
}

#[test]
fn commands_have_their_replies() {
    let said = heard(&[
        (SERVER, b"220-Hello\r\n 220 not yet\r\n220 there\r\n"),
        (CLIENT, b"USER me\r\npass a b \r\n\r\n  noop\r\n"),
        (SERVER, b"331 Password\r\n230-One\r\n230-Two\r\n230 Three\r\n"),
        (SERVER, b"200\r\n\r\nnonsense\r\n"),
    ]);
    let commands: Vec<(u64, &[u8], &[u8])> = said
        .iter()
        .filter_map(|one| match one {
            Said::Command { number, verb, argument } => Some((*number, verb.as_slice(), argument.as_slice())),
            _ => None,
        })
        .collect();
    assert_eq!(commands, [(0, &b"USER"[..], &b"me"[..]), (1, b"pass", b"a b "), (2, b"noop", b"")]);
    let want = [
        (None, "220 Hello", false),
        (None, "220  220 not yet", false),
        (None, "220 there", true),
        (Some(0), "331 Password", true),
        (Some(1), "230 One", false),
        (Some(1), "230 Two", false),
        (Some(1), "230 Three", true),
        (Some(2), "200 ", true),
        (None, "000 nonsense", false),
    ];
    assert_eq!(replies(&said), want.map(|(to, text, is_final)| (to, text.to_owned(), is_final)));
}

#[test]
fn passive_and_active_transfers_are_expected() {
    let said = heard(&[
        (CLIENT, b"PASV\r\n"),
        (SERVER, b"227 Entering Passive Mode (192,0,2,1,4,1).\r\n"),
        (CLIENT, b"RETR a file.txt\r\n"),
        (SERVER, b"150 Opening\r\n226 Done\r\n"),
        (CLIENT, b"EPSV\r\n"),
        (SERVER, b"229 Extended (|||6446|)\r\n"),
        (CLIENT, b"stor up\r\n"),
        (CLIENT, b"PORT 192,0,2,9,4,2\r\nRETR b\r\n"),
        (CLIENT, b"EPRT |2|2001:db8::1|1027|\r\nLIST\r\n"),
    ]);
    let got: Vec<_> = expected(&said)
        .into_iter()
        .map(|one| (one.opened_by, one.to.address, one.to.port, one.transfer, one.name, one.command))
        .collect();
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let want = [
        (CLIENT, address("192.0.2.1"), 1025, Transfer::Retrieve, b"a file.txt".to_vec(), 1),
        (CLIENT, None, 6446, Transfer::Store, b"up".to_vec(), 3),
        (SERVER, address("192.0.2.9"), 1026, Transfer::Retrieve, b"b".to_vec(), 5),
        (SERVER, address("2001:db8::1"), 1027, Transfer::List, b"".to_vec(), 7),
    ];
    assert_eq!(got, want);
    assert_eq!(odd(&said), [""; 0]);
    assert_eq!(want.map(|want| want.3.name()), ["RETR", "STOR", "RETR", "LIST"]);
}

#[test]
fn pipelined_and_refused() {
    let said = heard(&[(CLIENT, b"PASV\r\nRETR f\r\n"), (SERVER, b"227 =192,0,2,1,4,1\r\n")]);
    assert_eq!(odd(&said), ["ftp.file_before_port"]);
    assert_eq!(expected(&said)[0].name, b"f");
    let said = heard(&[
        (CLIENT, b"PORT 192,0,2,1,4,1\r\n"),
        (SERVER, b"500 no\r\n"),
        (CLIENT, b"RETR\r\n"),
        (SERVER, b"425 no\r\n"),
        (CLIENT, b"EPSV\r\nPASV\r\nPASV\r\n"),
        (SERVER, b"229 no\r\n227 no\r\n500 (192,0,2,1,4,1)\r\n"),
    ]);
    assert_eq!(odd(&said), ["ftp.file_without_name", "ftp.file_before_port"]);
    assert_eq!(expected(&said), []);
}

#[test]
fn tls_begins_behind_the_reply() {
    let mut conversation = Conversation::new();
    let mut said = Vec::new();
    assert_eq!(conversation.push(CLIENT, b"AUTH TLS\r\n", &mut |one| said.push(one)), 10);
    assert_eq!(conversation.push(SERVER, b"234 ok\r\n\x16\x03\x03", &mut |one| said.push(one)), 8);
    assert_eq!(said.last(), Some(&Said::Secured));
    assert!(conversation.is_secured());
    assert_eq!(conversation.push(CLIENT, b"\x16\x03\x01", &mut |_| panic!("no line")), 0);
    let said = heard(&[(CLIENT, b"AUTH TLS\r\n"), (SERVER, b"502 no\r\n"), (CLIENT, b"NOOP\r\n")]);
    assert!(!said.contains(&Said::Secured));
}

#[test]
fn lines_and_waiting_commands_are_bounded() {
    let exact = [&b"X".repeat(LINE_BYTES_MAX)[..], b"\r\n"].concat();
    assert_eq!(odd(&heard(&[(CLIENT, &exact)])), [""; 0]);
    let long = [&b"X".repeat(LINE_BYTES_MAX + 1)[..], b"\r\nNOOP\r\n"].concat();
    let said = heard(&[(CLIENT, &long), (SERVER, &[b"200 ", long.as_slice()].concat())]);
    assert_eq!(odd(&said), ["ftp.request_command_too_long", "ftp.response_command_too_long"]);
    let commands = said.iter().filter(|one| matches!(one, Said::Command { .. })).count();
    assert_eq!(commands, 2, "the line behind a long one is read");
    let many = b"NOOP\r\n".repeat(PENDING_MAX + 2);
    let said = run(&[(CLIENT, &many), (SERVER, b"200 first that is left\r\n")], 1000);
    assert_eq!(odd(&said), ["ftp.too_many_transactions"; 2]);
    assert_eq!(replies(&said)[0].0, Some(2));
}

#[test]
fn a_gap_loses_a_line() {
    let (mut conversation, mut said) = (Conversation::new(), Vec::new());
    conversation.push(CLIENT, b"USER m", &mut |one| said.push(one));
    conversation.gap(CLIENT);
    conversation.push(SERVER, b"230-a\r\n", &mut |one| said.push(one));
    conversation.gap(SERVER);
    conversation.push(SERVER, b"220 b\r\n", &mut |one| said.push(one));
    assert_eq!(replies(&said), [(None, "230 a".to_owned(), false), (None, "220 b".to_owned(), true)]);
    assert_eq!(conversation.held_bytes(), 0);
}

#[test]
fn endpoints_and_what_is_none() {
    let of = |address: Option<&str>, port| {
        Some(Endpoint { address: address.map(|text| text.parse().unwrap()), port })
    };
    assert_eq!(of_port(b" 192,0,2,1,0,21 "), of(Some("192.0.2.1"), 21));
    assert_eq!(of_eprt(b"|1|192.0.2.1|1025|"), of(Some("192.0.2.1"), 1025));
    assert_eq!(of_eprt(b"!2!::1!9!"), of(Some("::1"), 9));
    assert_eq!(of_pasv(b"x 1,2 y 192,0,2,1,4,1 z"), of(Some("192.0.2.1"), 1025));
    assert_eq!(of_epsv(b"x (|||9|)"), of(None, 9));
    for wrong in ["", "1,2,3,4,5", "1,2,3,4,5,6,7", "1,2,3,4,0,0", "1,2,3,256,5,6", "a,b,c,d,e,f"] {
        assert_eq!(of_port(wrong.as_bytes()), None, "{wrong}");
    }
    for wrong in
        ["", "|1|::1|9|", "|2|192.0.2.1|9|", "|1|192.0.2.1|0|", "|||", "|3|a|9|", "a1a2a3", "||192.0.2.1|9|"]
    {
        assert_eq!(of_eprt(wrong.as_bytes()), None, "{wrong}");
    }
    for wrong in ["(", "no", "(|||70000|)"] {
        assert_eq!(of_epsv(wrong.as_bytes()), None, "{wrong}");
    }
    for bytes in 0..=255_u8 {
        let line = [bytes; 30];
        let readers = [of_port, of_eprt, of_pasv, of_epsv];
        assert!(readers.iter().all(|read| read(&line).is_none()), "{bytes}");
    }
}
