//! Whether a packet's headers are as a rule asks. Rule: what a packet does not have, is not as asked.

use crate::packets::asked::event_of;
use crate::ruleset::bits::{Counted, StreamSize};
use crate::ruleset::packet::{FlagMode, PacketTest};
use crate::ruleset::sticky::Sticky;
use lockgate_packet::{Checksum, Flow, Ip, Ipv4, Packet, Transport};
use std::borrow::Cow;

/// The message of ICMP that is all header (RFC 1256).
const ROUTER_ADVERTISEMENT: u8 = 9;

/// Whether a packet is as a test asks.
pub(crate) fn holds(test: &PacketTest, packet: &Packet<'_>, flow: Option<&Flow>) -> bool {
    use PacketTest as T;
    let ip = packet.ip.as_ref();
    let tcp = packet.tcp();
    match test {
        T::TimeToLive(is) => ip.is_some_and(|ip| is.holds(ip.ttl().into())),
        T::TypeOfService(is) => v4(packet).is_some_and(|ip| is.holds(ip.tos().into())),
        T::IpId(is) => v4(packet).is_some_and(|ip| is.holds(ip.id().into())),
        T::IpOption(name) => v4(packet).is_some_and(|ip| has_option(ip, name)),
        T::SameAddress => ip.is_some_and(Ip::is_same),
        T::FragmentBits { mode, bits } => v4(packet).is_some_and(|ip| mode.holds(ip.flags(), *bits)),
        T::FragmentOffset(is) => v4(packet).is_some_and(|ip| is.holds((ip.fragment_offset() / 8).into())),
        T::IpProtocol(is) => ip.is_some_and(|ip| is.holds(ip.protocol().into())),
        T::TcpFlags { mode, flags, ignored } => {
            tcp.is_some_and(|tcp| mode.holds(tcp.flags() & !ignored, *flags))
        }
        T::Sequence(is) => tcp.is_some_and(|tcp| is.holds(tcp.sequence().into())),
        T::Acknowledgement(is) => tcp.is_some_and(|tcp| is.holds(tcp.acknowledgement().into())),
        T::Window(is) => tcp.is_some_and(|tcp| is.holds(tcp.window().into())),
        T::SegmentSizeMax(is) => {
            tcp.and_then(|tcp| tcp.options().mss).is_some_and(|mss| is.holds(mss.into()))
        }
        T::IcmpType(is) => packet.icmp().is_some_and(|icmp| is.holds(icmp.kind().into())),
        T::IcmpCode(is) => packet.icmp().is_some_and(|icmp| is.holds(icmp.code().into())),
        T::IcmpId(is) => packet.icmp().and_then(|icmp| icmp.id()).is_some_and(|id| is.holds(id.into())),
        T::IcmpSequence(is) => {
            packet.icmp().and_then(|icmp| icmp.sequence()).is_some_and(|number| is.holds(number.into()))
        }
        T::Icmpv6Mtu(is) => match &packet.transport {
            Transport::Icmp6(icmp) => icmp.mtu().is_some_and(|mtu| is.holds(mtu.into())),
            _ => false,
        },
        T::PayloadSize(is) => ip.is_some() && is.holds(packet.payload.len() as u64),
        T::FlowAge(is) => flow.is_some_and(|flow| is.holds(flow.last.since(flow.started).as_secs())),
        T::Checksum { of, is_valid } => checksum(of, packet).is_some_and(|valid| valid == *is_valid),
        T::DecodeEvent(_) | T::StreamEvent(_) => event_of(test).is_some_and(|event| packet.events.has(event)),
    }
}

fn v4<'a, 'p>(packet: &'p Packet<'a>) -> Option<&'p Ipv4<'a>> {
    if let Some(Ip::V4(ip)) = &packet.ip { Some(ip) } else { None }
}

/// `ipopts`: `any` is any that says something.
fn has_option(ip: &Ipv4<'_>, name: &str) -> bool {
    use lockgate_packet::Ipv4Option as O;
    const NAMES: [(&str, O); 12] = [
        ("eol", O::End),
        ("nop", O::Nothing),
        ("rr", O::RecordRoute),
        ("qs", O::QuickStart),
        ("ts", O::Timestamp),
        ("sec", O::Security),
        ("lsrr", O::LooseSource),
        ("esec", O::ExtendedSecurity),
        ("cipso", O::Cipso),
        ("satid", O::StreamId),
        ("ssrr", O::StrictSource),
        ("rtralt", O::RouterAlert),
    ];
    let options = ip.options();
    NAMES.iter().any(|(its, option)| (*its == name || name == "any") && options.has(*option))
}

/// Whether the checksum of that header is right, where there is one.
fn checksum(of: &str, packet: &Packet<'_>) -> Option<bool> {
    let is_v4 = matches!(packet.ip, Some(Ip::V4(_)));
    let checksum = match (of, &packet.transport) {
        ("ipv4", _) if is_v4 => packet.ip_checksum(),
        ("tcpv4", Transport::Tcp(_)) | ("udpv4", Transport::Udp(_)) if is_v4 => packet.transport_checksum(),
        ("tcpv6", Transport::Tcp(_)) | ("udpv6", Transport::Udp(_)) if !is_v4 => packet.transport_checksum(),
        ("icmpv4", Transport::Icmp4(_)) | ("icmpv6", Transport::Icmp6(_)) => packet.transport_checksum(),
        _ => return None,
    };
    Some(checksum != Checksum::Invalid)
}

impl FlagMode {
    /// Whether flags are as asked.
    pub fn holds(self, has: u8, wanted: u8) -> bool {
        match self {
            Self::Exactly => has == wanted,
            Self::All => has & wanted == wanted,
            Self::Any => has & wanted != 0,
            Self::None => has & wanted == 0,
        }
    }
}

/// Whether the sides of a stream have sent as much as a rule asks.
pub(crate) fn size_holds(asked: StreamSize, flow: Option<&Flow>) -> bool {
    let Some(tcp) = flow.and_then(|flow| flow.tcp) else { return false };
    let [client, server] = tcp.sent_bytes.map(|bytes| asked.size.holds(bytes));
    match asked.of {
        Counted::Client => client,
        Counted::Server => server,
        Counted::Both => client && server,
        Counted::Either => client || server,
    }
}

/// The bytes of a header that a rule looks into.
pub(crate) fn header<'a>(sticky: Sticky, packet: &Packet<'a>) -> Option<Cow<'a, [u8]>> {
    Some(match (sticky, &packet.ip, &packet.transport) {
        (Sticky::Ipv4Header, Some(Ip::V4(ip)), _) => ip.header().into(),
        (Sticky::Ipv6Header, Some(Ip::V6(ip)), _) if ip.extensions().is_empty() => ip.header().into(),
        (Sticky::Ipv6Header, Some(Ip::V6(ip)), _) => [ip.header(), ip.extensions()].concat().into(),
        (Sticky::TcpHeader, _, Transport::Tcp(tcp)) => tcp.header().into(),
        (Sticky::UdpHeader, _, Transport::Udp(udp)) => udp.header().into(),
        (Sticky::Icmpv4Header, _, Transport::Icmp4(icmp)) if icmp.kind() == ROUTER_ADVERTISEMENT => {
            [icmp.header(), packet.payload].concat().into()
        }
        (Sticky::Icmpv4Header, _, Transport::Icmp4(icmp))
        | (Sticky::Icmpv6Header, _, Transport::Icmp6(icmp)) => icmp.header().into(),
        _ => return None,
    })
}
