//! What the targets of packets share: small bounds, segments of a known text, and who watches. Rule: a byte out of place is a finding.

use lockgate_packet::{
    Checksums, Chunk, Delivery, Direction, Flow, FlowEnd, FragmentPolicy, Gap, Interest, Midstream, Observer,
    OneSided, Packet, Place, Settings, StreamPolicy,
};
use std::collections::HashMap;

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

/// A segment between two hosts, as IP; side 0 is the client.
pub fn segment(side: usize, flags: u8, sequence: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let hosts = [[10, 0, 0, 1 + side as u8], [10, 0, 0, 2 - side as u8]].concat();
    let ports = if side == 0 { [4, 1, 0, 80] } else { [0, 80, 4, 1] };
    let total = (40 + payload.len()) as u16;
    let ip = [&[0x45, 0][..], &total.to_be_bytes(), &[0, 1, 0, 0, 64, 6, 0, 0], &hosts].concat();
    let tcp =
        [&ports[..], &sequence.to_be_bytes(), &ack.to_be_bytes(), &[0x50, flags, 0xff, 0xff, 0, 0, 0, 0]]
            .concat();
    [&ip[..], &tcp, payload].concat()
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
