//! What two endpoints say to each other: [`Flow`]. Rule: the client is who was seen first, unless TCP says otherwise.

use crate::packet::Vlans;
use crate::stream::{Tcp, TcpState};
use crate::time::Time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lockgate_model::Direction;
use sha1::{Digest, Sha1};
use std::net::IpAddr;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port; of ICMP the type of the messages that it sends.
    pub port: u16,
}

/// Where a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowState {
    /// Only one side was heard, or TCP's handshake is not over.
    #[default]
    New,
    /// Both sides were heard, or TCP's handshake is over.
    Established,
    /// TCP's connection is over.
    Closed,
}

impl FlowState {
    /// The name in EVE.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Established => "established",
            Self::Closed => "closed",
        }
    }
}

/// Why a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// Nothing came for as long as its state allows.
    TimedOut,
    /// There was no room for it.
    Evicted,
    /// A new connection began between the same ports.
    Replaced,
    /// The capture ended.
    Stopped,
}

impl FlowEnd {
    /// The name in EVE (`flow.reason`).
    pub fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "timeout",
            Self::Evicted => "forced",
            Self::Replaced => "tcp_reuse",
            Self::Stopped => "shutdown",
        }
    }
}

/// How much was seen of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// No other flow of this tracker ever has it.
    pub id: u64,
    /// No other flow has it at the same time: a small number, for tables beside this one.
    pub slot: u32,
    /// Who began.
    pub client: Endpoint,
    /// The other.
    pub server: Endpoint,
    /// The protocol of IP (IANA, "Protocol Numbers").
    pub protocol: u8,
    /// VLAN tags.
    pub vlans: Vlans,
    /// How many tunnels it is in.
    pub depth: u8,
    /// Where it is.
    pub state: FlowState,
    /// What the client, and what the server has sent.
    pub counts: [Counts; 2],
    /// When its first packet came.
    pub started: Time,
    /// When its last packet came.
    pub last: Time,
    /// What is known of the connection, where it is TCP's and followed.
    pub tcp: Option<Tcp>,
    /// Type and code of the first message, where it is ICMP's.
    pub icmp: Option<(u8, u8)>,
}

impl Flow {
    /// What one side has sent.
    pub fn counts(&self, direction: Direction) -> Counts {
        self.counts[usize::from(direction == Direction::ToClient)]
    }

    /// Whether TCP's handshake is over, or both sides were heard.
    pub fn is_established(&self) -> bool {
        match self.tcp {
            Some(tcp) => tcp.state.is_established(),
            None => self.state == FlowState::Established,
        }
    }

    /// Whether TCP's connection was seen from its beginning.
    pub fn is_midstream(&self) -> bool {
        self.tcp.is_some_and(|tcp| tcp.is_midstream)
    }

    /// Where TCP's connection is.
    pub fn tcp_state(&self) -> Option<TcpState> {
        self.tcp.map(|tcp| tcp.state)
    }

    /// The Community ID, version 1, seed 0 (github.com/corelight/community-id-spec): the same in every program that sees
    /// the flow, from whichever side.
    pub fn community_id(&self) -> String {
        let is_icmp = self.icmp.is_some();
        // A message of ICMP that none answers has its direction kept.
        let is_one_way = is_icmp && !self.has_counterpart();
        let (first, second) = if self.client <= self.server || is_one_way {
            (self.client, self.server)
        } else {
            (self.server, self.client)
        };
        let mut hash = Sha1::new();
        hash.update([0, 0]);
        for address in [first.address, second.address] {
            match address {
                IpAddr::V4(address) => hash.update(address.octets()),
                IpAddr::V6(address) => hash.update(address.octets()),
            }
        }
        hash.update([self.protocol, 0]);
        if is_icmp || first.port != 0 || second.port != 0 {
            hash.update(first.port.to_be_bytes());
            hash.update(second.port.to_be_bytes());
        }
        format!("1:{}", STANDARD.encode(hash.finalize()))
    }

    fn has_counterpart(&self) -> bool {
        match self.protocol {
            crate::ip::protocol::ICMP => matches!(self.client.port, 0 | 8..=10 | 13..=18),
            _ => matches!(self.client.port, 128..=131 | 133..=136 | 139 | 140 | 144 | 145),
        }
    }

    /// The other one began.
    pub fn turn_round(&mut self) {
        std::mem::swap(&mut self.client, &mut self.server);
        self.counts.swap(0, 1);
        if let Some(tcp) = &mut self.tcp {
            tcp.flags.swap(0, 1);
            tcp.sent_bytes.swap(0, 1);
            tcp.gaps.swap(0, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(client: (&str, u16), server: (&str, u16), protocol: u8, icmp: Option<(u8, u8)>) -> Flow {
        let endpoint = |(address, port): (&str, u16)| Endpoint { address: address.parse().unwrap(), port };
        Flow {
            id: 1,
            slot: 0,
            client: endpoint(client),
            server: endpoint(server),
            protocol,
            vlans: Vlans::default(),
            depth: 0,
            state: FlowState::New,
            counts: Default::default(),
            started: Time::default(),
            last: Time::default(),
            tcp: None,
            icmp,
        }
    }

    /// The values of the specification's baseline.
    #[test]
    fn community_ids_are_those_of_the_specification() {
        let (a, b) = (("128.232.110.120", 34855), ("66.35.250.204", 80));
        assert_eq!(flow(a, b, 6, None).community_id(), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
        assert_eq!(flow(b, a, 6, None).community_id(), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
        let (a, b) = (("192.168.1.52", 54585), ("8.8.8.8", 53));
        assert_eq!(flow(a, b, 17, None).community_id(), "1:d/FP5EW3wiY1vCndhwleRRKHowQ=");
        let (a, b) = (("192.168.0.89", 8), ("192.168.0.1", 0));
        assert_eq!(flow(a, b, 1, Some((8, 0))).community_id(), "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=");
    }
}
