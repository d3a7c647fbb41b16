//! Tests of decoding. Rule: each frame is whole, cut at every byte, and with every byte flipped.

use crate::frames::Tcp;
use crate::frames::*;
use crate::*;
use std::net::IpAddr;

const A: IpAddr = IpAddr::V4(CLIENT);
const B: IpAddr = IpAddr::V4(SERVER);
const A6: IpAddr = IpAddr::V6(CLIENT_6);
const B6: IpAddr = IpAddr::V6(SERVER_6);

fn segment(options: &[u8], payload: &[u8]) -> Tcp {
    Tcp {
        ports: (1025, 80),
        sequence: 7,
        ack: 9,
        flags: tcp_flag::ACK | tcp_flag::PSH,
        window: 512,
        options: options.to_vec(),
        payload: payload.to_vec(),
    }
}

fn datagram(payload: &[u8]) -> Vec<u8> {
    ipv4(CLIENT, SERVER, 17, &udp(A, B, (5000, 53), payload))
}

/// Frames of all kinds, each with what is innermost in it.
fn samples() -> Vec<(LinkType, Vec<u8>)> {
    let ip = datagram(b"payload");
    let ip6 = ipv6(CLIENT_6, SERVER_6, 17, &udp(A6, B6, (1, 2), b"payload"));
    let tagged = |kind: u16, bytes: &[u8]| [&[0x60, 7][..], &kind.to_be_bytes(), bytes].concat();
    let frame = ethernet(0x0800, &ip);
    let in_udp = |port, header: &[u8], inner: &[u8]| {
        ethernet(0x0800, &ipv4(CLIENT, SERVER, 17, &udp(A, B, (4000, port), &[header, inner].concat())))
    };
    let in_ip = |protocol, inner: &[u8]| ethernet(0x0800, &ipv4(CLIENT, SERVER, protocol, inner));
    let gre = |header: &[u8], inner: &[u8]| in_ip(47, &[header, inner].concat());
    vec![
        (LinkType::Ethernet, frame.clone()),
        (LinkType::Ethernet, ethernet(0x86dd, &ip6)),
        (LinkType::Ethernet, ethernet(0x8100, &tagged(0x0800, &ip))),
        (LinkType::Ethernet, ethernet(0x88a8, &tagged(0x8100, &tagged(0x86dd, &ip6)))),
        (LinkType::Ethernet, ethernet(0x8847, &[&[0, 1, 0, 9, 0, 2, 1, 9][..], &ip].concat())),
        (LinkType::Ethernet, ethernet(0x8847, &[&[0, 1, 1, 9, 0, 0, 0, 0][..], &frame].concat())),
        (LinkType::Ethernet, ethernet(0x8864, &[&[0x11, 0, 0, 1, 0, 99, 0, 0x21][..], &ip].concat())),
        (LinkType::Ethernet, ethernet(0x8926, &[&[0, 0, 0, 0, 8, 0][..], &ip].concat())),
        (LinkType::Raw, ip.clone()),
        (LinkType::Raw, ip6.clone()),
        (LinkType::Null, [&[2, 0, 0, 0][..], &ip].concat()),
        (LinkType::Loop, [&[0, 0, 0, 30][..], &ip6].concat()),
        (LinkType::Ppp, [&[0xff, 3, 0, 0x21][..], &ip].concat()),
        (LinkType::Ppp, [&[0x57][..], &ip6].concat()),
        (LinkType::Hdlc, [&[0x0f, 0, 8, 0][..], &ip].concat()),
        (LinkType::LinuxCooked, [&[0; 14][..], &[8, 0], &ip].concat()),
        (LinkType::LinuxCooked2, [&[8, 0][..], &[0; 18], &ip].concat()),
        (LinkType::Ethernet, in_ip(4, &ip)),
        (LinkType::Ethernet, in_ip(41, &ip6)),
        (LinkType::Ethernet, ethernet(0x86dd, &ipv6(CLIENT_6, SERVER_6, 4, &ip))),
        (LinkType::Ethernet, ethernet(0x86dd, &ipv6(CLIENT_6, SERVER_6, 41, &ip6))),
        (LinkType::Ethernet, gre(&[0, 0, 8, 0], &ip)),
        (LinkType::Ethernet, gre(&[0xb0, 0, 0x86, 0xdd, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], &ip6)),
        (LinkType::Ethernet, gre(&[0x40, 0, 8, 0, 0, 0, 0, 0, 0, 8, 0, 2, 9, 9, 0, 0, 0, 0], &ip)),
        (LinkType::Ethernet, gre(&[0, 0, 0x65, 0x58], &frame)),
        (LinkType::Ethernet, gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0], &frame)),
        (
            LinkType::Ethernet,
            gre(&[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2], &[&[0x21][..], &ip].concat()),
        ),
        (LinkType::Ethernet, in_udp(4789, &[8, 0, 0, 0, 0, 0, 5, 0], &frame)),
        (LinkType::Ethernet, in_udp(6081, &[1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 4], &frame)),
        (LinkType::Ethernet, in_udp(3544, &[0, 1, 1, 1, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0], &ip6)),
        (LinkType::Ethernet, in_udp(3544, &[0, 0, 1, 1, 9, 9, 0, 0], &ip6)),
    ]
}

/// The packet that is in no other.
fn innermost(link: LinkType, frame: &[u8]) -> Packet<'_> {
    let mut packet = Packet::decode(link, frame);
    while let Some(inner) = packet.decode_inner() {
        packet = inner;
    }
    packet
}

#[test]
fn each_wrapping_is_seen_through() {
    for (index, (link, frame)) in samples().into_iter().enumerate() {
        let packet = innermost(link, &frame);
        assert_eq!(packet.payload, b"payload", "sample {index}: {packet:?}");
        assert!(packet.events.is_empty(), "sample {index}: {:?}", packet.events);
        assert_eq!(packet.transport_checksum(), Checksum::Valid, "sample {index}");
    }
}

#[test]
fn no_frame_is_too_short_or_too_odd() {
    for (link, frame) in samples() {
        for cut in 0..frame.len() {
            let packet = innermost(link, &frame[..cut]);
            let looks_right = packet.payload == b"payload" && packet.events.is_empty();
            assert!(!looks_right, "cut at {cut} of {}", frame.len());
            let _ = (packet.ip_checksum(), packet.transport_checksum(), packet.quoted());
        }
        for at in 0..frame.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut other = frame.clone();
                other[at] ^= flip;
                let packet = innermost(link, &other);
                let _ = (packet.ip_checksum(), packet.transport_checksum(), packet.quoted());
            }
        }
    }
}

#[test]
fn a_segment_has_its_fields_and_options() {
    let options =
        [&[2, 4, 5, 0xb4, 1, 3, 3, 7, 4, 2, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6][..], &[34, 6, 1, 2, 3, 4, 19, 2]]
            .concat();
    let frame = ethernet(0x0800, &ipv4(CLIENT, SERVER, 6, &segment(&options, b"GET").bytes(A, B)));
    let packet = Packet::decode(LinkType::Ethernet, &frame);
    let tcp = packet.tcp().unwrap();
    assert_eq!((tcp.source(), tcp.destination(), tcp.sequence(), tcp.acknowledgement()), (1025, 80, 7, 9));
    assert_eq!((tcp.window(), tcp.urgent(), tcp.flags()), (512, 0, 0x18));
    let options = tcp.options();
    assert_eq!((options.mss, options.window_scale, options.sack_permitted), (Some(1460), Some(7), true));
    assert_eq!((options.timestamps, options.fast_open), (Some((5, 6)), Some(&[1, 2, 3, 4][..])));
    assert!(options.signed && tcp.has(tcp_flag::PSH));
    assert_eq!((packet.payload, packet.ports()), (&b"GET"[..], Some((1025, 80))));
    assert_eq!((packet.ip_checksum(), packet.transport_checksum()), (Checksum::Valid, Checksum::Valid));
    let mut wrong = frame.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(Packet::decode(LinkType::Ethernet, &wrong).transport_checksum(), Checksum::Invalid);
}

#[test]
fn ip_has_its_fields() {
    let mut ip = ipv4_fragment(CLIENT, SERVER, 50, (77, 16, true), b"x");
    ip[1] = 0x10;
    let frame = ethernet(0x0800, &[&ip[..], b"trailer"].concat());
    let packet = Packet::decode(LinkType::Ethernet, &frame);
    let Some(Ip::V4(ip)) = packet.ip else { panic!("{packet:?}") };
    assert_eq!((ip.tos(), ip.id(), ip.ttl(), ip.protocol(), ip.total_bytes()), (0x10, 77, 64, 50, 21));
    assert_eq!((ip.fragment_offset(), ip.flags(), ip.payload()), (2, 1, &b"x"[..]));
    assert!(packet.is_fragment() && packet.payload.is_empty());
    assert_eq!(packet.ip_checksum(), Checksum::Invalid, "the type of service was changed");
    let frame = ipv6(CLIENT_6, CLIENT_6, 59, b"");
    let packet = Packet::decode(LinkType::Raw, &frame);
    let Some(Ip::V6(ip)) = packet.ip else { panic!("{packet:?}") };
    assert_eq!((ip.hop_limit(), ip.traffic_class(), ip.flow_label(), ip.next_header()), (64, 0, 0, 59));
    assert!(packet.ip.unwrap().is_same());
}

/// A frame, and the event that it has.
fn event(link: LinkType, frame: &[u8]) -> Vec<&'static str> {
    innermost(link, frame).events.iter().map(Event::name).collect()
}

fn options_4(options: &[u8]) -> Vec<u8> {
    let mut ip = ipv4(CLIENT, SERVER, 99, b"");
    ip[0] = 0x45 + (options.len() / 4) as u8;
    ip.extend(options);
    let total = (ip.len() as u16).to_be_bytes();
    ip[2..4].copy_from_slice(&total);
    ip
}

#[test]
fn options_of_ipv4_are_seen() {
    let frame = options_4(&[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 148, 4, 0, 0, 0]);
    let packet = Packet::decode(LinkType::Raw, &frame);
    let Some(Ip::V4(ip)) = packet.ip else { panic!("{packet:?}") };
    assert!(ip.options().has(Ipv4Option::RecordRoute) && ip.options().has(Ipv4Option::RouterAlert));
    assert!(!ip.options().has(Ipv4Option::StrictSource) && !ip.options().is_empty());
    for (options, name) in [
        (&[7, 3, 1, 0, 0, 0, 0, 0][..], "ipv4.opt_malformed"),
        (&[7, 2, 0, 0, 0, 0, 0, 0], "ipv4.opt_invalid_len"),
        (&[131, 9, 4, 0, 0, 0, 0, 0], "ipv4.opt_invalid_len"),
        (&[148, 3, 0, 0, 0, 0, 0, 0], "ipv4.opt_invalid_len"),
        (&[1, 1, 1, 1, 1, 1, 1, 7], "ipv4.opt_eol_required"),
        (&[99, 4, 0, 0, 0, 0, 0, 0], "ipv4.opt_unknown"),
        (&[148, 4, 0, 0], "ipv4.opt_pad_required"),
        (&[148, 4, 0, 0, 148, 4, 0, 0], "ipv4.opt_duplicate"),
    ] {
        assert_eq!(event(LinkType::Raw, &options_4(options)), [name], "{options:?}");
    }
}

#[test]
fn what_is_broken_has_its_event() {
    let ip = datagram(b"");
    let with = |at: usize, byte: u8| {
        let mut ip = ip.clone();
        ip[at] = byte;
        ip
    };
    let ip6 = |next, payload: &[u8]| ipv6(CLIENT_6, SERVER_6, next, payload);
    for (frame, name) in [
        (vec![0x45; 10], "ipv4.pkt_too_small"),
        (with(0, 0x44), "ipv4.hlen_too_small"),
        (with(0, 0x4f), "ipv4.iplen_smaller_than_hlen"),
        (with(3, 0xff), "ipv4.trunc_pkt"),
        (with(0, 0x75), "ipraw.invalid_ip_version"),
        (vec![0x60; 10], "ipv6.pkt_too_small"),
        (ip6(0, b"\x06\x05abcdef"), "ipv6.trunc_exthdr"),
        (ip6(59, b"data"), "ipv6.data_after_none_header"),
        (ip6(43, b"\x3b\x00\x00\x00abcd"), "ipv6.rh_type_0"),
        (ip6(0, b"\x3b\x00\x01\x04\0\0\0\0"), "ipv6.hopopts_only_padding"),
        (ip6(0, b"\x3b\x00\x05\x09ab\0\0"), "ipv6.exthdr_invalid_optlen"),
        (ip6(44, b"\x3b\x00\x00\x00abcd"), "ipv6.exthdr_useless_fh"),
        (ip6(1, b""), "ipv6.icmpv4"),
        (ip6(4, b"x"), "ipv6.ipv4_in_ipv6_too_small"),
        (ip6(58, &[99, 0, 0, 0, 0, 0, 0, 0]), "icmpv6.unassigned_type"),
        (ipv4(CLIENT, SERVER, 6, &[0; 10]), "tcp.pkt_too_small"),
        (ipv4(CLIENT, SERVER, 6, &[0; 20]), "tcp.invalid_optlen"),
        (ipv4(CLIENT, SERVER, 6, &[0xf0; 20]), "tcp.hlen_too_small"),
        (ipv4(CLIENT, SERVER, 6, &segment(&[2, 9, 1, 1], b"").bytes(A, B)), "tcp.opt_invalid_len"),
        (ipv4(CLIENT, SERVER, 6, &segment(&[4, 2, 4, 2], b"").bytes(A, B)), "tcp.opt_duplicate"),
        (ipv4(CLIENT, SERVER, 17, &[0; 7]), "udp.pkt_too_small"),
        (ipv4(CLIENT, SERVER, 17, &[0; 8]), "udp.len_invalid"),
        (ipv4(CLIENT, SERVER, 17, &[9; 8]), "udp.hlen_too_small"),
        (ipv4(CLIENT, SERVER, 1, &[8; 7]), "icmpv4.pkt_too_small"),
        (ipv4(CLIENT, SERVER, 1, &icmp(8, 1, [0; 4], b"")), "icmpv4.unknown_code"),
        (ipv4(CLIENT, SERVER, 1, &icmp(99, 1, [0; 4], b"")), "icmpv4.unknown_type"),
        (ipv4(CLIENT, SERVER, 1, &icmp(3, 1, [0; 4], b"short")), "icmpv4.ipv4_trunc_pkt"),
        (ipv4(CLIENT, SERVER, 58, b""), "ipv4.icmpv6"),
        (ipv4(CLIENT, SERVER, 132, b""), "sctp.pkt_too_small"),
        (ipv4(CLIENT, SERVER, 47, &[0, 2, 8, 0]), "gre.wrong_version"),
        (ipv4(CLIENT, SERVER, 47, &[0x20, 1, 8, 0]), "gre.version1_wrong_protocol"),
    ] {
        assert_eq!(event(LinkType::Raw, &frame), [name], "{frame:x?}");
    }
    assert_eq!(event(LinkType::Ethernet, &[0; 13]), ["ethernet.pkt_too_small"]);
    assert_eq!(event(LinkType::Ethernet, &ethernet(0x1234, b"")), ["ethernet.unknown_ethertype"]);
    let tags = [[0, 1, 0x81, 0]; 4].concat();
    assert_eq!(event(LinkType::Ethernet, &ethernet(0x8100, &tags)), ["vlan.too_many_layers"]);
}

#[test]
fn tunnels_end_somewhere() {
    let mut ip = datagram(b"payload");
    for _ in 0..40 {
        ip = ipv4(CLIENT, SERVER, 4, &ip);
    }
    let packet = innermost(LinkType::Raw, &ip);
    assert_eq!((packet.depth, packet.payload), (16, &b""[..]));
    assert!(packet.events.has(Event::TooManyLayers));
}

#[test]
fn an_error_quotes_its_packet() {
    let quoted = datagram(b"");
    let frame = ipv4(SERVER, CLIENT, 1, &icmp(3, 3, [0; 4], &quoted));
    let packet = Packet::decode(LinkType::Raw, &frame);
    let said = packet.quoted().unwrap();
    assert_eq!((said.source, said.destination, said.protocol, said.ports), (A, B, 17, (5000, 53)));
    let echo = ipv4(SERVER, CLIENT, 1, &icmp(8, 0, [1, 2, 3, 4], b"abc"));
    let packet = Packet::decode(LinkType::Raw, &echo);
    let icmp = packet.icmp().unwrap();
    assert_eq!((icmp.kind(), icmp.code(), icmp.id(), icmp.sequence()), (8, 0, Some(0x102), Some(0x304)));
    assert_eq!((packet.quoted(), packet.payload), (None, &b"abc"[..]));
}

#[test]
fn what_is_put_together_has_the_link_layers_header() {
    let whole = ipv4(CLIENT, SERVER, 17, &udp(CLIENT.into(), SERVER.into(), (7, 8), b"whole"));
    for (link, header) in [(LinkType::Ppp, &[0x21][..]), (LinkType::Raw, &[])] {
        let fragment = [header, &ipv4_fragment(CLIENT, SERVER, 17, (1, 0, true), &[0; 8])].concat();
        let frame = [header, &whole].concat();
        let packet = Packet::decode_rebuilt(&frame, &Packet::decode(link, &fragment));
        assert_eq!((packet.frame, packet.payload), (&frame[..], &b"whole"[..]), "{link:?}");
        assert_eq!(packet.origin, Origin::Rebuilt);
    }
}
