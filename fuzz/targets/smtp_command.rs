//! A client's commands in a session. Rule: every line has an action, whatever came before it.
#![no_main]

use lockgate_proto::smtp::address::{Address, Path};
use lockgate_proto::smtp::capabilities::{Capabilities, Extension};
use lockgate_proto::smtp::command::is_auth_line;
use lockgate_proto::smtp::parameters::Parameters;
use lockgate_proto::smtp::receiver::BadLine;
use lockgate_proto::smtp::reply::Reply;
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
    if let Action::Mail { path, parameters } | Action::Rcpt { path, parameters } = &action {
        said_again(path, parameters);
    }
    match action {
        Action::Reply(reply) => assert!(!reply.to_bytes().is_empty()),
        Action::Close(reply) => {
            assert!(reply.code() >= 200);
            return false;
        }
        Action::Hello { .. } => {
            let all = Capabilities::parse(&Reply::plain(
                250,
                &[
                    "x",
                    "STARTTLS",
                    "AUTH PLAIN LOGIN",
                    "SIZE 1000",
                    "XCLIENT ADDR NAME",
                    "XFORWARD ADDR",
                    "CHUNKING",
                    "DSN",
                ],
            ));
            session.greeted(if is_accepted {
                all.with(Extension::EightBitMime).with(Extension::Smtputf8)
            } else {
                Capabilities::ours()
            });
        }
        Action::StartTls => session.tls_started(),
        Action::SwallowChunk { .. } | Action::Reset | Action::Xforward(_) => {}
        Action::Rcpt { .. } if !is_accepted => session.put_off(),
        _ if is_accepted => session.accepted(),
        _ => session.rejected(),
    }
    true
}

/// What an address is said to be fits the address.
fn said_again(path: &Path, parameters: &Parameters) {
    if let Some(address) = path.address() {
        assert_eq!(address.as_str(), path.as_str());
        assert!(address.as_str().starts_with(address.local_part()));
        let _ = (address.domain(), address.is_literal(), address.is_routed(), address.is_international());
        assert_eq!(Address::parse(address.as_str()).as_ref(), Ok(address));
    }
    let _ = (parameters.size(), parameters.body(), parameters.has_smtputf8());
    for (keyword, value) in parameters.iter() {
        assert_eq!(parameters.value(keyword), Some(value.unwrap_or("")), "{}", keyword.name());
        let _ = (keyword.extension(), parameters.clone().without(keyword));
    }
}
