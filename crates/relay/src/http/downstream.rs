//! The client's side of one exchange: [`Downstream`]. Rule: what the client speaks is known here and nowhere else in an
//! exchange.

use super::content::{Last, Outlet};
use super::http1::{self, Http1};
use super::http2::Http2;
use super::page::{About, Page};
use crate::stream::{ReadOutcome, Reading};
use lockgate_inspect::Released;
use lockgate_proto::http::{Framing, RequestHead, ResponseHead, Step, write_response};
use std::io;

/// A client, for the time of one exchange: behind the request's head.
pub enum Downstream<'s> {
    /// By HTTP/1: one exchange after another has the connection.
    Http1(&'s mut Http1),
    /// By HTTP/2: the exchange has a stream for itself.
    Http2(&'s mut Http2),
}

impl Downstream<'_> {
    /// Reads what there is of the request, to be given to [`step`](Self::step).
    pub fn try_read(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        match self {
            Self::Http1(client) => client.stream.try_read(scratch),
            Self::Http2(client) => client.try_read(scratch),
        }
    }

    /// What stands at the front of what was read.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a, RequestHead> {
        match self {
            Self::Http1(client) => client.requests.step(input),
            Self::Http2(client) => client.step(input),
        }
    }

    /// Puts back what is not used yet, or is not of this request.
    pub fn unread(&mut self, rest: &[u8]) {
        match self {
            Self::Http1(client) => client.stream.unread(rest),
            // Of what comes by a stream all is this request's, and a step uses it.
            Self::Http2(_) => debug_assert!(rest.is_empty()),
        }
    }

    /// Whether the request has not come to its end.
    pub fn has_begun(&self) -> bool {
        match self {
            Self::Http1(client) => client.requests.has_begun(),
            Self::Http2(client) => client.has_begun(),
        }
    }

    /// Bytes that wait for the client to take them.
    pub fn pending_bytes(&self) -> usize {
        match self {
            Self::Http1(client) => client.stream.pending_bytes(),
            Self::Http2(client) => client.pending_bytes(),
        }
    }

    /// Sends what waits, as far as it goes at once.
    pub fn try_flush(&mut self) -> io::Result<()> {
        match self {
            Self::Http1(client) => client.stream.try_flush(),
            Self::Http2(client) => client.try_flush(),
        }
    }

    /// Waits until all has been sent.
    pub async fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Http1(client) => client.stream.flush().await,
            Self::Http2(client) => client.flush().await,
        }
    }

    /// Waits until there is something to read, if that is wanted, or until some of what waits has been sent.
    pub async fn ready(&mut self, reading: Reading) -> io::Result<()> {
        match self {
            Self::Http1(client) => client.stream.ready(reading).await,
            Self::Http2(client) => client.ready(reading).await,
        }
    }

    /// Lets a client that asked first send its content (RFC 9110 section 10.1.1).
    pub fn say_continue(&mut self) -> io::Result<()> {
        match self {
            Self::Http1(client) => client.stream.write(b"HTTP/1.1 100 Continue\r\n\r\n"),
            Self::Http2(client) => client.say_continue(),
        }
    }

    /// Passes an interim response on, with what follows it or a little before.
    pub fn say_interim(&mut self, head: &ResponseHead) -> io::Result<()> {
        match self {
            Self::Http1(client) => {
                let mut out = Vec::new();
                write_response(head, Framing::None, &mut out);
                client.stream.queue(&out)
            }
            Self::Http2(client) => client.say_interim(head),
        }
    }

    /// Answers with a page, where nothing was said yet.
    pub fn say_page(&mut self, page: &Page, about: &About) -> io::Result<()> {
        match self {
            Self::Http1(client) => client.stream.write(&page.bytes(about)),
            Self::Http2(client) => client.say_page(page, about),
        }
    }
}

impl Outlet for Downstream<'_> {
    type Head = ResponseHead;

    fn write(
        &mut self,
        head: Option<&ResponseHead>,
        framing: Framing,
        content: &Released<'_>,
        last: Last<'_>,
    ) -> io::Result<()> {
        match self {
            Self::Http1(client) => {
                let mut before = Vec::new();
                if let Some(head) = head {
                    write_response(head, framing, &mut before);
                }
                http1::write(&mut client.stream, before, framing, content, last)
            }
            Self::Http2(client) => client.write(head, framing, content, last),
        }
    }
}
