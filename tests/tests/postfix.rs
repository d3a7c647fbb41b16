//! Postfix before and behind the gateway. Rule: it notices nothing but the virus.

use lockgate_tests::dovecot::{self, Dovecot};
use lockgate_tests::gateway::Gateway;
use lockgate_tests::postfix::{self, Postfix, Services};
use lockgate_tests::smtp::{Client, Reply};
use lockgate_tests::{mail, swaks, wait};
use std::net::{Ipv4Addr, SocketAddr};

const ANN: &str = "ann@example.org";
const BOB: &str = "bob@example.org";
const WITHOUT_CHUNKING: &str = "smtpd_discard_ehlo_keywords = chunking";
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 5);

fn before(postfix: &Postfix, lines: &str) -> Gateway {
    Gateway::smtp(&postfix.address.to_string(), lines, "")
}

/// Longer than is held, so that it streams.
fn long(subject: &str, last: &[u8]) -> Vec<u8> {
    let content = [mail::noise(7, 700_000), last.to_vec(), mail::noise(8, 1000)].concat();
    mail::with_attachment(subject, "long.bin", &content)
}

#[test]
fn mails_are_delivered_or_refused_with_and_without_chunking() {
    for main in ["", WITHOUT_CHUNKING] {
        let postfix = Postfix::start(main);
        let gateway = before(&postfix, "");
        let mut client = Client::greeted(gateway.address);
        let clean = [mail::plain("short", ".\r\n..\r\nhello"), long("long", b"nothing")];
        let infected = [mail::infected("virus"), long("virus", &mail::eicar())];
        for (index, (clean, infected)) in clean.iter().zip(&infected).enumerate() {
            let refusal = client.mail(ANN, &[BOB], infected);
            assert_eq!(refusal.code, 550, "{main:?}: {refusal:?}");
            assert!(refusal.text.contains("Test.Eicar"), "{refusal:?}");
            // The same session goes on, whatever it took to keep the mail from Postfix.
            let reply = client.mail(ANN, &[BOB], clean);
            assert_eq!(reply.code, 250, "{main:?}: {reply:?}");
            let delivered = postfix.until_delivered(index + 1);
            let body = mail::with_line_feeds(mail::body(clean));
            assert!(delivered.iter().any(|mail| mail::body(mail) == body), "{main:?}: mail {index}");
        }
        assert_eq!(client.command("QUIT").code, 221);
        assert_eq!(postfix.delivered().len(), 2);
        assert_eq!(postfix.queued(), 0);
    }
}

#[test]
fn the_reply_to_the_mail_is_that_of_postfix() {
    let postfix = Postfix::start("");
    let gateway = before(&postfix, "");
    let reply = Client::greeted(gateway.address).mail(ANN, &[BOB], &mail::plain("reply", "hello"));
    assert!(reply.text.starts_with("2.0.0 Ok: ") && reply.text.contains(" queued as "), "{reply:?}");
    let unknown = Client::greeted(gateway.address).mail("not an address", &[BOB], b"");
    let direct = Client::greeted(postfix.address).mail("not an address", &[BOB], b"");
    assert_eq!(unknown.code, direct.code);
}

#[test]
fn several_recipients_eight_bits_and_notifications_go_through() {
    let postfix = Postfix::start("");
    let gateway = before(&postfix, "");
    let mut client = Client::connect(gateway.address);
    client.reply();
    let hello = client.command("EHLO client.example.org");
    for keyword in ["PIPELINING", "SIZE", "8BITMIME", "DSN", "ENHANCEDSTATUSCODES", "CHUNKING"] {
        assert!(hello.offers(keyword), "{keyword}: {hello:?}");
    }
    assert!(!hello.offers("VRFY") && !hello.offers("ETRN"), "what the gateway does not know: {hello:?}");
    let content = [mail::plain("eight", "Gr\u{fc}\u{df}e").as_slice(), b"\xfc\xdf\r\n"].concat();
    assert_eq!(client.command(&format!("MAIL FROM:<{ANN}> BODY=8BITMIME RET=HDRS ENVID=x")).code, 250);
    for name in ["bob", "carol", "dave"] {
        assert_eq!(client.command(&format!("RCPT TO:<{name}@example.org> NOTIFY=NEVER")).code, 250);
    }
    assert_eq!(client.command("DATA").code, 354);
    client.send(&lockgate_tests::smtp::dot_stuffed(&content));
    assert_eq!(client.reply().code, 250);
    let delivered = postfix.until_delivered(3);
    for mail in delivered {
        assert_eq!(mail::body(&mail), mail::with_line_feeds(mail::body(&content)));
    }
}

#[test]
fn chunks_and_pipelining_go_through() {
    for main in ["", WITHOUT_CHUNKING] {
        let postfix = Postfix::start(main);
        let gateway = before(&postfix, "");
        let content = mail::plain("chunks", ".\r\n..\r\nend");
        let (first, second) = content.split_at(content.len() / 2);
        let mut client = Client::greeted(gateway.address);
        let mut session =
            format!("MAIL FROM:<{ANN}>\r\nRCPT TO:<{BOB}>\r\nBDAT {}\r\n", first.len()).into_bytes();
        session.extend_from_slice(first);
        session.extend_from_slice(format!("BDAT {} LAST\r\n", second.len()).as_bytes());
        session.extend_from_slice(second);
        session.extend_from_slice(b"QUIT\r\n");
        client.send(&session);
        let codes: Vec<u16> = client.until_closed().iter().map(|reply| reply.code).collect();
        if main == WITHOUT_CHUNKING {
            // What the next hop does not offer is not offered; the chunks are swallowed and not read as commands.
            assert_eq!(codes, [250, 250, 502, 502, 221], "{main:?}");
            continue;
        }
        assert_eq!(codes, [250, 250, 250, 250, 221], "{main:?}");
        let delivered = postfix.until_delivered(1);
        assert_eq!(mail::body(&delivered[0]), mail::with_line_feeds(mail::body(&content)), "{main:?}");
    }
}

#[test]
fn passwords_go_on_under_tls_on_both_sides() {
    let dovecot = Dovecot::start();
    let relaying = "mynetworks = 192.0.2.1\n".to_owned() + &postfix::with_tls_and_passwords(&dovecot);
    let postfix = Postfix::start(&relaying);
    let certificate = dovecot.certificate().display().to_string();
    let key = dovecot.certificate().with_file_name("key.pem").display().to_string();
    let gateway = Gateway::smtp(
        &format!("localhost:{}", postfix.address.port()),
        &format!(
            "tls = \"offered\"\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n\
             next_hop_tls = \"required\"\nnext_hop_ca_file = \"{certificate}\""
        ),
        "",
    );
    let login = |password: &str, mechanism: &str, content: &[u8]| {
        let options =
            ["--tls", "--auth", mechanism, "--auth-user", dovecot::USER, "--auth-password", password];
        swaks::send(gateway.address, content, &options)
    };
    for mechanism in ["PLAIN", "LOGIN"] {
        let sent = login(dovecot::PASSWORD, mechanism, &mail::plain("auth", "hello"));
        assert_eq!(sent.status, 0, "{}", sent.dialogue);
        assert!(sent.dialogue.contains("235 2.7.0"), "{}", sent.dialogue);
        let wrong = login("wrong", mechanism, &mail::plain("auth", "hello"));
        assert!(wrong.dialogue.contains(" 535 5.7.8 "), "{}", wrong.dialogue);
        let infected = login(dovecot::PASSWORD, mechanism, &mail::infected("virus"));
        assert!(infected.dialogue.contains(" 550 5.7.1 "), "{}", infected.dialogue);
    }
    assert_eq!(postfix.until_delivered(2).len(), 2);
    assert!(postfix.log().contains("sasl_username=bob"));
}

#[test]
fn passwords_received_under_tls_do_not_go_on_in_clear() {
    let dovecot = Dovecot::start();
    let postfix = Postfix::start(&postfix::with_tls_and_passwords(&dovecot));
    let certificate = dovecot.certificate().display().to_string();
    let key = dovecot.certificate().with_file_name("key.pem").display().to_string();
    let gateway =
        before(&postfix, &format!("tls = \"offered\"\ncertificate = \"{certificate}\"\nkey = \"{key}\""));
    let options = ["--tls", "--auth", "PLAIN", "--auth-user", dovecot::USER, "--auth-password", "secret"];
    let sent = swaks::send(gateway.address, &mail::plain("clear", "hello"), &options);
    assert_ne!(sent.status, 0, "{}", sent.dialogue);
    assert!(!postfix.log().contains("sasl"), "{}", postfix.log());
}

#[test]
fn what_is_pipelined_behind_starttls_is_discarded() {
    let dovecot = Dovecot::start();
    let postfix = Postfix::start("");
    let certificate = dovecot.certificate().display().to_string();
    let key = dovecot.certificate().with_file_name("key.pem").display().to_string();
    let gateway =
        before(&postfix, &format!("tls = \"offered\"\ncertificate = \"{certificate}\"\nkey = \"{key}\""));
    let mut client = Client::greeted(gateway.address);
    client.send(format!("STARTTLS\r\nMAIL FROM:<{ANN}>\r\nRCPT TO:<{BOB}>\r\n").as_bytes());
    let replies = client.replies_within(std::time::Duration::from_millis(500));
    assert_eq!(replies.len(), 1, "one reply, to STARTTLS: {replies:?}");
    assert!(!postfix.log().contains("client=localhost"), "{}", postfix.log());
}

/// What an address may do, asked directly or through the gateway.
fn relaying(server: SocketAddr, source: Ipv4Addr) -> Vec<Reply> {
    let mut client = Client::connect_from(source, server).greet();
    let mut replies = vec![client.command(&format!("MAIL FROM:<{ANN}>"))];
    replies.push(client.command("RCPT TO:<stranger@elsewhere.example>"));
    replies.push(client.command(&format!("RCPT TO:<{BOB}>")));
    replies
}

#[test]
fn an_outsider_is_refused_exactly_as_without_the_gateway() {
    let postfix = Postfix::start("mynetworks = 127.0.0.1/32");
    let gateway = before(&postfix, "client_address = \"xclient\"");
    for source in [OUTSIDE, Ipv4Addr::LOCALHOST] {
        assert_eq!(relaying(gateway.address, source), relaying(postfix.address, source), "from {source}");
    }
    let outside = relaying(gateway.address, OUTSIDE);
    assert_eq!(outside[1].code, 554, "{outside:?}");
    assert!(outside[1].text.contains("Relay access denied"), "{outside:?}");
    assert!(postfix.log().contains(&format!("[{OUTSIDE}]")), "the client's own address is in Postfix' log");
}

#[test]
fn an_outsider_is_refused_with_the_proxy_protocol() {
    for version in ["proxy_v1", "proxy_v2"] {
        let services = Services {
            main: String::from("mynetworks = 127.0.0.1/32"),
            server_options: String::from("-o smtpd_upstream_proxy_protocol=haproxy"),
            ..Services::default()
        };
        let postfix = Postfix::start_at(wait::free_address(), &services);
        let gateway = before(&postfix, &format!("client_address = \"{version}\""));
        let outside = relaying(gateway.address, OUTSIDE);
        assert_eq!(outside[1].code, 554, "{version}: {outside:?}");
        assert_eq!(outside[2].code, 250, "{version}: {outside:?}");
        let inside = relaying(gateway.address, Ipv4Addr::LOCALHOST);
        assert_eq!(inside[1].code, 250, "{version}: {inside:?}");
    }
}

#[test]
fn a_next_hop_that_never_learns_the_address_gets_mail_for_its_own_domains_only() {
    let postfix = Postfix::start("smtpd_authorized_xclient_hosts =\nsmtpd_authorized_xforward_hosts =");
    let gateway = before(&postfix, "relay_domains = [\"example.org\"]");
    for source in [OUTSIDE, Ipv4Addr::LOCALHOST] {
        let replies = relaying(gateway.address, source);
        assert_eq!(replies[0].code, 250, "{replies:?}");
        assert!((500..600).contains(&replies[1].code), "{replies:?}");
        assert_eq!(replies[2].code, 250, "{replies:?}");
    }
}

#[test]
fn postfix_as_a_client_sends_clean_mail_and_bounces_the_virus() {
    let inside = Postfix::start("");
    let gateway = before(&inside, "");
    let address = gateway.address;
    let outside = Postfix::start(&format!(
        "relayhost = [{}]:{}\nvirtual_mailbox_domains =\nrelay_transport = smtp\n",
        address.ip(),
        address.port()
    ));
    let clean = long("clean", b"nothing");
    outside.submit(&clean, ANN, &[BOB, "carol@example.org"]);
    outside.submit(&mail::infected("virus"), "", &[BOB]);
    let delivered = inside.until_delivered(2);
    for mail in &delivered {
        assert_eq!(mail::body(mail), mail::with_line_feeds(mail::body(&clean)));
    }
    outside.until_logged(&["status=sent", "to=<carol@example.org>"]);
    let bounced = outside.until_logged(&["status=bounced", "550 5.7.1"]);
    assert!(bounced.contains("Test.Eicar"), "{bounced}");
    assert_eq!(inside.delivered().len(), 2);
}

#[test]
fn the_gateway_is_a_before_queue_filter() {
    let front = wait::free_address();
    let back = wait::free_address();
    // Postfix must know the gateway's address before the gateway is there, and the other way round: so the gateway
    // is started first, towards the port that Postfix will listen on.
    let gateway = Gateway::smtp(
        &back.to_string(),
        "accept_xforward_from = [\"127.0.0.1/32\"]\nclient_address = \"xforward\"",
        "",
    );
    let services = Services {
        main: String::from("mynetworks = 127.0.0.1/32"),
        server_options: format!(
            "-o smtpd_proxy_filter={}\n-o smtpd_proxy_options=speed_adjust",
            gateway.address
        ),
        master: format!(
            "{back} inet n - n - - smtpd\n  -o smtpd_authorized_xforward_hosts=127.0.0.0/8\n  -o smtpd_client_restrictions=\n  \
             -o smtpd_proxy_filter=\n  -o smtpd_authorized_xclient_hosts=\n"
        ),
    };
    let postfix = Postfix::start_at(front, &services);
    wait::until_listening(back);
    let clean = mail::plain("filter", "hello");
    let mut client = Client::connect_from(OUTSIDE, front).greet();
    let reply = client.mail(ANN, &[BOB], &clean);
    assert_eq!(reply.code, 250, "{reply:?}");
    let refusal = client.mail(ANN, &[BOB], &mail::infected("virus"));
    assert_eq!(refusal.code, 550, "{refusal:?}");
    assert!(refusal.text.contains("Test.Eicar"), "{refusal:?}");
    let delivered = postfix.until_delivered(1);
    assert_eq!(mail::body(&delivered[0]), mail::with_line_feeds(mail::body(&clean)));
    assert_eq!(postfix.delivered().len(), 1);
    // XFORWARD has carried the client's own address to the far side.
    postfix.until_logged(&["client=", &format!("[{OUTSIDE}]")]);
}
