//! Where packets come from, and what is made of them: capture files ([`frames`]), an [`Interface`] or a [`Queue`], listened to by a
//! [`Sniffer`].
//!
//! Rule: a frame is handed over as it was captured, with its time; what was said is read by the machines that the proxies use.

mod conversation;
mod detect;
mod eve;
mod expected;
mod file;
mod heard;
mod interface;
mod passage;
mod queue;
mod sniffer;
mod speech;
mod system;

pub use eve::{ALERTS_MAX, Evidence, Forwarded, Proxies, Reporting, Stats, Transactions, Wanted};
pub use file::{CaptureError, Frame, Told, frames};
pub use interface::{Counts, Interface, Promiscuity};
pub use passage::Passage;
pub use queue::{Overload, Queue};
pub use sniffer::{Enforcement, Engines, Sniffer, Summary, Unbegun};
pub use speech::seen_as;
pub use system::{Signals, Waited};

#[cfg(test)]
mod tests;
