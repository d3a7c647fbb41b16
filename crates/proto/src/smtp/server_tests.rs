//! The order of commands, as tables. Rule: each row is a line and what comes of it.

use super::*;
use crate::smtp::capabilities::{Offer, Terms};

/// What comes of a line, in short.
fn short(action: &Action) -> String {
    match action {
        Action::Reply(reply) => reply.code().to_string(),
        Action::Close(reply) => format!("close {}", reply.code()),
        Action::Hello { .. } => "hello".to_owned(),
        Action::StartTls => "starttls".to_owned(),
        Action::Auth { .. } => "auth".to_owned(),
        Action::Mail { .. } => "mail".to_owned(),
        Action::Rcpt { .. } => "rcpt".to_owned(),
        Action::Data => "data".to_owned(),
        Action::Chunk { bytes, last } => format!("chunk {bytes} {last:?}"),
        Action::SwallowChunk { bytes, reply } => format!("swallow {bytes} {}", reply.code()),
        Action::Reset => "reset".to_owned(),
        Action::Xclient(_) => "xclient".to_owned(),
        Action::Xforward(_) => "xforward".to_owned(),
    }
}

fn offered() -> Capabilities {
    let next_hop = Capabilities::parse(&Reply::plain(
        250,
        &["mx", "SIZE 1000", "8BITMIME", "DSN", "SMTPUTF8", "CHUNKING", "AUTH PLAIN EXTERNAL"],
    ));
    next_hop.offered_under(&Terms {
        size_max: None,
        start_tls: Offer::Yes,
        auth: Offer::Yes,
        xclient: &["ADDR"],
        xforward: &["ADDR"],
    })
}

/// Each row: `line => outcome`; `+` in front accepts what is asked for, `-` rejects it, `=` says nothing.
fn play(session: &mut Session, rows: &[&str]) {
    for row in rows {
        let (line, expected) = row[1..].split_once(" => ").expect("a row");
        let action = session.line(line.as_bytes(), Behind::Nothing);
        assert_eq!(short(&action), expected, "{row} in {:?}", session.state());
        match (&action, &row[..1]) {
            (Action::Hello { hello: Hello::Ehlo, .. }, "+") => session.greeted(offered()),
            (Action::Hello { hello: Hello::Helo, .. }, "+") => session.greeted(Capabilities::none()),
            (Action::StartTls, "+") => session.tls_started(),
            (Action::Data, "+") => {
                session.accepted();
                assert_eq!(session.state(), State::InData);
                session.accepted();
            }
            (_, "+") => session.accepted(),
            (_, "-") => session.rejected(),
            _ => {}
        }
    }
}

fn greeted() -> Session {
    let mut session = Session::new(Rules { errors_max: 100, ..Rules::default() });
    play(&mut session, &["+EHLO a => hello"]);
    session
}

#[test]
fn mails_come_one_after_the_other() {
    play(
        &mut greeted(),
        &[
            "+MAIL FROM:<a@b> SIZE=1000 => mail",
            "+RCPT TO:<c@d> => rcpt",
            "-RCPT TO:<e@d> => rcpt",
            "+DATA => data",
            "+MAIL FROM:<> => mail",
            "+RCPT TO:<c@d> NOTIFY=NEVER => rcpt",
            "+BDAT 5 => chunk 5 No",
            "+BDAT 0 LAST => chunk 0 Yes",
            "+MAIL FROM:<a@b> => mail",
            "=RSET => reset",
            "=NOOP => 250",
            "=VRFY a => 252",
            "=HELP => 214",
            "=QUIT => close 221",
        ],
    );
}

#[test]
fn commands_out_of_order_are_refused() {
    let mut session = Session::new(Rules { errors_max: 100, ..Rules::default() });
    play(
        &mut session,
        &[
            "=MAIL FROM:<a@b> => 503",
            "=RCPT TO:<a@b> => 503",
            "=DATA => 503",
            "=AUTH PLAIN => 503",
            "=STARTTLS => 502",
            "=XCLIENT ADDR=1.2.3.4 => 500",
            "=BDAT 5 => swallow 5 502",
            "=RSET => reset",
            "=MAIL FROM:<a@b> => 503",
            "+EHLO a => hello",
            "=RCPT TO:<a@b> => 503",
            "=DATA => 503",
            "=BDAT 7 LAST => swallow 7 503",
            "-MAIL FROM:<a@b> => mail",
            "=RCPT TO:<a@b> => 503",
            "+MAIL FROM:<a@b> => mail",
            "=MAIL FROM:<a@b> => 503",
            "=DATA => 554",
            "=BDAT 7 => swallow 7 554",
            "-RCPT TO:<a@b> => rcpt",
            "=DATA => 554",
            "=STARTTLS => 503",
            "=AUTH PLAIN => 503",
            "=XCLIENT ADDR=1.2.3.4 => 503",
            "+EHLO a => hello",
            "=RCPT TO:<a@b> => 503",
            "=EXPN a => 502",
            "=FOO => 500",
        ],
    );
}

#[test]
fn data_and_bdat_do_not_mix_and_a_refused_chunk_takes_the_rest_with_it() {
    play(
        &mut greeted(),
        &[
            "+MAIL FROM:<a@b> => mail",
            "+RCPT TO:<c@d> => rcpt",
            "+BDAT 5 => chunk 5 No",
            "=DATA => 503",
            "=RCPT TO:<c@d> => 503",
            "-BDAT 6 => chunk 6 No",
            "=BDAT 7 LAST => swallow 7 503",
            "=DATA => 503",
            "=MAIL FROM:<a@b> => 503",
            "=RSET => reset",
            "+MAIL FROM:<a@b> => mail",
            "+RCPT TO:<c@d> => rcpt",
            "-BDAT 6 LAST => chunk 6 Yes",
            "+MAIL FROM:<a@b> => mail",
            "=BDAT x => close 501",
        ],
    );
}

#[test]
fn refused_data_leaves_the_envelope() {
    play(
        &mut greeted(),
        &["+MAIL FROM:<a@b> => mail", "+RCPT TO:<c@d> => rcpt", "-DATA => data", "+DATA => data"],
    );
}

#[test]
fn an_outcome_not_told_is_a_rejection() {
    play(&mut greeted(), &["=MAIL FROM:<a@b> => mail", "=RCPT TO:<c@d> => 503", "+MAIL FROM:<a@b> => mail"]);
}

#[test]
fn a_recipient_put_off_is_no_error() {
    let mut session = Session::new(Rules { errors_max: 0, ..Rules::default() });
    play(&mut session, &["+EHLO a => hello", "+MAIL FROM:<a@b> => mail", "+RCPT TO:<c@d> => rcpt"]);
    for _ in 0..3 {
        play(&mut session, &["=RCPT TO:<e@f> => rcpt"]);
        session.put_off();
    }
    assert_eq!(session.recipients(), 1);
    play(&mut session, &["+DATA => data"]);
}

#[test]
fn a_mail_accepted_forgives_errors() {
    let mut session = Session::new(Rules { errors_max: 1, ..Rules::default() });
    play(
        &mut session,
        &[
            "+EHLO a => hello",
            "=FOO => 500",
            "+MAIL FROM:<a@b> => mail",
            "+RCPT TO:<c@d> => rcpt",
            "+DATA => data",
            "=FOO => 500",
            "=FOO => close 421",
        ],
    );
}

#[test]
fn tls_forgets_what_was_said() {
    let mut session = greeted();
    play(
        &mut session,
        &["+STARTTLS => starttls", "=MAIL FROM:<a@b> => 503", "+EHLO a => hello", "=STARTTLS => 503"],
    );
    assert!(session.is_encrypted());
    let mut strict = Session::new(Rules { tls: TlsRule::Required, ..Rules::default() });
    play(
        &mut strict,
        &["+EHLO a => hello", "=MAIL FROM:<a@b> => 530", "+STARTTLS => starttls", "+EHLO a => hello"],
    );
    play(&mut strict, &["+MAIL FROM:<a@b> => mail"]);
}

#[test]
fn auth_comes_once() {
    let mut session = greeted();
    play(
        &mut session,
        &[
            "=AUTH EXTERNAL = => 504",
            "=AUTH CRAM-MD5 => 504",
            "-AUTH PLAIN AA== => auth",
            "+AUTH PLAIN AA== => auth",
            "=AUTH PLAIN AA== => 503",
            "+MAIL FROM:<a@b> AUTH=<> => mail",
        ],
    );
    assert!(session.is_authenticated());
}

#[test]
fn what_is_not_offered_is_refused() {
    let mut session = Session::new(Rules::default());
    play(
        &mut session,
        &[
            "+HELO a => hello",
            "=MAIL FROM:<a@b> SIZE=1 => 555",
            "=MAIL FROM:<a@b> BODY=8BITMIME => 555",
            "=AUTH PLAIN => 502",
            "=MAIL FROM:<ü@b> => 553",
            "+EHLO a => hello",
            "=MAIL FROM:<a@b> SIZE=1001 => 552",
            "=MAIL FROM:<ü@b> => 553",
            "+MAIL FROM:<a@b> => mail",
            "=RCPT TO:<ü@b> => 553",
            "=RSET => reset",
            "+MAIL FROM:<ü@b> SMTPUTF8 => mail",
            "+RCPT TO:<ü@b> => rcpt",
        ],
    );
}

#[test]
fn xclient_begins_anew() {
    let mut session = greeted();
    play(
        &mut session,
        &[
            "=XCLIENT NAME=x => 501",
            "=XFORWARD ADDR=1.2.3.4 => xforward",
            "-XCLIENT ADDR=1.2.3.4 => xclient",
            "+XCLIENT ADDR=1.2.3.4 => xclient",
            "=MAIL FROM:<a@b> => 503",
            "+EHLO a => hello",
        ],
    );
}

#[test]
fn limits_close_or_defer() {
    let mut session = Session::new(Rules { recipients_max: 1, mails_max: 1, ..Rules::default() });
    play(
        &mut session,
        &[
            "+EHLO a => hello",
            "+MAIL FROM:<a@b> => mail",
            "+RCPT TO:<c@d> => rcpt",
            "=RCPT TO:<e@d> => 452",
            "+DATA => data",
            "=MAIL FROM:<a@b> => close 421",
        ],
    );
    let mut session = Session::new(Rules { errors_max: 2, ..Rules::default() });
    play(&mut session, &["=FOO => 500", "=FOO => 500", "=FOO => close 421"]);
    let mut session = Session::new(Rules { idle_commands_max: 2, ..Rules::default() });
    play(&mut session, &["=NOOP => 250", "=NOOP => 250", "=NOOP => close 421", "=QUIT => close 221"]);
}

#[test]
fn early_bytes_are_refused_where_they_would_be_read_two_ways() {
    for (line, expected) in [
        ("EHLO a", "close 554"),
        ("AUTH PLAIN", "close 554"),
        ("DATA", "close 554"),
        ("STARTTLS", "starttls"),
        ("NOOP", "250"),
        ("MAIL FROM:<a@b>", "mail"),
        ("QUIT", "close 221"),
    ] {
        let action = greeted().line(line.as_bytes(), Behind::Bytes);
        assert_eq!(short(&action), expected, "{line}");
    }
    let mut lenient = Session::new(Rules { early_bytes: EarlyBytes::Take, ..Rules::default() });
    assert_eq!(short(&lenient.line(b"EHLO a", Behind::Bytes)), "hello");
}

#[test]
fn a_doomed_session_closes_at_its_next_command() {
    let mut session = greeted();
    session.close_at_next_command(Reply::new(421, "4.3.2", "the next server is gone"));
    play(&mut session, &["=MAIL FROM:<a@b> => close 421"]);
}

#[test]
fn bad_lines_count_as_errors() {
    let mut session = Session::new(Rules { errors_max: 1, ..Rules::default() });
    assert_eq!(short(&session.bad_line(BadLine::BareLf)), "500");
    assert_eq!(short(&session.bad_line(BadLine::TooLong)), "close 421");
}
