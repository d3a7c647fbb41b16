//! The way in: sockets that listen, and what is known of who comes ([`Accepted`]). Rule: over a limit, the client is
//! answered and let go before anything is spent on it.

use crate::http;
use crate::proxy_header;
use crate::settings::{Intercept, Speaks, Tls};
use crate::shared::{Gate, Shared};
use crate::stream::Stream;
use crate::tally::{Place, client_key};
use lockgate_inspect::Session;
use lockgate_model::{Flow, Protocol, Security};
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpStream;

/// A client, let in.
pub struct Accepted {
    /// The connection.
    pub stream: Stream,
    /// Who it is.
    pub visitor: Visitor,
}

/// Who a client is, and how it came: what is known of it apart from its connection.
#[derive(Clone)]
pub struct Visitor {
    /// The client's address, as it is known after a PROXY header.
    pub client: SocketAddr,
    /// Where the client connected to: for an intercepted connection, the destination that it meant.
    pub server: SocketAddr,
    /// Whether `server` is an intercepted destination.
    pub is_intercepted: bool,
    /// The listener.
    pub gate: Arc<Gate>,
    /// Names the flow in events.
    pub flow_id: u64,
    /// Given back when none of the connections that are served for it is left.
    _place: Arc<Place<IpAddr>>,
}

impl Deref for Accepted {
    type Target = Visitor;

    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

impl DerefMut for Accepted {
    fn deref_mut(&mut self) -> &mut Visitor {
        &mut self.visitor
    }
}

impl Visitor {
    /// The engines' state for the connection, with what is loaded at this moment; `client` is who it is known to be now.
    pub fn open_inspection(&self, protocol: Protocol, client: SocketAddr, shared: &Shared) -> Session {
        self.open_secure_inspection(protocol, Security::Clear, client, shared)
    }

    /// The same, where the content comes under TLS.
    pub fn open_secure_inspection(
        &self,
        protocol: Protocol,
        security: Security,
        client: SocketAddr,
        shared: &Shared,
    ) -> Session {
        let (id, server, listener) = (self.flow_id, self.server, self.gate.settings.name.clone());
        let flow = Flow { security, id, protocol, client, server, listener };
        Session::open(shared.generation.load_full(), &shared.pools, flow)
    }
}

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Binds one of several sockets to the address: the kernel spreads connections over them.
pub fn bind(address: SocketAddr, intercept: Intercept) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(socket2::Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        // [::] is IPv6 and nothing else, whatever the system's default: what is listened to is what is written.
        socket.set_only_v6(true)?;
    }
    if intercept == Intercept::Tproxy {
        match address {
            SocketAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
            SocketAddr::V6(_) => socket.set_ip_transparent_v6(true)?,
        }
    }
    socket.bind(&SockAddr::from(address))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Whether an error of accept says that the process or the machine has run out: then it comes again at once, and
/// something must be closed before it makes sense to ask again.
pub(crate) fn is_exhaustion(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const ENOMEM: i32 = 12;
    const ENOBUFS: i32 = 105;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE | ENOMEM | ENOBUFS))
}

/// Looks at who comes: limits, PROXY header, original destination. `None` if the client was refused or is gone.
pub(crate) async fn admit(
    tcp: TcpStream,
    peer: SocketAddr,
    gate: Arc<Gate>,
    shared: &Shared,
) -> Option<Accepted> {
    let settings = &gate.settings;
    let (mut client, local) = (canonical(peer), canonical(tcp.local_addr().ok()?));
    let mut server = local;
    // Before the header is read the place is the proxy's own, limited with all others only.
    let is_proxied = settings.accept_proxy_from.iter().any(|network| network.contains(client.ip()));
    let key_max = if is_proxied { usize::MAX } else { settings.connections_per_client_max };
    let mut place = take_place(&tcp, client, key_max, &gate, shared)?;
    if is_proxied {
        let said = tokio::time::timeout(settings.timeouts.handshake, proxy_header::read(&tcp)).await;
        // A trusted proxy that says nothing, or nonsense, is not one: no reply would reach a client.
        if let Some((source, destination)) = said.ok()?.ok()? {
            (client, server) = (canonical(source), canonical(destination));
            drop(place);
            place = take_place(&tcp, client, settings.connections_per_client_max, &gate, shared)?;
        }
    }
    let original = original_destination(&tcp, settings.intercept, local);
    let is_intercepted = original.is_some();
    let server = original.unwrap_or(server);
    let stream = Stream::new(tcp);
    let flow_id = shared.next_id();
    let visitor = Visitor { client, server, is_intercepted, gate, flow_id, _place: Arc::new(place) };
    Some(Accepted { stream, visitor })
}

fn take_place(
    tcp: &TcpStream,
    client: SocketAddr,
    key_max: usize,
    gate: &Gate,
    shared: &Shared,
) -> Option<Place<IpAddr>> {
    let all_max = shared.settings.load().connections_max;
    let place = shared.clients.enter(client_key(client.ip()), key_max, all_max);
    if place.is_err() {
        shared.counts.refused.fetch_add(1, Ordering::Relaxed);
        refuse(tcp, gate, "too many connections, come again later");
    }
    place.ok()
}

/// Says no in the listener's protocol, as far as the socket takes it at once. Under implicit TLS nothing can be said.
pub(crate) fn refuse(tcp: &TcpStream, gate: &Gate, why: &str) {
    if gate.settings.tls == Tls::Implicit {
        return;
    }
    let words = match gate.settings.protocol {
        // RFC 3463: 4.3.2 is a system that does not accept network messages.
        Speaks::Smtp => format!("421 4.3.2 {why}\r\n"),
        // RFC 3206: SYS/TEMP is a problem of the system that is likely to pass.
        Speaks::Pop3 => format!("-ERR [SYS/TEMP] {why}\r\n"),
        Speaks::Http => http::page::unavailable(why),
    };
    let socket = SockRef::from(tcp);
    let _ = socket.send(words.as_bytes());
    let _ = socket.shutdown(std::net::Shutdown::Write);
}

/// Where an intercepted client wanted to go; `None` if it wanted to come here.
fn original_destination(tcp: &TcpStream, intercept: Intercept, local: SocketAddr) -> Option<SocketAddr> {
    match intercept {
        Intercept::Explicit => None,
        // The kernel's answer for a connection that was not redirected is an error or our own address.
        Intercept::Redirect => {
            let socket = SockRef::from(tcp);
            let original = socket.original_dst_v4().or_else(|_| socket.original_dst_v6()).ok()?;
            original.as_socket().map(canonical).filter(|address| *address != local)
        }
        Intercept::Tproxy => Some(local),
    }
}

/// An IPv4 address that came mapped into IPv6, as what it is.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// How long to wait after an exhaustion before asking again.
pub(crate) const EXHAUSTION_PAUSE: Duration = Duration::from_millis(50);
