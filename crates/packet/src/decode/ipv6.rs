//! IPv6's header and its extension headers (RFC 8200). Rule: each extension is looked at once, in the order in which it stands.

use super::Decoding;
use crate::bytes::{be16, be32, byte};
use crate::event::Event;
use crate::ip::{FragmentHeader, IPV6_HEADER_BYTES, Ip, Ipv6, protocol};

/// How many extension headers a packet may have: no honest one has as many.
const EXTENSIONS_MAX: usize = 24;

/// Options of hop-by-hop and destination headers that are known: Pad1, PadN, router alert, jumbo, home address.
const KNOWN_OPTIONS: [u8; 5] = [0, 1, 5, 0xc2, 0xc9];

/// What has been seen of a packet's extension headers.
#[derive(Default)]
struct Seen {
    hop_by_hop: bool,
    destination: u8,
    routing: bool,
    fragment: bool,
    authentication: bool,
}

impl<'a> Decoding<'a> {
    pub(super) fn ipv6(&mut self, bytes: &'a [u8]) {
        let (Some((header, behind)), Some(length)) =
            (bytes.split_at_checked(IPV6_HEADER_BYTES), be16(bytes, 4))
        else {
            return self.event(Event::Ipv6PktTooSmall);
        };
        if byte(bytes, 0).map(|first| first >> 4) != Some(6) {
            return self.event(Event::Ipv6WrongIpVersion);
        }
        let Some(behind) = behind.get(..usize::from(length)) else {
            return self.event(Event::Ipv6TruncPkt);
        };
        let first = byte(header, 6).unwrap_or(protocol::NO_NEXT);
        let Some((at, next, fragment)) = self.extensions(first, behind) else { return };
        let Some(ip) = Ipv6::new(header, behind, at, next, fragment) else { return };
        let payload = ip.payload();
        self.packet.ip = Some(Ip::V6(ip));
        if next == protocol::NO_NEXT {
            if !payload.is_empty() {
                self.event(Event::Ipv6DataAfterNoneHeader);
            }
        } else if !self.packet.is_fragment() {
            self.carried(next, payload);
            if matches!(next, protocol::MOBILITY | protocol::HIP | protocol::SHIM6) {
                self.event(Event::Ipv6UnknownNextHeader);
            }
        }
    }

    /// Where the extension headers end, what follows them, and the fragment header. `None` where one is cut off.
    fn extensions(&mut self, first: u8, bytes: &'a [u8]) -> Option<(usize, u8, Option<FragmentHeader>)> {
        let (mut at, mut next, mut fragment) = (0, first, None);
        let mut seen = Seen::default();
        for _ in 0..EXTENSIONS_MAX {
            let rest = bytes.get(at..).unwrap_or_default();
            let header_bytes = match next {
                protocol::HOP_BY_HOP | protocol::DESTINATION | protocol::ROUTING => {
                    byte(rest, 1).map_or(usize::MAX, |length| (usize::from(length) + 1) * 8)
                }
                protocol::AH => byte(rest, 1).map_or(usize::MAX, |length| (usize::from(length) + 2) * 4),
                protocol::FRAGMENT => 8,
                _ => return Some((at, next, fragment)),
            };
            let Some(header) = rest.get(..header_bytes) else {
                self.event(Event::Ipv6TruncExthdr);
                return None;
            };
            if next == protocol::FRAGMENT && fragment.is_none() {
                fragment = self.fragment_header(header, at, rest.len() - header.len());
            }
            self.extension(next, header, &mut seen);
            next = byte(header, 0)?;
            at += header.len();
            // What is behind the header of a fragment may be the middle of anything.
            if fragment.is_some_and(|header| header.offset != 0) {
                return Some((at, next, fragment));
            }
        }
        self.event(Event::TooManyLayers);
        None
    }

    /// What is odd about one extension header.
    fn extension(&mut self, kind: u8, header: &[u8], seen: &mut Seen) {
        let (again, event) = match kind {
            protocol::HOP_BY_HOP => (std::mem::replace(&mut seen.hop_by_hop, true), Event::Ipv6ExthdrDuplHh),
            protocol::ROUTING => (std::mem::replace(&mut seen.routing, true), Event::Ipv6ExthdrDuplRh),
            protocol::FRAGMENT => (std::mem::replace(&mut seen.fragment, true), Event::Ipv6ExthdrDuplFh),
            protocol::AH => (std::mem::replace(&mut seen.authentication, true), Event::Ipv6ExthdrDuplAh),
            // One may stand before the routing header and one at the end.
            _ => {
                seen.destination = seen.destination.saturating_add(1);
                (seen.destination > 2, Event::Ipv6ExthdrDuplDh)
            }
        };
        if again {
            self.event(event);
        }
        match kind {
            protocol::ROUTING if byte(header, 2) == Some(0) => self.event(Event::Ipv6RhType0),
            protocol::AH if be16(header, 2) != Some(0) => self.event(Event::Ipv6ExthdrAhResNotNull),
            protocol::HOP_BY_HOP => {
                self.options(header, Event::Ipv6HopoptsUnknownOpt, Event::Ipv6HopoptsOnlyPadding)
            }
            protocol::DESTINATION => {
                self.options(header, Event::Ipv6DstoptsUnknownOpt, Event::Ipv6DstoptsOnlyPadding)
            }
            _ => {}
        }
    }

    fn options(&mut self, header: &[u8], unknown: Event, only_padding: Event) {
        let mut rest = header.get(2..).unwrap_or_default();
        let mut padding_only = true;
        while let Some((kind, behind)) = rest.split_first() {
            if *kind == 0 {
                rest = behind;
                continue;
            }
            let Some(after) = byte(behind, 0).and_then(|length| behind.get(1 + usize::from(length)..)) else {
                return self.event(Event::Ipv6ExthdrInvalidOptlen);
            };
            if *kind == 1 && byte(behind, 0) == Some(0) {
                self.event(Event::Ipv6ZeroLenPadn);
            }
            if !KNOWN_OPTIONS.contains(kind) {
                self.event(unknown);
            }
            padding_only &= *kind == 1;
            rest = after;
        }
        if padding_only {
            self.event(only_padding);
        }
    }

    fn fragment_header(&mut self, header: &[u8], at: usize, behind_bytes: usize) -> Option<FragmentHeader> {
        let place = be16(header, 2)?;
        let fragment = FragmentHeader {
            id: be32(header, 4)?,
            offset: place >> 3,
            more: place & 1 == 1,
            next: byte(header, 0)?,
            at,
        };
        if byte(header, 1) != Some(0) || place & 6 != 0 {
            self.event(Event::Ipv6FhNonZeroReservedField);
        }
        if fragment.offset == 0 && !fragment.more {
            self.event(Event::Ipv6ExthdrUselessFh);
        }
        // Only the last one may be of a length that no offset can follow (RFC 8200 section 4.5).
        if fragment.more && !behind_bytes.is_multiple_of(8) {
            self.event(Event::Ipv6FragInvalidLength);
        }
        Some(fragment)
    }
}
