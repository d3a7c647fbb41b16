//! The conversations as a capture, and who alerts on it: Suricata and `lockgate ids`. Rule: both read the same rules and variables.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::process::Command;

use serde_json::Value;

use super::spoken::{Speaker, Spoken};
use super::{Alerts, Conversation};
use lockgate_tests::capture::{Capture, Dialogue, End, Speaker as Side, datagram};
use lockgate_tests::gateway::lockgate as run_lockgate;
use lockgate_tests::process::{outcome, printed_by};
use lockgate_tests::temporary::Directory;

/// What stands for the variables of rules.
const VARIABLES: [(&str, &str); 24] = [
    ("HOME_NET", "[192.168.0.0/16]"),
    ("EXTERNAL_NET", "!$HOME_NET"),
    ("HTTP_SERVERS", "$HOME_NET"),
    ("SMTP_SERVERS", "$HOME_NET"),
    ("SQL_SERVERS", "$HOME_NET"),
    ("DNS_SERVERS", "$HOME_NET"),
    ("TELNET_SERVERS", "$HOME_NET"),
    ("AIM_SERVERS", "$EXTERNAL_NET"),
    ("DC_SERVERS", "$HOME_NET"),
    ("DNP3_SERVER", "$HOME_NET"),
    ("DNP3_CLIENT", "$HOME_NET"),
    ("MODBUS_CLIENT", "$HOME_NET"),
    ("MODBUS_SERVER", "$HOME_NET"),
    ("ENIP_CLIENT", "$HOME_NET"),
    ("ENIP_SERVER", "$HOME_NET"),
    ("HTTP_PORTS", "80"),
    ("SHELLCODE_PORTS", "!80"),
    ("ORACLE_PORTS", "1521"),
    ("SSH_PORTS", "22"),
    ("DNP3_PORTS", "20000"),
    ("MODBUS_PORTS", "502"),
    ("FILE_DATA_PORTS", "[80,110,143]"),
    ("FTP_PORTS", "21"),
    ("TEREDO_PORTS", "3544"),
];
const SEGMENT_BYTES: usize = 1460;

/// Writes `traffic.pcap`.
pub fn write(place: &Directory, conversations: &[Conversation]) {
    let mut capture = Capture::create(&place.join("traffic.pcap")).expect("it can be written");
    for (at, conversation) in conversations.iter().enumerate() {
        let ends = ends(at, conversation);
        let Spoken { turns, is_datagrams, .. } = &conversation.spoken;
        if *is_datagrams {
            for (speaker, bytes) in turns {
                let [client, server] = ends;
                let (from, to) =
                    if *speaker == Speaker::Client { (client, server) } else { (server, client) };
                capture.frame(&datagram(from, to, bytes)).expect("it can be written");
            }
            continue;
        }
        let mut dialogue = Dialogue::begin(ends[0], ends[1], SEGMENT_BYTES, [1000, 2000]);
        for (speaker, bytes) in turns {
            dialogue.say(if *speaker == Speaker::Client { Side::Client } else { Side::Server }, bytes);
        }
        capture.interleaved(vec![dialogue.end()]).expect("it can be written");
    }
    capture.finish().expect("it can be written");
}

/// Client and server; the number of the conversation is in the client's address.
fn ends(at: usize, conversation: &Conversation) -> [End; 2] {
    let [(client, client_port), (server, server_port)] = conversation.rule.ends();
    let low = |base: u8| {
        Ipv4Addr::new(
            if base == 0 { 192 } else { 198 },
            if base == 0 { 168 } else { 18 },
            (at / 250) as u8,
            (at % 250 + 1) as u8,
        )
    };
    let is_home = |address: &str| address.starts_with("$HOME") || address.ends_with("_SERVERS");
    let server = Ipv4Addr::from(if is_home(server) { [192, 168, 250, 9] } else { [198, 19, 250, 9] });
    let port = |text: &str, else_: u16| port(text).unwrap_or(else_);
    [
        End { address: low(u8::from(!is_home(client))), port: port(client_port, 40_000) },
        End { address: server, port: port(server_port, conversation.spoken.port) },
    ]
}

/// A port that the text allows, if it says so.
fn port(text: &str) -> Option<u16> {
    let known = VARIABLES.iter().find(|(name, _)| text.strip_prefix('$') == Some(name));
    let own = known.map_or(text, |(_, value)| value);
    let first = own.trim_start_matches('[').split([',', ':', ']']).next()?;
    first.trim().parse().ok()
}

/// What Suricata says of the capture.
pub fn suricata(place: &Directory, rules: &str) -> Result<Alerts, String> {
    let out = place.join(&format!("suricata-{rules}"));
    std::fs::create_dir_all(&out).expect("a directory can be made");
    let mut command = Command::new("suricata");
    command.args(["-c", "/etc/suricata/suricata.yaml", "-k", "none", "--runmode", "single"]);
    for (name, value) in VARIABLES {
        let group = if name.ends_with("_PORTS") { "port-groups" } else { "address-groups" };
        command.arg("--set").arg(format!("vars.{group}.{name}={value}"));
    }
    command.arg("-S").arg(place.join("rules").join(rules)).arg("-r").arg(place.join("traffic.pcap"));
    command.arg("-l").arg(&out);
    if Command::new("suricata").arg("-V").output().is_err() {
        return Err(String::from(
            "suricata is not installed: apt-get install -t bookworm-backports suricata",
        ));
    }
    let ended = outcome(&mut command);
    if !ended.status.success() {
        return Err(format!("suricata: {}", printed_by(&ended)));
    }
    Ok(alerts(&std::fs::read_to_string(out.join("eve.json")).unwrap_or_default()))
}

/// What `lockgate ids` says of it.
pub fn lockgate(place: &Directory, rules: &str) -> Alerts {
    let mut arguments: Vec<String> =
        ["ids", "--checksums", "ignore", "--pcap", "traffic.pcap", "--eve", "eve.json"]
            .map(String::from)
            .to_vec();
    arguments.extend([String::from("--rules"), format!("rules/{rules}")]);
    for (name, value) in VARIABLES {
        arguments.extend([String::from("--variable"), format!("{name}={value}")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = run_lockgate(&arguments, place.path());
    assert!(ended.status.success(), "{}", printed_by(&ended));
    alerts(&std::fs::read_to_string(place.join("eve.json")).unwrap_or_default())
}

/// The alerts among events, by the conversation that the client's address tells.
fn alerts(events: &str) -> Alerts {
    let mut alerts = Alerts::new();
    for event in events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if event["event_type"] != "alert" {
            continue;
        }
        let ends = ["src_ip", "dest_ip"].map(|name| event[name].as_str().and_then(number));
        let (Some(at), Some(sid)) = (ends[0].or(ends[1]), event["alert"]["signature_id"].as_u64()) else {
            continue;
        };
        alerts.entry(at).or_default().insert(sid as u32);
    }
    alerts
}

/// Of which conversation a client has this address.
fn number(address: &str) -> Option<usize> {
    let [first, second, third, fourth] = address.parse::<Ipv4Addr>().ok()?.octets();
    let is_client = [(192, 168), (198, 18)].contains(&(first, second)) && third < 250;
    is_client.then(|| usize::from(third) * 250 + usize::from(fourth) - 1)
}

/// Addresses of clients in the gateway's events.
pub fn by_client(events: &[String], first: u8) -> Alerts {
    let mut alerts: Alerts = Alerts::new();
    let mut seen: HashMap<usize, u64> = HashMap::new();
    for event in events.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Some(address) = event["src_ip"].as_str().and_then(|text| text.parse::<Ipv4Addr>().ok()) else {
            continue;
        };
        let [127, second, third, fourth] = address.octets() else { continue };
        if second != first || event["event_type"] != "alert" {
            continue;
        }
        let at = usize::from(third) * 250 + usize::from(fourth) - 1;
        *seen.entry(at).or_default() += 1;
        let Some(sid) = event["alert"]["signature_id"].as_u64() else { continue };
        alerts.entry(at).or_default().insert(sid as u32);
    }
    alerts
}
