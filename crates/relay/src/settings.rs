//! What the gateway is told to do, as plain values: [`Settings`] and one [`Listener`] for each `[[listen]]`.
//! Rule: data and defaults only; the file's syntax, its help and its reference are one table in the `lockgate` crate.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use crate::events::Destinations;
pub use crate::parent::{Hosts, Parent};
pub use lockgate_model::Network;

/// Everything the relay needs besides a generation of engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What is listened to.
    pub listeners: Vec<Listener>,
    /// The name the gateway gives itself: in greetings, EHLO and trace headers.
    pub hostname: String,
    /// How many threads serve connections; 0 is one for each core.
    pub threads: usize,
    /// Connections at once, over all listeners; who comes after that is told to come again.
    pub connections_max: usize,
    /// Bytes of mails that may be held at once, over all connections; when they are spent, mails stream from their
    /// first byte.
    pub hold_pool_bytes: u64,
    /// Bytes that decoders may hold at once, over all connections; when they are spent, content is
    /// `Incomplete(budget)` and the client is told to come again.
    pub content_pool_bytes: u64,
    /// How long a page may be that the lists have rules to replace text in; a longer one passes as it came.
    pub replace_bytes_max: u64,
    /// How long what a name leads to is remembered.
    pub names_kept: Duration,
    /// Connections to web servers that each thread keeps for requests to come.
    pub idle_servers_max: usize,
    /// How long it keeps each of them.
    pub idle_server_timeout: Duration,
    /// How long connections may go on after SIGTERM before they are dropped.
    pub drain_timeout: Duration,
    /// How TLS is intercepted, where a listener does.
    pub interception: Interception,
    /// Where mails with the verdict `quarantine` are kept; without it nothing is ever written to disk.
    pub quarantine_directory: Option<PathBuf>,
    /// Where events go.
    pub events: Destinations,
    /// Event lines that may wait for the writer; what comes after that is counted and dropped, never waited for.
    pub events_waiting_max: usize,
    /// What stands on the pages that people get in place of others.
    pub page: PageSettings,
    /// How often figures about the gateway itself are written among them.
    pub stats_interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listeners: Vec::new(),
            hostname: String::from("localhost"),
            threads: 0,
            connections_max: 10_000,
            hold_pool_bytes: 256 << 20,
            content_pool_bytes: 512 << 20,
            replace_bytes_max: 1 << 20,
            names_kept: Duration::from_secs(60),
            idle_servers_max: 256,
            idle_server_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(60),
            interception: Interception::default(),
            quarantine_directory: None,
            events: Destinations::default(),
            page: PageSettings::default(),
            events_waiting_max: 8192,
            stats_interval: Duration::from_secs(60),
        }
    }
}

/// What stands on the pages that people get in place of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSettings {
    /// Whose gateway it is.
    pub organisation: String,
    /// Whom to ask: an address of mail or of the web, or words.
    pub contact: String,
    /// The page they are made from; the gateway's own if not given.
    pub template: Option<PathBuf>,
}

/// Where EVE lines go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EventsTo {
    /// They are not written.
    #[default]
    Nowhere,
    /// To standard error.
    Stderr,
    /// Appended to a file, which is opened anew on SIGHUP.
    File(PathBuf),
}

/// What a listener speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaks {
    /// RFC 5321.
    Smtp,
    /// RFC 1939.
    Pop3,
    /// RFC 9112: a forward proxy, explicit or transparent, told apart by what arrives.
    Http,
}

impl Speaks {
    /// Its name in configuration and in words for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smtp => "smtp",
            Self::Pop3 => "pop3",
            Self::Http => "http",
        }
    }
}

/// How clients come to a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Intercept {
    /// They connect to its address.
    #[default]
    Explicit,
    /// nft `redirect`: the original destination is asked of the kernel.
    Redirect,
    /// nft `tproxy`: the socket's own address is the original destination, and the next hop is dialled from the
    /// client's address.
    Tproxy,
}

/// Where a listener's traffic goes on to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// `HOST:PORT`; the host is looked up at each dial.
    Address(String),
    /// The destination that the client meant: before it was intercepted, or, of a web request, the one that it names.
    Original,
    /// Mails are delivered into this maildir (SMTP only).
    Maildir(PathBuf),
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => f.write_str(address),
            Self::Original => f.write_str("original"),
            Self::Maildir(path) => write!(f, "maildir:{}", path.display()),
        }
    }
}

/// TLS towards clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// Not offered.
    #[default]
    Off,
    /// STARTTLS (STLS) is offered.
    Offered,
    /// STARTTLS (STLS) is offered, and nothing else is answered before it.
    Required,
    /// From the first byte (RFC 8314).
    Implicit,
}

/// A certificate chain and its key, in PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The chain, leaf first.
    pub chain: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// How TLS is intercepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interception {
    /// Where the authority is, and is made where it is missing.
    pub directory: PathBuf,
    /// An authority that is there already, in place of the one in the directory.
    pub authority: Option<Certificate>,
    /// The roots to check servers by.
    pub server_roots: Vec<PathBuf>,
    /// Hosts that are left alone, each with all below it.
    pub except: Vec<String>,
    /// Files with such, one a line.
    pub except_files: Vec<PathBuf>,
    /// What becomes of what is not HTTP under TLS: it cannot be looked into.
    pub other_protocols: Unseen,
    /// What becomes of a client that may hide whom it asks for, where nobody looks into its connection.
    pub ech: Unseen,
}

impl Default for Interception {
    fn default() -> Self {
        Self {
            directory: PathBuf::from(DEFAULT_AUTHORITY_DIRECTORY),
            authority: None,
            server_roots: vec![PathBuf::from(crate::tls::SYSTEM_ROOTS)],
            except: Vec::new(),
            except_files: Vec::new(),
            other_protocols: Unseen::Refuse,
            ech: Unseen::Pass,
        }
    }
}

/// What becomes of what nobody can look into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// It goes on as it is.
    Pass,
    /// It does not.
    Refuse,
}

/// TLS towards the next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextHopTls {
    /// Never.
    #[default]
    Off,
    /// Where the next hop offers it; its certificate is not checked, since whoever can change it could as well
    /// suppress the offer (RFC 7435).
    Opportunistic,
    /// Else the session is refused. The certificate is checked as `next_hop_tls_verify` says.
    Required,
    /// From the first byte; the certificate is checked as `next_hop_tls_verify` says.
    Implicit,
}

/// Whether the next hop must prove its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Its certificate must be valid for its name, by `next_hop_ca_file` or the system's roots.
    #[default]
    Name,
    /// Any certificate will do.
    Nothing,
}

/// How the next hop learns the client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAddress {
    /// XCLIENT where the next hop offers it, else XFORWARD, else not at all.
    #[default]
    Auto,
    /// XCLIENT; a next hop that does not offer it is not used.
    Xclient,
    /// XFORWARD; a next hop that does not offer it is not used.
    Xforward,
    /// A PROXY line, version 1, before anything else.
    ProxyV1,
    /// A PROXY header, version 2, before anything else.
    ProxyV2,
    /// It does not; the next hop sees the gateway's address.
    None,
}

/// Whether a thing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

impl Switch {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// One `[[listen]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name in events and policy.
    pub name: String,
    /// What it speaks.
    pub protocol: Speaks,
    /// Where it listens.
    pub address: SocketAddr,
    /// How clients come to it.
    pub intercept: Intercept,
    /// Where its traffic goes on to.
    pub next_hop: NextHop,
    /// TLS towards clients.
    pub tls: Tls,
    /// The certificate for it; required unless `tls` is off.
    pub certificate: Option<Certificate>,
    /// TLS towards the next hop.
    pub next_hop_tls: NextHopTls,
    /// Whether the next hop must prove its name.
    pub next_hop_tls_verify: Verify,
    /// The name it must prove; that of `next_hop` if not given.
    pub next_hop_tls_name: Option<String>,
    /// The roots to check it by; the system's if not given.
    pub next_hop_ca_file: Option<PathBuf>,
    /// How the next hop learns the client's address.
    pub client_address: ClientAddress,
    /// The only recipient domains that are accepted when the next hop does not learn the client's address and would
    /// take the gateway for a trusted client. In lower case; `*.example.org` stands for every subdomain.
    pub relay_domains: Vec<String>,
    /// Whose XCLIENT is believed.
    pub accept_xclient_from: Vec<Network>,
    /// Whose XFORWARD is believed.
    pub accept_xforward_from: Vec<Network>,
    /// Who must send a PROXY header (version 1 or 2), and is believed.
    pub accept_proxy_from: Vec<Network>,
    /// A mail of up to so many bytes is held whole until its verdict; what is longer streams.
    pub hold_bytes: u64,
    /// Of a longer one, the last so many bytes are always held (POP3, HTTP).
    pub tail_bytes: u64,
    /// Of a stream that says little at a time, how long they are held (HTTP).
    pub tail_time_max: Duration,
    /// The longest mail accepted; offered as SIZE.
    pub message_bytes_max: u64,
    /// Recipients in one mail.
    pub recipients_max: usize,
    /// Commands in one session.
    pub commands_max: usize,
    /// Commands in one session that are answered by 4yz or 5yz; then the session is closed with 421.
    pub errors_max: usize,
    /// Connections of one client address at once.
    pub connections_per_client_max: usize,
    /// Connections to the next hop at once; who comes after that gets 421.
    pub next_hop_connections_max: usize,
    /// Whether credentials received under TLS may go on in clear.
    pub plaintext_credentials_upstream: Switch,
    /// Whether a `Received` field is added to each mail (RFC 5321 section 4.4).
    pub trace_header: Switch,
    /// Whether CHUNKING is used towards a next hop that offers it.
    pub chunking: Switch,
    /// The file of those who may use it, if it is not for everybody (HTTP).
    pub users: Option<PathBuf>,
    /// What clients are told that they give a name and password for (HTTP).
    pub realm: String,
    /// The ports that CONNECT may lead to (HTTP).
    pub connect_ports: Vec<u16>,
    /// Hosts that may be asked for parts of their content (HTTP) …
    pub range_hosts: Hosts,
    /// … where it is of these types; of any, if there are none.
    pub range_types: Vec<String>,
    /// The protocols that a client and a server may change to (HTTP).
    pub upgrades: Vec<String>,
    /// Whether TLS is intercepted (HTTP).
    pub intercept_tls: Switch,
    /// The proxy behind this one, if there is one (HTTP).
    pub upstream: Option<Arc<Parent>>,
    /// Hosts that are gone to without it.
    pub no_upstream: Hosts,
    /// How long is waited for whom.
    pub timeouts: Timeouts,
}

impl Listener {
    /// A listener with every default.
    pub fn new(name: &str, protocol: Speaks, address: SocketAddr, next_hop: NextHop) -> Self {
        Self {
            name: name.to_owned(),
            protocol,
            address,
            intercept: Intercept::Explicit,
            next_hop,
            tls: Tls::Off,
            certificate: None,
            next_hop_tls: NextHopTls::Off,
            next_hop_tls_verify: Verify::Name,
            next_hop_tls_name: None,
            next_hop_ca_file: None,
            client_address: ClientAddress::Auto,
            relay_domains: Vec::new(),
            accept_xclient_from: Vec::new(),
            accept_xforward_from: Vec::new(),
            accept_proxy_from: Vec::new(),
            hold_bytes: 256 << 10,
            tail_bytes: 64 << 10,
            tail_time_max: Duration::from_millis(100),
            message_bytes_max: 50 << 20,
            recipients_max: 1000,
            commands_max: 10_000,
            errors_max: 20,
            connections_per_client_max: 100,
            next_hop_connections_max: 1000,
            plaintext_credentials_upstream: Switch::Off,
            trace_header: Switch::On,
            chunking: Switch::On,
            users: None,
            realm: String::from("Lockgate"),
            connect_ports: vec![443],
            range_hosts: Hosts::default(),
            range_types: Vec::new(),
            upgrades: vec!["websocket".to_owned()],
            intercept_tls: Switch::Off,
            upstream: None,
            no_upstream: Hosts::default(),
            timeouts: Timeouts::default(),
        }
    }
}

/// How long is waited before the other side is given up. Defaults are the least that RFC 5321 section 4.5.3.2 allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the next hop to accept the connection.
    pub connect: Duration,
    /// For the next hop's greeting (4.5.3.2.1).
    pub greeting: Duration,
    /// For a TLS handshake, on either side.
    pub handshake: Duration,
    /// For the client's next command (4.5.3.2.7).
    pub command: Duration,
    /// For the next hop's reply to a command (4.5.3.2.2, 4.5.3.2.3).
    pub reply: Duration,
    /// For the next hop's 354 (4.5.3.2.4).
    pub data_initiation: Duration,
    /// For the next bytes of content from the client, or for a write of content to go through (4.5.3.2.5).
    pub data_block: Duration,
    /// For the next hop's reply to the end of data (4.5.3.2.6).
    pub data_termination: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        const MINUTE: u64 = 60;
        Self {
            connect: Duration::from_secs(30),
            greeting: Duration::from_secs(5 * MINUTE),
            handshake: Duration::from_secs(30),
            command: Duration::from_secs(5 * MINUTE),
            reply: Duration::from_secs(5 * MINUTE),
            data_initiation: Duration::from_secs(2 * MINUTE),
            data_block: Duration::from_secs(3 * MINUTE),
            data_termination: Duration::from_secs(10 * MINUTE),
        }
    }
}

/// Where the embedded default configuration listens for HTTP: the port that Squid made a habit.
pub const DEFAULT_HTTP_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3128);
/// Where the embedded default configuration listens for SMTP.
pub const DEFAULT_SMTP_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2525);
/// Where the authority of intercepted TLS is: below the state directory of the systemd unit.
pub const DEFAULT_AUTHORITY_DIRECTORY: &str = "/var/lib/lockgate/authority";
