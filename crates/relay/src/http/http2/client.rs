//! A client that speaks HTTP/2: [`serve`], and [`Http2`], one of its streams. Rule: each stream is an exchange of its own;
//! who only makes work is left.

use super::super::admission;
use super::super::asked::Asked;
use super::super::content::Last;
use super::super::downstream::Downstream;
use super::super::page::{About, Page};
use super::super::session::{Over, Session, client_gone};
use super::flow::{Incoming, Outgoing, broken};
use super::{heads, limits, tunnel, websocket};
use crate::events::access::Ending;
use crate::stream::{ReadOutcome, Reading, Stream};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use lockgate_inspect::Released;
use lockgate_model::TransactionId;
use lockgate_proto::http::{Follows, Framing, RequestHead, ResponseHead, Step};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// How long our last words may take to arrive.
const LINGER: Duration = Duration::from_secs(2);
/// Exchanges of a connection that are not over: those of streams that were reset are for a moment more than the streams.
const EXCHANGES_MAX: usize = 2 * limits::STREAMS_MAX as usize;

/// One stream, for the time of its exchange.
pub struct Http2 {
    incoming: Incoming,
    respond: SendResponse<Bytes>,
    /// The response's content, once its head has left.
    pub(super) outgoing: Option<Outgoing>,
}

/// Serves a connection on which HTTP/2 was agreed on.
pub async fn serve(stream: Stream, session: Rc<Session>) {
    let timeouts = session.client.gate.settings.timeouts.clone();
    let mut builder = limits::server();
    if websocket::is_offered(&session) {
        builder.enable_connect_protocol();
    }
    let handshake = timeout(timeouts.handshake, builder.handshake(stream));
    let Ok(Ok(mut connection)) = handshake.await else { return };
    let mut exchanges = JoinSet::new();
    let mut idle_since = Instant::now();
    let mut draining = pin!(session.shared.drain.draining());
    let (mut leaves, mut resets) = (false, 0);
    loop {
        let patience = if leaves { LINGER } else { timeouts.command };
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((_, mut respond))) if exchanges.len() >= EXCHANGES_MAX => {
                    respond.send_reset(Reason::REFUSED_STREAM);
                }
                Some(Ok((request, respond))) => {
                    exchanges.spawn_local(serve_one(Rc::clone(&session), request, respond));
                }
                Some(Err(_)) | None => break,
            },
            Some(ended) = exchanges.join_next() => {
                idle_since = Instant::now();
                // Each answer that was taken makes up for a reset.
                resets = match ended {
                    Ok(Err(Over::Client)) => resets + 1,
                    _ => usize::saturating_sub(resets, 1),
                };
                if resets > limits::RESETS_MAX {
                    note(&session, "resets too many streams");
                    connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                    leaves = true;
                }
            }
            () = &mut draining, if !leaves => {
                connection.graceful_shutdown();
                leaves = true;
            }
            () = sleep_until(idle_since + patience), if exchanges.is_empty() => {
                if leaves {
                    break;
                }
                connection.graceful_shutdown();
                (leaves, idle_since) = (true, Instant::now());
            }
        }
    }
    // Who is still at it sees that the client is gone, and writes it down.
    drop(connection);
    while exchanges.join_next().await.is_some() {}
}

/// One stream, to its end.
async fn serve_one(
    session: Rc<Session>,
    request: http::Request<RecvStream>,
    respond: SendResponse<Bytes>,
) -> Result<(), Over> {
    let (head, stream) = request.into_parts();
    let patience = session.client.gate.settings.timeouts.data_block;
    let (mut client, over) = if websocket::is_asked_for(&head) && websocket::is_offered(&session) {
        let mut client = Http2 { incoming: Incoming::new(stream, Framing::Chunked), respond, outgoing: None };
        let over = Box::pin(websocket::serve(&session, &mut client, head)).await;
        (client, over)
    } else {
        exchanged(&session, &head, stream, respond).await
    };
    match over {
        Ok(()) | Err(Over::Said) => client.finish(patience).await.map_err(client_gone),
        Err(Over::BreakOff | Over::Secured) => {
            client.reset(Reason::INTERNAL_ERROR);
            Ok(())
        }
        Err(Over::Client) => {
            client.reset(Reason::CANCEL);
            Err(Over::Client)
        }
    }
}

/// A request and its response.
async fn exchanged(
    session: &Session,
    head: &http::request::Parts,
    stream: RecvStream,
    respond: SendResponse<Bytes>,
) -> (Http2, Result<(), Over>) {
    let follows = if stream.is_end_stream() { Follows::Nothing } else { Follows::Content };
    let read = heads::request(head, follows);
    let framing = match &read {
        // What follows is the tunnel's.
        Ok((head, _)) if head.method == b"CONNECT" => Framing::Chunked,
        Ok((_, framing)) => *framing,
        Err(_) => Framing::Chunked,
    };
    let mut client = Http2 { incoming: Incoming::new(stream, framing), respond, outgoing: None };
    let over = match read {
        Ok((head, framing)) => client.exchange(session, head, framing).await,
        Err(refusal) => client.refuse(session, &Page::bad_request(refusal.status(), refusal.words())),
    };
    (client, over)
}

impl Http2 {
    async fn exchange(&mut self, session: &Session, head: RequestHead, framing: Framing) -> Result<(), Over> {
        session.renew();
        if head.method == b"CONNECT" && session.site().is_none() {
            return Box::pin(tunnel::serve(session, self, &head)).await;
        }
        match Asked::read(head, session.site()) {
            Ok(asked) => admission::serve(session, Downstream::Http2(self), asked, framing).await,
            Err(page) => self.refuse(session, &page),
        }
    }

    /// Answers what is no request that could be served.
    pub(super) fn refuse(&mut self, session: &Session, page: &Page) -> Result<(), Over> {
        let id = TransactionId(session.shared.next_id());
        let about = session.about(None, id);
        let written = self.say_page(page, &about);
        session.visit_of_nothing(&page.visit(page.response(&about).1.len() as u64, Ending::Invalid));
        written.map_err(client_gone)?;
        note(session, &format!("refused {id}: {} {}", page.status(), page.why()));
        Ok(())
    }

    /// Says what is still to be said, as long as the client takes some of it within its time.
    async fn finish(&mut self, patience: Duration) -> io::Result<()> {
        let Some(outgoing) = &mut self.outgoing else { return Ok(()) };
        while outgoing.pending_bytes() > 0 {
            timeout(patience, poll_fn(|cx| outgoing.poll_ready(cx))).await??;
        }
        outgoing.try_flush()
    }

    fn reset(&mut self, reason: Reason) {
        match &mut self.outgoing {
            Some(outgoing) => outgoing.reset(reason),
            None => self.respond.send_reset(reason),
        }
    }

    /// As [`Downstream::try_read`].
    pub fn try_read(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        self.incoming.try_read(scratch)
    }

    /// As [`Downstream::step`].
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a, RequestHead> {
        self.incoming.step(input)
    }

    /// As [`Downstream::has_begun`].
    pub fn has_begun(&self) -> bool {
        self.incoming.has_begun()
    }

    /// As [`Downstream::pending_bytes`].
    pub fn pending_bytes(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::pending_bytes)
    }

    /// As [`Downstream::try_flush`].
    pub fn try_flush(&mut self) -> io::Result<()> {
        self.outgoing.as_mut().map_or(Ok(()), Outgoing::try_flush)
    }

    /// As [`Downstream::flush`].
    pub async fn flush(&mut self) -> io::Result<()> {
        match &mut self.outgoing {
            Some(outgoing) => poll_fn(|cx| outgoing.poll_send(cx)).await,
            None => Ok(()),
        }
    }

    /// As [`Downstream::ready`].
    pub async fn ready(&mut self, reading: Reading) -> io::Result<()> {
        poll_fn(|cx| self.poll_ready(reading, cx)).await
    }

    fn poll_ready(&mut self, reading: Reading, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(ready) = self.incoming.poll_ready(reading, cx) {
            return Poll::Ready(ready);
        }
        match &mut self.outgoing {
            Some(outgoing) => outgoing.poll_ready(cx),
            None => self.respond.poll_reset(cx).map(|_| Err(io::ErrorKind::ConnectionReset.into())),
        }
    }

    /// As [`Downstream::say_continue`].
    pub fn say_continue(&mut self) -> io::Result<()> {
        let mut response = http::Response::new(());
        *response.status_mut() = http::StatusCode::CONTINUE;
        self.respond.send_informational(response).map_err(broken)
    }

    /// As [`Downstream::say_interim`].
    pub fn say_interim(&mut self, head: &ResponseHead) -> io::Result<()> {
        let response = heads::outgoing_response(head, Framing::None);
        self.respond.send_informational(response).map_err(broken)
    }

    /// As [`Downstream::say_page`].
    pub fn say_page(&mut self, page: &Page, about: &About) -> io::Result<()> {
        let (head, body) = page.response(about);
        let framing = if about.is_head { Framing::None } else { Framing::Length(body.len() as u64) };
        let outgoing = self.begin(&head, framing, about.is_head)?;
        if !about.is_head {
            outgoing.push(body.into());
        }
        outgoing.end();
        outgoing.try_flush()
    }

    /// As `Outlet::write`.
    pub fn write(
        &mut self,
        head: Option<&ResponseHead>,
        framing: Framing,
        content: &Released<'_>,
        last: Last<'_>,
    ) -> io::Result<()> {
        let outgoing = match (head, &mut self.outgoing) {
            (Some(head), _) => self.begin(head, framing, heads::ends(framing, content.bytes(), last))?,
            (None, Some(outgoing)) => outgoing,
            (None, None) => return Err(io::ErrorKind::NotConnected.into()),
        };
        outgoing.push_released(content);
        match last {
            Last::No => {}
            Last::Yes => outgoing.end(),
            Last::With(trailers) => outgoing.end_with(heads::headers(trailers)),
        }
        outgoing.try_flush()
    }

    /// Says the head of the response.
    pub(super) fn begin(
        &mut self,
        head: &ResponseHead,
        framing: Framing,
        ends: bool,
    ) -> io::Result<&mut Outgoing> {
        let response = heads::outgoing_response(head, framing);
        let stream = self.respond.send_response(response, ends).map_err(broken)?;
        Ok(self.outgoing.insert(Outgoing::new(stream, ends)))
    }
}

fn note(session: &Session, what: &str) {
    let client = session.client.client.ip().to_canonical();
    session.shared.events.load().log(&format!("http/2 from {client}: {what}"));
}
