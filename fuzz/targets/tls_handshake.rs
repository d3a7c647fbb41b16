//! A side of a TLS handshake as a spectator hears it. Rule: the same at every cut, and whatever is heard can be written down.
#![no_main]

use lockgate_proto::Side;
use lockgate_proto::tls::{
    ALPN_MAX, ALTERNATIVE_NAMES_MAX, CERTIFICATES_MAX, Certificate, MESSAGE_BYTES_MAX, Said, Spectator,
    fingerprint, ja3_hash, version_name,
};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    for from in [Side::Client, Side::Server] {
        let said = read(from, [content]);
        assert_eq!(said, read(from, pieces.iter().copied()));
        said.0.iter().for_each(written);
    }
    if let Ok(certificate) = Certificate::read(content) {
        assert!(certificate.alternative_names.len() <= ALTERNATIVE_NAMES_MAX);
    }
});

fn read<'a>(from: Side, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Said>, bool) {
    let (mut spectator, mut said) = (Spectator::new(from), Vec::new());
    for piece in pieces {
        spectator.push(piece, &mut |one| said.push(one));
        assert!(spectator.held_bytes() <= MESSAGE_BYTES_MAX + 16);
    }
    (said, spectator.is_over())
}

fn written(said: &Said) {
    match said {
        Said::Hello(hello) => {
            assert_eq!(ja3_hash(&hello.ja3()).len(), 32);
            assert_eq!(hello.ja4().len(), 36);
            assert!(!version_name(hello.version()).is_empty() && hello.alpn.len() <= ALPN_MAX);
        }
        Said::Certificates(chain) => {
            assert!(chain.len() <= CERTIFICATES_MAX);
            for der in chain {
                assert_eq!(fingerprint(der).len(), 59);
                if let Err(oddity) = Certificate::read(der) {
                    assert!(oddity.name().contains("certificate"));
                }
            }
        }
        Said::Odd(oddity) => assert!(oddity.name().starts_with("tls.")),
        Said::Encrypted => {}
    }
}
