//! Push decoders: stream in stream, in bounded memory.
//!
//! Read [`decoder`] first: it is the frame that every format fits.

pub mod archive;
pub mod codec;
pub mod coding;
pub mod decoder;
pub mod document;
mod field;
pub mod filetype;
pub mod held;
pub mod mime;
pub mod open;
#[cfg(test)]
mod samples;
pub mod trace;

pub use coding::{Coding, open_coded, open_coding};
pub use decoder::{Decoder, Entry, Event, Means, More, SCRATCH_BYTES_MIN, Step};
pub use held::{HeldDecoder, Whole};
pub use open::{open, open_form};
