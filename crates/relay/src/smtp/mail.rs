//! A mail's content from DATA or BDAT to the reply: begun, received, judged, sent on or taken back. Rule: one reply for it,
//! and none that says it went on before it has.

use super::content::Incoming;
use super::downstream::Over;
use super::session::Session;
use super::transfer::{Destination, Transfer};
use super::{replies, trace};
use crate::events::{Action, Mail, Record};
use crate::heading::Heading;
use crate::quarantine::Copy;
use lockgate_inspect::{HoldPlan, Judgement, Root};
use lockgate_model::{Buffer, Direction, Transaction, TransactionId, Verdict};
use lockgate_proto::smtp::command::Last;
use lockgate_proto::smtp::receiver::LineEnds;
use lockgate_proto::smtp::{Frame, Reply};

/// A mail that is coming in.
pub struct Begun {
    /// Its names.
    pub about: Transaction,
    /// Its content.
    pub incoming: Incoming,
}

/// What is written down of a mail.
struct Ended<'a> {
    about: &'a Transaction,
    heading: &'a Heading,
    judgement: &'a Judgement,
    /// Received, and let go.
    bytes: (u64, u64),
}

impl Session {
    pub(super) async fn data(&mut self) -> Result<(), Over> {
        if !self.begin() {
            self.order.rejected();
            return self.down.say(&replies::lost("its connection is gone"));
        }
        self.down.say(&Reply::plain(354, &["send the mail, end it with a line that has a dot only"]))?;
        self.order.accepted();
        self.down.receiver.expect_data(LineEnds::Refuse);
        self.receive().await?;
        self.conclude().await
    }

    pub(super) async fn chunk(&mut self, bytes: u64, last: Last) -> Result<(), Over> {
        self.down.receiver.expect_chunk(bytes);
        if self.incoming.is_none() && !self.begin() {
            let reply = replies::lost("its connection is gone");
            self.order.rejected();
            return self.swallow(&reply).await;
        }
        self.receive().await?;
        if last == Last::Yes {
            return self.conclude().await;
        }
        match self.incoming.as_ref().and_then(|begun| begun.incoming.refusal().cloned()) {
            None => {
                self.order.accepted();
                self.down.say(&Reply::new(250, "2.0.0", &format!("{bytes} octets received")))
            }
            Some(refusal) => {
                self.order.rejected();
                self.down.say(&refusal)
            }
        }
    }

    /// A chunk that is out of order comes whatever the answer.
    pub(super) async fn swallow_chunk(&mut self, bytes: u64, reply: &Reply) -> Result<(), Over> {
        self.down.receiver.expect_chunk(bytes);
        self.swallow(reply).await
    }

    async fn swallow(&mut self, reply: &Reply) -> Result<(), Over> {
        let patience = self.settings().timeouts.data_block;
        while self.down.frame(patience, |frame| matches!(frame, Frame::EndOfContent)).await? != Some(true) {}
        self.down.say(reply)
    }

    /// The inspection and the transfer of a mail begin; `false` where there is nowhere to send it.
    fn begin(&mut self) -> bool {
        let settings = &self.down.accepted.gate.settings;
        let (Some(envelope), Some(destination)) = (&self.envelope, &self.destination) else { return false };
        let group = envelope.group.clone();
        let group = group.unwrap_or_else(|| self.inspect.group_for(None).clone());
        let about = Transaction {
            id: TransactionId(self.shared.next_id()),
            direction: Direction::ToServer,
            group: group.name.clone(),
            sender: Some(envelope.sender.clone()),
            recipients: envelope.recipients.clone(),
            name: None,
            length: None,
        };
        let prefix = if settings.trace_header.is_on() {
            let hostname = &self.shared.settings.load().hostname;
            trace::received(self.forwarded.as_ref().unwrap_or(&self.client), &self.down, hostname, about.id)
        } else {
            Vec::new()
        };
        let hold_bytes = usize::try_from(settings.hold_bytes).unwrap_or(usize::MAX);
        let copy = Copy::begin(&group, &self.shared.settings.load(), &about);
        let mut inspection = self.inspect.begin(&about, group, Root::Mail, HoldPlan::Head { hold_bytes });
        inspection.about(Buffer::SmtpHelo, self.client.helo.as_bytes());
        inspection.about(Buffer::SmtpMailFrom, envelope.sender.as_bytes());
        for recipient in &envelope.recipients {
            inspection.about(Buffer::SmtpRcptTo, recipient.as_bytes());
        }
        let transfer = Transfer::new(destination, settings.chunking, prefix);
        let incoming = Incoming::new(inspection, transfer, copy, settings.message_bytes_max);
        self.incoming = Some(Begun { about, incoming });
        true
    }

    async fn receive(&mut self) -> Result<(), Over> {
        let timeouts = &self.down.accepted.gate.settings.timeouts.clone();
        let (Some(begun), Some(destination)) = (&mut self.incoming, &mut self.destination) else {
            return Err(Over::Gone);
        };
        begun.incoming.receive(&mut self.down, destination, timeouts).await
    }

    /// All content is in: the judgement, what follows from it, and the client's reply.
    async fn conclude(&mut self) -> Result<(), Over> {
        let timeouts = self.settings().timeouts.clone();
        let (Some(mut begun), Some(mut destination)) = (self.incoming.take(), self.destination.take()) else {
            return Err(Over::Gone);
        };
        begun.incoming.finish().await;
        let judgement = begun.incoming.inspection.judgement().clone();
        let refusal = begun.incoming.refusal().cloned();
        let Incoming { mut inspection, transfer, copy, heading, .. } = begun.incoming;
        let refusal = match refusal {
            Some(reply) => Some(reply),
            None => judged(&judgement, begun.about.id, copy).await,
        };
        let (reply, after) = match refusal {
            Some(reply) => (reply, transfer.abort(&mut destination, &timeouts).await),
            None => {
                let tag = if judgement.verdict == Verdict::Tag {
                    trace::tag(&judgement, begun.about.id)
                } else {
                    Vec::new()
                };
                let rest = inspection.release(&tag);
                transfer.commit(rest, &mut destination, &timeouts).await
            }
        };
        let (wire, released) = (inspection.wire_bytes(), inspection.released_bytes());
        let action = action_for(&reply, &judgement, &destination);
        self.destination = Some(destination);
        self.destination_is(after);
        let ended =
            Ended { about: &begun.about, heading: &heading, judgement: &judgement, bytes: (wire, released) };
        self.note(&ended, action, &reply.to_string());
        self.envelope = None;
        if reply.is_completed() {
            self.order.accepted()
        } else {
            self.order.rejected()
        }
        self.down.say(&reply)
    }

    /// A mail whose client is gone before its end.
    pub(super) fn note_lost_mail(&mut self) {
        if let Some(begun) = self.incoming.take() {
            let inspection = &begun.incoming.inspection;
            let bytes = (inspection.wire_bytes(), inspection.released_bytes());
            let (heading, judgement) = (&begun.incoming.heading, inspection.judgement());
            self.note(&Ended { about: &begun.about, heading, judgement, bytes }, Action::Lost, "");
        }
    }

    fn note(&self, ended: &Ended<'_>, action: Action, reply: &str) {
        let heading = ended.heading;
        let mail = Mail {
            helo: Some(self.client.helo.as_str()),
            from: heading.from.as_deref(),
            to: heading.to.as_deref(),
            subject: heading.subject.as_deref(),
            message_id: heading.message_id.as_deref(),
        };
        self.events().verdict(&Record {
            flow: self.inspect.flow(),
            about: ended.about,
            mail,
            http: None,
            judgement: ended.judgement,
            action,
            reply,
            wire_bytes: ended.bytes.0,
            released_bytes: ended.bytes.1,
        });
    }
}

/// The reply to a mail that goes no further; `None` where it goes on. One for the quarantine is acknowledged only when it
/// is there: else the client keeps it and comes again.
async fn judged(judgement: &Judgement, id: TransactionId, copy: Copy) -> Option<Reply> {
    let reply = replies::judged(judgement, id)?;
    if judgement.verdict == Verdict::Quarantine
        && let Err(error) = copy.keep().await
    {
        return Some(replies::not_stored(&error.to_string()));
    }
    Some(reply)
}

fn action_for(reply: &Reply, judgement: &Judgement, destination: &Destination) -> Action {
    match (reply.code() / 100, destination) {
        (2, _) if judgement.verdict == Verdict::Quarantine => Action::Quarantined,
        (2, Destination::Server(_)) => Action::Forwarded,
        (2, Destination::Maildir(_)) => Action::Delivered,
        (4, _) => Action::Deferred,
        _ => Action::Refused,
    }
}
