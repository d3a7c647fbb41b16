//! The PROXY protocol at the listener (versions 1 and 2). Rule: only the header is taken from the socket, so that what
//! follows it may be TLS.

use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// Reads the header. `None` if the proxy speaks for itself (`LOCAL`, `UNKNOWN`).
pub(crate) async fn read(tcp: &TcpStream) -> io::Result<Option<(SocketAddr, SocketAddr)>> {
    let _ = tcp;
    Err(io::ErrorKind::Unsupported.into())
}
