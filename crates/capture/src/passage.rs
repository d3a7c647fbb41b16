//! Whether a frame goes on: [`Passage`]. Rule: of a packet that is stopped no fragment goes on that comes later.

use lockgate_packet::{Ip, Packet, Time, Vlans};
use std::collections::{HashSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// How long the fragments of a stopped packet are remembered: longer than receivers wait for the others (RFC 8200, section 4.5:
/// 60 seconds).
const REMEMBERED: Duration = Duration::from_secs(120);
/// How many such packets.
const PACKETS_MAX: usize = 16 << 10;

/// Whether a frame goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passage {
    /// It does.
    #[default]
    Open,
    /// A rule wants it stopped, or has wanted that of its flow.
    Closed,
}

/// Which packet a fragment is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Whole {
    source: IpAddr,
    destination: IpAddr,
    id: u32,
    protocol: u8,
    vlans: Vlans,
}

impl Whole {
    fn of(packet: &Packet<'_>) -> Option<Self> {
        let ip = packet.ip.as_ref().filter(|ip| ip.is_fragment())?;
        let (id, protocol) = match ip {
            Ip::V4(four) => (u32::from(four.id()), four.protocol()),
            // What the fragments after the first say of the protocol does not count there.
            Ip::V6(six) => (six.fragment()?.id, 0),
        };
        Some(Self { source: ip.source(), destination: ip.destination(), id, protocol, vlans: packet.vlans })
    }
}

/// Packets in fragments of which one was stopped. The receiver may have the others, and waits for what would complete them.
#[derive(Debug, Default)]
pub struct StoppedFragments {
    packets: HashSet<Whole>,
    by_age: VecDeque<(Time, Whole)>,
}

impl StoppedFragments {
    /// What becomes of a packet: of one that is a fragment the same as of the others.
    pub fn judge(&mut self, packet: &Packet<'_>, passage: Passage, now: Time) -> Passage {
        let Some(whole) = Whole::of(packet) else { return passage };
        let is_over = |since: Time, count| now.since(since) > REMEMBERED || count > PACKETS_MAX;
        while self.by_age.front().is_some_and(|(since, _)| is_over(*since, self.by_age.len())) {
            if let Some((_, old)) = self.by_age.pop_front() {
                self.packets.remove(&old);
            }
        }
        if self.packets.contains(&whole) {
            return Passage::Closed;
        }
        if passage == Passage::Closed {
            self.packets.insert(whole);
            self.by_age.push_back((now, whole));
        }
        passage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_packet::LinkType;

    fn fragment(id: u8) -> Vec<u8> {
        let header = [0x45, 0, 0, 28, 0, id, 0x20, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        [&header[..], b"12345678"].concat()
    }

    #[test]
    fn fragments_share_what_becomes_of_them() {
        let mut stopped = StoppedFragments::default();
        let mut judge = |id, passage, seconds| {
            let frame = fragment(id);
            let packet = Packet::decode(LinkType::Raw, &frame);
            assert!(packet.is_fragment());
            stopped.judge(&packet, passage, Time::from_seconds(seconds))
        };
        assert_eq!(judge(1, Passage::Open, 10), Passage::Open);
        assert_eq!(judge(1, Passage::Closed, 10), Passage::Closed);
        assert_eq!(judge(1, Passage::Open, 100), Passage::Closed);
        assert_eq!(judge(2, Passage::Open, 100), Passage::Open);
        assert_eq!(judge(1, Passage::Open, 131), Passage::Open);
    }
}
