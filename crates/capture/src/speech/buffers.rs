//! Rules asked about what has no content, by its buffers alone: [`Asking`]. Rule: each message is a transaction of its own.

use super::Telling;
use crate::eve::Alarm;
use lockgate_model::{
    Buffer, Direction, FlowState, Hit, PartId, Reason, Scanner, Sink, Transaction, TransactionId,
};
use std::io::Write;

/// A flow's rules.
pub struct Asking {
    state: Option<Box<dyn FlowState>>,
}

/// One message.
pub struct Message {
    scanner: Option<Box<dyn Scanner>>,
    found: Found,
    at: u64,
    direction: Direction,
}

#[derive(Default)]
struct Found {
    hits: Vec<Hit>,
    /// Why something was not asked.
    incomplete: Option<Reason>,
}

impl Sink for Found {
    fn hit(&mut self, hit: Hit) {
        self.hits.push(hit);
    }

    fn incomplete(&mut self, _part: PartId, reason: Reason) {
        self.incomplete = Some(reason);
    }
}

impl Asking {
    /// Nothing has been said yet; without rules there is nobody to ask.
    pub fn new(state: Option<Box<dyn FlowState>>) -> Self {
        Self { state }
    }

    /// A message of that transaction begins.
    pub fn begin(&mut self, at: u64, direction: Direction) -> Message {
        let about = Transaction {
            id: TransactionId(at),
            direction,
            group: String::new(),
            sender: None,
            recipients: Vec::new(),
            name: None,
            length: None,
        };
        let scanner = self.state.as_mut().map(|state| state.open(&about));
        Message { scanner, found: Found::default(), at, direction }
    }
}

impl Message {
    /// One of its buffers, whole.
    pub fn fill(&mut self, buffer: Buffer, bytes: &[u8]) {
        if let Some(scanner) = &mut self.scanner {
            let _ = scanner.push(PartId::ROOT, buffer, bytes, &mut self.found);
            scanner.end(PartId::ROOT, buffer, &mut self.found);
        }
    }

    /// It has ended.
    pub fn finish<W: Write>(mut self, telling: &mut Telling<'_, W>) {
        if let Some(scanner) = &mut self.scanner {
            scanner.finish(&mut self.found);
        }
        self.tell(telling);
    }

    /// What was found since the last time.
    pub fn tell<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        if let Some(reason) = self.found.incomplete.take() {
            telling.incomplete(self.direction, reason);
        }
        let hits = self.found.hits.drain(..);
        telling.alarms.extend(hits.map(|hit| Alarm::of_hit(hit, Some(self.at), self.direction)));
    }
}
