//! HTTP as it came (RFC 9112): [`Http`] pairs requests with responses. Rule: what the engines are told are the bytes on the wire,
//! not what a proxy would make of them.

use super::coding::seen_as;
use super::content::{Content, Envelope, Inspector};
use super::doubt::{Doubt, is_oddly_coded};
use super::exchange::{Exchange, file_name, host_of};
use super::side::{Doubts, Side};
use super::{Telling, Turn, odd};
use lockgate_eve::Object;
use lockgate_inspect::Root;
use lockgate_model::{Buffer, Direction, Reason};
use lockgate_proto::http::{
    Disposition, Eof, Frame, Limits, RequestHead, RequestReader, ResponseHead, ResponseReader,
};
use std::collections::VecDeque;
use std::io::Write;
use std::net::IpAddr;

/// How many requests may wait for their responses.
const EXCHANGES_MAX: usize = 256;
/// More codings than these, one in the other, are odd.
const LAYERS_USUAL: usize = 2;

/// One connection.
pub struct Http {
    inspector: Inspector,
    requests: RequestReader,
    responses: ResponseReader,
    to_server: Side,
    to_client: Side,
    exchanges: VecDeque<Exchange>,
    /// The number of the first of them.
    first: u64,
    turn: Turn,
}

impl Http {
    /// Nothing has been said yet.
    pub fn new(inspector: Inspector) -> Self {
        Self {
            inspector,
            requests: RequestReader::new(Disposition::Passive, Limits::default()),
            responses: ResponseReader::new(Disposition::Passive, Limits::default()),
            to_server: Side::new(Direction::ToServer),
            to_client: Side::new(Direction::ToClient),
            exchanges: VecDeque::new(),
            first: 0,
            turn: Turn::Stays,
        }
    }

    /// The next bytes of a side. Says whether they change what is spoken.
    pub fn data<W: Write>(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        telling: &mut Telling<'_, W>,
    ) -> Turn {
        match direction {
            Direction::ToServer => self.request(bytes, telling),
            Direction::ToClient => self.response(bytes, telling),
        }
        self.turn
    }

    fn request<W: Write>(&mut self, mut bytes: &[u8], telling: &mut Telling<'_, W>) {
        while !self.to_server.is_lost {
            let step = self.requests.step(bytes);
            let (used, rest) = bytes.split_at(step.consumed.min(bytes.len()));
            bytes = rest;
            self.to_server.follow(used, telling);
            match step.frame {
                Frame::NeedInput => return,
                Frame::Head(head, _) => self.request_head(&head, telling),
                Frame::Body(content) => self.to_server.push(content, telling),
                Frame::Trailers(_) => {}
                Frame::End => {
                    self.odd_request(telling);
                    self.to_server.finish(None, telling);
                    (self.to_server.at, self.to_server.odd_told) = (self.to_server.at + 1, 0);
                }
                Frame::Refused(_) => self.to_server.lose(Reason::Damaged, telling),
            }
        }
    }

    fn request_head<W: Write>(&mut self, head: &RequestHead, telling: &mut Telling<'_, W>) {
        let at = self.to_server.at;
        let raw = self.to_server.head();
        let (line, lines) = split_head(&raw);
        self.odd_request(telling);
        let mut name = None;
        if let Some(exchange) = self.exchange(at) {
            exchange.asks(head);
            name = file_name(&head.fields, &exchange.url);
        }
        if head.fields.list("content-encoding").count() > LAYERS_USUAL {
            telling.odd.push(("http.too_many_encoding_layers", Direction::ToServer));
        }
        let root = seen_as(&head.fields);
        let envelope = Envelope { name, ..Envelope::default() };
        let mut content = Content::begin(&mut self.inspector, root, at, Direction::ToServer, envelope);
        content.about(Buffer::HttpMethod, &head.method);
        if let Some((host, _)) = host_of(head) {
            content.about(Buffer::HttpHost, host.as_bytes());
        }
        if let Some(user_agent) = head.fields.get("user-agent") {
            content.about(Buffer::HttpUserAgent, user_agent);
        }
        content.about(Buffer::HttpRequestLine, line);
        content.about(Buffer::HttpHeader, lines);
        content.about(Buffer::HttpUri, line.split(|byte| *byte == b' ').nth(1).unwrap_or_default());
        self.to_server.begin(content, telling);
    }

    /// What is odd about the request, as far as it has not been told.
    fn odd_request<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        let told = std::mem::replace(&mut self.to_server.odd_told, self.requests.quirks().len());
        let new = self.requests.quirks().iter().skip(told).filter_map(|quirk| odd::of_request(*quirk));
        telling.odd.extend(new.map(|name| (name, Direction::ToServer)));
    }

    /// The same of the response.
    fn odd_response<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        let told = std::mem::replace(&mut self.to_client.odd_told, self.responses.quirks().len());
        let new = self.responses.quirks().iter().skip(told).filter_map(|quirk| odd::of_response(*quirk));
        telling.odd.extend(new.map(|name| (name, Direction::ToClient)));
    }

    /// Of a head that never ends, what has come is told all the same.
    fn begun_request<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        let raw = self.to_server.head();
        if raw.is_empty() || self.to_server.is_within() || self.to_server.is_lost {
            return;
        }
        let (at, way) = (self.to_server.at, Direction::ToServer);
        let mut content = Content::begin(&mut self.inspector, Root::File, at, way, Envelope::default());
        let (line, lines) = split_head(&raw);
        content.about(Buffer::HttpRequestLine, line);
        content.about(Buffer::HttpHeader, lines);
        self.to_server.begin(content, telling);
    }

    fn response<W: Write>(&mut self, mut bytes: &[u8], telling: &mut Telling<'_, W>) {
        while !self.to_client.is_lost {
            if let Some(first) = bytes.first().filter(|_| !self.responses.has_begun()) {
                self.begin_response(*first, telling);
            }
            if let Doubts::Surplus(_) = self.to_client.doubts {
                return self.to_client.follow(bytes, telling);
            }
            let step = self.responses.step(bytes);
            let (used, rest) = bytes.split_at(step.consumed.min(bytes.len()));
            bytes = rest;
            self.to_client.follow(used, telling);
            match step.frame {
                Frame::NeedInput => return,
                Frame::Head(head, _) => self.response_head(&head, telling),
                Frame::Body(content) => self.to_client.push(content, telling),
                Frame::Trailers(_) => {}
                Frame::End => self.response_ends(None, telling),
                Frame::Refused(_) => self.to_client.lose(Reason::Damaged, telling),
            }
        }
    }

    /// A response begins with this byte, or the one before was not over for all readers.
    fn begin_response<W: Write>(&mut self, first: u8, telling: &mut Telling<'_, W>) {
        let side = &mut self.to_client;
        side.doubts = match std::mem::take(&mut side.doubts) {
            Doubts::Behind(doubt) if matches!(first, b'H' | b'h') => {
                side.doubts = Doubts::Behind(doubt);
                side.settle(None, telling);
                Doubts::None
            }
            Doubts::Behind(doubt) | Doubts::Surplus(doubt) => Doubts::Surplus(doubt),
            // HTTP/0.9 has no head; others send something before it.
            Doubts::None if !matches!(first, b'H' | b'h' | b'\r' | b'\n') => {
                Doubts::Before(Doubt::of(&mut self.inspector, b"", side.at))
            }
            other => other,
        };
        let at = side.at.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        let asked = at.and_then(|at| self.exchanges.get(at)).filter(|exchange| exchange.has_request);
        self.responses.expect(asked.map_or(b"GET", |exchange| exchange.method.as_bytes()));
    }

    fn response_head<W: Write>(&mut self, head: &ResponseHead, telling: &mut Telling<'_, W>) {
        let at = self.to_client.at;
        let raw = self.to_client.head();
        let (line, lines) = split_head(&raw);
        self.odd_response(telling);
        if head.fields.list("content-encoding").count() > LAYERS_USUAL {
            telling.odd.push(("http.too_many_encoding_layers", Direction::ToClient));
        }
        let mut name = None;
        if let Some(exchange) = self.exchange(at) {
            exchange.answers(head);
            name = file_name(&head.fields, &exchange.url);
            if exchange.method == "CONNECT" && (200..300).contains(&head.status) {
                self.turn = Turn::Begins;
            }
        }
        let root = seen_as(&head.fields);
        let envelope = Envelope { name, ..Envelope::default() };
        let mut content = Content::begin(&mut self.inspector, root, at, Direction::ToClient, envelope);
        content.about(Buffer::HttpResponseLine, line);
        content.about(Buffer::HttpResponseHeader, lines);
        if let Some(content_type) = head.fields.get("content-type") {
            content.about(Buffer::HttpContentType, content_type);
        }
        self.to_client.begin(content, telling);
        if !self.responses.quirks().is_empty() || is_oddly_coded(&head.fields) {
            self.to_client.doubts = Doubts::Behind(Doubt::of(&mut self.inspector, &raw, at));
        }
    }

    /// A response has ended, or nothing more will be seen of it.
    fn response_ends<W: Write>(&mut self, cut: Option<Reason>, telling: &mut Telling<'_, W>) {
        self.odd_response(telling);
        self.to_client.odd_told = 0;
        let at = self.to_client.at;
        let length = self.to_client.finish(cut, telling).unwrap_or(0);
        let Some(exchange) = self.exchange(at) else { return };
        if exchange.status.is_some_and(|status| status < 200) {
            return;
        }
        exchange.length = length;
        exchange.is_over = true;
        self.to_client.at += 1;
        self.log(at, telling);
    }

    /// The exchange of that number, which may begin with it.
    fn exchange(&mut self, at: u64) -> Option<&mut Exchange> {
        while self.first + (self.exchanges.len() as u64) <= at {
            if self.exchanges.len() >= EXCHANGES_MAX {
                self.exchanges.pop_front();
                self.first += 1;
            }
            self.exchanges.push_back(Exchange::default());
        }
        let index = usize::try_from(at.checked_sub(self.first)?).ok()?;
        self.exchanges.get_mut(index)
    }

    /// Bytes of a side were missed.
    pub fn gap<W: Write>(&mut self, direction: Direction, _bytes: u64, telling: &mut Telling<'_, W>) {
        match direction {
            Direction::ToServer => self.to_server.lose(Reason::Partial, telling),
            Direction::ToClient => self.to_client.lose(Reason::Partial, telling),
        }
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        match direction {
            Direction::ToServer => {
                self.begun_request(telling);
                self.to_server.finish(Some(Reason::Truncated), telling);
            }
            Direction::ToClient => {
                if self.to_client.is_within() {
                    let cut = (self.responses.eof() == Eof::Truncated).then_some(Reason::Truncated);
                    self.response_ends(cut, telling);
                }
                self.to_client.settle(None, telling);
            }
        }
    }

    fn log<W: Write>(&mut self, at: u64, telling: &mut Telling<'_, W>) {
        if !telling.eve.wants_all() {
            return;
        }
        let ends = crate::eve::Ends::of_flow(telling.flow, Direction::ToServer);
        telling.eve.event("http", &ends, Some(telling.flow), None, |event| {
            event.number("tx_id", at);
            event.text("app_proto", "http");
            self.describe(at, event);
        });
    }

    /// What is known of an exchange.
    pub fn describe(&self, at: u64, event: &mut Object<'_>) {
        let index = at.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let Some(exchange) = index.and_then(|index| self.exchanges.get(index)) else { return };
        let is_at_hand = at == self.to_client.at && !exchange.is_over;
        let length = if is_at_hand { self.to_client.bytes() } else { exchange.length };
        event.object("http", |object| exchange.write(length, object));
    }

    /// The exchange that is at hand, where there is one alone.
    pub fn only_transaction(&self) -> Option<u64> {
        (self.exchanges.len() == 1).then_some(self.first)
    }

    /// For whom proxies have asked, first and last, in an exchange, or in any where it is not known which.
    pub fn forwarded(&self, at: Option<u64>) -> Option<[IpAddr; 2]> {
        let index = at.and_then(|at| usize::try_from(at.checked_sub(self.first)?).ok());
        let exchange = match index {
            Some(index) => self.exchanges.get(index),
            None => self.exchanges.iter().find(|exchange| exchange.forwarded.is_some()),
        };
        exchange?.forwarded
    }

    /// Exchanges that are over are let go.
    pub fn forget(&mut self) {
        while self.exchanges.front().is_some_and(|exchange| exchange.is_over) {
            self.exchanges.pop_front();
            self.first += 1;
        }
    }
}

/// The first line of a head and the lines of its fields, as they came.
fn split_head(raw: &[u8]) -> (&[u8], &[u8]) {
    let begun = raw.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(raw.len());
    let head = raw.get(begun..).unwrap_or_default();
    let end = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    let (line, lines) = head.split_at(end);
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let lines = lines.strip_suffix(b"\r\n").or(lines.strip_suffix(b"\n")).unwrap_or(lines);
    (line, lines)
}
