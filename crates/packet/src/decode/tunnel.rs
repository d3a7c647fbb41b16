//! Packets in packets: GRE, ERSPAN, IP in IP, VXLAN, Geneve, Teredo. Rule: what is inside is a packet of its own, not decoded here.

use super::{Decoding, ether_type};
use crate::bytes::{be16, be32, byte};
use crate::event::Event;
use crate::ip::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, Ip, protocol};
use crate::packet::{InnerBegins, Tunnel};

const VXLAN_PORT: u16 = 4789;
const GENEVE_PORT: u16 = 6081;
const TEREDO_PORT: u16 = 3544;
/// RFC 4380 section 2.6.
const TEREDO_PREFIX: u32 = 0x2001_0000;

/// Bits of GRE's first word (RFC 2784, RFC 2890, RFC 2637).
const GRE_CHECKSUM: u16 = 0x8000;
const GRE_ROUTING: u16 = 0x4000;
const GRE_KEY: u16 = 0x2000;
const GRE_SEQUENCE: u16 = 0x1000;
const GRE_STRICT: u16 = 0x0800;
const GRE_RECURSION: u16 = 0x0700;
/// Version 1 only: an acknowledgement follows.
const GRE_ACKNOWLEDGES: u16 = 0x0080;

impl<'a> Decoding<'a> {
    pub(super) fn gre(&mut self, bytes: &'a [u8]) {
        let (Some(flags), Some(kind)) = (be16(bytes, 0), be16(bytes, 2)) else {
            return self.event(Event::GrePktTooSmall);
        };
        match flags & 7 {
            0 => self.gre_0(flags, kind, bytes),
            1 => self.gre_1(flags, kind, bytes),
            _ => self.event(Event::GreWrongVersion),
        }
    }

    fn gre_0(&mut self, flags: u16, kind: u16, bytes: &'a [u8]) {
        if flags & GRE_RECURSION != 0 {
            return self.event(Event::GreVersion0Recur);
        }
        if flags & 0x00f8 != 0 {
            return self.event(Event::GreVersion0Flags);
        }
        let mut at = 4;
        // Checksum and offset stand there if either is said to.
        at += if flags & (GRE_CHECKSUM | GRE_ROUTING) != 0 { 4 } else { 0 };
        at += if flags & GRE_KEY != 0 { 4 } else { 0 };
        at += if flags & GRE_SEQUENCE != 0 { 4 } else { 0 };
        if flags & GRE_ROUTING != 0 {
            let Some(behind) = source_route(bytes, at) else {
                return self.event(Event::GreVersion0HdrTooBig);
            };
            at = behind;
        }
        let Some(inner) = bytes.get(at..) else { return self.event(Event::GreVersion0HdrTooBig) };
        match kind {
            ether_type::IPV4 | ether_type::IPV6 | ether_type::VLAN => {
                self.inner(Tunnel::Gre, InnerBegins::EtherType(kind), inner)
            }
            ether_type::PPP => self.inner(Tunnel::Gre, InnerBegins::Ppp, inner),
            ether_type::BRIDGED => self.inner(Tunnel::Gre, InnerBegins::Ethernet, inner),
            ether_type::ERSPAN => self.erspan(flags, inner),
            _ => self.packet.payload = inner,
        }
    }

    /// Type I has no header of its own, type II has eight bytes and comes with a sequence number.
    fn erspan(&mut self, flags: u16, bytes: &'a [u8]) {
        if flags & GRE_SEQUENCE == 0 {
            return self.inner(Tunnel::Erspan, InnerBegins::Ethernet, bytes);
        }
        let (Some(first), Some(inner)) = (be16(bytes, 0), bytes.get(8..)) else {
            return self.event(Event::ErspanHeaderTooSmall);
        };
        if first >> 12 != 1 {
            return self.event(Event::ErspanUnsupportedVersion);
        }
        self.inner(Tunnel::Erspan, InnerBegins::Ethernet, inner);
    }

    /// PPTP's (RFC 2637).
    fn gre_1(&mut self, flags: u16, kind: u16, bytes: &'a [u8]) {
        let wrong = [
            (flags & GRE_CHECKSUM != 0, Event::GreVersion1Chksum),
            (flags & GRE_ROUTING != 0, Event::GreVersion1Route),
            (flags & GRE_STRICT != 0, Event::GreVersion1Ssr),
            (flags & GRE_RECURSION != 0, Event::GreVersion1Recur),
            (flags & 0x0078 != 0, Event::GreVersion1Flags),
            (kind != ether_type::PPP, Event::GreVersion1WrongProtocol),
            (flags & GRE_KEY == 0, Event::GreVersion1NoKey),
        ];
        if let Some((_, event)) = wrong.iter().find(|(is, _)| *is) {
            return self.event(*event);
        }
        let mut at = 8;
        at += if flags & GRE_SEQUENCE != 0 { 4 } else { 0 };
        at += if flags & GRE_ACKNOWLEDGES != 0 { 4 } else { 0 };
        match bytes.get(at..) {
            Some(inner) if flags & GRE_SEQUENCE != 0 => self.inner(Tunnel::Gre, InnerBegins::Ppp, inner),
            Some(_) => {}
            None => self.event(Event::GreVersion1HdrTooBig),
        }
    }

    pub(super) fn ip_in_ip(&mut self, number: u8, bytes: &'a [u8]) {
        let outer_is_four = matches!(self.packet.ip, Some(Ip::V4(_)));
        let (kind, version, header_bytes) = match number {
            protocol::IP_IN_IP => (ether_type::IPV4, 4, IPV4_HEADER_BYTES),
            _ => (ether_type::IPV6, 6, IPV6_HEADER_BYTES),
        };
        let tunnel = match (outer_is_four, version) {
            (true, 6) => Tunnel::Ipv6InIpv4,
            (false, 4) => Tunnel::Ipv4InIpv6,
            _ => Tunnel::IpInIp,
        };
        if !outer_is_four {
            let (too_small, wrong_version) = match version {
                4 => (Event::Ipv6Ipv4InIpv6TooSmall, Event::Ipv6Ipv4InIpv6WrongVersion),
                _ => (Event::Ipv6Ipv6InIpv6TooSmall, Event::Ipv6Ipv6InIpv6WrongVersion),
            };
            if bytes.len() < header_bytes {
                return self.event(too_small);
            }
            if byte(bytes, 0).is_none_or(|first| first >> 4 != version) {
                return self.event(wrong_version);
            }
        }
        self.inner(tunnel, InnerBegins::EtherType(kind), bytes);
    }

    /// What is carried by UDP on ports of its own. A datagram that only looks like it stays what it is.
    pub(super) fn udp_tunnel(&mut self, source: u16, destination: u16, payload: &'a [u8]) {
        let is_port = |port| source == port || destination == port;
        if is_port(VXLAN_PORT) {
            self.vxlan(payload);
        } else if is_port(GENEVE_PORT) {
            self.geneve(payload);
        } else {
            self.teredo(is_port(TEREDO_PORT), payload);
        }
    }

    fn vxlan(&mut self, bytes: &'a [u8]) {
        let reserved = be32(bytes, 0).map(|word| word & 0x00ff_ffff) == Some(0) && byte(bytes, 7) == Some(0);
        // The flag that says that there is a network identifier must be set (RFC 7348 section 5).
        if byte(bytes, 0).is_none_or(|flags| flags & 0x08 == 0) || !reserved {
            return;
        }
        let frame = bytes.get(8..).unwrap_or_default();
        match be16(frame, 12) {
            Some(
                ether_type::ARP
                | ether_type::IPV4
                | ether_type::IPV6
                | ether_type::VLAN
                | ether_type::QINQ
                | ether_type::QINQ_OLD,
            ) => self.inner(Tunnel::Vxlan, InnerBegins::Ethernet, frame),
            _ => self.event(Event::VxlanUnknownPayloadType),
        }
    }

    fn geneve(&mut self, bytes: &'a [u8]) {
        let (Some(first), Some(kind)) = (byte(bytes, 0), be16(bytes, 2)) else { return };
        let header_bytes = 8 + usize::from(first & 0x3f) * 4;
        let (0, Some(inner)) = (first >> 6, bytes.get(header_bytes..)) else { return };
        match kind {
            ether_type::BRIDGED => self.inner(Tunnel::Geneve, InnerBegins::Ethernet, inner),
            ether_type::IPV4 | ether_type::IPV6 => {
                self.inner(Tunnel::Geneve, InnerBegins::EtherType(kind), inner)
            }
            _ => self.event(Event::GeneveUnknownPayloadType),
        }
    }

    /// RFC 4380 section 5.1.1: authentication and origin may stand before the packet of IPv6.
    /// Clients speak to each other on any ports: there an address of Teredo must be in it.
    fn teredo(&mut self, is_its_port: bool, mut bytes: &'a [u8]) {
        if be16(bytes, 0) == Some(1) {
            let (Some(client), Some(value)) = (byte(bytes, 2), byte(bytes, 3)) else { return };
            bytes = bytes.get(13 + usize::from(client) + usize::from(value)..).unwrap_or_default();
        }
        if be16(bytes, 0) == Some(0) {
            bytes = bytes.get(8..).unwrap_or_default();
        }
        let is_six = byte(bytes, 0).is_some_and(|first| first >> 4 == 6) && bytes.len() >= IPV6_HEADER_BYTES;
        let fits =
            be16(bytes, 4).is_some_and(|length| usize::from(length) + IPV6_HEADER_BYTES == bytes.len());
        let is_its_address = |at| be32(bytes, at) == Some(TEREDO_PREFIX);
        if is_six && fits && (is_its_port || is_its_address(8) || is_its_address(24)) {
            self.inner(Tunnel::Teredo, InnerBegins::EtherType(ether_type::IPV6), bytes);
        }
    }
}

/// Where the list of source routes ends (RFC 1701): each has its length in its fourth byte, the last none.
fn source_route(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(byte(bytes, at.checked_add(3)?)?);
        at = at.checked_add(4)?;
        if length == 0 {
            return Some(at);
        }
        at = at.checked_add(length)?;
    }
}
