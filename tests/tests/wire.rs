//! Intrusion rules on the wire: what tcpdump captured of curl and nginx. Rule: real programs speak, and the rules see what they said.

use lockgate_tests::gateway::lockgate;
use lockgate_tests::mail;
use lockgate_tests::nginx::Nginx;
use lockgate_tests::process::{Running, printed_by, run};
use lockgate_tests::temporary::Directory;
use std::process::Command;

const RULES: &str = r#"alert http any any -> any any (msg:"Tests: probe"; flow:established,to_server; http.user_agent; content:"probe"; nocase; sid:1; rev:2;)
alert http any any -> any any (msg:"Tests: download"; flow:established,to_client; http.stat_code; content:"200"; file.data; content:"first half"; content:"second half"; distance:4; within:20; sid:2;)
drop http any any -> any any (msg:"Tests: absent"; http.uri; content:"/absent"; sid:3;)
"#;
const ATTACK: &[u8] = b"first half and the second half";

#[test]
fn a_capture_of_real_programs_is_asked_about() {
    let directory = Directory::new("wire");
    directory.write("tests.rules", RULES);
    let nginx = Nginx::start();
    let page = nginx.put("page", "x".repeat(200_000));
    let zip = nginx.put("a.zip", mail::zip("a.txt", ATTACK));
    let port = page.split(['/', ':']).nth(4).expect("a URL has a port").to_owned();
    let file = directory.join("capture.pcap").display().to_string();
    let mut tcpdump = Running::start(
        Command::new("tcpdump").args([
            "-i",
            "lo",
            "--immediate-mode",
            "-U",
            "-Z",
            "root",
            "-w",
            &file,
            "tcp",
            "port",
            &port,
        ]),
        &directory.join("tcpdump.log"),
    );
    tcpdump.until_printed("listening on");
    run(Command::new("curl").args([
        "-sS",
        "-A",
        "a PROBE",
        "-o",
        "/dev/null",
        &page,
        "-o",
        "/dev/null",
        &zip,
    ]));
    run(Command::new("curl").args(["-sS", "-o", "/dev/null", &nginx.url("absent")]));
    tcpdump.signal("INT");
    tcpdump.until_ended();
    let output = lockgate(
        &["ids", "--rules", "tests.rules", "--pcap", &file, "--eve", "eve.json", "--checksums", "ignore"],
        directory.path(),
    );
    assert!(output.status.success(), "{}", printed_by(&output));
    let events = std::fs::read_to_string(directory.join("eve.json")).expect("events were written");
    let of =
        |words: &[&str]| events.lines().filter(|line| words.iter().all(|word| line.contains(word))).count();
    assert_eq!(of(&["\"event_type\":\"alert\"", "\"signature_id\":1,\"rev\":2", "to_server"]), 2, "{events}");
    assert_eq!(of(&["\"event_type\":\"alert\"", "\"signature_id\":2", "to_client", "a.txt"]), 1, "{events}");
    assert_eq!(of(&["\"event_type\":\"alert\"", "\"signature_id\":3", "allowed"]), 1, "{events}");
    assert_eq!(of(&["\"event_type\":\"http\"", "\"status\":200", "\"length\":200000"]), 1, "{events}");
    assert_eq!(of(&["\"event_type\":\"http\"", "\"status\":404"]), 1, "{events}");
    assert_eq!(of(&["\"event_type\":\"flow\"", "community_id", "\"app_proto\":\"http\""]), 2, "{events}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let directory = Directory::new("wire");
    directory.write("tests.rules", RULES);
    directory.write("none.pcap", "no capture at all, whatever its name says");
    let ids = |pcap: &str| {
        lockgate(&["ids", "--rules", "tests.rules", "--pcap", pcap, "--eve", "eve.json"], directory.path())
    };
    for (pcap, words) in
        [("none.pcap", "none.pcap: neither pcap nor pcapng"), ("missing", "missing: cannot be read")]
    {
        let output = ids(pcap);
        assert_eq!(output.status.code(), Some(2));
        assert!(printed_by(&output).contains(words), "{}", printed_by(&output));
    }
}
