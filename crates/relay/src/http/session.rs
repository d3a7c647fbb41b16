//! What the exchanges of one client's connection share: [`Session`]. Rule: nothing of one exchange is kept here for the
//! next, but a connection to the server and what the engines know of the flow.

use super::admission::Guest;
use super::asked::{Asked, Goal, Method};
use super::http2::Streams;
use super::origin::Origin;
use super::page::About;
use super::pool;
use super::site::Site;
use crate::drain::Phase;
use crate::events::access::{Ending, Server};
use crate::events::{self, Passage, Visit};
use crate::listener::Visitor;
use crate::settings::Intercept;
use crate::shared::Shared;
use lockgate_inspect::{Group, HoldPlan, Inspection, Root, Session as InspectSession};
use lockgate_model::{Direction, Flow, Pool, Protocol, Rewriter, Security, Transaction, TransactionId};
use lockgate_proto::http::Scheme;
use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

/// One client's connection, whatever is spoken on it.
pub struct Session {
    /// What all sessions share.
    pub shared: Arc<Shared>,
    /// The client.
    pub client: Visitor,
    /// Connections to servers that are this client's alone, for its next requests; the newest comes last.
    kept: RefCell<VecDeque<Box<Origin>>>,
    /// The connection by which exchanges go beside one another, where the server speaks HTTP/2.
    streams: RefCell<Option<Rc<Streams>>>,
    /// Held while such a connection is made, so that requests that come together make one.
    connecting: Mutex<()>,
    /// A connection to the site that was made before there was a request for it.
    ahead: RefCell<Option<Box<Origin>>>,
    /// The engines' state for the connection.
    inspect: RefCell<InspectSession>,
    /// What the client's side is under.
    security: Cell<Security>,
    /// The one site that requests go to, where TLS is intercepted.
    site: OnceCell<Site>,
    /// Who all requests of the connection are from, where that is settled: a client that is intercepted, or what comes out of
    /// its tunnel, is not asked again.
    settled: RefCell<Option<Option<Arc<str>>>>,
}

/// How an exchange ended, for the access log.
#[derive(Clone, Copy, Debug)]
pub struct VisitEnd<'a> {
    /// In one word.
    pub ending: Ending,
    /// The status that the client was given, 0 for none.
    pub status: u16,
    /// Bytes of content that went to the client.
    pub bytes: u64,
    /// The server, where there was one.
    pub server: Option<Server>,
    /// The response's type.
    pub content_type: Option<&'a str>,
}

/// Whether a request may be sent once more by another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// It may (RFC 9110 section 9.2.2).
    Yes,
    /// It may not.
    No,
}

/// Connections that are kept for one client at most.
const KEPT_MAX: usize = 4;

/// Why a session, or what is left of an exchange, is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its last response has been said.
    Said,
    /// The client is gone, silent or does not read.
    Client,
    /// The response under way is broken off, and the client must know that it is.
    BreakOff,
    /// In clear: TLS has begun, and the connection goes on within it.
    Secured,
}

impl Session {
    /// A client, let in.
    pub fn new(client: Visitor, shared: Arc<Shared>) -> Self {
        let security = Security::Clear;
        let inspect = RefCell::new(open_inspection(&client, &shared, security));
        let settled = RefCell::new(client.is_intercepted.then_some(None));
        Self {
            shared,
            client,
            kept: RefCell::default(),
            streams: RefCell::default(),
            connecting: Mutex::default(),
            ahead: RefCell::default(),
            inspect,
            security: Cell::new(security),
            site: OnceCell::new(),
            settled,
        }
    }

    /// The next exchange begins, with what is loaded now.
    pub fn renew(&self) {
        let is_current = Arc::ptr_eq(self.inspect.borrow().generation(), &self.shared.generation.load());
        if !is_current {
            *self.inspect.borrow_mut() = open_inspection(&self.client, &self.shared, self.security.get());
        }
    }

    /// From here on the client is under TLS, or wants to be.
    pub fn secure(&self) {
        self.security.set(Security::Tls);
        *self.inspect.borrow_mut() = open_inspection(&self.client, &self.shared, Security::Tls);
    }

    /// From here on all requests go to one site.
    pub fn enter(&self, site: Site) {
        // A connection is entered once: within it there is no CONNECT.
        let _ = self.site.set(site);
    }

    /// The one site that requests go to, where TLS is intercepted.
    pub fn site(&self) -> Option<&Site> {
        self.site.get()
    }

    /// Writes down what became of TLS that came.
    pub fn note_tls(&self, host: &str, port: u16, passage: Passage, why: &str) {
        let tls = events::Tls { host, port, passage, why };
        self.shared.events.load().tls(&self.flow(), &tls);
    }

    /// The group that judges what a user does, or who is not known.
    pub fn group_for(&self, user: Option<&str>) -> Arc<Group> {
        Arc::clone(self.inspect.borrow().group_for_user(user))
    }

    /// Who all requests of the connection are from, where that is settled.
    pub fn settled(&self) -> Option<Option<Arc<str>>> {
        self.settled.borrow().clone()
    }

    /// From here on all requests are from this user: they come out of the tunnel that he asked for.
    pub fn settle(&self, user: Option<Arc<str>>) {
        self.settled.replace(Some(user));
    }

    /// What stands on a page besides its own words; `asked` where a request was understood.
    pub fn about(&self, asked: Option<&Asked>, id: TransactionId) -> About {
        About {
            address: asked.map(Asked::address).unwrap_or_default(),
            id,
            settings: self.shared.settings.load_full(),
            template: self.shared.template.load_full(),
            language: asked.map(|asked| asked.language).unwrap_or_default(),
            bypass: None,
            is_head: asked.is_some_and(|asked| asked.method == Method::Head),
            closes: true,
        }
    }

    /// Writes a line of the access log about what was no request.
    pub fn visit_of_nothing(&self, end: &VisitEnd<'_>) {
        self.shared.events.load().visit(&Visit {
            took: Duration::ZERO,
            client: self.client.client.ip(),
            ending: end.ending,
            status: end.status,
            bytes: end.bytes,
            method: "",
            // Squid's words.
            url: "error:invalid-request",
            user: None,
            server: None,
            content_type: end.content_type,
        });
    }

    /// Writes a line of the access log.
    pub fn visit(&self, asked: &Asked, guest: Option<&Guest>, end: &VisitEnd<'_>) {
        let events = self.shared.events.load();
        if !events.has_access_log() {
            return;
        }
        let (address, user) = (asked.address(), guest.and_then(|guest| guest.user.as_deref()));
        events.visit(&Visit {
            took: asked.begun.elapsed(),
            client: self.client.client.ip(),
            ending: end.ending,
            status: end.status,
            bytes: end.bytes,
            method: asked.method_name(),
            url: &address,
            user,
            server: end.server,
            content_type: end.content_type,
        });
    }

    /// A transaction towards a server, that is to bear this name.
    pub fn transaction(&self, id: TransactionId, group: &Group) -> Transaction {
        Transaction {
            id,
            direction: Direction::ToServer,
            group: group.name.clone(),
            sender: None,
            recipients: Vec::new(),
            name: None,
            length: None,
        }
    }

    /// A transaction begins.
    pub fn begin(&self, about: &Transaction, group: Arc<Group>, root: Root, plan: HoldPlan) -> Inspection {
        self.inspect.borrow_mut().begin(about, group, root, plan)
    }

    /// What the group's lists change.
    pub fn rewriter(&self, group: &Group) -> Option<Arc<dyn Rewriter>> {
        self.inspect.borrow().rewriter(group)
    }

    /// What content that waits is drawn from.
    pub fn pool(&self) -> Arc<Pool> {
        Arc::clone(&self.inspect.borrow().pools().hold)
    }

    /// The connection, for events.
    pub fn flow(&self) -> Ref<'_, Flow> {
        Ref::map(self.inspect.borrow(), InspectSession::flow)
    }

    /// Takes a connection to the host that was kept for this client, or for anybody. What may not be sent twice goes by
    /// none that others use, since the server may be about to close it.
    pub fn take_kept(&self, goal: &Goal<'_>, repeats: Repeats) -> Option<Box<Origin>> {
        let mut kept = self.kept.borrow_mut();
        let fits = |origin: &Origin| repeats == Repeats::Yes || origin.is_pinned();
        let own = kept.iter().rposition(|origin| origin.leads_to(goal) && fits(origin));
        if let Some(mut origin) = own.and_then(|at| kept.remove(at)) {
            // One that is this client's and was closed is not looked for elsewhere: nobody else has it.
            origin.is_used &= repeats == Repeats::Yes;
            return origin.is_at_rest().then_some(origin);
        }
        if repeats == Repeats::No || self.has_own_connections() || goal.scheme == Scheme::Https {
            return None;
        }
        pool::take(&self.client.gate, goal.host, goal.port, |origin| {
            origin.is_at_rest() && origin.is_for(self)
        })
    }

    /// Keeps a connection for the next request.
    pub fn keep(&self, origin: Box<Origin>) {
        let settings = self.shared.settings.load();
        if origin.is_pinned() || origin.is_secure() || self.has_own_connections() {
            let mut kept = self.kept.borrow_mut();
            if kept.len() >= KEPT_MAX {
                kept.pop_front();
            }
            kept.push_back(origin);
        } else {
            pool::put(&self.client.gate, origin, settings.idle_server_timeout, settings.idle_servers_max);
        }
    }

    /// Whether its connections to servers are for nobody else: they come from the client's address, or are under TLS.
    fn has_own_connections(&self) -> bool {
        self.client.gate.settings.intercept == Intercept::Tproxy || self.site().is_some()
    }

    /// Closes what was kept for this client.
    pub fn drop_kept(&self) {
        self.kept.borrow_mut().clear();
    }

    /// The connection that is shared by requests to the host, as long as it lasts.
    pub fn streams(&self, goal: &Goal<'_>) -> Option<Rc<Streams>> {
        self.streams.borrow().as_ref().filter(|streams| streams.is_fit_for(goal)).map(Rc::clone)
    }

    /// Keeps a connection that nothing went by yet.
    pub fn keep_ahead(&self, origin: Origin) {
        self.ahead.replace(Some(Box::new(origin)));
    }

    /// Takes it, if it leads there and is still open.
    pub fn take_ahead(&self, goal: &Goal<'_>) -> Option<Origin> {
        let mut origin = self.ahead.take().filter(|origin| origin.leads_to(goal))?;
        origin.is_at_rest().then_some(*origin)
    }

    /// Waits for a connection to be made that can be shared, and keeps others waiting until the guard is dropped.
    pub async fn connecting(&self) -> MutexGuard<'_, ()> {
        self.connecting.lock().await
    }

    /// Shares a connection with the requests to come.
    pub fn share(&self, streams: Rc<Streams>) {
        self.streams.replace(Some(streams));
    }

    /// Whether no more than what was begun is to be done.
    pub fn is_draining(&self) -> bool {
        self.shared.drain.phase() > Phase::Serving
    }
}

fn open_inspection(client: &Visitor, shared: &Shared, security: Security) -> InspectSession {
    client.open_secure_inspection(Protocol::Http, security, client.client, shared)
}

/// The client's connection broke.
pub fn client_gone(_: io::Error) -> Over {
    Over::Client
}
