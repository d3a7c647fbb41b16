//! Where data is to go, as commands and replies say it. Rule: what is not of the form is no endpoint.

use std::net::{IpAddr, Ipv4Addr};

/// Where a data connection leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// `None` where it is that of the control connection.
    pub address: Option<IpAddr>,
    /// Never 0.
    pub port: u16,
}

/// Of `PORT`: `192,0,2,1,4,1` (RFC 959 section 4.1.2).
pub fn of_port(argument: &[u8]) -> Option<Endpoint> {
    let text = std::str::from_utf8(argument).ok()?;
    let mut numbers = [0_u8; 6];
    let mut fields = text.trim().split(',');
    for number in &mut numbers {
        *number = fields.next()?.trim().parse().ok()?;
    }
    let [a, b, c, d, high, low] = numbers;
    let port = u16::from_be_bytes([high, low]);
    let address = Some(IpAddr::from(Ipv4Addr::new(a, b, c, d)));
    (fields.next().is_none() && port > 0).then_some(Endpoint { address, port })
}

/// Of the reply to `PASV`: the numbers of `PORT` anywhere in the line, mostly in parentheses (RFC 1123 section 4.1.2.6).
pub fn of_pasv(text: &[u8]) -> Option<Endpoint> {
    let is_of_it = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
    let words = text.split(|byte| !is_of_it(byte));
    words.filter(|word| word.len() >= 11).find_map(of_port)
}

/// Of `EPRT`: `|1|192.0.2.1|1025|`, of `EPSV`'s reply `|||1025|` (RFC 2428 section 2).
pub fn of_eprt(argument: &[u8]) -> Option<Endpoint> {
    let text = std::str::from_utf8(argument).ok()?.trim();
    let delimiter = text.chars().next().filter(char::is_ascii_punctuation)?;
    let mut fields = text.split(delimiter).skip(1);
    let (family, address, port) = (fields.next()?, fields.next()?, fields.next()?);
    let address = match (family, address) {
        ("", "") => None,
        (_, address) => Some(address.parse().ok()?),
    };
    let is_family =
        matches!((family, address), ("", None) | ("1", Some(IpAddr::V4(_))) | ("2", Some(IpAddr::V6(_))));
    let port = port.parse().ok().filter(|port| *port > 0)?;
    is_family.then_some(Endpoint { address, port })
}

/// Of the reply to `EPSV`: what stands in its parentheses (RFC 2428 section 3).
pub fn of_epsv(text: &[u8]) -> Option<Endpoint> {
    let from = memchr::memchr(b'(', text)? + 1;
    let rest = text.get(from..)?;
    let to = memchr::memchr(b')', rest)?;
    of_eprt(rest.get(..to)?)
}
