//! A server that speaks HTTP/2: [`Streams`], a connection to it, and [`Http2Origin`], one request by it. Rule: the requests
//! of one client share it, and what becomes of one is no concern of the others.

use super::super::content::Last;
use super::super::origin::Origin;
use super::flow::{Incoming, Outgoing, broken};
use super::{heads, limits};
use crate::events::access::Server;
use crate::http::asked::Goal;
use crate::stream::{ReadOutcome, Reading};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use lockgate_inspect::Released;
use lockgate_proto::http::{Follows, Frame, Framing, Refusal, RequestHead, ResponseHead, Scheme, Step};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::timeout;

/// Interim responses passed on before the final one.
const INTERIM_MAX: usize = 16;

/// A connection to a server, by which requests go beside one another.
pub struct Streams {
    requests: SendRequest<Bytes>,
    host: String,
    port: u16,
    server: Server,
    /// Whether a response has come by it: a server may leave such a connection at any time.
    is_used: Rc<Cell<bool>>,
    driver: AbortHandle,
}

impl Streams {
    /// Begins on a connection, within the time given.
    pub async fn open(origin: Origin, patience: Duration) -> io::Result<Self> {
        let server = origin.server();
        let (dialled, host, port) = origin.into_parts();
        let (stream, _, place) = dialled.into_parts();
        let handshake = limits::client().handshake(stream);
        let (requests, connection) = timeout(patience, handshake).await?.map_err(broken)?;
        let driver = spawn_local(async move {
            // It is given back with the connection.
            let _place = place;
            // Why it ended is told to each stream that was open.
            let _ = connection.await;
        });
        let is_used = Rc::default();
        Ok(Self { requests, host, port, server, is_used, driver: driver.abort_handle() })
    }

    /// Whether another request to the host may go by it.
    pub fn is_fit_for(&self, goal: &Goal<'_>) -> bool {
        let leads_there = goal.scheme == Scheme::Https && self.host == goal.host && self.port == goal.port;
        leads_there && !self.driver.is_finished()
    }

    /// A way for one request; one that may be repeated is let go by [`Http2Origin::is_used`].
    pub async fn stream(&self, scheme: Scheme, is_repeatable: bool) -> io::Result<Http2Origin> {
        let requests = self.requests.clone().ready().await.map_err(broken)?;
        let is_used = self.is_used.get() && is_repeatable;
        Ok(Http2Origin {
            requests,
            scheme,
            server: self.server,
            is_used,
            has_answered: Rc::clone(&self.is_used),
            method: Vec::new(),
            answer: Answer::Unasked,
            read: None,
            interim: 0,
            outgoing: None,
        })
    }
}

impl Drop for Streams {
    /// Nobody asks by it any more.
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// One request and its response.
pub struct Http2Origin {
    requests: SendRequest<Bytes>,
    scheme: Scheme,
    server: Server,
    is_used: bool,
    has_answered: Rc<Cell<bool>>,
    method: Vec<u8>,
    answer: Answer,
    /// A head that was read and is to be told.
    read: Option<Result<(Box<ResponseHead>, Framing), Refusal>>,
    interim: usize,
    outgoing: Option<Outgoing>,
}

enum Answer {
    Unasked,
    Awaited(ResponseFuture),
    Comes(Incoming),
}

impl Http2Origin {
    /// Whether the server may have left the connection before the request came there, which may be sent again.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// As `Upstream::server`.
    pub fn server(&self) -> Server {
        self.server
    }

    /// As `Upstream::try_read`.
    pub fn try_read(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        if let Poll::Ready(outcome) = self.poll_head(&mut Context::from_waker(Waker::noop())) {
            outcome?;
        }
        match &mut self.answer {
            Answer::Comes(incoming) => incoming.try_read(scratch),
            Answer::Unasked | Answer::Awaited(_) => Ok(ReadOutcome::WouldBlock),
        }
    }

    /// As `Upstream::step`.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a, ResponseHead> {
        match (self.read.take(), &mut self.answer) {
            (Some(Ok((head, framing))), _) => Step { consumed: 0, frame: Frame::Head(head, framing) },
            (Some(Err(refusal)), _) => Step { consumed: 0, frame: Frame::Refused(refusal) },
            (None, Answer::Comes(incoming)) => incoming.step(input),
            (None, _) => Step { consumed: 0, frame: Frame::NeedInput },
        }
    }

    /// As `Upstream::pending_bytes`.
    pub fn pending_bytes(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::pending_bytes)
    }

    /// As `Upstream::try_flush`.
    pub fn try_flush(&mut self) -> io::Result<()> {
        let sent = self.outgoing.as_mut().map_or(Ok(()), Outgoing::try_flush);
        self.unless_answered(sent)
    }

    /// As `Upstream::ready`.
    pub async fn ready(&mut self, reading: Reading) -> io::Result<()> {
        poll_fn(|cx| self.poll_ready(reading, cx)).await
    }

    fn poll_ready(&mut self, reading: Reading, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if reading == Reading::Wanted {
            if let Poll::Ready(ready) = self.poll_head(cx) {
                return Poll::Ready(ready);
            }
            if let Answer::Comes(incoming) = &mut self.answer
                && let Poll::Ready(ready) = incoming.poll_ready(reading, cx)
            {
                return Poll::Ready(ready);
            }
        }
        match self.outgoing.as_mut().map(|outgoing| outgoing.poll_ready(cx)) {
            Some(Poll::Ready(sent)) => Poll::Ready(self.unless_answered(sent)),
            Some(Poll::Pending) | None => Poll::Pending,
        }
    }

    /// A server that has answered may have no use for the rest of the request (RFC 9113 section 8.1).
    fn unless_answered(&mut self, sent: io::Result<()>) -> io::Result<()> {
        match &self.answer {
            Answer::Comes(_) if sent.is_err() => {
                self.outgoing = None;
                Ok(())
            }
            _ => sent,
        }
    }

    /// Ready when there is a head to be told.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.read.is_some() {
            return Poll::Ready(Ok(()));
        }
        let Answer::Awaited(awaited) = &mut self.answer else { return Poll::Pending };
        if let Poll::Ready(Some(interim)) = awaited.poll_informational(cx) {
            let (head, ()) = interim.map_err(broken)?.into_parts();
            self.interim += 1;
            let read = heads::response(head.status, &head.headers, Follows::Content, &self.method);
            let is_too_many = self.interim > INTERIM_MAX;
            self.tell(if is_too_many { Err(Refusal::TooManyInterim) } else { read });
            return Poll::Ready(Ok(()));
        }
        match Pin::new(awaited).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(answer) => {
                let (head, stream) = answer.map_err(broken)?.into_parts();
                let follows = if stream.is_end_stream() { Follows::Nothing } else { Follows::Content };
                let read = heads::response(head.status, &head.headers, follows, &self.method);
                let framing = read.as_ref().map_or(Framing::None, |(_, framing)| *framing);
                self.answer = Answer::Comes(Incoming::new(stream, framing));
                self.tell(read);
                Poll::Ready(Ok(()))
            }
        }
    }

    fn tell(&mut self, read: Result<(ResponseHead, Framing), Refusal>) {
        self.is_used = false;
        self.has_answered.set(true);
        self.read = Some(read.map(|(head, framing)| (Box::new(head), framing)));
    }

    /// As `Outlet::write`.
    pub fn write(
        &mut self,
        head: Option<&RequestHead>,
        framing: Framing,
        content: &Released<'_>,
        last: Last<'_>,
    ) -> io::Result<()> {
        if let Some(head) = head {
            let ends = heads::ends(framing, content.bytes(), last);
            let request = heads::outgoing_request(head, self.scheme, framing)?;
            let (awaited, stream) = self.requests.send_request(request, ends).map_err(broken)?;
            self.method.clone_from(&head.method);
            self.answer = Answer::Awaited(awaited);
            self.outgoing = Some(Outgoing::new(stream, ends));
        }
        let Some(outgoing) = &mut self.outgoing else { return Ok(()) };
        outgoing.push_released(content);
        match last {
            Last::No => {}
            Last::Yes => outgoing.end(),
            Last::With(trailers) => outgoing.end_with(heads::headers(trailers)),
        }
        self.try_flush()
    }
}
