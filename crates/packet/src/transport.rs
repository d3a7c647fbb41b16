//! Headers of TCP, UDP, ICMP and SCTP as they lie in a frame. Rule: a view is only made of a header that is whole.

use crate::bytes::{be16, be32};

/// The shortest header of TCP.
pub(crate) const TCP_HEADER_BYTES: usize = 20;
/// The header of UDP.
pub(crate) const UDP_HEADER_BYTES: usize = 8;
/// The part of the header that all messages of ICMP share, with what identifies an echo.
pub(crate) const ICMP_HEADER_BYTES: usize = 8;
/// The common header of SCTP.
pub(crate) const SCTP_HEADER_BYTES: usize = 12;

/// The flags of TCP, as `flags` and EVE have them.
pub mod tcp_flag {
    #![allow(missing_docs, reason = "each is the flag of its name")]
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
    pub const URG: u8 = 0x20;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;
}

/// What the IP packet carries.
#[derive(Clone, Copy, Debug, Default)]
pub enum Transport<'a> {
    /// Nothing that was decoded: a fragment, another protocol, a broken header.
    #[default]
    None,
    /// TCP.
    Tcp(Tcp<'a>),
    /// UDP.
    Udp(Udp<'a>),
    /// ICMP, for IPv4.
    Icmp4(Icmp<'a>),
    /// ICMPv6.
    Icmp6(Icmp<'a>),
    /// SCTP.
    Sctp(Sctp<'a>),
}

/// A segment of TCP (RFC 9293).
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    header: &'a [u8],
    options: TcpOptions<'a>,
}

/// The options of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions<'a> {
    /// Maximum segment size, in bytes: `tcp.mss`.
    pub mss: Option<u16>,
    /// Window scale (RFC 7323), as sent: `tcp.wscale`.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgement is permitted (RFC 2018).
    pub sack_permitted: bool,
    /// The blocks of selective acknowledgement, eight bytes each.
    pub sack: Option<&'a [u8]>,
    /// Timestamps (RFC 7323): the value and the echo.
    pub timestamps: Option<(u32, u32)>,
    /// The cookie of TCP Fast Open (RFC 7413).
    pub fast_open: Option<&'a [u8]>,
    /// Whether the segment is signed by MD5 (RFC 2385) or TCP-AO (RFC 5925).
    pub signed: bool,
}

impl<'a> Tcp<'a> {
    pub(crate) fn new(header: &'a [u8], options: TcpOptions<'a>) -> Option<Self> {
        (header.len() >= TCP_HEADER_BYTES).then_some(Self { header, options })
    }

    /// The header with its options: `tcp.hdr`.
    pub fn header(&self) -> &'a [u8] {
        self.header
    }

    /// The sender's port.
    pub fn source(&self) -> u16 {
        be16(self.header, 0).unwrap_or(0)
    }

    /// The receiver's port.
    pub fn destination(&self) -> u16 {
        be16(self.header, 2).unwrap_or(0)
    }

    /// The sequence number: `seq`.
    pub fn sequence(&self) -> u32 {
        be32(self.header, 4).unwrap_or(0)
    }

    /// The acknowledgement number: `ack`.
    pub fn acknowledgement(&self) -> u32 {
        be32(self.header, 8).unwrap_or(0)
    }

    /// The eight flags: `flags` ([`tcp_flag`]).
    pub fn flags(&self) -> u8 {
        self.header[13]
    }

    /// Whether it has all of these flags.
    pub fn has(&self, flags: u8) -> bool {
        self.flags() & flags == flags
    }

    /// The window as it stands there, not scaled: `window`.
    pub fn window(&self) -> u16 {
        be16(self.header, 14).unwrap_or(0)
    }

    /// The urgent pointer.
    pub fn urgent(&self) -> u16 {
        be16(self.header, 18).unwrap_or(0)
    }

    /// Its options.
    pub fn options(&self) -> TcpOptions<'a> {
        self.options
    }
}

/// A datagram of UDP (RFC 768).
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    header: &'a [u8],
}

impl<'a> Udp<'a> {
    pub(crate) fn new(header: &'a [u8]) -> Option<Self> {
        (header.len() == UDP_HEADER_BYTES).then_some(Self { header })
    }

    /// The header: `udp.hdr`.
    pub fn header(&self) -> &'a [u8] {
        self.header
    }

    /// The sender's port.
    pub fn source(&self) -> u16 {
        be16(self.header, 0).unwrap_or(0)
    }

    /// The receiver's port.
    pub fn destination(&self) -> u16 {
        be16(self.header, 2).unwrap_or(0)
    }

    /// Length of header and payload as the header has it.
    pub fn bytes(&self) -> u16 {
        be16(self.header, 4).unwrap_or(0)
    }

    /// The checksum; 0 says that there is none.
    pub fn checksum_field(&self) -> u16 {
        be16(self.header, 6).unwrap_or(0)
    }
}

/// A message of ICMP (RFC 792) or ICMPv6 (RFC 4443).
#[derive(Clone, Copy, Debug)]
pub struct Icmp<'a> {
    header: &'a [u8],
    version: IcmpVersion,
}

/// Which ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IcmpVersion {
    /// For IPv4.
    Four,
    /// For IPv6.
    Six,
}

impl<'a> Icmp<'a> {
    pub(crate) fn new(header: &'a [u8], version: IcmpVersion) -> Option<Self> {
        (header.len() == ICMP_HEADER_BYTES).then_some(Self { header, version })
    }

    /// The first eight bytes: `icmpv4.hdr`, `icmpv6.hdr`.
    pub fn header(&self) -> &'a [u8] {
        self.header
    }

    /// The type: `itype`.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// The code: `icode`.
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// The identifier of those messages that have one: `icmp_id`.
    pub fn id(&self) -> Option<u16> {
        self.has_id().then(|| be16(self.header, 4)).flatten()
    }

    /// The sequence number of those messages that have one: `icmp_seq`.
    pub fn sequence(&self) -> Option<u16> {
        self.has_id().then(|| be16(self.header, 6)).flatten()
    }

    /// The MTU that a message "packet too big" (ICMPv6) or "fragmentation needed" (ICMP) names.
    pub fn mtu(&self) -> Option<u32> {
        match (self.version, self.kind(), self.code()) {
            (IcmpVersion::Six, 2, _) => be32(self.header, 4),
            (IcmpVersion::Four, 3, 4) => be16(self.header, 6).map(u32::from),
            _ => None,
        }
    }

    /// Whether it reports an error of a packet that it quotes.
    pub fn is_error(&self) -> bool {
        match self.version {
            IcmpVersion::Four => matches!(self.kind(), 3 | 4 | 5 | 11 | 12),
            IcmpVersion::Six => matches!(self.kind(), 1..=4),
        }
    }

    /// The type that answers this one, or is answered by it.
    pub fn counterpart(&self) -> Option<u8> {
        Some(match (self.version, self.kind()) {
            (IcmpVersion::Four, 0) => 8,
            (IcmpVersion::Four, 8) => 0,
            (IcmpVersion::Four, 9) => 10,
            (IcmpVersion::Four, 10) => 9,
            (IcmpVersion::Four, 13) => 14,
            (IcmpVersion::Four, 14) => 13,
            (IcmpVersion::Four, 15) => 16,
            (IcmpVersion::Four, 16) => 15,
            (IcmpVersion::Four, 17) => 18,
            (IcmpVersion::Four, 18) => 17,
            (IcmpVersion::Six, 128) => 129,
            (IcmpVersion::Six, 129) => 128,
            (IcmpVersion::Six, 130) => 131,
            (IcmpVersion::Six, 131) => 130,
            (IcmpVersion::Six, 133) => 134,
            (IcmpVersion::Six, 134) => 133,
            (IcmpVersion::Six, 135) => 136,
            (IcmpVersion::Six, 136) => 135,
            (IcmpVersion::Six, 139) => 140,
            (IcmpVersion::Six, 140) => 139,
            (IcmpVersion::Six, 144) => 145,
            (IcmpVersion::Six, 145) => 144,
            _ => return None,
        })
    }

    fn has_id(&self) -> bool {
        match self.version {
            IcmpVersion::Four => matches!(self.kind(), 0 | 8 | 13..=18),
            IcmpVersion::Six => matches!(self.kind(), 128 | 129),
        }
    }
}

/// A packet of SCTP (RFC 9260).
#[derive(Clone, Copy, Debug)]
pub struct Sctp<'a> {
    header: &'a [u8],
}

impl<'a> Sctp<'a> {
    pub(crate) fn new(header: &'a [u8]) -> Option<Self> {
        (header.len() == SCTP_HEADER_BYTES).then_some(Self { header })
    }

    /// The common header.
    pub fn header(&self) -> &'a [u8] {
        self.header
    }

    /// The sender's port.
    pub fn source(&self) -> u16 {
        be16(self.header, 0).unwrap_or(0)
    }

    /// The receiver's port.
    pub fn destination(&self) -> u16 {
        be16(self.header, 2).unwrap_or(0)
    }

    /// The verification tag.
    pub fn tag(&self) -> u32 {
        be32(self.header, 4).unwrap_or(0)
    }

    /// The checksum (CRC32c, of which only the receiver makes sure).
    pub fn checksum_field(&self) -> u32 {
        be32(self.header, 8).unwrap_or(0)
    }
}
