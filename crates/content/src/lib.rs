//! Push decoders: stream in stream, in bounded memory.
//!
//! Read [`decoder`] first: it is the frame that every format fits.

pub mod decoder;
pub mod mime;
pub mod trace;

pub use decoder::{Decoder, Entry, Event, Means, More, SCRATCH_BYTES_MIN, Step};
