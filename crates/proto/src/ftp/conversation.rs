//! Both sides of a control connection: [`Conversation`]. Rule: a reply answers the oldest command that waits for one.

use super::Oddity;
use super::endpoint::{Endpoint, of_eprt, of_epsv, of_pasv, of_port};
use super::lines::{Line, Lines};
use crate::Side;
use std::collections::VecDeque;

/// How many commands may wait for their replies; of more, the oldest are given up.
pub const PENDING_MAX: usize = 1024;

/// What is done by a data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// A file goes to the client: `RETR`.
    Retrieve,
    /// A file goes to the server: `STOR`, `STOU`, `APPE`.
    Store,
    /// Names of files go to the client: `LIST`, `NLST`, `MLSD`.
    List,
}

impl Transfer {
    /// The command as it is in rules and events; those like it are called the same.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retrieve => "RETR",
            Self::Store => "STOR",
            Self::List => "LIST",
        }
    }

    fn of(verb: &[u8]) -> Option<Self> {
        const VERBS: [(&[u8], Transfer); 7] = [
            (b"RETR", Transfer::Retrieve),
            (b"STOR", Transfer::Store),
            (b"STOU", Transfer::Store),
            (b"APPE", Transfer::Store),
            (b"LIST", Transfer::List),
            (b"NLST", Transfer::List),
            (b"MLSD", Transfer::List),
        ];
        VERBS.iter().find(|(known, _)| verb.eq_ignore_ascii_case(known)).map(|(_, transfer)| *transfer)
    }
}

/// A data connection that is to be expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataConnection {
    /// Which side of the control connection opens it: the client (passive) or the server (active).
    pub opened_by: Side,
    /// Where it leads to. Behind translated addresses only the port is right.
    pub to: Endpoint,
    /// What it is for.
    pub transfer: Transfer,
    /// The file's name, as it came; empty where there is none.
    pub name: Vec<u8>,
    /// The number of the command.
    pub command: u64,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A command.
    Command {
        /// Counted from 0.
        number: u64,
        /// Its verb, as it came.
        verb: Vec<u8>,
        /// What follows it.
        argument: Vec<u8>,
    },
    /// A line of a reply.
    Reply {
        /// The number of the command that it answers; `None` for what comes unasked, such as the greeting.
        to: Option<u64>,
        /// Its three digits; of a line in the middle of a reply that has none, those of the first.
        code: [u8; 3],
        /// The text behind them.
        text: Vec<u8>,
        /// Whether the command has its last reply by that line.
        is_final: bool,
    },
    /// A data connection is to be expected.
    Expect(DataConnection),
    /// The server has agreed to TLS: what both sides send next is that (RFC 4217).
    Secured,
    /// Something odd, of that side.
    Odd(Side, Oddity),
}

/// A command that waits for its reply.
#[derive(Clone, Debug)]
struct Pending {
    number: u64,
    kind: Kind,
}

/// What a reply means to the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Passive,
    ExtendedPassive,
    Active,
    Auth,
    Other,
}

impl Kind {
    fn of(verb: &[u8]) -> Self {
        const VERBS: [(&[u8], Kind); 5] = [
            (b"PASV", Kind::Passive),
            (b"EPSV", Kind::ExtendedPassive),
            (b"PORT", Kind::Active),
            (b"EPRT", Kind::Active),
            (b"AUTH", Kind::Auth),
        ];
        VERBS
            .iter()
            .find(|(known, _)| verb.eq_ignore_ascii_case(known))
            .map_or(Self::Other, |(_, kind)| *kind)
    }
}

/// A control connection.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    client: Lines,
    server: Lines,
    next: u64,
    pending: VecDeque<Pending>,
    /// The code of a reply of several lines, until its last.
    open_reply: Option<[u8; 3]>,
    /// Where the next data connection leads to, and who opens it.
    endpoint: Option<(Side, Endpoint)>,
    /// A transfer that was asked for before it is known where to: with PASV's reply still to come.
    waiting: Option<(Transfer, Vec<u8>, u64)>,
    is_secured: bool,
}

impl Conversation {
    /// Nothing has been said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether what comes next is TLS.
    pub fn is_secured(&self) -> bool {
        self.is_secured
    }

    /// How many bytes of lines it holds.
    pub fn held_bytes(&self) -> usize {
        self.client.held_bytes() + self.server.held_bytes()
    }

    /// Takes the next bytes of a side, and says how many: fewer than all only where TLS begins behind them.
    pub fn push(&mut self, side: Side, chunk: &[u8], each: &mut dyn FnMut(Said)) -> usize {
        let mut taken = 0;
        while !self.is_secured {
            let Some(rest) = chunk.get(taken..).filter(|rest| !rest.is_empty()) else { break };
            let lines = match side {
                Side::Client => &mut self.client,
                Side::Server => &mut self.server,
            };
            let (count, line) = lines.take(rest);
            taken += count;
            match (side, line) {
                (_, None) => {}
                (Side::Client, Some(line)) => self.command(&line, each),
                (Side::Server, Some(line)) => self.reply(&line, each),
            }
        }
        taken
    }

    /// Bytes of a side are missing here: the line at hand is lost.
    pub fn gap(&mut self, side: Side) {
        match side {
            Side::Client => self.client.gap(),
            Side::Server => {
                self.server.gap();
                self.open_reply = None;
            }
        }
    }

    fn command(&mut self, line: &Line, each: &mut dyn FnMut(Said)) {
        if line.is_cut {
            each(Said::Odd(Side::Client, Oddity::RequestCommandTooLong));
        }
        let text = line.bytes.trim_ascii_start();
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        let (verb, argument) = text.split_at(end);
        if verb.is_empty() {
            return;
        }
        let (verb, argument) = (verb.to_vec(), argument.get(1..).unwrap_or_default().to_vec());
        let number = self.next;
        self.next += 1;
        if self.pending.len() >= PENDING_MAX {
            self.pending.pop_front();
            each(Said::Odd(Side::Client, Oddity::TooManyTransactions));
        }
        let kind = Kind::of(&verb);
        self.pending.push_back(Pending { number, kind });
        each(Said::Command { number, verb: verb.clone(), argument: argument.clone() });
        if kind == Kind::Active {
            let is_extended = verb.eq_ignore_ascii_case(b"EPRT");
            let endpoint = if is_extended { of_eprt(&argument) } else { of_port(&argument) };
            self.endpoint = endpoint.map(|endpoint| (Side::Server, endpoint));
        }
        if let Some(transfer) = Transfer::of(&verb) {
            self.transfer(transfer, argument, number, each);
        }
    }

    fn transfer(&mut self, transfer: Transfer, name: Vec<u8>, number: u64, each: &mut dyn FnMut(Said)) {
        let is_file = transfer != Transfer::List;
        if is_file && name.trim_ascii().is_empty() {
            each(Said::Odd(Side::Client, Oddity::FileWithoutName));
        }
        match self.endpoint.take() {
            Some((opened_by, to)) => {
                each(Said::Expect(DataConnection { opened_by, to, transfer, name, command: number }));
            }
            None => {
                if is_file {
                    each(Said::Odd(Side::Client, Oddity::FileBeforePort));
                }
                self.waiting = Some((transfer, name, number));
            }
        }
    }

    fn reply(&mut self, line: &Line, each: &mut dyn FnMut(Said)) {
        if line.is_cut {
            each(Said::Odd(Side::Server, Oddity::ResponseCommandTooLong));
        }
        if line.bytes.is_empty() && self.open_reply.is_none() {
            return;
        }
        let own = code_of(&line.bytes);
        let (code, text, is_last) = match (self.open_reply, own) {
            // Digits within a reply are text, but for its own with a space behind them.
            (Some(open), Some((code, false))) if code == open => (code, behind(&line.bytes), true),
            (Some(open), Some((code, true))) if code == open => (code, behind(&line.bytes), false),
            (Some(open), _) => (open, line.bytes.as_slice(), false),
            (None, Some((code, has_more))) => (code, behind(&line.bytes), !has_more),
            // No reply: said all the same, to nobody's question.
            (None, None) => {
                let text = line.bytes.clone();
                return each(Said::Reply { to: None, code: *b"000", text, is_final: false });
            }
        };
        self.open_reply = (!is_last).then_some(code);
        let is_final = is_last && code.first() != Some(&b'1');
        let answered = self.pending.front().cloned();
        each(Said::Reply {
            to: answered.as_ref().map(|answered| answered.number),
            code,
            text: text.to_vec(),
            is_final,
        });
        if is_final && let Some(answered) = answered {
            self.pending.pop_front();
            self.answered(answered.kind, code, text, each);
        }
    }

    /// What a command's last reply means.
    fn answered(&mut self, kind: Kind, code: [u8; 3], text: &[u8], each: &mut dyn FnMut(Said)) {
        let is_positive = code.first() == Some(&b'2');
        let endpoint = match kind {
            Kind::Passive if is_positive => of_pasv(text),
            Kind::ExtendedPassive if is_positive => of_epsv(text),
            Kind::Active if !is_positive => {
                self.endpoint = None;
                return;
            }
            Kind::Auth if code == *b"234" => {
                self.is_secured = true;
                return each(Said::Secured);
            }
            _ => return,
        };
        let Some(to) = endpoint else { return };
        match self.waiting.take() {
            Some((transfer, name, command)) => {
                each(Said::Expect(DataConnection { opened_by: Side::Client, to, transfer, name, command }));
            }
            None => self.endpoint = Some((Side::Client, to)),
        }
    }
}

/// The code that a line begins with, and whether it says that more lines follow.
fn code_of(line: &[u8]) -> Option<([u8; 3], bool)> {
    let code: [u8; 3] = line.first_chunk().copied().filter(|code| code.iter().all(u8::is_ascii_digit))?;
    match line.get(3) {
        Some(b'-') => Some((code, true)),
        None | Some(b' ') => Some((code, false)),
        _ => None,
    }
}

fn behind(line: &[u8]) -> &[u8] {
    line.get(4..).unwrap_or_default()
}
