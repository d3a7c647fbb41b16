//! The way to the server that a request is for: [`Origin`]. Rule: never to the gateway itself, and never to what only
//! the gateway's own machine may reach.

use super::session::Session;
use crate::dial::{DialError, Purpose, Upstream, dial_host};
use crate::events::access::Server;
use crate::listener::Visitor;
use crate::scratch::with_scratch;
use crate::shared::Shared;
use crate::stream::{ReadOutcome, Stream};
use lockgate_proto::http::{Disposition, Form, Framing, Limits, RequestHead, ResponseReader, write_request};
use std::net::{IpAddr, SocketAddr};

/// A connection to an origin, kept while requests go to the same.
pub struct Origin {
    upstream: Upstream,
    port: u16,
    /// Reads its responses.
    pub reader: ResponseReader,
    /// Whether a response has come by it: a server may close such a connection at any time.
    pub is_used: bool,
    /// Whether a login came by it that is the connection's, and so one client's.
    is_pinned: bool,
}

impl Origin {
    /// Connects, for requests in the clear.
    pub async fn dial(visitor: &Visitor, shared: &Shared, host: &str, port: u16) -> Result<Self, DialError> {
        Self::dial_for(Purpose::Requests, visitor, shared, (host, port)).await
    }

    /// Connects, for what only the host is to read.
    pub async fn dial_tunnel(
        visitor: &Visitor,
        shared: &Shared,
        host: &str,
        port: u16,
    ) -> Result<Self, DialError> {
        Self::dial_for(Purpose::Tunnel, visitor, shared, (host, port)).await
    }

    async fn dial_for(
        purpose: Purpose,
        visitor: &Visitor,
        shared: &Shared,
        (host, port): (&str, u16),
    ) -> Result<Self, DialError> {
        let client = visitor.client.ip();
        let permits = |address| permitted(address, client, shared);
        let upstream = dial_host(visitor, shared, (host, port), purpose, permits).await?;
        let reader = ResponseReader::new(Disposition::Strict, Limits::default());
        Ok(Self { upstream, port, reader, is_used: false, is_pinned: false })
    }

    /// Whether it is a proxy behind this one that answers.
    pub fn leads_to_parent(&self) -> bool {
        self.upstream.parent.is_some()
    }

    /// Writes a request's head, in the form that whoever reads it wants.
    pub fn write_head(&mut self, head: &RequestHead, framing: Framing, out: &mut Vec<u8>) {
        self.reader.expect(&head.method);
        let Some(parent) = &self.upstream.parent else {
            return write_request(head, Form::Origin, framing, out);
        };
        let mut head = head.clone();
        if let Some(authorization) = parent.authorization() {
            head.fields.push(b"Proxy-Authorization", authorization.as_bytes());
        }
        write_request(&head, Form::Absolute, framing, out);
    }

    /// The connection.
    pub fn stream(&mut self) -> &mut Stream {
        &mut self.upstream.stream
    }

    /// The connection and the port that it leads to, for another protocol than HTTP/1.
    pub fn into_parts(self) -> (Upstream, u16) {
        (self.upstream, self.port)
    }

    /// Where it leads, for the access log.
    pub fn server(&self) -> Server {
        let address = self.upstream.address.ip();
        if self.leads_to_parent() { Server::Parent(address) } else { Server::Origin(address) }
    }

    /// The host that it leads to.
    pub fn host(&self) -> &str {
        &self.upstream.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it leads to this host.
    pub fn leads_to(&self, host: &str, port: u16) -> bool {
        self.upstream.host.eq_ignore_ascii_case(host) && self.port == port
    }

    /// From now on it is one client's alone: the server knows it by the connection (NTLM, Negotiate).
    pub fn pin(&mut self) {
        self.is_pinned = true;
    }

    /// Whether it is one client's alone.
    pub fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    /// Whether a request may go by it: it is open, and nothing has come that nobody asked for.
    pub fn is_at_rest(&mut self) -> bool {
        let stream = &mut self.upstream.stream;
        stream.unread_bytes() == 0
            && stream.pending_bytes() == 0
            && matches!(with_scratch(|scratch| stream.try_read(scratch)), Ok(ReadOutcome::WouldBlock))
    }

    /// Whether this client may be led there as well, and would have been: one that was intercepted goes where it meant to.
    pub fn is_for(&self, session: &Session) -> bool {
        let client = &session.client;
        let address = self.upstream.address;
        let may_go =
            self.leads_to_parent() || permitted(address, client.client.ip(), &session.shared).is_ok();
        may_go && (!client.is_intercepted || client.server == address)
    }
}

/// Whether a client may be led to the address; if not, why.
fn permitted(address: SocketAddr, client: IpAddr, shared: &Shared) -> Result<(), &'static str> {
    let ip = address.ip().to_canonical();
    let client = client.to_canonical();
    if ip.is_unspecified() || ip.is_multicast() || ip == IpAddr::V4(std::net::Ipv4Addr::BROADCAST) {
        return Err("the name leads to no single machine");
    }
    // What listens on the gateway's loopback is for the gateway's own machine alone.
    if ip.is_loopback() && !client.is_loopback() {
        return Err("the name leads to the gateway's own machine");
    }
    if is_link_local(ip) {
        return Err("the name leads to an address of one network segment");
    }
    let is_own = |gate: SocketAddr| {
        gate.port() == address.port()
            && (gate.ip() == ip || gate.ip().is_unspecified() && (ip.is_loopback() || is_of_this_machine(ip)))
    };
    if shared.gates.load().iter().any(|gate| is_own(gate.settings.address)) {
        return Err("the address is the gateway's own");
    }
    Ok(())
}

/// Such addresses mean something else on each link; on rented machines, the one that hands out credentials.
fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// The kernel lets nobody bind to an address of another machine.
fn is_of_this_machine(ip: IpAddr) -> bool {
    std::net::UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Listener, NextHop, Settings, Speaks};
    use lockgate_inspect::{Generation, Policy};
    use std::sync::Arc;

    #[test]
    fn the_gateway_and_its_machine_are_no_origins() {
        let gate =
            |address: &str| Listener::new(address, Speaks::Http, address.parse().unwrap(), NextHop::Original);
        let listeners = vec![gate("0.0.0.0:3128"), gate("192.0.2.7:8080")];
        let settings = Settings { listeners, ..Settings::default() };
        let generation = Generation {
            number: 1,
            databases: Vec::new(),
            policy: Arc::new(Policy::default()),
            limits: Arc::default(),
        };
        let shared = Shared::new(settings, Arc::new(generation)).unwrap();
        let cases = [
            ("198.51.100.1:80", "192.0.2.1", true),
            ("[2001:db8::1]:80", "192.0.2.1", true),
            ("127.0.0.1:80", "192.0.2.1", false),
            ("127.0.0.1:80", "127.0.0.1", true),
            ("[::1]:80", "192.0.2.1", false),
            ("[::ffff:127.0.0.1]:80", "192.0.2.1", false),
            ("[::ffff:127.0.0.1]:80", "::ffff:127.0.0.1", true),
            ("127.0.0.1:3128", "127.0.0.1", false),
            ("127.9.9.9:3128", "127.0.0.1", false),
            ("192.0.2.7:8080", "127.0.0.1", false),
            ("192.0.2.7:8081", "127.0.0.1", true),
            ("0.0.0.0:80", "127.0.0.1", false),
            ("[::]:80", "127.0.0.1", false),
            ("169.254.169.254:80", "127.0.0.1", false),
            ("[fe80::1]:80", "127.0.0.1", false),
            ("224.0.0.1:80", "127.0.0.1", false),
        ];
        for (address, client, expected) in cases {
            let answer = permitted(address.parse().unwrap(), client.parse().unwrap(), &shared);
            assert_eq!(answer.is_ok(), expected, "{address} for {client}: {answer:?}");
        }
    }
}
