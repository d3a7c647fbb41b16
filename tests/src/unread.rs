//! What lies in the kernel between two ends of a connection on this machine. Rule: asked of the kernel, never guessed by time.

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::Instant;

use crate::wait::PATIENCE;

/// Waits until the other side has read all that was sent to it, so that what is sent next comes in a read of its own.
pub fn until_read(stream: &TcpStream) {
    let (Ok(local), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else {
        return; // The other side has closed: there is nothing to wait for.
    };
    let started = Instant::now();
    while queues(local, peer).is_some_and(|queues| queues.to_send > 0)
        || queues(peer, local).is_some_and(|queues| queues.to_read > 0)
    {
        assert!(started.elapsed() < PATIENCE, "the other side does not read");
        thread::yield_now();
    }
}

struct Queues {
    to_read: u32,
    to_send: u32,
}

/// Asks for one socket by its two addresses (sock_diag(7)); `None` where there is no such socket any more.
fn queues(local: SocketAddr, remote: SocketAddr) -> Option<Queues> {
    const NETLINK: i32 = 16;
    const SOCK_DIAG: i32 = 4;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    let mut request = Vec::with_capacity(72);
    request.extend_from_slice(&72_u32.to_ne_bytes());
    request.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend_from_slice(&REQUEST.to_ne_bytes());
    request.extend_from_slice(&[0; 8]);
    // IPv4, TCP, no extensions, all states.
    request.extend_from_slice(&[2, 6, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    request.extend_from_slice(&local.port().to_be_bytes());
    request.extend_from_slice(&remote.port().to_be_bytes());
    request.extend_from_slice(&octets(local));
    request.extend_from_slice(&octets(remote));
    // Any interface, no cookie.
    request.extend_from_slice(&[0; 4]);
    request.extend_from_slice(&[0xff; 8]);
    let socket = Socket::new(Domain::from(NETLINK), Type::RAW, Some(Protocol::from(SOCK_DIAG)));
    let mut socket = socket.expect("the kernel answers");
    socket.write_all(&request).expect("the kernel listens");
    let mut answer = [0; 512];
    let length = socket.read(&mut answer).expect("the kernel answers");
    let word = |at: usize| u32::from_ne_bytes(answer[at..at + 4].try_into().expect("four bytes"));
    let is_socket = length >= 80 && u16::from_ne_bytes([answer[4], answer[5]]) == SOCK_DIAG_BY_FAMILY;
    is_socket.then(|| Queues { to_read: word(72), to_send: word(76) })
}

/// An address in the sixteen bytes that the kernel has for one.
fn octets(address: SocketAddr) -> [u8; 16] {
    let mut bytes = [0; 16];
    match address.ip() {
        IpAddr::V4(v4) => bytes[..4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => bytes.copy_from_slice(&v6.octets()),
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn what_is_not_read_is_seen() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"12345").unwrap();
        let (local, peer) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        assert_eq!(queues(peer, local).map(|queues| queues.to_read), Some(5));
        let mut bytes = [0; 5];
        server.read_exact(&mut bytes).unwrap();
        until_read(&client);
        drop(listener);
    }
}
