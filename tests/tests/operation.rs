//! What a person types, and what a process is told: commands, reload, drain. Rule: service never stops for it.

use lockgate_tests::Directory;
use lockgate_tests::gateway::{Gateway, lockgate};
use lockgate_tests::process::printed_by;
use lockgate_tests::smtp::{Client, dot_stuffed};
use lockgate_tests::{mail, wait};
use std::fs;
use std::net::TcpStream;

const ANN: &str = "ann@example.org";
const BOB: &str = "bob@example.org";

fn code(gateway: &Gateway, content: &[u8]) -> u16 {
    Client::greeted(gateway.address).mail(ANN, &[BOB], content).code
}

const CHECK: [&str; 3] = ["check", "--config", "lockgate.toml"];

/// A signature for these words.
fn signature(name: &str, words: &str) -> String {
    let hex: String = words.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{name}:0:*:{hex}\n")
}

#[test]
fn a_reload_changes_what_is_found_and_never_stops_service() {
    let mut gateway = Gateway::with_maildir("", "");
    let named = mail::plain("named", "the word is xylophone-quagmire here");
    assert_eq!(code(&gateway, &named), 250);
    let mut open = Client::greeted(gateway.address);
    gateway.directory().write("databases/more.ndb", signature("Test.Word", "xylophone-quagmire"));
    gateway.process().signal("HUP");
    wait::until("the new signature is not used", || (code(&gateway, &named) == 550).then_some(()));
    assert_eq!(open.mail(ANN, &[BOB], &mail::plain("open", "hello")).code, 250, "a session goes on");
}

#[test]
fn a_broken_configuration_or_database_keeps_the_old_generation() {
    let mut gateway = Gateway::with_maildir("", "");
    let file = gateway.directory().join("lockgate.toml");
    let good = fs::read_to_string(&file).expect("it was written");
    let broken = [
        (good.clone() + "\n[nonsense\n", "lockgate.toml"),
        (good.replace("/databases\"", "/nowhere\""), "nowhere"),
    ];
    for (text, words) in broken {
        fs::write(&file, text).expect("it can be written");
        gateway.process().signal("HUP");
        gateway.process().until_printed(words);
        assert_eq!(code(&gateway, &mail::infected("virus")), 550, "the old generation serves");
        assert_eq!(code(&gateway, &mail::plain("clean", "hello")), 250);
    }
    fs::write(&file, good).expect("it can be written");
    // Bytes that are no database at all, under the name of one.
    gateway.directory().write("databases/broken.ndb", mail::noise(1, 5000));
    gateway.directory().write("databases/broken.cvd", mail::noise(2, 5000));
    gateway.process().signal("HUP");
    gateway.process().until_printed("broken.");
    assert_eq!(code(&gateway, &mail::infected("virus")), 550);
    assert_eq!(code(&gateway, &mail::plain("clean", "hello")), 250);
}

#[test]
fn a_drain_ends_what_has_begun_and_begins_nothing() {
    let mut gateway = Gateway::with_maildir("trace_header = false", "");
    let content = mail::plain("drain", "hello");
    let mut client = Client::greeted(gateway.address);
    let mut idle = Client::greeted(gateway.address);
    assert_eq!(client.envelope(ANN, &[BOB]).code, 354);
    gateway.process().signal("TERM");
    let told = idle.until_closed();
    assert!(told.iter().all(|reply| reply.code == 421), "{told:?}");
    client.send(&dot_stuffed(&content));
    assert_eq!(client.reply().code, 250, "what has begun is ended");
    assert!(gateway.process().until_ended().success());
    assert!(TcpStream::connect(gateway.address).is_err());
    assert_eq!(gateway.delivered(), [content]);
}

#[test]
fn check_says_what_it_understood_and_what_not() {
    let directory = Directory::new("check");
    directory.write("databases/good.ndb", signature("Test.A", "aaaa-bbbb-cccc") + &mail::eicar_database());
    directory.write("databases/good.hdb", "44d88612fea8a8f36de82e1278abb02f:68:Test.Hash\n");
    directory.write("lockgate.toml", "[antivirus]\ndatabases = [\"databases\"]\n");
    let output = lockgate(&CHECK, directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", printed_by(&output));
    directory.write("databases/bad.ndb", signature("Test.B", "dddd-eeee-ffff") + "Test.Bad:0:*:zz\n");
    let output = lockgate(&[&CHECK[..], &["--json"]].concat(), directory.path());
    let printed = printed_by(&output);
    assert_ne!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("\"signatures_loaded\":4"), "{printed}");
    assert!(printed.contains("\"signatures_failed\":1"), "{printed}");
    let failure = printed.lines().find(|line| line.contains("bad.ndb")).expect("a line for the failure");
    assert!(failure.contains('2'), "file, line and reason: {failure}");
    directory.write("lockgate.toml", "[antivirus]\ndatabase = [\"databases\"]\n");
    let output = lockgate(&CHECK, directory.path());
    let printed = printed_by(&output);
    assert_ne!(output.status.code(), Some(0));
    assert!(printed.contains("databases"), "the nearest known key: {printed}");
}

#[test]
fn check_warns_of_a_next_hop_that_would_trust_every_client() {
    let directory = Directory::new("check");
    let text = "[[listen]]\nprotocol = \"smtp\"\naddress = \"127.0.0.1:2525\"\nnext_hop = \"127.0.0.1:25\"\n\
                client_address = \"none\"\n";
    directory.write("lockgate.toml", text);
    let printed = printed_by(&lockgate(&CHECK, directory.path()));
    assert!(printed.contains("relay_domains"), "{printed}");
}

#[test]
fn scan_exits_like_clamscan_and_names_the_way() {
    let directory = Directory::new("scan");
    directory.write("databases/test.ndb", mail::eicar_database());
    directory.write("clean.txt", "nothing here");
    directory.write("outer.zip", mail::zip("inner.zip", &mail::zip("eicar.com", &mail::eicar())));
    directory.write("infected.eml", mail::infected("virus"));
    let scan = |path: &str, arguments: &[&str]| {
        let arguments = [&["scan", "--database", "databases"], arguments, &[path]].concat();
        let output = lockgate(&arguments, directory.path());
        (output.status.code(), printed_by(&output))
    };
    let (status, printed) = scan("clean.txt", &[]);
    assert_eq!(status, Some(0), "{printed}");
    for (path, way) in
        [("outer.zip", "inner.zip/eicar.com"), ("infected.eml", "outer.zip/inner.zip/eicar.com")]
    {
        let (status, printed) = scan(path, &["--json"]);
        assert_eq!(status, Some(1), "{printed}");
        assert!(printed.contains("Test.Eicar") && printed.contains(way), "{printed}");
        assert!(printed.contains("\"verdict\":\"reject\""), "{printed}");
    }
    assert_eq!(scan("nowhere", &[]).0, Some(2));
    let (status, printed) = scan(".", &["--json"]);
    assert_eq!(status, Some(1));
    assert!(printed.lines().count() >= 4, "one line for each object: {printed}");
}

#[test]
fn explain_says_why() {
    let gateway = Gateway::with_maildir("", "");
    let reply = Client::greeted(gateway.address).mail(ANN, &[BOB], &mail::infected("virus"));
    assert_eq!(reply.code, 550);
    gateway.until_event(&["Test.Eicar"]);
    let id = reply.text.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| word.len() == 13);
    let id = id.unwrap_or_else(|| panic!("a transaction's id in {reply:?}"));
    let output = lockgate(&["explain", "--config", "lockgate.toml", id], gateway.directory().path());
    let printed = printed_by(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    for words in ["Test.Eicar", "outer.zip/inner.zip/eicar.com", "reject"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}
