//! Clients that do not know of the gateway. Rule: the nft lines here are those of docs/interception.md.

use lockgate_tests::gateway::Gateway;
use lockgate_tests::namespace::{CLIENT, GATEWAY, Lab, SERVER, TO_CLIENT};
use lockgate_tests::postfix::Postfix;
use lockgate_tests::temporary::Directory;
use lockgate_tests::{mail, swaks};
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

fn server() -> SocketAddr {
    format!("{SERVER}:25").parse().expect("an address")
}

/// A clean mail passes and an infected one does not, although the client asked for the server itself.
fn mails_pass_the_gateway(lab: &Lab, postfix: &Postfix) {
    let clean = mail::plain("clean", "hello");
    let sent = swaks::send_within(&lab.client, server(), &clean);
    assert_eq!(sent.status, 0, "{}", sent.dialogue);
    let delivered = postfix.until_delivered(1);
    assert_eq!(mail::body(&delivered[0]), mail::with_line_feeds(mail::body(&clean)));
    let infected = swaks::send_within(&lab.client, server(), &mail::infected("virus"));
    assert!(infected.dialogue.contains(" 550 5.7.1 "), "{}", infected.dialogue);
    assert!(infected.dialogue.contains("Test.Eicar"), "{}", infected.dialogue);
    assert_eq!(postfix.delivered().len(), 1);
}

fn load(lab: &Lab, statement: &str) {
    let directory = Directory::new("nft");
    lab.gateway.nft(&directory.write("rules", rules(statement)));
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
    load(&lab, "tproxy to");
    lab.gateway.ip("rule add fwmark 1 lookup 100");
    lab.gateway.ip("route add local default dev lo table 100");
    let _gateway = Gateway::smtp_within(&lab.gateway, "original", "intercept = \"tproxy\"");
    mails_pass_the_gateway(&lab, &postfix);
    postfix.until_logged(&["connect from", CLIENT]);
    assert!(!postfix.log().contains(GATEWAY), "the server sees the client only: {}", postfix.log());
}

#[test]
fn without_the_gateway_the_server_is_reached_as_well() {
    let lab = Lab::new();
    let postfix = Postfix::start_within(&lab.server, "");
    let sent = swaks::send_within(&lab.client, server(), &mail::plain("direct", "hello"));
    assert_eq!(sent.status, 0, "{}", sent.dialogue);
    postfix.until_logged(&["connect from", CLIENT]);
}
