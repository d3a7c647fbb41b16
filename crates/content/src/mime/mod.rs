//! MIME (RFC 5322, 2045 to 2049, 2047, 2231) as a push decoder. Rule: a message is read once, and its parts are its children.
//!
//! Read [`decoder`](MimeDecoder) first, then `boundary` (which line divides what), `header`, `field` and `plan` (what a
//! header says), `transfer` with `base64`, `quoted_printable` and `uuencoded` (the bytes of a part), and [`limits`].
//! [`EmbeddedDecoder`] is for what people paste into text, [`MboxDecoder`] for files of many messages.

mod again;
mod base64;
mod base64_simd;
mod binhex;
mod boundary;
mod decoder;
mod embedded;
mod field;
mod header;
pub mod limits;
mod mbox;
mod names;
mod oddity;
mod plan;
mod quoted_printable;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
mod transfer;
mod uuencoded;
mod words;
mod yenc;

pub use decoder::MimeDecoder;
pub use embedded::EmbeddedDecoder;
pub use mbox::MboxDecoder;
