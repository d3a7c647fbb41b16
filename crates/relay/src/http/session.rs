//! One client's requests, one after another: [`Session`]. Rule: a request is read when the one before it has been
//! answered; what came too early waits where it came.

use super::asked::{Asked, Method};
use super::exchange::Exchange;
use super::origin::Origin;
use super::page::{About, Page};
use super::tunnel;
use crate::drain::Phase;
use crate::listener::Accepted;
use crate::scratch::with_scratch;
use crate::shared::Shared;
use crate::stream::{ReadOutcome, Reading};
use lockgate_inspect::Session as InspectSession;
use lockgate_model::{Protocol, TransactionId};
use lockgate_proto::http::{Disposition, Frame, Framing, Limits, RequestHead, RequestReader};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long our last words may take to arrive.
const LINGER: Duration = Duration::from_secs(2);

/// One client's session.
pub struct Session {
    /// What all sessions share.
    pub shared: Arc<Shared>,
    /// The client.
    pub client: Accepted,
    /// Reads its requests.
    pub requests: RequestReader,
    /// The connection to the origin of the last request, for the next one to the same.
    pub kept: Option<Box<Origin>>,
    /// The engines' state for the connection.
    pub inspect: InspectSession,
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its last response has been said.
    Said,
    /// The client is gone, silent or does not read.
    Client,
    /// The response under way is broken off, and the client must know that it is.
    BreakOff,
}

impl Session {
    /// A client, let in.
    pub fn new(client: Accepted, shared: Arc<Shared>) -> Self {
        let inspect = open_inspection(&client, &shared);
        let requests = RequestReader::new(Disposition::Strict, Limits::default());
        Self { shared, client, requests, kept: None, inspect }
    }

    /// From the first request to the end, and why it came.
    pub async fn run(&mut self) -> Over {
        loop {
            match self.serve_one().await {
                Ok(()) => {}
                Err(over) => return over,
            }
        }
    }

    async fn serve_one(&mut self) -> Result<(), Over> {
        let (head, framing) = self.request().await?;
        if !Arc::ptr_eq(self.inspect.generation(), &self.shared.generation.load()) {
            self.inspect = open_inspection(&self.client, &self.shared);
        }
        // In boxes: what is done while a request is served takes no room between two of them.
        match Asked::read(*head) {
            Ok(asked) if asked.method == Method::Connect => Box::pin(tunnel::serve(self, asked)).await,
            Ok(asked) => Box::pin(Exchange::new(self, asked, framing).run()).await,
            Err(page) => self.refuse(&page).await,
        }
    }

    /// The next request's head.
    async fn request(&mut self) -> Result<(Box<RequestHead>, Framing), Over> {
        let deadline = Instant::now() + self.client.gate.settings.timeouts.command;
        let shared = Arc::clone(&self.shared);
        loop {
            match self.read_head().map_err(client_gone)? {
                Heard::Head(head, framing) => return Ok((head, framing)),
                Heard::Bad(page) => return self.refuse(&page).await.and(Err(Over::Said)),
                Heard::End => return Err(Over::Said),
                Heard::Nothing => {}
            }
            let is_between = !self.requests.has_begun();
            if is_between && shared.drain.phase() > Phase::Serving {
                return Err(Over::Said);
            }
            tokio::select! {
                ready = timeout_at(deadline, self.client.stream.ready(Reading::Wanted)) => match ready {
                    Ok(ready) => ready.map_err(client_gone)?,
                    Err(_) if is_between => return Err(Over::Said),
                    Err(_) => {
                        let page = Page::bad_request(408, "the request did not come in time");
                        return self.refuse(&page).await.and(Err(Over::Said));
                    }
                },
                () = shared.drain.draining(), if is_between => {}
            }
        }
    }

    fn read_head(&mut self) -> io::Result<Heard> {
        with_scratch(|scratch| {
            let read = match self.client.stream.try_read(scratch)? {
                ReadOutcome::Bytes(count) => &scratch[..count],
                ReadOutcome::WouldBlock => return Ok(Heard::Nothing),
                ReadOutcome::End => return Ok(Heard::End),
            };
            let step = self.requests.step(read);
            let rest = &read[step.consumed..];
            Ok(match step.frame {
                Frame::Head(head, framing) => {
                    self.client.stream.unread(rest);
                    Heard::Head(head, framing)
                }
                Frame::Refused(refusal) => Heard::Bad(Page::bad_request(refusal.status(), refusal.words())),
                Frame::NeedInput | Frame::Body(_) | Frame::Trailers(_) | Frame::End => Heard::Nothing,
            })
        })
    }

    /// Answers what is no request that could be served; what follows it would not be understood.
    async fn refuse(&mut self, page: &Page) -> Result<(), Over> {
        let id = TransactionId(self.shared.next_id());
        let hostname = &self.shared.settings.load_full().hostname;
        let about = About { address: "", id, hostname, is_head: false, closes: true };
        self.client.stream.write(&page.bytes(&about)).map_err(client_gone)?;
        let (client, why) = (self.client.client.ip().to_canonical(), page.why());
        self.shared.events.load().log(&format!("refused {id} http from {client}: {} {why}", page.status()));
        Err(Over::Said)
    }

    /// Says the last words that are due, and leaves.
    pub async fn end(self: Box<Self>, over: Over) {
        let Self { mut client, kept, .. } = *self;
        drop(kept);
        match over {
            Over::BreakOff => client.stream.abort(),
            Over::Said => {
                // All has been said, but a slow reader may not have it yet.
                let patience = client.gate.settings.timeouts.data_block;
                let _ = timeout(patience, client.stream.flush()).await;
                client.stream.close(LINGER).await;
            }
            Over::Client => client.stream.abort(),
        }
    }
}

/// What was heard of the client.
enum Heard {
    Nothing,
    Head(Box<RequestHead>, Framing),
    Bad(Page),
    End,
}

fn open_inspection(client: &Accepted, shared: &Shared) -> InspectSession {
    client.open_inspection(Protocol::Http, client.client, shared)
}

/// The client's connection broke.
pub fn client_gone(_: io::Error) -> Over {
    Over::Client
}
