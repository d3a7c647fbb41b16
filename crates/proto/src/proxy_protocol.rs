//! The PROXY protocol, versions 1 and 2: the client's address from a load balancer. Rule: bounded, and no byte too many.
//!
//! <https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt>. The caller gathers bytes and calls [`parse`] until it
//! says something other than `NeedInput`; what stands behind `consumed` belongs to the protocol inside.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest header taken. Version 1 has at most 107 bytes; version 2 could have 65,551 and has in practice far less.
pub const HEADER_BYTES_MAX: usize = 4096;

const V1_BYTES_MAX: usize = 107;
const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED_BYTES: usize = 16;
const TLV_CRC32C: u8 = 0x03;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The proxy speaks for itself (a health check), or cannot tell: the connection's own addresses hold.
    Local,
    /// It speaks for this connection.
    Proxied {
        /// The client.
        source: SocketAddr,
        /// Where the client connected to.
        destination: SocketAddr,
    },
}

/// Why a header cannot be read; the connection must be closed, since the client's address is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes begin with neither version's mark.
    NoHeader,
    /// A version 1 line that does not follow the grammar.
    Line,
    /// A version or command of version 2 that is not known.
    Version,
    /// Longer than [`HEADER_BYTES_MAX`].
    TooLong,
    /// The addresses do not fit into the length told.
    Addresses,
    /// The additional values do not fit into the length told.
    Values,
    /// The checksum is wrong.
    Checksum,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHeader => "no PROXY header; is the load balancer set to send one?",
            Self::Line => "the PROXY line is malformed",
            Self::Version => "the version or command of the PROXY header is not known",
            Self::TooLong => "the PROXY header is too long",
            Self::Addresses => "the addresses of the PROXY header are cut off",
            Self::Values => "the additional values of the PROXY header are cut off",
            Self::Checksum => "the checksum of the PROXY header is wrong",
        })
    }
}

/// What the bytes came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Not complete.
    NeedInput,
    /// A header of so many bytes.
    Header {
        /// Bytes of the input used.
        consumed: usize,
        /// What it says.
        header: Header,
    },
    /// None.
    Malformed(Malformed),
}

/// Reads the header at the start of all bytes received so far.
pub fn parse(input: &[u8]) -> Parsed {
    if starts_alike(input, V2_SIGNATURE) {
        return parse_v2(input).unwrap_or_else(Parsed::Malformed);
    }
    if starts_alike(input, b"PROXY ") {
        return parse_v1(input).unwrap_or_else(Parsed::Malformed);
    }
    Parsed::Malformed(Malformed::NoHeader)
}

/// Whether the mark is there, or may be when more has come.
fn starts_alike(input: &[u8], mark: &[u8]) -> bool {
    let length = input.len().min(mark.len());
    input.get(..length) == mark.get(..length)
}

fn parse_v1(input: &[u8]) -> Result<Parsed, Malformed> {
    let window = input.get(..V1_BYTES_MAX.min(input.len())).unwrap_or_default();
    let Some(end) = memchr::memchr(b'\n', window) else {
        return if window.len() < V1_BYTES_MAX { Ok(Parsed::NeedInput) } else { Err(Malformed::TooLong) };
    };
    let line = window.get(..end).and_then(|line| line.strip_suffix(b"\r")).ok_or(Malformed::Line)?;
    let line = std::str::from_utf8(line).map_err(|_| Malformed::Line)?;
    let fields: Vec<&str> = line.split(' ').collect();
    let header = match fields.as_slice() {
        // Whatever follows must be ignored.
        ["PROXY", "UNKNOWN", ..] => Header::Local,
        ["PROXY", family @ ("TCP4" | "TCP6"), source, destination, source_port, destination_port] => {
            Header::Proxied {
                source: v1_address(family, source, source_port)?,
                destination: v1_address(family, destination, destination_port)?,
            }
        }
        _ => return Err(Malformed::Line),
    };
    Ok(Parsed::Header { consumed: end + 1, header })
}

fn v1_address(family: &str, address: &str, port: &str) -> Result<SocketAddr, Malformed> {
    let address: IpAddr = address.parse().map_err(|_| Malformed::Line)?;
    let is_digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    if address.is_ipv4() != (family == "TCP4") || !is_digits {
        return Err(Malformed::Line);
    }
    Ok(SocketAddr::new(address, port.parse().map_err(|_| Malformed::Line)?))
}

fn parse_v2(input: &[u8]) -> Result<Parsed, Malformed> {
    let Some(fixed) = input.first_chunk::<V2_FIXED_BYTES>() else { return Ok(Parsed::NeedInput) };
    let [.., version, family, high, low] = *fixed;
    if version >> 4 != 2 || version & 0xf > 1 {
        return Err(Malformed::Version);
    }
    let consumed = V2_FIXED_BYTES + usize::from(u16::from_be_bytes([high, low]));
    if consumed > HEADER_BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let Some(whole) = input.get(..consumed) else { return Ok(Parsed::NeedInput) };
    let rest = whole.get(V2_FIXED_BYTES..).unwrap_or_default();
    let (addresses, values) = match family {
        // TCP over IPv4, over IPv6.
        0x11 => v2_v4(rest).ok_or(Malformed::Addresses)?,
        0x21 => v2_v6(rest).ok_or(Malformed::Addresses)?,
        // What is not TCP cannot be this connection's client: to be taken as unspecified.
        _ => return Ok(Parsed::Header { consumed, header: Header::Local }),
    };
    check_values(whole, values)?;
    let header = if version & 0xf == 0 { Header::Local } else { addresses };
    Ok(Parsed::Header { consumed, header })
}

fn v2_v4(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let (source, rest) = bytes.split_first_chunk::<4>()?;
    let (destination, rest) = rest.split_first_chunk::<4>()?;
    v2_ports(Ipv4Addr::from(*source).into(), Ipv4Addr::from(*destination).into(), rest)
}

fn v2_v6(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let (source, rest) = bytes.split_first_chunk::<16>()?;
    let (destination, rest) = rest.split_first_chunk::<16>()?;
    v2_ports(Ipv6Addr::from(*source).into(), Ipv6Addr::from(*destination).into(), rest)
}

fn v2_ports(source: IpAddr, destination: IpAddr, bytes: &[u8]) -> Option<(Header, &[u8])> {
    let (ports, rest) = bytes.split_first_chunk::<4>()?;
    let [a, b, c, d] = *ports;
    let header = Header::Proxied {
        source: SocketAddr::new(source, u16::from_be_bytes([a, b])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([c, d])),
    };
    Some((header, rest))
}

/// Skips the type-length-values; the one that is a checksum is checked.
fn check_values(whole: &[u8], mut values: &[u8]) -> Result<(), Malformed> {
    while !values.is_empty() {
        let (head, rest) = values.split_first_chunk::<3>().ok_or(Malformed::Values)?;
        let [kind, high, low] = *head;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (value, rest) = rest.split_at_checked(length).ok_or(Malformed::Values)?;
        if kind == TLV_CRC32C {
            let told: [u8; 4] = value.try_into().map_err(|_| Malformed::Checksum)?;
            // Over the whole header, with zeros in the checksum's own place.
            let at = whole.len() - rest.len() - value.len();
            let (before, behind) = whole.split_at(at);
            let crc = crc32c(crc32c(crc32c(!0, before), &[0; 4]), behind.get(4..).unwrap_or_default());
            if !crc != u32::from_be_bytes(told) {
                return Err(Malformed::Checksum);
            }
        }
        values = rest;
    }
    Ok(())
}

/// CRC-32C (RFC 9260 appendix A), bit by bit: a header is short and comes once.
fn crc32c(mut crc: u32, bytes: &[u8]) -> u32 {
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    crc
}

/// Which form to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// The header to send to a next hop.
pub fn encode(version: Version, header: Header) -> Vec<u8> {
    let addresses = match header {
        Header::Local => None,
        Header::Proxied { source, destination } => Some(same_family(source, destination)),
    };
    match version {
        Version::V1 => encode_v1(addresses),
        Version::V2 => encode_v2(addresses),
    }
}

/// Both as IPv4 if both are, else both as IPv6: the format has no mixed form.
fn same_family(source: SocketAddr, destination: SocketAddr) -> (SocketAddr, SocketAddr) {
    let canonical = |a: SocketAddr| SocketAddr::new(a.ip().to_canonical(), a.port());
    let (source, destination) = (canonical(source), canonical(destination));
    if source.is_ipv4() == destination.is_ipv4() {
        return (source, destination);
    }
    let mapped = |a: SocketAddr| match a.ip() {
        IpAddr::V4(v4) => SocketAddr::new(v4.to_ipv6_mapped().into(), a.port()),
        IpAddr::V6(_) => a,
    };
    (mapped(source), mapped(destination))
}

fn encode_v1(addresses: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    let Some((source, destination)) = addresses else { return b"PROXY UNKNOWN\r\n".to_vec() };
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port()).into_bytes()
}

fn encode_v2(addresses: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    let mut out = V2_SIGNATURE.to_vec();
    let Some((source, destination)) = addresses else {
        out.extend_from_slice(&[0x20, 0, 0, 0]);
        return out;
    };
    out.extend_from_slice(if source.is_ipv4() { &[0x21, 0x11, 0, 12] } else { &[0x21, 0x21, 0, 36] });
    for address in [source, destination] {
        match address.ip() {
            IpAddr::V4(v4) => out.extend_from_slice(&v4.octets()),
            IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
        }
    }
    out.extend_from_slice(&source.port().to_be_bytes());
    out.extend_from_slice(&destination.port().to_be_bytes());
    out
}

#[cfg(test)]
#[path = "proxy_protocol_tests.rs"]
mod tests;
