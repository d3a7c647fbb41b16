//! What a stream reads and writes: [`Socket`], from another machine or from within the gateway. Rule: whoever serves a
//! connection cannot tell which it is.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};
use tokio::io::{Interest, Ready};
use tokio::net::{TcpStream, UnixStream};

/// A connected socket.
pub enum Socket {
    /// From another machine, or another program.
    Tcp(TcpStream),
    /// One of two ends within the gateway: a tunnel through a stream of HTTP/2 is served as a connection of its own.
    Local(UnixStream),
}

impl Socket {
    /// The other side's address. The ends of a pair have none.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(tcp) => tcp.peer_addr(),
            Self::Local(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// This side's address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(tcp) => tcp.local_addr(),
            Self::Local(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// As [`TcpStream::readable`].
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(tcp) => tcp.readable().await,
            Self::Local(local) => local.readable().await,
        }
    }

    /// As [`TcpStream::writable`].
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(tcp) => tcp.writable().await,
            Self::Local(local) => local.writable().await,
        }
    }

    /// As [`TcpStream::ready`].
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        match self {
            Self::Tcp(tcp) => tcp.ready(interest).await,
            Self::Local(local) => local.ready(interest).await,
        }
    }

    /// As [`TcpStream::poll_read_ready`].
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(tcp) => tcp.poll_read_ready(cx),
            Self::Local(local) => local.poll_read_ready(cx),
        }
    }

    /// As [`TcpStream::poll_write_ready`].
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(tcp) => tcp.poll_write_ready(cx),
            Self::Local(local) => local.poll_write_ready(cx),
        }
    }

    /// As [`TcpStream::try_write`].
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.try_write(bytes),
            Self::Local(local) => local.try_write(bytes),
        }
    }

    /// As [`TcpStream::try_write_vectored`].
    pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.try_write_vectored(slices),
            Self::Local(local) => local.try_write_vectored(slices),
        }
    }

    /// As [`TcpStream::try_io`].
    pub fn try_io<R>(&self, interest: Interest, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        match self {
            Self::Tcp(tcp) => tcp.try_io(interest, work),
            Self::Local(local) => local.try_io(interest, work),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(tcp) => tcp.as_fd(),
            Self::Local(local) => local.as_fd(),
        }
    }
}
