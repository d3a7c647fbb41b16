//! Headers of TCP, UDP, ICMP and SCTP. Rule: a broken header leaves the packet without a transport, its payload empty.

use super::Decoding;
use crate::bytes::{be16, be32, byte};
use crate::event::Event;
use crate::transport::{
    ICMP_HEADER_BYTES, Icmp, IcmpVersion, SCTP_HEADER_BYTES, Sctp, TCP_HEADER_BYTES, Tcp, TcpOptions,
    Transport, UDP_HEADER_BYTES, Udp,
};

impl<'a> Decoding<'a> {
    pub(super) fn tcp(&mut self, bytes: &'a [u8]) {
        let Some(offset) = byte(bytes, 12).filter(|_| bytes.len() >= TCP_HEADER_BYTES) else {
            return self.event(Event::TcpPktTooSmall);
        };
        let header_bytes = usize::from(offset >> 4) * 4;
        if header_bytes < TCP_HEADER_BYTES {
            return self.event(Event::TcpInvalidOptlen);
        }
        let Some((header, payload)) = bytes.split_at_checked(header_bytes) else {
            return self.event(Event::TcpHlenTooSmall);
        };
        let options = self.tcp_options(header.get(TCP_HEADER_BYTES..).unwrap_or_default());
        if let Some(tcp) = Tcp::new(header, options) {
            self.packet.transport = Transport::Tcp(tcp);
            self.packet.payload = payload;
        }
    }

    fn tcp_options(&mut self, bytes: &'a [u8]) -> TcpOptions<'a> {
        let mut options = TcpOptions::default();
        let mut rest = bytes;
        while let Some((kind, behind)) = rest.split_first() {
            match kind {
                0 => break,
                1 => {
                    rest = behind;
                    continue;
                }
                _ => {}
            }
            let Some(length) = byte(behind, 0) else { break };
            let Some((option, after)) =
                rest.split_at_checked(usize::from(length)).filter(|(option, _)| option.len() >= 2)
            else {
                self.event(Event::TcpOptInvalidLen);
                break;
            };
            rest = after;
            // As RFC 6994 has it: an experiment's number, then as if it had its own.
            let (kind, option) = match option {
                [253 | 254, _, 0xf9, 0x89, ..] => (&34, option.get(2..).unwrap_or_default()),
                _ => (kind, option),
            };
            self.tcp_option(*kind, option.get(2..).unwrap_or_default(), &mut options);
        }
        options
    }

    /// One option without its type and length. The first of a kind counts.
    fn tcp_option(&mut self, kind: u8, data: &'a [u8], options: &mut TcpOptions<'a>) {
        let (had, fits) = match kind {
            2 => (options.mss.is_some(), data.len() == 2),
            3 => (options.window_scale.is_some(), data.len() == 1),
            4 => (options.sack_permitted, data.is_empty()),
            5 => (options.sack.is_some(), !data.is_empty() && data.len().is_multiple_of(8)),
            8 => (options.timestamps.is_some(), data.len() == 8),
            34 => (options.fast_open.is_some(), data.is_empty() || (4..=16).contains(&data.len())),
            19 | 29 => (false, true),
            _ => return,
        };
        if !fits {
            return self.event(Event::TcpOptInvalidLen);
        }
        if had {
            return self.event(Event::TcpOptDuplicate);
        }
        match kind {
            2 => options.mss = be16(data, 0),
            3 => options.window_scale = byte(data, 0),
            4 => options.sack_permitted = true,
            5 => options.sack = Some(data),
            8 => options.timestamps = be32(data, 0).zip(be32(data, 4)),
            34 => options.fast_open = Some(data),
            _ => options.signed = true,
        }
    }

    pub(super) fn udp(&mut self, bytes: &'a [u8]) {
        let (Some((header, _)), Some(length)) = (bytes.split_at_checked(UDP_HEADER_BYTES), be16(bytes, 4))
        else {
            return self.event(Event::UdpPktTooSmall);
        };
        let length = usize::from(length);
        if length < UDP_HEADER_BYTES {
            return self.event(Event::UdpLenInvalid);
        }
        let Some(payload) = bytes.get(UDP_HEADER_BYTES..length) else {
            return self.event(Event::UdpHlenTooSmall);
        };
        let Some(udp) = Udp::new(header) else { return };
        self.packet.transport = Transport::Udp(udp);
        self.packet.payload = payload;
        self.udp_tunnel(udp.source(), udp.destination(), payload);
    }

    pub(super) fn icmp4(&mut self, bytes: &'a [u8]) {
        let Some((header, payload)) = bytes.split_at_checked(ICMP_HEADER_BYTES) else {
            return self.event(Event::Icmpv4PktTooSmall);
        };
        let Some(icmp) = Icmp::new(header, IcmpVersion::Four) else { return };
        self.packet.transport = Transport::Icmp4(icmp);
        self.packet.payload = payload;
        // The largest code of each type (IANA, "ICMP Parameters").
        let code_max = match icmp.kind() {
            0 | 4 | 8 | 10 | 13..=18 => 0,
            3 => 15,
            5 => 3,
            9 => 16,
            11 => 1,
            12 => 2,
            40 => 5,
            30..=39 => u8::MAX,
            42 | 43 => 4,
            _ => return self.event(Event::Icmpv4UnknownType),
        };
        if icmp.code() > code_max {
            self.event(Event::Icmpv4UnknownCode);
        }
        if icmp.is_error() {
            match byte(payload, 0).map(|first| first >> 4) {
                _ if payload.len() < 20 => self.event(Event::Icmpv4Ipv4TruncPkt),
                Some(4) => {}
                _ => self.event(Event::Icmpv4Ipv4UnknownVer),
            }
        }
    }

    pub(super) fn icmp6(&mut self, bytes: &'a [u8]) {
        let Some((header, payload)) = bytes.split_at_checked(ICMP_HEADER_BYTES) else {
            return self.event(Event::Icmpv6PktTooSmall);
        };
        let Some(icmp) = Icmp::new(header, IcmpVersion::Six) else { return };
        self.packet.transport = Transport::Icmp6(icmp);
        self.packet.payload = payload;
        // The largest code of each type (IANA, "ICMPv6 Parameters").
        let code_max = match icmp.kind() {
            1 => 8,
            2 => 0,
            3 => 1,
            4 => 10,
            128..=137 => 0,
            138 => u8::MAX,
            139 | 140 => 2,
            141..=149 | 151..=161 => u8::MAX,
            100 | 101 | 200 | 201 => return self.event(Event::Icmpv6ExperimentationType),
            5..=99 | 102..=126 => return self.event(Event::Icmpv6UnassignedType),
            _ => return self.event(Event::Icmpv6UnknownType),
        };
        if icmp.code() > code_max {
            self.event(Event::Icmpv6UnknownCode);
        }
        let hop_limit = self.packet.ip.map(|ip| ip.ttl());
        if matches!(icmp.kind(), 130..=132) && hop_limit != Some(1) {
            self.event(Event::Icmpv6MldMessageWithInvalidHl);
        }
        if icmp.is_error() {
            match byte(payload, 0).map(|first| first >> 4) {
                _ if payload.len() < 40 => self.event(Event::Icmpv6Ipv6TruncPkt),
                Some(6) => {}
                _ => self.event(Event::Icmpv6Ipv6UnknownVersion),
            }
        }
    }

    pub(super) fn sctp(&mut self, bytes: &'a [u8]) {
        let Some((header, payload)) = bytes.split_at_checked(SCTP_HEADER_BYTES) else {
            return self.event(Event::SctpPktTooSmall);
        };
        if let Some(sctp) = Sctp::new(header) {
            self.packet.transport = Transport::Sctp(sctp);
            self.packet.payload = payload;
        }
    }
}
