//! PROXY headers at every cut. Rule: a header is read whole or not at all.

use super::*;

fn proxied(source: &str, destination: &str) -> Header {
    Header::Proxied {
        source: source.parse().expect("an address"),
        destination: destination.parse().expect("an address"),
    }
}

/// A version 2 header with these values behind the addresses.
fn v2(values: &[u8]) -> Vec<u8> {
    let mut out = encode(Version::V2, proxied("192.0.2.1:1", "192.0.2.2:25"));
    out.extend_from_slice(values);
    let length = u16::try_from(out.len() - V2_FIXED_BYTES).expect("short");
    out[14..16].copy_from_slice(&length.to_be_bytes());
    out
}

#[test]
fn what_is_written_is_read_at_every_cut() {
    let headers = [
        Header::Local,
        proxied("192.0.2.1:56324", "192.0.2.2:25"),
        proxied("[2001:db8::1]:56324", "[2001:db8::2]:25"),
        proxied("255.255.255.255:65535", "0.0.0.0:0"),
    ];
    for header in headers {
        for version in [Version::V1, Version::V2] {
            let bytes = encode(version, header);
            let input = [&bytes[..], b"EHLO a\r\n"].concat();
            for cut in 0..=input.len() {
                let expected = if cut < bytes.len() {
                    Parsed::NeedInput
                } else {
                    Parsed::Header { consumed: bytes.len(), header }
                };
                assert_eq!(parse(&input[..cut]), expected, "{header:?} {version:?} {cut}");
            }
        }
    }
}

#[test]
fn mixed_families_become_ipv6() {
    let header = proxied("192.0.2.1:1", "[2001:db8::2]:25");
    let Parsed::Header { header, .. } = parse(&encode(Version::V1, header)) else { panic!("no header") };
    assert_eq!(header, proxied("[::ffff:192.0.2.1]:1", "[2001:db8::2]:25"));
    let mapped = proxied("[::ffff:192.0.2.1]:1", "[::ffff:192.0.2.2]:2");
    assert!(encode(Version::V1, mapped).starts_with(b"PROXY TCP4 192.0.2.1 192.0.2.2 "));
}

#[test]
fn unknown_is_local() {
    let lines: [&[u8]; 3] = [
        b"PROXY UNKNOWN\r\n",
        b"PROXY UNKNOWN anything at all\r\n",
        b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n",
    ];
    for line in lines {
        assert_eq!(parse(line), Parsed::Header { consumed: line.len(), header: Header::Local });
    }
    let mut datagram = v2(b"");
    datagram[13] = 0x12;
    assert!(matches!(parse(&datagram), Parsed::Header { header: Header::Local, .. }));
    let mut local = v2(b"");
    local[12] = 0x20;
    assert!(matches!(parse(&local), Parsed::Header { header: Header::Local, .. }));
}

#[test]
fn malformed_headers_are_named() {
    let long = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 200]].concat();
    let mut version = v2(b"");
    version[12] = 0x31;
    let mut command = v2(b"");
    command[12] = 0x22;
    let mut short = v2(b"");
    short[15] = 11;
    let mut too_long = v2(b"");
    too_long[14] = 0xff;
    let cases: &[(&[u8], Malformed)] = &[
        (b"EHLO a\r\n", Malformed::NoHeader),
        (b"PROXX", Malformed::NoHeader),
        (b"\r\n\r\n\0\r\nQUIX", Malformed::NoHeader),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n", Malformed::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", Malformed::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n", Malformed::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 +2\r\n", Malformed::Line),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4  1 2\r\n", Malformed::Line),
        (b"PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n", Malformed::Line),
        (b"PROXY TCP4 ::1 ::1 1 2\r\n", Malformed::Line),
        (b"PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n", Malformed::Line),
        (&long, Malformed::TooLong),
        (&version, Malformed::Version),
        (&command, Malformed::Version),
        (&short, Malformed::Addresses),
        (&too_long, Malformed::TooLong),
        (&v2(&[1, 0]), Malformed::Values),
        (&v2(&[1, 0, 5, 0]), Malformed::Values),
        (&v2(&[3, 0, 4, 1, 2, 3, 4]), Malformed::Checksum),
        (&v2(&[3, 0, 3, 1, 2, 3]), Malformed::Checksum),
    ];
    for (input, expected) in cases {
        assert_eq!(parse(input), Parsed::Malformed(*expected), "{}", input.escape_ascii());
    }
}

#[test]
fn the_checksum_is_that_of_the_standard() {
    // RFC 3720 appendix B.4: 32 bytes of zeros.
    assert_eq!(!crc32c(!0, &[0; 32]), 0x8a91_36aa);
    assert_eq!(!crc32c(!0, b"123456789"), 0xe306_9283);
    let mut good = v2(&[4, 0, 2, 9, 9, 3, 0, 4, 0, 0, 0, 0, 4, 0, 0]);
    let crc = !crc32c(!0, &good);
    let at = good.len() - 7;
    good[at..at + 4].copy_from_slice(&crc.to_be_bytes());
    assert!(matches!(parse(&good), Parsed::Header { consumed, .. } if consumed == good.len()));
}
