//! Whole conversations as frames, and what is told of them. Rule: however a stream is cut, the same is told.

use crate::Reporting;
use crate::file::Frame;
use crate::sniffer::{Enforcement, Engines, Sniffer, Summary, Unbegun};
use lockgate_ids::Sources;
use lockgate_inspect::{Generation, Policy, Pools};
use lockgate_model::{Limits, Pool};
use lockgate_packet::{Checksums, LinkType, Midstream, Settings, Time};
use serde_json::Value;
use std::sync::Arc;

mod frames;
mod http;
mod others;
mod told;

use frames::Talk;

/// What one side says, and which: the client is 0.
type Saying<'a> = (usize, &'a [u8]);

/// What is told of frames.
fn heard(rules: &str, settings: Settings, frames: &[Vec<u8>]) -> Vec<Value> {
    heard_by(rules, settings, Reporting::default(), frames)
}

fn heard_by(rules: &str, settings: Settings, reporting: Reporting, frames: &[Vec<u8>]) -> Vec<Value> {
    let mut sources = Sources::new();
    sources.add("tests.rules", rules.as_bytes());
    let (database, report) = sources.compile(Arc::new(|| 0));
    assert_eq!(report.rules_failed(), 0, "{:?}", report.failures);
    let database = Arc::new(database);
    let generation = Generation {
        number: 1,
        databases: vec![Arc::clone(&database) as _],
        policy: Arc::new(Policy::default()),
        limits: Arc::new(Limits::default()),
    };
    let engines = Engines {
        generation: Arc::new(generation),
        pools: Pools { hold: Pool::new(0), parts: Pool::new(64 << 20) },
        rules: Some(database),
        enforcement: Enforcement::Told,
        unbegun: Unbegun::Asked,
    };
    let mut out = Vec::new();
    let mut sniffer = Sniffer::new(settings, engines, &mut out, reporting);
    sniffer.begin_file("tests.pcap");
    for (at, bytes) in frames.iter().enumerate() {
        sniffer.frame(&Frame {
            time: Time::from_micros(1_000_000 + at as u64),
            link: LinkType::Raw,
            link_number: 101,
            bytes,
            wire_bytes: bytes.len() as u32,
            is_unsummed: false,
        });
    }
    let Summary { frames: count, alerts, .. } = sniffer.end().unwrap();
    assert_eq!(count, frames.len() as u64);
    let events: Vec<Value> =
        String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(alerts, events.iter().filter(|event| event["event_type"] == "alert").count() as u64);
    events
}

fn settings() -> Settings {
    Settings { checksums: Checksums::Ignored, ..Settings::default() }
}

/// The alerts of a connection: number, transaction, direction, sorted.
fn alerts(events: &[Value]) -> Vec<String> {
    let of = |event: &Value| {
        let (sid, transaction) = (&event["alert"]["signature_id"], &event["tx_id"]);
        format!("{sid} {transaction} {}", event["direction"].as_str().unwrap())
    };
    let mut all: Vec<String> = events.iter().filter(|event| event["event_type"] == "alert").map(of).collect();
    all.sort();
    all
}

/// Asserts that a connection to the port is told so, whatever segments it comes in.
fn assert_alerts(rules: &str, port: u16, sayings: &[Saying<'_>], expected: &[&str]) {
    for size in [usize::MAX, 1, 2, 3, 7, 64, 1460] {
        let mut talk = Talk::begin(port);
        for (side, bytes) in sayings {
            bytes.chunks(size.min(1460)).for_each(|piece| talk.say(*side, piece));
        }
        let events = heard(rules, settings(), &talk.end());
        assert_eq!(alerts(&events), expected, "in pieces of {size}");
    }
}
