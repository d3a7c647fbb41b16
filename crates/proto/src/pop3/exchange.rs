//! Commands and replies of one POP3 session, kept together: [`Exchange`]. Rule: a reply that nobody asked for ends it.
//!
//! The client may send many commands at once (RFC 2449 section 6.6); their replies come in order, and so do those given
//! here. Client side: while [`Exchange::reads`] says so, give lines to [`Exchange::line`] or [`Exchange::auth_line`].
//! Server side: for each status line [`Exchange::status`] says what stands behind it. Whenever either has been called,
//! send what [`Exchange::local_reply`] gives.

use super::command::{Command, Login, Refused};
use super::receiver::{Status, StatusLine};
use super::sender::status_line;
use crate::lines::BadLine;
use crate::smtp::capabilities::{Offer, can_be_relayed};
use std::collections::VecDeque;

/// Limits on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Commands without a reply yet; the client is not read while there are so many.
    pub pipelined_max: usize,
    /// Commands refused here in one session; one more closes it.
    pub errors_max: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self { pipelined_max: 64, errors_max: 20 }
    }
}

/// What is awaited next from the server, or is to be sent to the client in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The server's first line.
    Greeting,
    /// The reply to a command that was relayed.
    Reply(Command),
    /// Nothing: this is the reply, with CR LF.
    Local(Vec<u8>),
}

/// What may be read from the client now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Command lines.
    Commands,
    /// One line of an AUTH dialogue.
    AuthLine,
    /// Nothing, until the server has answered.
    Nothing,
}

/// What is to be done for a client's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Send the line to the server as it came, with CR LF.
    Relay,
    /// Nothing: a reply of ours stands in its place in the queue.
    Answered,
    /// Send `+OK`, discard every byte that has come behind the line, start TLS, tell [`Exchange::tls_started`].
    StartTls,
    /// Send the replies that are due and close: too many errors.
    Close,
}

/// What stands behind a status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing. Relay the line.
    Nothing,
    /// A challenge. Relay the line; the client's next line answers it.
    AuthLine,
    /// Lines that may pass as they are, stuffed. Relay the line.
    Listing,
    /// The answer to CAPA: gather, [`filter_capa`](super::capabilities::filter_capa), send.
    Capabilities,
    /// The answer to AUTH alone: gather, [`filter_auth_list`](super::capabilities::filter_auth_list), send.
    Mechanisms,
    /// A mail to inspect; the status line waits with it, since its octets may not be those that are sent.
    Message {
        /// Its number.
        number: u64,
        /// How much of it.
        extent: Extent,
    },
    /// Nothing more: relay the line and close.
    Close,
    /// The line was not asked for, so no reply can be told from another: close.
    OutOfStep,
}

/// How much of a mail comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it (RETR, or TOP with more lines than any mail has).
    Whole,
    /// Its header and some lines (TOP).
    Top,
}

/// Who asks TOP for so many lines means the mail: fetchmail asks for 99999999 of one that is to stay unread.
const LINES_OF_ANY_MAIL: u64 = 10_000_000;

/// RFC 1939's states, as far as they matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Authorization,
    Transaction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialogue {
    None,
    /// AUTH or STLS has been taken; nothing more is read until its reply.
    AwaitReply,
    /// The server has sent a challenge.
    ExpectAuthLine,
}

/// One session.
#[derive(Debug)]
pub struct Exchange {
    rules: Rules,
    awaited: VecDeque<Awaited>,
    phase: Phase,
    dialogue: Dialogue,
    stls: Offer,
    credentials: Offer,
    errors: u32,
}

impl Exchange {
    /// Awaits the server's greeting. STLS is ours to offer; credentials may be taken or not.
    pub fn new(rules: Rules, stls: Offer, credentials: Offer) -> Self {
        Self {
            rules,
            awaited: VecDeque::from([Awaited::Greeting]),
            phase: Phase::Authorization,
            dialogue: Dialogue::None,
            stls,
            credentials,
            errors: 0,
        }
    }

    /// What may be read from the client now.
    pub fn reads(&self) -> Reads {
        match self.dialogue {
            Dialogue::ExpectAuthLine => Reads::AuthLine,
            Dialogue::AwaitReply => Reads::Nothing,
            Dialogue::None if self.awaited.len() >= self.rules.pipelined_max => Reads::Nothing,
            Dialogue::None => Reads::Commands,
        }
    }

    /// What comes next towards the client.
    pub fn awaited(&self) -> Option<&Awaited> {
        self.awaited.front()
    }

    /// Whether the server owes a reply.
    pub fn awaits_server(&self) -> bool {
        self.awaited.iter().any(|awaited| !matches!(awaited, Awaited::Local(_)))
    }

    /// Whether a login has succeeded.
    pub fn is_authenticated(&self) -> bool {
        self.phase == Phase::Transaction
    }

    /// Whether STLS is offered now, and whether credentials are taken.
    pub fn terms(&self) -> super::capabilities::Terms {
        let stls = if self.phase == Phase::Authorization { self.stls } else { Offer::No };
        super::capabilities::Terms { stls, credentials: self.credentials }
    }

    /// The next reply of ours that is due.
    pub fn local_reply(&mut self) -> Option<Vec<u8>> {
        if !matches!(self.awaited.front(), Some(Awaited::Local(_))) {
            return None;
        }
        match self.awaited.pop_front() {
            Some(Awaited::Local(line)) => Some(line),
            _ => None,
        }
    }

    /// TLS runs; credentials may be taken from here on, or not.
    pub fn tls_started(&mut self, credentials: Offer) {
        self.stls = Offer::No;
        self.credentials = credentials;
        self.dialogue = Dialogue::None;
    }

    /// A line that is none.
    pub fn bad_line(&mut self, why: BadLine) -> Turn {
        self.refuse(Refused::Line(why).text())
    }

    /// A command line without its CR LF.
    pub fn line(&mut self, line: &[u8]) -> Turn {
        let command = match Command::parse(line) {
            Ok(command) => command,
            Err(why) => return self.refuse(why.text()),
        };
        if command.is_credentials() && self.credentials == Offer::No {
            return self.refuse("send STLS first; passwords are not taken in clear");
        }
        match &command {
            Command::Stls => return self.start_tls(),
            Command::Auth { mechanism } if !can_be_relayed(mechanism) => {
                return self.refuse("this mechanism is not relayed");
            }
            Command::Auth { .. } => self.dialogue = Dialogue::AwaitReply,
            _ => {}
        }
        self.awaited.push_back(Awaited::Reply(command));
        Turn::Relay
    }

    /// A line of an AUTH dialogue, without its CR LF.
    pub fn auth_line(&mut self, line: &[u8]) -> Turn {
        self.dialogue = Dialogue::AwaitReply;
        // A server that stops reading at something odd would take the rest for a command.
        if crate::smtp::command::is_auth_line(line) { Turn::Relay } else { Turn::Close }
    }

    /// A status line of the server.
    pub fn status(&mut self, line: &StatusLine) -> Follows {
        let Some(awaited) = self.awaited.pop_front() else { return Follows::OutOfStep };
        let command = match awaited {
            Awaited::Greeting if line.status == Status::Ok => return Follows::Nothing,
            Awaited::Greeting if line.status == Status::Err => return Follows::Close,
            Awaited::Greeting | Awaited::Local(_) => return Follows::OutOfStep,
            Awaited::Reply(command) => command,
        };
        if matches!(command, Command::Auth { .. }) {
            self.dialogue = Dialogue::None;
        }
        match line.status {
            Status::Ok => self.positive(&command),
            Status::Err if command == Command::Quit => Follows::Close,
            Status::Err => Follows::Nothing,
            Status::Continue if matches!(command, Command::Auth { .. }) => {
                self.awaited.push_front(Awaited::Reply(command));
                self.dialogue = Dialogue::ExpectAuthLine;
                Follows::AuthLine
            }
            Status::Continue => Follows::OutOfStep,
        }
    }

    fn positive(&mut self, command: &Command) -> Follows {
        match *command {
            Command::Credentials(Login::Password) | Command::Apop | Command::Auth { .. } => {
                self.phase = Phase::Transaction;
                Follows::Nothing
            }
            Command::Capa => Follows::Capabilities,
            Command::AuthList => Follows::Mechanisms,
            Command::Listing => Follows::Listing,
            Command::Retr { message } => Follows::Message { number: message, extent: Extent::Whole },
            Command::Top { message, lines } => {
                let extent = if lines >= LINES_OF_ANY_MAIL { Extent::Whole } else { Extent::Top };
                Follows::Message { number: message, extent }
            }
            Command::Quit => Follows::Close,
            Command::Credentials(Login::Name) | Command::Stls | Command::Dele { .. } | Command::Brief => {
                Follows::Nothing
            }
        }
    }

    fn start_tls(&mut self) -> Turn {
        if self.stls == Offer::No {
            return self.refuse("STLS is not offered");
        }
        if self.phase == Phase::Transaction {
            return self.refuse("STLS comes before the login");
        }
        if !self.awaited.is_empty() {
            return self.refuse("await the replies before STLS");
        }
        self.dialogue = Dialogue::AwaitReply;
        Turn::StartTls
    }

    fn refuse(&mut self, text: &str) -> Turn {
        self.errors = self.errors.saturating_add(1);
        if self.errors > self.rules.errors_max {
            self.awaited.push_back(Awaited::Local(status_line(Status::Err, "too many errors; closing")));
            return Turn::Close;
        }
        self.awaited.push_back(Awaited::Local(status_line(Status::Err, text)));
        Turn::Answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> StatusLine {
        let status = match text.as_bytes().get(1) {
            Some(b'O') => Status::Ok,
            Some(b'E') => Status::Err,
            _ => Status::Continue,
        };
        StatusLine { status, line: text.as_bytes().to_vec() }
    }

    fn opened() -> Exchange {
        let mut exchange = Exchange::new(Rules::default(), Offer::Yes, Offer::Yes);
        assert_eq!(exchange.status(&status("+OK")), Follows::Nothing);
        exchange
    }

    #[test]
    fn each_reply_is_known_by_its_command() {
        let cases = [
            ("USER a", Follows::Nothing),
            ("PASS a", Follows::Nothing),
            ("CAPA", Follows::Capabilities),
            ("AUTH", Follows::Mechanisms),
            ("STAT", Follows::Nothing),
            ("LIST", Follows::Listing),
            ("LIST 1", Follows::Nothing),
            ("UIDL", Follows::Listing),
            ("RETR 1", Follows::Message { number: 1, extent: Extent::Whole }),
            ("TOP 2 0", Follows::Message { number: 2, extent: Extent::Top }),
            ("TOP 2 99999999", Follows::Message { number: 2, extent: Extent::Whole }),
            ("DELE 1", Follows::Nothing),
            ("QUIT", Follows::Close),
        ];
        // All pipelined, then all answered; and one by one.
        let mut exchange = opened();
        for (line, _) in cases {
            assert_eq!(exchange.line(line.as_bytes()), Turn::Relay, "{line}");
        }
        for (line, follows) in cases {
            assert_eq!(exchange.status(&status("+OK")), follows, "{line}");
        }
        for (line, follows) in cases {
            let mut exchange = opened();
            exchange.line(line.as_bytes());
            let refused = if follows == Follows::Close { Follows::Close } else { Follows::Nothing };
            assert_eq!(exchange.status(&status("-ERR")), refused, "{line}");
        }
    }

    #[test]
    fn replies_of_ours_come_in_their_turn() {
        let mut exchange = opened();
        assert_eq!(exchange.line(b"STAT"), Turn::Relay);
        assert_eq!(exchange.line(b"XTND"), Turn::Answered);
        assert_eq!(exchange.line(b"NOOP"), Turn::Relay);
        assert_eq!(exchange.bad_line(BadLine::TooLong), Turn::Answered);
        assert_eq!(exchange.local_reply(), None);
        assert_eq!(exchange.status(&status("+OK")), Follows::Nothing);
        assert_eq!(exchange.local_reply().as_deref(), Some(&b"-ERR this command is not relayed\r\n"[..]));
        assert_eq!(exchange.local_reply(), None);
        assert!(exchange.awaits_server());
        assert_eq!(exchange.status(&status("+OK")), Follows::Nothing);
        assert!(exchange.local_reply().is_some());
        assert_eq!(exchange.awaited(), None);
    }

    #[test]
    fn auth_is_a_dialogue() {
        let mut exchange = opened();
        assert_eq!(exchange.line(b"AUTH GSSAPI"), Turn::Answered);
        exchange.local_reply();
        assert_eq!(exchange.line(b"AUTH LOGIN"), Turn::Relay);
        assert_eq!(exchange.reads(), Reads::Nothing);
        for _ in 0..2 {
            assert_eq!(exchange.status(&status("+ VXNlcg==")), Follows::AuthLine);
            assert_eq!(exchange.reads(), Reads::AuthLine);
            assert_eq!(exchange.auth_line(b"YQ=="), Turn::Relay);
            assert_eq!(exchange.reads(), Reads::Nothing);
        }
        assert_eq!(exchange.status(&status("+OK")), Follows::Nothing);
        assert!(exchange.is_authenticated());
        assert_eq!(exchange.reads(), Reads::Commands);
        let mut exchange = opened();
        exchange.line(b"AUTH LOGIN");
        exchange.status(&status("+ "));
        assert_eq!(exchange.auth_line(b"RETR 1"), Turn::Close);
    }

    #[test]
    fn tls_is_ours_and_comes_first() {
        let mut exchange = Exchange::new(Rules::default(), Offer::Yes, Offer::No);
        assert_eq!(exchange.line(b"STLS"), Turn::Answered);
        exchange.status(&status("+OK"));
        exchange.local_reply();
        assert_eq!(exchange.line(b"USER a"), Turn::Answered);
        exchange.local_reply();
        assert_eq!(exchange.line(b"STLS"), Turn::StartTls);
        assert_eq!(exchange.reads(), Reads::Nothing);
        exchange.tls_started(Offer::Yes);
        assert_eq!(exchange.line(b"STLS"), Turn::Answered);
        exchange.local_reply();
        assert_eq!(exchange.line(b"USER a"), Turn::Relay);
    }

    #[test]
    fn what_was_not_asked_for_ends_it() {
        let mut exchange = opened();
        assert_eq!(exchange.status(&status("+OK")), Follows::OutOfStep);
        let mut exchange = opened();
        exchange.line(b"STAT");
        assert_eq!(exchange.status(&status("+ x")), Follows::OutOfStep);
        let mut exchange = Exchange::new(Rules::default(), Offer::No, Offer::Yes);
        assert_eq!(exchange.status(&status("-ERR full")), Follows::Close);
    }

    #[test]
    fn limits_hold() {
        let mut exchange = opened();
        for _ in 0..64 {
            assert_eq!(exchange.reads(), Reads::Commands);
            exchange.line(b"NOOP");
        }
        assert_eq!(exchange.reads(), Reads::Nothing);
        let mut exchange = opened();
        for _ in 0..20 {
            assert_eq!(exchange.line(b"FOO"), Turn::Answered);
        }
        assert_eq!(exchange.line(b"FOO"), Turn::Close);
    }
}
