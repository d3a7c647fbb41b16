//! What one message carries, on its way through the engines: [`Content`]. Rule: each finding is told once.

use super::files::{Carries, Files};
use crate::eve::Alarm;
use lockgate_inspect::{HoldPlan, Inspection, Progress, Root, Session};
use lockgate_model::{Buffer, Direction, Engine, Reason, Transaction, TransactionId};
use std::sync::Arc;

/// Who inspects what a flow carries.
pub struct Inspector {
    /// The engines.
    pub session: Session,
    /// The files that they have seen.
    pub files: Files,
}

/// One message's inspection.
pub struct Content {
    inspection: Inspection,
    files: Files,
    /// The number that its files are noted with.
    message: u64,
    transaction: u64,
    direction: Direction,
    told: usize,
}

/// What is known of a message before its content.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// A mail's sender.
    pub sender: Option<String>,
    /// A mail's recipients.
    pub recipients: Vec<String>,
    /// What a file is called.
    pub name: Option<String>,
    /// Whether it is one more reading of a message that has been read.
    pub is_other_reading: bool,
}

impl Content {
    /// A message begins.
    pub fn begin(
        inspector: &mut Inspector,
        root: Root,
        transaction: u64,
        direction: Direction,
        envelope: Envelope,
    ) -> Self {
        let Inspector { session, files } = inspector;
        let carries = match &root {
            _ if envelope.is_other_reading => Carries::Nothing,
            Root::File => Carries::Content(0),
            Root::Coded(codings) => Carries::Content(u16::try_from(codings.len()).unwrap_or(u16::MAX)),
            Root::Mail | Root::Form { .. } => Carries::Named,
        };
        let message = files.begin(carries);
        let group = Arc::clone(session.group_for(None));
        let about = Transaction {
            id: TransactionId(transaction),
            direction,
            group: group.name.clone(),
            sender: envelope.sender,
            recipients: envelope.recipients,
            name: envelope.name,
            length: None,
        };
        let inspection = session.begin(&about, group, root, HoldPlan::Discard);
        Self { inspection, files: files.clone(), message, transaction, direction, told: 0 }
    }

    /// Something about the message itself, before its content.
    pub fn about(&mut self, buffer: Buffer, bytes: &[u8]) {
        if self.inspection.wants(buffer) {
            self.inspection.about(buffer, bytes);
        }
    }

    /// More of it.
    pub fn push(&mut self, mut bytes: &[u8]) {
        loop {
            let pushed = self.inspection.push(bytes);
            let (consumed, progress) = (pushed.consumed, pushed.progress);
            bytes = bytes.get(consumed..).unwrap_or_default();
            if bytes.is_empty() && progress == Progress::Through {
                break;
            }
        }
    }

    /// It has ended, or nothing more of it will be seen, for this reason. Says what could not be inspected.
    pub fn finish(mut self, cut: Option<Reason>, alarms: &mut Vec<Alarm>) -> Vec<Reason> {
        if let Some(reason) = cut {
            self.inspection.incomplete(reason);
            self.files.cut(self.message);
        }
        while self.inspection.finish() == Progress::Busy {}
        self.tell(alarms);
        let judgement = self.inspection.judgement();
        let mut reasons: Vec<Reason> =
            judgement.incomplete.iter().map(|incomplete| incomplete.reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        reasons
    }

    /// How much of it was seen, in bytes.
    pub fn bytes(&self) -> u64 {
        self.inspection.wire_bytes()
    }

    /// What was found since the last time.
    pub fn tell(&mut self, alarms: &mut Vec<Alarm>) {
        let findings = &self.inspection.judgement().findings;
        let new = findings.get(self.told..).unwrap_or_default();
        // What decoders find odd is no match of a rule.
        let found = new.iter().filter(|finding| !matches!(finding.engine, Engine::Content | Engine::Policy));
        alarms.extend(found.map(|finding| Alarm::of_finding(finding, self.transaction, self.direction)));
        self.told = findings.len();
    }
}
