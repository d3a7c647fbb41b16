//! Seeds of packets: each wrapping around one datagram, fragments, a connection. Rule: a seed of a few frames each.

use crate::Corpus;

pub(crate) fn seeds(corpus: &Corpus) {
    for (index, (link, frame)) in wrappings().into_iter().enumerate() {
        corpus.put("packets", &format!("wrapping{index}"), &input(link, 0, &[frame]));
    }
    let fragments: Vec<Vec<u8>> =
        [(0, 0x2000), (0, 0x2000), (3, 0x2001), (5, 2)].map(|(byte, place)| fragment(byte, place)).to_vec();
    corpus.put("packets", "fragments", &input(1, 0, &fragments));
    let six = [(0, 1), (8, 1), (16, 0)].map(|(at, more): (u16, u16)| {
        let header = [&[17, 0][..], &(at | more).to_be_bytes(), &[0, 0, 0, 9]].concat();
        ipv6(44, &[header, vec![7; 8]].concat())
    });
    corpus.put("packets", "fragments6", &input(1, 0, &six));
    for settings in [0, 3, 0x9f] {
        corpus.put("packets", &format!("talk{settings}"), &input(1, settings, &talk()));
    }
    for settings in [0u8, 1, 0x48, 0x71] {
        // In order, back to front, overlapping, acknowledged and not, with gaps, and the ends.
        let steps = [
            &[
                0x00, 0, 40, 0, 0x00, 40, 40, 0, 0x80, 0, 20, 5, 0x00, 120, 30, 2, 0x00, 100, 40, 2, 0x80,
                20, 0, 30,
            ][..],
            &[
                0x00, 60, 90, 0, 0x00, 10, 200, 0, 0x80, 40, 9, 20, 0x30, 210, 0, 3, 0xb0, 49, 0, 14, 0x50,
                1, 0, 0,
            ],
            &[0x01, 0x40, 99, 0, 0x00, 0xf0, 20, 0, 0x80, 0, 1, 200, 0x70, 0, 9, 1],
        ];
        corpus.put("reassembly", &format!("steps{settings}"), &[&[settings][..], &steps.concat()].concat());
    }
    for (name, said) in conversations() {
        talked(corpus, name, 0, &said);
    }
}

/// What two sides say, by side; the place says at which port, and whether in datagrams.
pub(crate) fn talked(corpus: &Corpus, name: &str, place: u8, said: &[(u8, &[u8])]) {
    for settings in [0u8, 1, 0x82] {
        let turns: Vec<u8> = said.iter().flat_map(|(side, bytes)| turn(*side, bytes)).collect();
        corpus.put("sniffer", &format!("{name}{settings}"), &[&[settings, place][..], &turns].concat());
    }
}

/// One side says this, in pieces that the target's input can have.
fn turn(side: u8, bytes: &[u8]) -> Vec<u8> {
    let piece = |bytes: &[u8]| [&[side << 7 | bytes.len() as u8][..], bytes].concat();
    bytes.chunks(0x7f).flat_map(piece).collect()
}

type Said = Vec<(u8, &'static [u8])>;

fn conversations() -> [(&'static str, Said); 4] {
    [
        (
            "http",
            vec![
                (0, b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"),
                (1, b"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\nContent-Encoding: deflate\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"),
            ],
        ),
        (
            "smtp",
            vec![
                (1, b"220 a ESMTP\r\n"),
                (0, b"EHLO a\r\nMAIL FROM:<a@b>\r\nRCPT TO:<b@c>\r\nDATA\r\n"),
                (1, b"250 a\r\n250 ok\r\n250 ok\r\n354 go\r\n"),
                (0, b"Subject: c\r\n\r\nc\r\n.\r\nQUIT\r\n"),
            ],
        ),
        ("pop3", vec![(1, b"+OK a\r\n"), (0, b"RETR 1\r\n"), (1, b"+OK\r\nA: b\r\n\r\nc\r\n.\r\n")]),
        ("ftp", vec![(1, b"220 FTP\r\n"), (0, b"PASV\r\nRETR a\r\n"), (1, b"227 (10,0,0,2,0,80)\r\n150 go\r\n")]),
    ]
}

fn input(link: u8, settings: u8, frames: &[Vec<u8>]) -> Vec<u8> {
    let record = |frame: &Vec<u8>| [&(frame.len() as u16).to_be_bytes()[..], &[1], frame].concat();
    [vec![link, settings], frames.iter().flat_map(record).collect()].concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = ((20 + payload.len()) as u16).to_be_bytes();
    [&[0x45, 0][..], &total, &[0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2], payload].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    let [source, destination] = [1, 2].map(|last| [&[0x20, 1, 0, 0][..], &[0; 11], &[last]].concat());
    [&[0x60, 0, 0, 0][..], &length, &[next, 64], &source, &destination, payload].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = ((8 + payload.len()) as u16).to_be_bytes();
    [&[9, 9][..], &port.to_be_bytes(), &length, &[0, 0], payload].concat()
}

fn fragment(byte: u8, place: u16) -> Vec<u8> {
    let mut ip = ipv4(17, &[byte; 8]);
    ip[6..8].copy_from_slice(&place.to_be_bytes());
    ip
}

fn tcp(flags: u8, sequence: u32, ack: u32, to_server: bool, payload: &[u8]) -> Vec<u8> {
    let ports = if to_server { [9, 9, 0, 80] } else { [0, 80, 9, 9] };
    let numbers = [sequence.to_be_bytes(), ack.to_be_bytes()].concat();
    // With options: a segment size, a scale, timestamps.
    let options = [2, 4, 5, 180, 1, 3, 3, 2, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
    let header = [&ports[..], &numbers, &[0xa0, flags, 0x80, 0, 0, 0, 0, 0], &options].concat();
    let mut ip = ipv4(6, &[&header, payload].concat());
    if !to_server {
        let (source, destination) = ([10, 0, 0, 2], [10, 0, 0, 1]);
        ip[12..16].copy_from_slice(&source);
        ip[16..20].copy_from_slice(&destination);
    }
    ip
}

fn talk() -> Vec<Vec<u8>> {
    vec![
        tcp(0x02, 10, 0, true, b""),
        tcp(0x12, 90, 11, false, b""),
        tcp(0x10, 11, 91, true, b""),
        tcp(0x18, 11, 91, true, b"hello"),
        tcp(0x18, 91, 16, false, b"hi"),
        tcp(0x11, 16, 93, true, b""),
        tcp(0x11, 93, 17, false, b""),
        tcp(0x10, 17, 94, true, b""),
        tcp(0x02, 99, 0, true, b""),
        tcp(0x14, 0, 100, false, b""),
    ]
}

/// Frames by the number of their link type in the target's list.
fn wrappings() -> Vec<(u8, Vec<u8>)> {
    let ip = ipv4(17, &udp(53, b"x"));
    let six = ipv6(17, &udp(53, b"x"));
    let ethernet = |kind: u16, bytes: &[u8]| [&[2; 12][..], &kind.to_be_bytes(), bytes].concat();
    let frame = ethernet(0x0800, &ip);
    let with = |header: &[u8], bytes: &[u8]| [header, bytes].concat();
    let mut options = ipv4(1, &[3, 3, 0, 0, 0, 0, 0, 0]);
    options[0] = 0x48;
    options.splice(20..20, [7, 7, 4, 0, 0, 0, 0, 148, 4, 0, 0, 0]);
    let total = (options.len() as u16).to_be_bytes();
    options[2..4].copy_from_slice(&total);
    options.extend(&ip);
    vec![
        (0, ethernet(0x8100, &with(&[0, 5, 0x88, 0xa8, 0, 6, 8, 0], &ip))),
        (0, ethernet(0x8847, &with(&[0, 1, 0, 9, 0, 2, 1, 9], &ip))),
        (0, ethernet(0x8864, &with(&[0x11, 0, 0, 1, 0, 99, 0, 0x21], &ip))),
        (0, ethernet(0x8863, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0])),
        (0, ethernet(0x8926, &with(&[0, 0, 0, 0, 8, 0], &ip))),
        (0, ethernet(0x88e7, &with(&[0; 4], &frame))),
        (1, options),
        (1, ipv4(4, &ip)),
        (1, ipv4(41, &six)),
        (1, ipv6(4, &ip)),
        (
            1,
            ipv6(
                0,
                &with(
                    &[60, 0, 5, 2, 0, 0, 1, 0, 43, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0],
                    &udp(5, b""),
                ),
            ),
        ),
        (1, ipv6(51, &with(&[58, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], &[128, 0, 0, 0, 0, 1, 0, 2]))),
        (1, ipv4(47, &with(&[0, 0, 8, 0], &ip))),
        (1, ipv4(47, &with(&[0xb0, 0, 0x86, 0xdd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2], &six))),
        (1, ipv4(47, &with(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0], &frame))),
        (1, ipv4(47, &with(&[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0x21], &ip))),
        (1, ipv4(17, &udp(4789, &with(&[8, 0, 0, 0, 0, 0, 5, 0], &frame)))),
        (1, ipv4(17, &udp(6081, &with(&[1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 4], &frame)))),
        (1, ipv4(17, &udp(3544, &with(&[0, 0, 1, 1, 9, 9, 0, 0], &six)))),
        (1, ipv4(132, &[1; 12])),
        (1, ipv4(50, &[1; 12])),
        (2, with(&[2, 0, 0, 0], &ip)),
        (3, with(&[0xff, 3, 0, 0x21], &ip)),
        (4, with(&[0x0f, 0, 8, 0], &ip)),
        (5, with(&[0, 0, 0, 30], &six)),
        (6, with(&[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], &ip)),
        (7, with(&[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], &ip)),
    ]
}
