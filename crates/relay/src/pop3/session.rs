//! One POP3 session: [`Session`]. Rule: commands and replies pass in order; nothing is read that cannot be passed on.

use super::mail::{Mail, Outcome};
use super::{LINGER, accept_tls};
use crate::dial::Upstream;
use crate::drain::Phase;
use crate::listener::Accepted;
use crate::scratch::with_scratch;
use crate::settings::Tls;
use crate::shared::Shared;
use crate::stream::{ReadOutcome, Reading};
use crate::turn;
use lockgate_inspect::{HoldPlan, Root, Session as InspectSession};
use lockgate_model::{Direction, Protocol, Transaction, TransactionId};
use lockgate_proto::lines::{LineBuffer, LineEnd, LineStep};
use lockgate_proto::pop3::capabilities::{ANSWER_BYTES_MAX, filter_auth_list, filter_capa};
use lockgate_proto::pop3::command::{AUTH_LINE_BYTES_MAX, COMMAND_LINE_BYTES_MAX};
use lockgate_proto::pop3::exchange::{Extent, Reads, Rules};
use lockgate_proto::pop3::sender::status_line;
use lockgate_proto::pop3::{Exchange, Follows, Frame, Receiver, Status, StatusLine, Stuffing, Turn};
use lockgate_proto::smtp::capabilities::Offer;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// Bytes that may wait for one side before the other is not read any more.
const PENDING_BYTES_MAX: usize = 64 << 10;
/// RFC 1939 section 3: an autologout timer must be of at least 10 minutes.
const IDLE_TIMEOUT_MIN: Duration = Duration::from_secs(600);
/// How long a session at rest may go on when the gateway drains: time for a QUIT that is on its way.
const IDLE_TIMEOUT_DRAINING: Duration = Duration::from_secs(2);

/// One client's session.
pub struct Session {
    shared: Arc<Shared>,
    client: Accepted,
    server: Upstream,
    exchange: Exchange,
    lines: LineBuffer,
    receiver: Receiver,
    inspect: InspectSession,
    reply: InReply,
    client_ends: Ends,
    commands: usize,
    last_progress: Instant,
}

/// What of a multi-line reply is going on.
enum InReply {
    No,
    Listing(Stuffing),
    Capabilities(StatusLine, Vec<u8>),
    Mechanisms(StatusLine, Vec<u8>),
    Mail(Box<Mail>),
}

/// Whether the client will say more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    NotYet,
    /// It gets the replies that it waits for.
    WhenAnswered,
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its last reply has been said.
    Said,
    /// The client is gone, silent or does not read.
    Client,
    /// The server is gone or silent, or what it says is not POP3.
    Server(&'static str),
    /// The reply under way cannot be completed.
    BreakOff,
}

/// What was heard of the client.
enum Heard {
    Nothing,
    Some,
    StartTls,
}

impl Session {
    /// Both sides are connected; the server has sent its greeting.
    pub fn new(client: Accepted, server: Upstream, shared: Arc<Shared>) -> Self {
        let settings = &client.gate.settings;
        let rules =
            Rules { errors_max: u32::try_from(settings.errors_max).unwrap_or(u32::MAX), ..Rules::default() };
        let stls = match settings.tls {
            Tls::Offered | Tls::Required => Offer::Yes,
            Tls::Off | Tls::Implicit => Offer::No,
        };
        let exchange = Exchange::new(rules, stls, credentials(&client, &server));
        let inspect = open_inspection(&client, &shared);
        Self {
            shared,
            client,
            server,
            exchange,
            lines: LineBuffer::new(),
            receiver: Receiver::new(),
            inspect,
            reply: InReply::No,
            client_ends: Ends::NotYet,
            commands: 0,
            last_progress: Instant::now(),
        }
    }

    /// From the greeting to the end, and why it came.
    pub async fn run(&mut self, greeting: &StatusLine) -> Over {
        match self.serve(greeting).await {
            Ok(never) => match never {},
            Err(over) => over,
        }
    }

    async fn serve(&mut self, greeting: &StatusLine) -> Result<std::convert::Infallible, Over> {
        self.status(greeting.clone())?;
        loop {
            self.work_off().await?;
            let from_server = self.read_server()?;
            let from_client = match self.read_client()? {
                Heard::StartTls => {
                    self.start_tls().await?;
                    true
                }
                Heard::Some => true,
                Heard::Nothing => false,
            };
            if from_server || from_client {
                self.last_progress = Instant::now();
                continue;
            }
            if self.client_ends == Ends::WhenAnswered
                && self.exchange.awaited().is_none()
                && !self.is_in_reply()
            {
                return Err(Over::Said);
            }
            self.wait().await?;
        }
    }

    fn is_in_reply(&self) -> bool {
        !matches!(self.reply, InReply::No)
    }

    fn is_busy(&self) -> bool {
        matches!(&self.reply, InReply::Mail(mail) if mail.is_busy())
    }

    fn server_reading(&self) -> Reading {
        let is_wanted = self.client.stream.pending_bytes() < PENDING_BYTES_MAX && !self.is_busy();
        if is_wanted { Reading::Wanted } else { Reading::Unwanted }
    }

    fn client_reading(&self) -> Reading {
        let is_wanted = self.client_ends == Ends::NotYet
            && self.exchange.reads() != Reads::Nothing
            && self.server.stream.pending_bytes() < PENDING_BYTES_MAX;
        if is_wanted { Reading::Wanted } else { Reading::Unwanted }
    }

    /// Waits until there is something to read or to send, or until time is up.
    async fn wait(&mut self) -> Result<(), Over> {
        // Sent first: for how long who is waited for depends on what could not be sent.
        self.client.stream.try_flush().map_err(client_gone)?;
        self.server.stream.try_flush().map_err(server_gone)?;
        let (client_reading, server_reading) = (self.client_reading(), self.server_reading());
        let pending = self.client.stream.pending_bytes();
        let is_draining = self.shared.drain.phase() > Phase::Serving;
        let (patience, over) = self.patience(is_draining);
        let shared = Arc::clone(&self.shared);
        tokio::select! {
            ready = self.server.stream.ready(server_reading) => ready.map_err(server_gone)?,
            ready = self.client.stream.ready(client_reading) => ready.map_err(client_gone)?,
            () = shared.drain.draining(), if !is_draining => {}
            () = sleep_until(self.last_progress + patience) => return Err(over),
        }
        if self.client.stream.pending_bytes() < pending {
            self.last_progress = Instant::now();
        }
        Ok(())
    }

    /// For how long who is waited for.
    fn patience(&self, is_draining: bool) -> (Duration, Over) {
        let timeouts = &self.client.gate.settings.timeouts;
        if self.client.stream.pending_bytes() > 0 {
            return (timeouts.data_block, Over::Client);
        }
        if self.is_in_reply() || self.exchange.awaits_server() {
            return (timeouts.reply, Over::Server("the mail server does not answer in time"));
        }
        // RFC 1939 section 3: the connection is closed without a word, and nothing is deleted.
        let idle = if is_draining { IDLE_TIMEOUT_DRAINING } else { timeouts.command.max(IDLE_TIMEOUT_MIN) };
        (idle, Over::Client)
    }

    /// Reads once from the server and passes on what came; says whether anything did.
    fn read_server(&mut self) -> Result<bool, Over> {
        if self.server_reading() == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| {
            let mut rest: &[u8] = match self.server.stream.try_read(scratch).map_err(server_gone)? {
                ReadOutcome::Bytes(count) => &scratch[..count],
                ReadOutcome::WouldBlock => return Ok(false),
                ReadOutcome::End => return Err(Over::Server("the mail server closed the connection")),
            };
            while !rest.is_empty() && !self.is_busy() {
                let step = self.receiver.step(rest);
                rest = &rest[step.consumed..];
                match step.frame {
                    Frame::NeedInput => {}
                    Frame::Status(line) => self.status(line)?,
                    Frame::Content(content) => self.content(content)?,
                    Frame::EndOfContent => self.end_of_content()?,
                    Frame::Malformed(_) => return Err(Over::Server("the mail server does not speak POP3")),
                }
            }
            self.server.stream.unread(rest);
            Ok(true)
        })
    }

    fn status(&mut self, line: StatusLine) -> Result<(), Over> {
        match self.exchange.status(&line) {
            Follows::Nothing | Follows::AuthLine => self.say_line(&line)?,
            Follows::Listing => {
                self.say_line(&line)?;
                self.expect(InReply::Listing(Stuffing::new()));
            }
            Follows::Capabilities => self.expect(InReply::Capabilities(line, Vec::new())),
            Follows::Mechanisms => self.expect(InReply::Mechanisms(line, Vec::new())),
            Follows::Message { number, extent } => {
                let mail = self.open_mail(number, extent, line);
                self.expect(InReply::Mail(Box::new(mail)));
            }
            Follows::Close => {
                self.say_line(&line)?;
                return Err(Over::Said);
            }
            Follows::OutOfStep => return Err(Over::Server("the mail server's replies are out of step")),
        }
        self.say_local_replies()
    }

    fn expect(&mut self, reply: InReply) {
        self.receiver.expect_content();
        self.reply = reply;
    }

    fn open_mail(&mut self, number: u64, extent: Extent, status: StatusLine) -> Mail {
        if !Arc::ptr_eq(self.inspect.generation(), &self.shared.generation.load()) {
            self.inspect = open_inspection(&self.client, &self.shared);
        }
        let group = Arc::clone(self.inspect.group_for(None));
        let about = Transaction {
            id: TransactionId(self.shared.next_id()),
            direction: Direction::ToClient,
            group: group.name.clone(),
            sender: None,
            recipients: Vec::new(),
            name: Some(format!("message {number}")),
            length: None,
        };
        let settings = &self.client.gate.settings;
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let plan = HoldPlan::HeadAndTail {
            hold_bytes: bytes(settings.hold_bytes),
            tail_bytes: bytes(settings.tail_bytes),
        };
        let inspection = self.inspect.begin(&about, group, Root::Mail, plan);
        Mail::new(about, extent, status, inspection, &self.shared.settings.load())
    }

    fn content(&mut self, content: &[u8]) -> Result<(), Over> {
        let client = &mut self.client.stream;
        match &mut self.reply {
            InReply::Listing(stuffing) => {
                stuffing.pieces(content).try_for_each(|piece| client.queue(piece)).map_err(client_gone)
            }
            InReply::Capabilities(_, gathered) | InReply::Mechanisms(_, gathered) => {
                if gathered.len() + content.len() > ANSWER_BYTES_MAX {
                    return Err(Over::Server("the mail server's list is too long"));
                }
                gathered.extend_from_slice(content);
                Ok(())
            }
            InReply::Mail(mail) => {
                let hostname = &self.shared.settings.load().hostname;
                mail.push(content, client, hostname).map_err(client_gone)
            }
            InReply::No => Ok(()),
        }
    }

    fn end_of_content(&mut self) -> Result<(), Over> {
        let terms = self.exchange.terms();
        let client = &mut self.client.stream;
        match std::mem::replace(&mut self.reply, InReply::No) {
            InReply::Listing(stuffing) => client.queue(stuffing.end()).map_err(client_gone)?,
            InReply::Capabilities(line, answer) => {
                self.say_list(&line, &filter_capa(&answer, terms))?;
            }
            InReply::Mechanisms(line, answer) => {
                self.say_list(&line, &filter_auth_list(&answer, terms.credentials))?;
            }
            InReply::Mail(mut mail) => {
                let hostname = &self.shared.settings.load().hostname;
                let outcome = mail.end(client, hostname).map_err(client_gone)?;
                self.reply = InReply::Mail(mail);
                self.mail_came_to(outcome)?;
            }
            InReply::No => {}
        }
        self.say_local_replies()
    }

    fn mail_came_to(&mut self, outcome: Outcome) -> Result<(), Over> {
        match outcome {
            Outcome::More => Ok(()),
            Outcome::Complete => {
                self.note_mail();
                self.say_local_replies()
            }
            Outcome::BreakOff => Err(Over::BreakOff),
        }
    }

    fn note_mail(&mut self) {
        if let InReply::Mail(mail) = std::mem::replace(&mut self.reply, InReply::No) {
            mail.note(self.inspect.flow(), &self.shared);
        }
    }

    /// Inspects what came when the time of one push was spent, while other sessions run in between.
    async fn work_off(&mut self) -> Result<(), Over> {
        while let InReply::Mail(mail) = &mut self.reply
            && mail.is_busy()
        {
            if mail.is_to_be_kept() {
                mail.keep().await;
            }
            let client = &mut self.client.stream;
            let hostname = &self.shared.settings.load_full().hostname;
            let outcome = turn::quantum(|| mail.work(client, hostname)).await.map_err(client_gone)?;
            if client.pending_bytes() >= PENDING_BYTES_MAX {
                let patience = self.client.visitor.gate.settings.timeouts.data_block;
                let flushed = timeout(patience, client.flush()).await;
                flushed.map_err(|_| Over::Client)?.map_err(client_gone)?;
            }
            self.last_progress = Instant::now();
            self.mail_came_to(outcome)?;
        }
        Ok(())
    }

    /// Reads once from the client and passes on what came.
    fn read_client(&mut self) -> Result<Heard, Over> {
        if self.client_reading() == Reading::Unwanted {
            return Ok(Heard::Nothing);
        }
        with_scratch(|scratch| {
            let mut rest: &[u8] = match self.client.stream.try_read(scratch).map_err(client_gone)? {
                ReadOutcome::Bytes(count) => &scratch[..count],
                ReadOutcome::WouldBlock => return Ok(Heard::Nothing),
                ReadOutcome::End => {
                    self.client_ends = Ends::WhenAnswered;
                    return Ok(Heard::Nothing);
                }
            };
            // Mere bytes are no progress: a line that never ends has the time of a client that is silent.
            let mut heard = Heard::Nothing;
            while !rest.is_empty() && self.client_ends == Ends::NotYet {
                let bytes_max = match self.exchange.reads() {
                    Reads::Nothing => break,
                    Reads::Commands => COMMAND_LINE_BYTES_MAX,
                    Reads::AuthLine => AUTH_LINE_BYTES_MAX,
                };
                let (consumed, step) = self.lines.step(rest, bytes_max, LineEnd::CrLf);
                rest = &rest[consumed..];
                let turn = match step {
                    LineStep::NeedInput => break,
                    LineStep::Line(line) => self.line(&line)?,
                    LineStep::Bad(why) => self.exchange.bad_line(why),
                };
                heard = Heard::Some;
                match turn {
                    Turn::Relay | Turn::Answered => {}
                    // What came behind it is forgotten (RFC 2595 section 4).
                    Turn::StartTls => return Ok(Heard::StartTls),
                    Turn::Close => self.client_ends = Ends::WhenAnswered,
                }
                self.say_local_replies()?;
            }
            self.client.stream.unread(rest);
            Ok(heard)
        })
    }

    /// A line of the client's: relayed, if it may be.
    fn line(&mut self, line: &[u8]) -> Result<Turn, Over> {
        self.commands += 1;
        if self.commands > self.client.gate.settings.commands_max {
            return Ok(Turn::Close);
        }
        let turn = match self.exchange.reads() {
            Reads::AuthLine => match self.exchange.auth_line(line) {
                // The server still awaits a line of the dialogue, so no reply of its is due.
                Turn::Close => return Err(Over::Client),
                turn => turn,
            },
            Reads::Commands | Reads::Nothing => self.exchange.line(line),
        };
        if turn == Turn::Relay {
            let server = &mut self.server.stream;
            server.queue(line).and_then(|()| server.queue(b"\r\n")).map_err(server_gone)?;
        }
        Ok(turn)
    }

    async fn start_tls(&mut self) -> Result<(), Over> {
        self.client.stream.queue(b"+OK begin TLS negotiation\r\n").map_err(client_gone)?;
        accept_tls(&mut self.client).await.map_err(client_gone)?;
        self.lines = LineBuffer::new();
        self.exchange.tls_started(credentials(&self.client, &self.server));
        Ok(())
    }

    /// Replies of ours that are due: not within another reply.
    fn say_local_replies(&mut self) -> Result<(), Over> {
        while !self.is_in_reply()
            && let Some(reply) = self.exchange.local_reply()
        {
            self.client.stream.queue(&reply).map_err(client_gone)?;
        }
        Ok(())
    }

    fn say_line(&mut self, line: &StatusLine) -> Result<(), Over> {
        let client = &mut self.client.stream;
        client.queue(&line.line).and_then(|()| client.queue(b"\r\n")).map_err(client_gone)
    }

    fn say_list(&mut self, line: &StatusLine, lines: &[u8]) -> Result<(), Over> {
        self.say_line(line)?;
        let client = &mut self.client.stream;
        client.queue(lines).and_then(|()| client.queue(b".\r\n")).map_err(client_gone)
    }

    /// Says the last words that are due, and leaves both sides.
    pub async fn end(mut self: Box<Self>, over: Over) {
        // Whether the next thing that the client awaits is a status line.
        let is_between = match &self.reply {
            InReply::No | InReply::Capabilities(..) | InReply::Mechanisms(..) => true,
            InReply::Mail(mail) => mail.is_unsaid(),
            InReply::Listing(_) => false,
        };
        self.note_mail();
        let Self { mut client, server, .. } = *self;
        // The server must not take this for a QUIT: nothing is deleted that the client has not said so.
        drop(server);
        match over {
            Over::BreakOff => client.stream.abort(),
            Over::Server(_) if !is_between => client.stream.abort(),
            Over::Server(why) => {
                let line = status_line(Status::Err, &format!("[SYS/TEMP] {why}; try again later"));
                let _ = client.stream.queue(&line);
                client.stream.close(LINGER).await;
            }
            Over::Said => {
                // All has been said, but a slow reader may not have it yet.
                let patience = client.gate.settings.timeouts.data_block;
                let _ = timeout(patience, client.stream.flush()).await;
                client.stream.close(LINGER).await;
            }
            Over::Client => client.stream.close(LINGER).await,
        }
    }
}

/// Whether passwords are taken: not in clear where TLS is required, and not under TLS where they would go on in clear.
fn credentials(client: &Accepted, server: &Upstream) -> Offer {
    let settings = &client.gate.settings;
    if !client.stream.is_tls() {
        return if settings.tls == Tls::Required { Offer::No } else { Offer::Yes };
    }
    // A server on this machine hears them on no wire.
    let is_safe = server.stream.is_tls() || server.address.ip().is_loopback();
    if is_safe || settings.plaintext_credentials_upstream.is_on() { Offer::Yes } else { Offer::No }
}

fn open_inspection(client: &Accepted, shared: &Shared) -> InspectSession {
    client.open_inspection(Protocol::Pop3, client.client, shared)
}

fn client_gone(_: io::Error) -> Over {
    Over::Client
}

fn server_gone(_: io::Error) -> Over {
    Over::Server("the connection to the mail server broke")
}
