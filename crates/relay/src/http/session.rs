//! What the exchanges of one client's connection share: [`Session`]. Rule: nothing of one exchange is kept here for the
//! next, but a connection to the server and what the engines know of the flow.

use super::admission::Guest;
use super::asked::{Asked, Method};
use super::origin::Origin;
use super::page::About;
use crate::drain::Phase;
use crate::events::Visit;
use crate::events::access::{Ending, Server};
use crate::listener::Visitor;
use crate::shared::Shared;
use lockgate_inspect::{Group, HoldPlan, Inspection, Root, Session as InspectSession};
use lockgate_model::{Flow, Pool, Protocol, Rewriter, Transaction, TransactionId};
use std::cell::{Ref, RefCell};
use std::io;
use std::sync::Arc;

/// One client's connection, whatever is spoken on it.
pub struct Session {
    /// What all sessions share.
    pub shared: Arc<Shared>,
    /// The client.
    pub client: Visitor,
    /// The connection to the origin of the last request, for the next one to the same.
    kept: RefCell<Option<Box<Origin>>>,
    /// The engines' state for the connection.
    inspect: RefCell<InspectSession>,
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

/// Why a session, or what is left of an exchange, is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its last response has been said.
    Said,
    /// The client is gone, silent or does not read.
    Client,
    /// The response under way is broken off, and the client must know that it is.
    BreakOff,
}

impl Session {
    /// A client, let in.
    pub fn new(client: Visitor, shared: Arc<Shared>) -> Self {
        let inspect = RefCell::new(open_inspection(&client, &shared));
        let settled = RefCell::new(client.is_intercepted.then_some(None));
        Self { shared, client, kept: RefCell::default(), inspect, settled }
    }

    /// The next exchange begins, with what is loaded now.
    pub fn renew(&self) {
        let is_current = Arc::ptr_eq(self.inspect.borrow().generation(), &self.shared.generation.load());
        if !is_current {
            *self.inspect.borrow_mut() = open_inspection(&self.client, &self.shared);
        }
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

    /// Writes a line of the access log.
    pub fn visit(&self, asked: &Asked, guest: Option<&Guest>, end: &VisitEnd<'_>) {
        let (address, user) = (asked.address(), guest.and_then(|guest| guest.user.as_deref()));
        self.shared.events.load().visit(&Visit {
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

    /// Takes the connection that was kept.
    pub fn take_kept(&self) -> Option<Box<Origin>> {
        self.kept.take()
    }

    /// Keeps a connection for the next request.
    pub fn keep(&self, origin: Box<Origin>) {
        self.kept.replace(Some(origin));
    }

    /// Whether no more than what was begun is to be done.
    pub fn is_draining(&self) -> bool {
        self.shared.drain.phase() > Phase::Serving
    }
}

fn open_inspection(client: &Visitor, shared: &Shared) -> InspectSession {
    client.open_inspection(Protocol::Http, client.client, shared)
}

/// The client's connection broke.
pub fn client_gone(_: io::Error) -> Over {
    Over::Client
}
