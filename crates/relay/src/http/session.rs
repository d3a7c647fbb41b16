//! What the exchanges of one client's connection share: [`Session`]. Rule: nothing of one exchange is kept here for the
//! next, but a connection to the server and what the engines know of the flow.

use super::origin::Origin;
use crate::drain::Phase;
use crate::listener::Visitor;
use crate::shared::Shared;
use lockgate_inspect::{Group, HoldPlan, Inspection, Root, Session as InspectSession};
use lockgate_model::{Flow, Protocol, Transaction};
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
        Self { shared, client, kept: RefCell::default(), inspect }
    }

    /// The next exchange begins, with what is loaded now.
    pub fn renew(&self) {
        let is_current = Arc::ptr_eq(self.inspect.borrow().generation(), &self.shared.generation.load());
        if !is_current {
            *self.inspect.borrow_mut() = open_inspection(&self.client, &self.shared);
        }
    }

    /// The group that judges.
    pub fn group(&self) -> Arc<Group> {
        Arc::clone(self.inspect.borrow().group_for(None))
    }

    /// A transaction begins.
    pub fn begin(&self, about: &Transaction, group: Arc<Group>, root: Root, plan: HoldPlan) -> Inspection {
        self.inspect.borrow_mut().begin(about, group, root, plan)
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
