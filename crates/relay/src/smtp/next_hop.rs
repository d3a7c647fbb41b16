//! The server's side of a session: [`NextHop`], dialled and introduced. Rule: it learns whose connection it is, or it is
//! not trusted to judge relaying.

use super::replies;
use crate::dial::{CLOSE_LINGER, DialError, Upstream};
use crate::scratch::with_scratch;
use crate::stream::ReadOutcome;
use lockgate_proto::smtp::reply::Parsed;
use lockgate_proto::smtp::{Capabilities, Reply, ReplyParser};
use std::io;
use std::time::Duration;

/// Why the next hop cannot be used, or not any more.
#[derive(Debug)]
pub enum Trouble {
    /// It has as many connections as it may have.
    Crowded,
    /// It cannot be reached, or is not what it should be.
    Unavailable(String),
    /// It refuses us; its own words.
    Refused(Reply),
    /// Its connection broke.
    Lost(String),
}

impl Trouble {
    /// What the client is told at MAIL or AUTH.
    pub fn to_reply(&self) -> Reply {
        match self {
            Self::Crowded => replies::crowded(),
            Self::Unavailable(why) => replies::unavailable(451, why),
            // A refusal of the gateway may be for now, whatever its code says: the client's mail is not to blame.
            Self::Refused(reply) => replies::unavailable(451, &reply.to_string()),
            Self::Lost(why) => replies::lost(why),
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Crowded => f.write_str("too many connections to it"),
            Self::Unavailable(why) | Self::Lost(why) => f.write_str(why),
            Self::Refused(reply) => write!(f, "{reply}"),
        }
    }
}

impl From<DialError> for Trouble {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Busy => Self::Crowded,
            other => Self::Unavailable(other.to_string()),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

/// Who the next hop takes the client for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// For who it is: it judges relaying itself.
    Client,
    /// For the gateway, which it may trust more than the client deserves.
    Gateway,
}

/// A connection to the next hop.
pub struct NextHop {
    pub(super) up: Upstream,
    parser: ReplyParser,
    /// What it announced last.
    pub capabilities: Capabilities,
    /// Who it takes the client for.
    pub knows: Knows,
    /// Replies that are still to come for chunks sent.
    pub(super) unanswered: usize,
}

impl NextHop {
    /// Over a connection that has just been made.
    pub fn new(up: Upstream, knows: Knows) -> Self {
        let (parser, capabilities) = (ReplyParser::new(), Capabilities::none());
        Self { up, parser, capabilities, knows, unanswered: 0 }
    }

    /// Whether it has said something while nothing was asked: mostly that it is closing.
    pub fn is_stale(&mut self) -> bool {
        !matches!(self.read_reply(), Ok(None))
    }

    /// Sends a command line (with its CR LF) and awaits the reply.
    pub async fn command(&mut self, line: &[u8], patience: Duration) -> Result<Reply, Trouble> {
        self.up.stream.write(line)?;
        self.reply(patience).await
    }

    /// Awaits a reply.
    pub async fn reply(&mut self, patience: Duration) -> Result<Reply, Trouble> {
        let wait = async {
            self.up.stream.flush().await?;
            loop {
                if let Some(reply) = self.read_reply()? {
                    return Ok(reply);
                }
                self.up.stream.readable().await?;
            }
        };
        match tokio::time::timeout(patience, wait).await {
            Ok(reply) => reply,
            Err(_) => Err(Trouble::Lost(format!("no reply within {} s", patience.as_secs()))),
        }
    }

    /// A reply that has come already.
    pub(super) fn read_reply(&mut self) -> Result<Option<Reply>, Trouble> {
        loop {
            let parsed = with_scratch(|scratch| -> Result<Option<Parsed>, Trouble> {
                let count = match self.up.stream.try_read(scratch)? {
                    ReadOutcome::Bytes(count) => count,
                    ReadOutcome::WouldBlock => return Ok(None),
                    ReadOutcome::End => return Err(Trouble::Lost("it closed the connection".into())),
                };
                let (used, parsed) = self.parser.step(&scratch[..count]);
                self.up.stream.unread(&scratch[used..count]);
                Ok(Some(parsed))
            })?;
            match parsed {
                None => return Ok(None),
                Some(Parsed::NeedInput) => {}
                Some(Parsed::Reply(reply)) => return Ok(Some(reply)),
                Some(Parsed::Malformed(why)) => return Err(Trouble::Lost(why.to_string())),
            }
        }
    }

    /// Waits until everything written has gone.
    pub async fn flush(&mut self, patience: Duration) -> Result<(), Trouble> {
        if self.up.stream.pending_bytes() == 0 {
            return Ok(());
        }
        match tokio::time::timeout(patience, self.up.stream.flush()).await {
            Ok(flushed) => Ok(flushed?),
            Err(_) => Err(Trouble::Lost(format!("it took nothing for {} s", patience.as_secs()))),
        }
    }

    /// Leaves in order, without waiting for its farewell.
    pub async fn quit(mut self) {
        let _ = self.up.stream.write(b"QUIT\r\n");
        self.up.stream.close(CLOSE_LINGER).await;
    }
}
