//! Intrusion rules in the proxies. Rule: what a rule stops does not arrive, what it tells stands in the events.

use lockgate_tests::gateway::Gateway;
use lockgate_tests::nginx::Nginx;
use lockgate_tests::smtp::Client;
use lockgate_tests::{curl, mail};

const RULES: &str = r#"drop http any any -> any any (msg:"Tests: traversal"; flow:established,to_server; http.uri; content:"/cgi-bin/"; content:"passwd"; distance:0; sid:1; rev:3;)
alert http any any -> any any (msg:"Tests: probe"; flow:established,to_server; http.user_agent; content:"probe"; nocase; sid:2;)
drop http any any -> any any (msg:"Tests: download"; flow:established,to_client; http.stat_code; content:"200"; file.data; content:"first half"; content:"second half"; distance:4; within:20; sid:3;)
drop smtp any any -> any any (msg:"Tests: mail"; file.data; content:"first half"; pcre:"/^ and the second h[a-z]+$/R"; sid:4;)
alert smb any any -> any any (msg:"Tests: never asked"; content:"x"; sid:5;)
drop smtp any any -> any any (msg:"Tests: command"; flow:established,to_server; content:"|0d 0a|RCPT TO:"; content:"${run{"; distance:0; sid:6;)
drop http any any -> any any (msg:"Tests: bytes"; content:"X-Odd: a"; content:"|0d 0a 0d 0a|begin"; distance:0; sid:7;)
"#;
const SECTIONS: &str = "[ids]\nrules = [\"DIRECTORY/tests.rules\"]\n";
const ATTACK: &[u8] = b"first half and the second half";

#[test]
fn what_a_rule_stops_does_not_pass_and_what_it_tells_is_told() {
    let gateway = Gateway::http_prepared("", SECTIONS, |directory| {
        directory.write("tests.rules", RULES);
    });
    let nginx = Nginx::start();
    nginx.put("cgi-bin/x", "a program");
    let page = nginx.put("page", "a page");
    let attack = nginx.url("cgi-bin/x?/%65tc/p%61sswd");
    let stopped = curl::through(gateway.address, &["--path-as-is", &attack]);
    assert_eq!(stopped.status, 403, "{stopped:?}");
    assert!(stopped.text().contains("Tests: traversal"), "{}", stopped.text());
    let alert = gateway.until_event(&["\"event_type\":\"alert\"", "\"signature_id\":1,\"rev\":3", "blocked"]);
    assert!(alert.contains("Tests: traversal"), "{alert}");
    assert_eq!(curl::through(gateway.address, &["-A", "a PROBE", &page]).status, 200);
    gateway.until_event(&["\"event_type\":\"alert\"", "\"signature_id\":2", "allowed", "Tests: probe"]);
    gateway.until_event(&["\"event_type\":\"verdict\"", "\"http.user_agent\"", "\"offset\":2"]);
}

#[test]
fn archives_are_seen_through_as_they_are_by_the_scanner() {
    let gateway = Gateway::http_prepared("", SECTIONS, |directory| {
        directory.write("tests.rules", RULES);
    });
    let nginx = Nginx::start();
    let zip = nginx.put("a.zip", mail::zip("a.txt", ATTACK));
    let clean = nginx.put("b.zip", mail::zip("a.txt", b"first half, and no more"));
    assert_eq!(curl::through(gateway.address, &[&zip]).status, 403);
    gateway.until_event(&["\"event_type\":\"verdict\"", "Tests: download", "file.data", "a.txt"]);
    assert_eq!(curl::through(gateway.address, &[&clean]).status, 200);
}

#[test]
fn a_mail_is_refused_by_its_attachment() {
    let gateway = Gateway::with_maildir_prepared("", SECTIONS, |directory| {
        directory.write("tests.rules", RULES);
    });
    let send = |name: &str, content: &[u8]| {
        let content = mail::with_attachment(name, "a.txt", content);
        Client::greeted(gateway.address).mail("ann@example.org", &["bob@example.org"], &content)
    };
    let refused = send("bad", ATTACK);
    assert_eq!(refused.code, 550, "{refused:?}");
    assert_eq!(send("good", b"first half and a third one").code, 250);
    assert_eq!(gateway.delivered().len(), 1);
}

#[test]
fn bytes_are_asked_as_they_came() {
    let gateway = Gateway::http_prepared("", SECTIONS, |directory| {
        directory.write("tests.rules", RULES);
    });
    let nginx = Nginx::start();
    let page = nginx.put("page", "a page");
    let post =
        |header: &str| curl::through(gateway.address, &["-H", header, "--data", "begin", &page]).status;
    assert_eq!(post("X-Odd: a"), 403);
    assert_ne!(post("X-Odd: b"), 403);
    gateway.until_event(&["\"event_type\":\"verdict\"", "Tests: bytes", "pkt_data"]);
}

#[test]
fn a_command_goes_on_when_rules_have_been_asked() {
    let gateway = Gateway::with_maildir_prepared("", SECTIONS, |directory| {
        directory.write("tests.rules", RULES);
    });
    let mut client = Client::greeted(gateway.address);
    assert_eq!(client.command("MAIL FROM:<ann@example.org>").code, 250);
    let refused = client.command("RCPT TO:<${run{true}}@example.org>");
    assert_eq!(refused.code, 550, "{refused:?}");
    assert!(refused.text.contains("Tests: command"), "{refused:?}");
    assert!(client.until_closed().is_empty());
    gateway.until_event(&["\"event_type\":\"alert\"", "\"signature_id\":6", "blocked"]);
}
