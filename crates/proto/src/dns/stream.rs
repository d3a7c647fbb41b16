//! DNS over TCP: [`Stream`], one for each side. Rule: a message is behind its length in two bytes, however the stream is cut.

use super::Message;
use super::message::begins_like;
use crate::Side;

/// The longest message that TCP carries.
pub const MESSAGE_BYTES_MAX: usize = u16::MAX as usize;

const LENGTH_BYTES: usize = 2;
/// What is looked at to know whether a message begins: its length and its header.
const BEGINNING_BYTES: usize = LENGTH_BYTES + 12;

/// One side's messages. It holds one message at most.
#[derive(Clone, Debug)]
pub struct Stream {
    from: Side,
    held: Vec<u8>,
    footing: Footing,
}

/// Whether it is known where messages begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Footing {
    Known,
    /// Bytes were lost: the next ones may begin a message.
    Lost,
    /// They did not.
    Hopeless,
}

impl Stream {
    /// For the first byte that this side sends.
    pub fn new(from: Side) -> Self {
        Self { from, held: Vec::new(), footing: Footing::Known }
    }

    /// Whether the first bytes that a side sends, on the port of DNS, are DNS: `None` while that cannot be said.
    pub fn looks_like(beginning: &[u8]) -> Option<bool> {
        let (length, message) = beginning.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length));
        if message.len() < BEGINNING_BYTES - LENGTH_BYTES {
            return None;
        }
        Some(match message.get(..length) {
            Some(whole) => super::looks_like(whole),
            None => begins_like(message, length),
        })
    }

    /// Bytes of the stream, next in their order; each message that they end is given.
    pub fn push(&mut self, mut chunk: &[u8], each: &mut dyn FnMut(Message)) {
        if self.footing == Footing::Lost {
            // What follows a gap is mostly the beginning of a segment, and so of a message.
            let is_beginning = Self::looks_like(chunk) == Some(true);
            self.footing = if is_beginning { Footing::Known } else { Footing::Hopeless };
        }
        if self.footing == Footing::Hopeless {
            return;
        }
        while !chunk.is_empty() {
            let wanted = match self.held.first_chunk() {
                Some(length) => LENGTH_BYTES + usize::from(u16::from_be_bytes(*length)),
                None => LENGTH_BYTES,
            };
            let (taken, rest) = chunk.split_at((wanted - self.held.len()).min(chunk.len()));
            self.held.extend_from_slice(taken);
            chunk = rest;
            if let Some((length, message)) = self.held.split_first_chunk()
                && message.len() == usize::from(u16::from_be_bytes(*length))
            {
                if let Some(message) = Message::parse(message, self.from) {
                    each(message);
                }
                self.held.clear();
            }
        }
        if self.held.is_empty() {
            // At rest it holds nothing.
            self.held = Vec::new();
        }
    }

    /// Bytes of the stream are missing here.
    pub fn gap(&mut self) {
        self.held = Vec::new();
        self.footing = Footing::Lost;
    }

    /// How many bytes it holds.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }
}
