//! The PROXY protocol at the listener (versions 1 and 2). Rule: only the header is taken from the socket, so that what
//! follows it may be TLS.

use lockgate_proto::proxy_protocol::{HEADER_BYTES_MAX, Header, Parsed, parse};
use std::io;
use std::net::SocketAddr;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Reads the header: the client and where it connected to. `None` if the proxy speaks for itself.
pub(crate) async fn read(tcp: &TcpStream) -> io::Result<Option<(SocketAddr, SocketAddr)>> {
    let mut head = vec![0; HEADER_BYTES_MAX];
    loop {
        let is_closed = tcp.ready(Interest::READABLE).await?.is_read_closed();
        // Looked at, not taken: bytes behind the header belong to the session.
        let count = tcp.peek(&mut head).await?;
        match parse(&head[..count]) {
            Parsed::Header { consumed, header } => {
                take(tcp, &mut head[..consumed]).await?;
                return Ok(match header {
                    Header::Local => None,
                    Header::Proxied { source, destination } => Some((source, destination)),
                });
            }
            Parsed::NeedInput if count > 0 && !is_closed => {
                // The socket is readable still, but has nothing new: the next arrival is to be awaited.
                let nothing_new = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                let _ = tcp.try_io(Interest::READABLE, nothing_new);
            }
            Parsed::NeedInput => return Err(io::ErrorKind::UnexpectedEof.into()),
            Parsed::Malformed(why) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, why.to_string()));
            }
        }
    }
}

async fn take(tcp: &TcpStream, mut header: &mut [u8]) -> io::Result<()> {
    while !header.is_empty() {
        tcp.readable().await?;
        match tcp.try_read(header) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => header = &mut header[count..],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[tokio::test]
    async fn only_the_header_is_taken_however_it_comes() {
        let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 4711 25\r\n";
        for cut in [0, 1, 20, line.len() - 1, line.len()] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (tcp, _) = listener.accept().await.unwrap();
            client.write_all(&line[..cut]).unwrap();
            let rest = async {
                tokio::task::yield_now().await;
                client.write_all(&[&line[cut..], b"EHLO"].concat()).unwrap();
            };
            let (said, ()) = tokio::join!(read(&tcp), rest);
            let (source, destination) = said.unwrap().unwrap();
            assert_eq!(source, "192.0.2.7:4711".parse().unwrap());
            assert_eq!(destination, "198.51.100.1:25".parse().unwrap());
            let mut behind = [0; 16];
            let count = loop {
                tcp.readable().await.unwrap();
                match tcp.try_read(&mut behind) {
                    Ok(count) => break count,
                    Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
                }
            };
            assert_eq!(&behind[..count], b"EHLO");
        }
    }

    #[tokio::test]
    async fn no_header_is_an_error_and_not_a_wait() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        for said in [&b"EHLO there\r\n"[..], b"PROXY TCP4 x", b""] {
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (tcp, _) = listener.accept().await.unwrap();
            client.write_all(said).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(read(&tcp).await.is_err());
        }
    }
}
