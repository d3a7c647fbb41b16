//! The way to the next hop: [`dial`]. Rule: a place first, then the name, then the connection, each within its time.

use crate::listener::{Accepted, Visitor};
use crate::parent::{self, Parent, ParentError, authority};
use crate::race;
use crate::settings::{ClientAddress, Intercept, Listener, NextHop};
use crate::shared::Shared;
use crate::stream::Stream;
use crate::tally::Place;
use lockgate_model::Blame;
use lockgate_proto::proxy_protocol::{self, Header, Version};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A connection to the next hop.
pub struct Upstream {
    /// The connection.
    pub stream: Stream,
    /// Where it leads.
    pub address: SocketAddr,
    /// The host's name, or its address where it was given so: what its certificate must prove.
    pub host: String,
    /// The proxy that this leads to in place of the host, which then has to be told the whole address.
    pub parent: Option<Arc<Parent>>,
    _place: Place<String>,
}

impl Upstream {
    /// The connection, the host it leads to, and its place among those that may be open.
    pub fn into_parts(self) -> (Stream, String, Place<String>) {
        (self.stream, self.host, self._place)
    }
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
    /// The proxy behind this one opens no way.
    Parent(ParentError),
    /// The next hop is ourselves, or no network hop at all.
    Nowhere(&'static str),
}

impl DialError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Busy | Self::Nowhere(_) => Blame::Ours,
            Self::Name(_) | Self::Refused(_) | Self::Timeout | Self::Parent(_) => Blame::Upstream,
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
            Self::Parent(e) => e.fmt(f),
            Self::Nowhere(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for DialError {}

/// What a connection to a host of the web is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Requests in the clear: a proxy behind this one can read them.
    Requests,
    /// What only the host is to read.
    Tunnel,
}

/// The proxy behind this one that a client's way to a host leads through.
pub fn parent_for<'a>(settings: &'a Listener, host: &str) -> Option<&'a Arc<Parent>> {
    settings.upstream.as_ref().filter(|_| !settings.no_upstream.contains(host))
}

/// Connects to a host of the web on behalf of an accepted client, from whose address it dials if it was intercepted so;
/// where there is a proxy behind this one, through that, or to it for requests that it can read. `permits` says of each
/// of the host's addresses why not.
pub async fn dial_host(
    visitor: &Visitor,
    shared: &Shared,
    (host, port): (&str, u16),
    purpose: Purpose,
    permits: impl Fn(SocketAddr) -> Result<(), &'static str>,
) -> Result<Upstream, DialError> {
    let settings = &visitor.gate.settings;
    if let Some(parent) = parent_for(settings, host) {
        // Of a name only the parent knows where it leads; an address can be judged here.
        if let Ok(address) = host.parse() {
            permits(SocketAddr::new(address, port)).map_err(DialError::Nowhere)?;
        }
        let dialled =
            timeout(settings.timeouts.connect, dial_parent(settings, shared, parent, (host, port), purpose));
        return dialled.await.map_err(|_| DialError::Timeout)?;
    }
    let place = take_place(shared, settings, &authority(host, port))?;
    let connecting = async {
        let mut addresses = resolve(shared, host, port).await?;
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
    Ok(Upstream { stream: Stream::new(tcp), address, host: host.to_owned(), parent: None, _place: place })
}

/// By the gateway's own address, whatever the client's: to a proxy it is the gateway that asks.
async fn dial_parent(
    settings: &Listener,
    shared: &Shared,
    parent: &Arc<Parent>,
    (host, port): (&str, u16),
    purpose: Purpose,
) -> Result<Upstream, DialError> {
    let place = take_place(shared, settings, &authority(&parent.host, parent.port))?;
    let addresses = resolve(shared, &parent.host, parent.port).await?;
    let (tcp, address) = connect(&addresses, None).await?;
    let mut stream = Stream::new(tcp);
    let reads_requests = purpose == Purpose::Requests && parent.speaks == parent::Speaks::Http;
    if !reads_requests {
        parent.open_tunnel(&mut stream, host, port).await.map_err(DialError::Parent)?;
    }
    let parent = reads_requests.then(|| Arc::clone(parent));
    Ok(Upstream { stream, address, host: host.to_owned(), parent, _place: place })
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
    let (host, port) = target.rsplit_once(':').unwrap_or((&target, ""));
    let port = port.parse().map_err(|_| DialError::Nowhere("the next hop has no port"))?;
    let connecting = async {
        let addresses = resolve(shared, host, port).await?;
        connect(&addresses, source(accepted)).await
    };
    let connected = timeout(settings.timeouts.connect, connecting).await;
    let (tcp, address) = connected.map_err(|_| DialError::Timeout)??;
    let mut stream = Stream::new(tcp);
    write_proxy_header(&mut stream, accepted, settings.client_address).map_err(DialError::Refused)?;
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok(Upstream { stream, address, host, parent: None, _place: place })
}

fn take_place(shared: &Shared, settings: &Listener, target: &str) -> Result<Place<String>, DialError> {
    let place = shared.next_hops.enter(target.to_owned(), settings.next_hop_connections_max, usize::MAX);
    place.map_err(|_| DialError::Busy)
}

/// The address to dial from, where it is not the gateway's own.
fn source(visitor: &Visitor) -> Option<IpAddr> {
    match visitor.gate.settings.intercept {
        Intercept::Tproxy => Some(visitor.client.ip().to_canonical()),
        Intercept::Explicit | Intercept::Redirect => None,
    }
}

async fn resolve(shared: &Shared, host: &str, port: u16) -> Result<Vec<SocketAddr>, DialError> {
    let kept = shared.settings.load().names_kept;
    shared.resolver.resolve(host, port, kept).await.map_err(DialError::Name)
}

async fn connect(
    addresses: &[SocketAddr],
    source: Option<IpAddr>,
) -> Result<(TcpStream, SocketAddr), DialError> {
    race::connect(addresses, source).await.map_err(DialError::Refused)
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

    #[test]
    fn each_failure_has_its_blame() {
        assert_eq!(DialError::Busy.blame(), Blame::Ours);
        assert_eq!(DialError::Timeout.blame(), Blame::Upstream);
        assert_eq!(DialError::Refused(io::ErrorKind::ConnectionRefused.into()).blame(), Blame::Upstream);
    }
}
