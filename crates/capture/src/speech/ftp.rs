//! FTP as it came (RFC 959): [`Ftp`] reads the control connection, and says which others will bring files. Rule: a command and the
//! replies to it are one transaction.

use super::buffers::Asking;
use super::{Telling, Turn};
use crate::eve::Ends;
use crate::expected::File;
use lockgate_eve::Object;
use lockgate_model::{Buffer, Direction, FlowState};
use lockgate_proto::Side;
use lockgate_proto::ftp::{Conversation, DataConnection, Said};
use std::collections::VecDeque;
use std::io::Write;

/// How many commands are kept for alerts and replies that come behind them.
const KEPT_MAX: usize = 64;

/// One connection.
pub struct Ftp {
    asking: Asking,
    conversation: Conversation,
    kept: VecDeque<Exchange>,
    turn: Turn,
}

/// A command and its replies.
struct Exchange {
    number: u64,
    command: String,
    argument: String,
    codes: Vec<String>,
    replies: Vec<String>,
}

impl Ftp {
    /// Nothing has been said yet.
    pub fn new(state: Option<Box<dyn FlowState>>) -> Self {
        Self {
            asking: Asking::new(state),
            conversation: Conversation::new(),
            kept: VecDeque::new(),
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
        let mut said = Vec::new();
        self.conversation.push(side(direction), bytes, &mut |one| said.push(one));
        for one in said {
            self.hear(one, direction, telling);
        }
        self.turn
    }

    /// Bytes of a side were missed.
    pub fn gap(&mut self, direction: Direction) {
        self.conversation.gap(side(direction));
    }

    fn hear<W: Write>(&mut self, said: Said, direction: Direction, telling: &mut Telling<'_, W>) {
        match said {
            Said::Command { number, verb, argument } => {
                let mut message = self.asking.begin(number, direction);
                message.fill(Buffer::FtpCommand, &verb);
                message.fill(Buffer::FtpCommandData, &argument);
                message.finish(telling);
                if self.kept.len() >= KEPT_MAX {
                    self.kept.pop_front();
                }
                let (command, argument) = (shown(&verb), shown(&argument));
                let (codes, replies) = (Vec::new(), Vec::new());
                self.kept.push_back(Exchange { number, command, argument, codes, replies });
            }
            Said::Reply { to, code, text, is_final } => {
                let number = to.unwrap_or(0);
                let mut message = self.asking.begin(number, direction);
                message.fill(Buffer::FtpCompletionCode, &code);
                message.fill(Buffer::FtpReply, &text);
                message.finish(telling);
                let Some(exchange) = self.kept.iter_mut().find(|exchange| Some(exchange.number) == to) else {
                    return;
                };
                exchange.codes.push(shown(&code));
                exchange.replies.push(shown(&text));
                if is_final {
                    self.log(number, telling);
                }
            }
            Said::Expect(connection) => expect(connection, telling),
            Said::Secured => self.turn = Turn::Begins,
            Said::Odd(from, oddity) => {
                let direction = if from == Side::Client { Direction::ToServer } else { Direction::ToClient };
                telling.odd.push((oddity.name(), direction));
            }
        }
    }

    fn log<W: Write>(&self, number: u64, telling: &mut Telling<'_, W>) {
        if telling.eve.wants_all() {
            let ends = Ends::of_flow(telling.flow, Direction::ToServer);
            telling.eve.event("ftp", &ends, Some(telling.flow), None, |event| {
                event.number("tx_id", number);
                self.describe(number, event);
            });
        }
    }

    /// What is known of a command.
    pub fn describe(&self, number: u64, event: &mut Object<'_>) {
        let Some(exchange) = self.kept.iter().find(|exchange| exchange.number == number) else { return };
        event.object("ftp", |object| {
            object.text("command", &exchange.command);
            if !exchange.argument.is_empty() {
                object.text("command_data", &exchange.argument);
            }
            if !exchange.codes.is_empty() {
                object.texts("completion_code", &exchange.codes);
                object.texts("reply", &exchange.replies);
            }
            object.text("reply_received", if exchange.codes.is_empty() { "no" } else { "yes" });
        });
    }
}

fn expect<W: Write>(connection: DataConnection, telling: &mut Telling<'_, W>) {
    let flow = telling.flow;
    let own = match connection.opened_by {
        Side::Client => flow.server.address,
        Side::Server => flow.client.address,
    };
    let address = connection.to.address.unwrap_or(own);
    let file = File { transfer: connection.transfer, name: shown(&connection.name) };
    telling.expected.expect(address, connection.to.port, file);
}

fn side(direction: Direction) -> Side {
    if direction == Direction::ToServer { Side::Client } else { Side::Server }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
