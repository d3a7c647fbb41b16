//! A client that speaks HTTP/1: [`Http1`], one request after another. Rule: a request is read when the one before it has
//! been answered; what came too early waits where it came.

use super::admission;
use super::asked::Asked;
use super::content::Last;
use super::downstream::Downstream;
use super::page::Page;
use super::session::{Over, Session, client_gone};
use crate::events::access::Ending;
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading, Stream};
use lockgate_inspect::Released;
use lockgate_model::TransactionId;
use lockgate_proto::http::{
    Disposition, Frame, Framing, LAST_CHUNK, Limits, RequestHead, RequestReader, chunk_head, last_chunk_with,
};
use std::io;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long our last words may take to arrive.
const LINGER: Duration = Duration::from_secs(2);

/// One client's connection.
pub struct Http1 {
    /// The connection.
    pub stream: Stream,
    /// Reads its requests.
    pub requests: RequestReader,
}

/// What a client speaks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// HTTP.
    Http,
    /// TLS.
    Tls,
}

/// The first byte of a TLS connection (RFC 8446 section 5.1); no method begins with it.
const TLS_HANDSHAKE: u8 = 22;

/// What was heard of the client.
enum Heard {
    Nothing,
    Head(Box<RequestHead>, Framing),
    Bad(Page),
    End,
}

impl Http1 {
    /// A connection at whose front a request is awaited.
    pub fn new(stream: Stream) -> Self {
        Self { stream, requests: RequestReader::new(Disposition::Strict, Limits::default()) }
    }

    /// What the client speaks, where that is not known: who does not know of the gateway may begin with TLS. `None` if it
    /// says nothing.
    pub async fn begins_with(&mut self, session: &Session) -> Option<Beginning> {
        if !session.client.is_intercepted {
            return Some(Beginning::Http);
        }
        let deadline = Instant::now() + session.client.gate.settings.timeouts.command;
        loop {
            let read = with_scratch(|scratch| {
                let read = self.stream.try_read(scratch);
                if let Ok(ReadOutcome::Bytes(count)) = read {
                    self.stream.unread(&scratch[..count]);
                }
                read.map(|read| (read, scratch[0]))
            });
            match read.ok()? {
                (ReadOutcome::Bytes(_), TLS_HANDSHAKE) => return Some(Beginning::Tls),
                (ReadOutcome::Bytes(_), _) => return Some(Beginning::Http),
                (ReadOutcome::End, _) => return None,
                (ReadOutcome::WouldBlock, _) => {}
            }
            tokio::select! {
                ready = timeout_at(deadline, self.stream.ready(Reading::Wanted)) => ready.ok()?.ok()?,
                () = session.shared.drain.draining() => return None,
            }
        }
    }

    /// From the first request to the end, and why it came.
    pub async fn run(&mut self, session: &Session) -> Over {
        loop {
            match self.serve_one(session).await {
                Ok(()) => {}
                Err(over) => return over,
            }
        }
    }

    async fn serve_one(&mut self, session: &Session) -> Result<(), Over> {
        let (head, framing) = self.request(session).await?;
        session.renew();
        // In boxes: what is done while a request is served takes no room between two of them.
        match Asked::read(*head, session.site()) {
            Ok(asked) => {
                let client = Downstream::Http1(self);
                Box::pin(admission::serve(session, client, asked, framing)).await
            }
            Err(page) => self.refuse(session, &page),
        }
    }

    /// The next request's head.
    async fn request(&mut self, session: &Session) -> Result<(Box<RequestHead>, Framing), Over> {
        let deadline = Instant::now() + session.client.gate.settings.timeouts.command;
        loop {
            match self.read_head().map_err(client_gone)? {
                Heard::Head(head, framing) => return Ok((head, framing)),
                Heard::Bad(page) => return self.refuse(session, &page).and(Err(Over::Said)),
                Heard::End => return Err(Over::Said),
                Heard::Nothing => {}
            }
            let is_between = !self.requests.has_begun();
            if is_between && session.is_draining() {
                return Err(Over::Said);
            }
            tokio::select! {
                ready = timeout_at(deadline, self.stream.ready(Reading::Wanted)) => match ready {
                    Ok(ready) => ready.map_err(client_gone)?,
                    Err(_) if is_between => return Err(Over::Said),
                    Err(_) => {
                        let page = Page::bad_request(408, "the request did not come in time");
                        return self.refuse(session, &page).and(Err(Over::Said));
                    }
                },
                () = session.shared.drain.draining(), if is_between => {}
            }
        }
    }

    fn read_head(&mut self) -> io::Result<Heard> {
        with_scratch(|scratch| {
            let read = match self.stream.try_read(scratch)? {
                ReadOutcome::Bytes(count) => &scratch[..count],
                ReadOutcome::WouldBlock => return Ok(Heard::Nothing),
                ReadOutcome::End => return Ok(Heard::End),
            };
            let step = self.requests.step(read);
            let rest = &read[step.consumed..];
            Ok(match step.frame {
                Frame::Head(head, framing) => {
                    self.stream.unread(rest);
                    Heard::Head(head, framing)
                }
                Frame::Refused(refusal) => Heard::Bad(Page::bad_request(refusal.status(), refusal.words())),
                Frame::NeedInput | Frame::Body(_) | Frame::Trailers(_) | Frame::End => Heard::Nothing,
            })
        })
    }

    /// Answers what is no request that could be served; what follows it would not be understood.
    fn refuse(&mut self, session: &Session, page: &Page) -> Result<(), Over> {
        let id = TransactionId(session.shared.next_id());
        let about = session.about(None, id);
        let written = self.stream.write(&page.bytes(&about));
        session.visit_of_nothing(&page.visit(page.response(&about).1.len() as u64, Ending::Invalid));
        written.map_err(client_gone)?;
        let (client, why) = (session.client.client.ip().to_canonical(), page.why());
        let log = format!("refused {id} http from {client}: {} {why}", page.status());
        session.shared.events.load().log(&log);
        Err(Over::Said)
    }

    /// Says the last words that are due, and leaves.
    pub async fn end(mut self, patience: Duration, over: Over) {
        match over {
            Over::Said => {
                // All has been said, but a slow reader may not have it yet.
                let _ = timeout(patience, self.stream.flush()).await;
                self.stream.close(LINGER).await;
            }
            Over::BreakOff | Over::Client | Over::Secured => self.stream.abort(),
        }
    }
}

/// Writes a piece of a message's content, behind its head if that is not empty, in one system call where the socket takes
/// it.
pub fn write(
    stream: &mut Stream,
    head: Vec<u8>,
    framing: Framing,
    content: &Released<'_>,
    last: Last<'_>,
) -> io::Result<()> {
    let (mut before, mut after) = (head, Vec::new());
    if framing == Framing::Chunked {
        if !content.is_empty() {
            before.extend_from_slice(&chunk_head(content.bytes()));
            after.extend_from_slice(b"\r\n");
        }
        match last {
            Last::No => {}
            Last::Yes => after.extend_from_slice(LAST_CHUNK),
            Last::With(trailers) => after.extend_from_slice(&last_chunk_with(trailers)),
        }
    }
    stream.write_framed(&before, content, &after)
}
