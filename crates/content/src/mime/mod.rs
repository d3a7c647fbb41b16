//! MIME (RFC 5322, 2045 to 2049, 2047, 2231) as a push decoder. Rule: a message is read once, and its parts are its children.
//!
//! Read [`decoder`](MimeDecoder) first, then `boundary` (which line divides what), `header` and `field` (what a header
//! says), `transfer` with `base64` and `quoted_printable` (the bytes of a part), and [`limits`].

mod base64;
mod base64_simd;
mod boundary;
mod decoder;
mod field;
mod header;
pub mod limits;
mod oddity;
mod plan;
mod quoted_printable;
#[cfg(test)]
mod tests;
mod transfer;
mod words;

pub use decoder::MimeDecoder;
