//! What the targets of packets share: small bounds, segments of a known text, and who watches. Rule: a byte out of place is a finding.

use lockgate_ids::{Alert, Database};
use lockgate_model::Protocol;
use lockgate_packet::{
    Checksums, Chunk, Delivery, Direction, Flow, FlowEnd, FragmentPolicy, Gap, Interest, Midstream, Observer,
    OneSided, Packet, Place, Settings, StreamPolicy,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Settings with bounds that a short input reaches, the rest as the byte says.
pub fn small(choice: u8) -> Settings {
    let is = |bit: u8| choice >> bit & 1 == 1;
    let policies = [StreamPolicy::Bsd, StreamPolicy::Last, StreamPolicy::Linux, StreamPolicy::Solaris];
    let fragments =
        [FragmentPolicy::Bsd, FragmentPolicy::Last, FragmentPolicy::Linux, FragmentPolicy::Windows];
    Settings {
        checksums: if is(7) { Checksums::Verified } else { Checksums::Ignored },
        delivery: if is(0) { Delivery::Immediate } else { Delivery::Acknowledged },
        midstream: if is(1) { Midstream::PickedUp } else { Midstream::Ignored },
        one_sided: if is(2) { OneSided::Followed } else { OneSided::Ignored },
        stream_policy: policies[usize::from(choice >> 3 & 3)],
        fragment_policy: fragments[usize::from(choice >> 3 & 3)],
        depth_bytes: [if is(5) { 1000 } else { u64::MAX }, u64::MAX],
        flow_bytes_max: 32 << 10,
        stream_bytes_max: 16 << 10,
        side_bytes_max: if is(6) { 2 << 10 } else { 16 << 10 },
        fragment_bytes_max: 16 << 10,
        ..Settings::default()
    }
}

/// So many bytes of a text that is different at each place.
pub fn text(at: u64, length: usize) -> Vec<u8> {
    (at..).take(length).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 11) as u8).collect()
}

/// Two hosts, of which the server has a port.
#[derive(Clone, Copy)]
pub struct Ends {
    /// The server's port.
    pub port: u8,
}

impl Ends {
    fn ports(self, side: usize) -> [u8; 4] {
        if side == 0 { [4, 1, 0, self.port] } else { [0, self.port, 4, 1] }
    }

    /// A segment between them, as IP; side 0 is the client.
    pub fn segment(self, side: usize, flags: u8, sequence: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
        let (ports, numbers) = (self.ports(side), [sequence.to_be_bytes(), ack.to_be_bytes()].concat());
        let rest = [0x50, flags, 0xff, 0xff, 0, 0, 0, 0];
        ip(side, 6, &[&ports[..], &numbers, &rest, payload].concat())
    }

    /// A datagram of UDP between them, as IP.
    pub fn datagram(self, side: usize, payload: &[u8]) -> Vec<u8> {
        let payload = &payload[..payload.len().min(1400)];
        let length = (8 + payload.len()) as u16;
        ip(side, 17, &[&self.ports(side)[..], &length.to_be_bytes(), &[0, 0], payload].concat())
    }
}

fn ip(side: usize, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let hosts = [[10, 0, 0, 1 + side as u8], [10, 0, 0, 2 - side as u8]].concat();
    let total = (20 + payload.len()) as u16;
    [&[0x45, 0][..], &total.to_be_bytes(), &[0, 1, 0, 0, 64, protocol, 0, 0], &hosts, payload].concat()
}

/// Asks rules of packets and streams; what is spoken is known with the first bytes.
pub struct Asked {
    database: Arc<Database>,
    protocol: Protocol,
    watches: HashMap<u64, lockgate_ids::Watch>,
    stray: lockgate_ids::Watch,
    /// What was found.
    pub alerts: Vec<Alert>,
}

impl Asked {
    /// Nothing has come yet.
    pub fn new(database: &Arc<Database>, protocol: Protocol) -> Self {
        let stray = lockgate_ids::Watch::stray(database);
        let database = Arc::clone(database);
        Self { database, protocol, watches: HashMap::new(), stray, alerts: Vec::new() }
    }
}

impl Observer for Asked {
    fn flow_begins(&mut self, flow: &Flow) {
        self.watches.insert(flow.id, lockgate_ids::Watch::new(&self.database, flow));
    }

    fn data(&mut self, flow: &Flow, chunk: Chunk<'_>) -> Interest {
        if let Some(watch) = self.watches.get_mut(&flow.id) {
            if chunk.offset == 0 {
                drop(watch.speaks(self.protocol));
                watch.event("http.missing_host_header");
            }
            watch.data(chunk);
        }
        Interest::More
    }

    fn gap(&mut self, _: &Flow, _: Gap) -> Interest {
        Interest::More
    }

    fn packet(&mut self, packet: &Packet<'_>, place: &Place<'_>) {
        let watch = place.flow.and_then(|flow| self.watches.get_mut(&flow.id)).unwrap_or(&mut self.stray);
        watch.packet(packet, place, &mut |alert| self.alerts.push(alert));
        let _ = (watch.takes_spent(), watch.bits());
    }

    fn flow_ends(&mut self, flow: &Flow, _: FlowEnd) {
        let Some(mut watch) = self.watches.remove(&flow.id) else { return };
        for direction in [Direction::ToServer, Direction::ToClient] {
            watch.end(flow, direction, &mut |alert| self.alerts.push(alert));
        }
    }
}

/// Whoever is told of everything, and makes sure of it.
#[derive(Default)]
pub struct Watch {
    /// Flows that have begun and not ended.
    pub open: usize,
    /// Whether streams are [`text`].
    pub is_text: bool,
    next: HashMap<(u64, Direction), u64>,
}

impl Observer for Watch {
    fn flow_begins(&mut self, flow: &Flow) {
        self.open += 1;
        assert!(!flow.community_id().is_empty());
    }

    fn data(&mut self, flow: &Flow, chunk: Chunk<'_>) -> Interest {
        let next = self.next.entry((flow.id, chunk.direction)).or_default();
        assert_eq!(*next, chunk.offset);
        *next += chunk.bytes.len() as u64;
        assert!(!chunk.bytes.is_empty());
        assert!(!self.is_text || chunk.bytes == text(chunk.offset, chunk.bytes.len()));
        Interest::More
    }

    fn gap(&mut self, flow: &Flow, gap: Gap) -> Interest {
        let next = self.next.entry((flow.id, gap.direction)).or_default();
        assert_eq!(*next, gap.offset);
        *next += gap.bytes;
        Interest::More
    }

    fn packet(&mut self, packet: &Packet<'_>, _: &Place<'_>) {
        let _ = (packet.ip_checksum(), packet.transport_checksum(), packet.quoted(), packet.source());
        assert!(packet.events.iter().all(|event| !event.name().is_empty()));
    }

    fn flow_ends(&mut self, _: &Flow, _: FlowEnd) {
        self.open -= 1;
    }
}
