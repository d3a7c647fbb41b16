//! A mail into the maildir, or back to its sender. Rule: byte for byte, or not at all.

use lockgate_tests::gateway::Gateway;
use lockgate_tests::smtp::Client;
use lockgate_tests::{mail, swaks};

const AS_IT_IS: &str = "trace_header = false";
const ANN: &str = "ann@example.org";
const BOB: &str = "bob@example.org";

#[test]
fn a_clean_mail_lands_byte_for_byte() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "");
    let content = mail::with_attachment("clean", "noise.bin", &mail::noise(1, 20_000));
    let sent = swaks::send(gateway.address, &content, &[]);
    assert_eq!(sent.status, 0, "{}", sent.dialogue);
    assert_eq!(gateway.delivered(), [content]);
}

#[test]
fn a_trace_header_stands_above_the_mail_and_nothing_else_changes() {
    let gateway = Gateway::with_maildir("", "");
    let content = mail::plain("trace", "hello");
    assert_eq!(Client::greeted(gateway.address).mail(ANN, &[BOB], &content).code, 250);
    let delivered = gateway.delivered();
    assert!(delivered[0].starts_with(b"Received: from client.example.org"));
    assert!(delivered[0].ends_with(&content));
}

#[test]
fn a_virus_in_a_zip_in_a_zip_is_refused_by_name_and_nothing_lands() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "");
    let sent = swaks::send(gateway.address, &mail::infected("virus"), &[]);
    assert_ne!(sent.status, 0);
    let refusal = sent.dialogue.lines().find(|line| line.contains(" 550 5.7.1 "));
    let refusal = refusal.unwrap_or_else(|| panic!("no 550 5.7.1 in\n{}", sent.dialogue));
    assert!(refusal.contains("Test.Eicar"), "{refusal}");
    assert!(gateway.delivered().is_empty());
    let event = gateway.until_event(&["\"verdict\"", "Test.Eicar"]);
    assert!(event.contains("outer.zip/inner.zip/eicar.com"), "the way to the finding: {event}");
    assert!(event.contains("\"reject\""), "{event}");
}

#[test]
fn odd_contents_land_as_they_are() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "");
    let long_line = format!("Subject: x\r\n\r\n{}\r\n", "a".repeat(990));
    let contents: [&[u8]; 7] = [
        b"Subject: x\r\n\r\n.\r\n..\r\n...\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"Subject: caf\xc3\xa9\r\n\r\n\xff\xfe\x80\r\n",
        b"Subject: x\r\n\r\n\r\n.leading dot\r\n\r\n",
        long_line.as_bytes(),
        &mail::with_attachment("large", "noise.bin", &mail::noise(2, 600_000)),
    ];
    let mut client = Client::greeted(gateway.address);
    for (index, content) in contents.iter().enumerate() {
        assert_eq!(client.mail(ANN, &[BOB], content).code, 250, "content {index}");
    }
    let delivered = gateway.delivered();
    assert_eq!(delivered.len(), contents.len());
    for content in contents {
        assert!(delivered.iter().any(|mail| mail == content), "{}", String::from_utf8_lossy(content));
    }
}

#[test]
fn what_has_no_header_is_tagged_above_and_stays_as_it_is() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "");
    for content in [&b".\r\n"[..], b"no header at all\r\n"] {
        assert_eq!(Client::greeted(gateway.address).mail(ANN, &[BOB], content).code, 250);
        let delivered = gateway.delivered().pop().expect("it was accepted");
        assert!(delivered.starts_with(b"X-Lockgate: tagged"), "{}", String::from_utf8_lossy(&delivered));
        assert!(delivered.ends_with(content));
    }
}

#[test]
fn chunks_land_as_they_are() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "");
    let mut client = Client::greeted(gateway.address);
    let content = mail::plain("chunks", ".\r\n..\r\nend");
    client.command(&format!("MAIL FROM:<{ANN}>"));
    client.command(&format!("RCPT TO:<{BOB}>"));
    for (index, chunk) in content.chunks(50).enumerate() {
        client.send(format!("BDAT {}\r\n", chunk.len()).as_bytes());
        client.send(chunk);
        assert_eq!(client.reply().code, 250, "chunk {index}");
    }
    assert_eq!(client.command("BDAT 0 LAST").code, 250);
    assert_eq!(gateway.delivered(), [content]);
}

#[test]
fn a_session_goes_on_after_a_refusal() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "");
    let mut client = Client::greeted(gateway.address);
    let content = mail::plain("after", "hello");
    let large = mail::with_attachment("virus", "a.zip", &mail::zip("b.bin", &infected_and_large()));
    for infected in [mail::infected("virus"), large] {
        let refusal = client.mail(ANN, &[BOB], &infected);
        assert_eq!(refusal.code, 550, "{refusal:?}");
        assert!(refusal.text.starts_with("5.7.1 "), "{refusal:?}");
        assert_eq!(client.command("RSET").code, 250);
        assert_eq!(client.mail(ANN, &[BOB], &content).code, 250);
    }
    assert_eq!(gateway.delivered(), [content.clone(), content]);
    assert_eq!(client.command("QUIT").code, 221);
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "");
    let mut client = Client::greeted(gateway.address);
    // DATA is the last of its group (RFC 2920 section 3.1); what stands behind it before its 354 would be read as
    // commands if it were refused.
    let group = format!("MAIL FROM:<{ANN}>\r\nRCPT TO:<{BOB}>\r\nNOOP\r\nDATA\r\n");
    client.send(group.as_bytes());
    let mut codes: Vec<u16> = (0..4).map(|_| client.reply().code).collect();
    client.send(format!("Subject: 1\r\n\r\none\r\n.\r\n{group}").as_bytes());
    codes.extend((0..5).map(|_| client.reply().code));
    client.send(b"Subject: 2\r\n\r\ntwo\r\n.\r\nQUIT\r\n");
    codes.extend(client.until_closed().iter().map(|reply| reply.code));
    assert_eq!(codes, [250, 250, 250, 354, 250, 250, 250, 250, 354, 250, 221]);
    assert_eq!(gateway.delivered().len(), 2);
}

#[test]
fn bans_reach_into_archives() {
    let bans = "[policy]\nbanned_names = [\"*.scr\"]\nbanned_types = [\"gzip\"]";
    let gateway = Gateway::with_maildir(AS_IT_IS, bans);
    let named = mail::zip("a.zip", &mail::zip("holiday.SCR", b"nothing bad"));
    let typed = mail::zip("a.txt", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0");
    let free = mail::zip("a.txt", b"nothing bad");
    let mut client = Client::greeted(gateway.address);
    for (archive, code) in [(named, 550), (typed, 550), (free, 250)] {
        let content = mail::with_attachment("ban", "outer.zip", &archive);
        let reply = client.mail(ANN, &[BOB], &content);
        assert_eq!(reply.code, code, "{reply:?}");
    }
    assert_eq!(gateway.delivered().len(), 1);
}

#[test]
fn bans_hold_for_every_name_that_some_reader_sees() {
    let gateway = Gateway::with_maildir(AS_IT_IS, "[policy]\nbanned_names = [\"*.scr\"]");
    let mut client = Client::greeted(gateway.address);
    for (name, code) in [
        ("filename=a.txt; filename=a.scr", 550),
        ("filename*1=scr; filename*0=a.; filename=a.txt", 550),
        ("filename*=utf-8''a%2Escr; filename=a.txt", 550),
        ("filename=a.s(.txt)cr", 550),
        ("filename=a.txt\r\nContent-Type: a/b; name=a.SCR", 550),
        ("filename=scr.txt", 250),
    ] {
        let content = format!("Subject: x\r\nContent-Disposition: attachment; {name}\r\n\r\nx\r\n");
        let reply = client.mail(ANN, &[BOB], content.as_bytes());
        assert_eq!(reply.code, code, "{name}: {reply:?}");
    }
    assert_eq!(gateway.delivered().len(), 1);
}

#[test]
fn a_mail_longer_than_is_offered_is_refused() {
    let gateway = Gateway::with_maildir("message_bytes_max = \"100 KiB\"\nhold_bytes = \"10 KiB\"", "");
    let mut client = Client::greeted(gateway.address);
    let declared = client.command(&format!("MAIL FROM:<{ANN}> SIZE=200000"));
    assert_eq!(declared.code, 552, "{declared:?}");
    let content = mail::with_attachment("long", "noise.bin", &mail::noise(3, 200_000));
    let reply = client.mail(ANN, &[BOB], &content);
    assert_eq!(reply.code, 552, "{reply:?}");
    assert!(gateway.delivered().is_empty());
}

#[test]
fn one_mail_has_one_policy_group() {
    let groups = "[[policy.group]]\nname = \"strict\"\nrecipients = [\"bob@example.org\"]\n\
                  findings = { virus = \"reject\" }\n";
    let gateway = Gateway::with_maildir(AS_IT_IS, groups);
    let mut client = Client::greeted(gateway.address);
    client.command(&format!("MAIL FROM:<{ANN}>"));
    assert_eq!(client.command(&format!("RCPT TO:<{BOB}>")).code, 250);
    let other = client.command("RCPT TO:<carol@example.org>");
    assert_eq!(other.code, 452, "{other:?}");
    assert!(other.text.starts_with("4.5.3 "), "{other:?}");
    client.command("RSET");
    assert_eq!(
        client.mail(ANN, &["carol@example.org", "dave@example.org"], &mail::plain("x", "y")).code,
        250
    );
}

/// The virus behind more noise than is held.
fn infected_and_large() -> Vec<u8> {
    [mail::noise(4, 700_000), mail::eicar(), mail::noise(5, 1000)].concat()
}
