//! The way to the next hop: [`dial`]. Rule: a place first, then the name, then the connection, each within its time.

use crate::listener::{Accepted, Visitor};
use crate::settings::{ClientAddress, Intercept, Listener, NextHop};
use crate::shared::Shared;
use crate::stream::Stream;
use crate::tally::Place;
use lockgate_model::Blame;
use lockgate_proto::proxy_protocol::{self, Header, Version};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// A connection to the next hop.
pub struct Upstream {
    /// The connection.
    pub stream: Stream,
    /// Where it leads.
    pub address: SocketAddr,
    /// The host's name, or its address where it was given so: what its certificate must prove.
    pub host: String,
    _place: Place<String>,
}

/// Why there is no connection to the next hop.
#[derive(Debug)]
pub enum DialError {
    /// `next_hop_connections_max` are open.
    Busy,
    /// Its name leads nowhere.
    Name(io::Error),
    /// It does not take the connection.
    Refused(io::Error),
    /// It does not answer in time.
    Timeout,
    /// The next hop is ourselves, or no network hop at all.
    Nowhere(&'static str),
}

impl DialError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Busy | Self::Nowhere(_) => Blame::Ours,
            Self::Name(_) | Self::Refused(_) | Self::Timeout => Blame::Upstream,
        }
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("too many connections to the next hop"),
            Self::Name(e) => write!(f, "the next hop's name cannot be resolved: {e}"),
            Self::Refused(e) => write!(f, "the next hop cannot be reached: {e}"),
            Self::Timeout => f.write_str("the next hop does not answer in time"),
            Self::Nowhere(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for DialError {}

/// Connects to a host of the web on behalf of an accepted client, from whose address it dials if it was intercepted so.
/// `permits` says of each of its addresses why not.
pub async fn dial_host(
    visitor: &Visitor,
    shared: &Shared,
    host: &str,
    port: u16,
    permits: impl Fn(SocketAddr) -> Result<(), &'static str>,
) -> Result<Upstream, DialError> {
    let settings = &visitor.gate.settings;
    let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let place = take_place(shared, settings, &target)?;
    let connecting = async {
        let mut addresses = resolve(&target).await.map_err(DialError::Name)?;
        if visitor.is_intercepted && addresses.contains(&visitor.server) {
            // The name leads to where the client meant to go, among other places: there it goes.
            addresses = vec![visitor.server];
        }
        let mut refused = None;
        addresses.retain(|address| permits(*address).map_err(|why| refused = Some(why)).is_ok());
        match refused {
            Some(why) if addresses.is_empty() => Err(DialError::Nowhere(why)),
            _ => connect(&addresses, source(visitor)).await,
        }
    };
    let connected = timeout(settings.timeouts.connect, connecting).await;
    let (tcp, address) = connected.map_err(|_| DialError::Timeout)??;
    Ok(Upstream { stream: Stream::new(tcp), address, host: host.to_owned(), _place: place })
}

/// Connects to the listener's next hop on behalf of an accepted client.
pub async fn dial(accepted: &Accepted, shared: &Shared) -> Result<Upstream, DialError> {
    let settings = &accepted.gate.settings;
    let target = match &settings.next_hop {
        NextHop::Address(target) => target.clone(),
        NextHop::Original if accepted.is_intercepted => accepted.server.to_string(),
        NextHop::Original => {
            return Err(DialError::Nowhere(
                "the client connected to the gateway itself: no original destination",
            ));
        }
        NextHop::Maildir(_) => return Err(DialError::Nowhere("a maildir is no network hop")),
    };
    let place = take_place(shared, settings, &target)?;
    let connecting = async {
        let addresses = resolve(&target).await.map_err(DialError::Name)?;
        connect(&addresses, source(accepted)).await
    };
    let connected = timeout(settings.timeouts.connect, connecting).await;
    let (tcp, address) = connected.map_err(|_| DialError::Timeout)??;
    let mut stream = Stream::new(tcp);
    write_proxy_header(&mut stream, accepted, settings.client_address).map_err(DialError::Refused)?;
    let host = match target.rsplit_once(':') {
        Some((host, _)) => host.trim_matches(['[', ']']).to_owned(),
        None => target,
    };
    Ok(Upstream { stream, address, host, _place: place })
}

fn take_place(shared: &Shared, settings: &Listener, target: &str) -> Result<Place<String>, DialError> {
    let place = shared.next_hops.enter(target.to_owned(), settings.next_hop_connections_max, usize::MAX);
    place.map_err(|_| DialError::Busy)
}

/// The address to dial from, where it is not the gateway's own.
fn source(visitor: &Visitor) -> Option<SocketAddr> {
    match visitor.gate.settings.intercept {
        Intercept::Tproxy => Some(visitor.client),
        Intercept::Explicit | Intercept::Redirect => None,
    }
}

/// Tries each address in turn; the last one's error is told.
async fn connect(
    addresses: &[SocketAddr],
    source: Option<SocketAddr>,
) -> Result<(TcpStream, SocketAddr), DialError> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for &address in addresses {
        let tried = match source {
            None => TcpStream::connect(address).await,
            Some(source) => connect_from(source, address).await,
        };
        match tried {
            Ok(tcp) => return Ok((tcp, address)),
            Err(e) => failed = e,
        }
    }
    Err(DialError::Refused(failed))
}

async fn resolve(target: &str) -> io::Result<Vec<SocketAddr>> {
    // An address needs no resolver, and no thread for it.
    if let Ok(address) = target.parse() {
        return Ok(vec![address]);
    }
    Ok(tokio::net::lookup_host(target).await?.collect())
}

/// Connects from the client's own address, with a port of the kernel's choice: the client's own may still be in use
/// between the two of them.
async fn connect_from(source: SocketAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let source = SocketAddr::new(source.ip().to_canonical(), 0);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    match address {
        SocketAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
        SocketAddr::V6(_) => socket.set_ip_transparent_v6(true)?,
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(source))?;
    socket.set_nonblocking(true)?;
    TcpSocket::from_std_stream(socket.into()).connect(address).await
}

/// Queues the header that tells who the client is; it leaves with the first bytes to the next hop, or at the first flush.
fn write_proxy_header(stream: &mut Stream, accepted: &Accepted, how: ClientAddress) -> io::Result<()> {
    let version = match how {
        ClientAddress::ProxyV1 => Version::V1,
        ClientAddress::ProxyV2 => Version::V2,
        ClientAddress::Auto | ClientAddress::Xclient | ClientAddress::Xforward | ClientAddress::None => {
            return Ok(());
        }
    };
    let header = Header::Proxied { source: accepted.client, destination: accepted.server };
    stream.write(&proxy_protocol::encode(version, header))
}

/// How long a close may wait for the next hop's own end.
pub const CLOSE_LINGER: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn names_and_addresses_are_dialled_and_failures_are_told_apart() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for target in [address.to_string(), format!("localhost:{}", address.port())] {
            let (_, connected) = connect(&resolve(&target).await.unwrap(), None).await.unwrap();
            assert_eq!(connected, address);
        }
        drop(listener);
        assert!(matches!(connect(&[address], None).await, Err(DialError::Refused(_))));
        assert!(resolve("no.such.host.invalid:25").await.is_err());
        assert!(resolve("no port").await.is_err());
    }

    #[test]
    fn each_failure_has_its_blame() {
        assert_eq!(DialError::Busy.blame(), Blame::Ours);
        assert_eq!(DialError::Timeout.blame(), Blame::Upstream);
        assert_eq!(DialError::Refused(io::ErrorKind::ConnectionRefused.into()).blame(), Blame::Upstream);
    }
}
