//! A [`Stream`] as one that is polled, for a protocol whose frames a library reads and writes. Rule: what waits for the
//! socket is bounded here, since who polls does not look at it.

use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Stream};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that may wait for the socket before no more are taken.
const PENDING_BYTES_MAX: usize = 64 << 10;
/// What is taken at once: under TLS it is encrypted as a whole before the socket says how much it takes.
const TAKEN_BYTES_MAX: usize = 32 << 10;
/// What is read at once under TLS: a record and as much again, since it is decrypted as a whole.
const DECRYPTED_BYTES: usize = 36 << 10;

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match self.read_into(into)? {
                ReadOutcome::Bytes(_) | ReadOutcome::End => return Poll::Ready(Ok(())),
                ReadOutcome::WouldBlock => ready!(self.poll_readable(cx))?,
            }
        }
    }
}

impl Stream {
    fn read_into(&mut self, into: &mut ReadBuf<'_>) -> io::Result<ReadOutcome> {
        if !self.is_tls() || self.unread_bytes() > 0 {
            let outcome = self.try_read(into.initialize_unfilled())?;
            if let ReadOutcome::Bytes(count) = outcome {
                into.advance(count);
            }
            return Ok(outcome);
        }
        with_scratch(|scratch| {
            let room = DECRYPTED_BYTES.min(scratch.len());
            let outcome = self.try_read(&mut scratch[..room])?;
            if let ReadOutcome::Bytes(count) = outcome {
                let (now, later) = scratch[..count].split_at(count.min(into.remaining()));
                into.put_slice(now);
                self.unread(later);
            }
            Ok(outcome)
        })
    }

    fn make_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.pending_bytes() >= PENDING_BYTES_MAX {
            self.try_flush()?;
            if self.pending_bytes() >= PENDING_BYTES_MAX {
                ready!(self.poll_writable(cx))?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.make_room(cx))?;
        let count = bytes.len().min(TAKEN_BYTES_MAX);
        self.write(&bytes[..count])?;
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.make_room(cx))?;
        let (mut parts, mut count, mut total): ([&[u8]; SLICES_MAX], _, _) = ([&[]; SLICES_MAX], 0, 0);
        for slice in slices.iter().take(SLICES_MAX) {
            let part = &slice[..slice.len().min(TAKEN_BYTES_MAX - total)];
            (parts[count], total) = (part, total + part.len());
            count += 1;
        }
        self.write_parts(&parts[..count])?;
        Poll::Ready(Ok(total))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.try_flush()?;
            if self.pending_bytes() == 0 {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_writable(cx))?;
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        self.say_end()?;
        ready!(self.as_mut().poll_flush(cx))?;
        // Asked again, it may find the other side gone already.
        let _ = self.shut();
        // A reset that answers what still comes would overtake our last words. Who closes has a time for it.
        loop {
            match self.discard()? {
                ReadOutcome::Bytes(_) => {}
                ReadOutcome::WouldBlock => ready!(self.poll_readable(cx))?,
                ReadOutcome::End => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// Slices that are written together.
const SLICES_MAX: usize = 8;
