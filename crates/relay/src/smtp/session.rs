//! One client's session: [`Session`]. Rule: every action of the protocol is one function, and each says one reply.

use super::downstream::{Downstream, Heard, Over};
use super::envelope::Envelope;
use super::introduce::{self, Client};
use super::mail::Begun;
use super::next_hop::Trouble;
use super::transfer::{After, Destination, take_back};
use super::{known, replies};
use crate::events::Events;
use crate::listener::Accepted;
use crate::maildir::Maildir;
use crate::settings::{Listener, NextHop, NextHopTls, Tls};
use crate::shared::Shared;
use crate::stream::Stream;
use lockgate_inspect::Session as InspectSession;
use lockgate_model::Protocol;
use lockgate_proto::smtp::capabilities::{Offer, Terms};
use lockgate_proto::smtp::server::{Hello, Rules, TlsRule};
use lockgate_proto::smtp::{Action, Capabilities, Reply, Session as Order};
use std::sync::Arc;
use std::time::Duration;

/// How long our last words may take to arrive.
const LINGER: Duration = Duration::from_secs(2);

/// One client's session.
pub struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) down: Downstream,
    /// What is in order.
    pub(super) order: Order,
    pub(super) inspect: InspectSession,
    pub(super) client: Client,
    /// A trusted mail server's client, as XFORWARD told it: that server has judged relaying.
    pub(super) forwarded: Option<Client>,
    pub(super) destination: Option<Destination>,
    pub(super) envelope: Option<Envelope>,
    pub(super) incoming: Option<Begun>,
}

impl Session {
    /// A connection whose greeting has not been sent.
    pub fn new(accepted: Accepted, shared: Arc<Shared>) -> Self {
        let settings = &accepted.gate.settings;
        let rules = Rules {
            recipients_max: u32::try_from(settings.recipients_max).unwrap_or(u32::MAX),
            errors_max: u32::try_from(settings.errors_max).unwrap_or(u32::MAX),
            idle_commands_max: u32::try_from(settings.commands_max).unwrap_or(u32::MAX),
            tls: if settings.tls == Tls::Required { TlsRule::Required } else { TlsRule::Optional },
            ..Rules::default()
        };
        let client = Client { address: accepted.client, helo: String::new(), name: None, protocol: "SMTP" };
        let inspect = open_inspection(&accepted, &shared, &client);
        Self {
            down: Downstream::new(accepted),
            shared,
            order: Order::new(rules),
            inspect,
            client,
            forwarded: None,
            destination: None,
            envelope: None,
            incoming: None,
        }
    }

    /// The listener's settings.
    pub(super) fn settings(&self) -> &Listener {
        &self.down.accepted.gate.settings
    }

    pub(super) fn events(&self) -> Arc<Events> {
        self.shared.events.load_full()
    }

    /// From the greeting to the end, and why it came.
    pub async fn run(&mut self) -> Over {
        match self.serve().await {
            Ok(never) => match never {},
            Err(over) => over,
        }
    }

    async fn serve(&mut self) -> Result<std::convert::Infallible, Over> {
        if self.settings().tls == Tls::Implicit {
            self.accept_tls().await?;
        }
        self.greet()?;
        let shared = Arc::clone(&self.shared);
        loop {
            let patience = self.settings().timeouts.command;
            let action = match self.down.line(patience, shared.drain.draining()).await? {
                Heard::Line(line, behind) => {
                    self.ask_about(&line)?;
                    self.order.line(&line, behind)
                }
                Heard::BadLine(why) => self.order.bad_line(why),
            };
            self.perform(action).await?;
        }
    }

    async fn perform(&mut self, action: Action) -> Result<(), Over> {
        match action {
            Action::Reply(reply) => self.down.say(&reply),
            Action::Close(reply) => {
                self.down.say(&reply)?;
                Err(Over::Said)
            }
            Action::Hello { name, hello } => self.hello(name, hello).await,
            Action::StartTls => self.start_tls().await,
            Action::Auth { mechanism, initial } => self.auth(&mechanism, initial.as_deref()).await,
            Action::Mail { path, parameters } => self.mail(path, parameters).await,
            Action::Rcpt { path, parameters } => self.rcpt(path, parameters).await,
            Action::Data => self.data().await,
            Action::Chunk { bytes, last } => self.chunk(bytes, last).await,
            Action::SwallowChunk { bytes, reply } => self.swallow_chunk(bytes, &reply).await,
            Action::Reset => {
                self.take_mail_back().await;
                self.down.say(&Reply::new(250, "2.0.0", "OK"))
            }
            Action::Xclient(attributes) => self.xclient(&attributes).await,
            Action::Xforward(attributes) => self.xforward(&attributes),
        }
    }

    /// Says the last words that are due, and leaves both sides.
    pub async fn end(mut self, over: Over) {
        let last_words = match over {
            Over::Silent => Some(replies::silent()),
            Over::Draining => Some(replies::draining()),
            Over::Gone | Over::Said => None,
        };
        if let Some(reply) = last_words {
            let _ = self.down.say(&reply);
        }
        self.note_lost_mail();
        let mail_was_open = self.envelope.is_some();
        let leave = async {
            match self.destination.take() {
                // A connection that is dropped within a mail delivers nothing.
                Some(Destination::Server(hop)) if !mail_was_open => hop.quit().await,
                _ => {}
            }
        };
        let down = self.down;
        tokio::join!(leave, down.accepted.close(LINGER));
    }

    pub(super) fn greet(&mut self) -> Result<(), Over> {
        let hostname = self.shared.settings.load().hostname.clone();
        self.down.say(&replies::greeting(&hostname))
    }

    async fn hello(&mut self, name: String, hello: Hello) -> Result<(), Over> {
        self.take_mail_back().await;
        if name != self.client.helo {
            // The next hop was told another name.
            self.leave_next_hop().await;
        }
        self.client.helo = name;
        self.client.protocol = if hello == Hello::Ehlo { "ESMTP" } else { "SMTP" };
        let hostname = self.shared.settings.load().hostname.clone();
        if hello == Hello::Helo {
            self.order.greeted(Capabilities::none());
            return self.down.say(&Reply::plain(250, &[&hostname]));
        }
        let hop = match self.next_hop_offers().await {
            Ok(hop) => hop,
            Err(trouble) => {
                self.down.say(&replies::unavailable(421, &trouble.to_string()))?;
                return Err(Over::Said);
            }
        };
        let offered = hop.capabilities.offered_under(&self.terms(&hop));
        self.down.say(&offered.to_reply(&hostname))?;
        self.order.greeted(offered);
        Ok(())
    }

    /// What is ours to decide.
    fn terms(&self, hop: &known::Hop) -> Terms<'static> {
        const XCLIENT: &[&str] = &["NAME", "ADDR", "PORT", "PROTO", "HELO"];
        const XFORWARD: &[&str] = &["NAME", "ADDR", "PORT", "PROTO", "HELO", "IDENT", "SOURCE"];
        let settings = self.settings();
        let address = self.down.accepted.client.ip();
        let trusts = |networks: &[lockgate_model::Network]| networks.iter().any(|n| n.contains(address));
        let is_encrypted = self.down.accepted.stream.is_tls();
        let has_tls = matches!(settings.tls, Tls::Offered | Tls::Required);
        Terms {
            size_max: Some(settings.message_bytes_max),
            start_tls: if has_tls && !is_encrypted { Offer::Yes } else { Offer::No },
            auth: if self.may_authenticate(is_encrypted, hop.is_encrypted) { Offer::Yes } else { Offer::No },
            xclient: if trusts(&settings.accept_xclient_from) { XCLIENT } else { &[] },
            xforward: if trusts(&settings.accept_xforward_from) { XFORWARD } else { &[] },
        }
    }

    /// What the next hop offers: as it was lately, or as it says now.
    async fn next_hop_offers(&mut self) -> Result<known::Hop, Trouble> {
        if matches!(self.settings().next_hop, NextHop::Maildir(_)) {
            return Ok(known::Hop { capabilities: Capabilities::ours(), is_encrypted: true });
        }
        let name = self.next_hop_name();
        if self.destination.is_none()
            && let Some(hop) = known::recall(&name)
        {
            return Ok(hop);
        }
        self.reach_destination().await?;
        known::recall(&name).ok_or_else(|| Trouble::Unavailable("what it offers is not known".into()))
    }

    /// Makes sure that there is somewhere for mail to go.
    pub(super) async fn reach_destination(&mut self) -> Result<(), Trouble> {
        if let Some(Destination::Server(hop)) = &mut self.destination
            && hop.is_stale()
        {
            self.destination = None;
        }
        if self.destination.is_some() {
            return Ok(());
        }
        if let NextHop::Maildir(path) = &self.settings().next_hop {
            let hostname = &self.shared.settings.load().hostname;
            let maildir = Maildir::open(path, hostname);
            let maildir = maildir.map_err(|e| Trouble::Unavailable(format!("{}: {e}", path.display())))?;
            self.destination = Some(Destination::Maildir(maildir));
            return Ok(());
        }
        let client = self.forwarded.as_ref().unwrap_or(&self.client);
        let hop = introduce::open(&self.down.accepted, client, &self.shared).await?;
        known::remember(
            &self.next_hop_name(),
            &known::Hop { capabilities: hop.capabilities.clone(), is_encrypted: hop.is_encrypted() },
        );
        self.destination = Some(Destination::Server(Box::new(hop)));
        Ok(())
    }

    /// The listener and its next hop: what it offers may depend on both.
    fn next_hop_name(&self) -> String {
        let settings = self.settings();
        match &settings.next_hop {
            NextHop::Original => format!("{} {}", settings.name, self.down.accepted.server),
            other => format!("{} {other}", settings.name),
        }
    }

    pub(super) async fn leave_next_hop(&mut self) {
        if let Some(Destination::Server(hop)) = self.destination.take() {
            hop.quit().await;
        }
    }

    /// The mail that was begun goes no further.
    pub(super) async fn take_mail_back(&mut self) {
        let timeouts = self.settings().timeouts.clone();
        let begun = self.incoming.take();
        if self.envelope.take().is_none() {
            return;
        }
        let Some(destination) = &mut self.destination else { return };
        let after = match (begun, &mut *destination) {
            (Some(begun), destination) => begun.incoming.transfer.abort(destination, &timeouts).await,
            (None, Destination::Server(hop)) => match take_back(hop, &timeouts).await {
                Ok(()) => After::Usable,
                Err(_) => After::Dropped,
            },
            (None, Destination::Maildir(_)) => After::Usable,
        };
        self.destination_is(after);
    }

    /// Forgets a next hop that had to be dropped; a client that it knew by its password must come again.
    pub(super) fn destination_is(&mut self, after: After) {
        if after == After::Dropped {
            self.destination = None;
            if self.order.is_authenticated() {
                self.order.close_at_next_command(replies::identity_lost());
            }
        }
    }

    /// The inspection of this connection begins anew, with what is loaded now and the client as it is known now.
    pub(super) fn renew_inspection(&mut self) {
        let client = self.forwarded.as_ref().unwrap_or(&self.client);
        self.inspect = open_inspection(&self.down.accepted, &self.shared, client);
    }

    /// Whether the next hop's TLS must be on for a password to go on.
    pub(super) fn may_authenticate(&self, client_is_encrypted: bool, next_hop_is_encrypted: bool) -> bool {
        let settings = self.settings();
        let tls_is_offered = matches!(settings.tls, Tls::Offered | Tls::Required);
        if !client_is_encrypted {
            // Where TLS is to be had, no password is asked for without it.
            return !tls_is_offered;
        }
        next_hop_is_encrypted
            || settings.plaintext_credentials_upstream.is_on()
            || matches!(settings.next_hop_tls, NextHopTls::Required | NextHopTls::Implicit)
    }
}

fn open_inspection(accepted: &Accepted, shared: &Shared, client: &Client) -> InspectSession {
    accepted.open_inspection(Protocol::Smtp, client.address, shared)
}

impl Accepted {
    /// Ends the client's connection in order.
    async fn close(self, linger: Duration) {
        let stream: Stream = self.stream;
        stream.close(linger).await;
    }
}
