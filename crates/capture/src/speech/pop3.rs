//! POP3 as it came (RFC 1939): [`Pop3`] pairs commands with replies, and reads the mails. Rule: a reply has as many lines as its
//! command asks for.

use super::content::{Content, Envelope, Inspector};
use super::lines::{Lines, verb};
use super::side::Side;
use super::{Telling, Turn};
use lockgate_inspect::Root;
use lockgate_model::{Direction, Reason};
use lockgate_proto::pop3::{Frame, Receiver, Status};
use std::collections::VecDeque;
use std::io::Write;

/// How many commands may wait for their replies.
const COMMANDS_MAX: usize = 256;

/// One connection.
pub struct Pop3 {
    inspector: Inspector,
    commands: Lines,
    replies: Receiver,
    awaited: VecDeque<Awaited>,
    side: Side,
    /// Whether what comes is a mail.
    is_in_mail: bool,
    is_lost: bool,
    turn: Turn,
}

/// What follows a reply that says yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Nothing,
    Mail,
    Lines,
    Tls,
}

impl Pop3 {
    /// Nothing has been said yet.
    pub fn new(inspector: Inspector) -> Self {
        Self {
            inspector,
            commands: Lines::default(),
            replies: Receiver::new(),
            awaited: VecDeque::from([Awaited::Nothing]),
            side: Side::new(Direction::ToClient),
            is_in_mail: false,
            is_lost: false,
            turn: Turn::Stays,
        }
    }

    /// The next bytes of a side. Says whether they change what is spoken.
    pub fn data<W: Write>(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        telling: &mut Telling<'_, W>,
    ) -> Turn {
        match direction {
            Direction::ToServer => self.client(bytes),
            Direction::ToClient => self.server(bytes, telling),
        }
        self.turn
    }

    fn client(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (used, line) = self.commands.step(bytes);
            bytes = bytes.get(used..).unwrap_or_default();
            let Some(line) = line else { return };
            let (verb, argument) = verb(&line);
            let awaited = match verb.as_slice() {
                b"RETR" | b"TOP" => Awaited::Mail,
                b"LIST" | b"UIDL" if argument.is_empty() => Awaited::Lines,
                b"CAPA" => Awaited::Lines,
                b"STLS" => Awaited::Tls,
                _ => Awaited::Nothing,
            };
            if self.awaited.len() < COMMANDS_MAX {
                self.awaited.push_back(awaited);
            }
        }
    }

    fn server<W: Write>(&mut self, mut bytes: &[u8], telling: &mut Telling<'_, W>) {
        while !bytes.is_empty() && !self.is_lost {
            let step = self.replies.step(bytes);
            bytes = bytes.get(step.consumed..).unwrap_or_default();
            match step.frame {
                Frame::NeedInput => return,
                Frame::Status(line) => {
                    let awaited = self.awaited.pop_front().unwrap_or(Awaited::Nothing);
                    if line.status == Status::Ok {
                        self.granted(awaited, telling);
                    }
                }
                Frame::Content(content) if self.is_in_mail => self.side.push(content, telling),
                Frame::Content(_) => {}
                Frame::EndOfContent => self.mail_ends(None, telling),
                Frame::Malformed(_) => {}
            }
        }
    }

    fn granted<W: Write>(&mut self, awaited: Awaited, telling: &mut Telling<'_, W>) {
        match awaited {
            Awaited::Nothing => {}
            Awaited::Lines => self.replies.expect_content(),
            Awaited::Tls => self.turn = Turn::Begins,
            Awaited::Mail => {
                self.replies.expect_content();
                self.is_in_mail = true;
                let (at, way) = (self.side.at, Direction::ToClient);
                let content = Content::begin(&mut self.inspector, Root::Mail, at, way, Envelope::default());
                self.side.begin(content, telling);
            }
        }
    }

    fn mail_ends<W: Write>(&mut self, cut: Option<Reason>, telling: &mut Telling<'_, W>) {
        if std::mem::take(&mut self.is_in_mail) {
            self.side.finish(cut, telling);
            self.side.at += 1;
        }
    }

    /// Bytes of a side were missed.
    pub fn gap<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        match direction {
            Direction::ToServer => self.commands.clear(),
            Direction::ToClient => {
                self.mail_ends(Some(Reason::Partial), telling);
                self.is_lost = true;
            }
        }
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        if direction == Direction::ToClient {
            self.mail_ends(Some(Reason::Truncated), telling);
        }
    }
}
