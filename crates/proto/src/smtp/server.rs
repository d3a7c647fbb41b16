//! The order of a client's commands: [`Session`]. Rule: it says what is to be done, the caller does it and tells the outcome.
//!
//! A state is named for what it awaits. Where an [`Action`] says so, the caller tells [`Session::accepted`] or
//! [`Session::rejected`] before the next line; an outcome that is not told counts as a rejection.

use super::address::Path;
use super::capabilities::{Capabilities, Extension};
use super::command::{Command, Last};
use super::parameters::{Keyword, Parameters};
use super::receiver::BadLine;
use super::reply::Reply;
use super::xclient::Attributes;

/// Limits on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Recipients of one mail; RFC 5321 section 4.5.3.1.8 asks for at least 100. One more gets 452 4.5.3.
    pub recipients_max: u32,
    /// Mails in one session; one more gets 421.
    pub mails_max: u32,
    /// Commands and mails refused, by us or the next hop, since the last mail accepted; one more command refused by us
    /// closes the session with 421.
    pub errors_max: u32,
    /// Commands in a row that bring no mail forward; one more closes the session with 421.
    pub idle_commands_max: u32,
    /// Bytes behind a command that must be the last of its group.
    pub early_bytes: EarlyBytes,
    /// Whether mail is taken in clear.
    pub tls: TlsRule,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            recipients_max: 1000,
            mails_max: 10_000,
            errors_max: 20,
            idle_commands_max: 100,
            early_bytes: EarlyBytes::Refuse,
            tls: TlsRule::Optional,
        }
    }
}

/// Bytes that a client sends behind EHLO, DATA or AUTH without awaiting the reply (RFC 2920 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyBytes {
    /// The session is closed with 554: behind a DATA that is refused, they would be a mail read as commands.
    Refuse,
    /// They are read in their turn.
    Take,
}

/// Whether mail is taken in clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsRule {
    /// It is.
    Optional,
    /// Not before STARTTLS.
    Required,
}

/// Whether more bytes of the client are there already behind a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// None.
    Nothing,
    /// Some.
    Bytes,
}

/// Which greeting a client used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    /// HELO: no extensions.
    Helo,
    /// EHLO.
    Ehlo,
}

/// What is to be done for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this.
    Reply(Reply),
    /// Send this and close.
    Close(Reply),
    /// Drop the mail begun, if any. For EHLO answer [`Capabilities::to_reply`], for HELO 250 and the name; then tell
    /// [`Session::greeted`].
    Hello {
        /// What the client calls itself.
        name: String,
        /// Which of the two.
        hello: Hello,
    },
    /// Send 220, discard every byte that has come behind the line, start TLS, tell [`Session::tls_started`].
    StartTls,
    /// Relay the dialogue; tell the outcome.
    Auth {
        /// In capital letters; one that was offered.
        mechanism: String,
        /// As it came.
        initial: Option<String>,
    },
    /// Answer; tell the outcome.
    Mail {
        /// The sender.
        path: Path,
        /// Only those that were offered.
        parameters: Parameters,
    },
    /// Answer; tell the outcome.
    Rcpt {
        /// The recipient.
        path: Path,
        /// Only those that were offered.
        parameters: Parameters,
    },
    /// Answer 354 and tell `accepted`, or another and tell `rejected`. After 354 read the mail
    /// ([`Receiver::expect_data`](super::Receiver::expect_data)), answer at its end and tell that outcome, too.
    Data,
    /// Read a chunk ([`Receiver::expect_chunk`](super::Receiver::expect_chunk)), answer at its end, tell the outcome.
    Chunk {
        /// How many bytes follow.
        bytes: u64,
        /// Whether the mail ends with them.
        last: Last,
    },
    /// Read a chunk and drop it, then send this (RFC 3030 section 2: the bytes come whatever the answer). No outcome.
    SwallowChunk {
        /// How many bytes follow.
        bytes: u64,
        /// The answer.
        reply: Reply,
    },
    /// Drop the mail begun, if any, and answer 250. No outcome.
    Reset,
    /// Take it or not, and answer: 220 for XCLIENT, as if the client had just come. Tell the outcome.
    Xclient(Attributes),
    /// Take it or not, and answer. No outcome.
    Xforward(Attributes),
}

/// What is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// HELO or EHLO.
    ExpectHelo,
    /// MAIL; also AUTH, STARTTLS.
    ExpectMail,
    /// The outcome of XCLIENT.
    AwaitXclient,
    /// The outcome of AUTH.
    AwaitAuth,
    /// The outcome of MAIL.
    AwaitMail,
    /// RCPT, or DATA or BDAT.
    ExpectRcpt,
    /// The outcome of RCPT.
    AwaitRcpt,
    /// Whether DATA got its 354.
    AwaitData,
    /// The end of a mail and its outcome.
    InData,
    /// The end of a chunk and its outcome.
    InChunk(Last),
    /// The next chunk.
    ExpectChunk,
    /// RSET: a chunk was rejected, and those pipelined behind it must be, too.
    ExpectReset,
}

/// One client's session.
#[derive(Debug)]
pub struct Session {
    rules: Rules,
    state: State,
    offered: Capabilities,
    channel: Channel,
    identity: Identity,
    international: International,
    recipients: u32,
    mails: u32,
    errors: u32,
    idle_commands: u32,
    doom: Option<Reply>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Clear,
    Encrypted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    Anonymous,
    Authenticated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum International {
    Declared,
    Not,
}

impl Session {
    /// The greeting has been sent.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            state: State::ExpectHelo,
            offered: Capabilities::none(),
            channel: Channel::Clear,
            identity: Identity::Anonymous,
            international: International::Not,
            recipients: 0,
            mails: 0,
            errors: 0,
            idle_commands: 0,
            doom: None,
        }
    }

    /// What is awaited.
    pub fn state(&self) -> State {
        self.state
    }

    /// Recipients accepted for the mail begun.
    pub fn recipients(&self) -> u32 {
        self.recipients
    }

    /// Whether a MAIL has been accepted that has come to no end yet.
    pub fn has_mail(&self) -> bool {
        use State::{AwaitAuth, AwaitMail, AwaitXclient, ExpectHelo, ExpectMail};
        !matches!(self.state, ExpectHelo | ExpectMail | AwaitXclient | AwaitAuth | AwaitMail)
    }

    /// Whether AUTH has succeeded.
    pub fn is_authenticated(&self) -> bool {
        self.identity == Identity::Authenticated
    }

    /// Whether TLS has started.
    pub fn is_encrypted(&self) -> bool {
        self.channel == Channel::Encrypted
    }

    /// What was offered at EHLO.
    pub fn offered(&self) -> &Capabilities {
        &self.offered
    }

    /// Whether the mail begun was declared international (SMTPUTF8).
    pub fn is_international(&self) -> bool {
        self.international == International::Declared
    }

    /// HELO or EHLO has been answered with this (for HELO, [`Capabilities::none`]).
    pub fn greeted(&mut self, offered: Capabilities) {
        self.offered = offered;
        self.state = State::ExpectMail;
    }

    /// TLS runs: all that was said before is forgotten (RFC 3207 section 4.2).
    pub fn tls_started(&mut self) {
        self.channel = Channel::Encrypted;
        self.identity = Identity::Anonymous;
        self.begin_anew();
    }

    /// The next command gets this reply, and the session ends: for a next hop that is gone with its AUTH.
    pub fn close_at_next_command(&mut self, reply: Reply) {
        self.doom = Some(reply);
    }

    /// What the last action asked for was accepted.
    pub fn accepted(&mut self) {
        self.state = match self.state {
            State::AwaitXclient => {
                self.begin_anew();
                State::ExpectHelo
            }
            State::AwaitAuth => {
                self.identity = Identity::Authenticated;
                State::ExpectMail
            }
            State::AwaitMail => {
                self.recipients = 0;
                State::ExpectRcpt
            }
            State::AwaitRcpt => {
                self.recipients += 1;
                State::ExpectRcpt
            }
            State::AwaitData => State::InData,
            State::InData | State::InChunk(Last::Yes) => {
                self.idle_commands = 0;
                self.errors = 0;
                self.end_mail()
            }
            State::InChunk(Last::No) => State::ExpectChunk,
            other => other,
        };
    }

    /// What the last action asked for was rejected, for now or for good.
    pub fn rejected(&mut self) {
        self.errors = self.errors.saturating_add(1);
        self.state = match self.state {
            State::AwaitXclient | State::AwaitAuth | State::AwaitMail => State::ExpectMail,
            State::AwaitRcpt | State::AwaitData => State::ExpectRcpt,
            State::InData | State::InChunk(Last::Yes) => self.end_mail(),
            State::InChunk(Last::No) => State::ExpectReset,
            other => other,
        };
    }

    /// The recipient is to come in a mail of its own (452 4.5.3): no error of the client.
    pub fn put_off(&mut self) {
        if self.state == State::AwaitRcpt {
            self.state = State::ExpectRcpt;
        }
    }

    /// A line that is none; the answer.
    pub fn bad_line(&mut self, why: BadLine) -> Action {
        self.refuse(500, "5.5.2", why.text())
    }

    /// A command line without its CR LF.
    pub fn line(&mut self, line: &[u8], behind: Behind) -> Action {
        if let Some(reply) = self.doom.take() {
            return Action::Close(reply);
        }
        self.settle();
        let command = match Command::parse(line) {
            Ok(command) => command,
            // Where a chunk's size cannot be read, the next command cannot be found.
            Err(reply) if line.get(..4).is_some_and(|v| v.eq_ignore_ascii_case(b"BDAT")) => {
                return Action::Close(reply);
            }
            Err(reply) => return self.refuse_with(reply),
        };
        if behind == Behind::Bytes && self.rules.early_bytes == EarlyBytes::Refuse && ends_group(&command) {
            let text = "await the reply to this command before sending more";
            return Action::Close(Reply::new(554, "5.5.0", text));
        }
        if !matches!(
            command,
            Command::Mail { .. } | Command::Rcpt { .. } | Command::Data | Command::Bdat { .. }
        ) {
            self.idle_commands = self.idle_commands.saturating_add(1);
        }
        if self.idle_commands > self.rules.idle_commands_max && command != Command::Quit {
            return Action::Close(Reply::new(421, "4.7.0", "too many commands without a mail"));
        }
        self.command(command)
    }

    fn command(&mut self, command: Command) -> Action {
        match command {
            Command::Helo(name) => self.hello(name, Hello::Helo),
            Command::Ehlo(name) => self.hello(name, Hello::Ehlo),
            Command::Mail { path, parameters } => self.mail(path, parameters),
            Command::Rcpt { path, parameters } => self.rcpt(path, parameters),
            Command::Data => self.data(),
            Command::Bdat { bytes, last } => self.bdat(bytes, last),
            Command::Rset => {
                if self.state != State::ExpectHelo {
                    self.state = State::ExpectMail;
                }
                self.forget_mail();
                Action::Reset
            }
            Command::Noop => Action::Reply(Reply::new(250, "2.0.0", "OK")),
            Command::Quit => Action::Close(Reply::new(221, "2.0.0", "bye")),
            // RFC 5321 section 3.5.3: no address is told.
            Command::Vrfy => Action::Reply(Reply::new(252, "2.5.2", "send a mail to find out")),
            Command::Expn => self.refuse(502, "5.5.1", "lists are not expanded here"),
            Command::Help => Action::Reply(Reply::new(214, "2.0.0", "see RFC 5321")),
            Command::StartTls => self.start_tls(),
            Command::Auth { mechanism, initial } => self.auth(mechanism, initial),
            Command::Xclient(attributes) => self.xclient(attributes),
            Command::Xforward(attributes) => self.xforward(attributes),
        }
    }

    fn hello(&mut self, name: String, hello: Hello) -> Action {
        // RFC 5321 section 4.1.4: a second EHLO works as RSET.
        self.forget_mail();
        self.state = State::ExpectHelo;
        Action::Hello { name, hello }
    }

    fn mail(&mut self, path: Path, parameters: Parameters) -> Action {
        match self.state {
            State::ExpectMail => {}
            State::ExpectHelo => return self.refuse(503, "5.5.1", "send EHLO first"),
            _ => return self.refuse(503, "5.5.1", "a mail has begun; send RSET to begin another"),
        }
        if self.rules.tls == TlsRule::Required && self.channel == Channel::Clear {
            return self.refuse(530, "5.7.0", "send STARTTLS first");
        }
        if self.mails >= self.rules.mails_max {
            return Action::Close(Reply::new(421, "4.7.0", "too many mails in one session; connect again"));
        }
        if let Some(reply) = self.not_offered(&parameters) {
            return self.refuse_with(reply);
        }
        if let (Some(size), Some(max)) = (parameters.size(), self.offered.size_max())
            && size > max
        {
            return self.refuse(552, "5.3.4", &format!("the mail is too large; the limit is {max} bytes"));
        }
        self.international =
            if parameters.has_smtputf8() { International::Declared } else { International::Not };
        if let Some(reply) = self.not_international(&path) {
            return self.refuse_with(reply);
        }
        self.state = State::AwaitMail;
        Action::Mail { path, parameters }
    }

    fn rcpt(&mut self, path: Path, parameters: Parameters) -> Action {
        match self.state {
            State::ExpectRcpt => {}
            State::ExpectHelo => return self.refuse(503, "5.5.1", "send EHLO first"),
            State::ExpectMail => return self.refuse(503, "5.5.1", "send MAIL first"),
            _ => return self.refuse(503, "5.5.1", "the content has begun; send RSET to begin another mail"),
        }
        if self.recipients >= self.rules.recipients_max {
            // RFC 5321 section 4.5.3.1.10: not an error of the client; it sends the rest in another mail.
            return Action::Reply(Reply::new(
                452,
                "4.5.3",
                "too many recipients; send the rest in another mail",
            ));
        }
        if let Some(reply) = self.not_offered(&parameters).or_else(|| self.not_international(&path)) {
            return self.refuse_with(reply);
        }
        self.state = State::AwaitRcpt;
        Action::Rcpt { path, parameters }
    }

    fn data(&mut self) -> Action {
        match self.state {
            State::ExpectRcpt if self.recipients > 0 => {
                self.state = State::AwaitData;
                Action::Data
            }
            State::ExpectRcpt => self.refuse(554, "5.5.1", "no recipient has been accepted"),
            State::ExpectChunk | State::ExpectReset => {
                self.refuse(503, "5.5.1", "DATA cannot follow BDAT; send RSET to begin another mail")
            }
            _ => self.refuse(503, "5.5.1", "send MAIL and RCPT first"),
        }
    }

    fn bdat(&mut self, bytes: u64, last: Last) -> Action {
        let refusal = match self.state {
            _ if !self.offered.has(Extension::Chunking) => {
                Reply::new(502, "5.5.1", "BDAT is not offered; use DATA")
            }
            State::ExpectRcpt if self.recipients > 0 => {
                self.state = State::InChunk(last);
                return Action::Chunk { bytes, last };
            }
            State::ExpectChunk => {
                self.state = State::InChunk(last);
                return Action::Chunk { bytes, last };
            }
            State::ExpectRcpt => Reply::new(554, "5.5.1", "no recipient has been accepted"),
            State::ExpectReset => {
                Reply::new(503, "5.5.1", "a chunk was refused; send RSET to begin another mail")
            }
            _ => Reply::new(503, "5.5.1", "send MAIL and RCPT first"),
        };
        match self.refuse_with(refusal) {
            Action::Reply(reply) => Action::SwallowChunk { bytes, reply },
            close => close,
        }
    }

    fn start_tls(&mut self) -> Action {
        if self.channel == Channel::Encrypted {
            return self.refuse(503, "5.5.1", "TLS runs already");
        }
        if !self.offered.has(Extension::StartTls) {
            return self.refuse(502, "5.5.1", "STARTTLS is not offered");
        }
        if self.has_mail() {
            return self.refuse(503, "5.5.1", "not during a mail; send RSET first");
        }
        Action::StartTls
    }

    fn auth(&mut self, mechanism: String, initial: Option<String>) -> Action {
        if self.identity == Identity::Authenticated {
            return self.refuse(503, "5.5.1", "already authenticated");
        }
        match self.state {
            State::ExpectMail => {}
            State::ExpectHelo => return self.refuse(503, "5.5.1", "send EHLO first"),
            _ => return self.refuse(503, "5.5.1", "not during a mail"),
        }
        if !self.offered.has(Extension::Auth) {
            let start_tls = self.offered.has(Extension::StartTls);
            return if start_tls {
                self.refuse(538, "5.7.11", "send STARTTLS first; passwords are not taken in clear")
            } else {
                self.refuse(502, "5.5.1", "AUTH is not offered")
            };
        }
        if !self.offered.auth().contains(&mechanism) {
            return self.refuse(504, "5.5.4", "this mechanism is not offered");
        }
        self.state = State::AwaitAuth;
        Action::Auth { mechanism, initial }
    }

    fn xclient(&mut self, attributes: Attributes) -> Action {
        if let Some(reply) = unannounced(&attributes, self.offered.xclient()) {
            return self.refuse_with(reply);
        }
        if self.has_mail() {
            return self.refuse(503, "5.5.1", "not during a mail");
        }
        self.state = State::AwaitXclient;
        Action::Xclient(attributes)
    }

    fn xforward(&mut self, attributes: Attributes) -> Action {
        if let Some(reply) = unannounced(&attributes, self.offered.xforward()) {
            return self.refuse_with(reply);
        }
        if self.has_mail() {
            return self.refuse(503, "5.5.1", "not during a mail");
        }
        Action::Xforward(attributes)
    }

    /// The reply to parameters that belong to an extension that was not offered.
    fn not_offered(&self, parameters: &Parameters) -> Option<Reply> {
        let is_missing = |keyword: Keyword| match keyword {
            // RFC 4954 section 5: a server takes AUTH= whether or not the client is authenticated, and we drop it.
            Keyword::Auth => false,
            _ => !self.offered.has(keyword.extension()),
        };
        let (keyword, _) = parameters.iter().find(|(keyword, _)| is_missing(*keyword))?;
        Some(Reply::new(555, "5.5.4", &format!("{} is not offered", keyword.name())))
    }

    fn not_international(&self, path: &Path) -> Option<Reply> {
        let needs = path.address().is_some_and(super::Address::is_international);
        (needs && self.international == International::Not)
            .then(|| Reply::new(553, "5.6.7", "an address beyond ASCII needs SMTPUTF8 on MAIL"))
    }

    /// An outcome that was not told.
    fn settle(&mut self) {
        use State::{AwaitAuth, AwaitData, AwaitMail, AwaitRcpt, AwaitXclient, InChunk, InData};
        if matches!(
            self.state,
            AwaitAuth | AwaitData | AwaitMail | AwaitRcpt | AwaitXclient | InChunk(_) | InData
        ) {
            self.rejected();
        }
    }

    fn begin_anew(&mut self) {
        self.forget_mail();
        self.offered = Capabilities::none();
        self.state = State::ExpectHelo;
    }

    fn end_mail(&mut self) -> State {
        self.mails = self.mails.saturating_add(1);
        self.forget_mail();
        State::ExpectMail
    }

    fn forget_mail(&mut self) {
        self.recipients = 0;
        self.international = International::Not;
    }

    fn refuse(&mut self, code: u16, enhanced: &str, text: &str) -> Action {
        self.refuse_with(Reply::new(code, enhanced, text))
    }

    fn refuse_with(&mut self, reply: Reply) -> Action {
        self.errors = self.errors.saturating_add(1);
        if self.errors > self.rules.errors_max {
            return Action::Close(Reply::new(421, "4.7.0", "too many errors; closing"));
        }
        Action::Reply(reply)
    }
}

/// RFC 2920 section 3.1: commands that a client must not send more behind. What stands behind STARTTLS is discarded.
fn ends_group(command: &Command) -> bool {
    matches!(
        command,
        Command::Helo(_) | Command::Ehlo(_) | Command::Data | Command::Auth { .. } | Command::Xclient(_)
    )
}

fn unannounced(attributes: &Attributes, announced: &[String]) -> Option<Reply> {
    if announced.is_empty() {
        return Some(Reply::new(500, "5.5.2", "command not recognised"));
    }
    let is_announced = |name: &str| announced.iter().any(|a| a == name);
    let all = attributes.iter().all(|(name, _)| is_announced(name));
    (!all).then(|| Reply::new(501, "5.5.4", "an attribute was not announced"))
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
