//! What is said on a flow: a [`Speech`] for each protocol. Rule: a protocol is read as it came, and what cannot be is said.

mod coding;
mod content;
mod http;
mod odd;

pub use coding::seen_as;
pub use http::Http;

use crate::eve::{Alarm, Eve};
use lockgate_eve::Object;
use lockgate_inspect::Session;
use lockgate_model::{Direction, Protocol};
use lockgate_packet::{Chunk, Flow};
use std::io::Write;

/// What is said on a flow, in the protocol it is said in.
pub enum Speech {
    /// HTTP.
    Http(Box<Http>),
    /// Nothing that is taken apart.
    Other,
}

/// Where a speech tells what it comes to.
pub struct Telling<'a, W> {
    /// Its flow.
    pub flow: &'a Flow,
    /// What rules have matched.
    pub alarms: &'a mut Vec<Alarm>,
    /// What is odd, as `app-layer-event` names it, and which way it went.
    pub odd: &'a mut Vec<(&'static str, Direction)>,
    /// Where events are written.
    pub eve: &'a mut Eve<W>,
}

impl Speech {
    /// A protocol that was recognised.
    pub fn new(protocol: Protocol, session: Session) -> Self {
        match protocol {
            Protocol::Http => Self::Http(Box::new(Http::new(session))),
            _ => Self::Other,
        }
    }

    /// The next bytes of a side.
    pub fn data<W: Write>(&mut self, chunk: Chunk<'_>, telling: &mut Telling<'_, W>) {
        match self {
            Self::Http(http) => http.data(chunk.direction, chunk.bytes, telling),
            Self::Other => {}
        }
    }

    /// Bytes of a side were missed.
    pub fn gap<W: Write>(&mut self, direction: Direction, bytes: u64, telling: &mut Telling<'_, W>) {
        match self {
            Self::Http(http) => http.gap(direction, bytes, telling),
            Self::Other => {}
        }
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        match self {
            Self::Http(http) => http.end(direction, telling),
            Self::Other => {}
        }
    }

    /// What is known of a transaction, for an alert.
    pub fn describe(&self, transaction: u64, event: &mut Object<'_>) {
        match self {
            Self::Http(http) => http.describe(transaction, event),
            Self::Other => {}
        }
    }

    /// What has been told needs to be known no longer.
    pub fn forget(&mut self) {
        match self {
            Self::Http(http) => http.forget(),
            Self::Other => {}
        }
    }
}
