//! The client's side of a session: lines in, replies out. Rule: replies leave when there is nothing more to read.

use crate::listener::Accepted;
use crate::scratch::with_scratch;
use crate::stream::ReadOutcome;
use lockgate_proto::smtp::{BadLine, Behind, Frame, Receiver, Reply};
use std::io;
use std::time::Duration;

/// The client.
pub struct Downstream {
    /// Its connection, and what is known of it.
    pub accepted: Accepted,
    /// Frames what it sends.
    pub receiver: Receiver,
}

/// One line, or what should have been one.
pub enum Heard {
    /// Without its CR LF, and whether more has come behind it.
    Line(Vec<u8>, Behind),
    /// None that can be read.
    BadLine(BadLine),
}

/// Why a session is over.
#[derive(Debug)]
pub enum Over {
    /// The client has closed its side, or its connection is broken.
    Gone,
    /// It has said nothing for too long.
    Silent,
    /// The gateway is shutting down.
    Draining,
    /// Its last reply has been said.
    Said,
}

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Downstream {
    /// A client whose greeting has not been sent.
    pub fn new(accepted: Accepted) -> Self {
        Self { accepted, receiver: Receiver::new(lockgate_proto::smtp::receiver::Limits::default()) }
    }

    /// Queues a reply; it leaves before the next wait.
    pub fn say(&mut self, reply: &Reply) -> Result<(), Over> {
        Ok(self.accepted.stream.queue(&reply.to_bytes())?)
    }

    /// The next line. `leave` is heard only while the client says nothing.
    pub async fn line(&mut self, patience: Duration, leave: impl Future<Output = ()>) -> Result<Heard, Over> {
        let mut leave = std::pin::pin!(leave);
        loop {
            match self.read_line()? {
                Read::Heard(heard) => return Ok(heard),
                Read::Part => continue,
                Read::Nothing => {}
            }
            let wait = async {
                self.accepted.stream.flush().await?;
                self.accepted.stream.readable().await
            };
            tokio::select! {
                biased;
                waited = tokio::time::timeout(patience, wait) => waited.map_err(|_| Over::Silent)??,
                () = &mut leave => return Err(Over::Draining),
            }
        }
    }

    fn read_line(&mut self) -> Result<Read, Over> {
        with_scratch(|scratch| {
            let count = match self.accepted.stream.try_read(scratch)? {
                ReadOutcome::Bytes(count) => count,
                ReadOutcome::WouldBlock => return Ok(Read::Nothing),
                ReadOutcome::End => return Err(Over::Gone),
            };
            let read = &scratch[..count];
            let step = self.receiver.step(read);
            let rest = &read[step.consumed..];
            self.accepted.stream.unread(rest);
            let behind = if rest.is_empty() { Behind::Nothing } else { Behind::Bytes };
            Ok(match step.frame {
                Frame::Line(line) => Read::Heard(Heard::Line(line, behind)),
                Frame::BadLine(why) => Read::Heard(Heard::BadLine(why)),
                _ => Read::Part,
            })
        })
    }

    /// One frame, for who only wants to see what it is; `None` where there was no whole one.
    pub async fn frame<R>(
        &mut self,
        patience: Duration,
        look: impl Fn(&Frame<'_>) -> R,
    ) -> Result<Option<R>, Over> {
        let seen = with_scratch(|scratch| {
            let count = match self.accepted.stream.try_read(scratch)? {
                ReadOutcome::Bytes(count) => count,
                ReadOutcome::WouldBlock => 0,
                ReadOutcome::End => return Err(Over::Gone),
            };
            let step = self.receiver.step(&scratch[..count]);
            self.accepted.stream.unread(&scratch[step.consumed..count]);
            Ok(if step.frame == Frame::NeedInput { None } else { Some(look(&step.frame)) })
        })?;
        if seen.is_none() {
            let wait = async {
                self.accepted.stream.flush().await?;
                self.accepted.stream.readable().await
            };
            tokio::time::timeout(patience, wait).await.map_err(|_| Over::Silent)??;
        }
        Ok(seen)
    }

    /// Sends what is queued, within a time.
    pub async fn flush(&mut self, patience: Duration) -> Result<(), Over> {
        match tokio::time::timeout(patience, self.accepted.stream.flush()).await {
            Ok(flushed) => Ok(flushed?),
            Err(_) => Err(Over::Silent),
        }
    }
}

enum Read {
    Heard(Heard),
    /// Something, but no whole line.
    Part,
    Nothing,
}
