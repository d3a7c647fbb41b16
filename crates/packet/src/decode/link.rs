//! Headers of the link layer, and the tags between them and IP. Rule: each takes its header off and says what follows.

use super::{Decoding, ether_type};
use crate::bytes::{array, be16, be32, byte};
use crate::event::Event;
use crate::packet::{Ethernet, LinkType};

/// Below this the field is a length of IEEE 802.3, not a type.
const TYPES_MIN: u16 = 0x0600;

/// Protocol numbers of PPP (IANA, "PPP Numbers").
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_VJ_COMPRESSED: u16 = 0x002d;
const PPP_VJ_UNCOMPRESSED: u16 = 0x002f;
const PPP_MPLS: u16 = 0x0281;

impl<'a> Decoding<'a> {
    pub(super) fn link(&mut self, link: LinkType, frame: &'a [u8]) {
        match link {
            LinkType::Ethernet => self.ethernet(frame),
            LinkType::Raw => self.raw(frame),
            LinkType::Null | LinkType::Loop => self.loopback(link, frame),
            LinkType::Ppp => self.ppp(frame),
            LinkType::Hdlc => self.tagged(frame, 4, 2, Event::ChdlcPktTooSmall),
            LinkType::LinuxCooked => self.tagged(frame, 16, 14, Event::SllPktTooSmall),
            LinkType::LinuxCooked2 => self.tagged(frame, 20, 0, Event::SllPktTooSmall),
        }
    }

    pub(super) fn ethernet(&mut self, frame: &'a [u8]) {
        let (Some(destination), Some(source), Some(kind)) =
            (array(frame, 0), array(frame, 6), be16(frame, 12))
        else {
            return self.event(Event::EthernetPktTooSmall);
        };
        self.packet.ethernet.get_or_insert(Ethernet { source, destination, ether_type: kind });
        self.ether_type(kind, frame.get(14..).unwrap_or_default());
    }

    /// The family is written in the order of bytes of the machine that captured: a small number either way.
    fn loopback(&mut self, link: LinkType, frame: &'a [u8]) {
        let Some(family) = be32(frame, 0) else { return self.event(Event::LtnullPktTooSmall) };
        let small = family <= 0xffff || link == LinkType::Loop;
        let rest = frame.get(4..).unwrap_or_default();
        match if small { family } else { family.swap_bytes() } {
            2 => self.ether_type(ether_type::IPV4, rest),
            // BSD, FreeBSD, Darwin and Linux number IPv6 in their own ways.
            24 | 28 | 30 | 10 => self.ether_type(ether_type::IPV6, rest),
            _ => self.event(Event::LtnullUnsupportedType),
        }
    }

    /// A header of so many bytes with a type of Ethernet in it.
    fn tagged(&mut self, bytes: &'a [u8], header_bytes: usize, type_at: usize, too_small: Event) {
        match (bytes.get(header_bytes..), be16(bytes, type_at)) {
            (Some(rest), Some(kind)) => self.ether_type(kind, rest),
            _ => self.event(too_small),
        }
    }

    /// What a type of Ethernet announces.
    pub(super) fn ether_type(&mut self, kind: u16, bytes: &'a [u8]) {
        if !self.layer() {
            return;
        }
        self.packet.ether_type = kind;
        match kind {
            ether_type::IPV4 => self.ipv4(bytes),
            ether_type::IPV6 => self.ipv6(bytes),
            ether_type::VLAN | ether_type::QINQ | ether_type::QINQ_OLD => self.vlan(bytes),
            ether_type::MPLS | ether_type::MPLS_MULTICAST => self.mpls(bytes),
            ether_type::PPPOE_SESSION => self.pppoe_session(bytes),
            ether_type::PPPOE_DISCOVERY => self.pppoe_discovery(bytes),
            ether_type::PPP => self.ppp(bytes),
            ether_type::BRIDGED => self.ethernet(bytes),
            ether_type::DCE => self.skipping_ethernet(bytes, 2, Event::DcePktTooSmall),
            ether_type::PROVIDER => self.skipping_ethernet(bytes, 4, Event::Ieee8021ahHeaderTooSmall),
            ether_type::VNTAG => self.tagged(bytes, 6, 4, Event::VntagHeaderTooSmall),
            ether_type::ETAG => self.tagged(bytes, 8, 6, Event::EtagHeaderTooSmall),
            ether_type::ARP | ..TYPES_MIN => {}
            _ => self.event(Event::EthernetUnknownEthertype),
        }
    }

    fn vlan(&mut self, bytes: &'a [u8]) {
        let (Some(tag), Some(kind)) = (be16(bytes, 0), be16(bytes, 2)) else {
            return self.event(Event::VlanHeaderTooSmall);
        };
        if !self.packet.vlans.add(tag & 0x0fff) {
            return self.event(Event::VlanTooManyLayers);
        }
        self.ether_type(kind, bytes.get(4..).unwrap_or_default());
    }

    /// A tag, and behind it a whole frame of Ethernet.
    fn skipping_ethernet(&mut self, bytes: &'a [u8], tag_bytes: usize, too_small: Event) {
        match bytes.get(tag_bytes..) {
            Some(frame) if frame.len() >= 14 => self.ethernet(frame),
            _ => self.event(too_small),
        }
    }

    /// RFC 3032: labels up to the one with the bottom's bit, then what the label or the first byte says.
    fn mpls(&mut self, mut bytes: &'a [u8]) {
        let label = loop {
            let Some(entry) = be32(bytes, 0) else { return self.event(Event::MplsHeaderTooSmall) };
            bytes = bytes.get(4..).unwrap_or_default();
            if entry & 0x100 != 0 {
                break entry >> 12;
            }
        };
        let Some(first) = byte(bytes, 0) else { return self.event(Event::MplsPktTooSmall) };
        match label {
            0 => self.ether_type(ether_type::IPV4, bytes),
            2 => self.ether_type(ether_type::IPV6, bytes),
            1 => self.event(Event::MplsBadLabelRouterAlert),
            3 => self.event(Event::MplsBadLabelImplicitNull),
            4..=15 => self.event(Event::MplsBadLabelReserved),
            _ => match first >> 4 {
                4 => self.ether_type(ether_type::IPV4, bytes),
                6 => self.ether_type(ether_type::IPV6, bytes),
                // A pseudowire's control word (RFC 4385), and Ethernet behind it.
                0 => self.skipping_ethernet(bytes, 4, Event::MplsPktTooSmall),
                _ => self.event(Event::MplsUnknownPayloadType),
            },
        }
    }

    /// RFC 2516: six bytes, then PPP.
    fn pppoe_session(&mut self, bytes: &'a [u8]) {
        if bytes.len() < 8 {
            return self.event(Event::PppoePktTooSmall);
        }
        if byte(bytes, 1) != Some(0) {
            self.event(Event::PppoeWrongCode);
        }
        self.ppp(bytes.get(6..).unwrap_or_default());
    }

    /// RFC 2516 section 5: a code, and tags that must fill the length.
    fn pppoe_discovery(&mut self, bytes: &'a [u8]) {
        let (Some(code), Some(length)) = (byte(bytes, 1), be16(bytes, 4)) else {
            return self.event(Event::PppoePktTooSmall);
        };
        if !matches!(code, 0x07 | 0x09 | 0x19 | 0x65 | 0xa7) {
            return self.event(Event::PppoeWrongCode);
        }
        let Some(mut tags) = bytes.get(6..6 + usize::from(length)) else {
            return self.event(Event::PppoeMalformedTags);
        };
        while !tags.is_empty() {
            let length = be16(tags, 2).map_or(usize::MAX, |length| 4 + usize::from(length));
            let Some(rest) = tags.get(length..) else { return self.event(Event::PppoeMalformedTags) };
            tags = rest;
        }
    }

    /// RFC 1661, RFC 1662: with or without address and control.
    pub(super) fn ppp(&mut self, mut bytes: &'a [u8]) {
        if !self.layer() {
            return;
        }
        if let Some(rest) = bytes.strip_prefix(&[0xff, 0x03]) {
            bytes = rest;
        }
        let Some(first) = byte(bytes, 0) else { return self.event(Event::PppPktTooSmall) };
        // An odd first byte is a protocol field compressed to one byte.
        let (number, rest) = if first & 1 == 1 {
            (Some(u16::from(first)), bytes.get(1..))
        } else {
            (be16(bytes, 0), bytes.get(2..))
        };
        let (Some(number), Some(rest)) = (number, rest) else { return self.event(Event::PppPktTooSmall) };
        match number {
            PPP_IPV4 if rest.len() < 20 => self.event(Event::PppIp4PktTooSmall),
            PPP_IPV6 if rest.len() < 40 => self.event(Event::PppIp6PktTooSmall),
            PPP_VJ_UNCOMPRESSED if rest.len() < 20 => self.event(Event::PppVjuPktTooSmall),
            PPP_IPV4 | PPP_VJ_UNCOMPRESSED => self.ether_type(ether_type::IPV4, rest),
            PPP_IPV6 => self.ether_type(ether_type::IPV6, rest),
            PPP_MPLS => self.ether_type(ether_type::MPLS, rest),
            PPP_VJ_COMPRESSED | 0x0001..=0x00ff | 0x8001..=0x80ff | 0xc021..=0xcfff => {
                self.event(Event::PppUnsupProto)
            }
            _ => self.event(Event::PppWrongType),
        }
    }
}
