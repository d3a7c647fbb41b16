//! A POP3 server's replies to a client's commands. Rule: the same frames at every cut, and no reply is taken for another.
#![no_main]

use lockgate_proto::pop3::command::Command;
use lockgate_proto::pop3::exchange::{Exchange, Follows, Reads, Rules, Turn};
use lockgate_proto::pop3::receiver::{Frame, Receiver};
use lockgate_proto::smtp::capabilities::Offer;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((commands, replies)) = lockgate_fuzz::halves(input) else { return };
    let Some((replies, pieces)) = lockgate_fuzz::cut(replies) else { return };
    assert_eq!(session(commands, [replies]), session(commands, pieces));
});

/// All commands at once, as a client that pipelines does, then the replies as they come.
fn session<'a>(commands: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut exchange = Exchange::new(Rules::default(), Offer::Yes, Offer::Yes);
    let mut lines = commands.lines();
    let mut said = Vec::new();
    let mut receiver = Receiver::new();
    let mut content = Vec::new();
    for mut chunk in chunks {
        loop {
            if !speak(&mut exchange, &mut lines, &mut said) {
                return said;
            }
            let step = receiver.step(chunk);
            chunk = &chunk[step.consumed..];
            match step.frame {
                Frame::NeedInput => break,
                Frame::Status(line) => {
                    let follows = exchange.status(&line);
                    said.push(format!("{line:?} {follows:?}"));
                    match follows {
                        Follows::Close | Follows::OutOfStep => return said,
                        Follows::Nothing | Follows::AuthLine => {}
                        _ => receiver.expect_content(),
                    }
                }
                Frame::Content(bytes) => content.extend_from_slice(bytes),
                Frame::EndOfContent => said.push(format!("{:?}", std::mem::take(&mut content))),
                Frame::Malformed(why) => {
                    said.push(format!("{why:?}"));
                    return said;
                }
            }
        }
    }
    said.push(format!("{content:?}"));
    said
}

/// What the client says, as far as it is read; `false` where the session is to be closed.
fn speak(exchange: &mut Exchange, lines: &mut std::str::Lines<'_>, said: &mut Vec<String>) -> bool {
    loop {
        // A reply of ours makes room for a command: that is read now, not at a time that depends on the cuts.
        answer(exchange, said);
        let reads = exchange.reads();
        if reads == Reads::Nothing {
            return true;
        }
        let Some(line) = lines.next() else { return true };
        let turn = match reads {
            Reads::AuthLine => exchange.auth_line(line.as_bytes()),
            _ => {
                let _ = Command::parse(line.as_bytes());
                exchange.line(line.as_bytes())
            }
        };
        said.push(format!("{turn:?}"));
        if turn == Turn::Close {
            return false;
        }
    }
}

fn answer(exchange: &mut Exchange, said: &mut Vec<String>) {
    while let Some(reply) = exchange.local_reply() {
        said.push(format!("local {reply:?}"));
    }
}
