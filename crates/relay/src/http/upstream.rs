//! The server's side of one exchange: [`Upstream`]. Rule: what the server speaks is known here and nowhere else in an
//! exchange.

use super::content::{Last, Outlet};
use super::http1;
use super::http2::Http2Origin;
use super::origin::Origin;
use super::session::Session;
use crate::events::access::Server;
use crate::stream::{ReadOutcome, Reading};
use lockgate_inspect::Released;
use lockgate_proto::http::{Eof, Framing, RequestHead, ResponseHead, Step};
use std::io;

/// A way to the server, for the time of one exchange.
pub enum Upstream {
    /// By HTTP/1: the exchange has the connection for itself.
    Http1(Box<Origin>),
    /// By HTTP/2: the exchange has a stream for itself.
    Http2(Box<Http2Origin>),
}

impl Upstream {
    /// Whether it may have been closed by the server before the request came there, since it was used before.
    pub fn is_used(&self) -> bool {
        match self {
            Self::Http1(origin) => origin.is_used,
            Self::Http2(origin) => origin.is_used(),
        }
    }

    /// Where it leads, for the access log.
    pub fn server(&self) -> Server {
        match self {
            Self::Http1(origin) => origin.server(),
            Self::Http2(origin) => origin.server(),
        }
    }

    /// Whether it is a proxy behind this one that answers.
    pub fn leads_to_parent(&self) -> bool {
        match self {
            Self::Http1(origin) => origin.leads_to_parent(),
            // It is spoken under TLS only, which a proxy behind this one does not see into.
            Self::Http2(_) => false,
        }
    }

    /// A login comes by it that is the connection's: it stays with this client.
    pub fn pin(&mut self) {
        match self {
            Self::Http1(origin) => origin.pin(),
            // It is this client's as it is.
            Self::Http2(_) => {}
        }
    }

    /// Reads what there is of the response, to be given to [`step`](Self::step).
    pub fn try_read(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        match self {
            Self::Http1(origin) => {
                let read = origin.stream().try_read(scratch)?;
                // The server has seen the request: it is no connection that was closed before.
                origin.is_used &= !matches!(read, ReadOutcome::Bytes(_));
                Ok(read)
            }
            Self::Http2(origin) => origin.try_read(scratch),
        }
    }

    /// What stands at the front of what was read.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a, ResponseHead> {
        match self {
            Self::Http1(origin) => origin.reader.step(input),
            Self::Http2(origin) => origin.step(input),
        }
    }

    /// Puts back what is not used yet.
    pub fn unread(&mut self, rest: &[u8]) {
        match self {
            Self::Http1(origin) => origin.stream().unread(rest),
            // Of what comes by a stream all is this response's, and a step uses it.
            Self::Http2(_) => debug_assert!(rest.is_empty()),
        }
    }

    /// The server has ended its way: whether the response is whole.
    pub fn eof(&mut self) -> Eof {
        match self {
            Self::Http1(origin) => origin.reader.eof(),
            // Its streams have ends of their own.
            Self::Http2(_) => Eof::Truncated,
        }
    }

    /// Bytes that wait for the server to take them.
    pub fn pending_bytes(&mut self) -> usize {
        match self {
            Self::Http1(origin) => origin.stream().pending_bytes(),
            Self::Http2(origin) => origin.pending_bytes(),
        }
    }

    /// Sends what waits, as far as it goes at once.
    pub fn try_flush(&mut self) -> io::Result<()> {
        match self {
            Self::Http1(origin) => origin.stream().try_flush(),
            Self::Http2(origin) => origin.try_flush(),
        }
    }

    /// Waits until there is something to read, if that is wanted, or until some of what waits has been sent.
    pub async fn ready(&mut self, reading: Reading) -> io::Result<()> {
        match self {
            Self::Http1(origin) => origin.stream().ready(reading).await,
            Self::Http2(origin) => origin.ready(reading).await,
        }
    }

    /// Request and response have come to their ends: the connection is kept for the next, if it can be.
    pub fn keep(self, session: &Session) {
        match self {
            Self::Http1(mut origin) => {
                if origin.reader.keeps_alive() {
                    origin.is_used = true;
                    session.keep(origin);
                }
            }
            // The connection is the session's already.
            Self::Http2(_) => {}
        }
    }
}

impl Outlet for Upstream {
    type Head = RequestHead;

    fn write(
        &mut self,
        head: Option<&RequestHead>,
        framing: Framing,
        content: &Released<'_>,
        last: Last<'_>,
    ) -> io::Result<()> {
        match self {
            Self::Http1(origin) => {
                let mut before = Vec::new();
                if let Some(head) = head {
                    origin.write_head(head, framing, &mut before);
                }
                http1::write(origin.stream(), before, framing, content, last)
            }
            Self::Http2(origin) => origin.write(head, framing, content, last),
        }
    }
}
