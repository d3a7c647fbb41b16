//! What all connections share: [`Shared`], and one [`Gate`] for each listener. Rule: read at the start of a session, so
//! that a reload changes the next one and never one that has begun.

use crate::drain::Drain;
use crate::events::Events;
use crate::http;
use crate::http::bypass::Bypasses;
use crate::http::page::{Template, TemplateError};
use crate::interception::{Interception, authority};
use crate::resolver::Resolver;
use crate::settings::{Listener, NextHopTls, Settings, Speaks, Switch, Tls};
use crate::tally::Tally;
use crate::tls::{self, TlsError};
use crate::users::{Users, UsersError};
use arc_swap::ArcSwap;
use lockgate_inspect::{Generation, Pools};
use lockgate_model::Pool;
use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// One listener as it runs: its settings, and what they name, loaded.
pub struct Gate {
    /// What was configured.
    pub settings: Listener,
    /// TLS towards clients, unless it is off.
    pub tls: Option<Arc<ServerConfig>>,
    /// TLS towards the next hop, unless it is off.
    pub next_hop_tls: Option<Arc<ClientConfig>>,
    /// What TLS is intercepted with, unless it is not.
    pub interception: Option<Arc<Interception>>,
    /// Who may use it, if it is not for everybody.
    pub users: Option<Arc<Users>>,
}

impl Gate {
    /// Loads what the settings name.
    pub fn open(settings: Listener, interception: Option<&Arc<Interception>>) -> Result<Self, OpenError> {
        let tls = match (&settings.tls, &settings.certificate) {
            (Tls::Off, _) => None,
            (_, Some(certificate)) => Some(tls::server_config(certificate, alpn(settings.protocol))?),
            (_, None) => {
                let reason = format!("listener {:?} has TLS on but no certificate", settings.name);
                return Err(TlsError { path: PathBuf::new(), reason }.into());
            }
        };
        let roots = settings.next_hop_ca_file.as_deref();
        let next_hop_tls = match settings.next_hop_tls {
            NextHopTls::Off => None,
            NextHopTls::Opportunistic => Some(tls::client_config(crate::settings::Verify::Nothing, None)?),
            NextHopTls::Required | NextHopTls::Implicit => {
                Some(tls::client_config(settings.next_hop_tls_verify, roots)?)
            }
        };
        let interception = interception.filter(|_| settings.intercept_tls == Switch::On).map(Arc::clone);
        let users = settings.users.as_deref().map(Users::read).transpose()?.map(Arc::new);
        Ok(Self { settings, tls, next_hop_tls, interception, users })
    }
}

/// Why what the settings name cannot be used: the file, and what is wrong with it.
#[derive(Debug)]
pub enum OpenError {
    /// A certificate, a key or roots.
    Tls(TlsError),
    /// Users.
    Users(UsersError),
    /// The page that others are made from.
    Template(TemplateError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls(error) => error.fmt(f),
            Self::Users(error) => error.fmt(f),
            Self::Template(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<TlsError> for OpenError {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

impl From<UsersError> for OpenError {
    fn from(error: UsersError) -> Self {
        Self::Users(error)
    }
}

impl From<TemplateError> for OpenError {
    fn from(error: TemplateError) -> Self {
        Self::Template(error)
    }
}

/// What clients may choose to speak under TLS.
fn alpn(protocol: Speaks) -> &'static [&'static [u8]] {
    match protocol {
        Speaks::Http => &[http::ALPN_HTTP2, http::ALPN_HTTP1],
        Speaks::Smtp | Speaks::Pop3 => &[],
    }
}

/// What all connections share.
pub struct Shared {
    /// The listeners, in the order of the configuration.
    pub gates: ArcSwap<Vec<Arc<Gate>>>,
    /// The settings that are not a listener's.
    pub settings: ArcSwap<Settings>,
    /// What is loaded.
    pub generation: ArcSwap<Generation>,
    /// Budgets of the whole process.
    pub pools: Pools,
    /// Connections, by client.
    pub clients: Arc<Tally<IpAddr>>,
    /// Connections to next hops, by next hop.
    pub next_hops: Arc<Tally<String>>,
    /// What names lead to.
    pub resolver: Resolver,
    /// Whether we are stopping.
    pub drain: Drain,
    /// What has happened so far.
    pub counts: Counts,
    /// What the pages are made from that people get in place of others.
    pub template: ArcSwap<Template>,
    /// The ways past block pages that are open.
    pub bypasses: Bypasses,
    /// Where events go.
    pub events: ArcSwap<Events>,
    ids: AtomicU64,
}

/// What has happened since the start.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections accepted.
    pub accepted: AtomicU64,
    /// Connections refused, for a limit met.
    pub refused: AtomicU64,
    /// TLS connections that were looked into.
    pub tls_intercepted: AtomicU64,
    /// Those that failed since the client did not want the gateway's certificate.
    pub tls_clients_refused: AtomicU64,
    /// Those that failed since the server's was not to be trusted.
    pub tls_servers_refused: AtomicU64,
}

impl Shared {
    /// Opens every gate. Nothing listens yet.
    pub fn new(settings: Settings, generation: Arc<Generation>) -> Result<Arc<Self>, OpenError> {
        let template = Template::read(settings.page.template.as_deref())?;
        let gates = open_gates(&settings)?;
        let pools = Pools {
            hold: Pool::new(settings.hold_pool_bytes),
            parts: Pool::new(settings.content_pool_bytes),
        };
        Ok(Arc::new(Self {
            gates: ArcSwap::from_pointee(gates),
            settings: ArcSwap::from_pointee(settings),
            generation: ArcSwap::new(generation),
            pools,
            clients: Arc::default(),
            next_hops: Arc::default(),
            resolver: Resolver::default(),
            drain: Drain::default(),
            counts: Counts::default(),
            template: ArcSwap::from_pointee(template),
            bypasses: Bypasses::default(),
            events: ArcSwap::from_pointee(Events::nowhere()),
            ids: AtomicU64::new(first_id()),
        }))
    }

    /// Takes new settings and a new generation for connections to come. On an error nothing has changed. What cannot
    /// change while running (addresses, threads, budgets) stays; the names of the listeners it concerns come back.
    pub fn reload(&self, settings: Settings, generation: Arc<Generation>) -> Result<Vec<String>, OpenError> {
        let template = Template::read(settings.page.template.as_deref())?;
        let mut wanted = open_gates(&settings)?;
        let mut gates = Vec::new();
        let mut unchanged = Vec::new();
        for running in self.gates.load().iter() {
            let same = |gate: &Arc<Gate>| {
                gate.settings.address == running.settings.address
                    && gate.settings.intercept == running.settings.intercept
            };
            match wanted.iter().position(same) {
                Some(at) => gates.push(wanted.swap_remove(at)),
                None => {
                    unchanged.push(running.settings.name.clone());
                    gates.push(Arc::clone(running));
                }
            }
        }
        unchanged.extend(wanted.iter().map(|gate| gate.settings.name.clone()));
        self.gates.store(Arc::new(gates));
        self.template.store(Arc::new(template));
        self.settings.store(Arc::new(settings));
        self.generation.store(generation);
        Ok(unchanged)
    }

    /// Who signs what clients see, where a listener intercepts TLS.
    pub fn authority(&self) -> Option<authority::About> {
        let gates = self.gates.load();
        gates.iter().find_map(|gate| gate.interception.as_ref()).map(|it| it.authority.about.clone())
    }

    /// A number that no flow or transaction of this process has had, nor one of its predecessor's.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}

fn open_gates(settings: &Settings) -> Result<Vec<Arc<Gate>>, OpenError> {
    let is_wanted = settings.listeners.iter().any(|listener| listener.intercept_tls == Switch::On);
    let interception = match is_wanted {
        true => Some(Arc::new(Interception::open(&settings.interception, &settings.hostname)?)),
        false => None,
    };
    let open = |listener: &Listener| Gate::open(listener.clone(), interception.as_ref()).map(Arc::new);
    settings.listeners.iter().map(open).collect()
}

/// Ids begin with the time in microseconds: a process would have to give out a million a second for its successor to
/// meet one of them.
fn first_id() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(1)
}
