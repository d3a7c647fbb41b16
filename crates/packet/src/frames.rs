//! Frames for tests, made as a network would. Rule: lengths and checksums are right unless a test makes them wrong.

use crate::bytes::Sum;
use crate::transport::tcp_flag;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The client of most tests.
pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The server of most tests.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub(crate) const CLIENT_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
pub(crate) const SERVER_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

/// Ethernet's header before a payload.
pub(crate) fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], &kind.to_be_bytes()[..], payload].concat()
}

/// IPv4 without options.
pub(crate) fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_fragment(source, destination, protocol, (1, 0, false), payload)
}

/// IPv4 with an identification, an offset in bytes, and whether there is more.
pub(crate) fn ipv4_fragment(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    (id, offset, more): (u16, u16, bool),
    payload: &[u8],
) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let place = (offset / 8) | (u16::from(more) << 13);
    let mut header = [&[0x45, 0][..], &total.to_be_bytes(), &id.to_be_bytes(), &place.to_be_bytes()].concat();
    header.extend([64, protocol, 0, 0]);
    header.extend(source.octets());
    header.extend(destination.octets());
    let checksum = Sum::default().add(&header).checksum();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [header, payload.to_vec()].concat()
}

/// IPv6, `next` being the protocol or the first extension header's number.
pub(crate) fn ipv6(source: Ipv6Addr, destination: Ipv6Addr, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [&[0x60, 0, 0, 0][..], &(payload.len() as u16).to_be_bytes(), &[next, 64]].concat();
    header.extend(source.octets());
    header.extend(destination.octets());
    [header, payload.to_vec()].concat()
}

/// Writes the checksum of TCP, UDP or ICMPv6 where it belongs.
fn sealed(source: IpAddr, destination: IpAddr, protocol: u8, at: usize, mut bytes: Vec<u8>) -> Vec<u8> {
    let mut sum = Sum::default().add_number(u32::from(protocol)).add_number(bytes.len() as u32);
    for address in [source, destination] {
        sum = match address {
            IpAddr::V4(address) => sum.add(&address.octets()),
            IpAddr::V6(address) => sum.add(&address.octets()),
        };
    }
    let checksum = sum.add(&bytes).checksum();
    bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// UDP.
pub(crate) fn udp(source: IpAddr, destination: IpAddr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let bytes = [&ports.0.to_be_bytes()[..], &ports.1.to_be_bytes(), &length.to_be_bytes(), &[0, 0], payload]
        .concat();
    sealed(source, destination, 17, 6, bytes)
}

/// A segment of TCP.
#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    pub(crate) ports: (u16, u16),
    pub(crate) sequence: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) options: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

impl Tcp {
    pub(crate) fn bytes(&self, source: IpAddr, destination: IpAddr) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let offset = (((20 + options.len()) / 4) << 4) as u8;
        let mut bytes = [self.ports.0.to_be_bytes(), self.ports.1.to_be_bytes()].concat();
        bytes.extend([self.sequence.to_be_bytes(), self.ack.to_be_bytes()].concat());
        bytes.extend([offset, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0, 0, 0, 0]);
        bytes.extend(options);
        bytes.extend(&self.payload);
        sealed(source, destination, 6, 16, bytes)
    }
}

/// A message of ICMP, its identifier and sequence number in `rest`.
pub(crate) fn icmp(kind: u8, code: u8, rest: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut bytes = [&[kind, code, 0, 0][..], &rest, payload].concat();
    let checksum = Sum::default().add(&bytes).checksum();
    bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// A connection whose segments are made by saying who sends what.
#[derive(Clone, Debug)]
pub(crate) struct Dialogue {
    pub(crate) ports: (u16, u16),
    /// What each side sends next.
    pub(crate) next: [u32; 2],
    pub(crate) window: u16,
}

impl Dialogue {
    pub(crate) fn new(port: u16, isns: [u32; 2]) -> Self {
        Self { ports: (port, 80), next: isns, window: 65_000 }
    }

    /// A frame of side 0, the client, or 1, at a distance from what it sends next; nothing moves on.
    pub(crate) fn at(&self, side: usize, distance: i64, flags: u8, payload: &[u8]) -> Vec<u8> {
        let (from, to): (IpAddr, IpAddr) =
            if side == 0 { (CLIENT.into(), SERVER.into()) } else { (SERVER.into(), CLIENT.into()) };
        let ports = if side == 0 { self.ports } else { (self.ports.1, self.ports.0) };
        let ack = if flags & tcp_flag::ACK != 0 { self.next[1 - side] } else { 0 };
        let segment = Tcp {
            ports,
            sequence: self.next[side].wrapping_add(distance as u32),
            ack,
            flags,
            window: self.window,
            options: Vec::new(),
            payload: payload.to_vec(),
        };
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (from, to) else { unreachable!() };
        ethernet(0x0800, &ipv4(source, destination, 6, &segment.bytes(from, to)))
    }

    /// The next segment of a side.
    pub(crate) fn says(&mut self, side: usize, flags: u8, payload: &[u8]) -> Vec<u8> {
        let frame = self.at(side, 0, flags, payload);
        let more = payload.len() as u32 + u32::from(flags & (tcp_flag::SYN | tcp_flag::FIN) != 0);
        self.next[side] = self.next[side].wrapping_add(more);
        frame
    }

    /// The three segments that begin it.
    pub(crate) fn handshake(&mut self) -> Vec<Vec<u8>> {
        vec![
            self.says(0, tcp_flag::SYN, b""),
            self.says(1, tcp_flag::SYN | tcp_flag::ACK, b""),
            self.says(0, tcp_flag::ACK, b""),
        ]
    }
}
