//! TLS as a spectator sees it: its handshake. Rule: nothing is decrypted, and nothing is answered.
//!
//! [`HelloReader`] takes the first bytes of a connection as they come and gives a [`ClientHello`], or says with a name
//! why there is none. Who is to be reached, and in what protocol, stands there in clear, also in TLS 1.3 (RFC 8446
//! section 4.1.2), unless it is encrypted (ECH, RFC 9849).
//!
//! That one is strict, for a gateway that goes by what it reads. A [`Spectator`] for each side refuses nothing: it gives hellos
//! ([`Hello`], with JA3, JA3S and JA4), certificates ([`Certificate`]) and what is odd ([`Oddity`]) until the side encrypts.

mod bytes;
mod certificate;
mod fingerprint;
mod heard;
mod hello;
mod oddity;
mod reader;
mod spectator;

pub use certificate::{ALTERNATIVE_NAMES_MAX, Certificate, fingerprint};
pub use fingerprint::ja3_hash;
pub use heard::{ALPN_MAX, Hello, version_name};
pub use hello::{ClientHello, Ech, is_grease};
pub use oddity::Oddity;
pub use reader::{HELLO_BYTES_MAX, HelloReader, Step, WIRE_BYTES_MAX};
pub use spectator::{CERTIFICATES_MAX, MESSAGE_BYTES_MAX, Said, Spectator};

use std::fmt;

/// Why there is no hello to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The first bytes are no TLS record of a handshake: another protocol is spoken.
    NotTls,
    /// The first message of the handshake is no hello of a client.
    NotHello,
    /// A record without content (RFC 8446 section 5.1 forbids it for handshakes).
    EmptyRecord,
    /// A record longer than 2^14 bytes.
    LongRecord,
    /// A record of another kind before the hello has ended.
    Interleaved,
    /// The hello, or what it is wrapped in, is longer than what is read.
    TooLong,
    /// A field ends behind what holds it, or before.
    Malformed,
    /// An extension, or a host name in it, that is there twice: two programs could take one each.
    Repeated,
    /// A server name that is no host name.
    BadName,
}

impl Refusal {
    /// In words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotTls => "what comes is not TLS",
            Self::NotHello => "the TLS handshake does not begin with a client's hello",
            Self::EmptyRecord => "a record of the TLS hello is empty",
            Self::LongRecord => "a record of the TLS hello is too long",
            Self::Interleaved => "another record stands in the middle of the TLS hello",
            Self::TooLong => "the TLS hello is too long",
            Self::Malformed => "the TLS hello is malformed",
            Self::Repeated => "the TLS hello says something twice",
            Self::BadName => "the TLS hello names no host that could be one",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod heard_tests;
#[cfg(test)]
mod tests;
