//! SMTP (RFC 5321 and its extensions). Rule: what one side could read as two commands or two mails is refused here.
//!
//! Towards the client: [`receiver`] frames its bytes, [`command`] reads a line, [`server`] says what is in order.
//! Towards the next hop: [`sender`] writes, [`reply`] reads its answers, [`capabilities`] knows what it can do.

pub mod address;
pub mod capabilities;
pub mod command;
pub mod parameters;
pub mod receiver;
pub mod reply;
pub mod sender;
pub mod server;
pub mod xclient;

pub use address::{Address, Path};
pub use capabilities::{Capabilities, Extension};
pub use command::Command;
pub use parameters::Parameters;
pub use receiver::{BadLine, Frame, LineEnds, Receiver};
pub use reply::{Reply, ReplyParser};
pub use sender::Stuffing;
pub use server::{Action, Behind, Session};
pub use xclient::Attributes;
