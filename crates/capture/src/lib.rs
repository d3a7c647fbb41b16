//! Where packets come from: capture files ([`frames`]). Rule: a frame is handed over as it was captured, with its time.

mod file;

pub use file::{CaptureError, Frame, Told, frames};
