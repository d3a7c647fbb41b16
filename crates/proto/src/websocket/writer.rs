//! The frames that leave: [`Writer`]. Rule: each message's content leaves in its order, and nothing overtakes what stands
//! before it.

use super::{Kind, Side};
use std::collections::VecDeque;

/// Makes frames of content that is let go, by what was said of it when it came.
#[derive(Debug)]
pub struct Writer {
    side: Side,
    /// What stands where in the content, in order.
    marks: VecDeque<(u64, Mark)>,
    /// Content bytes that have come …
    come: u64,
    /// … and that have left.
    left: u64,
    /// The opcode of the next frame of the message that has begun to leave; `None` between two.
    opcode: Option<u8>,
}

#[derive(Debug)]
enum Mark {
    Begin(Kind),
    End,
    Control(u8, Box<[u8]>),
}

const CONTINUATION: u8 = 0;
const LAST: u8 = 0x80;
const MASKED: u8 = 0x80;

impl Writer {
    /// Makes the frames of this side.
    pub fn new(side: Side) -> Self {
        Self { side, marks: VecDeque::new(), come: 0, left: 0, opcode: None }
    }

    /// A message begins behind the content that has come.
    pub fn begin(&mut self, kind: Kind) {
        self.marks.push_back((self.come, Mark::Begin(kind)));
    }

    /// So much content has come.
    pub fn content(&mut self, bytes: usize) {
        self.come += bytes as u64;
    }

    /// The message has ended.
    pub fn end(&mut self) {
        self.marks.push_back((self.come, Mark::End));
    }

    /// A control frame stands here.
    pub fn control(&mut self, opcode: u8, content: &[u8]) {
        self.marks.push_back((self.come, Mark::Control(opcode, content.into())));
    }

    /// How many things wait for the content before them to leave.
    pub fn waiting(&self) -> usize {
        self.marks.len()
    }

    /// Makes frames of content that leaves now, and of what stands before and directly behind it; of none, of what waits
    /// for nothing more. A client's frames are masked by what `mask` gives (section 5.3: nobody can know it before).
    pub fn write(&mut self, mut content: &[u8], mask: &mut dyn FnMut() -> [u8; 4], out: &mut Vec<u8>) {
        loop {
            while let Some(mark) = self.due(|_| true) {
                self.mark(mark, mask, out);
            }
            if content.is_empty() {
                return;
            }
            let until = self.marks.front().map_or(u64::MAX, |(at, _)| at - self.left);
            let count = usize::try_from(until).map_or(content.len(), |until| content.len().min(until));
            let (now, later) = content.split_at(count);
            self.left += count as u64;
            let ends = self.due(|mark| matches!(mark, Mark::End)).is_some();
            let opcode = self.opcode.unwrap_or(CONTINUATION);
            self.opcode = (!ends).then_some(CONTINUATION);
            self.frame(if ends { LAST | opcode } else { opcode }, now, mask, out);
            content = later;
        }
    }

    /// Takes what stands first, if everything before it has left and it is one of these.
    fn due(&mut self, is_one: impl Fn(&Mark) -> bool) -> Option<Mark> {
        let (at, mark) = self.marks.front()?;
        if *at == self.left && is_one(mark) { self.marks.pop_front().map(|(_, mark)| mark) } else { None }
    }

    fn mark(&mut self, mark: Mark, mask: &mut dyn FnMut() -> [u8; 4], out: &mut Vec<u8>) {
        match mark {
            Mark::Begin(Kind::Text) => self.opcode = Some(1),
            Mark::Begin(Kind::Binary) => self.opcode = Some(2),
            // Its content has left without the word that it was the last of it.
            Mark::End => {
                let opcode = self.opcode.take().unwrap_or(CONTINUATION);
                self.frame(LAST | opcode, &[], mask, out);
            }
            Mark::Control(opcode, content) => self.frame(LAST | opcode, &content, mask, out),
        }
    }

    fn frame(&self, first: u8, content: &[u8], mask: &mut dyn FnMut() -> [u8; 4], out: &mut Vec<u8>) {
        out.push(first);
        let bit = if self.side == Side::Client { MASKED } else { 0 };
        match content.len() {
            length @ 0..=125 => out.push(bit | length as u8),
            length @ 126..=0xffff => {
                out.push(bit | 126);
                out.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                out.push(bit | 127);
                out.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        if self.side == Side::Server {
            return out.extend_from_slice(content);
        }
        let mask = mask();
        out.extend_from_slice(&mask);
        out.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    }
}
