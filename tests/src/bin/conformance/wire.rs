//! `lockgate ids` asked about a capture, and who alerts by what is told. Rule: with the variables that Suricata is asked with.

use std::fs;

use serde_json::Value;

use crate::suricata::VARIABLES;
use lockgate_tests::gateway::lockgate;
use lockgate_tests::process::printed_by;
use lockgate_tests::temporary::Directory;

/// Where events are written.
const EVENTS: &str = "own.json";

/// What `lockgate ids` tells of a capture by these rules, and what it complains of. Paths are as the place has them.
pub fn events(place: &Directory, rules: &str, capture: &str) -> (String, Option<String>) {
    let asked = ["ids", "--checksums", "ignore", "--only", "alerts", "--rules", rules, "--pcap", capture];
    let mut arguments: Vec<String> = asked.into_iter().chain(["--eve", EVENTS]).map(String::from).collect();
    for (name, value) in VARIABLES {
        arguments.extend([String::from("--variable"), format!("{name}={value}")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = lockgate(&arguments, place.path());
    let complaint = (!ended.status.success()).then(|| printed_by(&ended));
    (fs::read_to_string(place.join(EVENTS)).unwrap_or_default(), complaint)
}

/// The alerts among events of either engine, each with its rule.
pub fn alerts(events: &str) -> impl Iterator<Item = (Value, u64)> {
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let alerts = events.filter(|event| event["event_type"] == "alert");
    alerts.filter_map(|event| event["alert"]["signature_id"].as_u64().map(|rule| (event, rule)))
}
