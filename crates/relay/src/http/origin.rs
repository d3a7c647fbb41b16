//! The way to the server that a request is for: [`Origin`]. Rule: never to the gateway itself, and never to what only
//! the gateway's own machine may reach.

use super::asked::{Asked, Goal};
use super::connect;
use super::page::{Page, Way};
use super::session::Session;
use super::site::Site;
use crate::dial::{DialError, Purpose, Upstream, dial_host};
use crate::events::access::Server;
use crate::scratch::with_scratch;
use crate::shared::Shared;
use crate::stream::{ReadOutcome, Stream};
use lockgate_model::TransactionId;
use lockgate_proto::http::{
    Disposition, Form, Framing, Limits, RequestHead, ResponseReader, Scheme, write_request,
};
use std::net::{IpAddr, SocketAddr};

/// A connection to an origin, kept while requests go to the same.
pub struct Origin {
    upstream: Upstream,
    scheme: Scheme,
    host: String,
    port: u16,
    /// Reads its responses.
    pub reader: ResponseReader,
    /// Whether a response has come by it: a server may close such a connection at any time.
    pub is_used: bool,
    /// Whether a login came by it that is the connection's, and so one client's.
    is_pinned: bool,
}

impl Origin {
    /// Connects to where a request goes; `site` is the one that the client is at, if it is at one.
    pub async fn reach(session: &Session, site: Option<&Site>, goal: &Goal<'_>) -> Result<Self, Page> {
        match (goal.scheme, site) {
            (Scheme::Http, _) => Self::dial(session, goal.host, goal.port).await,
            (Scheme::Https, Some(site)) => site.dial(session, goal).await,
            (Scheme::Https, None) => {
                Err(Page::bad_gateway(502, "a list leads from a page in the clear to one under TLS"))
            }
        }
    }

    /// Connects to a host, for requests in the clear, or says what the client is to be told.
    pub async fn dial(session: &Session, host: &str, port: u16) -> Result<Self, Page> {
        Self::dial_for(Purpose::Requests, session, (host, port)).await
    }

    /// Connects, for what only the host is to read.
    pub async fn dial_tunnel(session: &Session, host: &str, port: u16) -> Result<Self, Page> {
        Self::dial_for(Purpose::Tunnel, session, (host, port)).await
    }

    async fn dial_for(purpose: Purpose, session: &Session, (host, port): (&str, u16)) -> Result<Self, Page> {
        let (visitor, shared) = (&session.client, &*session.shared);
        let client = visitor.client.ip();
        let permits = |address| permitted(address, client, shared);
        let dialled = dial_host(visitor, shared, (host, port), purpose, permits).await;
        let upstream = dialled.map_err(|e| page(&e))?;
        if visitor.is_intercepted && upstream.address != visitor.server {
            // The name leads elsewhere than the client meant to go: neither may be a place that is banned.
            let address = visitor.server;
            let meant = Asked::implied(address.ip().to_string(), address.port());
            let group = session.group_for(session.settled().flatten().as_deref());
            let about = session.transaction(TransactionId(shared.next_id()), &group);
            let inspection = connect::judged(session, &about, &group, &meant);
            if inspection.is_refused() {
                return Err(Page::blocked(inspection.judgement(), Way::ToServer));
            }
        }
        let reader = ResponseReader::new(Disposition::Strict, Limits::default());
        Ok(Self {
            upstream,
            scheme: Scheme::Http,
            host: host.to_owned(),
            port,
            reader,
            is_used: false,
            is_pinned: false,
        })
    }

    /// By TLS it has to prove that it is this host, by whatever name or address and port it was connected to.
    pub fn stands_for(&mut self, goal: &Goal<'_>) {
        (self.scheme, self.port) = (goal.scheme, goal.port);
        goal.host.clone_into(&mut self.host);
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

    /// The connection, and the host and port that it leads to, for another protocol than HTTP/1.
    pub fn into_parts(self) -> (Upstream, String, u16) {
        (self.upstream, self.host, self.port)
    }

    /// Where it leads, for the access log.
    pub fn server(&self) -> Server {
        let address = self.upstream.address.ip();
        if self.leads_to_parent() { Server::Parent(address) } else { Server::Origin(address) }
    }

    /// The host that it leads to.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is under TLS, and leads where a request goes.
    pub fn leads_to(&self, goal: &Goal<'_>) -> bool {
        self.scheme == goal.scheme && self.host.eq_ignore_ascii_case(goal.host) && self.port == goal.port
    }

    /// Whether it is under TLS.
    pub fn is_secure(&self) -> bool {
        self.scheme == Scheme::Https
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

/// Why there is no connection, for people.
fn page(error: &DialError) -> Page {
    match error {
        DialError::Nowhere(why) => Page::forbidden(*why),
        DialError::Name(e) => Page::bad_gateway(502, format!("the server's name cannot be resolved: {e}")),
        DialError::Refused(e) => Page::bad_gateway(502, format!("the server cannot be reached: {e}")),
        DialError::Parent(e) => Page::bad_gateway(502, e.to_string()),
        DialError::Timeout => Page::bad_gateway(504, "the server does not take the connection in time"),
        DialError::Busy => Page::bad_gateway(503, "too many connections to this server"),
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
