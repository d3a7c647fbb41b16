//! A tunnel through one stream (RFC 9113 section 8.5): [`serve`]. Rule: what is in it is served as a connection of its own,
//! so that whatever holds for a tunnel holds here.

use super::client::Http2;
use super::flow::Outgoing;
use crate::http::serve_http1;
use crate::http::session::{Over, Session, client_gone};
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading, Stream};
use bytes::Bytes;
use lockgate_proto::http::{
    Disposition, Form, Frame, Framing, Limits, RequestHead, ResponseHead, ResponseReader, write_request,
};
use std::io;
use std::sync::Arc;

/// Bytes that may wait for one side before the other is not read any more.
const PENDING_BYTES_MAX: usize = 64 << 10;

/// Serves what a CONNECT asks for.
pub async fn serve(session: &Session, client: &mut Http2, head: &RequestHead) -> Result<(), Over> {
    let (inner, mut outer) = Stream::pair().map_err(client_gone)?;
    let mut out = Vec::new();
    write_request(head, Form::Origin, Framing::None, &mut out);
    outer.write(&out).map_err(client_gone)?;
    // Its own end is the end of what is carried; who breaks off the stream breaks off the connection.
    let served = serve_http1(inner, session.client.clone(), Arc::clone(&session.shared));
    let carried = carry(client, outer, Answer::to(b"CONNECT", Opens::Tunnel));
    let ((), carried) = tokio::join!(served, carried);
    carried.map_err(client_gone)
}

/// Copies both ways until both have ended. Time limits are the business of who serves the other end.
pub async fn carry(client: &mut Http2, mut outer: Stream, answer: Answer) -> io::Result<()> {
    let mut ways = Ways { answer, up: Up::Open, down_ended: false };
    while !ways.down_ended || client.pending_bytes() > 0 {
        let moved = ways.up(client, &mut outer)? | ways.down(client, &mut outer)?;
        if ways.up == Up::Ends && outer.pending_bytes() == 0 {
            ways.up = Up::Ended;
            outer.shut()?;
        }
        if ways.down_ended && client.pending_bytes() == 0 {
            break;
        }
        if moved {
            continue;
        }
        let (from_client, from_outer) = (ways.up_reading(&outer), ways.down_reading(client));
        tokio::select! {
            ready = client.ready(from_client) => ready?,
            ready = outer.ready(from_outer) => ready?,
        }
    }
    Ok(())
}

struct Ways {
    answer: Answer,
    up: Up,
    down_ended: bool,
}

/// Where the client's way stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Up {
    Open,
    /// All has come, and some of it waits.
    Ends,
    /// Its end has been passed on.
    Ended,
}

impl Ways {
    /// What the client says is the tunnel's once there is one.
    fn up_reading(&self, outer: &Stream) -> Reading {
        let is_wanted =
            self.up == Up::Open && self.answer.is_open() && outer.pending_bytes() < PENDING_BYTES_MAX;
        if is_wanted { Reading::Wanted } else { Reading::Unwanted }
    }

    fn down_reading(&self, client: &Http2) -> Reading {
        let is_wanted = !self.down_ended && client.pending_bytes() < PENDING_BYTES_MAX;
        if is_wanted { Reading::Wanted } else { Reading::Unwanted }
    }

    fn up(&mut self, client: &mut Http2, outer: &mut Stream) -> io::Result<bool> {
        if self.up_reading(outer) == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| {
            let count = match client.try_read(scratch)? {
                ReadOutcome::Bytes(count) => count,
                ReadOutcome::WouldBlock | ReadOutcome::End => 0,
            };
            match client.step(&scratch[..count]).frame {
                Frame::Body(content) => outer.write(content).map(|()| true),
                Frame::End => {
                    self.up = Up::Ends;
                    Ok(true)
                }
                Frame::Refused(refusal) => Err(io::Error::other(refusal.words())),
                Frame::NeedInput | Frame::Head(..) => Ok(false),
                // A tunnel has no place for them.
                Frame::Trailers(_) => Ok(true),
            }
        })
    }

    fn down(&mut self, client: &mut Http2, outer: &mut Stream) -> io::Result<bool> {
        if self.down_reading(client) == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| match outer.try_read(scratch)? {
            ReadOutcome::Bytes(count) => {
                let rest = self.answer.push(&scratch[..count], client)?;
                if !rest.is_empty() {
                    client.outgoing_mut()?.push(Bytes::copy_from_slice(rest));
                }
                client.try_flush().map(|()| true)
            }
            ReadOutcome::WouldBlock => Ok(false),
            ReadOutcome::End => {
                self.down_ended = true;
                client.outgoing_mut()?.end();
                client.try_flush().map(|()| true)
            }
        })
    }
}

/// What is said of what was asked for, in the words of HTTP/1.
pub struct Answer {
    opens: Opens,
    state: State,
}

/// What opens the way.
pub enum Opens {
    /// Any success.
    Tunnel,
    /// A change to WebSocket, by which the server proves that it knows what it changes to (RFC 6455 section 4.1).
    WebSocket {
        /// What it proves that by.
        accept: String,
    },
}

enum State {
    Awaited(Box<ResponseReader>),
    /// The tunnel is there: all that follows is the tunnel's.
    Open,
    /// It is not, and this is why.
    Refused(Box<ResponseReader>),
}

impl Answer {
    /// To a request with this method.
    pub fn to(method: &[u8], opens: Opens) -> Self {
        let mut reader = ResponseReader::new(Disposition::Strict, Limits::default());
        reader.expect(method);
        Self { opens, state: State::Awaited(Box::new(reader)) }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Takes what there is of the answer; the rest is the tunnel's.
    fn push<'a>(&mut self, mut bytes: &'a [u8], client: &mut Http2) -> io::Result<&'a [u8]> {
        loop {
            let (State::Awaited(reader) | State::Refused(reader)) = &mut self.state else { return Ok(bytes) };
            let step = reader.step(bytes);
            bytes = &bytes[step.consumed..];
            match step.frame {
                Frame::Head(head, framing) => self.begin(*head, framing, client)?,
                Frame::Body(words) => client.outgoing_mut()?.push(Bytes::copy_from_slice(words)),
                Frame::End => client.outgoing_mut()?.end(),
                Frame::Trailers(_) => {}
                Frame::NeedInput => return Ok(&[]),
                Frame::Refused(refusal) => return Err(io::Error::other(refusal.words())),
            }
        }
    }

    fn begin(&mut self, mut head: ResponseHead, framing: Framing, client: &mut Http2) -> io::Result<()> {
        let is_open = match &self.opens {
            Opens::Tunnel => (200..=299).contains(&head.status),
            Opens::WebSocket { accept } if head.status == 101 => {
                if head.fields.get("sec-websocket-accept") != Some(accept.as_bytes()) {
                    return Err(io::Error::other("the server does not prove that it speaks WebSocket"));
                }
                // There is no change of protocols within HTTP/2, and nothing to prove (RFC 8441 section 5).
                head.status = 200;
                ["sec-websocket-accept", "upgrade"].iter().for_each(|name| head.fields.remove(name));
                true
            }
            // What comes before the answer says nothing that matters to a WebSocket.
            Opens::WebSocket { .. } if head.status < 200 => return Ok(()),
            Opens::WebSocket { .. } => false,
        };
        head.fields.remove("connection");
        let framing = if is_open { Framing::Chunked } else { framing };
        client.begin(&head, framing, false)?;
        let next = std::mem::replace(&mut self.state, State::Open);
        if let (false, State::Awaited(reader)) = (is_open, next) {
            self.state = State::Refused(reader);
        }
        Ok(())
    }
}

impl Http2 {
    fn outgoing_mut(&mut self) -> io::Result<&mut Outgoing> {
        self.outgoing.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}
