//! The one site behind a connection whose TLS is intercepted: [`Site`]. Rule: what the server has not proved to be is not
//! what the client is told.

use super::ALPN_HTTP1;
use super::asked::Goal;
use super::origin::Origin;
use super::page::Page;
use super::session::Session;
use crate::events::Passage;
use crate::interception::{Interception, servers};
use crate::tls::server_name;
use lockgate_proto::http::Scheme;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::timeout;

/// Where every request of the connection goes.
#[derive(Clone)]
pub struct Site {
    /// The host: the name that the client asked for under TLS, or where there was none, where it wanted to go.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Where the connection is made to: the host itself, unless the client has named an address, or lists another host.
    pub dialled: (String, u16),
    /// The protocols that client and gateway have in common, the client's order.
    pub alpn: Vec<Vec<u8>>,
    /// What it is intercepted with.
    pub interception: Arc<Interception>,
    /// Why there is nothing to be had of it.
    pub fault: Option<Page>,
}

impl Site {
    /// The same for a connection by which HTTP/1.1 alone is spoken.
    pub fn by_http1(&self) -> Self {
        Self { alpn: vec![ALPN_HTTP1.to_vec()], ..self.clone() }
    }

    /// What its own requests go to.
    pub fn goal(&self) -> Goal<'_> {
        Goal { scheme: Scheme::Https, host: &self.host, port: self.port }
    }

    /// Connects, and begins TLS: the server must prove that it is the host.
    pub async fn dial(&self, session: &Session, goal: &Goal<'_>) -> Result<Origin, Page> {
        // Lists may lead on to another host than the client's.
        let is_own = (goal.host, goal.port) == (self.host.as_str(), self.port);
        let (host, port) =
            if is_own { (self.dialled.0.as_str(), self.dialled.1) } else { (goal.host, goal.port) };
        let mut origin = Origin::dial_tunnel(session, host, port).await?;
        origin.stands_for(goal);
        let config = self.interception.towards_server(self.alpn.clone());
        let name = server_name(goal.host)
            .map_err(|_| Page::bad_request(400, format!("{:?} is no name for TLS", goal.host)))?;
        let patience = session.client.gate.settings.timeouts.handshake;
        let shaken = timeout(patience, origin.stream().start_tls_connect(config, name)).await;
        match shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(()) => Ok(origin),
            Err(error) => {
                let why = servers::words(&error);
                session.shared.counts.tls_servers_refused.fetch_add(1, Ordering::Relaxed);
                session.note_tls(goal.host, goal.port, Passage::ServerRefused, &why);
                Err(Page::distrusted(why))
            }
        }
    }
}
