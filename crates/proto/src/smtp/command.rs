//! A command line of RFC 5321 section 4.1, read. Rule: an error says what to do, and a line with a doubt is refused.

use super::address::Path;
use super::parameters::{Of, Parameters};
use super::reply::Reply;
use super::xclient::Attributes;

/// One command with its arguments, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `HELO name`.
    Helo(String),
    /// `EHLO name`.
    Ehlo(String),
    /// `MAIL FROM:<path> parameters`.
    Mail {
        /// The sender.
        path: Path,
        /// SIZE, BODY and so on.
        parameters: Parameters,
    },
    /// `RCPT TO:<path> parameters`; the path is never null.
    Rcpt {
        /// The recipient.
        path: Path,
        /// NOTIFY and ORCPT.
        parameters: Parameters,
    },
    /// `DATA`.
    Data,
    /// `BDAT bytes [LAST]` (RFC 3030).
    Bdat {
        /// How many bytes follow at once.
        bytes: u64,
        /// Whether they are the last of the mail.
        last: Last,
    },
    /// `RSET`.
    Rset,
    /// `NOOP`.
    Noop,
    /// `QUIT`.
    Quit,
    /// `VRFY`.
    Vrfy,
    /// `EXPN`.
    Expn,
    /// `HELP`.
    Help,
    /// `STARTTLS` (RFC 3207).
    StartTls,
    /// `AUTH mechanism [initial]` (RFC 4954).
    Auth {
        /// In capital letters.
        mechanism: String,
        /// Base64, or `=` for an empty one, as it came.
        initial: Option<String>,
    },
    /// `XCLIENT`.
    Xclient(Attributes),
    /// `XFORWARD`.
    Xforward(Attributes),
}

/// Whether a chunk is the last of its mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// It is.
    Yes,
    /// More follow.
    No,
}

impl Command {
    /// Reads a line without its CR LF; the error is the reply to send.
    pub fn parse(line: &[u8]) -> Result<Self, Reply> {
        if line.iter().any(|b| b.is_ascii_control() && *b != b'\t') {
            return Err(Reply::new(500, "5.5.2", "a control character is not allowed in a command"));
        }
        let line = std::str::from_utf8(line)
            .map_err(|_| Reply::new(500, "5.5.2", "the command is neither ASCII nor UTF-8"))?
            .trim_end_matches([' ', '\t']);
        let (verb, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let argument = argument.trim_start_matches([' ', '\t']);
        match verb.to_ascii_uppercase().as_str() {
            "HELO" => host(argument).map(Self::Helo),
            "EHLO" => host(argument).map(Self::Ehlo),
            "MAIL" => mail(argument),
            "RCPT" => rcpt(argument),
            "DATA" => alone(argument, Self::Data),
            "BDAT" => bdat(argument),
            "RSET" => alone(argument, Self::Rset),
            "NOOP" => Ok(Self::Noop),
            "QUIT" => alone(argument, Self::Quit),
            "VRFY" => Ok(Self::Vrfy),
            "EXPN" => Ok(Self::Expn),
            "HELP" => Ok(Self::Help),
            "STARTTLS" => alone(argument, Self::StartTls),
            "AUTH" => auth(argument),
            "XCLIENT" => Attributes::parse(argument).map(Self::Xclient),
            "XFORWARD" => Attributes::parse(argument).map(Self::Xforward),
            _ => Err(Reply::new(500, "5.5.2", "command not recognised")),
        }
    }
}

fn host(argument: &str) -> Result<String, Reply> {
    // What real clients call themselves is often no host name; only one word is asked for.
    if argument.is_empty() || argument.contains([' ', '\t']) {
        return Err(bad("give one host name or address literal, as in EHLO client.example"));
    }
    Ok(argument.to_owned())
}

fn mail(argument: &str) -> Result<Command, Reply> {
    let text = behind_keyword(argument, "FROM:").ok_or_else(|| bad("write MAIL FROM:<address>"))?;
    let (path, rest) = Path::parse(text)?;
    Ok(Command::Mail { path, parameters: Parameters::parse(rest, Of::Mail)? })
}

fn rcpt(argument: &str) -> Result<Command, Reply> {
    let text = behind_keyword(argument, "TO:").ok_or_else(|| bad("write RCPT TO:<address>"))?;
    let (path, rest) = Path::parse(text)?;
    if path == Path::Null {
        return Err(Reply::new(501, "5.1.3", "the recipient is empty; give an address"));
    }
    Ok(Command::Rcpt { path, parameters: Parameters::parse(rest, Of::Rcpt)? })
}

fn behind_keyword<'a>(argument: &'a str, keyword: &str) -> Option<&'a str> {
    let (head, rest) = argument.split_at_checked(keyword.len())?;
    head.eq_ignore_ascii_case(keyword).then_some(rest)
}

fn alone(argument: &str, command: Command) -> Result<Command, Reply> {
    if argument.is_empty() { Ok(command) } else { Err(bad("this command takes no argument")) }
}

/// `BDAT` with a size that cannot be read leaves no way to know where the next command is: the caller closes.
fn bdat(argument: &str) -> Result<Command, Reply> {
    let mut words = argument.split([' ', '\t']).filter(|word| !word.is_empty());
    let size = words.next().unwrap_or_default();
    let last = match words.next() {
        None => Last::No,
        Some(word) if word.eq_ignore_ascii_case("LAST") => Last::Yes,
        Some(_) => return Err(bad("write BDAT size [LAST]")),
    };
    let is_size = !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit());
    match (is_size.then(|| size.parse().ok()).flatten(), words.next()) {
        (Some(bytes), None) => Ok(Command::Bdat { bytes, last }),
        _ => Err(bad("write BDAT size [LAST]")),
    }
}

fn auth(argument: &str) -> Result<Command, Reply> {
    let mut words = argument.split([' ', '\t']).filter(|word| !word.is_empty());
    let mechanism = words.next().unwrap_or_default().to_ascii_uppercase();
    let initial = words.next();
    let is_name = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    if !(1..=20).contains(&mechanism.len()) || !mechanism.bytes().all(is_name) || words.next().is_some() {
        return Err(bad("write AUTH mechanism [initial response]"));
    }
    if initial.is_some_and(|text| !is_base64(text.as_bytes())) {
        return Err(Reply::new(501, "5.5.2", "the initial response is not base64"));
    }
    Ok(Command::Auth { mechanism, initial: initial.map(str::to_owned) })
}

/// Whether a line of an AUTH dialogue is in order (RFC 4954 section 4): base64, or `*` to give up.
pub fn is_auth_line(line: &[u8]) -> bool {
    line.is_empty() || line == b"*" || is_base64(line)
}

fn is_base64(text: &[u8]) -> bool {
    text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
}

fn bad(text: &str) -> Reply {
    Reply::new(501, "5.5.4", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bdat(bytes: u64, last: Last) -> Command {
        Command::Bdat { bytes, last }
    }

    #[test]
    fn commands_are_read() {
        let auth = |mechanism: &str, initial: Option<&str>| Command::Auth {
            mechanism: mechanism.to_owned(),
            initial: initial.map(str::to_owned),
        };
        let cases = [
            ("HELO a", Command::Helo("a".to_owned())),
            ("ehlo [192.0.2.1]  ", Command::Ehlo("[192.0.2.1]".to_owned())),
            ("DATA", Command::Data),
            ("data \t", Command::Data),
            ("BDAT 0 LAST", bdat(0, Last::Yes)),
            ("bdat 86 last", bdat(86, Last::Yes)),
            ("BDAT 18446744073709551615", bdat(u64::MAX, Last::No)),
            ("RSET", Command::Rset),
            ("NOOP anything at all", Command::Noop),
            ("QUIT", Command::Quit),
            ("VRFY a", Command::Vrfy),
            ("EXPN a", Command::Expn),
            ("HELP", Command::Help),
            ("STARTTLS", Command::StartTls),
            ("AUTH plain AGEAYg==", auth("PLAIN", Some("AGEAYg=="))),
            ("AUTH LOGIN", auth("LOGIN", None)),
            ("AUTH EXTERNAL =", auth("EXTERNAL", Some("="))),
        ];
        for (line, expected) in cases {
            assert_eq!(Command::parse(line.as_bytes()).as_ref(), Ok(&expected), "{line}");
        }
    }

    #[test]
    fn envelopes_are_read() {
        let Ok(Command::Mail { path, parameters }) = Command::parse(b"mail from: <a@b> SIZE=5") else {
            panic!("no MAIL");
        };
        assert_eq!((path.as_str(), parameters.size()), ("a@b", Some(5)));
        let Ok(Command::Mail { path, .. }) = Command::parse(b"MAIL FROM:<>") else { panic!("no MAIL") };
        assert_eq!(path, Path::Null);
        let Ok(Command::Rcpt { path, .. }) = Command::parse("RCPT TO:<ü@b> NOTIFY=NEVER".as_bytes()) else {
            panic!("no RCPT");
        };
        assert_eq!(path.as_str(), "ü@b");
    }

    #[test]
    fn errors_say_what_to_do() {
        let cases: &[(&[u8], u16)] = &[
            (b"", 500),
            (b"FOO", 500),
            (b"GET / HTTP/1.1", 500),
            (b"HELO", 501),
            (b"EHLO a b", 501),
            (b"MAIL", 501),
            (b"MAIL FROM", 501),
            (b"MAIL TO:<a@b>", 501),
            (b"MAIL FROM:", 501),
            (b"RCPT TO:<>", 501),
            (b"RCPT TO:<a@b> FOO", 555),
            (b"DATA now", 501),
            (b"QUIT now", 501),
            (b"STARTTLS now", 501),
            (b"BDAT", 501),
            (b"BDAT -1", 501),
            (b"BDAT +1", 501),
            (b"BDAT 1 FIRST", 501),
            (b"BDAT 1 LAST LAST", 501),
            (b"BDAT 18446744073709551616", 501),
            (b"AUTH", 501),
            (b"AUTH a b c", 501),
            (b"AUTH PL@IN", 501),
            (b"AUTH PLAIN a*b", 501),
            (b"NOOP a\rb", 500),
            (b"NOOP a\nb", 500),
            (b"NOOP a\0b", 500),
            (b"NOOP a\x1bb", 500),
            (b"NOOP \xff", 500),
            (b"RCPT TO:<a\xff@b>", 500),
        ];
        for (line, code) in cases {
            let reply = Command::parse(line).expect_err("refused");
            assert_eq!(reply.code(), *code, "{line:?}");
            assert!(reply.enhanced().is_some());
        }
    }

    #[test]
    fn auth_lines_are_base64_or_a_star() {
        for line in ["", "*", "AGEAYg=="] {
            assert!(is_auth_line(line.as_bytes()), "{line}");
        }
        for line in ["**", "a b", "QUIT\r"] {
            assert!(!is_auth_line(line.as_bytes()), "{line}");
        }
    }
}
