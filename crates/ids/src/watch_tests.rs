//! Rules asked of packets and streams, by a tracker that makes flows of them. Rule: what a rule is to find is said by its number.

use crate::{Alert, Database, FoundIn, Sources, Watch};
use lockgate_model::{Direction, Protocol};
use lockgate_packet::{
    Checksums, Chunk, Flow, FlowEnd, Interest, LinkType, Observer, Packet, Place, Settings,
};
use lockgate_packet::{Time, Tracker};
use std::collections::HashMap;
use std::sync::Arc;

const CLIENT: [u8; 4] = [192, 168, 0, 1];
const SERVER: [u8; 4] = [10, 9, 8, 7];
const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// A datagram of IPv4.
fn ip(from: [u8; 4], to: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 20).to_be_bytes();
    let header = [0x45, 0, length[0], length[1], 0, 7, 0, 0, 64, protocol, 0, 0];
    [&header[..], &from, &to, payload].concat()
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let header = [0x10, 0, 0, 99, length[0], length[1], 0, 0];
    ip(CLIENT, SERVER, 17, &[&header[..], payload].concat())
}

/// A connection whose two sides send segments.
struct Connection {
    next: [u32; 2],
    frames: Vec<Vec<u8>>,
}

impl Connection {
    fn begin() -> Self {
        let mut connection = Self { next: [1000, 5000], frames: Vec::new() };
        connection.send(Direction::ToServer, SYN, b"");
        connection.send(Direction::ToClient, SYN | ACK, b"");
        connection.send(Direction::ToServer, ACK, b"");
        connection
    }

    fn send(&mut self, direction: Direction, flags: u8, payload: &[u8]) {
        let up = direction == Direction::ToServer;
        let (own, other) = if up { (0, 1) } else { (1, 0) };
        let ports = if up { [0x10, 0, 0, 80] } else { [0, 80, 0x10, 0] };
        let (sequence, ack) = (self.next[own].to_be_bytes(), self.next[other].to_be_bytes());
        let ack = if flags & ACK != 0 { ack } else { [0; 4] };
        let header = [&ports[..], &sequence, &ack, &[0x50, flags, 0xff, 0xff, 0, 0, 0, 0]].concat();
        let (from, to) = if up { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        self.next[own] += payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        self.frames.push(ip(from, to, 6, &[&header[..], payload].concat()));
    }

    /// Bytes, and that they were received.
    fn say(&mut self, direction: Direction, payload: &[u8]) {
        self.send(direction, ACK | 8, payload);
        self.send(direction.reverse(), ACK, b"");
    }

    fn end(mut self) -> Vec<Vec<u8>> {
        self.send(Direction::ToServer, ACK | FIN, b"");
        self.send(Direction::ToClient, ACK | FIN, b"");
        self.send(Direction::ToServer, ACK, b"");
        self.frames
    }
}

/// Asks the rules, and notes what they find.
struct Asker {
    database: Arc<Database>,
    stray: Watch,
    watches: HashMap<u64, Watch>,
    speaks: Option<Protocol>,
    found: Vec<(u32, FoundIn)>,
    /// How many packets had rules that were not asked.
    spent: usize,
}

fn note(found: &mut Vec<(u32, FoundIn)>) -> impl FnMut(Alert) + '_ {
    |alert| found.push((alert.hit.signature.map_or(0, |its| its.id), alert.found_in))
}

impl Observer for Asker {
    fn flow_begins(&mut self, flow: &Flow) {
        self.watches.insert(flow.id, Watch::new(&self.database, flow));
    }

    fn data(&mut self, flow: &Flow, chunk: Chunk<'_>) -> Interest {
        let watch = self.watches.get_mut(&flow.id).unwrap();
        if let Some(protocol) = self.speaks.take() {
            drop(watch.speaks(protocol));
        }
        watch.data(chunk);
        Interest::More
    }

    fn packet(&mut self, packet: &Packet<'_>, place: &Place<'_>) {
        let watch = place.flow.and_then(|flow| self.watches.get_mut(&flow.id)).unwrap_or(&mut self.stray);
        watch.packet(packet, place, &mut note(&mut self.found));
        self.spent += usize::from(watch.takes_spent());
    }

    fn flow_ends(&mut self, flow: &Flow, _why: FlowEnd) {
        let mut watch = self.watches.remove(&flow.id).unwrap();
        let mut note = note(&mut self.found);
        for direction in [Direction::ToServer, Direction::ToClient] {
            watch.end(flow, direction, &mut |alert| note(alert));
        }
    }
}

fn asked(rules: &str, speaks: Option<Protocol>, frames: &[Vec<u8>]) -> Vec<(u32, FoundIn)> {
    asker(rules, speaks, frames).found
}

fn spent(rules: &str, frames: &[Vec<u8>]) -> usize {
    asker(rules, None, frames).spent
}

fn asker(rules: &str, speaks: Option<Protocol>, frames: &[Vec<u8>]) -> Asker {
    let mut sources = Sources::new();
    sources.add("t.rules", rules.as_bytes());
    let (database, report) = sources.compile(Arc::new(|| 0));
    assert_eq!(report.failures.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    assert!(report.unread.is_empty(), "{:?}", report.unread);
    let database = Arc::new(database);
    let stray = Watch::stray(&database);
    let mut asker = Asker { database, stray, watches: HashMap::new(), speaks, found: Vec::new(), spent: 0 };
    let settings = Settings { checksums: Checksums::Ignored, ..Settings::default() };
    let mut tracker = Tracker::new(settings);
    for (frame, at) in frames.iter().zip(1..) {
        tracker.packet(Time::from_micros(at * 1000), LinkType::Raw, frame, &mut asker);
    }
    tracker.end(&mut asker);
    asker
}

fn numbers(found: &[(u32, FoundIn)]) -> Vec<u32> {
    found.iter().map(|(number, _)| *number).collect()
}

#[test]
fn datagrams_are_asked_by_header_and_payload() {
    let rules = r#"alert udp 192.168.0.0/16 any -> any 99 (content:"abc"; depth:3; sid:1;)
alert udp any any -> any 98 (content:"abc"; sid:2;)
alert udp any any -> any any (dsize:>5; sid:3;)
alert udp any any -> any any (dsize:<5; sid:4;)
alert ip any any -> any any (ttl:64; id:7; ip_proto:17; sid:5;)
alert tcp any any -> any any (content:"abc"; sid:6;)
alert udp any any -> any any (udp.hdr; content:"|00 63|"; offset:2; depth:2; sid:7;)
alert udp any any -> any any (content:"ABC"; nocase; pcre:"/c+d/"; sid:8;)
alert ip 192.168.0.1 any -> any any (sid:9;)
alert icmp any any -> any any (sid:10;)"#;
    let found = asked(rules, None, &[udp(b"abcdef"), udp(b"xabc")]);
    assert_eq!(numbers(&found), [1, 3, 5, 7, 8, 9, 4, 5, 7], "addresses alone are asked once");
}

#[test]
fn a_stream_is_found_across_segments_and_a_packet_is_not() {
    let rules = r#"alert tcp any any -> any 80 (content:"attack"; content:"here"; distance:1; sid:1;)
alert tcp-pkt any any -> any any (content:"attack"; sid:2;)
alert tcp any any -> any any (flags:S,12; sid:3;)
alert tcp any any -> any any (flow:established,to_client; content:"answer"; sid:4;)
alert tcp any any -> any any (content:"at"; depth:2; sid:5;)
alert tcp any any -> any any (flow:to_server; content:"answer"; sid:6;)"#;
    let mut connection = Connection::begin();
    connection.say(Direction::ToServer, b"att");
    connection.say(Direction::ToServer, b"ack here");
    connection.say(Direction::ToClient, b"the answer");
    let found = asked(rules, None, &connection.end());
    let mut all = numbers(&found);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all, [1, 3, 4, 5]);
    assert!(found.contains(&(1, FoundIn::Stream)));
    assert!(found.contains(&(3, FoundIn::Packet)));
}

#[test]
fn a_stream_has_the_same_rules_however_it_was_cut() {
    let rules = r#"alert tcp any any -> any any (content:"first"; content:"second"; within:40; sid:1;)
alert tcp any any -> any any (content:"stop"; content:!"go"; distance:0; sid:2;)
alert tcp-stream any any -> any any (content:"fir"; offset:3; depth:5; sid:3;)"#;
    let said = b"xx,first one, then the second; stop";
    for cut in 0..said.len() {
        let mut connection = Connection::begin();
        for piece in [&said[..cut], &said[cut..]].into_iter().filter(|piece| !piece.is_empty()) {
            connection.say(Direction::ToServer, piece);
        }
        let mut found = numbers(&asked(rules, None, &connection.end()));
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, [1, 2, 3], "{cut}");
    }
}

#[test]
fn what_is_spoken_decides_and_bits_lead_from_packet_to_packet() {
    let rules = r#"alert http any any -> any any (content:"one"; flowbits:set,seen; noalert; sid:1;)
alert http any any -> any any (content:"two"; flowbits:isset,seen; sid:2;)
alert dns any any -> any any (content:"one"; sid:3;)
alert tcp any any -> any any (app-layer-protocol:http; sid:4;)
pass tcp any any -> any any (content:"friend"; sid:5;)
alert tcp any any -> any any (content:"three"; sid:6;)"#;
    let speak = |what: &[&[u8]]| {
        let mut connection = Connection::begin();
        what.iter().for_each(|one| connection.say(Direction::ToServer, one));
        let mut found = numbers(&asked(rules, Some(Protocol::Http), &connection.end()));
        found.sort_unstable();
        found.dedup();
        found
    };
    assert_eq!(speak(&[b"one", b"two"]), [2, 4]);
    assert_eq!(speak(&[b"two", b"one"]), [4]);
    assert_eq!(speak(&[b"friend", b"three"]), [4]);
    assert_eq!(speak(&[b"three"]), [4, 6]);
}

#[test]
fn a_window_is_all_that_is_held_of_a_long_stream() {
    let rules = r#"alert tcp any any -> any any (content:"begin"; content:"end"; sid:1;)
alert tcp any any -> any any (content:"near"; content:"end"; distance:0; sid:2;)"#;
    let mut connection = Connection::begin();
    connection.say(Direction::ToServer, b"begin");
    for _ in 0..40 {
        connection.say(Direction::ToServer, &[b'.'; 1000]);
    }
    connection.say(Direction::ToServer, b"near the end");
    let mut found = numbers(&asked(rules, None, &connection.end()));
    found.dedup();
    assert_eq!(found, [2]);
}

#[test]
fn a_rule_that_runs_out_of_steps_is_said_to_be_unasked() {
    let rules = r#"alert udp any any -> any any (content:"a"; content:"b"; distance:0; content:"c"; distance:0; content:"dd"; within:2; sid:1;)
alert tcp any any -> any any (content:"a"; content:"b"; distance:0; content:"c"; distance:0; content:"dd"; within:2; sid:2;)"#;
    let hostile = [&b"dd"[..], &[b'a'; 300], &[b'b'; 300], &[b'c'; 300]].concat();
    assert_eq!(spent(rules, &[udp(&hostile)]), 1);
    assert_eq!(spent(rules, &[udp(b"dd a b c")]), 0);
    let mut connection = Connection::begin();
    connection.say(Direction::ToServer, &hostile);
    assert_eq!(spent(rules, &connection.end()), 1);
}
