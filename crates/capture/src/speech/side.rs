//! What goes one way of HTTP: [`Side`] has the message at hand, and its other readings. Rule: a rule is told once of a message.

use super::Telling;
use super::content::Content;
use super::doubt::Doubt;
use crate::eve::Alarm;
use lockgate_model::{Direction, Reason};
use std::io::Write;
use std::sync::Arc;

/// How much of a head is kept as it came.
const HEAD_BYTES_MAX: usize = 128 << 10;

/// One way.
pub struct Side {
    direction: Direction,
    /// The head that has begun, as it came.
    raw: Vec<u8>,
    content: Option<Content>,
    /// The number of the exchange that the next message, or the one at hand, belongs to.
    pub at: u64,
    /// How much of what is odd about the message at hand has been told.
    pub odd_told: usize,
    /// Whether nothing more can be read of it.
    pub is_lost: bool,
    /// Whether it can be read in other ways.
    pub doubts: Doubts,
    /// The rules that have matched in the message at hand, by their places.
    matched: Vec<Arc<str>>,
}

/// Other readings of what comes.
#[derive(Default)]
pub enum Doubts {
    /// There are none.
    #[default]
    None,
    /// No head has come, and perhaps none will.
    Before(Doubt),
    /// The body may be something else.
    Behind(Doubt),
    /// The message is over for one reading, and not for others: what comes is theirs.
    Surplus(Doubt),
}

impl Side {
    /// Nothing has come yet.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            raw: Vec::new(),
            content: None,
            at: 0,
            odd_told: 0,
            is_lost: false,
            doubts: Doubts::None,
            matched: Vec::new(),
        }
    }

    /// These bytes come next, whatever they are.
    pub fn follow<W: Write>(&mut self, bytes: &[u8], telling: &mut Telling<'_, W>) {
        if self.content.is_none() {
            let room = HEAD_BYTES_MAX.saturating_sub(self.raw.len());
            self.raw.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        if let Doubts::Before(doubt) | Doubts::Behind(doubt) | Doubts::Surplus(doubt) = &mut self.doubts {
            let mut found = Vec::new();
            doubt.push(bytes, &mut found);
            self.tell(found, telling);
        }
    }

    /// A head has come: as it came.
    pub fn head(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.raw)
    }

    /// A message begins.
    pub fn begin<W: Write>(&mut self, mut content: Content, telling: &mut Telling<'_, W>) {
        self.settle(None, telling);
        self.matched.clear();
        let mut found = Vec::new();
        content.tell(&mut found);
        self.content = Some(content);
        self.tell(found, telling);
    }

    /// More of the message's content.
    pub fn push<W: Write>(&mut self, bytes: &[u8], telling: &mut Telling<'_, W>) {
        let Some(content) = &mut self.content else { return };
        let mut found = Vec::new();
        content.push(bytes);
        content.tell(&mut found);
        self.tell(found, telling);
    }

    /// The message has ended, or nothing more of it will be seen, for this reason. Says how long it was, where there was one.
    pub fn finish<W: Write>(&mut self, cut: Option<Reason>, telling: &mut Telling<'_, W>) -> Option<u64> {
        self.raw.clear();
        let content = self.content.take()?;
        let (bytes, mut found) = (content.bytes(), Vec::new());
        for reason in content.finish(cut, &mut found) {
            telling.incomplete(self.direction, reason);
        }
        self.tell(found, telling);
        Some(bytes)
    }

    /// Its other readings end.
    pub fn settle<W: Write>(&mut self, cut: Option<Reason>, telling: &mut Telling<'_, W>) {
        let doubts = std::mem::take(&mut self.doubts);
        if let Doubts::Before(doubt) | Doubts::Behind(doubt) | Doubts::Surplus(doubt) = doubts {
            let mut found = Vec::new();
            if doubt.finish(cut, &mut found) {
                telling.incomplete(self.direction, Reason::Work);
            }
            self.tell(found, telling);
        }
    }

    /// Nothing more can be read of it.
    pub fn lose<W: Write>(&mut self, reason: Reason, telling: &mut Telling<'_, W>) {
        self.finish(Some(reason), telling);
        self.settle(Some(reason), telling);
        self.is_lost = true;
    }

    /// Whether it is that way.
    pub fn is_of(&self, direction: Direction) -> bool {
        self.direction == direction
    }

    /// How much of the message at hand has come.
    pub fn bytes(&self) -> u64 {
        self.content.as_ref().map_or(0, Content::bytes)
    }

    /// Whether a message is at hand.
    pub fn is_within(&self) -> bool {
        self.content.is_some()
    }

    fn tell<W: Write>(&mut self, found: Vec<Alarm>, telling: &mut Telling<'_, W>) {
        for alarm in found {
            if !self.matched.contains(&alarm.rule) {
                self.matched.push(Arc::clone(&alarm.rule));
                telling.alarms.push(alarm);
            }
        }
    }
}
