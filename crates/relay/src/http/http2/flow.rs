//! The content of one stream: [`Incoming`] and [`Outgoing`]. Rule: the other side may send more when what it sent was
//! taken, and is sent no more than it takes.

use super::heads;
use crate::stream::{ReadOutcome, Reading};
use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;
use lockgate_inspect::Released;
use lockgate_proto::http::{Frame, Framing, Refusal, Step};
use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, Waker};

/// Content that comes.
pub struct Incoming {
    stream: RecvStream,
    /// What came and was not read.
    waiting: Bytes,
    /// Bytes that were read, for which the other side may send as many when they were taken.
    taken: usize,
    /// How many bytes may still come; `None` where that was not said.
    left: Option<u64>,
    end: End,
    /// What came behind it and was not told.
    trailers: Option<HeaderMap>,
}

/// Where the content stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ahead,
    /// It has come.
    Reached,
    /// It was told.
    Told,
}

impl Incoming {
    /// Behind a head that frames its content so.
    pub fn new(stream: RecvStream, framing: Framing) -> Self {
        let left = match framing {
            Framing::None => Some(0),
            Framing::Length(bytes) => Some(bytes),
            Framing::Chunked | Framing::UntilClose => None,
        };
        let end = if stream.is_end_stream() { End::Reached } else { End::Ahead };
        Self { stream, waiting: Bytes::new(), taken: 0, left, end, trailers: None }
    }

    /// Reads what there is, to be given to [`step`](Self::step). That what was read before was taken is the caller's word,
    /// since it reads again.
    pub fn try_read(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        self.release()?;
        if let Poll::Ready(outcome) = self.poll(&mut Context::from_waker(Waker::noop())) {
            outcome?;
        }
        let count = self.waiting.len().min(scratch.len());
        scratch[..count].copy_from_slice(&self.waiting[..count]);
        drop(self.waiting.split_to(count));
        self.taken += count;
        Ok(if count > 0 { ReadOutcome::Bytes(count) } else { ReadOutcome::WouldBlock })
    }

    /// What stands at the front of what was read.
    pub fn step<'a, H>(&mut self, input: &'a [u8]) -> Step<'a, H> {
        if let Some(left) = &mut self.left {
            match left.checked_sub(input.len() as u64) {
                Some(rest) => *left = rest,
                None => return Step { consumed: 0, frame: Frame::Refused(Refusal::LengthDiffers) },
            }
        }
        if !input.is_empty() {
            return Step { consumed: input.len(), frame: Frame::Body(input) };
        }
        let frame = match (self.end, self.left) {
            (End::Reached, None | Some(0)) if self.waiting.is_empty() => match self.trailers.take() {
                Some(trailers) => heads::trailers(&trailers).map_or_else(Frame::Refused, Frame::Trailers),
                None => {
                    self.end = End::Told;
                    Frame::End
                }
            },
            (End::Reached, Some(_)) if self.waiting.is_empty() => Frame::Refused(Refusal::LengthDiffers),
            _ => Frame::NeedInput,
        };
        Step { consumed: 0, frame }
    }

    /// Whether its end was not told.
    pub fn has_begun(&self) -> bool {
        self.end != End::Told
    }

    /// Ready when there is something to read, or its end to be told.
    pub fn poll_ready(&mut self, reading: Reading, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if reading == Reading::Unwanted || self.end == End::Told {
            return Poll::Pending;
        }
        self.release()?;
        self.poll(cx)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Empty frames bring nothing.
        while self.waiting.is_empty() && self.end == End::Ahead {
            match self.stream.poll_data(cx) {
                Poll::Ready(Some(Ok(bytes))) => self.waiting = bytes,
                Poll::Ready(None) => match self.stream.poll_trailers(cx) {
                    Poll::Ready(Ok(trailers)) => (self.end, self.trailers) = (End::Reached, trailers),
                    Poll::Ready(Err(e)) => return Poll::Ready(Err(broken(e))),
                    Poll::Pending => return Poll::Pending,
                },
                Poll::Ready(Some(Err(e))) => return Poll::Ready(Err(broken(e))),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn release(&mut self) -> io::Result<()> {
        let taken = std::mem::take(&mut self.taken);
        if taken == 0 { Ok(()) } else { self.stream.flow_control().release_capacity(taken).map_err(broken) }
    }
}

/// Content that leaves.
pub struct Outgoing {
    stream: SendStream<Bytes>,
    queue: VecDeque<Bytes>,
    queued_bytes: usize,
    end: Due,
    /// What stands behind the content.
    trailers: Option<HeaderMap>,
}

/// Whether the stream's end is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Later,
    Now,
    Said,
}

impl Outgoing {
    /// Behind a head that has left; `ends` where that was all.
    pub fn new(stream: SendStream<Bytes>, ends: bool) -> Self {
        let end = if ends { Due::Said } else { Due::Later };
        Self { stream, queue: VecDeque::new(), queued_bytes: 0, end, trailers: None }
    }

    /// Content that was let go.
    pub fn push_released(&mut self, content: &Released<'_>) {
        content.slices().for_each(|slice| self.push(Bytes::copy_from_slice(slice)));
    }

    /// Words of our own.
    pub fn push(&mut self, words: Bytes) {
        self.queued_bytes += words.len();
        self.queue.push_back(words);
    }

    /// Nothing follows.
    pub fn end(&mut self) {
        if self.end == Due::Later {
            self.end = Due::Now;
        }
    }

    /// Nothing follows but these.
    pub fn end_with(&mut self, trailers: HeaderMap) {
        self.trailers = Some(trailers).filter(|trailers| !trailers.is_empty());
        self.end();
    }

    /// Bytes that wait for the other side to take them.
    pub fn pending_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Sends what waits, as far as it goes at once.
    pub fn try_flush(&mut self) -> io::Result<()> {
        match self.poll_send(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Ok(()),
        }
    }

    /// Ready when some of what waits has been sent, or the other side has had enough.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let before = self.queued_bytes;
        match self.poll_send(cx)? {
            Poll::Pending if self.queued_bytes < before => Poll::Ready(Ok(())),
            Poll::Ready(()) if before > 0 => Poll::Ready(Ok(())),
            _ => self.poll_reset(cx),
        }
    }

    /// Ready when all has been sent.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(first) = self.queue.front_mut() {
            self.stream.reserve_capacity(self.queued_bytes);
            let capacity = match self.stream.capacity() {
                0 => match self.stream.poll_capacity(cx) {
                    Poll::Ready(Some(Ok(_))) => continue,
                    Poll::Ready(Some(Err(e))) => return Poll::Ready(Err(broken(e))),
                    Poll::Ready(None) => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                    Poll::Pending => return Poll::Pending,
                },
                capacity => capacity,
            };
            let piece = first.split_to(capacity.min(first.len()));
            if first.is_empty() {
                self.queue.pop_front();
            }
            self.queued_bytes -= piece.len();
            let is_last = self.queue.is_empty() && self.end == Due::Now && self.trailers.is_none();
            if is_last {
                self.end = Due::Said;
            }
            self.stream.send_data(piece, is_last).map_err(broken)?;
        }
        if self.end == Due::Now {
            self.end = Due::Said;
            match self.trailers.take() {
                Some(trailers) => self.stream.send_trailers(trailers),
                None => self.stream.send_data(Bytes::new(), true),
            }
            .map_err(broken)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Ready, with an error, when the other side has reset the stream.
    fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.end == Due::Said {
            return Poll::Pending;
        }
        self.stream.poll_reset(cx).map(|_| Err(io::ErrorKind::ConnectionReset.into()))
    }

    /// Breaks the stream off: what waits is lost.
    pub fn reset(&mut self, reason: Reason) {
        self.queue.clear();
        self.queued_bytes = 0;
        self.stream.send_reset(reason);
    }
}

/// What the library says, as the sides of an exchange do.
pub fn broken(error: h2::Error) -> io::Error {
    if error.is_io() {
        error.into_io().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
    } else {
        io::Error::other(error)
    }
}
