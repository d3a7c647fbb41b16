//! A POP3 command line, read as far as its reply's shape depends on it. Rule: the line itself is relayed as it came.

use crate::lines::BadLine;

/// Longest command line taken, with its CR LF. RFC 2449 section 4 has 255; XOAUTH2 tokens need more.
pub const COMMAND_LINE_BYTES_MAX: usize = 4096;
/// Longest line of an AUTH dialogue taken.
pub const AUTH_LINE_BYTES_MAX: usize = 12_288;

/// What matters of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// USER and PASS, whose password is not kept.
    Credentials(Login),
    /// APOP.
    Apop,
    /// AUTH with a mechanism (RFC 5034), in capital letters.
    Auth {
        /// The mechanism.
        mechanism: String,
    },
    /// AUTH alone: lists mechanisms.
    AuthList,
    /// STLS (RFC 2595): ours.
    Stls,
    /// CAPA (RFC 2449).
    Capa,
    /// LIST, UIDL or LANG without argument: a list.
    Listing,
    /// RETR: a mail.
    Retr {
        /// Its number.
        message: u64,
    },
    /// TOP: the head of a mail and some lines.
    Top {
        /// Its number.
        message: u64,
        /// How many lines of the body.
        lines: u64,
    },
    /// DELE.
    Dele {
        /// Its number.
        message: u64,
    },
    /// QUIT.
    Quit,
    /// STAT, NOOP, RSET, LAST, UTF8; LIST, UIDL and LANG with an argument: one line.
    Brief,
}

/// The two steps of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// USER.
    Name,
    /// PASS.
    Password,
}

/// Why a command is answered here; each is the text behind `-ERR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The shape of its reply is not known, so relaying it could put replies and commands out of step.
    Unknown,
    /// Its argument cannot be read.
    Argument,
    /// A control character within, or not text.
    Character,
    /// The line is none.
    Line(BadLine),
}

impl Refused {
    /// What to tell the client.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "this command is not relayed",
            Self::Argument => "the argument is malformed",
            Self::Character => "a control character is not allowed in a command",
            Self::Line(why) => why.text(),
        }
    }
}

impl Command {
    /// Reads a line without its CR LF.
    pub fn parse(line: &[u8]) -> Result<Self, Refused> {
        if line.iter().any(|b| b.is_ascii_control() && *b != b'\t') {
            return Err(Refused::Character);
        }
        let end = line.iter().position(|b| *b == b' ').unwrap_or(line.len());
        let (verb, argument) = line.split_at(end);
        let argument = argument.trim_ascii();
        match verb.to_ascii_uppercase().as_slice() {
            b"USER" => Ok(Self::Credentials(Login::Name)),
            b"PASS" => Ok(Self::Credentials(Login::Password)),
            b"APOP" => Ok(Self::Apop),
            b"AUTH" => auth(argument),
            b"STLS" if argument.is_empty() => Ok(Self::Stls),
            b"STLS" => Err(Refused::Argument),
            b"CAPA" => Ok(Self::Capa),
            b"LIST" | b"UIDL" | b"LANG" if argument.is_empty() => Ok(Self::Listing),
            b"LIST" | b"UIDL" => number(argument).map(|_| Self::Brief),
            b"LANG" | b"STAT" | b"NOOP" | b"RSET" | b"LAST" | b"UTF8" => Ok(Self::Brief),
            b"RETR" => number(argument).map(|message| Self::Retr { message }),
            b"TOP" => top(argument),
            b"DELE" => number(argument).map(|message| Self::Dele { message }),
            b"QUIT" => Ok(Self::Quit),
            _ => Err(Refused::Unknown),
        }
    }

    /// Whether it carries or asks for a password.
    pub fn is_credentials(&self) -> bool {
        matches!(self, Self::Credentials(_) | Self::Apop | Self::Auth { .. })
    }
}

fn auth(argument: &[u8]) -> Result<Command, Refused> {
    let word = argument.split(|b| *b == b' ').next().unwrap_or_default();
    if word.is_empty() {
        return Ok(Command::AuthList);
    }
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if word.len() > 20 || !word.iter().all(is_name) {
        return Err(Refused::Argument);
    }
    Ok(Command::Auth { mechanism: String::from_utf8_lossy(word).to_ascii_uppercase() })
}

fn top(argument: &[u8]) -> Result<Command, Refused> {
    let mut words = argument.split(|b| *b == b' ').filter(|word| !word.is_empty());
    let message = number(words.next().unwrap_or_default())?;
    let lines = number(words.next().unwrap_or_default())?;
    if words.next().is_some() { Err(Refused::Argument) } else { Ok(Command::Top { message, lines }) }
}

fn number(word: &[u8]) -> Result<u64, Refused> {
    let digits = std::str::from_utf8(word).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok()).ok_or(Refused::Argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let auth = |mechanism: &str| Ok(Command::Auth { mechanism: mechanism.to_owned() });
        let cases = [
            ("USER a b", Ok(Command::Credentials(Login::Name))),
            ("pass a b  c", Ok(Command::Credentials(Login::Password))),
            ("APOP a c4c9334bac560ecc979e58001b3e22fb", Ok(Command::Apop)),
            ("AUTH", Ok(Command::AuthList)),
            ("AUTH ", Ok(Command::AuthList)),
            ("AUTH plain AGEAYg==", auth("PLAIN")),
            ("AUTH PL@IN", Err(Refused::Argument)),
            ("STLS", Ok(Command::Stls)),
            ("STLS now", Err(Refused::Argument)),
            ("CAPA", Ok(Command::Capa)),
            ("LIST", Ok(Command::Listing)),
            ("LIST 3", Ok(Command::Brief)),
            ("UIDL", Ok(Command::Listing)),
            ("UIDL 3", Ok(Command::Brief)),
            ("UIDL x", Err(Refused::Argument)),
            ("LANG", Ok(Command::Listing)),
            ("LANG en", Ok(Command::Brief)),
            ("STAT", Ok(Command::Brief)),
            ("UTF8", Ok(Command::Brief)),
            ("RETR 3", Ok(Command::Retr { message: 3 })),
            ("RETR", Err(Refused::Argument)),
            ("RETR +3", Err(Refused::Argument)),
            ("TOP 3 0", Ok(Command::Top { message: 3, lines: 0 })),
            ("TOP 3", Err(Refused::Argument)),
            ("TOP 3 0 1", Err(Refused::Argument)),
            ("DELE 3", Ok(Command::Dele { message: 3 })),
            ("QUIT", Ok(Command::Quit)),
            ("XTND XMIT", Err(Refused::Unknown)),
            ("", Err(Refused::Unknown)),
            ("RETR\t3", Err(Refused::Unknown)),
            ("NOOP a\rb", Err(Refused::Character)),
        ];
        for (line, expected) in cases {
            assert_eq!(Command::parse(line.as_bytes()), expected, "{line}");
        }
    }
}
