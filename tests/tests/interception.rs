//! Clients that do not know of the gateway. Rule: the nft lines here are those of docs/interception.md.

use lockgate_tests::curl;
use lockgate_tests::dovecot::Dovecot;
use lockgate_tests::fetch;
use lockgate_tests::gateway::Gateway;
use lockgate_tests::namespace::{CLIENT, GATEWAY, Lab, SERVER, TO_CLIENT};
use lockgate_tests::nginx::Nginx;
use lockgate_tests::postfix::Postfix;
use lockgate_tests::temporary::Directory;
use lockgate_tests::{mail, swaks, wait};
use std::net::SocketAddr;

const GUIDE: &str = include_str!("../../docs/interception.md");

/// The nft table of the guide that holds this statement.
fn rules(statement: &str) -> String {
    let tables = GUIDE.split("```nft\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut tables = tables.filter(|table| table.contains(statement));
    let table = tables.next().unwrap_or_else(|| panic!("no table with {statement:?} in the guide"));
    assert!(table.contains("\"eth1\""));
    table.replace("eth1", TO_CLIENT)
}

fn server(port: u16) -> SocketAddr {
    format!("{SERVER}:{port}").parse().expect("an address")
}

/// A clean mail passes and an infected one does not, although the client asked for the server itself.
fn mails_pass_the_gateway(lab: &Lab, postfix: &Postfix) {
    let clean = mail::plain("clean", "hello");
    let sent = swaks::send_within(&lab.client, server(25), &clean);
    assert_eq!(sent.status, 0, "{}", sent.dialogue);
    let delivered = postfix.until_delivered(1);
    assert_eq!(mail::body(&delivered[0]), mail::with_line_feeds(mail::body(&clean)));
    let infected = swaks::send_within(&lab.client, server(25), &mail::infected("virus"));
    assert!(infected.dialogue.contains(" 550 5.7.1 "), "{}", infected.dialogue);
    assert!(infected.dialogue.contains("Test.Eicar"), "{}", infected.dialogue);
    assert_eq!(postfix.delivered().len(), 1);
}

/// A clean mail is fetched whole and an infected one as a notice, although the client asked the server itself.
fn fetched_mails_pass_the_gateway(lab: &Lab, dovecot: &Dovecot) {
    let clean = mail::with_attachment("clean", "noise.bin", &mail::noise(1, 20_000));
    for fetch in [fetch::mpop_within, fetch::fetchmail_within] {
        dovecot.put("1", &clean);
        dovecot.put("2", &mail::infected("virus"));
        let fetched = fetch(&lab.client, server(110));
        assert_eq!(fetched.status, 0, "{}", fetched.printed);
        let [first, second] = &fetched.mails[..] else { panic!("two mails: {}", fetched.printed) };
        assert_eq!(*first, mail::with_line_feeds(&clean));
        let notice = String::from_utf8_lossy(second);
        assert!(notice.contains("From: Lockgate") && notice.contains("Test.Eicar"), "{notice}");
        assert_eq!(dovecot.count(), 0, "what was fetched is deleted");
    }
}

fn load(lab: &Lab, statement: &str) {
    let directory = Directory::new("nft");
    lab.gateway.nft(&directory.write("rules", rules(statement)));
}

/// What the guide says of TPROXY.
fn load_tproxy(lab: &Lab) {
    load(lab, "tproxy to");
    for line in ["ip rule add fwmark 1 lookup 100", "ip route add local default dev lo table 100"] {
        assert!(GUIDE.contains(line), "{line}");
        lab.gateway.ip(line.trim_start_matches("ip "));
    }
}

#[test]
fn redirected_to_the_gateway() {
    let lab = Lab::new();
    let postfix = Postfix::start_within(&lab.server, &format!("smtpd_authorized_xclient_hosts = {GATEWAY}"));
    load(&lab, "redirect to");
    let _gateway = Gateway::smtp_within(&lab.gateway, "original", "intercept = \"redirect\"");
    mails_pass_the_gateway(&lab, &postfix);
    postfix.until_logged(&["connect from", GATEWAY]);
    // XCLIENT has carried the client's own address.
    postfix.until_logged(&["client=", CLIENT]);
}

#[test]
fn transparently_with_the_clients_own_address() {
    let lab = Lab::new();
    let postfix = Postfix::start_within(&lab.server, "");
    load_tproxy(&lab);
    let _gateway = Gateway::smtp_within(&lab.gateway, "original", "intercept = \"tproxy\"");
    mails_pass_the_gateway(&lab, &postfix);
    postfix.until_logged(&["connect from", CLIENT]);
    assert!(!postfix.log().contains(GATEWAY), "the server sees the client only: {}", postfix.log());
}

#[test]
fn fetching_is_redirected_to_the_gateway() {
    let lab = Lab::new();
    let dovecot = Dovecot::start_within(&lab.server);
    load(&lab, "redirect to");
    let gateway = Gateway::pop3_within(&lab.gateway, "original", "intercept = \"redirect\"");
    fetched_mails_pass_the_gateway(&lab, &dovecot);
    dovecot.until_logged(&["Login: ", &format!("rip={GATEWAY},")]);
    assert!(!dovecot.log().contains(CLIENT), "POP3 has no word for whom the gateway asks: {}", dovecot.log());
    // The events know both ends as the client does.
    let ends = [format!("\"src_ip\":\"{CLIENT}\""), format!("\"dest_ip\":\"{SERVER}\"")];
    gateway.until_event(&["\"verdict\"", "Test.Eicar", "\"replaced\"", &ends[0], &ends[1]]);
}

#[test]
fn fetching_is_transparent_with_the_clients_own_address() {
    let lab = Lab::new();
    let dovecot = Dovecot::start_within(&lab.server);
    load_tproxy(&lab);
    let _gateway = Gateway::pop3_within(&lab.gateway, "original", "intercept = \"tproxy\"");
    fetched_mails_pass_the_gateway(&lab, &dovecot);
    dovecot.until_logged(&["Login: ", &format!("rip={CLIENT},"), &format!("lip={SERVER},")]);
    assert!(!dovecot.log().contains(GATEWAY), "the server sees the client only: {}", dovecot.log());
}

/// A page comes, EICAR does not, and a Host that names another place leads to that, although the client asked the server
/// itself.
fn pages_pass_the_gateway(lab: &Lab, nginx: &Nginx) {
    let content = mail::noise(2, 1_000_000);
    let (clean, infected) = (nginx.put("clean", &content), nginx.put("infected", mail::eicar()));
    let fetched = curl::within(&lab.client, &[&clean]);
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    assert!(fetched.body == content);
    let blocked = curl::within(&lab.client, &[&infected]);
    assert_eq!((blocked.exit, blocked.status), (0, 403), "{}", blocked.printed);
    assert!(blocked.text().contains("Test.Eicar"), "{}", blocked.text());
    let elsewhere = curl::within(&lab.client, &["--header", "Host: no-such-host.invalid", &clean]);
    assert_eq!((elsewhere.exit, elsewhere.status), (0, 502), "{}", elsewhere.text());
    assert_eq!(nginx.log().len(), 2, "{:?}", nginx.log());
}

#[test]
fn pages_are_redirected_to_the_gateway() {
    let lab = Lab::new();
    let nginx = Nginx::start_within(&lab.server, server(80).ip());
    load(&lab, "redirect to");
    let gateway = Gateway::http_within(&lab.gateway, "intercept = \"redirect\"");
    pages_pass_the_gateway(&lab, &nginx);
    nginx.until_logged(&["/clean 200", GATEWAY]);
    let ends = [format!("\"src_ip\":\"{CLIENT}\""), format!("\"dest_ip\":\"{SERVER}\"")];
    gateway.until_event(&["\"verdict\"", "Test.Eicar", "\"replaced\"", &ends[0], &ends[1]]);
}

#[test]
fn pages_come_transparently_with_the_clients_own_address() {
    let lab = Lab::new();
    let nginx = Nginx::start_within(&lab.server, server(80).ip());
    load_tproxy(&lab);
    let _gateway = Gateway::http_within(&lab.gateway, "intercept = \"tproxy\"");
    pages_pass_the_gateway(&lab, &nginx);
    nginx.until_logged(&["/clean 200", CLIENT]);
    assert!(nginx.log().iter().all(|line| !line.contains(GATEWAY)), "{:?}", nginx.log());
}

/// What the gateway needs to intercept TLS, and another way to call the server.
fn looks_into_tls(lab: &Lab, nginx: &Nginx, intercept: &str) -> Gateway {
    lab.gateway.hosts(&format!("127.0.0.1 localhost\n{SERVER} site.example\n{OTHER} other.example\n"));
    let roots = [nginx.certificate()];
    Gateway::http_within(
        &lab.gateway,
        &format!(
            "intercept = \"{intercept}\"\nintercept_tls = true\n\
             [tls_interception]\ndirectory = \"DIRECTORY/authority\"\nserver_roots = {roots:?}\n"
        ),
    )
}

/// Another server beside the first.
const OTHER: &str = "10.71.2.3";

/// A page under TLS comes, EICAR and a listed site do not, and a name that leads elsewhere is a page that says so.
fn secure_pages_pass_the_gateway(lab: &Lab, nginx: &Nginx, gateway: &Gateway) {
    let content = mail::noise(5, 1_000_000);
    nginx.put("clean", &content);
    nginx.put("infected", mail::eicar());
    let authority = gateway.directory().join("authority/certificate.pem");
    let authority = authority.to_str().expect("text");
    let get = |name: &str, path: &str| {
        let to = format!("{name}:443:{SERVER}");
        curl::within(
            &lab.client,
            &["--cacert", authority, "--resolve", &to, &format!("https://{name}/{path}")],
        )
    };
    let fetched = get("site.example", "clean");
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    assert!(fetched.body == content);
    let blocked = get("site.example", "infected");
    assert_eq!((blocked.exit, blocked.status), (0, 403), "{}", blocked.printed);
    assert!(blocked.text().contains("Test.Eicar"), "{}", blocked.text());
    let listed = get("blocked.example", "");
    assert_eq!((listed.exit, listed.status), (0, 403), "{}", listed.printed);
    let elsewhere = get("no-such-host.invalid", "clean");
    assert_eq!((elsewhere.exit, elsewhere.status), (0, 502), "{}", elsewhere.text());
    assert_eq!(nginx.log().len(), 2, "{:?}", nginx.log());
    let ends = [format!("\"src_ip\":\"{CLIENT}\""), format!("\"dest_ip\":\"{SERVER}\"")];
    gateway.until_event(&["\"event_type\":\"tls\"", "\"intercepted\"", "site.example", &ends[0], &ends[1]]);
    gateway.until_event(&["\"verdict\"", "Test.Eicar", "site.example", &ends[0], &ends[1]]);
}

#[test]
fn pages_under_tls_are_redirected_to_the_gateway() {
    let lab = Lab::new();
    let nginx = Nginx::start_within(&lab.server, server(80).ip());
    load(&lab, "redirect to");
    load(&lab, "udp dport 443 reject");
    let gateway = looks_into_tls(&lab, &nginx, "redirect");
    secure_pages_pass_the_gateway(&lab, &nginx, &gateway);
    nginx.until_logged(&["/clean 200", GATEWAY]);
}

#[test]
fn pages_under_tls_come_transparently_with_the_clients_own_address() {
    let lab = Lab::new();
    let nginx = Nginx::start_within(&lab.server, server(80).ip());
    load_tproxy(&lab);
    let gateway = looks_into_tls(&lab, &nginx, "tproxy");
    secure_pages_pass_the_gateway(&lab, &nginx, &gateway);
    nginx.until_logged(&["/clean 200", CLIENT]);
    assert!(nginx.log().iter().all(|line| !line.contains(GATEWAY)), "{:?}", nginx.log());
}

#[test]
fn names_under_tls_are_judged_where_nobody_looks_into_it() {
    let lab = Lab::new();
    let nginx = Nginx::start_within(&lab.server, server(80).ip());
    load(&lab, "redirect to");
    lab.gateway.hosts(&format!("127.0.0.1 localhost\n{SERVER} site.example\n"));
    let gateway = Gateway::http_within(&lab.gateway, "intercept = \"redirect\"");
    nginx.put("page", "hello");
    let own = nginx.certificate().to_str().expect("text");
    let get = |name: &str| {
        let to = format!("{name}:443:{SERVER}");
        curl::within(&lab.client, &["--cacert", own, "--resolve", &to, &format!("https://{name}/page")])
    };
    let fetched = get("site.example");
    assert_eq!((fetched.exit, fetched.text().as_str()), (0, "hello"), "{}", fetched.printed);
    gateway.until_event(&["\"event_type\":\"tls\"", "\"unseen\"", "site.example"]);
    for name in ["blocked.example", "no-such-host.invalid"] {
        assert_eq!(get(name).exit, 35, "the handshake is broken off: {name}");
    }
    gateway.until_event(&["\"event_type\":\"verdict\"", "blocked.example", "\"refused\""]);
}

#[test]
fn a_name_that_leads_elsewhere_gains_nothing() {
    let lab = Lab::new();
    lab.server.ip(&format!("addr add {OTHER}/24 dev eth0"));
    let meant = Nginx::start_within(&lab.server, server(80).ip());
    let other = Nginx::start_within(&lab.server, OTHER.parse().expect("an address"));
    load(&lab, "redirect to");
    let directory = Directory::new("lists");
    let lists = directory.write("bannedsiteiplist", format!("{SERVER}\n"));
    lab.gateway.hosts(&format!("{SERVER} site.example\n{OTHER} other.example\n"));
    let webfilter = format!("[webfilter]\nlists = [{lists:?}]\n");
    let (page, elsewhere) = (meant.put("page", "meant"), other.put("page", "elsewhere"));
    wait::until("both serve", || (curl::within(&lab.gateway, &[&elsewhere]).exit == 0).then_some(()));
    for (lines, expected) in [("", "elsewhere"), (webfilter.as_str(), "banned")] {
        let gateway = Gateway::http_within(&lab.gateway, &format!("intercept = \"redirect\"\n{lines}"));
        let get = |host: &str| curl::within(&lab.client, &["--header", &format!("Host: {host}"), &page]);
        assert_eq!(get("site.example").text(), "meant", "the name leads to where the client meant to go");
        let fetched = get("other.example");
        match expected {
            "banned" => assert_eq!(fetched.status, 403, "{}", fetched.text()),
            text => assert_eq!(fetched.text(), text),
        }
        drop(gateway);
    }
    assert_eq!(meant.log().len(), 2, "{:?}", meant.log());
}

#[test]
fn without_the_gateway_the_server_is_reached_as_well() {
    let lab = Lab::new();
    let postfix = Postfix::start_within(&lab.server, "");
    let sent = swaks::send_within(&lab.client, server(25), &mail::plain("direct", "hello"));
    assert_eq!(sent.status, 0, "{}", sent.dialogue);
    postfix.until_logged(&["connect from", CLIENT]);
}
