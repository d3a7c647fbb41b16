//! IPv4's header and options (RFC 791). Rule: a header that contradicts itself is none.

use super::Decoding;
use crate::bytes::{be16, byte};
use crate::event::Event;
use crate::ip::{IPV4_HEADER_BYTES, Ip, Ipv4, Ipv4Option, Ipv4Options};

impl<'a> Decoding<'a> {
    pub(super) fn ipv4(&mut self, bytes: &'a [u8]) {
        let (Some(first), Some(total)) = (byte(bytes, 0), be16(bytes, 2)) else {
            return self.event(Event::Ipv4PktTooSmall);
        };
        let (header_bytes, total) = (usize::from(first & 15) * 4, usize::from(total));
        if bytes.len() < IPV4_HEADER_BYTES {
            return self.event(Event::Ipv4PktTooSmall);
        }
        if first >> 4 != 4 {
            return self.event(Event::Ipv4WrongIpVersion);
        }
        if header_bytes < IPV4_HEADER_BYTES {
            return self.event(Event::Ipv4HlenTooSmall);
        }
        if total < header_bytes {
            return self.event(Event::Ipv4IplenSmallerThanHlen);
        }
        // What is behind the packet was appended by the link layer.
        let Some((header, payload)) = bytes.get(..total).and_then(|all| all.split_at_checked(header_bytes))
        else {
            return self.event(Event::Ipv4TruncPkt);
        };
        let options = self.ipv4_options(header.get(IPV4_HEADER_BYTES..).unwrap_or_default());
        let Some(ip) = Ipv4::new(header, payload, options) else { return };
        self.packet.ip = Some(Ip::V4(ip));
        if !ip.more_fragments() && ip.fragment_offset() == 0 {
            self.carried(ip.protocol(), payload);
        }
    }

    fn ipv4_options(&mut self, bytes: &[u8]) -> Ipv4Options {
        let mut options = Ipv4Options::default();
        if !bytes.len().is_multiple_of(8) {
            self.event(Event::Ipv4OptPadRequired);
        }
        let mut rest = bytes;
        while let Some((kind, behind)) = rest.split_first() {
            let option = Ipv4Option::from_type(*kind);
            match option {
                Some(Ipv4Option::End) => {
                    options.add(Ipv4Option::End);
                    break;
                }
                Some(Ipv4Option::Nothing) => {
                    options.add(Ipv4Option::Nothing);
                    rest = behind;
                    continue;
                }
                _ => {}
            }
            let Some(length) = byte(behind, 0) else {
                self.event(Event::Ipv4OptEolRequired);
                break;
            };
            let Some((data, after)) =
                rest.split_at_checked(usize::from(length)).filter(|(data, _)| data.len() >= 2)
            else {
                self.event(Event::Ipv4OptInvalidLen);
                break;
            };
            rest = after;
            match option {
                None => self.event(Event::Ipv4OptUnknown),
                Some(option) => {
                    if let Some(event) = wrong(option, data) {
                        self.event(event);
                    } else if options.add(option) {
                        self.event(Event::Ipv4OptDuplicate);
                    }
                }
            }
        }
        options
    }
}

/// What is wrong with an option, its type and length included in `data`.
fn wrong(option: Ipv4Option, data: &[u8]) -> Option<Event> {
    let pointer = usize::from(byte(data, 2).unwrap_or(0));
    let length = data.len();
    let (fits, first_pointer) = match option {
        Ipv4Option::RecordRoute | Ipv4Option::LooseSource | Ipv4Option::StrictSource => (length >= 3, 4),
        Ipv4Option::Timestamp => (length >= 4, 5),
        Ipv4Option::Security => return (length != 11).then_some(Event::Ipv4OptInvalidLen),
        Ipv4Option::StreamId | Ipv4Option::RouterAlert => {
            return (length != 4).then_some(Event::Ipv4OptInvalidLen);
        }
        Ipv4Option::QuickStart => return (length != 8).then_some(Event::Ipv4OptInvalidLen),
        Ipv4Option::Cipso => return (length < 10).then_some(Event::Ipv4OptInvalidLen),
        Ipv4Option::ExtendedSecurity => return (length < 3).then_some(Event::Ipv4OptInvalidLen),
        Ipv4Option::End | Ipv4Option::Nothing => return None,
    };
    if !fits {
        return Some(Event::Ipv4OptInvalidLen);
    }
    // The pointer is to a byte of the option, or just behind it where it is full (RFC 791 section 3.1).
    (pointer < first_pointer || pointer > length + 1).then_some(Event::Ipv4OptMalformed)
}
