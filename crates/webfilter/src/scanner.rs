//! A request's host and path → findings, for one transaction. Rule: what is on a list of exceptions is left alone to its end.

use crate::address::{Address, HOST_BYTES_MAX, URI_BYTES_MAX};
use crate::database::Database;
use crate::decision::{Decision, Outcome};
use lockgate_model::{
    Buffer, Class, Flow, FlowState, Hit, Part, PartId, Scanner, Security, Sink, Transaction, Want,
};
use std::sync::Arc;

/// The longest media type that is looked up.
const TYPE_BYTES_MAX: usize = 256;

/// One connection: lists keep nothing between transactions.
pub(crate) struct Connection {
    database: Arc<Database>,
    scheme: &'static str,
}

impl Connection {
    pub fn new(database: Arc<Database>, flow: &Flow) -> Self {
        Self { database, scheme: if flow.security == Security::Tls { "https" } else { "http" } }
    }
}

impl FlowState for Connection {
    fn open(&mut self, _about: &Transaction) -> Box<dyn Scanner> {
        Box::new(Transmission {
            database: Arc::clone(&self.database),
            scheme: self.scheme,
            host: Vec::new(),
            uri: Vec::new(),
            media_type: Vec::new(),
            address: None,
            outcome: Outcome::NotListed,
        })
    }
}

/// One transaction.
struct Transmission {
    database: Arc<Database>,
    scheme: &'static str,
    host: Vec<u8>,
    uri: Vec<u8>,
    media_type: Vec<u8>,
    /// Known at the end of the path.
    address: Option<Address>,
    outcome: Outcome,
}

impl Transmission {
    fn report(&self, decision: &Decision, part: PartId, buffer: Buffer, sink: &mut dyn Sink) {
        if let Some(by) = decision.by.as_ref().filter(|_| decision.outcome == Outcome::Banned) {
            let (rule, name) = (by.rule().into(), Arc::clone(&by.category));
            sink.hit(Hit { class: Class::Web, rule, name, part, buffer, offset: None });
        }
    }
}

/// Takes as much as there is room for.
fn gather(into: &mut Vec<u8>, chunk: &[u8], bytes_max: usize) -> Want {
    let room = bytes_max - into.len().min(bytes_max);
    into.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
    if into.len() < bytes_max { Want::More } else { Want::Done }
}

impl Scanner for Transmission {
    fn open(&mut self, _part: &Part) -> Want {
        Want::Done
    }

    fn push(&mut self, _part: PartId, buffer: Buffer, chunk: &[u8], _sink: &mut dyn Sink) -> Want {
        match buffer {
            Buffer::HttpHost => gather(&mut self.host, chunk, HOST_BYTES_MAX),
            Buffer::HttpUri => gather(&mut self.uri, chunk, URI_BYTES_MAX),
            Buffer::HttpContentType => gather(&mut self.media_type, chunk, TYPE_BYTES_MAX),
            _ => Want::Done,
        }
    }

    fn end(&mut self, part: PartId, buffer: Buffer, sink: &mut dyn Sink) {
        match buffer {
            Buffer::HttpUri => {
                let address = Address::new(self.scheme, &self.host, &std::mem::take(&mut self.uri));
                let decision = self.database.decide(&address, self.database.now());
                self.outcome = decision.outcome;
                self.report(&decision, part, buffer, sink);
                self.address = Some(address);
            }
            Buffer::HttpContentType if self.outcome != Outcome::Exception => {
                let media_type = std::mem::take(&mut self.media_type);
                let Some(address) = &self.address else { return };
                let media_type = String::from_utf8_lossy(&media_type).to_ascii_lowercase();
                let decision = self.database.decide_type(address, &media_type, self.database.now());
                self.report(&decision, part, buffer, sink);
            }
            _ => {}
        }
    }

    fn close(&mut self, _part: PartId, _sink: &mut dyn Sink) {}

    fn finish(&mut self, _sink: &mut dyn Sink) {}
}
