//! TLS as a spectator sees it: the client's hello. Rule: nothing is decrypted, and nothing is answered.
//!
//! [`HelloReader`] takes the first bytes of a connection as they come and gives a [`ClientHello`], or says with a name
//! why there is none. Who is to be reached, and in what protocol, stands there in clear, also in TLS 1.3 (RFC 8446
//! section 4.1.2), unless it is encrypted (ECH, RFC 9849).

mod hello;
mod reader;

pub use hello::{ClientHello, Ech, is_grease};
pub use reader::{HELLO_BYTES_MAX, HelloReader, Step, WIRE_BYTES_MAX};

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
mod tests;
