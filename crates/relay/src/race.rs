//! Which of several addresses answers: [`connect`], as RFC 8305 has it. Rule: one that is silent holds up the next for a
//! quarter of a second and no longer.

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long an address is waited for before the next is tried beside it (RFC 8305 section 8).
const STAGGER: Duration = Duration::from_millis(250);
/// Addresses that are tried of one name. A name with more of them has them for balance, not because so many are down.
const ADDRESSES_MAX: usize = 16;

/// Tries the addresses, families in turn, until one takes the connection; the last one's error is told. From `source`,
/// where one is given: then only addresses of its family are of use.
pub async fn connect(
    addresses: &[SocketAddr],
    source: Option<IpAddr>,
) -> io::Result<(TcpStream, SocketAddr)> {
    let is_reached = |address: &SocketAddr| source.is_none_or(|source| source.is_ipv4() == address.is_ipv4());
    let usable: Vec<SocketAddr> = addresses.iter().copied().filter(is_reached).collect();
    let mut waiting = in_turn(&usable).into_iter().take(ADDRESSES_MAX);
    let mut failed =
        io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address of the right family");
    let mut attempts = JoinSet::new();
    loop {
        match waiting.next() {
            Some(address) => _ = attempts.spawn(async move { (attempt(address, source).await, address) }),
            None if attempts.is_empty() => return Err(failed),
            None => {}
        }
        let first = attempts.join_next();
        let joined = match waiting.len() {
            0 => first.await,
            // Whoever is silent goes on trying, beside the next one.
            _ => timeout(STAGGER, first).await.unwrap_or(None),
        };
        match joined {
            Some(Ok((Ok(tcp), address))) => return Ok((tcp, address)),
            Some(Ok((Err(error), _))) => failed = error,
            Some(Err(_)) | None => {}
        }
    }
}

/// The addresses with their families taking turns, the first one's first; within a family as they came.
fn in_turn(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_first =
        |address: &SocketAddr| addresses.first().is_some_and(|first| first.is_ipv4() == address.is_ipv4());
    let (first, second): (Vec<_>, Vec<_>) = addresses.iter().copied().partition(is_first);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut turns = Vec::with_capacity(addresses.len());
    while turns.len() < addresses.len() {
        turns.extend(first.next());
        turns.extend(second.next());
    }
    turns
}

async fn attempt(address: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    match source {
        None => TcpStream::connect(address).await,
        Some(source) => connect_from(source, address).await,
    }
}

/// Connects from the client's own address, with a port of the kernel's choice: the client's own may still be in use
/// between the two of them.
async fn connect_from(source: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    match address {
        SocketAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
        SocketAddr::V6(_) => socket.set_ip_transparent_v6(true)?,
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(SocketAddr::new(source, 0)))?;
    socket.set_nonblocking(true)?;
    TcpSocket::from_std_stream(socket.into()).connect(address).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns_and_the_first_stays_first() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&[], &[]),
            (&["192.0.2.1:1", "192.0.2.2:1"], &["192.0.2.1:1", "192.0.2.2:1"]),
            (
                &["[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1", "192.0.2.1:1"],
                &["[2001:db8::1]:1", "192.0.2.1:1", "[2001:db8::2]:1", "[2001:db8::3]:1"],
            ),
            (
                &["192.0.2.1:1", "[2001:db8::1]:1", "[2001:db8::2]:1"],
                &["192.0.2.1:1", "[2001:db8::1]:1", "[2001:db8::2]:1"],
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(in_turn(&addresses(given)), addresses(expected));
        }
    }

    /// A listener whose queue is full: the kernel drops what comes, and the client hears nothing.
    fn silent() -> (Socket, Vec<std::net::TcpStream>, SocketAddr) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SockAddr::from(addresses(&["127.0.0.1:0"])[0])).unwrap();
        socket.listen(0).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let short = Duration::from_millis(100);
        let full: Vec<_> =
            (0..16).map_while(|_| std::net::TcpStream::connect_timeout(&address, short).ok()).collect();
        assert!(full.len() < 16, "the queue has an end");
        (socket, full, address)
    }

    #[tokio::test]
    async fn one_that_is_silent_is_overtaken_and_one_that_refuses_is_passed_over() {
        let (_socket, _full, silent) = silent();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let there = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = (there.local_addr().unwrap(), there);
        for given in
            [vec![there.0], vec![silent, there.0], vec![gone, there.0], vec![gone, silent, gone, there.0]]
        {
            let (_, reached) = connect(&given, None).await.unwrap();
            assert_eq!(reached, there.0, "{given:?}");
        }
        let refused = connect(&[gone, gone], None).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert!(connect(&[], None).await.is_err());
        let other_family = connect(&[there.0], Some("2001:db8::1".parse().unwrap())).await.unwrap_err();
        assert_eq!(other_family.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
