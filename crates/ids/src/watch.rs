//! A connection on the wire: [`Watch`]. Rule: packets and streams are asked here; what protocols make of them, by transactions.

use crate::database::Database;
use crate::flow::{Connection, Facts};
use crate::memory::Memory;
use lockgate_model::{self as model, FlowState, Hit};
use lockgate_packet::{Chunk, Flow, Packet, Place};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

/// A rule that a packet has matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Which rule, and where.
    pub hit: Hit,
    /// In what it was found.
    pub found_in: FoundIn,
}

/// In what a rule was found that a packet has matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundIn {
    /// The packet itself.
    Packet,
    /// The stream that it belongs to.
    Stream,
}

/// One connection on the wire, or all packets that belong to none.
pub struct Watch {
    database: Arc<Database>,
    facts: Facts,
    memory: Arc<Mutex<Memory>>,
}

impl Watch {
    /// A flow begins.
    pub fn new(database: &Arc<Database>, flow: &Flow) -> Self {
        let client = SocketAddr::new(flow.client.address, flow.client.port);
        let server = SocketAddr::new(flow.server.address, flow.server.port);
        let protocol = model::Protocol::Unknown;
        let facts = Facts { id: flow.id, protocol, client, server: Some(server) };
        Self { database: Arc::clone(database), facts, memory: Arc::default() }
    }

    /// For packets that belong to no flow.
    pub fn stray(database: &Arc<Database>) -> Self {
        let nobody = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let protocol = model::Protocol::Unknown;
        let facts = Facts { id: 0, protocol, client: nobody, server: None };
        Self { database: Arc::clone(database), facts, memory: Arc::default() }
    }

    /// It is known now what is spoken, or it has changed. For the transactions of that protocol: what rules note of the flow
    /// is shared by them and the packets.
    pub fn speaks(&mut self, protocol: model::Protocol) -> Box<dyn FlowState> {
        self.facts.protocol = protocol;
        let (database, memory) = (Arc::clone(&self.database), Arc::clone(&self.memory));
        Box::new(Connection::sharing(database, self.facts, memory))
    }

    /// An event of the protocol, as `app-layer-event` names it (`http.missing_host_header`), before the packet that brought it.
    pub fn event(&mut self, _name: &str) {}

    /// Bytes of the stream, next in their order, before the packet that brought them.
    pub fn data(&mut self, _chunk: Chunk<'_>) {}

    /// A packet, behind all that it has brought.
    pub fn packet(&mut self, _packet: &Packet<'_>, _place: &Place<'_>, _tell: &mut dyn FnMut(Alert)) {}
}
