//! Where packets come from, and what is made of them: capture files ([`frames`]), listened to by a [`Sniffer`].
//!
//! Rule: a frame is handed over as it was captured, with its time; what was said is read by the machines that the proxies use.

mod conversation;
mod detect;
mod eve;
mod expected;
mod file;
mod heard;
mod sniffer;
mod speech;

pub use eve::{Evidence, Wanted};
pub use file::{CaptureError, Frame, Told, frames};
pub use sniffer::{Enforcement, Engines, Passage, Sniffer, Summary, Unbegun};
pub use speech::seen_as;

#[cfg(test)]
mod tests;
