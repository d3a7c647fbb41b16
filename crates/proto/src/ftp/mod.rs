//! FTP's control connection as a spectator hears it. Rule: what is said is given as it came; what follows from it is where data
//! will go.
//!
//! A [`Conversation`] takes the bytes of both sides (RFC 959, RFC 2228, RFC 2428). It gives commands, the lines of replies with
//! the command that they answer, each data connection that is to be expected ([`DataConnection`]) with the file it is for, and
//! says where TLS begins.

mod conversation;
mod endpoint;
mod lines;
#[cfg(test)]
mod tests;

pub use conversation::{Conversation, DataConnection, PENDING_MAX, Said, Transfer};
pub use endpoint::{Endpoint, of_eprt, of_epsv, of_pasv, of_port};
pub use lines::LINE_BYTES_MAX;

/// What is odd about a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Oddity {
    /// A command longer than [`LINE_BYTES_MAX`].
    RequestCommandTooLong,
    /// A line of a reply longer than that.
    ResponseCommandTooLong,
    /// More than [`PENDING_MAX`] commands wait for their replies.
    TooManyTransactions,
    /// A file is asked for before it was said where it is to go.
    FileBeforePort,
    /// A file is asked for without its name.
    FileWithoutName,
}

impl Oddity {
    /// Its name in rules (`app-layer-event`).
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestCommandTooLong => "ftp.request_command_too_long",
            Self::ResponseCommandTooLong => "ftp.response_command_too_long",
            Self::TooManyTransactions => "ftp.too_many_transactions",
            Self::FileBeforePort => "ftp.file_before_port",
            Self::FileWithoutName => "ftp.file_without_name",
        }
    }
}
