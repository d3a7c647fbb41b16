//! A frame, header by header, into a [`Packet`]. Rule: what is broken or unknown becomes an event, and ends the decoding.

mod ipv4;
mod ipv6;
mod link;
mod transport;
mod tunnel;

#[cfg(test)]
mod tests;

use crate::bytes::be16;
use crate::event::Event;
use crate::ip::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, Ip, Ipv4, Ipv6, protocol};
use crate::packet::{Inner, InnerBegins, LinkType, Origin, Packet, Quoted, Tunnel};
use crate::transport::IcmpVersion;

/// How many headers are looked behind in one packet, as Suricata's `decoder.max-layers`.
const LAYERS_MAX: u8 = 16;

/// How many packets may be in one another: a tunnel in a tunnel …
pub const DEPTH_MAX: u8 = 16;

/// Types of Ethernet (IANA, "EtherType").
pub(crate) mod ether_type {
    pub(crate) const IPV4: u16 = 0x0800;
    pub(crate) const ARP: u16 = 0x0806;
    pub(crate) const BRIDGED: u16 = 0x6558;
    pub(crate) const VLAN: u16 = 0x8100;
    pub(crate) const IPV6: u16 = 0x86dd;
    pub(crate) const MPLS: u16 = 0x8847;
    pub(crate) const MPLS_MULTICAST: u16 = 0x8848;
    pub(crate) const PPPOE_DISCOVERY: u16 = 0x8863;
    pub(crate) const PPPOE_SESSION: u16 = 0x8864;
    pub(crate) const PPP: u16 = 0x880b;
    pub(crate) const QINQ: u16 = 0x88a8;
    pub(crate) const ERSPAN: u16 = 0x88be;
    pub(crate) const PROVIDER: u16 = 0x88e7;
    pub(crate) const DCE: u16 = 0x8903;
    pub(crate) const VNTAG: u16 = 0x8926;
    pub(crate) const ETAG: u16 = 0x893f;
    pub(crate) const QINQ_OLD: u16 = 0x9100;
}

/// A packet that is being decoded.
struct Decoding<'a> {
    packet: Packet<'a>,
    layers: u8,
}

impl<'a> Packet<'a> {
    /// Decodes a frame as captured.
    pub fn decode(link: LinkType, frame: &'a [u8]) -> Self {
        let mut decoding = Decoding::of(Packet::unknown(frame, Origin::Wire, 0));
        decoding.link(link, frame);
        decoding.packet
    }

    /// Decodes the packet that is in this one, if one is, and not too deep.
    pub fn decode_inner(&self) -> Option<Self> {
        let Inner { tunnel, begins, bytes } = self.inner?;
        if self.depth >= DEPTH_MAX {
            return None;
        }
        let mut packet = Packet::unknown(bytes, Origin::Tunnel(tunnel), self.depth + 1);
        packet.vlans = self.vlans;
        packet.outermost = self.outermost_of_inner();
        packet.is_unsummed = self.is_unsummed;
        let mut decoding = Decoding::of(packet);
        match begins {
            InnerBegins::EtherType(kind) => decoding.ether_type(kind, bytes),
            InnerBegins::Ethernet => decoding.ethernet(bytes),
            InnerBegins::Ppp => decoding.ppp(bytes),
        }
        Some(decoding.packet)
    }

    /// Decodes what was put together of fragments, of which `last` was the one that had been missing; its link layer's header
    /// stands before it.
    pub(crate) fn decode_rebuilt(frame: &'a [u8], last: &Packet<'_>) -> Self {
        let mut packet = Packet::unknown(frame, Origin::Rebuilt, last.depth);
        packet.outermost = last.outermost;
        packet.vlans = last.vlans;
        packet.is_unsummed = last.is_unsummed;
        packet.ethernet = last.ethernet;
        let mut decoding = Decoding::of(packet);
        decoding.raw(frame.get(last.link_header().len()..).unwrap_or_default());
        decoding.packet
    }
}

impl<'a> Decoding<'a> {
    fn of(packet: Packet<'a>) -> Self {
        Self { packet, layers: 0 }
    }

    fn event(&mut self, event: Event) {
        self.packet.events.add(event);
    }

    /// One header more, or `false` where there have been too many.
    fn layer(&mut self) -> bool {
        self.layers += 1;
        if self.layers > LAYERS_MAX {
            self.event(Event::TooManyLayers);
        }
        self.layers <= LAYERS_MAX
    }

    /// IP at once, of either version.
    fn raw(&mut self, bytes: &'a [u8]) {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => self.ether_type(ether_type::IPV4, bytes),
            Some(6) => self.ether_type(ether_type::IPV6, bytes),
            Some(_) => self.event(Event::IprawInvalidIpVersion),
            None => self.event(Event::Ipv4PktTooSmall),
        }
    }

    /// What IP of either version carries.
    fn carried(&mut self, number: u8, bytes: &'a [u8]) {
        let is_four = matches!(self.packet.ip, Some(Ip::V4(_)));
        match number {
            protocol::TCP => self.tcp(bytes),
            protocol::UDP => self.udp(bytes),
            protocol::ICMP if is_four => self.icmp4(bytes),
            protocol::ICMP => self.event(Event::Ipv6Icmpv4),
            protocol::ICMPV6 if !is_four => self.icmp6(bytes),
            protocol::ICMPV6 => self.event(Event::Ipv4Icmpv6),
            protocol::SCTP => self.sctp(bytes),
            protocol::GRE => self.gre(bytes),
            protocol::IP_IN_IP | protocol::IPV6 => self.ip_in_ip(number, bytes),
            protocol::ESP if bytes.len() < 8 => self.event(Event::EspPktTooSmall),
            protocol::ESP => self.packet.payload = bytes.get(8..).unwrap_or_default(),
            _ => self.packet.payload = bytes,
        }
    }

    /// A packet in the packet.
    fn inner(&mut self, tunnel: Tunnel, begins: InnerBegins, bytes: &'a [u8]) {
        if self.packet.depth >= DEPTH_MAX {
            return self.event(Event::TooManyLayers);
        }
        self.packet.inner = Some(Inner { tunnel, begins, bytes });
    }
}

/// Whom a packet was from and for that an error message of ICMP quotes, of which not all may be there.
pub(crate) fn quoted(bytes: &[u8], version: IcmpVersion) -> Option<Quoted> {
    let (ip, carried) = match version {
        IcmpVersion::Four => {
            let header_bytes = usize::from(bytes.first()? & 15) * 4;
            if bytes.first()? >> 4 != 4 || header_bytes < IPV4_HEADER_BYTES {
                return None;
            }
            let (header, carried) = bytes.split_at_checked(header_bytes)?;
            (Ip::V4(Ipv4::new(header, carried, Default::default())?), carried)
        }
        IcmpVersion::Six => {
            let (header, carried) = bytes.split_at_checked(IPV6_HEADER_BYTES)?;
            if header.first()? >> 4 != 6 {
                return None;
            }
            (Ip::V6(Ipv6::new(header, carried, 0, *header.get(6)?, None)?), carried)
        }
    };
    let protocol = ip.protocol();
    let has_ports = matches!(protocol, protocol::TCP | protocol::UDP | protocol::SCTP);
    let ports = if has_ports { (be16(carried, 0)?, be16(carried, 2)?) } else { (0, 0) };
    Some(Quoted { source: ip.source(), destination: ip.destination(), protocol, ports })
}
