//! A client's commands in a session. Rule: every line has an action, whatever came before it.
#![no_main]

use lockgate_proto::smtp::capabilities::Capabilities;
use lockgate_proto::smtp::command::is_auth_line;
use lockgate_proto::smtp::receiver::BadLine;
use lockgate_proto::smtp::server::{Action, Behind, Rules, Session};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((how, lines)) = lockgate_fuzz::halves(input) else { return };
    let mut answers = how.bytes().cycle();
    let mut session = Session::new(Rules { errors_max: 1000, ..Rules::default() });
    for line in lines.split(|byte| *byte == b'\n') {
        is_auth_line(line);
        let behind = if answers.next() == Some(b'b') { Behind::Bytes } else { Behind::Nothing };
        let action = match line {
            [0xff, ..] => session.bad_line(BadLine::TooLong),
            line => session.line(line, behind),
        };
        let is_accepted = answers.next() != Some(b'r');
        if !go_on(&mut session, action, is_accepted) {
            break;
        }
        let _ =
            (session.recipients(), session.has_mail(), session.is_authenticated(), session.is_encrypted());
    }
});

/// Does what the action asks for; `false` where the session ends.
fn go_on(session: &mut Session, action: Action, is_accepted: bool) -> bool {
    match action {
        Action::Reply(reply) => assert!(!reply.to_bytes().is_empty()),
        Action::Close(reply) => {
            assert!(reply.code() >= 200);
            return false;
        }
        Action::Hello { .. } => session.greeted(Capabilities::ours()),
        Action::StartTls => session.tls_started(),
        Action::SwallowChunk { .. } | Action::Reset | Action::Xforward(_) => {}
        _ if is_accepted => session.accepted(),
        _ => session.rejected(),
    }
    true
}
