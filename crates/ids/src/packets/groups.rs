//! Which rules a packet may be about: [`Groups`], by protocol and direction. Rule: each has one search for all fast patterns of
//! its rules, and a list of those that have none.

use crate::ends::{Ends, EndsBuilder};
use crate::packets::asked::{Asked, Occasion, Reads};
use crate::packets::filed::{Filed, FiledBuilder};
use crate::ruleset::bits::FlowTest;
use crate::ruleset::header::{Header, Protocol};
use crate::search::{FastPattern, SearchBuilder, Searches};
use lockgate_model::Direction;
use lockgate_packet::{Event, Transport};
use std::collections::HashMap;

/// What is below the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Carrier {
    Tcp,
    Udp,
    Icmp,
    Other,
}

const CARRIERS: [Carrier; 4] = [Carrier::Tcp, Carrier::Udp, Carrier::Icmp, Carrier::Other];
const DIRECTIONS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

impl Carrier {
    /// By the protocol of IP (IANA, "Protocol Numbers").
    pub fn of_number(protocol: u8) -> Self {
        match protocol {
            1 | 58 => Self::Icmp,
            6 => Self::Tcp,
            17 => Self::Udp,
            _ => Self::Other,
        }
    }

    pub fn of(transport: &Transport<'_>) -> Self {
        match transport {
            Transport::Tcp(_) => Self::Tcp,
            Transport::Udp(_) => Self::Udp,
            Transport::Icmp4(_) | Transport::Icmp6(_) => Self::Icmp,
            Transport::None | Transport::Sctp(_) => Self::Other,
        }
    }

    /// Whether it carries what a rule is about.
    fn carries(self, protocol: Protocol) -> bool {
        use Protocol as P;
        match protocol {
            P::Ip | P::Ipv4 | P::Ipv6 | P::PacketHeader => true,
            P::Tcp | P::TcpPacket | P::TcpStream => self == Self::Tcp,
            P::Udp => self == Self::Udp,
            P::Icmp | P::Icmpv4 | P::Icmpv6 => self == Self::Icmp,
            P::Sctp | P::Igmp => self == Self::Other,
            P::Dns => matches!(self, Self::Tcp | Self::Udp),
            P::Sip => matches!(self, Self::Tcp | Self::Udp),
            P::Http | P::Smtp | P::Pop3 | P::Ftp | P::FtpData | P::Tls | P::Smb | P::Ssh | P::Unread(_) => {
                self == Self::Tcp
            }
        }
    }
}

/// The rules that packets of one protocol and direction may be about, while they are gathered.
#[derive(Default)]
struct Gathered {
    packet: SearchBuilder,
    stream: SearchBuilder,
    unsearched: FiledBuilder,
    firsts: FiledBuilder,
}

/// All of them.
#[derive(Default)]
pub(crate) struct GroupsBuilder {
    gathered: [Gathered; 8],
    events: HashMap<Event, Vec<u32>>,
    protocol_events: HashMap<Box<str>, Vec<u32>>,
    /// What is looked for in streams that go either way, for rules that ask of what a protocol makes of them, too.
    mixed: [SearchBuilder; 2],
    is_mixed: bool,
}

/// The rules that packets of one protocol and direction may be about.
#[derive(Default)]
pub(crate) struct Group {
    /// Patterns looked for in payloads.
    pub packet: Searches,
    /// Patterns looked for in streams, and in payloads that belong to none.
    pub stream: Searches,
    /// Rules that have no pattern, asked by each packet.
    pub unsearched: Filed,
    /// Rules that are about addresses alone, asked by the first packet of each side.
    pub firsts: Filed,
}

/// All rules that are about packets.
#[derive(Default)]
pub(crate) struct Groups {
    groups: [Group; 8],
    /// What tells the ends of packets apart, for rules that are not searched for.
    pub ends: Option<Ends>,
    /// Whether a rule asks of a stream besides what a protocol makes of it: packets are not searched for it.
    pub is_mixed: bool,
    /// Rules that ask for an event of a packet or stream.
    events: HashMap<Event, Vec<u32>>,
    /// The same for events of protocols, by name.
    protocol_events: HashMap<Box<str>, Vec<u32>>,
}

fn index(carrier: Carrier, direction: Direction) -> usize {
    carrier as usize * 2 + usize::from(direction == Direction::ToClient)
}

impl GroupsBuilder {
    /// One more rule.
    pub fn add(
        &mut self,
        rule: u32,
        header: &Header,
        flow: &FlowTest,
        asked: &Asked,
        fast: Option<FastPattern<'_>>,
    ) {
        if let Some(event) = asked.event() {
            return self.events.entry(event).or_default().push(rule);
        }
        if !asked.events.is_empty() {
            for event in &asked.events {
                self.protocol_events.entry(event.clone()).or_default().push(rule);
            }
            return;
        }
        for carrier in CARRIERS.into_iter().filter(|carrier| carrier.carries(header.protocol)) {
            let directions = DIRECTIONS.into_iter();
            for direction in directions.filter(|its| flow.direction.is_none_or(|wanted| wanted == *its)) {
                let gathered = &mut self.gathered[index(carrier, direction)];
                match asked.occasion {
                    Occasion::FirstOfSide => gathered.firsts.add(rule, header),
                    _ => gathered.add((rule, header), carrier, asked.reads, fast),
                }
            }
        }
    }

    /// One more rule, which asks of the stream besides what a protocol makes of it; says whether it is searched for.
    pub fn add_mixed(&mut self, rule: u32, flow: &FlowTest, fast: Option<FastPattern<'_>>) -> bool {
        self.is_mixed = true;
        let Some(fast) = fast else { return false };
        let ways = self.mixed.iter_mut().zip(DIRECTIONS);
        let mut own = ways.filter(|(_, its)| flow.direction.is_none_or(|wanted| wanted == *its));
        own.all(|(way, _)| way.add(fast, rule))
    }

    /// What is looked for in a connection that no packets are seen of, in what goes this way.
    pub fn connection(&self, direction: Direction) -> SearchBuilder {
        let of_streams = &self.gathered[index(Carrier::Tcp, direction)].stream;
        let mixed = &self.mixed[usize::from(direction == Direction::ToClient)];
        SearchBuilder::default().and(of_streams).and(mixed)
    }

    /// No more.
    pub fn finish(self) -> Groups {
        let mut ends = EndsBuilder::default();
        let groups = self.gathered.map(|gathered| Group {
            packet: gathered.packet.finish(),
            stream: gathered.stream.finish(),
            unsearched: gathered.unsearched.finish(&mut ends),
            firsts: gathered.firsts.finish(&mut ends),
        });
        Groups {
            groups,
            ends: ends.finish(),
            is_mixed: self.is_mixed,
            events: self.events,
            protocol_events: self.protocol_events,
        }
    }
}

impl Gathered {
    fn add(
        &mut self,
        (rule, header): (u32, &Header),
        carrier: Carrier,
        reads: Reads,
        fast: Option<FastPattern<'_>>,
    ) {
        let is_stream = carrier == Carrier::Tcp && reads != Reads::Packet;
        let is_packet = carrier != Carrier::Tcp || matches!(reads, Reads::Packet | Reads::Either);
        // Packets are short: there, what begins somewhere is found in the pass for all.
        let is_found = fast.is_some_and(|fast| {
            (!is_stream || self.stream.add(fast, rule))
                && (!is_packet || self.packet.add(fast.anywhere(), rule))
        });
        if !is_found {
            self.unsearched.add(rule, header);
        }
    }
}

impl Groups {
    /// Whether a rule asks for what a stream has.
    pub fn follows_streams(&self, direction: Direction) -> bool {
        let group = self.of(Carrier::Tcp, direction);
        self.is_mixed || !group.stream.is_empty() || !group.unsearched.is_empty()
    }

    /// Whether patterns are looked for in streams.
    pub fn reads_streams(&self) -> bool {
        self.is_mixed || self.groups.iter().any(|group| !group.stream.is_empty())
    }

    /// The rules that such a packet may be about.
    pub fn of(&self, carrier: Carrier, direction: Direction) -> &Group {
        &self.groups[index(carrier, direction)]
    }

    /// Those that ask for an event.
    pub fn with_event(&self, event: Event) -> &[u32] {
        self.events.get(&event).map(Vec::as_slice).unwrap_or_default()
    }

    /// Those that ask for an event of a protocol.
    pub fn with_protocol_event(&self, name: &str) -> &[u32] {
        self.protocol_events.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// What the searches take in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let searches = self.groups.iter().flat_map(|group| [&group.packet, &group.stream]);
        searches.map(Searches::heap_bytes).sum()
    }
}
