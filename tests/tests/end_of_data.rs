//! Every false end of data, with a second mail hidden behind it. Rule: never two mails from one.

use lockgate_tests::gateway::Gateway;
use lockgate_tests::postfix::Postfix;
use lockgate_tests::sink::{Behaviour, Chunking, LineEnds, Sink};
use lockgate_tests::smtp::Client;
use std::net::SocketAddr;

const SETTINGS: &str = "relay_domains = [\"example.org\"]\ncommands_max = 1000000\nerrors_max = 1000000\n\
                        client_address = \"none\"\ntrace_header = false\nconnections_per_client_max = 10000";
const HIDDEN: &[u8] = b"MAIL FROM:<evil@example.org>\r\nRCPT TO:<bob@example.org>\r\nDATA\r\n\
                        Subject: hidden\r\n\r\nsmuggled\r\n.\r\n";

/// A dot between up to so many of CR, LF and NUL on each side.
fn variants(length_max: u32) -> Vec<Vec<u8>> {
    let mut sides: Vec<Vec<u8>> = vec![Vec::new()];
    for length in 1..=length_max {
        for number in 0..3_usize.pow(length) {
            let digit = |place| b"\r\n\0"[number / 3_usize.pow(place) % 3];
            sides.push((0..length).map(digit).collect());
        }
    }
    let pairs =
        sides.iter().flat_map(|before| sides.iter().map(move |after| [before, &b"."[..], after].concat()));
    // This one is the true end: what follows is a second mail by right.
    pairs.filter(|variant| !variant.windows(5).any(|window| window == b"\r\n.\r\n")).collect()
}

/// One mail with a variant in it, sent in two pieces; returns the codes of all replies.
fn send(gateway: SocketAddr, variant: &[u8], cut_at: Option<usize>) -> Vec<u16> {
    let mut client = Client::greeted(gateway);
    let reply = client.envelope("ann@example.org", &["bob@example.org"]);
    assert_eq!(reply.code, 354, "{reply:?}");
    let start = b"Subject: open\r\n\r\nabc";
    let content = [&start[..], variant, HIDDEN, b"\r\n.\r\nQUIT\r\n"].concat();
    let (first, second) = content.split_at(cut_at.map_or(0, |at| start.len() + at));
    client.send(first);
    if !first.is_empty() {
        // The pieces must not meet in one read: the gateway has read the first once it has no more of it to read.
        lockgate_tests::unread::until_read(client.stream());
    }
    client.send(second);
    client.until_closed().iter().map(|reply| reply.code).collect()
}

/// All variants at each cut; `taken` says who sent the mails that arrived since it was last asked.
fn none_becomes_two(
    gateway: SocketAddr,
    length_max: u32,
    is_cut: Cut,
    taken: &mut dyn FnMut(&[u16]) -> Vec<String>,
) {
    for variant in variants(length_max) {
        let cuts: Vec<Option<usize>> = match is_cut {
            Cut::Nowhere => vec![None],
            Cut::EachByte => (0..=variant.len()).map(Some).collect(),
        };
        for cut in cuts {
            let codes = send(gateway, &variant, cut);
            let senders = taken(&codes);
            let what = format!("{:?} cut at {cut:?}: {codes:?}", String::from_utf8_lossy(&variant));
            assert!(!senders.iter().any(|sender| sender.contains("evil")), "smuggled: {what}");
            assert!(senders.len() <= 1, "two from one: {what}");
            let accepted = codes.iter().filter(|code| **code == 250).count();
            assert_eq!(accepted, senders.len(), "what was accepted is there, and nothing else: {what}");
        }
    }
}

#[derive(Clone, Copy)]
enum Cut {
    Nowhere,
    EachByte,
}

fn towards_a_sink(chunking: Chunking, length_max: u32, cut: Cut) {
    let sink = Sink::start(Behaviour { line_ends: LineEnds::Lenient, chunking, ..Behaviour::default() });
    let gateway = Gateway::smtp(&sink.address.to_string(), SETTINGS, "");
    let mut seen = 0;
    none_becomes_two(gateway.address, length_max, cut, &mut |_| {
        let new: Vec<String> = sink.taken().split_off(seen).into_iter().map(|mail| mail.sender).collect();
        seen += new.len();
        new
    });
}

#[test]
fn towards_a_careless_sink_without_chunking_at_each_cut() {
    towards_a_sink(Chunking::Withheld, 2, Cut::EachByte);
}

#[test]
fn towards_a_careless_sink_without_chunking() {
    towards_a_sink(Chunking::Withheld, 3, Cut::Nowhere);
}

#[test]
fn towards_a_careless_sink_with_chunking() {
    towards_a_sink(Chunking::Offered, 2, Cut::EachByte);
}

#[test]
fn towards_postfix() {
    for keywords in ["smtpd_discard_ehlo_keywords = chunking", ""] {
        let postfix = Postfix::start(keywords);
        let gateway = Gateway::smtp(&postfix.address.to_string(), SETTINGS, "");
        let mut seen = 0;
        none_becomes_two(gateway.address, 2, Cut::EachByte, &mut |codes| {
            let accepted = codes.iter().filter(|code| **code == 250).count();
            let mails = postfix.until_delivered(seen + accepted);
            seen = mails.len();
            let path =
                |mail: &Vec<u8>| String::from_utf8_lossy(mail).lines().next().unwrap_or_default().to_owned();
            mails[mails.len() - accepted..].iter().map(path).collect()
        });
        // Whatever else it may have made of them would still be in its queue, or have been delivered.
        assert_eq!(postfix.queued(), 0);
        assert_eq!(postfix.delivered().len(), seen);
        assert!(!postfix.log().contains("evil@example.org"), "{}", postfix.log());
    }
}

#[test]
fn chunks_that_hold_an_end_of_data_stay_one_mail() {
    for chunking in [Chunking::Offered, Chunking::Withheld] {
        let sink = Sink::start(Behaviour { line_ends: LineEnds::Lenient, chunking, ..Behaviour::default() });
        let gateway = Gateway::smtp(&sink.address.to_string(), SETTINGS, "");
        for end in ["\r\n.\r\n", "\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n"] {
            let mut client = Client::greeted(gateway.address);
            client.command("MAIL FROM:<ann@example.org>");
            client.command("RCPT TO:<bob@example.org>");
            let content = [b"Subject: open\r\n\r\nabc", end.as_bytes(), HIDDEN].concat();
            client.send(format!("BDAT {} LAST\r\n", content.len()).as_bytes());
            client.send(&content);
            let reply = client.reply();
            let before = sink.taken().len();
            if chunking == Chunking::Withheld {
                assert_eq!(reply.code, 502, "not offered, and swallowed: {reply:?}");
            }
            if reply.code == 250 {
                assert_eq!(sink.taken().pop().map(|mail| mail.content), Some(content), "{end:?}");
            }
            assert_eq!(client.command("QUIT").code, 221, "nothing of it was read as commands");
            assert_eq!(sink.taken().len(), before);
            assert!(!sink.taken().iter().any(|mail| mail.sender.contains("evil")), "{end:?}: {reply:?}");
        }
    }
}
