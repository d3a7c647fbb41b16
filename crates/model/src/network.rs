//! An address prefix: [`Network`]. Rule: IPv4 mapped into IPv6 counts as what it is.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address prefix, such as `10.0.0.0/8` or `2001:db8::/32`; an address alone is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

impl Network {
    /// How many bits all its addresses have in common: the more, the fewer they are.
    pub fn prefix_bits(&self) -> u8 {
        self.prefix_bits
    }

    /// Whether the address is in it. An IPv4 address that came mapped into IPv6 counts as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(32 - u32::from(self.prefix_bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(128 - u32::from(self.prefix_bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let wrong = || {
            format!(
                "{text:?} is no network: write an address or a prefix such as 10.0.0.0/8 or 2001:db8::/32"
            )
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|bits| *bits <= bits_max).ok_or_else(wrong)?,
            None => bits_max,
        };
        Ok(Self { address, prefix_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_prefix() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:11.1.2.3"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::/0", "2001:db8::1", "127.0.0.1"),
            ("2001:db8::/32", "2001:db8:ffff::", "2001:db9::"),
            ("::1", "::1", "::2"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{network} contains {inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{network} does not contain {outside}");
        }
        for wrong in ["10.0.0.0/33", "::/129", "ten", "10.0.0/8", "10.0.0.0/", "1.2.3.4/-1"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }
}
