//! One request and its response: [`Exchange`]. Rule: both ways go on at once, each as fast as its reader reads, and
//! nothing leaves on either that was not let go.
//!
//! Here is the loop that carries both; `response` is what is done with the server's answer, `request` with what the client
//! sends, `fault` what can go wrong, and `record` what is written down.

mod fault;
mod record;
mod replacing;
mod request;
mod response;
mod upgrade;

use super::admission::Guest;
use super::asked::{Asked, Method};
use super::content::{Content, Said};
use super::downstream::Downstream;
use super::page::{Page, Way};
use super::replace::{Changes, Replacing};
use super::session::{Over, Session};
use super::upstream::Upstream;
use crate::events::Action;
use crate::settings::Listener;
use crate::stream::Reading;
use crate::turn;
use fault::{Fault, client_gone, gateway, origin_fault};
use lockgate_inspect::{HoldPlan, Inspection};
use lockgate_model::{Direction, Transaction, TransactionId};
use lockgate_proto::http::{Framing, RequestHead, ResponseHead, Trailing};
use replacing::Held;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};
use upgrade::Upgrade;

/// Bytes that may wait for one side before the other is not read any more.
const PENDING_BYTES_MAX: usize = 8 << 10;
/// Bytes that are read at once while nothing has left yet: most pages come in one read.
const FIRST_READ_BYTES: usize = 48 << 10;
/// … and of what streams, so that little more than its tail is in memory. With less, a read under TLS would bring a part
/// of a record only.
const STREAM_READ_BYTES: usize = 32 << 10;

/// Reads in a row before others run: where server and client both keep up, an exchange would never wait by itself.
const TURNS_MAX: u32 = 4;

/// How much of a message is to be read at once when so much of it has left.
fn read_bytes(said: Said) -> usize {
    if said == Said::Nothing { FIRST_READ_BYTES } else { STREAM_READ_BYTES }
}

/// One request and its response.
pub struct Exchange<'s> {
    session: &'s Session,
    client: Downstream<'s>,
    /// The connection to the server, once something of the request may leave.
    origin: Option<Upstream>,
    asked: Asked,
    guest: Guest,
    about: Transaction,
    request: Content<RequestHead>,
    response: Option<Response>,
    /// What the lists change of both.
    changes: Changes,
    /// A page that its rules are changing.
    replacing: Option<Box<Replacing>>,
    /// Whether the request may be sent once more by another connection.
    is_repeatable: bool,
    /// Whether the client's connection ends behind the response.
    closes: bool,
    /// The protocol that both may change to.
    upgrade: Option<Upgrade>,
    last_progress: Instant,
}

/// A response on its way to the client.
struct Response {
    content: Content<ResponseHead>,
    status: u16,
    content_type: Option<String>,
    /// What its head said of what comes behind it.
    trailing: Trailing,
    /// It is held whole, for rules that may change it.
    held: Option<Box<Held>>,
    /// What is written down of what became of it.
    note: String,
    /// What was seen in the page that another one leaves in place of.
    original: Option<Inspection>,
}

impl<'s> Exchange<'s> {
    /// Behind a request's head.
    pub fn new(
        session: &'s Session,
        guest: Guest,
        client: Downstream<'s>,
        mut asked: Asked,
        framing: Framing,
    ) -> Self {
        let shared = &session.shared;
        let group = Arc::clone(&guest.group);
        let about = Transaction {
            id: TransactionId(shared.next_id()),
            direction: Direction::ToServer,
            group: group.name.clone(),
            sender: None,
            recipients: Vec::new(),
            name: None,
            length: None,
        };
        let settings = &session.client.gate.settings;
        let is_stream = is_stream(asked.content_type());
        let plan = if is_stream { stream_plan(settings) } else { hold_plan(settings) };
        let rewriter = session.rewriter(&group);
        let mut inspection = session.begin(&about, group, asked.root.clone(), plan);
        asked.tell(&mut inspection);
        let changes = Changes::of(rewriter, &asked, session.flow().client.ip());
        asked.change(&changes.request);
        let mut out = asked.outgoing(&shared.settings.load().hostname, &changes.request);
        asked.tell_trailers(&mut out.fields, framing);
        let upgrade = Upgrade::asked_for(&asked, settings, framing);
        if let Some(upgrade) = &upgrade {
            upgrade.ask(&mut out.fields);
        }
        if settings.range_hosts.contains(&asked.host) {
            asked.pass_range(&mut out.fields);
        }
        let is_repeatable =
            framing == Framing::None && matches!(asked.method, Method::Head | Method::Idempotent);
        let closes = asked.wants_close || session.is_draining();
        let mut request = Content::new(inspection, out, framing);
        if is_stream {
            request = request.with_tail_for(settings.tail_time_max);
        }
        Self {
            session,
            client,
            origin: None,
            guest,
            about,
            request,
            asked,
            response: None,
            changes,
            replacing: None,
            is_repeatable,
            closes,
            upgrade,
            last_progress: Instant::now(),
        }
    }

    /// To the end of the response; what is wrong then ends the session.
    pub async fn run(mut self) -> Result<(), Over> {
        loop {
            match self.carry().await {
                Ok(()) if self.has_switched() => return self.serve_upgraded().await,
                Ok(()) => return self.conclude(),
                Err(Fault::Stale) => {
                    // Whatever the old connection took away, the server has seen nothing that counts.
                    if let Err(fault) = self.send_again().await {
                        return self.fail(fault);
                    }
                }
                Err(fault) => return self.fail(fault),
            }
        }
    }

    /// Until the response has been let go to its end.
    async fn carry(&mut self) -> Result<(), Fault> {
        if self.request.inspection().is_refused() {
            return Err(self.blocked(Way::ToServer));
        }
        if let Some((to, rules)) = self.changes.leads_to(&self.asked) {
            return Err(Fault::Answer(Box::new(Page::led(to, &rules)), Action::Replaced));
        }
        let hostname = &self.session.shared.settings.load_full().hostname;
        if let Some(page) = self.asked.goes_no_further(hostname) {
            return Err(Fault::Answer(Box::new(page), Action::Refused));
        }
        if self.asked.expects_continue && self.request.is_open() {
            // We answer it ourselves: the server hears nothing of the request before its content was judged.
            self.asked.expects_continue = false;
            self.client.say_continue().map_err(client_gone)?;
        }
        // A request without content ends without a further byte.
        self.take_in(&mut &[][..])?;
        let mut turns = 0;
        loop {
            self.work_off().await?;
            self.depart().await?;
            if self.is_through() {
                return Ok(());
            }
            self.pass_tails()?;
            if self.is_busy() {
                continue;
            }
            self.connect().await?;
            let from_origin = self.read_origin()?;
            if self.is_through() || self.is_whole() {
                continue;
            }
            let from_client = self.read_client()?;
            if from_origin || from_client {
                self.last_progress = Instant::now();
                turns += 1;
                if turns % TURNS_MAX == 0 {
                    tokio::task::yield_now().await;
                }
                continue;
            }
            self.wait().await?;
        }
    }

    /// Whether the response has been let go to its end.
    fn is_through(&self) -> bool {
        self.has_switched() || self.response.as_ref().is_some_and(|response| response.content.is_through())
    }

    /// Whether the response may leave, which it does together with others.
    fn is_whole(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.content.is_whole())
    }

    fn is_busy(&self) -> bool {
        self.request.is_busy()
            || self.replacing.is_some()
            || self.response.as_ref().is_some_and(|response| response.content.is_busy())
    }

    fn origin_reading(&self) -> Reading {
        let is_wanted = self.client.pending_bytes() < PENDING_BYTES_MAX && !self.is_busy();
        if is_wanted { Reading::Wanted } else { Reading::Unwanted }
    }

    fn client_reading(&mut self) -> Reading {
        let pending = self.origin.as_mut().map_or(0, Upstream::pending_bytes);
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
                let (request, out) = (&mut self.request, self.origin.as_mut());
                let outcome = turn::quantum(|| request.work(out)).await;
                self.request_came_to(outcome)?;
            }
            if let Some(response) = self.response.as_mut().filter(|response| response.content.is_busy()) {
                let client = &mut self.client;
                let outcome = turn::quantum(|| response.content.work(Some(client))).await;
                self.response_came_to(outcome)?;
            }
            if let Some(replacing) = &mut self.replacing {
                let became = turn::quantum(|| replacing.step()).await;
                self.replacing_came_to(became)?;
            }
            if self.client.pending_bytes() >= PENDING_BYTES_MAX {
                let patience = self.session.client.gate.settings.timeouts.data_block;
                let flushed = timeout(patience, self.client.flush()).await;
                flushed.map_err(|_| Fault::Client)?.map_err(client_gone)?;
            }
            self.last_progress = Instant::now();
        }
        Ok(())
    }

    /// Lets a response go that was held whole, when whatever else is ready has been inspected: sent one by one, each wakes a
    /// reader; sent together, fewer do.
    async fn depart(&mut self) -> Result<(), Fault> {
        if !self.is_whole() {
            return Ok(());
        }
        tokio::task::yield_now().await;
        self.let_go_whole()
    }

    /// Waits until there is something to read or to send, or until time is up.
    async fn wait(&mut self) -> Result<(), Fault> {
        // Sent first: what is then read, and who is waited for, depends on what could not be sent. Else a side that has
        // taken all of it meanwhile would be waited for without anything to take.
        self.client.try_flush().map_err(client_gone)?;
        let pending_to_client = self.client.pending_bytes();
        let (mut pending_to_origin, mut is_used) = (0, false);
        if let Some(origin) = &mut self.origin {
            is_used = origin.is_used();
            origin.try_flush().map_err(|e| origin_fault(is_used, &e))?;
            pending_to_origin = origin.pending_bytes();
        }
        let (client_reading, origin_reading) = (self.client_reading(), self.origin_reading());
        let (patience, fault) = self.patience(pending_to_client, pending_to_origin);
        let tail_due = self.tail_due();
        let (client, origin) = (&mut self.client, &mut self.origin);
        let from_origin = async {
            match origin {
                Some(origin) => origin.ready(origin_reading).await,
                None => pending().await,
            }
        };
        tokio::select! {
            ready = from_origin => ready.map_err(|e| origin_fault(is_used, &e))?,
            ready = client.ready(client_reading) => ready.map_err(client_gone)?,
            () = sleep_until(self.last_progress + patience) => return Err(fault),
            () = at(tail_due) => {}
        }
        if client.pending_bytes() < pending_to_client {
            self.last_progress = Instant::now();
        }
        Ok(())
    }

    /// When something that is held has been held for its time.
    fn tail_due(&self) -> Option<Instant> {
        let of_response = self.response.as_ref().and_then(|response| response.content.tail_due());
        self.request.tail_due().into_iter().chain(of_response).min()
    }

    /// Lets go what has been held for its time.
    fn pass_tails(&mut self) -> Result<(), Fault> {
        let Some(due) = self.tail_due() else { return Ok(()) };
        let now = Instant::now();
        if now < due {
            return Ok(());
        }
        let outcome = self.request.pass_tail(now, self.origin.as_mut());
        self.request_came_to(outcome)?;
        if let Some(response) = &mut self.response {
            let outcome = response.content.pass_tail(now, Some(&mut self.client));
            self.response_came_to(outcome)?;
        }
        Ok(())
    }

    /// How long nothing may move, and whose fault it then is.
    fn patience(&self, pending_to_client: usize, pending_to_origin: usize) -> (Duration, Fault) {
        let timeouts = &self.session.client.gate.settings.timeouts;
        if pending_to_client > 0 {
            (timeouts.data_block, Fault::Client)
        } else if pending_to_origin > 0 {
            (timeouts.data_block, gateway(504, "the server does not take the request"))
        } else if self.response.is_some() {
            (timeouts.data_block, gateway(504, "the server stopped in the middle of its answer"))
        } else if self.request.is_open() {
            (timeouts.data_block, Fault::late_request())
        } else {
            (timeouts.reply, gateway(504, "the server does not answer in time"))
        }
    }

    /// The response has been let go to its end.
    fn conclude(mut self) -> Result<(), Over> {
        let note = self.response.as_mut().map(|response| std::mem::take(&mut response.note));
        self.note(Action::Forwarded, &note.unwrap_or_default());
        let is_whole = self.request.is_through();
        if let Some(origin) = self.origin.take().filter(|_| is_whole) {
            origin.keep(self.session);
        }
        if self.closes || !is_whole { Err(Over::Said) } else { Ok(()) }
    }

    /// What the client is told in place of the response, or that what it has of it is broken.
    fn fail(mut self, fault: Fault) -> Result<(), Over> {
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
        let closes = self.closes || self.request.is_open() || self.client.has_begun();
        let mut about = self.session.about(Some(&self.asked), self.about.id);
        (about.closes, about.bypass) = (closes, self.offered_bypass());
        let written = self.client.say_page(&page, &about);
        self.note_answer(action, &page, &about);
        written.map_err(|_| Over::Client)?;
        if closes { Err(Over::Said) } else { Ok(()) }
    }
}

/// At that time, if there is one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

/// What is held of content that says little at a time: no beginning, and the end for a time.
fn stream_plan(settings: &Listener) -> HoldPlan {
    let tail_bytes = usize::try_from(settings.tail_bytes).unwrap_or(usize::MAX);
    HoldPlan::HeadAndTail { hold_bytes: 0, tail_bytes }
}

/// Whether content of the type is a stream that says little at a time, and whose end nobody can wait for: events, calls
/// of gRPC, pictures of a camera.
fn is_stream(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|content_type| {
        let media_type = media_type(content_type);
        matches!(media_type.as_str(), "text/event-stream" | "multipart/x-mixed-replace")
            || media_type == "application/grpc"
            || media_type.starts_with("application/grpc+")
    })
}

/// A `Content-Type` without parameters, in lower case.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn hold_plan(settings: &Listener) -> HoldPlan {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    HoldPlan::HeadAndTail { hold_bytes: bytes(settings.hold_bytes), tail_bytes: bytes(settings.tail_bytes) }
}
