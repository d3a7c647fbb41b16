//! One side's frames as they come: [`Reader`]. Rule: what is not certain is refused before anything of it passes.

use super::{CONTROL_BYTES_MAX, Kind, Side};
use std::fmt;

/// Reads the frames of one side.
#[derive(Clone, Debug)]
pub struct Reader {
    side: Side,
    /// A frame's head as far as it has come.
    head: [u8; HEAD_BYTES_MAX],
    head_bytes: usize,
    place: Place,
    mask: [u8; 4],
    /// Where in the mask the next byte is.
    mask_at: usize,
    message: Message,
    /// The opcode of the control frame that is being read.
    control: u8,
    has_closed: bool,
    refused: Option<Refusal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Head,
    Data { left: u64 },
    Control { left: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    /// None has begun.
    Between,
    /// Its last frame has not come.
    Open,
    /// Its last frame is being read.
    Last,
}

/// Two bytes, a length of eight, a mask of four.
const HEAD_BYTES_MAX: usize = 14;

/// What stands at the front of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// More is needed.
    NeedInput,
    /// A message begins.
    Begin(Kind),
    /// Content of the message, unmasked into the buffer.
    Content,
    /// The message has ended.
    End,
    /// A control frame (its opcode); its content is in the buffer, unmasked.
    Control(u8),
    /// It is no WebSocket, or none with one reading: each further step says the same.
    Refused(Refusal),
}

/// Why frames are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A bit that only an extension gives a meaning to: none was agreed to.
    Extension,
    /// A kind of frame that is not defined.
    Opcode,
    /// A client's frame without mask, or a server's with one.
    Mask,
    /// A length that is written longer than it need be, or is none.
    Length,
    /// A control frame that is long or in pieces.
    Control,
    /// A message within a message, or a piece of none.
    Fragment,
    /// Something behind the last frame.
    AfterClose,
}

impl Refusal {
    /// In words, for events.
    pub fn words(self) -> &'static str {
        match self {
            Self::Extension => "a WebSocket frame of an extension that was not agreed to",
            Self::Opcode => "a WebSocket frame of an unknown kind",
            Self::Mask => "a WebSocket frame with the wrong mask",
            Self::Length => "a WebSocket frame with a length that can be read in two ways",
            Self::Control => "a WebSocket control frame that is long or in pieces",
            Self::Fragment => "WebSocket frames that make no message",
            Self::AfterClose => "WebSocket frames behind the last one",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl Reader {
    /// Behind the head that changed to WebSocket.
    pub fn new(side: Side) -> Self {
        Self {
            side,
            head: [0; HEAD_BYTES_MAX],
            head_bytes: 0,
            place: Place::Head,
            mask: [0; 4],
            mask_at: 0,
            message: Message::Between,
            control: 0,
            has_closed: false,
            refused: None,
        }
    }

    /// What stands at the front of the input, and how many bytes of it that took. `content` gets what is to be read; it is
    /// the same buffer from step to step, and nobody else's: a control frame is collected in it.
    pub fn step(&mut self, input: &[u8], content: &mut Vec<u8>) -> (usize, Piece) {
        let mut consumed = 0;
        loop {
            let (count, piece) = self.advance(&input[consumed..], content);
            consumed += count;
            if let Some(piece) = piece {
                return (consumed, piece);
            }
        }
    }

    /// One thing at a time; nothing to be told may come of it.
    fn advance(&mut self, input: &[u8], content: &mut Vec<u8>) -> (usize, Option<Piece>) {
        if let Some(refusal) = self.refused {
            return (0, Some(Piece::Refused(refusal)));
        }
        match self.place {
            Place::Head => self.head(input, content).unwrap_or_else(|refusal| {
                self.refused = Some(refusal);
                (0, Some(Piece::Refused(refusal)))
            }),
            Place::Data { left: 0 } => {
                self.place = Place::Head;
                let has_ended = self.message == Message::Last;
                if has_ended {
                    self.message = Message::Between;
                }
                (0, has_ended.then_some(Piece::End))
            }
            Place::Control { left: 0 } => {
                self.place = Place::Head;
                (0, Some(Piece::Control(self.control)))
            }
            _ if input.is_empty() => (0, Some(Piece::NeedInput)),
            Place::Data { left } => {
                content.clear();
                let count = self.unmask(input, left, content);
                self.place = Place::Data { left: left - count as u64 };
                (count, Some(Piece::Content))
            }
            Place::Control { left } => {
                let count = self.unmask(input, left, content);
                self.place = Place::Control { left: left - count as u64 };
                (count, None)
            }
        }
    }

    /// Whether the last frame has come: nothing follows it.
    pub fn has_closed(&self) -> bool {
        self.has_closed && self.place == Place::Head
    }

    /// Whether nothing has begun that has not ended.
    pub fn is_between(&self) -> bool {
        self.place == Place::Head && self.head_bytes == 0 && self.message == Message::Between
    }

    /// Takes of the input what belongs to the frame's head.
    fn head(&mut self, input: &[u8], content: &mut Vec<u8>) -> Result<(usize, Option<Piece>), Refusal> {
        let mut consumed = 0;
        while self.head_bytes < self.head_wanted()? {
            let Some(byte) = input.get(consumed) else { return Ok((consumed, Some(Piece::NeedInput))) };
            if self.has_closed {
                return Err(Refusal::AfterClose);
            }
            self.head[self.head_bytes] = *byte;
            self.head_bytes += 1;
            consumed += 1;
        }
        let begun = self.begin_frame(content)?;
        Ok((consumed, begun.map(Piece::Begin)))
    }

    /// How long the head is, as far as is known. What cannot be right is refused at once.
    fn head_wanted(&self) -> Result<usize, Refusal> {
        let (first, second) = (self.head[0], self.head[1]);
        if self.head_bytes == 0 {
            return Ok(2);
        }
        self.check_first(first)?;
        if self.head_bytes == 1 {
            return Ok(2);
        }
        if (second & 0x80 != 0) != (self.side == Side::Client) {
            return Err(Refusal::Mask);
        }
        let length = second & 0x7f;
        if first & 0x08 != 0 && (usize::from(length) > CONTROL_BYTES_MAX || first & 0x80 == 0) {
            return Err(Refusal::Control);
        }
        let extended = match length {
            127 => 8,
            126 => 2,
            _ => 0,
        };
        let mask = if self.side == Side::Client { 4 } else { 0 };
        Ok(2 + extended + mask)
    }

    fn check_first(&self, first: u8) -> Result<(), Refusal> {
        if first & 0x70 != 0 {
            return Err(Refusal::Extension);
        }
        match (first & 0x0f, self.message) {
            (0, Message::Between) | (1 | 2, Message::Open) => Err(Refusal::Fragment),
            (0..=2 | 8..=10, _) => Ok(()),
            _ => Err(Refusal::Opcode),
        }
    }

    /// The head is whole. Says whether a message begins with the frame.
    fn begin_frame(&mut self, content: &mut Vec<u8>) -> Result<Option<Kind>, Refusal> {
        let (first, length) = (self.head[0], self.head[1] & 0x7f);
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        // Section 5.2: the fewest bytes must be used, and the highest bit must not be.
        let (length, behind) = match length {
            127 => match number(&self.head[2..10]) {
                length @ 0x1_0000..=0x7fff_ffff_ffff_ffff => (length, 10),
                _ => return Err(Refusal::Length),
            },
            126 => match number(&self.head[2..4]) {
                length @ 126.. => (length, 4),
                _ => return Err(Refusal::Length),
            },
            length => (u64::from(length), 2),
        };
        if self.side == Side::Client {
            self.mask.copy_from_slice(&self.head[behind..behind + 4]);
        }
        (self.mask_at, self.head_bytes) = (0, 0);
        if first & 0x08 != 0 {
            self.control = first & 0x0f;
            self.has_closed = self.control == 8;
            content.clear();
            self.place = Place::Control { left: length };
            return Ok(None);
        }
        let begun = match first & 0x0f {
            1 => Some(Kind::Text),
            2 => Some(Kind::Binary),
            _ => None,
        };
        self.message = if first & 0x80 == 0 { Message::Open } else { Message::Last };
        self.place = Place::Data { left: length };
        Ok(begun)
    }

    /// Adds the frame's content at the front of the input to `content`; says how many bytes that were.
    fn unmask(&mut self, input: &[u8], left: u64, content: &mut Vec<u8>) -> usize {
        let count = usize::try_from(left).map_or(input.len(), |left| input.len().min(left));
        let masked = &input[..count];
        if self.side == Side::Server {
            content.extend_from_slice(masked);
            return count;
        }
        let mut mask = self.mask;
        mask.rotate_left(self.mask_at);
        content.extend(masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.mask_at = (self.mask_at + count) % 4;
        count
    }
}
