//! What a rule asks of packets: [`Asked`]. Rule: when it is asked, and of what, is decided once, at compiling.

use crate::ruleset::bits::{Stream, StreamSize};
use crate::ruleset::content::{Amount, Place};
use crate::ruleset::header::{Action, Protocol};
use crate::ruleset::packet::PacketTest;
use crate::ruleset::rule::{Rule, Test};
use crate::ruleset::sticky::Sticky;
use lockgate_packet::Event;

/// In which bytes the contents of `pkt_data` are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reads {
    /// The packet's payload.
    Packet,
    /// The stream, and payloads that belong to none.
    Stream,
    /// The stream, and else the packet's payload: places are counted from the beginning of either.
    Either,
    /// The stream and nothing else.
    StreamOnly,
}

/// When a rule is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Occasion {
    /// By each packet.
    Packet,
    /// By the first packet of each side of a flow: it is about addresses alone.
    FirstOfSide,
    /// By the first packet of each side behind the one that said what is spoken.
    ProtocolKnown,
}

/// What a rule asks of packets.
#[derive(Debug)]
pub(crate) struct Asked {
    pub tests: Box<[PacketTest]>,
    pub stream_sizes: Box<[StreamSize]>,
    /// Events of the protocol, one of which is to have happened.
    pub events: Box<[Box<str>]>,
    pub reads: Reads,
    pub occasion: Occasion,
    /// Whether what it wants is wanted of the flow, whichever packet it is: it asks nothing of packets themselves.
    pub is_of_flow: bool,
    /// Which of the rule's lists are about packets: a bit for each. The others are about what a protocol made of the stream.
    pub lists: u64,
    /// Whether it asks for the bytes of a header.
    pub has_headers: bool,
    /// Of a rule that asks of what a protocol made of the stream, too: whether the stream is searched for a pattern of it.
    pub is_searched: bool,
}

/// Whether a list is about packets.
pub(crate) fn is_of_packets(sticky: Sticky) -> bool {
    use Sticky as S;
    matches!(
        sticky,
        S::Payload
            | S::Ipv4Header
            | S::Ipv6Header
            | S::TcpHeader
            | S::UdpHeader
            | S::Icmpv4Header
            | S::Icmpv6Header
    )
}

/// Whether a list is about what a protocol makes of a stream.
pub(crate) fn is_of_content(sticky: Sticky) -> bool {
    sticky != Sticky::Base64Data && !is_of_packets(sticky)
}

impl Asked {
    /// Of a rule; `None` where it asks nothing of packets.
    pub fn of(rule: &Rule) -> Option<Self> {
        let own = rule.lists.iter().filter(|list| list.sticky != Sticky::Base64Data);
        let bits = own.zip(0..).filter(|(list, _)| is_of_packets(list.sticky)).map(|(_, bit)| 1_u64 << bit);
        let lists = bits.fold(0, |all, bit| all | bit);
        let has_content = rule.lists.iter().any(|list| is_of_content(list.sticky));
        let asks = !rule.packet.is_empty()
            || !rule.stream_sizes.is_empty()
            || !rule.events.is_empty()
            || rule.flow.is_fragmented.is_some();
        (asks || lists != 0 || !has_content).then(|| Self {
            tests: rule.packet.clone().into(),
            stream_sizes: rule.stream_sizes.clone().into(),
            events: rule.events.clone().into(),
            reads: reads(rule),
            occasion: occasion(rule),
            is_of_flow: is_of_flow(rule),
            lists,
            has_headers: rule
                .lists
                .iter()
                .any(|list| is_of_packets(list.sticky) && list.sticky != Sticky::Payload),
            is_searched: false,
        })
    }

    /// The first event of a packet that it asks for.
    pub fn event(&self) -> Option<Event> {
        self.tests.iter().find_map(event_of)
    }
}

/// The event that a test asks for.
pub(crate) fn event_of(test: &PacketTest) -> Option<Event> {
    match test {
        PacketTest::DecodeEvent(name) => Event::from_decode_name(name),
        PacketTest::StreamEvent(name) => Event::from_stream_name(name),
        _ => None,
    }
}

fn reads(rule: &Rule) -> Reads {
    // Who asks for a packet's header asks for what is in that packet.
    let is_of_packet = rule.packet.iter().any(|test| !matches!(test, PacketTest::FlowAge(_)));
    match (rule.header.protocol, rule.flow.stream) {
        (Protocol::TcpPacket, _) | (_, Some(Stream::No)) => Reads::Packet,
        (Protocol::TcpStream, _) | (_, Some(Stream::Only)) => Reads::StreamOnly,
        _ if is_of_packet => Reads::Packet,
        _ if rule.lists.iter().flat_map(|list| &list.tests).any(is_placed) => Reads::Either,
        _ => Reads::Stream,
    }
}

/// Whether a content has a place that is counted from the beginning.
fn is_placed(test: &Test) -> bool {
    match test {
        Test::Content(content) => match content.place {
            Place::Absolute { offset, depth } => offset != Amount::Number(0) || depth.is_some(),
            Place::Relative { .. } => false,
        },
        _ => false,
    }
}

/// Whether a rule asks for nothing but who speaks to whom, and in which protocol.
fn is_bare(rule: &Rule) -> bool {
    rule.lists.is_empty()
        && rule.packet.is_empty()
        && rule.stream_sizes.is_empty()
        && rule.events.is_empty()
        && rule.integers.is_empty()
        && rule.flow.is_fragmented.is_none()
}

fn is_of_flow(rule: &Rule) -> bool {
    let is_application = rule.header.protocol.is_application() || !rule.applications.is_empty();
    let is_untold = rule.flow == Default::default();
    is_bare(rule) && (is_application || is_untold && (rule.header.action == Action::Pass || !has_ports(rule)))
}

fn has_ports(rule: &Rule) -> bool {
    !rule.header.source_ports.is_any() || !rule.header.destination_ports.is_any()
}

fn occasion(rule: &Rule) -> Occasion {
    let header = &rule.header;
    let is_untold = rule.flow == Default::default();
    match (is_bare(rule), rule.applications.is_empty()) {
        (true, false) if !header.protocol.is_application() => Occasion::ProtocolKnown,
        (true, true) if is_untold && !has_ports(rule) && is_below_protocols(header.protocol) => {
            Occasion::FirstOfSide
        }
        _ => Occasion::Packet,
    }
}

fn is_below_protocols(protocol: Protocol) -> bool {
    !protocol.is_application() && protocol != Protocol::PacketHeader
}
