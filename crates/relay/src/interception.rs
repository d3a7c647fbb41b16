//! What it takes to stand between a client and a server under TLS: [`Interception`]. Rule: the client is told no more than
//! the server has proved.
//!
//! [`authority`] is who signs what clients see, [`leaves`] what it has signed, [`servers`] how servers are checked,
//! [`exceptions`] whom nobody comes between. The way of a connection is `relay/http`.

pub mod authority;
pub mod exceptions;
pub mod leaves;
pub mod servers;

use crate::settings;
use crate::tls::TlsError;
use authority::Authority;
use exceptions::Exceptions;
use leaves::Leaves;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, ServerConfig};
use std::io;
use std::sync::Arc;

/// All that is loaded for it, shared by every connection.
pub struct Interception {
    /// What was configured.
    pub settings: settings::Interception,
    /// Who signs.
    pub authority: Authority,
    /// Hosts that are left alone.
    pub exceptions: Exceptions,
    leaves: Leaves,
    towards_clients: ServerConfig,
    towards_servers: ClientConfig,
}

impl Interception {
    /// Loads what the settings name; an authority that is not there yet is made.
    pub fn open(settings: &settings::Interception, hostname: &str) -> Result<Self, TlsError> {
        let authority = Authority::open(settings, hostname)?;
        Ok(Self {
            exceptions: Exceptions::open(settings)?,
            leaves: Leaves::new()?,
            towards_clients: leaves::config()?,
            towards_servers: servers::config(&settings.server_roots)?,
            authority,
            settings: settings.clone(),
        })
    }

    /// Whether it could be opened; nothing is made.
    pub fn check(settings: &settings::Interception) -> Result<(), TlsError> {
        Exceptions::open(settings)?;
        servers::config(&settings.server_roots)?;
        if settings.authority.is_some() || authority::files(settings).chain.exists() {
            Authority::open(settings, "")?;
        }
        Ok(())
    }

    /// TLS towards a client who has asked for this host, in one of these protocols.
    pub fn towards_client(&self, host: &str, alpn: Vec<Vec<u8>>) -> io::Result<Arc<ServerConfig>> {
        let leaf = self.leaves.of(host, &self.authority)?;
        let mut config = self.towards_clients.clone();
        config.cert_resolver = Arc::new(SingleCertAndKey::from(leaf));
        config.alpn_protocols = alpn;
        Ok(Arc::new(config))
    }

    /// TLS towards a server, in one of these protocols. Sessions are resumed: all of them share one cache.
    pub fn towards_server(&self, alpn: Vec<Vec<u8>>) -> Arc<ClientConfig> {
        let mut config = self.towards_servers.clone();
        config.alpn_protocols = alpn;
        Arc::new(config)
    }
}
