//! Arbitrary bytes at arbitrary cuts, for everything that reads the wire. Rule: no panic, and the cut makes no difference.

use lockgate_proto::line_ends::LineEndScan;
use lockgate_proto::pop3;
use lockgate_proto::proxy_protocol;
use lockgate_proto::smtp::receiver::Limits;
use lockgate_proto::smtp::reply::Parsed;
use lockgate_proto::smtp::server::{EarlyBytes, Rules, State};
use lockgate_proto::smtp::{
    Action, Behind, Capabilities, Command, Frame, LineEnds, Receiver, Reply, ReplyParser, Session, Stuffing,
};
use proptest::prelude::*;

/// Bytes that mean something to these protocols, and some that do not.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&'static [u8]> = vec![
        b"\r\n",
        b"\r",
        b"\n",
        b".",
        b"\0",
        b"\r\n.\r\n",
        b"\n.\n",
        b" ",
        b"a",
        b"<",
        b">",
        b"@",
        b"\"",
        b"\\",
        b":",
        b"EHLO a\r\n",
        b"MAIL FROM:<a@b>\r\n",
        b"RCPT TO:<c@d>\r\n",
        b"DATA\r\n",
        b"BDAT 3\r\n",
        b"BDAT 9 LAST\r\n",
        b"RSET\r\n",
        b"AUTH PLAIN\r\n",
        b"STARTTLS\r\n",
        b"QUIT\r\n",
        b"250-x\r\n",
        b"250 y\r\n",
        b"354 go\r\n",
        b"+OK\r\n",
        b"-ERR\r\n",
        b"+ \r\n",
        b"RETR 1\r\n",
        b"PROXY TCP4 ",
        b"1.2.3.4 ",
        b"SIZE=",
        b"\xc3\xbc",
        b"\xff",
        b"%",
        b"!",
        b",",
        b"[",
        b"]",
        b"=",
        b"+2B",
        b"XCLIENT ADDR=",
        b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ];
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.concat())
}

/// Cuts the input at pseudo-random places.
fn pieces(input: &[u8], mut seed: u64) -> Vec<&[u8]> {
    let (mut rest, mut out) = (input, Vec::new());
    while !rest.is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (piece, next) = rest.split_at(rest.len().min(1 + (seed >> 33) as usize % 17));
        out.push(piece);
        rest = next;
    }
    out
}

/// A session driven with everything accepted; its actions, and the content of its mails.
fn drive(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let rules = Rules { errors_max: 1000, early_bytes: EarlyBytes::Take, ..Rules::default() };
    let mut receiver = Receiver::new(Limits::default());
    let mut session = Session::new(rules);
    let (mut told, mut content, mut swallowing) = (Vec::new(), Vec::new(), false);
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let step = receiver.step(rest);
            rest = &rest[step.consumed..];
            let action = match step.frame {
                Frame::NeedInput => break,
                Frame::Line(line) => session.line(&line, Behind::Nothing),
                Frame::BadLine(why) => session.bad_line(why),
                Frame::Content(bytes) => {
                    if !swallowing {
                        content.extend_from_slice(bytes);
                    }
                    continue;
                }
                Frame::Refused(why) => {
                    told.push(format!("{why:?}"));
                    continue;
                }
                Frame::EndOfContent => {
                    if !std::mem::take(&mut swallowing) {
                        session.accepted();
                    }
                    told.push("end".to_owned());
                    continue;
                }
            };
            told.push(format!("{action:?}"));
            match action {
                Action::Close(_) => return (told, content),
                Action::Hello { .. } => session.greeted(Capabilities::ours()),
                Action::StartTls => session.tls_started(),
                Action::Data => {
                    assert!(session.recipients() > 0);
                    session.accepted();
                    receiver.expect_data(LineEnds::Refuse);
                }
                Action::Chunk { bytes, .. } => receiver.expect_chunk(bytes),
                Action::SwallowChunk { bytes, .. } => {
                    swallowing = true;
                    receiver.expect_chunk(bytes);
                }
                Action::Mail { .. } | Action::Rcpt { .. } | Action::Auth { .. } | Action::Xclient(_) => {
                    session.accepted()
                }
                Action::Reply(_) | Action::Reset | Action::Xforward(_) => {}
            }
        }
        assert!(rest.is_empty());
    }
    (told, content)
}

/// What a next hop's replies come to.
fn replies(pieces: &[&[u8]]) -> Vec<Parsed> {
    let mut parser = ReplyParser::new();
    let mut found = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let (used, parsed) = parser.step(rest);
            rest = &rest[used..];
            match parsed {
                Parsed::NeedInput => break,
                Parsed::Malformed(_) => {
                    found.push(parsed);
                    return found;
                }
                Parsed::Reply(_) => found.push(parsed),
            }
        }
    }
    found
}

/// What a POP3 server's bytes come to, each `+OK` with content behind it.
fn pop3_replies(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut receiver = pop3::Receiver::new();
    let mut found: Vec<Vec<u8>> = vec![Vec::new()];
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let step = receiver.step(rest);
            rest = &rest[step.consumed..];
            match step.frame {
                pop3::Frame::NeedInput => break,
                pop3::Frame::Status(line) => {
                    if line.status == pop3::Status::Ok {
                        receiver.expect_content();
                    }
                    found.push(line.line);
                }
                pop3::Frame::Content(bytes) => found.last_mut().expect("begun").extend_from_slice(bytes),
                pop3::Frame::EndOfContent => found.push(b"end".to_vec()),
                pop3::Frame::Malformed(why) => {
                    found.push(format!("{why:?}").into_bytes());
                    return found;
                }
            }
        }
    }
    found
}

/// Whether a reader that drops NULs and takes any of these for a line end sees a line with only a dot.
fn sees_end(sent: &[u8], line_ends: &[u8]) -> bool {
    let text: Vec<u8> = sent.iter().copied().filter(|b| *b != 0).collect();
    text.split(|b| line_ends.contains(b))
        .any(|line| line == b"." || (line == b".\r" && !line_ends.contains(&b'\r')))
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&b"\r\n\0.a"[..]), 0..90)
}

proptest! {
    #[test]
    fn smtp_sessions(input in wire(), seed in any::<u64>()) {
        let whole = drive(&[&input]);
        prop_assert_eq!(&drive(&pieces(&input, seed)), &whole);
        prop_assert_eq!(&drive(&input.chunks(1).collect::<Vec<_>>()), &whole);
    }

    #[test]
    fn smtp_replies(input in wire(), seed in any::<u64>()) {
        prop_assert_eq!(replies(&pieces(&input, seed)), replies(&[&input]));
    }

    #[test]
    fn pop3_servers(input in wire(), seed in any::<u64>()) {
        prop_assert_eq!(pop3_replies(&pieces(&input, seed)), pop3_replies(&[&input]));
    }

    #[test]
    fn commands(line in prop::collection::vec(any::<u8>(), 0..80), mail in wire()) {
        for line in [line, [b"MAIL FROM:".as_slice(), &mail].concat(), [b"RCPT TO:".as_slice(), &mail].concat()] {
            if let Ok(command) = Command::parse(&line) {
                // What was taken can be written on one line again, and reads the same.
                if let Command::Rcpt { path, parameters } = &command {
                    let all = Capabilities::ours();
                    let again = lockgate_proto::smtp::sender::rcpt_line(path, parameters, &all).expect("announced");
                    prop_assert_eq!(Command::parse(again.strip_suffix(b"\r\n").expect("a line")), Ok(command.clone()));
                }
            }
            let _ = pop3::Command::parse(&line);
            let _ = proxy_protocol::parse(&line);
        }
    }

    #[test]
    fn proxy_headers(tail in prop::collection::vec(any::<u8>(), 0..80)) {
        let v2 = [b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0".as_slice(), &tail].concat();
        for input in [v2, [b"PROXY TCP4 ".as_slice(), &tail].concat()] {
            if let proxy_protocol::Parsed::Header { consumed, .. } = proxy_protocol::parse(&input) {
                prop_assert!(consumed <= input.len());
                prop_assert_eq!(proxy_protocol::parse(&input[..consumed - 1]), proxy_protocol::Parsed::NeedInput);
            }
        }
    }

    #[test]
    fn what_leaves_as_data_has_one_end(content in text(), seed in any::<u64>()) {
        let mut stuffing = Stuffing::new();
        let mut sent = Vec::new();
        for piece in pieces(&content, seed) {
            stuffing.pieces(piece).for_each(|p| sent.extend_from_slice(p));
        }
        prop_assert!(!sees_end(&sent, b"\r\n"), "{}", sent.escape_ascii());
        let mut scan = LineEndScan::new();
        scan.push(&content);
        prop_assert_eq!(scan.finish(), stuffing.end().err());
    }

    #[test]
    fn what_leaves_as_a_pop3_reply_has_one_end(content in text(), seed in any::<u64>()) {
        let mut stuffing = pop3::Stuffing::new();
        let mut sent = Vec::new();
        for piece in pieces(&content, seed) {
            stuffing.pieces(piece).for_each(|p| sent.extend_from_slice(p));
        }
        prop_assert!(!sees_end(&sent, b"\n"), "{}", sent.escape_ascii());
        sent.extend_from_slice(stuffing.end());
        prop_assert!(sent.ends_with(b"\r\n.\r\n") || sent == b".\r\n");
    }

    #[test]
    fn outcomes_in_any_order(lines in prop::collection::vec(0usize..12, 0..40)) {
        let mut session = Session::new(Rules { errors_max: 1000, ..Rules::default() });
        for choice in lines {
            let line = ["EHLO a", "MAIL FROM:<a@b>", "RCPT TO:<a@b>", "DATA", "BDAT 1", "BDAT 1 LAST", "RSET", "NOOP"];
            match line.get(choice) {
                Some(line) => match session.line(line.as_bytes(), Behind::Nothing) {
                    Action::Data | Action::Chunk { .. } => prop_assert!(session.recipients() > 0),
                    Action::Hello { .. } => session.greeted(Capabilities::ours()),
                    _ => {}
                },
                None if choice % 2 == 0 => session.accepted(),
                None => session.rejected(),
            }
            let begun = matches!(session.state(), State::ExpectHelo | State::ExpectMail);
            prop_assert!(!begun || session.recipients() == 0);
        }
    }
}

#[test]
fn a_reply_survives_its_way() {
    let reply = Reply::new(550, "5.7.1", "found something\nin a.zip");
    assert_eq!(replies(&[&reply.to_bytes()]), [Parsed::Reply(reply)]);
}
