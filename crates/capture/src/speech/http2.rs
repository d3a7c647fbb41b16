//! HTTP/2 in clear (RFC 9113): [`Http2`] pairs requests with responses by their streams. Rule: rules see a message as they see one of
//! HTTP/1, its fields as lines.

use super::Telling;
use super::coding::seen_as;
use super::content::{Content, Envelope, Inspector};
use super::exchange::{Exchange, file_name};
use crate::eve::Ends;
use lockgate_eve::Object;
use lockgate_model::{Buffer, Direction, Reason};
use lockgate_proto::http::{
    Fields, Follows, Http2Field, Http2Frame, Http2Reader, Limits, Pseudo, request_from_http2,
    response_from_http2,
};
use std::collections::VecDeque;
use std::io::Write;

/// How many streams may be open at a time.
const STREAMS_MAX: usize = 256;

/// One connection.
pub struct Http2 {
    inspector: Inspector,
    /// What goes to the server, what goes to the client.
    readers: [Http2Reader; 2],
    streams: VecDeque<Stream>,
    /// How many exchanges there were.
    count: u64,
}

/// A request and its response.
struct Stream {
    number: u32,
    /// Which exchange of the connection it is.
    at: u64,
    exchange: Exchange,
    contents: [Option<Content>; 2],
    is_over: bool,
}

fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::ToClient)
}

impl Http2 {
    /// Nothing has been said yet.
    pub fn new(inspector: Inspector) -> Self {
        let readers = [Http2Reader::new(true), Http2Reader::new(false)];
        Self { inspector, readers, streams: VecDeque::new(), count: 0 }
    }

    /// The next bytes of a side.
    pub fn data<W: Write>(&mut self, direction: Direction, mut bytes: &[u8], telling: &mut Telling<'_, W>) {
        loop {
            let (used, frame) = self.readers[side(direction)].step(bytes);
            bytes = bytes.get(used..).unwrap_or_default();
            match frame {
                Http2Frame::NeedInput => return,
                Http2Frame::Head { stream, fields, is_last } => {
                    self.head(direction, stream, &fields, telling);
                    if is_last {
                        self.ends(direction, stream, None, telling);
                    }
                }
                Http2Frame::Content { stream, bytes } => self.content(direction, stream, bytes, telling),
                Http2Frame::End { stream, is_reset } => {
                    self.ends(direction, stream, is_reset.then_some(Reason::Truncated), telling);
                }
                Http2Frame::Lost => self.gap(direction, telling),
            }
        }
    }

    fn head<W: Write>(
        &mut self,
        direction: Direction,
        number: u32,
        fields: &[Http2Field],
        telling: &mut Telling<'_, W>,
    ) {
        let Some(stream) = stream_of(&mut self.streams, &mut self.count, number) else {
            return telling.incomplete(direction, Reason::Held);
        };
        if stream.contents[side(direction)].is_some() {
            // These are trailers.
            return;
        }
        let message = Message::of(fields);
        let path = message.path.map(String::from_utf8_lossy);
        let name = file_name(&message.fields, path.as_deref().unwrap_or(&stream.exchange.url));
        let envelope = Envelope { name, ..Envelope::default() };
        let root = seen_as(&message.fields);
        let mut content = Content::begin(&mut self.inspector, root, stream.at, direction, envelope);
        match direction {
            Direction::ToServer => message.ask(&mut stream.exchange, &mut content),
            Direction::ToClient => message.answer(&mut stream.exchange, &mut content),
        }
        content.tell(telling.alarms);
        stream.contents[side(direction)] = Some(content);
    }

    fn content<W: Write>(
        &mut self,
        direction: Direction,
        number: u32,
        bytes: &[u8],
        telling: &mut Telling<'_, W>,
    ) {
        let stream = self.streams.iter_mut().find(|stream| stream.number == number);
        if let Some(content) = stream.and_then(|stream| stream.contents[side(direction)].as_mut()) {
            content.push(bytes);
            content.tell(telling.alarms);
        }
    }

    /// A side of a stream has ended.
    fn ends<W: Write>(
        &mut self,
        direction: Direction,
        number: u32,
        cut: Option<Reason>,
        telling: &mut Telling<'_, W>,
    ) {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.number == number) else { return };
        let Some(content) = stream.contents[side(direction)].take() else { return };
        let length = content.bytes();
        for reason in content.finish(cut, telling.alarms) {
            telling.incomplete(direction, reason);
        }
        if direction == Direction::ToClient {
            (stream.exchange.length, stream.is_over) = (length, true);
            let at = stream.at;
            self.log(at, telling);
        }
    }

    /// Bytes of a side were missed, or it cannot be followed: header compression has lost its thread.
    pub fn gap<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        self.readers[side(direction)].lose();
        for stream in &mut self.streams {
            if let Some(content) = stream.contents[side(direction)].take() {
                let _ = content.finish(Some(Reason::Partial), telling.alarms);
            }
        }
        telling.incomplete(direction, Reason::Partial);
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        let numbers: Vec<u32> = self.streams.iter().map(|stream| stream.number).collect();
        for number in numbers {
            self.ends(direction, number, Some(Reason::Truncated), telling);
        }
    }

    fn log<W: Write>(&mut self, at: u64, telling: &mut Telling<'_, W>) {
        if !telling.eve.wants_all() {
            return;
        }
        let ends = Ends::of_flow(telling.flow, Direction::ToServer);
        telling.eve.event("http", &ends, Some(telling.flow), None, |event| {
            event.number("tx_id", at);
            event.text("app_proto", "http2");
            self.describe(at, event);
        });
    }

    /// What is known of an exchange.
    pub fn describe(&self, at: u64, event: &mut Object<'_>) {
        if let Some(stream) = self.streams.iter().find(|stream| stream.at == at) {
            let answer = stream.contents[side(Direction::ToClient)].as_ref();
            let length = answer.map_or(stream.exchange.length, Content::bytes);
            event.object("http", |object| stream.exchange.write(length, object));
        }
    }

    /// Exchanges that are over are let go.
    pub fn forget(&mut self) {
        self.streams.retain(|stream| !stream.is_over);
    }
}

/// The stream of that number, which may begin with it; `None` where there are too many.
fn stream_of<'s>(streams: &'s mut VecDeque<Stream>, count: &mut u64, number: u32) -> Option<&'s mut Stream> {
    let known = streams.iter().position(|stream| stream.number == number);
    let index = match known {
        Some(index) => index,
        None => {
            if streams.len() >= STREAMS_MAX {
                let over = streams.iter().position(|stream| stream.is_over)?;
                streams.remove(over);
            }
            let (at, exchange) = (*count, Exchange::default());
            streams.push_back(Stream { number, at, exchange, contents: [None, None], is_over: false });
            *count += 1;
            streams.len() - 1
        }
    };
    streams.get_mut(index)
}

/// A head.
struct Message<'f> {
    method: &'f [u8],
    scheme: Option<&'f [u8]>,
    authority: Option<&'f [u8]>,
    path: Option<&'f [u8]>,
    status: &'f [u8],
    /// Those that are no pseudo-header fields.
    fields: Fields,
    /// The same as HTTP/1 writes them.
    lines: Vec<u8>,
}

impl<'f> Message<'f> {
    fn of(all: &'f [Http2Field]) -> Self {
        let pseudo =
            |wanted: &[u8]| all.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_slice());
        let (mut fields, mut lines) = (Fields::new(), Vec::new());
        let authority = pseudo(b":authority");
        if let Some(authority) = authority.filter(|_| pseudo(b"host").is_none()) {
            lines.extend([b"host: ", authority, b"\r\n"].concat());
        }
        for (name, value) in all.iter().filter(|(name, _)| !name.starts_with(b":")) {
            fields.push(name, value);
            lines.extend([name, &b": "[..], value, b"\r\n"].concat());
        }
        Self {
            method: pseudo(b":method").unwrap_or_default(),
            scheme: pseudo(b":scheme"),
            authority,
            path: pseudo(b":path"),
            status: pseudo(b":status").unwrap_or_default(),
            fields,
            lines,
        }
    }

    fn ask(&self, exchange: &mut Exchange, content: &mut Content) {
        let Self { method, scheme, authority, path, .. } = *self;
        let pseudo = Pseudo { method, scheme, authority, path };
        let head = request_from_http2(pseudo, self.fields.clone(), Follows::Content, &Limits::default());
        if let Ok((head, _)) = &head {
            exchange.asks(head);
        }
        let path = path.unwrap_or_default();
        content.about(Buffer::HttpMethod, method);
        if let Some(host) = authority.or(self.fields.get("host")) {
            content.about(Buffer::HttpHost, &host.to_ascii_lowercase());
        }
        if let Some(user_agent) = self.fields.get("user-agent") {
            content.about(Buffer::HttpUserAgent, user_agent);
        }
        content.about(Buffer::HttpRequestLine, &[method, b" ", path, b" HTTP/2"].concat());
        content.about(Buffer::HttpHeader, &self.lines);
        content.about(Buffer::HttpUri, path);
    }

    fn answer(&self, exchange: &mut Exchange, content: &mut Content) {
        let status = std::str::from_utf8(self.status).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let method = exchange.method.clone();
        let fields = self.fields.clone();
        let head =
            response_from_http2(status, fields, Follows::Content, method.as_bytes(), &Limits::default());
        if let Ok((head, _)) = &head {
            exchange.answers(head);
        }
        content.about(Buffer::HttpResponseLine, &[b"HTTP/2 ", self.status].concat());
        content.about(Buffer::HttpResponseHeader, &self.lines);
        if let Some(content_type) = self.fields.get("content-type") {
            content.about(Buffer::HttpContentType, content_type);
        }
    }
}
