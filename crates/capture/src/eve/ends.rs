//! Who sends to whom, in an event: [`Ends`]. Rule: of a packet its sender comes first, of what was said the client.

use lockgate_eve::Object;
use lockgate_packet::{Direction, Endpoint, Flow, Outermost, Packet, Transport, protocol};
use std::fmt;
use std::net::IpAddr;

/// Sender and receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    ends: Option<(Endpoint, Endpoint)>,
    protocol: Option<u8>,
    icmp: Option<(u8, u8)>,
}

impl Ends {
    /// Of what goes one way of a flow.
    pub fn of_flow(flow: &Flow, direction: Direction) -> Self {
        let ends = match direction {
            Direction::ToServer => (flow.client, flow.server),
            Direction::ToClient => (flow.server, flow.client),
        };
        Self { ends: Some(ends), protocol: Some(flow.protocol), icmp: flow.icmp }
    }

    /// Of a packet.
    pub fn of_packet(packet: &Packet<'_>) -> Self {
        let (from, to) = packet.ports().unwrap_or_default();
        let end = |address: IpAddr, port| Endpoint { address, port };
        let ends = packet.source().zip(packet.destination());
        Self {
            ends: ends.map(|(source, destination)| (end(source, from), end(destination, to))),
            protocol: packet.ip.as_ref().map(|ip| match packet.transport {
                Transport::Tcp(_) => protocol::TCP,
                Transport::Udp(_) => protocol::UDP,
                _ => ip.protocol(),
            }),
            icmp: packet.icmp().map(|icmp| (icmp.kind(), icmp.code())),
        }
    }

    /// Of the packet that others are in.
    pub fn of_outermost(outermost: &Outermost) -> Self {
        let (from, to) = outermost.ports.unwrap_or_default();
        let end = |address: IpAddr, port| Endpoint { address, port };
        Self {
            ends: Some((end(outermost.source, from), end(outermost.destination, to))),
            protocol: Some(outermost.protocol),
            icmp: None,
        }
    }

    /// Of what goes that way, the client has this address.
    pub fn put_client(&mut self, direction: Direction, address: IpAddr) {
        if let Some((from, to)) = &mut self.ends {
            if direction == Direction::ToServer { from } else { to }.address = address;
        }
    }

    /// Writes them where an event has them.
    pub fn write(&self, event: &mut Object<'_>) {
        self.write_addresses(event);
        self.write_protocol(event);
        if let Some((kind, code)) = self.icmp {
            event.number("icmp_type", kind.into());
            event.number("icmp_code", code.into());
        }
        if let Some((source, _)) = self.ends {
            event.number("ip_v", if source.address.is_ipv4() { 4 } else { 6 });
        }
    }

    /// Writes the protocol alone.
    pub fn write_protocol(&self, event: &mut Object<'_>) {
        if let Some(number) = self.protocol {
            match name(number) {
                Some(name) => event.shown("proto", name),
                None => event.shown("proto", format_args!("{number:03}")),
            }
        }
    }

    /// Writes addresses and ports alone.
    pub fn write_addresses(&self, event: &mut Object<'_>) {
        let Some((source, destination)) = self.ends else { return };
        let has_ports = matches!(self.protocol, Some(protocol::TCP | protocol::UDP | protocol::SCTP));
        event.shown("src_ip", Written(source.address));
        if has_ports {
            event.number("src_port", source.port.into());
        }
        event.shown("dest_ip", Written(destination.address));
        if has_ports {
            event.number("dest_port", destination.port.into());
        }
    }
}

/// An address as Suricata writes it: of IPv6 all digits.
struct Written(IpAddr);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(address) => {
                let [first, rest @ ..] = address.segments();
                write!(f, "{first:04x}")?;
                rest.iter().try_for_each(|group| write!(f, ":{group:04x}"))
            }
        }
    }
}

/// What a protocol of IP is called in EVE.
fn name(number: u8) -> Option<&'static str> {
    Some(match number {
        protocol::ICMP => "ICMP",
        protocol::TCP => "TCP",
        protocol::UDP => "UDP",
        protocol::ICMPV6 => "IPv6-ICMP",
        protocol::SCTP => "SCTP",
        protocol::ESP => "ESP",
        protocol::GRE => "GRE",
        protocol::IPV6 => "IPv6",
        _ => return None,
    })
}
