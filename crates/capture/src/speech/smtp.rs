//! SMTP as it came (RFC 5321): [`Smtp`] reads commands, replies and mails. Rule: what the client sends is a mail where the server
//! lets it be one; where no answer was seen, it is.

use super::content::{Content, Envelope, Inspector};
use super::lines::{Lines, verb};
use super::side::Side;
use super::{Telling, Turn};
use crate::eve::Ends;
use lockgate_eve::Object;
use lockgate_inspect::Root;
use lockgate_model::{Buffer, Direction, Reason};
use lockgate_proto::smtp::receiver::Limits;
use lockgate_proto::smtp::{Frame, LineEnds, Receiver};
use std::collections::VecDeque;
use std::io::Write;

/// How many commands may wait for their replies.
const COMMANDS_MAX: usize = 256;
/// How many recipients of a mail are kept.
const RECIPIENTS_MAX: usize = 256;

/// One connection.
pub struct Smtp {
    inspector: Inspector,
    commands: Lines,
    replies: Lines,
    mail: Receiver,
    /// Whether the client's bytes are a mail's.
    is_in_mail: bool,
    /// Whether another piece of it may follow this one.
    goes_on: bool,
    awaited: VecDeque<Awaited>,
    side: Side,
    hello: Option<String>,
    transaction: Transaction,
    /// The one before it, for what is told of that later.
    last: Transaction,
    turn: Turn,
}

/// What a reply is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Greeting,
    Data,
    StartTls,
    Other,
}

/// A mail and its envelope.
#[derive(Default)]
struct Transaction {
    sender: Option<String>,
    recipients: Vec<String>,
    is_told: bool,
}

impl Smtp {
    /// Nothing has been said yet.
    pub fn new(inspector: Inspector) -> Self {
        Self {
            inspector,
            commands: Lines::default(),
            replies: Lines::default(),
            mail: Receiver::new(Limits::default()),
            is_in_mail: false,
            goes_on: false,
            awaited: VecDeque::from([Awaited::Greeting]),
            side: Side::new(Direction::ToServer),
            hello: None,
            transaction: Transaction::default(),
            last: Transaction::default(),
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
            Direction::ToServer => self.client(bytes, telling),
            Direction::ToClient => self.server(bytes),
        }
        self.turn
    }

    fn client<W: Write>(&mut self, mut bytes: &[u8], telling: &mut Telling<'_, W>) {
        while !bytes.is_empty() || self.is_in_mail {
            if !self.is_in_mail {
                let (used, line) = self.commands.step(bytes);
                bytes = bytes.get(used..).unwrap_or_default();
                if let Some(line) = line {
                    self.command(&line, telling);
                }
                continue;
            }
            let step = self.mail.step(bytes);
            bytes = bytes.get(step.consumed..).unwrap_or_default();
            match step.frame {
                Frame::Content(content) => self.side.push(content, telling),
                Frame::EndOfContent => self.mail_ends(None, telling),
                _ => return,
            }
        }
    }

    fn command<W: Write>(&mut self, line: &[u8], telling: &mut Telling<'_, W>) {
        let (verb, argument) = verb(line);
        let mut awaited = Awaited::Other;
        match verb.as_slice() {
            b"HELO" | b"EHLO" => self.hello = Some(shown(argument)),
            b"MAIL" => {
                self.side_ends(telling);
                if self.transaction.sender.is_some() {
                    self.envelope_ends(telling);
                }
                self.transaction.sender = Some(path(argument));
            }
            b"RCPT" if self.transaction.recipients.len() < RECIPIENTS_MAX => {
                self.transaction.recipients.push(path(argument));
            }
            b"DATA" => {
                awaited = Awaited::Data;
                self.begin_mail(telling);
                self.mail.expect_data(LineEnds::Pass);
            }
            b"BDAT" => {
                let mut words = argument.split(u8::is_ascii_whitespace);
                let bytes = words.next().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
                if !self.side.is_within() {
                    self.begin_mail(telling);
                }
                self.is_in_mail = true;
                self.mail.expect_chunk(bytes.unwrap_or(0));
                // Another chunk may follow, in which the mail goes on.
                self.goes_on = words.next().is_none();
            }
            b"RSET" | b"QUIT" => {
                self.side_ends(telling);
                self.envelope_ends(telling);
            }
            b"STARTTLS" => awaited = Awaited::StartTls,
            _ => {}
        }
        if self.awaited.len() < COMMANDS_MAX {
            self.awaited.push_back(awaited);
        }
    }

    fn server(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (used, line) = self.replies.step(bytes);
            bytes = bytes.get(used..).unwrap_or_default();
            let Some(line) = line else { return };
            if line.get(3) == Some(&b'-') {
                continue;
            }
            let is_yes = matches!(line.first(), Some(b'2' | b'3'));
            match self.awaited.pop_front() {
                Some(Awaited::Data) if !is_yes && self.is_in_mail => {
                    // What was taken for a mail are commands.
                    self.is_in_mail = false;
                    self.mail.expect_commands();
                }
                Some(Awaited::StartTls) if is_yes => self.turn = Turn::Begins,
                _ => {}
            }
        }
    }

    fn begin_mail<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        self.is_in_mail = true;
        let content = self.content(Root::Mail);
        self.side.begin(content, telling);
        self.transaction.is_told = true;
    }

    /// What is known before the mail, as its inspection.
    fn content(&mut self, root: Root) -> Content {
        let Transaction { sender, recipients, .. } = &self.transaction;
        let envelope =
            Envelope { sender: sender.clone(), recipients: recipients.clone(), ..Envelope::default() };
        let mut content =
            Content::begin(&mut self.inspector, root, self.side.at, Direction::ToServer, envelope);
        if let Some(hello) = &self.hello {
            content.about(Buffer::SmtpHelo, hello.as_bytes());
        }
        if let Some(sender) = sender {
            content.about(Buffer::SmtpMailFrom, sender.as_bytes());
        }
        for recipient in recipients {
            content.about(Buffer::SmtpRcptTo, recipient.as_bytes());
        }
        content
    }

    fn mail_ends<W: Write>(&mut self, cut: Option<Reason>, telling: &mut Telling<'_, W>) {
        self.is_in_mail = false;
        if std::mem::take(&mut self.goes_on) && cut.is_none() {
            return;
        }
        self.side_ends_with(cut, telling);
    }

    fn side_ends<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        if self.side.is_within() {
            self.side_ends_with(None, telling);
        }
    }

    fn side_ends_with<W: Write>(&mut self, cut: Option<Reason>, telling: &mut Telling<'_, W>) {
        self.side.finish(cut, telling);
        self.log(telling);
        self.last = std::mem::take(&mut self.transaction);
        self.side.at += 1;
    }

    /// An envelope without a mail is looked at by itself.
    fn envelope_ends<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        let is_there = self.transaction.sender.is_some() || self.hello.is_some() && self.side.at == 0;
        if is_there && !self.transaction.is_told {
            let content = self.content(Root::File);
            self.side.begin(content, telling);
            self.side_ends_with(None, telling);
        }
    }

    /// Bytes of a side were missed.
    pub fn gap<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        match direction {
            Direction::ToServer => {
                self.commands.clear();
                if self.side.is_within() {
                    // The mail may have ended in it: what comes is read as its rest, up to its end.
                    telling.incomplete(direction, Reason::Partial);
                }
            }
            Direction::ToClient => self.replies.clear(),
        }
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        if direction == Direction::ToServer {
            if self.side.is_within() {
                self.mail_ends(Some(Reason::Truncated), telling);
            }
            self.envelope_ends(telling);
        }
    }

    fn log<W: Write>(&self, telling: &mut Telling<'_, W>) {
        if !telling.eve.wants_all() {
            return;
        }
        let ends = Ends::of_flow(telling.flow, Direction::ToServer);
        telling.eve.event("smtp", &ends, Some(telling.flow), None, |event| {
            event.number("tx_id", self.side.at);
            self.write(&self.transaction, event);
        });
    }

    /// What is known of a mail, while it is at hand or has just ended.
    pub fn describe(&self, at: u64, event: &mut Object<'_>) {
        if at == self.side.at {
            self.write(&self.transaction, event);
        } else if at + 1 == self.side.at {
            self.write(&self.last, event);
        }
    }

    fn write(&self, transaction: &Transaction, event: &mut Object<'_>) {
        event.object("smtp", |object| {
            object.text_if("helo", self.hello.as_deref());
            if let Some(sender) = &transaction.sender {
                object.text("mail_from", &format!("<{sender}>"));
            }
            let recipients = &transaction.recipients;
            if !recipients.is_empty() {
                object.texts("rcpt_to", recipients.iter().map(|recipient| format!("<{recipient}>")));
            }
        });
    }
}

/// The path of `FROM:<path>` or `TO:<path>`, without its brackets.
fn path(argument: &[u8]) -> String {
    let colon = argument.iter().position(|byte| *byte == b':').map_or(0, |at| at + 1);
    let path = argument.get(colon..).unwrap_or_default().trim_ascii();
    let path = match path.strip_prefix(b"<") {
        Some(path) => path.split(|byte| *byte == b'>').next().unwrap_or_default(),
        None => path.split(u8::is_ascii_whitespace).next().unwrap_or_default(),
    };
    shown(path)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
