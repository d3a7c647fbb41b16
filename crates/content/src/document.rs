//! Documents that carry other files. Rule: what is packed into a document is a part like any other, and what is hidden is told.

mod exposed;
pub mod html;
mod lzfu;
mod ole1;
pub mod ole2;
pub mod onenote;
mod outbox;
mod package;
mod parser;
pub mod pdf;
mod powerpoint;
pub mod rtf;
pub mod tnef;
mod vba;
mod within;

pub use exposed::Exposed;
