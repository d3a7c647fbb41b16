//! DNS as a spectator reads it. Rule: whatever is readable is given; what is odd beside it has a name.
//!
//! A datagram is a [`Message`]; what TCP carries goes through a [`Stream`] for each side, which gives one message after the
//! other (RFC 1035 section 4.2.2). [`looks_like`] says whether bytes on the port of DNS are DNS.
//!
//! ```
//! use lockgate_proto::{Side, dns};
//!
//! let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x01\0\x01";
//! assert!(dns::looks_like(query));
//! let message = dns::Message::parse(query, Side::Client).unwrap();
//! assert_eq!(message.questions[0].name, b"www.example");
//! assert!(message.oddities.is_empty());
//! ```

mod message;
mod name;
mod registry;
mod stream;
#[cfg(test)]
mod tests;

pub use message::{
    Data, Header, Message, NAMES_BYTES_MAX, Question, RECORDS_MAX, Record, looks_like, looks_like_answer,
};
pub use name::{LABELS_MAX, NAME_BYTES_MAX};
pub use registry::{kind_name, response_code_name};
pub use stream::{MESSAGE_BYTES_MAX, Stream};

/// What is odd about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Oddity {
    /// A length or a pointer leads out of the message, or its counts say more than there is. What stands before is given.
    MalformedData,
    /// A client sends an answer.
    NotRequest,
    /// A server sends a question.
    NotResponse,
    /// The bit that is to be zero is not (RFC 1035 section 4.1.1).
    ZFlagSet,
    /// An operation that is not assigned.
    InvalidOpcode,
    /// A name was cut at [`NAME_BYTES_MAX`].
    NameTooLong,
    /// A pointer in a name leads to itself.
    InfiniteLoop,
    /// A name has more than [`LABELS_MAX`] labels and pointers, and was cut there.
    TooManyLabels,
    /// There are more than [`RECORDS_MAX`] records, or their names come to more than [`NAMES_BYTES_MAX`]: the rest is not read.
    TooManyRecords,
}

impl Oddity {
    /// Its name in rules (`app-layer-event`).
    pub fn name(self) -> &'static str {
        match self {
            Self::MalformedData => "dns.malformed_data",
            Self::NotRequest => "dns.not_request",
            Self::NotResponse => "dns.not_response",
            Self::ZFlagSet => "dns.z_flag_set",
            Self::InvalidOpcode => "dns.invalid_opcode",
            Self::NameTooLong => "dns.name_too_long",
            Self::InfiniteLoop => "dns.infinite_loop",
            Self::TooManyLabels => "dns.too_many_labels",
            Self::TooManyRecords => "dns.too_many_records",
        }
    }
}
