//! A request's host and path → findings, for one transaction. Rule: what is on a list of exceptions is left alone to its end.

use crate::address::{Address, HOST_BYTES_MAX, URI_BYTES_MAX};
use crate::database::Database;
use crate::decision::{Decision, Outcome};
use crate::request::{HEADER_BYTES_MAX, Request};
use lockgate_model::{
    Buffer, Class, Flow, FlowState, Hit, Part, PartId, Scanner, Security, Sink, Transaction, Want,
};
use std::net::IpAddr;
use std::sync::Arc;

/// The longest media type that is looked up.
const TYPE_BYTES_MAX: usize = 256;

/// The longest method that is told from others.
const METHOD_BYTES_MAX: usize = 64;

/// One connection: lists keep nothing between transactions.
pub(crate) struct Connection {
    database: Arc<Database>,
    scheme: &'static str,
    client: IpAddr,
}

impl Connection {
    pub fn new(database: Arc<Database>, flow: &Flow) -> Self {
        let scheme = if flow.security == Security::Tls { "https" } else { "http" };
        Self { database, scheme, client: flow.client.ip() }
    }
}

impl FlowState for Connection {
    fn open(&mut self, _about: &Transaction) -> Box<dyn Scanner> {
        Box::new(Transmission {
            database: Arc::clone(&self.database),
            scheme: self.scheme,
            client: self.client,
            method: Vec::new(),
            header: Vec::new(),
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
    client: IpAddr,
    method: Vec<u8>,
    header: Vec<u8>,
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
            Buffer::HttpMethod => gather(&mut self.method, chunk, METHOD_BYTES_MAX),
            Buffer::HttpHeader => gather(&mut self.header, chunk, HEADER_BYTES_MAX),
            Buffer::HttpHost => gather(&mut self.host, chunk, HOST_BYTES_MAX),
            Buffer::HttpUri => gather(&mut self.uri, chunk, URI_BYTES_MAX),
            Buffer::HttpContentType => gather(&mut self.media_type, chunk, TYPE_BYTES_MAX),
            _ => Want::Done,
        }
    }

    fn end(&mut self, part: PartId, buffer: Buffer, sink: &mut dyn Sink) {
        match buffer {
            Buffer::HttpUri => {
                let is_tunnel = self.method == b"CONNECT";
                let scheme = if is_tunnel { "https" } else { self.scheme };
                let request = Request::new(scheme, &self.host, &std::mem::take(&mut self.uri))
                    .with_header(&std::mem::take(&mut self.header))
                    .through_tunnel(is_tunnel)
                    .by(self.client);
                let decision = self.database.judge(&request, self.database.now());
                self.outcome = decision.outcome;
                self.report(&decision, part, buffer, sink);
                self.address = Some(request.address);
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
