//! Documents that carry other files. Rule: what is packed into a document is a part like any other, and what is hidden is told.

mod exposed;
mod ole1;
pub mod ole2;
mod outbox;
mod package;
mod parser;
mod powerpoint;
pub mod rtf;
mod vba;

pub use exposed::Exposed;
