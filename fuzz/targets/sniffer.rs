//! What two sides say, in segments: protocols are recognised, read and told of. Rule: each flow that
//! begins ends, and what is written is JSON.
#![no_main]

use lockgate_capture::{
    Enforcement, Engines, Evidence, Forwarded, Frame, Proxies, Reporting, Sniffer, Stats, Unbegun,
};
use lockgate_fuzz::packets::{Ends, small};
use lockgate_ids::{Database, Sources};
use lockgate_inspect::{Generation, Policy, Pools};
use lockgate_model::{Limits, Pool};
use lockgate_packet::{LinkType, Time};
use std::sync::{Arc, OnceLock};

/// What servers listen at.
const PORTS: [u8; 4] = [80, 53, 21, 25];

const RULES: &[u8] = b"alert http any any -> any any (http.uri; content:\"a\"; sid:1;)\n\
    alert tcp any any -> any any (content:\"b\"; sid:2;)\n\
    alert ip any any -> any any (file.data; content:\"c\"; sid:3;)\n\
    alert http any any -> any any (app-layer-event:http.missing_host_header; sid:4;)\n";

fn database() -> Arc<Database> {
    static DATABASE: OnceLock<Arc<Database>> = OnceLock::new();
    let compile = || {
        let mut sources = Sources::new();
        sources.add("fuzz.rules", RULES);
        Arc::new(sources.compile(Arc::new(|| 0)).0)
    };
    Arc::clone(DATABASE.get_or_init(compile))
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [choice, place, rest @ ..] = input else { return };
    let (ends, is_datagrams) = (Ends { port: PORTS[usize::from(place & 3)] }, place & 4 != 0);
    let rules = database();
    let generation = Generation {
        number: 1,
        databases: vec![Arc::clone(&rules) as _],
        policy: Arc::new(Policy::default()),
        limits: Arc::new(Limits::default()),
    };
    let engines = Engines {
        generation: Arc::new(generation),
        pools: Pools { hold: Pool::new(0), parts: Pool::new(1 << 20) },
        rules: Some(rules),
        enforcement: if choice & 0x80 == 0 { Enforcement::Told } else { Enforcement::Stopped },
        unbegun: Unbegun::Asked,
    };
    let mut out = Vec::new();
    let reporting = Reporting {
        evidence: Evidence::Packet,
        forwarded: Forwarded::Instead(Proxies::OfServers),
        ..Reporting::default()
    };
    let mut sniffer = Sniffer::new(small(choice & 0x7f), engines, &mut out, reporting);
    let mut next = [1000u32, 2000];
    let mut put = |side: usize, flags: u8, at: u32, ack: u32, bytes: &[u8]| {
        let bytes = match is_datagrams {
            true => ends.datagram(side, bytes),
            false => ends.segment(side, flags, at, ack, bytes),
        };
        let (time, link) = (Time::from_seconds(1), LinkType::Raw);
        let wire_bytes = bytes.len() as u32;
        sniffer.frame(&Frame { time, link, link_number: 101, bytes: &bytes, wire_bytes, is_unsummed: false });
    };
    put(0, 0x02, 999, 0, b"");
    put(1, 0x12, 1999, 1000, b"");
    put(0, 0x10, 1000, 2000, b"");
    // A byte says whose turn it is and how much is said; nothing said is a gap.
    let mut rest = rest;
    while let Some((head, behind)) = rest.split_first() {
        let (side, length) = (usize::from(head >> 7), usize::from(head & 0x7f).min(behind.len()));
        let (said, behind) = behind.split_at(length);
        if said.is_empty() {
            next[side] = next[side].wrapping_add(5);
        } else {
            put(side, 0x18, next[side], next[1 - side], said);
            next[side] = next[side].wrapping_add(said.len() as u32);
        }
        put(1 - side, 0x10, next[1 - side], next[side], b"");
        rest = behind;
    }
    sniffer.stats(Stats::default());
    sniffer.end().unwrap();
    for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(std::str::from_utf8(line).is_ok_and(|line| line.starts_with('{') && line.ends_with('}')));
    }
});
