//! What programs are told apart by: JA3, JA3S and JA4 of a hello. Rule: as their authors define them, GREASE left out.

use super::heard::Hello;
use super::hello::{ALPN, SERVER_NAME};
use super::is_grease;
use crate::Side;
use md5::{Digest, Md5};
use sha2::Sha256;
use std::fmt::Write;

impl Hello {
    /// JA3 of a client's hello, JA3S of a server's, before they are hashed: version, cipher suites, extensions and of a client
    /// groups and formats of points, commas between them, decimal numbers with dashes between them.
    pub fn ja3(&self) -> String {
        let mut fields = vec![
            self.legacy_version.to_string(),
            dashed(self.cipher_suites.iter().copied()),
            dashed(self.extensions.iter().copied()),
        ];
        if self.from == Side::Client {
            fields.push(dashed(self.groups.iter().copied()));
            fields.push(dashed(self.point_formats.iter().copied().map(u16::from)));
        }
        fields.join(",")
    }

    /// JA4 of a client's hello over TCP (<https://github.com/FoxIO-LLC/ja4>).
    pub fn ja4(&self) -> String {
        let version = match self.version_max() {
            0x0304 => "13",
            0x0303 => "12",
            0x0302 => "11",
            0x0301 => "10",
            0x0300 => "s3",
            0x0002 => "s2",
            _ => "00",
        };
        let name = if self.extensions.contains(&SERVER_NAME) { 'd' } else { 'i' };
        let mut suites: Vec<u16> = meant(&self.cipher_suites).collect();
        let extensions = meant(&self.extensions).count().min(99);
        let (first, last) = self.alpn_ends();
        let count = suites.len().min(99);
        suites.sort_unstable();
        let mut sorted: Vec<u16> =
            meant(&self.extensions).filter(|kind| !matches!(*kind, SERVER_NAME | ALPN)).collect();
        sorted.sort_unstable();
        let mut rest = hexadecimal(&sorted);
        let algorithms: Vec<u16> = meant(&self.signature_algorithms).collect();
        if !algorithms.is_empty() {
            rest.push('_');
            rest.push_str(&hexadecimal(&algorithms));
        }
        let (suites, rest) = (beginning(&hexadecimal(&suites)), beginning(&rest));
        format!("t{version}{name}{count:02}{extensions:02}{first}{last}_{suites}_{rest}")
    }

    /// The first and the last character of the protocol that is offered first.
    fn alpn_ends(&self) -> (char, char) {
        let ends = self.alpn.first().and_then(|name| Some((*name.first()?, *name.last()?)));
        match ends {
            None => ('0', '0'),
            Some((first, last)) if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() => {
                (first.into(), last.into())
            }
            Some((first, last)) => {
                let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
                (digit(first >> 4), digit(last & 0xf))
            }
        }
    }
}

/// The MD5 of a JA3, as rules have it.
pub fn ja3_hash(ja3: &str) -> String {
    hex(&Md5::digest(ja3), "")
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8], between: &str) -> String {
    let mut text = String::with_capacity(bytes.len() * (2 + between.len()));
    for (at, byte) in bytes.iter().enumerate() {
        let before = if at > 0 { between } else { "" };
        let _ = write!(text, "{before}{byte:02x}");
    }
    text
}

fn meant(numbers: &[u16]) -> impl Iterator<Item = u16> + '_ {
    numbers.iter().copied().filter(|number| !is_grease(*number))
}

fn dashed(numbers: impl Iterator<Item = u16>) -> String {
    let mut text = String::new();
    for number in numbers.filter(|number| !is_grease(*number)) {
        let dash = if text.is_empty() { "" } else { "-" };
        let _ = write!(text, "{dash}{number}");
    }
    text
}

fn hexadecimal(numbers: &[u16]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:04x}")).collect();
    numbers.join(",")
}

/// The first twelve digits of its SHA-256.
fn beginning(text: &str) -> String {
    if text.is_empty() {
        return "000000000000".to_owned();
    }
    let digest = Sha256::digest(text);
    hex(digest.get(..6).unwrap_or_default(), "")
}
