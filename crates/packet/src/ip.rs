//! Headers of IPv4 (RFC 791) and IPv6 (RFC 8200) as they lie in a frame. Rule: a view is only made of a header that is whole.

use crate::bytes::{Sum, array, be16, be32};
use crate::checksum::Checksum;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The shortest header of IPv4.
pub(crate) const IPV4_HEADER_BYTES: usize = 20;
/// The header of IPv6 without extensions.
pub(crate) const IPV6_HEADER_BYTES: usize = 40;

/// The numbers of protocols that something is done with (IANA, "Protocol Numbers").
pub mod protocol {
    #![allow(missing_docs, reason = "each is the protocol of its name")]
    pub const HOP_BY_HOP: u8 = 0;
    pub const ICMP: u8 = 1;
    pub const IP_IN_IP: u8 = 4;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const GRE: u8 = 47;
    pub const ESP: u8 = 50;
    pub const AH: u8 = 51;
    pub const ICMPV6: u8 = 58;
    pub const NO_NEXT: u8 = 59;
    pub const DESTINATION: u8 = 60;
    pub const SCTP: u8 = 132;
    pub const MOBILITY: u8 = 135;
    pub const HIP: u8 = 139;
    pub const SHIM6: u8 = 140;
}

/// A packet of IPv4.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    header: &'a [u8],
    payload: &'a [u8],
    options: Ipv4Options,
}

/// Which options an IPv4 header has, as `ipopts` asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv4Options {
    bits: u16,
}

/// An option of IPv4 that rules have a name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ipv4Option {
    /// End of the list, `eol`.
    End,
    /// `nop`.
    Nothing,
    /// `rr`.
    RecordRoute,
    /// `qs`.
    QuickStart,
    /// `ts`.
    Timestamp,
    /// `sec`.
    Security,
    /// `lsrr`.
    LooseSource,
    /// `esec`.
    ExtendedSecurity,
    /// `cipso`.
    Cipso,
    /// `satid`.
    StreamId,
    /// `ssrr`.
    StrictSource,
    /// `rtralt`.
    RouterAlert,
}

impl Ipv4Option {
    /// The option of this type (IANA, "IP Option Numbers").
    pub fn from_type(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::End,
            1 => Self::Nothing,
            7 => Self::RecordRoute,
            25 => Self::QuickStart,
            68 => Self::Timestamp,
            130 => Self::Security,
            131 => Self::LooseSource,
            133 => Self::ExtendedSecurity,
            134 => Self::Cipso,
            136 => Self::StreamId,
            137 => Self::StrictSource,
            148 => Self::RouterAlert,
            _ => return None,
        })
    }
}

impl Ipv4Options {
    /// Puts one in; says whether it had been there.
    pub(crate) fn add(&mut self, option: Ipv4Option) -> bool {
        let had = self.has(option);
        self.bits |= 1 << option as u16;
        had
    }

    /// Whether it is there.
    pub fn has(self, option: Ipv4Option) -> bool {
        self.bits >> option as u16 & 1 == 1
    }

    /// Whether there is any.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }
}

impl<'a> Ipv4<'a> {
    /// `header` with its options, `payload` without what the link layer appended.
    pub(crate) fn new(header: &'a [u8], payload: &'a [u8], options: Ipv4Options) -> Option<Self> {
        (header.len() >= IPV4_HEADER_BYTES).then_some(Self { header, payload, options })
    }

    /// The header with its options: `ipv4.hdr`.
    pub fn header(&self) -> &'a [u8] {
        self.header
    }

    /// What comes behind the header.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Type of service: `tos`.
    pub fn tos(&self) -> u8 {
        self.header[1]
    }

    /// Length of header and payload as the header has it.
    pub fn total_bytes(&self) -> u16 {
        be16(self.header, 2).unwrap_or(0)
    }

    /// The identification: `id`.
    pub fn id(&self) -> u16 {
        be16(self.header, 4).unwrap_or(0)
    }

    /// The three flags, lowest bit first more fragments, don't fragment, reserved: `fragbits`.
    pub fn flags(&self) -> u8 {
        self.header[6] >> 5
    }

    /// Whether more fragments follow.
    pub fn more_fragments(&self) -> bool {
        self.flags() & 1 == 1
    }

    /// The fragment's offset in units of eight bytes: `fragoffset`.
    pub fn fragment_offset(&self) -> u16 {
        be16(self.header, 6).unwrap_or(0) & 0x1fff
    }

    /// Time to live: `ttl`.
    pub fn ttl(&self) -> u8 {
        self.header[8]
    }

    /// The protocol of the payload: `ip_proto`.
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// The sender.
    pub fn source(&self) -> Ipv4Addr {
        array::<4>(self.header, 12).unwrap_or_default().into()
    }

    /// The receiver.
    pub fn destination(&self) -> Ipv4Addr {
        array::<4>(self.header, 16).unwrap_or_default().into()
    }

    /// Its options: `ipopts`.
    pub fn options(&self) -> Ipv4Options {
        self.options
    }

    /// Whether the header's checksum is right.
    pub fn checksum(&self) -> Checksum {
        Checksum::of_sum(Sum::default().add(self.header))
    }
}

/// A packet of IPv6.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<'a> {
    header: &'a [u8],
    extensions: &'a [u8],
    /// Extensions and payload.
    behind: &'a [u8],
    payload: &'a [u8],
    protocol: u8,
    fragment: Option<FragmentHeader>,
}

/// The fragment header of IPv6 (RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentHeader {
    /// Which packet it is a fragment of.
    pub id: u32,
    /// In units of eight bytes.
    pub offset: u16,
    /// Whether more fragments follow.
    pub more: bool,
    /// The protocol of what has been cut up.
    pub next: u8,
    /// Where the header begins among the extensions, in bytes.
    pub at: usize,
}

impl<'a> Ipv6<'a> {
    pub(crate) fn new(
        header: &'a [u8],
        behind: &'a [u8],
        extension_bytes: usize,
        protocol: u8,
        fragment: Option<FragmentHeader>,
    ) -> Option<Self> {
        let (extensions, payload) = behind.split_at_checked(extension_bytes)?;
        let view = Self { header, extensions, behind, payload, protocol, fragment };
        (header.len() == IPV6_HEADER_BYTES).then_some(view)
    }

    /// The fixed header: `ipv6.hdr`.
    pub fn header(&self) -> &'a [u8] {
        self.header
    }

    /// The extension headers, as they came.
    pub fn extensions(&self) -> &'a [u8] {
        self.extensions
    }

    /// What comes behind the extension headers.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// What comes behind so many bytes of extension headers: the others, and the payload.
    pub(crate) fn behind_extensions(&self, at: usize) -> Option<&'a [u8]> {
        self.behind.get(at..)
    }

    /// Where, from the header's first byte on, stands what announces the extension header at `at`.
    pub(crate) fn announces(&self, at: usize) -> Option<usize> {
        let (mut announced_at, mut header_at, mut kind) = (6, 0, self.next_header());
        while header_at < at {
            let length = usize::from(*self.extensions.get(header_at + 1)?);
            let header_bytes = if kind == protocol::AH { (length + 2) * 4 } else { (length + 1) * 8 };
            announced_at = IPV6_HEADER_BYTES + header_at;
            kind = *self.extensions.get(header_at)?;
            header_at += header_bytes;
        }
        Some(announced_at)
    }

    /// Traffic class: `tos`.
    pub fn traffic_class(&self) -> u8 {
        self.header[0] << 4 | self.header[1] >> 4
    }

    /// The flow label.
    pub fn flow_label(&self) -> u32 {
        be32(self.header, 0).unwrap_or(0) & 0xf_ffff
    }

    /// Length of extensions and payload as the header has it.
    pub fn payload_bytes(&self) -> u16 {
        be16(self.header, 4).unwrap_or(0)
    }

    /// The first next header.
    pub fn next_header(&self) -> u8 {
        self.header[6]
    }

    /// Hop limit: `ttl`.
    pub fn hop_limit(&self) -> u8 {
        self.header[7]
    }

    /// The protocol behind the extension headers: `ip_proto`.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// The fragment header, if there is one.
    pub fn fragment(&self) -> Option<FragmentHeader> {
        self.fragment
    }

    /// The sender.
    pub fn source(&self) -> Ipv6Addr {
        array::<16>(self.header, 8).unwrap_or_default().into()
    }

    /// The receiver.
    pub fn destination(&self) -> Ipv6Addr {
        array::<16>(self.header, 24).unwrap_or_default().into()
    }
}

/// A packet of either version.
#[derive(Clone, Copy, Debug)]
pub enum Ip<'a> {
    /// Version 4.
    V4(Ipv4<'a>),
    /// Version 6.
    V6(Ipv6<'a>),
}

impl<'a> Ip<'a> {
    /// The sender.
    pub fn source(&self) -> IpAddr {
        match self {
            Self::V4(ip) => ip.source().into(),
            Self::V6(ip) => ip.source().into(),
        }
    }

    /// The receiver.
    pub fn destination(&self) -> IpAddr {
        match self {
            Self::V4(ip) => ip.destination().into(),
            Self::V6(ip) => ip.destination().into(),
        }
    }

    /// The protocol of the payload: `ip_proto`.
    pub fn protocol(&self) -> u8 {
        match self {
            Self::V4(ip) => ip.protocol(),
            Self::V6(ip) => ip.protocol(),
        }
    }

    /// Time to live or hop limit: `ttl`.
    pub fn ttl(&self) -> u8 {
        match self {
            Self::V4(ip) => ip.ttl(),
            Self::V6(ip) => ip.hop_limit(),
        }
    }

    /// What comes behind the headers of IP.
    pub fn payload(&self) -> &'a [u8] {
        match self {
            Self::V4(ip) => ip.payload(),
            Self::V6(ip) => ip.payload(),
        }
    }

    /// Whether sender and receiver are the same: `sameip`.
    pub fn is_same(&self) -> bool {
        self.source() == self.destination()
    }

    /// Whether it is a fragment, of which there are others.
    pub fn is_fragment(&self) -> bool {
        match self {
            Self::V4(ip) => ip.more_fragments() || ip.fragment_offset() != 0,
            Self::V6(ip) => ip.fragment().is_some_and(|header| header.more || header.offset != 0),
        }
    }

    /// The sum of the pseudo header that checksums of TCP, UDP and ICMPv6 are over (RFC 9293 section 3.1, RFC 8200
    /// section 8.1).
    pub(crate) fn pseudo_header(&self, bytes: usize) -> Sum {
        let sum = Sum::default().add_number(u32::from(self.protocol()));
        let addresses = match self {
            Self::V4(ip) => &ip.header[12..20],
            Self::V6(ip) => &ip.header[8..40],
        };
        sum.add(addresses).add_number(u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}
