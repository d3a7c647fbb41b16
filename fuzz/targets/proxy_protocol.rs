//! The PROXY protocol's headers. Rule: what is complete stays the same when more follows, and reads back as it was written.
#![no_main]

use std::net::SocketAddr;

use lockgate_proto::proxy_protocol::{Header, Parsed, Version, encode, parse};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let whole = parse(input);
    for length in 0..input.len().min(600) {
        match parse(&input[..length]) {
            Parsed::NeedInput => {}
            other => {
                assert_eq!(other, whole, "decided at {length}");
                break;
            }
        }
    }
    if let Parsed::Malformed(why) = whole {
        assert!(!why.to_string().is_empty());
    }
    if let Parsed::Header { header: Header::Proxied { source, destination }, .. } = whole {
        // IPv4 within IPv6 is written as what it is.
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let (source, destination) = (plain(source), plain(destination));
        if source.is_ipv4() != destination.is_ipv4() {
            assert!(matches!(
                parse(&encode(Version::V1, Header::Proxied { source, destination })),
                Parsed::Header { .. }
            ));
            return;
        }
        let header = Header::Proxied { source, destination };
        for version in [Version::V1, Version::V2] {
            let bytes = encode(version, header);
            let consumed = bytes.len();
            assert_eq!(parse(&bytes), Parsed::Header { consumed, header });
        }
    }
});
