//! Hellos and a certificate that have a rule's buffers: [`spoken`]. Rule: as TLS 1.2 has them in clear (RFC 5246, RFC 5280).

use super::spoken::{Made, Speaker, Spoken};

/// Attributes of names, and their last number under 2.5.4 (X.520).
const ATTRIBUTES: [(&str, u8); 7] =
    [("CN", 3), ("C", 6), ("L", 7), ("ST", 8), ("O", 10), ("OU", 11), ("SN", 4)];

/// What is said for a TLS rule.
pub fn spoken(made: &mut Made) -> Option<Spoken> {
    let mut name = made.take("tls.sni").unwrap_or_else(|| b"www.example.com".to_vec());
    if name.starts_with(b".") {
        name.splice(..0, *b"www");
    }
    let certificate = certificate(made)?;
    let turns = vec![(Speaker::Client, client_hello(&name)), (Speaker::Server, server_hello(&certificate))];
    Some(Spoken { turns, is_datagrams: false, port: 443 })
}

fn client_hello(name: &[u8]) -> Vec<u8> {
    let entry = [&[0][..], &sized(2, name)].concat();
    let extension = [&[0, 0][..], &sized(2, &sized(2, &entry))].concat();
    let body = [
        &[3, 3][..],
        &[0x5a; 32],
        &[0],
        &sized(2, &[0xc0, 0x2f, 0x00, 0x2f]),
        &sized(1, &[0]),
        &sized(2, &extension),
    ]
    .concat();
    record(&handshake(1, &body))
}

fn server_hello(certificate: &[u8]) -> Vec<u8> {
    let hello = [&[3, 3][..], &[0xa5; 32], &[0, 0xc0, 0x2f, 0]].concat();
    let chain = sized(3, &sized(3, certificate));
    [record(&handshake(2, &hello)), record(&handshake(11, &chain)), record(&handshake(14, b""))].concat()
}

fn record(bytes: &[u8]) -> Vec<u8> {
    [&[22, 3, 3][..], &sized(2, bytes)].concat()
}

fn handshake(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind][..], &sized(3, bytes)].concat()
}

/// Bytes behind their length, of so many bytes.
fn sized(width: usize, bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[4 - width..], bytes].concat()
}

/// A certificate that nobody has signed.
fn certificate(made: &mut Made) -> Option<Vec<u8>> {
    let issuer = distinguished(&made.take("tls.cert_issuer").unwrap_or_else(|| b"CN=Example".to_vec()))?;
    let subject =
        distinguished(&made.take("tls.cert_subject").unwrap_or_else(|| b"CN=www.example.com".to_vec()))?;
    let algorithm =
        der(0x30, &[der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11]), der(5, b"")].concat());
    let validity = der(0x30, &[der(0x17, b"260101000000Z"), der(0x17, b"360101000000Z")].concat());
    let key = der(0x30, &[der(2, &[1; 16]), der(2, &[1, 0, 1])].concat());
    let rsa = der(0x30, &[der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1]), der(5, b"")].concat());
    let key = der(0x30, &[rsa, der(3, &[&[0][..], &key].concat())].concat());
    // Bytes that a rule asks for anywhere in it: the value of an extension that nobody knows.
    let comment = der(4, &made.take("tls.certs").unwrap_or_default());
    let extension = der(0x30, &[der(6, &[0x2a, 3, 4]), comment].concat());
    let extensions = der(0xa3, &der(0x30, &extension));
    let body = [
        der(0xa0, &der(2, &[2])),
        der(2, &[7]),
        algorithm.clone(),
        issuer,
        validity,
        subject,
        key,
        extensions,
    ]
    .concat();
    Some(der(0x30, &[der(0x30, &body), algorithm, der(3, &[0; 17])].concat()))
}

/// `C=XX, CN=name` in DER.
fn distinguished(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut names = Vec::new();
    for pair in text.split(", ") {
        let (attribute, value) = pair.split_once('=').unwrap_or(("O", pair));
        let (_, number) = ATTRIBUTES.iter().find(|(name, _)| *name == attribute.trim())?;
        let pair = [der(6, &[0x55, 4, *number]), der(0x0c, value.as_bytes())].concat();
        names.extend(der(0x31, &der(0x30, &pair)));
    }
    Some(der(0x30, &names))
}

/// Tag, length, value (X.690).
fn der(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = value.len();
    let length = match length {
        0..0x80 => vec![length as u8],
        0x80..0x100 => vec![0x81, length as u8],
        _ => [&[0x82][..], &(length as u16).to_be_bytes()].concat(),
    };
    [&[tag][..], &length, value].concat()
}
