//! The conversations as a capture, and who alerts on it: Suricata and `lockgate ids`. Rule: both read the same rules and variables.

use std::net::Ipv4Addr;

use super::spoken::{Speaker, Spoken};
use super::{Alerts, Conversation};
use crate::suricata::{self, VARIABLES};
use crate::wire;
use lockgate_tests::capture::{Capture, Dialogue, End, Speaker as Side, datagram};
use lockgate_tests::temporary::Directory;

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
    let events = suricata::events(&place.join("rules").join(rules), &place.join("traffic.pcap"), &out)?;
    Ok(alerts(&events))
}

/// What `lockgate ids` says of it.
pub fn lockgate(place: &Directory, rules: &str) -> Alerts {
    let (events, complaint) = wire::events(place, &format!("rules/{rules}"), "traffic.pcap");
    assert_eq!(complaint, None);
    alerts(&events)
}

/// The alerts among events, by the conversation that the client's address tells.
fn alerts(events: &str) -> Alerts {
    let mut alerts = Alerts::new();
    for (event, sid) in wire::alerts(events) {
        let ends = ["src_ip", "dest_ip"].map(|name| event[name].as_str().and_then(number));
        if let Some(at) = ends[0].or(ends[1]) {
            alerts.entry(at).or_default().insert(sid as u32);
        }
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
    for (event, sid) in events.iter().flat_map(|line| wire::alerts(line)) {
        let Some(address) = event["src_ip"].as_str().and_then(|text| text.parse::<Ipv4Addr>().ok()) else {
            continue;
        };
        let [127, second, third, fourth] = address.octets() else { continue };
        if second == first {
            let at = usize::from(third) * 250 + usize::from(fourth) - 1;
            alerts.entry(at).or_default().insert(sid as u32);
        }
    }
    alerts
}
