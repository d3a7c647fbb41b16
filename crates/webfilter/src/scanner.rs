//! A request's host and path → findings, for one transaction. Rule: what is on a list of exceptions is left alone to its end.

use crate::address::{Address, HOST_BYTES_MAX, URI_BYTES_MAX};
use crate::content_type::ContentType;
use crate::database::Database;
use crate::decision::{Decision, Outcome};
use crate::earlier::{Earlier, Said};
use crate::phrases::{self, Page, Told};
use crate::request::{HEADER_BYTES_MAX, Request};
use lockgate_model::{
    Buffer, Class, Direction, FileType, Flow, FlowState, Hit, Part, PartId, Points, PointsTerm, Scanner,
    Security, Sink, Transaction, TransactionId, Want,
};
use std::net::IpAddr;
use std::sync::Arc;

/// The longest media type that is looked up.
const TYPE_BYTES_MAX: usize = 256;
/// How many phrases of a page are told.
const TERMS_MAX: usize = 64;

/// The longest method that is told from others.
const METHOD_BYTES_MAX: usize = 64;

/// One connection: lists keep nothing between transactions but what they said of a request, for its answer.
pub(crate) struct Connection {
    database: Arc<Database>,
    scheme: &'static str,
    client: IpAddr,
    earlier: Earlier,
}

impl Connection {
    pub fn new(database: Arc<Database>, flow: &Flow) -> Self {
        let scheme = if flow.security == Security::Tls { "https" } else { "http" };
        Self { database, scheme, client: flow.client.ip(), earlier: Earlier::default() }
    }
}

impl FlowState for Connection {
    fn open(&mut self, about: &Transaction) -> Box<dyn Scanner> {
        Box::new(Transmission {
            database: Arc::clone(&self.database),
            scheme: self.scheme,
            client: self.client,
            earlier: self.earlier.clone(),
            id: about.id,
            direction: about.direction,
            method: Vec::new(),
            header: Vec::new(),
            host: Vec::new(),
            uri: Vec::new(),
            media_type: Vec::new(),
            address: None,
            outcome: Outcome::NotListed,
            has_text: HasText::No,
            charset: None,
            root: None,
            page: None,
        })
    }
}

/// One transaction.
struct Transmission {
    database: Arc<Database>,
    scheme: &'static str,
    client: IpAddr,
    earlier: Earlier,
    id: TransactionId,
    direction: Direction,
    method: Vec<u8>,
    header: Vec<u8>,
    host: Vec<u8>,
    uri: Vec<u8>,
    media_type: Vec<u8>,
    /// Known at the end of the path.
    address: Option<Address>,
    outcome: Outcome,
    has_text: HasText,
    /// What the server says that the content is written in.
    charset: Option<String>,
    /// The way to the content itself; what is left of its coding has the same.
    root: Option<Arc<str>>,
    page: Option<(PartId, Page)>,
}

/// Whether the content is text, as far as its server says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HasText {
    No,
    Yes,
    /// Its server says nothing.
    Perhaps,
}

impl Transmission {
    /// What the lists say of the request; of what answers it they have said so already.
    fn decide(&mut self, uri: &[u8]) -> (Address, Decision) {
        let is_answer = self.direction == Direction::ToClient;
        let said = is_answer.then(|| self.earlier.take(self.id, &self.host, uri)).flatten();
        said.unwrap_or_else(|| {
            let is_tunnel = self.method == b"CONNECT";
            let scheme = if is_tunnel { "https" } else { self.scheme };
            let request = Request::new(scheme, &self.host, uri)
                .with_header(&std::mem::take(&mut self.header))
                .through_tunnel(is_tunnel)
                .by(self.client);
            let decision = self.database.judge(&request, self.database.now());
            (request.address, decision)
        })
    }

    /// The page has come to its end, or to that of what is read of it.
    fn score(&mut self, part: PartId, sink: &mut dyn Sink) {
        let Some((_, page)) = self.page.take_if(|(page, _)| *page == part) else { return };
        let score = self.database.score_of(page, self.database.now(), Told::IfUnwanted);
        let term = |term: &phrases::Term| PointsTerm {
            name: (&*term.phrase).into(),
            points: term.points.map(i64::from),
            times: term.times,
            rule: term.rule().into(),
        };
        let terms = score.terms.iter().take(TERMS_MAX).map(term).collect();
        sink.points(Points { sum: score.points, max: score.points_max.into(), terms });
        if let Some(by) = score.deciding() {
            let (rule, name, buffer) = (by.rule().into(), Arc::clone(&by.category), Buffer::FileData);
            sink.hit(Hit { class: Class::Web, rule, name, part, buffer, offset: None });
        }
    }

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
    fn open(&mut self, part: &Part) -> Want {
        let root = self.root.get_or_insert_with(|| Arc::clone(&part.path));
        let is_page = *root == part.path
            && (part.parent.is_none() || part.parent == self.page.as_ref().map(|(id, _)| *id));
        let is_text = match self.has_text {
            HasText::No => false,
            HasText::Yes => true,
            HasText::Perhaps => matches!(part.detected, FileType::Text | FileType::Html),
        };
        if !is_page || !is_text || self.outcome == Outcome::Exception {
            return Want::Done;
        }
        self.page =
            Some((part.id, Page::new(self.database.phrases(), self.charset.as_deref().map(str::as_bytes))));
        Want::More
    }

    fn push(&mut self, part: PartId, buffer: Buffer, chunk: &[u8], sink: &mut dyn Sink) -> Want {
        match buffer {
            Buffer::FileData => {
                let Some((_, page)) = self.page.as_mut().filter(|(page, _)| *page == part) else {
                    return Want::Done;
                };
                if page.push(self.database.phrases(), chunk) {
                    return Want::More;
                }
                self.score(part, sink);
                Want::Done
            }
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
                let uri = std::mem::take(&mut self.uri);
                let (address, decision) = self.decide(&uri);
                self.outcome = decision.outcome;
                self.report(&decision, part, buffer, sink);
                self.address = Some(address.clone());
                if self.direction == Direction::ToServer {
                    let (id, host) = (self.id, std::mem::take(&mut self.host));
                    self.earlier.keep(Said { id, host, uri, address, decision });
                }
            }
            Buffer::FileData => self.score(part, sink),
            Buffer::HttpContentType if self.outcome != Outcome::Exception => {
                let content_type = std::mem::take(&mut self.media_type);
                let Some(address) = &self.address else { return };
                let content_type = ContentType::parse(&String::from_utf8_lossy(&content_type));
                let ContentType { media_type, charset } = content_type;
                self.charset = charset;
                self.has_text = match &*media_type {
                    _ if self.database.phrases().is_empty() => HasText::No,
                    "" => HasText::Perhaps,
                    "application/xhtml+xml" => HasText::Yes,
                    other if other.starts_with("text/") => HasText::Yes,
                    _ => HasText::No,
                };
                let decision = self.database.decide_type(address, &media_type, self.database.now());
                self.report(&decision, part, buffer, sink);
            }
            _ => {}
        }
    }

    fn close(&mut self, _part: PartId, _sink: &mut dyn Sink) {}

    fn finish(&mut self, _sink: &mut dyn Sink) {}
}
