//! One connection, plain or under TLS: [`Stream`]. Rule: no buffer while nothing waits; content is written only as
//! [`Released`].
//!
//! Reads go into the thread's scratch buffer ([`with_scratch`](crate::scratch::with_scratch)) and what a session cannot
//! use yet goes back by [`Stream::unread`]. Writes go to the socket at once where it takes them; the rest waits in the
//! stream, and who writes looks at [`Stream::pending_bytes`] or awaits [`Stream::flush`] before he reads on.

use crate::queue::Queue;
use crate::scratch::with_scratch;
use crate::socket::Socket;
use crate::tls::TlsState;
use lockgate_inspect::Released;
use lockgate_proto::pop3;
use lockgate_proto::smtp::Stuffing;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, IoSlice, Read};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// So many bytes, at the start of the buffer.
    Bytes(usize),
    /// Nothing yet: await [`Stream::readable`].
    WouldBlock,
    /// The other side has ended its way; ours is still open.
    End,
}

/// Whether the caller of [`Stream::ready`] would read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It would.
    Wanted,
    /// It has no use for more bytes now.
    Unwanted,
}

/// What TLS came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// The version in words, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite in words.
    pub cipher: &'static str,
    /// The name that the client asked for, where we are the server.
    pub server_name: Option<String>,
}

/// One connection.
pub struct Stream {
    socket: Socket,
    tls: Option<Box<TlsState>>,
    unread: Queue,
    pending: Queue,
}

/// Pieces that leave together.
#[derive(Default)]
struct Batch<'a> {
    pieces: [&'a [u8]; SLICES_MAX - 1],
    count: usize,
}

impl<'a> Batch<'a> {
    /// All of them, to be written.
    fn take(&mut self) -> &[&'a [u8]] {
        &self.pieces[..std::mem::take(&mut self.count)]
    }
}

/// Slices that go out in one system call; the rest waits for the next.
const SLICES_MAX: usize = 16;
/// Pieces of content shorter than this are copied together instead of being sent one by one.
const GATHERED_BYTES_MAX: usize = 1024;
/// So much is encrypted before it is sent.
const ENCRYPTED_BYTES_MAX: usize = 32 << 10;
/// What is read and thrown away at a close, so that the other side reads our last words before it sees a reset: an upload
/// that is answered early goes on until its sender has read the answer.
const LINGER_BYTES_MAX: usize = 64 << 20;

impl Stream {
    /// Wraps a connected socket and sets what every connection has: no Nagle, keepalive.
    pub fn new(tcp: TcpStream) -> Self {
        let _ = tcp.set_nodelay(true);
        let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(300));
        let _ = SockRef::from(&tcp).set_tcp_keepalive(&keepalive.with_interval(Duration::from_secs(60)));
        Self::of(Socket::Tcp(tcp))
    }

    /// Two streams, each of which reads what the other writes.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = UnixStream::pair()?;
        Ok((Self::of(Socket::Local(one)), Self::of(Socket::Local(other))))
    }

    fn of(socket: Socket) -> Self {
        Self { socket, tls: None, unread: Queue::default(), pending: Queue::default() }
    }

    /// The other side's address.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// This side's address.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Waits until [`Stream::try_read`] has something to say. Writes nothing.
    pub async fn readable(&mut self) -> io::Result<()> {
        if self.has_unread() { Ok(()) } else { self.socket.readable().await }
    }

    /// Reads what there is, as far as it fits: first what was put back, then what the socket has.
    pub fn try_read(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        if !self.unread.is_empty() {
            return Ok(ReadOutcome::Bytes(self.unread.take(scratch)));
        }
        let Some(tls) = &mut self.tls else { return receive(&self.socket, scratch) };
        let outcome = tls.read(&self.socket, scratch, &mut self.pending);
        // Alerts and key updates answer what was read; an error to send them shows at the next write.
        let sent = self.send_pending();
        let outcome = outcome?;
        sent.map(|()| outcome)
    }

    /// Puts back what was read and is not used yet; the next read brings it again.
    pub fn unread(&mut self, bytes: &[u8]) {
        self.unread.push_front(bytes);
    }

    /// How many bytes were put back.
    pub fn unread_bytes(&self) -> usize {
        self.unread.len()
    }

    /// Queues words of our own without a system call: they leave with the next write or flush.
    pub fn queue(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => self.pending.push(bytes),
            Some(tls) => tls.encrypt(bytes, &mut self.pending)?,
        }
        Ok(())
    }

    /// Writes words of our own (commands, replies), at once as far as the socket takes them.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_parts(&[bytes])
    }

    /// Writes several pieces in one system call where the socket takes them.
    pub fn write_parts(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        if self.tls.is_some() {
            for part in parts {
                self.queue(part)?;
                // What leaves at once does not add up.
                if self.pending.len() >= ENCRYPTED_BYTES_MAX {
                    self.send_pending()?;
                }
            }
            return self.send_pending();
        }
        let mut sent = if parts.len() < SLICES_MAX { self.send_with_pending(parts)? } else { 0 };
        for part in parts {
            let skip = sent.min(part.len());
            sent -= skip;
            self.pending.push(&part[skip..]);
        }
        Ok(())
    }

    /// Writes content that the hold has let go.
    pub fn write_released(&mut self, released: &Released<'_>) -> io::Result<()> {
        self.write_framed(&[], released, &[])
    }

    /// Writes content with the protocol's framing before and after it, in one system call where the socket takes them.
    pub fn write_framed(&mut self, before: &[u8], content: &Released<'_>, after: &[u8]) -> io::Result<()> {
        let mut batch = Batch::default();
        let framed = [before].into_iter().chain(content.slices()).chain([after]);
        for part in framed.filter(|part| !part.is_empty()) {
            self.add(&mut batch, part)?;
        }
        self.write_parts(batch.take())
    }

    /// Writes content in DATA form: dots at the start of lines are doubled (RFC 5321 section 4.5.2). It ends early at
    /// what the stuffing refuses.
    pub fn write_stuffed(&mut self, content: &Released<'_>, stuffing: &mut Stuffing) -> io::Result<()> {
        let mut batch = Batch::default();
        for slice in content.slices() {
            stuffing.pieces(slice).try_for_each(|piece| self.add_or_gather(&mut batch, piece))?;
        }
        self.write_parts(batch.take())
    }

    /// The same as a multi-line reply of POP3 (RFC 1939 section 3).
    pub fn write_stuffed_reply(
        &mut self,
        content: &Released<'_>,
        stuffing: &mut pop3::Stuffing,
    ) -> io::Result<()> {
        let mut batch = Batch::default();
        for slice in content.slices() {
            stuffing.pieces(slice).try_for_each(|piece| self.add_or_gather(&mut batch, piece))?;
        }
        self.write_parts(batch.take())
    }

    /// Writes content in the form that a protocol gives it, slice by slice.
    pub fn write_formed(
        &mut self,
        content: &Released<'_>,
        form: &mut dyn FnMut(&[u8], &mut Vec<u8>),
    ) -> io::Result<()> {
        let mut out = Vec::with_capacity(content.bytes() + 16);
        content.slices().for_each(|slice| form(slice, &mut out));
        self.write(&out)
    }

    /// Another piece of those that leave together; as many as do are written.
    fn add<'a>(&mut self, batch: &mut Batch<'a>, piece: &'a [u8]) -> io::Result<()> {
        if batch.count == batch.pieces.len() {
            self.write_parts(batch.take())?;
        }
        batch.pieces[batch.count] = piece;
        batch.count += 1;
        Ok(())
    }

    /// Short pieces are copied together: a mail of dots is not to cost a system call for each.
    fn add_or_gather<'a>(&mut self, batch: &mut Batch<'a>, piece: &'a [u8]) -> io::Result<()> {
        if piece.len() >= GATHERED_BYTES_MAX {
            return self.add(batch, piece);
        }
        if batch.count > 0 {
            self.write_parts(batch.take())?;
        }
        self.queue(piece)
    }

    /// How many bytes wait for the socket to take them.
    pub fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Sends what is pending as far as the socket takes it at once.
    pub fn try_flush(&mut self) -> io::Result<()> {
        self.send_pending()
    }

    /// Waits until everything written has gone to the socket. May be dropped and called again.
    pub async fn flush(&mut self) -> io::Result<()> {
        loop {
            self.send_pending()?;
            if self.pending.is_empty() {
                return Ok(());
            }
            self.socket.writable().await?;
        }
    }

    /// Waits for whatever can be done next: sending what is pending (it is sent), or, if it is wanted, reading. Comes back
    /// after either; may be dropped and called again.
    pub async fn ready(&mut self, reading: Reading) -> io::Result<()> {
        let before = self.pending.len();
        self.send_pending()?;
        if self.pending.len() < before {
            // What was sent may have been what the caller waits for before it reads on.
            return Ok(());
        }
        if reading == Reading::Wanted && self.has_unread() {
            return Ok(());
        }
        let interest = match (reading, self.pending.is_empty()) {
            (Reading::Wanted, true) => Interest::READABLE,
            (Reading::Wanted, false) => Interest::READABLE | Interest::WRITABLE,
            (Reading::Unwanted, false) => Interest::WRITABLE,
            (Reading::Unwanted, true) => std::future::pending().await,
        };
        let ready = self.socket.ready(interest).await?;
        if ready.is_writable() { self.send_pending() } else { Ok(()) }
    }

    fn has_unread(&mut self) -> bool {
        self.unread.release();
        !self.unread.is_empty() || self.tls.as_mut().is_some_and(|tls| tls.has_plaintext())
    }

    /// Whether TLS is on.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// What TLS came to, if it is on.
    pub fn tls_info(&self) -> Option<TlsInfo> {
        self.tls.as_ref().map(|tls| tls.info())
    }

    /// Begins TLS as the server; whatever was read before it is forgotten, since a man in the middle may have put it
    /// there (RFC 3207 section 6, RFC 2595 section 4).
    pub async fn start_tls_accept(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        self.start_tls(TlsState::accept(config)?).await
    }

    /// Begins TLS as the server where the client has begun already: `begun` is what was read of it.
    pub async fn start_tls_accept_behind(
        &mut self,
        config: Arc<ServerConfig>,
        begun: &[u8],
    ) -> io::Result<()> {
        let mut tls = TlsState::accept(config)?;
        let fed = tls.begin(begun, &mut self.pending);
        if let Err(failed) = fed {
            let _ = self.send_pending();
            return Err(failed);
        }
        self.start_tls(tls).await
    }

    /// The protocol that was agreed upon within TLS (RFC 7301).
    pub fn alpn(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(|tls| tls.alpn())
    }

    /// Begins TLS as the client; whatever was read before it is forgotten.
    pub async fn start_tls_connect(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> io::Result<()> {
        self.start_tls(TlsState::connect(config, name)?).await
    }

    /// In a box from the start: a session's future has room for the largest state of any of its parts.
    async fn start_tls(&mut self, mut tls: Box<TlsState>) -> io::Result<()> {
        self.flush().await?;
        self.unread.clear();
        loop {
            let step = tls.handshake(&self.socket, &mut self.pending);
            if let Err(failed) = step {
                // The alert says why; whether it arrives changes nothing.
                let _ = self.send_pending();
                return Err(failed);
            }
            self.flush().await?;
            if !tls.is_handshaking() {
                self.tls = Some(tls);
                return Ok(());
            }
            self.socket.readable().await?;
        }
    }

    /// Ends the connection in order: everything written goes out, then our end is said, then the other side's is awaited
    /// for as long as `linger`, so that a reset does not overtake our last words.
    pub async fn close(mut self, linger: Duration) {
        let _ = tokio::time::timeout(linger, self.end()).await;
    }

    /// Says that nothing more will be written, behind what was; reading goes on.
    pub async fn end_writing(&mut self) -> io::Result<()> {
        self.say_end()?;
        self.flush().await?;
        self.shut()
    }

    /// Queues the end that TLS has of its own, if it is on.
    pub(crate) fn say_end(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.say_end(&mut self.pending))
    }

    /// Ends our way of the socket.
    pub(crate) fn shut(&self) -> io::Result<()> {
        SockRef::from(&self.socket).shutdown(Shutdown::Write)
    }

    /// Reads what nobody wants any more.
    pub(crate) fn discard(&self) -> io::Result<ReadOutcome> {
        with_scratch(|scratch| receive(&self.socket, scratch))
    }

    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_read_ready(cx)
    }

    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_write_ready(cx)
    }

    async fn end(&mut self) -> io::Result<()> {
        self.end_writing().await?;
        let mut discarded = 0;
        while discarded < LINGER_BYTES_MAX {
            match self.discard()? {
                ReadOutcome::Bytes(count) => {
                    discarded += count;
                    // Others run in between, and the time limit is looked at.
                    tokio::task::yield_now().await;
                }
                ReadOutcome::WouldBlock => self.socket.readable().await?,
                ReadOutcome::End => break,
            }
        }
        Ok(())
    }

    /// Ends the connection so that the other side knows it was broken off: what is still pending is lost and the other
    /// side gets a reset.
    pub fn abort(self) {
        let _ = SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
    }

    fn send_pending(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            match self.socket.try_write(self.pending.as_slice()) {
                Ok(count) => self.pending.consume(count),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Sends what is pending and the parts behind it; says how much of the parts went.
    fn send_with_pending(&mut self, parts: &[&[u8]]) -> io::Result<usize> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let mut sent = 0;
        while !self.pending.is_empty() || sent < total {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            slices[0] = IoSlice::new(self.pending.as_slice());
            let mut skip = sent;
            for (slice, part) in slices[1..].iter_mut().zip(parts) {
                let skipped = skip.min(part.len());
                skip -= skipped;
                *slice = IoSlice::new(&part[skipped..]);
            }
            match self.socket.try_write_vectored(&slices[..=parts.len()]) {
                Ok(count) => {
                    let waited = count.min(self.pending.len());
                    self.pending.consume(waited);
                    sent += count - waited;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(sent)
    }
}

/// Reads from the socket. A short read has emptied it, so its readiness is forgotten without asking once more.
pub(crate) fn receive(socket: &Socket, into: &mut [u8]) -> io::Result<ReadOutcome> {
    let mut got = None;
    let tried = socket.try_io(Interest::READABLE, || {
        let socket = SockRef::from(socket);
        let mut socket: &socket2::Socket = &socket;
        let count = socket.read(into)?;
        got = Some(count);
        if 0 < count && count < into.len() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    match (got, tried) {
        (Some(0), _) => Ok(ReadOutcome::End),
        (Some(count), _) => Ok(ReadOutcome::Bytes(count)),
        (None, Err(e)) if e.kind() == io::ErrorKind::Interrupted => Ok(ReadOutcome::WouldBlock),
        (None, Err(e)) if e.kind() != io::ErrorKind::WouldBlock => Err(e),
        (None, _) => Ok(ReadOutcome::WouldBlock),
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
