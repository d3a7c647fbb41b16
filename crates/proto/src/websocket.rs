//! WebSocket (RFC 6455 section 5): a [`Reader`] of one side's frames, a [`Writer`] of the frames that leave. Rule: what
//! passes has one reading, and what leaves is framed by us: messages stay the same, their frames need not.
//!
//! An intermediary may cut a message into other frames where no extension was agreed to (section 5.4). So content can be
//! held and let go by itself, and the writer knows where in it messages begin and end and control frames stand.

mod reader;
mod writer;

pub use reader::{Piece, Reader, Refusal};
pub use writer::Writer;

/// Whose frames they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A client's: each is masked (section 5.1).
    Client,
    /// A server's: none is.
    Server,
}

/// What a message says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Anything.
    Binary,
}

/// The longest content of a control frame (section 5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

#[cfg(test)]
mod tests;
