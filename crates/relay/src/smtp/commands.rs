//! What a client commands, as rules about bytes see it. Rule: a line is asked about before anything is done for it.

use super::downstream::Over;
use super::replies;
use super::session::Session;
use crate::events::{Action, Mail, Record};
use lockgate_inspect::{HoldPlan, Judgement, Root};
use lockgate_model::{Buffer, Direction, Transaction, TransactionId, Verdict};

const LINE_END: &[u8] = b"\r\n";

impl Session {
    /// Asks the engines about a line. One that they stop is the last of its session.
    pub(super) fn ask_about(&mut self, line: &[u8]) -> Result<(), Over> {
        if !self.inspect.wants(Buffer::Payload) {
            return Ok(());
        }
        let group = self.inspect.group_for(None).clone();
        let about = Transaction {
            id: TransactionId(self.shared.next_id()),
            direction: Direction::ToServer,
            group: group.name.clone(),
            sender: None,
            recipients: Vec::new(),
            name: None,
            length: None,
        };
        // Rules may begin with the end of the line before.
        let before = if self.client.helo.is_empty() { &[] } else { LINE_END };
        let mut inspection = self.inspect.begin(&about, group, Root::File, HoldPlan::Discard);
        inspection.about(Buffer::Payload, &[before, line, LINE_END].concat());
        let mut judgement = inspection.judgement().clone();
        if judgement.findings.is_empty() && judgement.incomplete.is_empty() {
            return Ok(());
        }
        if judgement.verdict == Verdict::Quarantine {
            // There is nothing to be kept of a line.
            judgement.verdict = Verdict::Reject;
        }
        let refusal = replies::judged(&judgement, about.id);
        let text = refusal.as_ref().map(ToString::to_string).unwrap_or_default();
        self.note_line(&about, &judgement, line.len() as u64, &text);
        let Some(refusal) = refusal else { return Ok(()) };
        self.down.say(&refusal)?;
        Err(Over::Said)
    }

    fn note_line(&self, about: &Transaction, judgement: &Judgement, bytes: u64, reply: &str) {
        let action = match judgement.verdict {
            Verdict::Pass | Verdict::Tag => Action::Forwarded,
            Verdict::Defer => Action::Deferred,
            Verdict::Quarantine | Verdict::Reject => Action::Refused,
        };
        let helo = Some(self.client.helo.as_str()).filter(|helo| !helo.is_empty());
        self.events().verdict(&Record {
            flow: self.inspect.flow(),
            about,
            mail: Mail { helo, from: None, to: None, subject: None, message_id: None },
            http: None,
            judgement,
            action,
            reply,
            wire_bytes: bytes,
            released_bytes: if action == Action::Forwarded { bytes } else { 0 },
        });
    }
}
