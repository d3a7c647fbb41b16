//! Who writes to whom: MAIL and RCPT. Rule: the gateway relays for nobody whom the next hop would not have served.

use super::downstream::Over;
use super::next_hop::{Knows, NextHop, Trouble};
use super::replies;
use super::session::Session;
use super::transfer::Destination;
use lockgate_inspect::Group;
use lockgate_proto::smtp::sender::{EightBit, mail_line, rcpt_line};
use lockgate_proto::smtp::{Address, Parameters, Path, Reply};
use std::sync::Arc;
use std::time::Duration;

/// The envelope of a mail that was begun.
pub struct Envelope {
    /// The sender; empty for the null path.
    pub sender: String,
    /// Those accepted.
    pub recipients: Vec<String>,
    /// The policy of the first of them, which is that of all.
    pub group: Option<Arc<Group>>,
}

impl Session {
    pub(super) async fn mail(&mut self, path: Path, parameters: Parameters) -> Result<(), Over> {
        if !Arc::ptr_eq(self.inspect.generation(), &self.shared.generation.load()) {
            self.renew_inspection();
        }
        if self.order.is_authenticated() && self.destination.is_none() {
            return self.refuse_for(&Trouble::Lost("its connection is gone".into()));
        }
        if let Err(trouble) = self.reach_destination().await {
            return self.refuse_for(&trouble);
        }
        let patience = self.settings().timeouts.reply;
        let asked = match &mut self.destination {
            Some(Destination::Server(hop)) => {
                let line = mail_line(&path, &parameters, &hop.capabilities, EightBit::Pass);
                ask(hop, line, patience).await
            }
            _ => Ok(Reply::new(250, "2.1.0", "OK")),
        };
        let reply = match asked {
            Ok(reply) => reply,
            Err(trouble) => {
                self.destination = None;
                return self.refuse_for(&trouble);
            }
        };
        if reply.is_completed() {
            let sender = path.as_str().to_owned();
            self.envelope = Some(Envelope { sender, recipients: Vec::new(), group: None });
            self.order.accepted();
        } else {
            self.order.rejected();
        }
        self.down.say(&reply)
    }

    pub(super) async fn rcpt(&mut self, path: Path, parameters: Parameters) -> Result<(), Over> {
        let (Some(address), Some(envelope)) = (path.address(), &self.envelope) else {
            self.order.rejected();
            return self.down.say(&Reply::new(503, "5.5.1", "send MAIL first"));
        };
        let group = Arc::clone(self.inspect.group_for(Some(address.as_str())));
        // One DATA has one answer for all: who is judged by another policy comes in a mail of its own.
        if envelope.group.as_ref().is_some_and(|first| first.name != group.name) {
            self.order.put_off();
            return self.down.say(&replies::other_group());
        }
        if !self.may_relay_to(address) {
            self.order.rejected();
            return self.down.say(&replies::relaying_denied(address.as_str()));
        }
        let patience = self.settings().timeouts.reply;
        let asked = match &mut self.destination {
            Some(Destination::Server(hop)) => {
                let line = rcpt_line(&path, &parameters, &hop.capabilities);
                ask(hop, line, patience).await
            }
            Some(Destination::Maildir(_)) => Ok(Reply::new(250, "2.1.5", "OK")),
            None => Err(Trouble::Lost("its connection is gone".into())),
        };
        let reply = match asked {
            Ok(reply) => reply,
            Err(trouble) => {
                // What it was told of this mail is gone with it; the client hears so at each further step until RSET.
                self.destination = None;
                return self.refuse_for(&trouble);
            }
        };
        if let (true, Some(envelope)) = (reply.is_completed(), &mut self.envelope) {
            envelope.recipients.push(path.as_str().to_owned());
            envelope.group.get_or_insert(group);
            self.order.accepted();
        } else {
            self.order.rejected();
        }
        self.down.say(&reply)
    }

    /// Whether a mail for this address may be handed to the next hop.
    ///
    /// A next hop that knows the client, by its address or its password, judges itself. One that sees only the gateway
    /// may trust it more than the client deserves, so it gets nothing but mail for the configured domains, unless a mail
    /// server that is trusted to have judged forwards it.
    fn may_relay_to(&self, address: &Address) -> bool {
        let hop_judges = match &self.destination {
            Some(Destination::Server(hop)) => hop.knows == Knows::Client,
            Some(Destination::Maildir(_)) => true,
            None => false,
        };
        let settings = self.settings();
        let peer = self.down.accepted.client.ip();
        let is_forwarded =
            self.forwarded.is_some() || settings.accept_xforward_from.iter().any(|n| n.contains(peer));
        if hop_judges || self.order.is_authenticated() || is_forwarded {
            return true;
        }
        address.belongs_to(&settings.relay_domains)
    }
}

/// A command for the next hop, or the reply that stands in its place.
async fn ask(hop: &mut NextHop, line: Result<Vec<u8>, Reply>, patience: Duration) -> Result<Reply, Trouble> {
    match line {
        Ok(line) => hop.command(&line, patience).await,
        Err(reply) => Ok(reply),
    }
}
