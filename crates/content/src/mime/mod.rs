//! MIME (RFC 5322, 2045 to 2049, 2047, 2231) as a push decoder. Rule: a message is read once, and its parts are its children.
//!
//! Read [`decoder`](MimeDecoder) first, then `boundary` (which line divides what), `header`, `field` and `plan` (what a
//! header says), `transfer` with `base64`, `quoted_printable` and `uuencoded` (the bytes of a part), and [`limits`].
//! [`UuencodeDecoder`] is for what people paste into text.

mod again;
mod base64;
mod base64_simd;
mod boundary;
mod decoder;
mod field;
mod header;
pub mod limits;
mod names;
mod oddity;
mod plan;
mod quoted_printable;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
mod transfer;
mod uuencode;
mod uuencoded;
mod words;

pub use decoder::MimeDecoder;
pub use uuencode::UuencodeDecoder;
