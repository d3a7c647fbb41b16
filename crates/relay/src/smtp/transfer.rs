//! A mail's content on its way to where it goes: [`Transfer`]. Rule: its end is sent only after the judgement.
//!
//! Towards a next hop with CHUNKING each piece is a chunk that is not the last (RFC 3030): `BDAT 0 LAST` is the held end,
//! and RSET takes the mail back with TLS and authentication intact. Without it content goes as DATA, which can only be
//! taken back by dropping the connection. Into a maildir it goes under a name that nobody reads.

use super::next_hop::{NextHop, Trouble};
use super::replies;
use crate::maildir::{Delivery, Maildir};
use crate::settings::Timeouts;
use lockgate_inspect::Released;
use lockgate_proto::smtp::command::Last;
use lockgate_proto::smtp::sender::bdat_line;
use lockgate_proto::smtp::{Extension, Reply, Stuffing};

/// Chunks that may wait for their replies; more are not sent before the first are answered.
const UNANSWERED_MAX: usize = 64;

/// Where a session's mails go.
pub enum Destination {
    /// A mail server.
    Server(Box<NextHop>),
    /// A directory of our own.
    Maildir(Maildir),
}

/// One mail's content.
pub struct Transfer {
    way: Way,
    /// Header fields of the gateway's own, which go before the content.
    prefix: Vec<u8>,
    /// Content that came before DATA was answered.
    waiting: Vec<Released<'static>>,
}

enum Way {
    /// Nothing has been sent; chunks will be.
    Chunks,
    /// Chunks have been sent.
    InChunks,
    /// Nothing has been sent; DATA will be.
    Data,
    /// DATA has got its 354.
    InData(Stuffing),
    /// Into a file.
    File(Option<Delivery>),
    /// No further: the reply that the client gets instead.
    Failed(Reply),
}

/// Whether the destination can be used for the next mail after one was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It can.
    Usable,
    /// Its connection had to be dropped.
    Dropped,
}

impl Transfer {
    /// Nothing sent yet.
    pub fn new(destination: &Destination, chunking: crate::settings::Switch, prefix: Vec<u8>) -> Self {
        let way = match destination {
            Destination::Maildir(_) => Way::File(None),
            Destination::Server(hop) if chunking.is_on() && hop.capabilities.has(Extension::Chunking) => {
                Way::Chunks
            }
            Destination::Server(_) => Way::Data,
        };
        Self { way, prefix, waiting: Vec::new() }
    }

    /// Whether it has come to its end before the content has.
    pub fn failure(&self) -> Option<&Reply> {
        if let Way::Failed(reply) = &self.way { Some(reply) } else { None }
    }

    /// Hands on content that may leave. What the destination does not take at once waits until [`Transfer::settle`].
    pub fn write(&mut self, content: Released<'_>, destination: &mut Destination) {
        if content.is_empty() {
            return;
        }
        let prefix = std::mem::take(&mut self.prefix);
        let written = match (&mut self.way, destination) {
            (Way::Chunks | Way::InChunks, Destination::Server(hop)) => {
                self.way = Way::InChunks;
                write_chunk(hop, &prefix, &content, Last::No)
            }
            (Way::InData(stuffing), Destination::Server(hop)) => {
                let begun = if prefix.is_empty() { Ok(()) } else { hop.up.stream.write(&prefix) };
                begun.map_err(Trouble::from).and_then(|()| write_stuffed(hop, stuffing, &content))
            }
            (Way::Data, _) => {
                self.prefix = prefix;
                self.waiting.push(content.into_owned());
                Ok(())
            }
            (Way::File(file), Destination::Maildir(maildir)) => {
                if let Err(error) = write_file(file, maildir, &prefix, &content) {
                    self.way = Way::Failed(replies::not_stored(&error.to_string()));
                }
                Ok(())
            }
            _ => Ok(()),
        };
        self.heed(written);
    }

    /// Whether [`Transfer::settle`] has something to do.
    pub fn is_unsettled(&self, destination: &Destination) -> bool {
        let Destination::Server(hop) = destination else { return false };
        !self.waiting.is_empty() || hop.up.stream.pending_bytes() > 0 || hop.unanswered > UNANSWERED_MAX / 2
    }

    /// Waits until the destination has taken what was written, so that no more is read than it takes.
    pub async fn settle(&mut self, destination: &mut Destination, timeouts: &Timeouts) {
        let Destination::Server(hop) = destination else { return };
        let settled = self.settle_server(hop, timeouts).await;
        self.heed(settled);
    }

    async fn settle_server(&mut self, hop: &mut NextHop, timeouts: &Timeouts) -> Result<(), Trouble> {
        if !self.waiting.is_empty() {
            self.begin_data(hop, timeouts).await?;
        }
        hop.flush(timeouts.data_block).await?;
        // A server that refuses a chunk says so at once; there is no use in sending it the rest.
        while hop.unanswered > 0 {
            let reply = if hop.unanswered > UNANSWERED_MAX {
                hop.reply(timeouts.data_block).await?
            } else {
                match hop.read_reply()? {
                    Some(reply) => reply,
                    None => break,
                }
            };
            hop.unanswered -= 1;
            if !reply.is_completed() {
                self.way = Way::Failed(reply);
                break;
            }
        }
        Ok(())
    }

    /// DATA and its answer, then what has waited for it.
    async fn begin_data(&mut self, hop: &mut NextHop, timeouts: &Timeouts) -> Result<(), Trouble> {
        if !matches!(self.way, Way::Data) {
            return Ok(());
        }
        let reply = hop.command(b"DATA\r\n", timeouts.data_initiation).await?;
        if !reply.is_intermediate() {
            self.waiting.clear();
            let is_odd = reply.is_completed();
            self.way = Way::Failed(if is_odd { replies::lost("it answered DATA oddly") } else { reply });
            return Ok(());
        }
        let mut stuffing = Stuffing::new();
        hop.up.stream.queue(&std::mem::take(&mut self.prefix))?;
        for content in self.waiting.drain(..) {
            write_stuffed(hop, &mut stuffing, &content)?;
        }
        self.way = Way::InData(stuffing);
        Ok(())
    }

    /// The judgement lets the mail go: the rest, then the end. The reply is the destination's own.
    pub async fn commit(
        mut self,
        rest: Released<'_>,
        destination: &mut Destination,
        timeouts: &Timeouts,
    ) -> (Reply, After) {
        let hop = match destination {
            Destination::Maildir(maildir) => {
                return (self.commit_to_file(&rest, maildir).await, After::Usable);
            }
            Destination::Server(hop) => hop,
        };
        match self.commit_to_server(rest, hop, timeouts).await {
            Err(trouble) => (trouble.to_reply(), After::Dropped),
            Ok(Ok(reply)) => (reply, After::Usable),
            Ok(Err(reply)) => (reply, self.abort(destination, timeouts).await),
        }
    }

    /// The destination's last word, or a reply that stands for a mail which must be taken back.
    async fn commit_to_server(
        &mut self,
        rest: Released<'_>,
        hop: &mut NextHop,
        timeouts: &Timeouts,
    ) -> Result<Result<Reply, Reply>, Trouble> {
        if matches!(self.way, Way::Chunks | Way::InChunks) {
            let prefix = std::mem::take(&mut self.prefix);
            write_chunk(hop, &prefix, &rest, Last::Yes)?;
            return last_of_chunks(hop, timeouts).await;
        }
        self.waiting.push(rest.into_owned());
        self.begin_data(hop, timeouts).await?;
        match &mut self.way {
            Way::InData(stuffing) => {
                for content in self.waiting.drain(..) {
                    write_stuffed(hop, stuffing, &content)?;
                }
                match stuffing.end() {
                    Ok(end) => hop.up.stream.write(end)?,
                    Err(refusal) => return Ok(Err(replies::refused_line_ends(refusal))),
                }
            }
            Way::Failed(reply) => return Ok(Err(reply.clone())),
            Way::Chunks | Way::InChunks | Way::Data | Way::File(_) => {
                return Ok(Err(replies::lost("the mail could not be sent")));
            }
        }
        hop.flush(timeouts.data_block).await?;
        Ok(Ok(hop.reply(timeouts.data_termination).await?))
    }

    async fn commit_to_file(self, rest: &Released<'_>, maildir: &Maildir) -> Reply {
        let mut file = match self.way {
            Way::Failed(reply) => return reply,
            Way::File(file) => file,
            _ => None,
        };
        let stored = match write_file(&mut file, maildir, &self.prefix, rest) {
            Err(error) => Err(error),
            Ok(()) => match file {
                Some(file) => file.commit().await,
                None => Ok(()),
            },
        };
        match stored {
            Ok(()) => Reply::new(250, "2.0.0", "delivered"),
            Err(error) => replies::not_stored(&error.to_string()),
        }
    }

    /// The mail goes no further: whatever the destination has of it is taken back.
    pub async fn abort(self, destination: &mut Destination, timeouts: &Timeouts) -> After {
        let Destination::Server(hop) = destination else { return After::Usable };
        // Within DATA there is no way back but to leave before its end.
        let is_in_data = matches!(self.way, Way::InData(_));
        if is_in_data || take_back(hop, timeouts).await.is_err() { After::Dropped } else { After::Usable }
    }

    fn heed(&mut self, outcome: Result<(), Trouble>) {
        if let Err(trouble) = outcome {
            self.waiting.clear();
            self.way = Way::Failed(trouble.to_reply());
        }
    }
}

/// RSET, and the replies that are still to come for chunks before it.
pub async fn take_back(hop: &mut NextHop, timeouts: &Timeouts) -> Result<(), Trouble> {
    hop.up.stream.write(b"RSET\r\n")?;
    for _ in 0..std::mem::take(&mut hop.unanswered) {
        hop.reply(timeouts.reply).await?;
    }
    let reply = hop.reply(timeouts.reply).await?;
    if reply.is_completed() { Ok(()) } else { Err(Trouble::Refused(reply)) }
}

fn write_chunk(hop: &mut NextHop, prefix: &[u8], content: &Released<'_>, last: Last) -> Result<(), Trouble> {
    let mut before = bdat_line((prefix.len() + content.bytes()) as u64, last);
    before.extend_from_slice(prefix);
    hop.unanswered += 1;
    Ok(hop.up.stream.write_framed(&before, content, &[])?)
}

/// The last reply counts, unless one before it is a refusal.
async fn last_of_chunks(hop: &mut NextHop, timeouts: &Timeouts) -> Result<Result<Reply, Reply>, Trouble> {
    hop.flush(timeouts.data_block).await?;
    let mut refusal = None;
    loop {
        let reply = hop.reply(timeouts.data_termination).await?;
        hop.unanswered = hop.unanswered.saturating_sub(1);
        if !reply.is_completed() {
            refusal.get_or_insert_with(|| reply.clone());
        }
        if hop.unanswered == 0 {
            return Ok(refusal.map_or(Ok(reply), Err));
        }
    }
}

fn write_stuffed(hop: &mut NextHop, stuffing: &mut Stuffing, content: &Released<'_>) -> Result<(), Trouble> {
    Ok(hop.up.stream.write_stuffed(content, stuffing)?)
}

fn write_file(
    file: &mut Option<Delivery>,
    maildir: &Maildir,
    prefix: &[u8],
    content: &Released<'_>,
) -> std::io::Result<()> {
    if file.is_none() {
        *file = Some(maildir.begin()?);
    }
    let Some(file) = file else { return Ok(()) };
    file.write(prefix)?;
    file.write_released(content)
}
