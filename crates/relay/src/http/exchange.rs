//! One request and its response: [`Exchange`]. Rule: both ways go on at once, each as fast as its reader reads, and
//! nothing leaves on either that was not let go.

use super::asked::{Asked, Method};
use super::coding::{self, Codings};
use super::content::{Content, Outcome, Said};
use super::origin::Origin;
use super::page::{About, Page, Way};
use super::session::{Over, Session};
use crate::dial::DialError;
use crate::drain::Phase;
use crate::events::{Action, Record};
use crate::scratch::with_scratch;
use crate::settings::Listener;
use crate::stream::{ReadOutcome, Reading};
use crate::turn;
use lockgate_inspect::{HoldPlan, Inspection, Root};
use lockgate_model::{Buffer, Direction, Reason, Transaction, TransactionId, Verdict};
use lockgate_proto::http::{Eof, Frame, Framing, ResponseHead, Version, strip_hop_by_hop, write_response};
use std::future::pending;
use std::io;
use std::sync::Arc;
use tokio::time::{Instant, sleep_until, timeout};

/// Bytes that may wait for one side before the other is not read any more.
const PENDING_BYTES_MAX: usize = 64 << 10;

/// One request and its response.
pub struct Exchange<'s> {
    session: &'s mut Session,
    /// The connection to the server, once something of the request may leave.
    origin: Option<Box<Origin>>,
    asked: Asked,
    about: Transaction,
    request: Content,
    response: Option<Response>,
    /// The request in bytes, as long as it may be sent once more by another connection.
    again: Option<Vec<u8>>,
    /// Whether the client's connection ends behind the response.
    closes: bool,
    last_progress: Instant,
}

/// A response on its way to the client.
struct Response {
    content: Content,
    status: u16,
    content_type: Option<String>,
}

/// Why an exchange comes to no good end.
enum Fault {
    /// The client is gone, or does not read.
    Client,
    /// The client is to be told.
    Answer(Box<Page>, Action),
    /// The connection that was used before broke before anything came by it.
    Stale,
}

impl<'s> Exchange<'s> {
    /// Behind a request's head.
    pub fn new(session: &'s mut Session, asked: Asked, framing: Framing) -> Self {
        let shared = &session.shared;
        let group = Arc::clone(session.inspect.group_for(None));
        let about = Transaction {
            id: TransactionId(shared.next_id()),
            direction: Direction::ToServer,
            group: group.name.clone(),
            sender: None,
            recipients: Vec::new(),
            name: None,
        };
        let plan = hold_plan(&session.client.gate.settings);
        let mut inspection = session.inspect.begin(&about, group, asked.root.clone(), plan);
        asked.tell(&mut inspection);
        let out = asked.outgoing(framing, &shared.settings.load().hostname);
        let may_repeat =
            framing == Framing::None && matches!(asked.method, Method::Head | Method::Idempotent);
        let closes = asked.wants_close || shared.drain.phase() > Phase::Serving;
        let again = may_repeat.then(|| out.clone());
        let request = Content::new(inspection, out, framing);
        Self {
            session,
            origin: None,
            asked,
            about,
            request,
            response: None,
            again,
            closes,
            last_progress: Instant::now(),
        }
    }

    /// To the end of the response; what is wrong then ends the session.
    pub async fn run(mut self) -> Result<(), Over> {
        loop {
            match self.carry().await {
                Ok(()) => return self.conclude(),
                Err(Fault::Stale) => {
                    // Whatever the old connection took away, the server has seen nothing that counts.
                    self.origin = None;
                    let head = self.again.take().unwrap_or_default();
                    if let Err(fault) = self.send_again(&head).await {
                        return self.fail(fault).await;
                    }
                }
                Err(fault) => return self.fail(fault).await,
            }
        }
    }

    /// Until the response has been let go to its end.
    async fn carry(&mut self) -> Result<(), Fault> {
        if self.request.inspection().is_refused() {
            return Err(self.blocked(Way::ToServer));
        }
        if self.asked.expects_continue && self.request.is_open() {
            // We answer it ourselves: the server hears nothing of the request before its content was judged.
            self.asked.expects_continue = false;
            self.session.client.stream.write(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(client_gone)?;
        }
        // A request without content ends without a further byte.
        self.take_in(&[])?;
        loop {
            self.work_off().await?;
            if self.is_through() {
                return Ok(());
            }
            self.connect().await?;
            let from_origin = self.read_origin()?;
            if self.is_through() {
                return Ok(());
            }
            let from_client = self.read_client()?;
            if from_origin || from_client {
                self.last_progress = Instant::now();
                continue;
            }
            self.wait().await?;
        }
    }

    /// Whether the response has been let go to its end.
    fn is_through(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.content.is_through())
    }

    fn is_busy(&self) -> bool {
        self.request.is_busy() || self.response.as_ref().is_some_and(|response| response.content.is_busy())
    }

    fn origin_reading(&self) -> Reading {
        let is_wanted = self.session.client.stream.pending_bytes() < PENDING_BYTES_MAX && !self.is_busy();
        if is_wanted { Reading::Wanted } else { Reading::Unwanted }
    }

    fn client_reading(&mut self) -> Reading {
        let pending = self.origin.as_mut().map_or(0, |origin| origin.stream().pending_bytes());
        let is_wanted = self.request.is_open()
            && !self.request.is_parked()
            && pending < PENDING_BYTES_MAX
            && !self.is_busy();
        if is_wanted { Reading::Wanted } else { Reading::Unwanted }
    }

    /// Inspects what is left to be inspected, while other sessions run in between.
    async fn work_off(&mut self) -> Result<(), Fault> {
        while self.is_busy() {
            if self.request.is_busy() {
                let out = self.origin.as_mut().map(|origin| origin.stream());
                let request = &mut self.request;
                let outcome = turn::quantum(|| request.work(out)).await;
                self.request_came_to(outcome)?;
            }
            if let Some(response) = self.response.as_mut().filter(|response| response.content.is_busy()) {
                let client = &mut self.session.client.stream;
                let outcome = turn::quantum(|| response.content.work(Some(client))).await;
                self.response_came_to(outcome)?;
            }
            let client = &mut self.session.client.stream;
            if client.pending_bytes() >= PENDING_BYTES_MAX {
                let patience = self.session.client.gate.settings.timeouts.data_block;
                let flushed = timeout(patience, client.flush()).await;
                flushed.map_err(|_| Fault::Client)?.map_err(client_gone)?;
            }
            self.last_progress = Instant::now();
        }
        Ok(())
    }

    /// Finds a connection for what was let go of the request.
    async fn connect(&mut self) -> Result<(), Fault> {
        if !self.request.is_parked() {
            return Ok(());
        }
        let Asked { host, port, .. } = &self.asked;
        let kept = self.session.kept.take();
        // What may not be sent twice goes by a connection that nobody is about to close.
        let fit = kept.filter(|_| self.again.is_some()).and_then(|mut origin| {
            let is_fit = origin.is_fit_for(host, *port);
            is_fit.then_some(origin)
        });
        let origin = match fit {
            Some(origin) => origin,
            None => {
                let (client, shared) = (&self.session.client, &self.session.shared);
                Box::new(Origin::dial(client, shared, host, *port).await.map_err(|e| dial_fault(&e))?)
            }
        };
        let origin = self.origin.insert(origin);
        origin.reader.expect(self.asked.method_bytes());
        self.last_progress = Instant::now();
        let is_used = origin.is_used;
        self.request.unpark(origin.stream()).map_err(|e| origin_fault(is_used, &e))
    }

    async fn send_again(&mut self, head: &[u8]) -> Result<(), Fault> {
        let (client, shared) = (&self.session.client, &self.session.shared);
        let dialled = Origin::dial(client, shared, &self.asked.host, self.asked.port).await;
        let origin = self.origin.insert(Box::new(dialled.map_err(|e| dial_fault(&e))?));
        origin.reader.expect(self.asked.method_bytes());
        self.last_progress = Instant::now();
        origin.stream().write(head).map_err(|e| origin_fault(false, &e))
    }

    /// Waits until there is something to read or to send, or until time is up.
    async fn wait(&mut self) -> Result<(), Fault> {
        let (client_reading, origin_reading) = (self.client_reading(), self.origin_reading());
        let (client, origin) = (&mut self.session.client, &mut self.origin);
        client.stream.try_flush().map_err(client_gone)?;
        let pending_to_client = client.stream.pending_bytes();
        let mut pending_to_origin = 0;
        let mut is_used = false;
        if let Some(origin) = origin {
            is_used = origin.is_used;
            origin.stream().try_flush().map_err(|e| origin_fault(is_used, &e))?;
            pending_to_origin = origin.stream().pending_bytes();
        }
        let timeouts = &client.gate.settings.timeouts;
        let (patience, fault) = if pending_to_client > 0 {
            (timeouts.data_block, Fault::Client)
        } else if pending_to_origin > 0 {
            (timeouts.data_block, gateway(504, "the server does not take the request"))
        } else if self.response.is_some() {
            (timeouts.data_block, gateway(504, "the server stopped in the middle of its answer"))
        } else if self.request.is_open() {
            let page = Page::bad_request(408, "the request did not come in time");
            (timeouts.data_block, Fault::Answer(Box::new(page), Action::Lost))
        } else {
            (timeouts.reply, gateway(504, "the server does not answer in time"))
        };
        let from_origin = async {
            match origin {
                Some(origin) => origin.stream().ready(origin_reading).await,
                None => pending().await,
            }
        };
        tokio::select! {
            ready = from_origin => ready.map_err(|e| origin_fault(is_used, &e))?,
            ready = client.stream.ready(client_reading) => ready.map_err(client_gone)?,
            () = sleep_until(self.last_progress + patience) => return Err(fault),
        }
        if client.stream.pending_bytes() < pending_to_client {
            self.last_progress = Instant::now();
        }
        Ok(())
    }

    /// Reads once from the client and passes on what came; says whether anything did.
    fn read_client(&mut self) -> Result<bool, Fault> {
        if self.client_reading() == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| match self.session.client.stream.try_read(scratch).map_err(client_gone)? {
            ReadOutcome::Bytes(count) => {
                let unused = self.take_in(&scratch[..count])?;
                self.session.client.stream.unread(unused);
                Ok(true)
            }
            ReadOutcome::WouldBlock => Ok(false),
            ReadOutcome::End => Err(Fault::Client),
        })
    }

    /// Takes bytes from the client, as far as they are of this request and there is time; the others come back.
    fn take_in<'b>(&mut self, mut rest: &'b [u8]) -> Result<&'b [u8], Fault> {
        while self.request.is_open() && !self.request.is_busy() {
            let step = self.session.requests.step(rest);
            rest = &rest[step.consumed..];
            let out = self.origin.as_mut().map(|origin| origin.stream());
            let outcome = match step.frame {
                Frame::NeedInput => break,
                Frame::Body(content) => self.request.push(content, out),
                Frame::End => self.request.end(out),
                // Trailers are not relayed: nobody says what they mean for content that was judged without them.
                Frame::Trailers(_) | Frame::Head(..) => continue,
                Frame::Refused(refusal) => {
                    let page = Page::bad_request(refusal.status(), refusal.words());
                    return Err(Fault::Answer(Box::new(page), Action::Refused));
                }
            };
            self.request_came_to(outcome)?;
        }
        Ok(rest)
    }

    fn request_came_to(&mut self, outcome: io::Result<Outcome>) -> Result<(), Fault> {
        let is_used = self.origin.as_ref().is_some_and(|origin| origin.is_used);
        match outcome.map_err(|e| origin_fault(is_used, &e))? {
            Outcome::More | Outcome::Complete => Ok(()),
            Outcome::Refused => Err(self.blocked(Way::ToServer)),
        }
    }

    fn response_came_to(&mut self, outcome: io::Result<Outcome>) -> Result<(), Fault> {
        match outcome.map_err(client_gone)? {
            Outcome::More | Outcome::Complete => Ok(()),
            Outcome::Refused => Err(self.blocked(Way::ToClient)),
        }
    }

    /// Reads once from the origin and passes on what came; says whether anything did.
    fn read_origin(&mut self) -> Result<bool, Fault> {
        if self.origin.is_none() || self.origin_reading() == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| {
            let Some(origin) = self.origin.as_mut() else { return Ok(false) };
            let is_used = origin.is_used;
            let read = origin.stream().try_read(scratch).map_err(|e| origin_fault(is_used, &e))?;
            let mut rest: &[u8] = match read {
                ReadOutcome::Bytes(count) => &scratch[..count],
                ReadOutcome::WouldBlock => return Ok(false),
                ReadOutcome::End => return self.origin_ended().map(|()| true),
            };
            // From here on the server has seen the request.
            (origin.is_used, self.again) = (false, None);
            loop {
                let Some(origin) = self.origin.as_mut() else { return Ok(true) };
                let step = origin.reader.step(rest);
                rest = &rest[step.consumed..];
                match step.frame {
                    Frame::NeedInput => break,
                    Frame::Head(head, framing) => self.response_head(*head, framing)?,
                    Frame::Body(content) => self.response_content(content)?,
                    Frame::Trailers(_) => {}
                    Frame::End if self.response.is_some() => {
                        self.response_end()?;
                        break;
                    }
                    Frame::End => {}
                    Frame::Refused(refusal) => {
                        return Err(gateway(
                            502,
                            &format!("its answer cannot be relayed: {}", refusal.words()),
                        ));
                    }
                }
                if self.is_busy() {
                    break;
                }
            }
            if let Some(origin) = self.origin.as_mut() {
                origin.stream().unread(rest);
            }
            Ok(true)
        })
    }

    fn origin_ended(&mut self) -> Result<(), Fault> {
        let Some(origin) = self.origin.as_mut() else { return Ok(()) };
        match (origin.reader.eof(), &self.response) {
            (Eof::Complete, Some(response)) if response.content.is_open() => self.response_end(),
            (Eof::Complete, None) if origin.is_used && self.again.is_some() => Err(Fault::Stale),
            (_, None) => Err(gateway(502, "the server closed the connection before it answered")),
            (_, Some(_)) => Err(gateway(502, "the server closed the connection in the middle of its answer")),
        }
    }

    fn response_head(&mut self, mut head: ResponseHead, framing: Framing) -> Result<(), Fault> {
        strip_hop_by_hop(&mut head.fields);
        // It would lead the client past the gateway, to another protocol that nobody looks into.
        head.fields.remove("alt-svc");
        head.fields.push(b"Via", format!("1.1 {}", self.session.shared.settings.load().hostname).as_bytes());
        if head.is_interim() {
            return self.interim(&head);
        }
        let root = match coding::codings(&head.fields) {
            Codings::Known(root) => root,
            Codings::Refused(why) => return Err(gateway(502, &format!("its answer is {why}"))),
        };
        let content_type =
            head.fields.get("content-type").map(|value| String::from_utf8_lossy(value).into_owned());
        let inspection = self.open_response(&head, root, content_type.as_deref());
        let framing = match framing {
            Framing::Chunked | Framing::UntilClose if self.asked.version == Version::Http10 => {
                Framing::UntilClose
            }
            Framing::UntilClose => Framing::Chunked,
            framing => framing,
        };
        let is_draining = self.session.shared.drain.phase() > Phase::Serving;
        self.closes |= framing == Framing::UntilClose || self.request.is_open() || is_draining;
        match (self.closes, self.asked.version) {
            (true, _) => head.fields.push(b"Connection", b"close"),
            (false, Version::Http10) => head.fields.push(b"Connection", b"keep-alive"),
            (false, Version::Http11) => {}
        }
        let mut out = Vec::new();
        write_response(&head, framing, &mut out);
        let content = Content::new(inspection, out, framing);
        let is_refused = content.inspection().is_refused();
        let response = self.response.insert(Response { content, status: head.status, content_type });
        if is_refused {
            return Err(self.blocked(Way::ToClient));
        }
        if is_event_stream(response.content_type.as_deref()) {
            // The client is told that it is connected before the first event comes.
            response.content.begin(&mut self.session.client.stream).map_err(client_gone)?;
        }
        Ok(())
    }

    fn interim(&mut self, head: &ResponseHead) -> Result<(), Fault> {
        match head.status {
            // Upgrade was not passed on, so nothing was agreed to.
            101 => Err(gateway(502, "the server changes to another protocol that nobody asked for")),
            // We have answered the client's Expect, and it has asked nothing more.
            100 => Ok(()),
            _ if self.asked.version == Version::Http10 => Ok(()),
            _ => {
                let mut out = Vec::new();
                write_response(head, Framing::None, &mut out);
                self.session.client.stream.queue(&out).map_err(client_gone)
            }
        }
    }

    fn open_response(&mut self, head: &ResponseHead, root: Root, content_type: Option<&str>) -> Inspection {
        let session = &mut *self.session;
        let group = Arc::clone(session.inspect.group_for(None));
        let about = Transaction { direction: Direction::ToClient, ..self.about.clone() };
        let plan = match is_event_stream(content_type) {
            // Events would wait for as long as the server has no more to say: what is scanned leaves at once.
            true => HoldPlan::Head { hold_bytes: 0 },
            false => hold_plan(&session.client.gate.settings),
        };
        let mut inspection = session.inspect.begin(&about, group, root, plan);
        self.asked.tell(&mut inspection);
        inspection.about(Buffer::HttpContentType, media_type(content_type.unwrap_or_default()).as_bytes());
        if head.status == 206 {
            inspection.incomplete(Reason::Partial);
        }
        inspection
    }

    fn response_content(&mut self, content: &[u8]) -> Result<(), Fault> {
        let Some(response) = &mut self.response else { return Ok(()) };
        let outcome = response.content.push(content, Some(&mut self.session.client.stream));
        self.response_came_to(outcome)
    }

    fn response_end(&mut self) -> Result<(), Fault> {
        let Some(response) = &mut self.response else { return Ok(()) };
        let outcome = response.content.end(Some(&mut self.session.client.stream));
        self.response_came_to(outcome)
    }

    fn blocked(&self, way: Way) -> Fault {
        let judgement = match (way, &self.response) {
            (Way::ToClient, Some(response)) => response.content.inspection().judgement(),
            _ => self.request.inspection().judgement(),
        };
        let action = match (judgement.verdict, way) {
            (Verdict::Defer, _) => Action::Deferred,
            (_, Way::ToServer) => Action::Refused,
            (_, Way::ToClient) => Action::Replaced,
        };
        Fault::Answer(Box::new(Page::blocked(judgement, way)), action)
    }

    /// The response has been let go to its end.
    fn conclude(mut self) -> Result<(), Over> {
        self.note(Action::Forwarded, "");
        let is_whole = self.request.is_through();
        if let Some(mut origin) = self.origin.take().filter(|origin| is_whole && origin.reader.keeps_alive())
        {
            origin.is_used = true;
            self.session.kept = Some(origin);
        }
        if self.closes || !is_whole { Err(Over::Said) } else { Ok(()) }
    }

    /// What the client is told in place of the response, or that what it has of it is broken.
    async fn fail(self, fault: Fault) -> Result<(), Over> {
        let (page, action) = match fault {
            Fault::Answer(page, action) => (page, action),
            Fault::Client | Fault::Stale => {
                self.note(Action::Lost, "the client is gone");
                return Err(Over::Client);
            }
        };
        let said = self.response.as_ref().map_or(Said::Nothing, |response| response.content.said());
        if said != Said::Nothing {
            let action = if action == Action::Replaced { Action::Cut } else { action };
            self.note(action, &page.why());
            return Err(Over::BreakOff);
        }
        // A request whose end has not come would be taken for the next one.
        let closes = self.closes || self.request.is_open() || self.session.requests.has_begun();
        let hostname = &self.session.shared.settings.load_full().hostname;
        let about = About {
            address: &self.asked.address(),
            id: self.about.id,
            hostname,
            is_head: self.asked.method == Method::Head,
            closes,
        };
        let written = self.session.client.stream.write(&page.bytes(&about));
        self.note_answer(action, &page);
        written.map_err(|_| Over::Client)?;
        if closes { Err(Over::Said) } else { Ok(()) }
    }

    fn note(&self, action: Action, reply: &str) {
        let status = self.response.as_ref().map(|response| response.status);
        self.record(action, reply, status);
    }

    fn note_answer(&self, action: Action, page: &Page) {
        let status = self.response.as_ref().map_or(page.status(), |response| response.status);
        self.record(action, &format!("{} {}", page.status(), page.why()), Some(status));
    }

    /// Writes down what became of it: of the request where it came to no response or something was found in it, else of
    /// the response.
    fn record(&self, action: Action, reply: &str, status: Option<u16>) {
        let content_type = self.response.as_ref().and_then(|response| response.content_type.as_deref());
        let write = |about: &Transaction, inspection: &Inspection, action| {
            self.session.shared.events.load().verdict(&Record {
                flow: self.session.inspect.flow(),
                about,
                mail: Default::default(),
                http: Some(self.asked.noted(status, content_type)),
                judgement: inspection.judgement(),
                action,
                reply,
                wire_bytes: inspection.wire_bytes(),
                released_bytes: inspection.released_bytes(),
            });
        };
        let request = self.request.inspection();
        match &self.response {
            None => write(&self.about, request, action),
            Some(response) => {
                let found = request.judgement();
                if !found.findings.is_empty() || !found.incomplete.is_empty() {
                    write(&self.about, request, Action::Forwarded);
                }
                let about = Transaction { direction: Direction::ToClient, ..self.about.clone() };
                write(&about, response.content.inspection(), action);
            }
        }
    }
}

fn hold_plan(settings: &Listener) -> HoldPlan {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    HoldPlan::HeadAndTail { hold_bytes: bytes(settings.hold_bytes), tail_bytes: bytes(settings.tail_bytes) }
}

/// A `Content-Type` without parameters, in lower case.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_event_stream(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|content_type| media_type(content_type) == "text/event-stream")
}

fn client_gone(_: io::Error) -> Fault {
    Fault::Client
}

fn gateway(status: u16, why: &str) -> Fault {
    Fault::Answer(Box::new(Page::bad_gateway(status, why)), Action::Lost)
}

fn origin_fault(is_used: bool, error: &io::Error) -> Fault {
    if is_used { Fault::Stale } else { gateway(502, &format!("the connection to the server broke: {error}")) }
}

fn dial_fault(error: &DialError) -> Fault {
    match error {
        DialError::Nowhere(why) => Fault::Answer(Box::new(Page::forbidden(*why)), Action::Refused),
        DialError::Name(e) => gateway(502, &format!("the server's name cannot be resolved: {e}")),
        DialError::Refused(e) => gateway(502, &format!("the server cannot be reached: {e}")),
        DialError::Parent(e) => gateway(502, &e.to_string()),
        DialError::Timeout => gateway(504, "the server does not take the connection in time"),
        DialError::Busy => gateway(503, "too many connections to this server"),
    }
}
