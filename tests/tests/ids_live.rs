//! Intrusion rules on packets as they pass. Rule: what attacks is made by raw sockets, what answers is a real server.

use lockgate_tests::gateway::binary;
use lockgate_tests::namespace::{Lab, SERVER, TO_CLIENT};
use lockgate_tests::nginx::Nginx;
use lockgate_tests::process::{Running, outcome, printed_by, run};
use lockgate_tests::temporary::Directory;
use lockgate_tests::wait;
use std::fs;

const RULES: &str = r#"ACTION ip any any -> any any (msg:"Tests: ping of death"; decode-event:ipv4.frag_pkt_too_large; sid:1;)
ACTION tcp any any -> any any (msg:"Tests: scan"; flags:S; threshold:type both, track by_src, count 20, seconds 600; sid:2;)
ACTION http any any -> any any (msg:"Tests: attack"; flow:established,to_server; http.uri; content:"/secret/attack"; sid:3;)
"#;
/// From here attacks come: an address that no kernel answers for.
const ATTACKER: &str = "10.71.1.9";
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/attacks.py");

/// A client, a server, and rules between them.
struct Live {
    lab: Lab,
    nginx: Nginx,
    ids: Running,
    directory: Directory,
}

impl Live {
    /// Rules with this action on what these arguments name, in the gateway's namespace.
    fn start(action: &str, arguments: &[&str]) -> Self {
        let lab = Lab::new();
        if arguments[0] == "--queue" {
            // Without the match this would say nothing of what the kernel lacks.
            let forward = ["-w", "-A", "FORWARD", "-j", "NFQUEUE", "--queue-num", arguments[1]];
            let added = outcome(lab.gateway.command("iptables-legacy").args(forward));
            assert!(
                added.status.success(),
                "this kernel has no NFQUEUE for iptables: {}",
                printed_by(&added)
            );
        }
        let nginx = Nginx::start_within(&lab.server, SERVER.parse().expect("it is an address"));
        nginx.put("page", "an ordinary page\n");
        nginx.put("secret/attack", "what nobody may have\n");
        let link = outcome(lab.client.command("cat").arg("/sys/class/net/eth0/address"));
        let link = printed_by(&link);
        let neighbour = format!("neigh add {ATTACKER} lladdr {} dev {TO_CLIENT}", link.trim());
        lab.gateway.ip(&neighbour);
        let directory = Directory::new("ids-live");
        directory.write("tests.rules", RULES.replace("ACTION", action));
        let mut command = lab.gateway.command(binary());
        command.args(["ids", "--rules", "tests.rules", "--eve", "eve.json"]).args(arguments);
        let ids = Running::start(command.current_dir(directory.path()), &directory.join("log"));
        ids.until_printed("listening");
        Self { lab, nginx, ids, directory }
    }

    /// Sends something, and gives what the server has answered.
    fn send(&self, what: &str) -> String {
        let mut command = self.lab.client.command("python3");
        let output = outcome(command.args([PROGRAM, what, ATTACKER, SERVER, "80"]));
        assert!(output.status.success(), "{}", printed_by(&output));
        printed_by(&output)
    }

    fn until_event(&self, words: &[&str]) {
        let file = self.directory.join("eve.json");
        wait::until_line(|| fs::read_to_string(&file).unwrap_or_default(), words);
    }

    /// Ends it by a signal, and gives its events.
    fn end(mut self) -> String {
        // What runs it is not in its place: `ip netns exec` becomes the program.
        self.ids.signal("TERM");
        assert!(self.ids.until_ended().success(), "{}", self.ids.printed());
        fs::read_to_string(self.directory.join("eve.json")).expect("events were written")
    }
}

fn count(events: &str, words: &[&str]) -> usize {
    events.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

#[test]
fn what_passes_an_interface_is_told_as_it_passes() {
    let live = Live::start("alert", &["--interface", TO_CLIENT]);
    run(live.lab.client.command("curl").args(["-sS", "-o", "/dev/null", &live.nginx.url("page")]));
    live.send("ping");
    live.until_event(&["\"signature_id\":1", "allowed", ATTACKER]);
    assert_eq!(live.send("scan").trim(), "30 ports answered");
    live.until_event(&["\"signature_id\":2", ATTACKER]);
    assert!(live.send("fragments").contains("nobody may have"));
    live.until_event(&["\"signature_id\":3", "\"src_port\":41009"]);
    assert!(live.send("overlap").contains("nobody may have"));
    live.until_event(&["\"signature_id\":3", "\"src_port\":41007"]);
    let events = live.end();
    assert_eq!(count(&events, &["\"event_type\":\"alert\"", "\"signature_id\":3"]), 2, "{events}");
    assert_eq!(
        count(&events, &["\"event_type\":\"http\"", "\"url\":\"/page\"", "\"status\":200"]),
        1,
        "{events}"
    );
    assert!(count(&events, &["\"event_type\":\"flow\"", "\"in_iface\":\"to-client\""]) > 3, "{events}");
    assert_eq!(count(&events, &["\"event_type\":\"stats\"", "\"kernel_drops\":0"]), 1, "{events}");
}

#[test]
fn what_rules_drop_does_not_pass_the_queue() {
    let live = Live::start("drop", &["--queue", "7"]);
    run(live.lab.client.command("curl").args(["-sS", "-o", "/dev/null", &live.nginx.url("page")]));
    live.nginx.until_logged(&["/page", "200"]);
    live.send("ping");
    live.until_event(&["\"signature_id\":1", "blocked", ATTACKER]);
    assert!(!live.send("fragments").contains("nobody may have"));
    live.until_event(&["\"signature_id\":3", "blocked", "\"src_port\":41009"]);
    assert!(!live.send("overlap").contains("nobody may have"));
    live.until_event(&["\"signature_id\":3", "blocked", "\"src_port\":41007"]);
    assert!(live.send("plain").contains("an ordinary page"));
    // Three of the twenty went to what is above; with the twentieth it is a scan.
    assert_eq!(live.send("scan").trim(), "16 ports answered");
    live.until_event(&["\"signature_id\":2", "blocked", ATTACKER]);
    assert_eq!(live.send("plain").trim(), "no connection");
    let log = live.nginx.log();
    assert!(!log.iter().any(|line| line.contains("secret")), "{log:?}");
    let events = live.end();
    assert_eq!(count(&events, &["\"event_type\":\"stats\"", "\"blocked\":0"]), 0, "{events}");
}
