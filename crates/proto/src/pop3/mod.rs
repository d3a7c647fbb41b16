//! POP3 (RFC 1939, 2449, 2595, 5034, 6856). Rule: each reply is known by its command, or the command is not relayed.
//!
//! [`command`] reads what the client sends, [`exchange`] keeps commands and replies together, [`receiver`] frames what
//! the server sends, [`capabilities`] filters its CAPA, [`sender`] writes a mail to the client.

pub mod capabilities;
pub mod command;
pub mod exchange;
pub mod receiver;
pub mod sender;

pub use command::Command;
pub use exchange::{Awaited, Exchange, Follows, Turn};
pub use receiver::{Frame, Receiver, Status, StatusLine};
pub use sender::Stuffing;
