//! What engines are told of an input: a flow, a transaction, its one part. Rule: nothing that a target does not choose matters.

use lockgate_model::{
    Direction, FileType, Flow, Part, PartId, Protocol, Security, Transaction, TransactionId,
};
use std::net::SocketAddr;

/// A client's connection, in the clear.
pub fn flow(protocol: Protocol, client: SocketAddr) -> Flow {
    Flow { id: 1, protocol, security: Security::Clear, client, server: client, listener: String::new() }
}

/// One thing that comes through it.
pub fn transaction(direction: Direction) -> Transaction {
    Transaction {
        id: TransactionId(1),
        direction,
        group: "default".to_owned(),
        sender: None,
        recipients: Vec::new(),
        name: None,
        length: None,
    }
}

/// The part that all of it is.
pub fn part(detected: FileType) -> Part {
    Part { id: PartId::ROOT, parent: None, depth: 0, path: ".".into(), name: None, declared: None, detected }
}
