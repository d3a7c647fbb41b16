//! What a frame is: [`Packet`], a view of its headers and payload. Rule: it borrows the frame and copies nothing.

use crate::checksum::Checksum;
use crate::event::Events;
use crate::ip::{Ip, protocol};
use crate::transport::{Icmp, IcmpVersion, Sctp, Tcp, Transport, Udp};
use std::net::IpAddr;

/// How many VLAN tags are looked behind: three, as Suricata does.
pub const VLANS_MAX: usize = 3;

/// How a frame begins, by the number that captures have for it (tcpdump.org, "Link-layer header types").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// 0: four bytes, in the order of the machine that captured.
    Null,
    /// 1.
    Ethernet,
    /// 9 and 50.
    Ppp,
    /// 12, 14, 101, 228, 229: IP at once.
    Raw,
    /// 104: Cisco's HDLC.
    Hdlc,
    /// 108: as [`Self::Null`], in network order.
    Loop,
    /// 113: Linux' "any".
    LinuxCooked,
    /// 276: the same, second version.
    LinuxCooked2,
}

impl LinkType {
    /// By the number in a capture file.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            9 | 50 => Self::Ppp,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            104 => Self::Hdlc,
            108 => Self::Loop,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCooked2,
            _ => return None,
        })
    }
}

/// Ethernet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// The sender's address.
    pub source: [u8; 6],
    /// The receiver's address.
    pub destination: [u8; 6],
    /// What follows, before any VLAN tag is taken off.
    pub ether_type: u16,
}

/// The ids of the VLAN tags, outermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vlans {
    ids: [u16; VLANS_MAX],
    count: u8,
}

impl Vlans {
    /// One more, or `false` where there are too many.
    pub(crate) fn add(&mut self, id: u16) -> bool {
        let Some(free) = self.ids.get_mut(usize::from(self.count)) else { return false };
        *free = id;
        self.count += 1;
        true
    }

    /// The ids, outermost first.
    pub fn ids(&self) -> &[u16] {
        self.ids.get(..usize::from(self.count)).unwrap_or_default()
    }
}

/// Where a packet comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is a frame as captured.
    Wire,
    /// It was in a tunnel.
    Tunnel(Tunnel),
    /// It was put together of fragments.
    Rebuilt,
}

/// What a packet may be carried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the tunnel of its name")]
pub enum Tunnel {
    /// RFC 2784, RFC 2890, and RFC 2637 with PPP in it.
    Gre,
    /// Cisco's, in GRE.
    Erspan,
    /// IPv4 in IPv4 (RFC 2003), IPv6 in IPv6 (RFC 2473).
    IpInIp,
    /// RFC 4213.
    Ipv6InIpv4,
    /// RFC 2473.
    Ipv4InIpv6,
    /// RFC 7348.
    Vxlan,
    /// RFC 8926.
    Geneve,
    /// RFC 4380.
    Teredo,
}

/// Whose packet carries others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outermost {
    /// Its sender.
    pub source: IpAddr,
    /// Its receiver.
    pub destination: IpAddr,
    /// Its protocol.
    pub protocol: u8,
    /// Its ports, where its protocol has them.
    pub ports: Option<(u16, u16)>,
}

/// What is in a packet that is a packet itself.
#[derive(Clone, Copy, Debug)]
pub struct Inner<'a> {
    /// What it is carried in.
    pub tunnel: Tunnel,
    /// How it begins.
    pub(crate) begins: InnerBegins,
    /// It.
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InnerBegins {
    EtherType(u16),
    Ethernet,
    Ppp,
}

/// A decoded frame, or a decoded packet out of a tunnel or put together of fragments.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    /// All its bytes, the header of the link layer included where there is one: of what was put together of fragments, that
    /// of one of them.
    pub frame: &'a [u8],
    /// Ethernet's header.
    pub ethernet: Option<Ethernet>,
    /// VLAN tags.
    pub vlans: Vlans,
    /// What follows the link layer's headers.
    pub ether_type: u16,
    /// The headers of IP. `None` where it is something else or broken.
    pub ip: Option<Ip<'a>>,
    /// The header behind IP's.
    pub transport: Transport<'a>,
    /// What is behind the last header that was decoded: `payload`, `dsize`.
    pub payload: &'a [u8],
    /// What is odd about it.
    pub events: Events,
    /// Where it comes from.
    pub origin: Origin,
    /// How many bytes its frame had on the wire.
    pub wire_bytes: usize,
    /// How many packets it is in.
    pub depth: u8,
    /// Who sends the packet that all of these are in.
    pub outermost: Option<Outermost>,
    /// The packet in it, where it is a tunnel's.
    pub inner: Option<Inner<'a>>,
    /// Whether the checksum of its transport is left to the network card, and not there yet.
    pub is_unsummed: bool,
}

impl<'a> Packet<'a> {
    /// Of this nothing is known yet.
    pub(crate) fn unknown(frame: &'a [u8], origin: Origin, depth: u8) -> Self {
        Self {
            frame,
            ethernet: None,
            vlans: Vlans::default(),
            ether_type: 0,
            ip: None,
            transport: Transport::None,
            payload: &[],
            events: Events::default(),
            origin,
            wire_bytes: frame.len(),
            depth,
            outermost: None,
            inner: None,
            is_unsummed: false,
        }
    }

    /// TCP's header.
    pub fn tcp(&self) -> Option<&Tcp<'a>> {
        if let Transport::Tcp(tcp) = &self.transport { Some(tcp) } else { None }
    }

    /// UDP's header.
    pub fn udp(&self) -> Option<&Udp<'a>> {
        if let Transport::Udp(udp) = &self.transport { Some(udp) } else { None }
    }

    /// ICMP's header, of either version.
    pub fn icmp(&self) -> Option<&Icmp<'a>> {
        if let Transport::Icmp4(icmp) | Transport::Icmp6(icmp) = &self.transport { Some(icmp) } else { None }
    }

    /// SCTP's header.
    pub fn sctp(&self) -> Option<&Sctp<'a>> {
        if let Transport::Sctp(sctp) = &self.transport { Some(sctp) } else { None }
    }

    /// The sender's address.
    pub fn source(&self) -> Option<IpAddr> {
        self.ip.as_ref().map(Ip::source)
    }

    /// The receiver's address.
    pub fn destination(&self) -> Option<IpAddr> {
        self.ip.as_ref().map(Ip::destination)
    }

    /// The ports of sender and receiver, of protocols that have them.
    pub fn ports(&self) -> Option<(u16, u16)> {
        match &self.transport {
            Transport::Tcp(tcp) => Some((tcp.source(), tcp.destination())),
            Transport::Udp(udp) => Some((udp.source(), udp.destination())),
            Transport::Sctp(sctp) => Some((sctp.source(), sctp.destination())),
            Transport::None | Transport::Icmp4(_) | Transport::Icmp6(_) => None,
        }
    }

    /// Whether it is a fragment of a packet.
    pub fn is_fragment(&self) -> bool {
        self.ip.as_ref().is_some_and(Ip::is_fragment)
    }

    /// Whether the checksum of IPv4's header is right: `ipv4-csum`.
    pub fn ip_checksum(&self) -> Checksum {
        match &self.ip {
            Some(Ip::V4(ip)) => ip.checksum(),
            Some(Ip::V6(_)) | None => Checksum::Absent,
        }
    }

    /// Whether the checksum of TCP, UDP or ICMP is right: `tcpv4-csum` and its like.
    pub fn transport_checksum(&self) -> Checksum {
        let Some(ip) = self.ip.as_ref().filter(|_| !self.is_unsummed) else { return Checksum::Absent };
        let bytes = ip.payload();
        match &self.transport {
            Transport::Udp(udp) => {
                if udp.checksum_field() == 0 && matches!(ip, Ip::V4(_)) {
                    return Checksum::Absent;
                }
                let bytes = bytes.get(..usize::from(udp.bytes())).unwrap_or(bytes);
                Checksum::of_sum(ip.pseudo_header(bytes.len()).add(bytes))
            }
            Transport::Tcp(_) | Transport::Icmp6(_) => {
                Checksum::of_sum(ip.pseudo_header(bytes.len()).add(bytes))
            }
            Transport::Icmp4(_) => Checksum::of_sum(crate::bytes::Sum::default().add(bytes)),
            Transport::None | Transport::Sctp(_) => Checksum::Absent,
        }
    }

    /// The packet that an error message of ICMP quotes: its addresses, protocol and ports, as its sender wrote them.
    pub fn quoted(&self) -> Option<Quoted> {
        let icmp = self.icmp().filter(|icmp| icmp.is_error())?;
        let _ = icmp;
        crate::decode::quoted(self.payload, self.icmp_version()?)
    }

    pub(crate) fn icmp_version(&self) -> Option<IcmpVersion> {
        match self.transport {
            Transport::Icmp4(_) => Some(IcmpVersion::Four),
            Transport::Icmp6(_) => Some(IcmpVersion::Six),
            _ => None,
        }
    }

    /// Who sends the packet that all of these are in, as those see it that are in this one.
    pub(crate) fn outermost_of_inner(&self) -> Option<Outermost> {
        let own = || {
            let ip = self.ip.as_ref()?;
            let (source, destination) = (ip.source(), ip.destination());
            Some(Outermost { source, destination, protocol: ip.protocol(), ports: self.ports() })
        };
        self.outermost.or_else(own)
    }

    /// What stands before the header of IP.
    pub(crate) fn link_header(&self) -> &'a [u8] {
        self.frame.get(..self.link_bytes()).unwrap_or_default()
    }

    fn link_bytes(&self) -> usize {
        let header = match &self.ip {
            Some(Ip::V4(ip)) => ip.header(),
            Some(Ip::V6(ip)) => ip.header(),
            None => return 0,
        };
        (header.as_ptr() as usize).saturating_sub(self.frame.as_ptr() as usize)
    }

    /// Whether flows are kept of its protocol: TCP, UDP, ICMP, SCTP and ESP.
    pub(crate) fn has_flow(&self) -> bool {
        match (&self.transport, &self.ip) {
            (Transport::None, Some(ip)) => ip.protocol() == protocol::ESP && !ip.is_fragment(),
            (Transport::None, None) => false,
            _ => true,
        }
    }
}

/// Whom a packet quoted by an error message of ICMP was from and for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Its sender.
    pub source: IpAddr,
    /// Its receiver.
    pub destination: IpAddr,
    /// Its protocol.
    pub protocol: u8,
    /// Its ports, where its protocol has them.
    pub ports: (u16, u16),
}
