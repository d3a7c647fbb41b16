//! SOCKS5 (RFC 1928, 1929), the client's side: [`Client`]. Rule: not a byte behind the last reply is taken.
//!
//! The name is given to the proxy as it is, so that it is looked up where the connection is made.

use std::fmt;

/// What is said to a SOCKS5 server, and read from it, until the connection is open.
#[derive(Debug)]
pub struct Client {
    expects: Expects,
    /// What has come of the reply that is awaited.
    got: Vec<u8>,
    login: Option<Vec<u8>>,
    request: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expects {
    Method,
    Login,
    Reply,
    Nothing,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More is to be read.
    NeedInput,
    /// This is to be sent.
    Say(Vec<u8>),
    /// The connection is open: what comes from here on is the server's behind it.
    Open,
    /// There is no connection.
    Refused(Refusal),
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What answers is not SOCKS5.
    NotSocks,
    /// It wants to be told who we are in a way that we have not.
    NoMethod,
    /// It does not take the name and password.
    Login,
    /// It does not connect; the code is that of RFC 1928 section 6.
    Reply(u8),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSocks => "what answers is not SOCKS5",
            Self::NoMethod => "it wants a name and password, or others",
            Self::Login => "it does not take the name and password",
            Self::Reply(1) => "general failure",
            Self::Reply(2) => "its rules do not allow it",
            Self::Reply(3) => "network unreachable",
            Self::Reply(4) => "host unreachable",
            Self::Reply(5) => "connection refused",
            Self::Reply(6) => "time to live expired",
            Self::Reply(7) => "it does not know the command",
            Self::Reply(8) => "it does not know the type of address",
            Self::Reply(code) => return write!(f, "it refuses with code {code}"),
        })
    }
}

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const PASSWORD: u8 = 2;

impl Client {
    /// Asks for a connection to a host (a name, or an address without brackets); `None` where the name, or a word of the
    /// login, is longer than 255 bytes or empty.
    pub fn new(host: &str, port: u16, login: Option<(&str, &str)>) -> Option<Self> {
        let mut request = vec![VERSION, 1, 0];
        match host.parse() {
            Ok(std::net::IpAddr::V4(v4)) => {
                request.push(1);
                request.extend_from_slice(&v4.octets());
            }
            Ok(std::net::IpAddr::V6(v6)) => {
                request.push(4);
                request.extend_from_slice(&v6.octets());
            }
            Err(_) => {
                request.push(3);
                counted(host, &mut request)?;
            }
        }
        request.extend_from_slice(&port.to_be_bytes());
        let login = match login {
            None => None,
            Some((user, password)) => {
                let mut login = vec![1];
                counted(user, &mut login)?;
                counted(password, &mut login)?;
                Some(login)
            }
        };
        Some(Self { expects: Expects::Method, got: Vec::new(), login, request })
    }

    /// What is said first.
    pub fn greeting(&self) -> &'static [u8] {
        if self.login.is_some() { &[VERSION, 2, NO_LOGIN, PASSWORD] } else { &[VERSION, 1, NO_LOGIN] }
    }

    /// Reads of the input what belongs to the reply that is awaited: how many bytes those were, and what follows.
    pub fn step(&mut self, input: &[u8]) -> (usize, Step) {
        let mut consumed = 0;
        while self.got.len() < self.wanted() {
            let Some(byte) = input.get(consumed) else { return (consumed, Step::NeedInput) };
            self.got.push(*byte);
            consumed += 1;
        }
        let got = std::mem::take(&mut self.got);
        (consumed, self.replied(&got))
    }

    /// How long the reply is, as far as is known. What cannot be right ends at once.
    fn wanted(&self) -> usize {
        let address = match (self.expects, self.got.as_slice()) {
            (Expects::Method | Expects::Login, _) => return 2,
            (Expects::Nothing, _) => return 0,
            (Expects::Reply, [version, ..]) if *version != VERSION => return 1,
            (Expects::Reply, [_, code, ..]) if *code != 0 => return 2,
            (Expects::Reply, [_, _, _, 1, ..]) => 4,
            (Expects::Reply, [_, _, _, 4, ..]) => 16,
            (Expects::Reply, [_, _, _, 3, length, ..]) => 1 + usize::from(*length),
            (Expects::Reply, [_, _, _, 3]) => return 5,
            (Expects::Reply, _) => return 4,
        };
        4 + address + 2
    }

    fn replied(&mut self, got: &[u8]) -> Step {
        let (expects, next) = match (self.expects, got) {
            (Expects::Method, [VERSION, NO_LOGIN]) => {
                (Expects::Reply, Step::Say(std::mem::take(&mut self.request)))
            }
            (Expects::Method, [VERSION, PASSWORD]) => match self.login.take() {
                Some(login) => (Expects::Login, Step::Say(login)),
                None => (Expects::Nothing, Step::Refused(Refusal::NoMethod)),
            },
            (Expects::Method, [VERSION, _]) => (Expects::Nothing, Step::Refused(Refusal::NoMethod)),
            (Expects::Login, [1, 0]) => (Expects::Reply, Step::Say(std::mem::take(&mut self.request))),
            (Expects::Login, [1, _]) => (Expects::Nothing, Step::Refused(Refusal::Login)),
            (Expects::Reply, [VERSION, 0, _, 1 | 3 | 4, ..]) => (Expects::Nothing, Step::Open),
            (Expects::Reply, [VERSION, code @ 1..=255, ..]) => {
                (Expects::Nothing, Step::Refused(Refusal::Reply(*code)))
            }
            _ => (Expects::Nothing, Step::Refused(Refusal::NotSocks)),
        };
        self.expects = expects;
        next
    }
}

/// A word behind its length.
fn counted(word: &str, out: &mut Vec<u8>) -> Option<()> {
    let length = u8::try_from(word.len()).ok().filter(|length| *length > 0)?;
    out.push(length);
    out.extend_from_slice(word.as_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is said, what it comes to, and what is left of the answers.
    fn run(mut client: Client, answers: &[u8], piece_bytes: usize) -> (Vec<u8>, Step, Vec<u8>) {
        let mut said = client.greeting().to_vec();
        let mut at = 0;
        loop {
            let end = answers.len().min(at + piece_bytes);
            let (consumed, step) = client.step(&answers[at..end]);
            at += consumed;
            match step {
                Step::Say(words) => said.extend_from_slice(&words),
                Step::NeedInput if at == answers.len() => return (said, Step::NeedInput, Vec::new()),
                Step::NeedInput => {}
                over => return (said, over, answers[at..].to_vec()),
            }
        }
    }

    /// Host, port and login; the answers, what is said, what it comes to, and what of the answers is left.
    type Case<'a> = (&'a str, u16, Option<(&'a str, &'a str)>, &'a [u8], &'a [u8], Step, &'a [u8]);

    #[test]
    fn a_conversation_is_the_same_at_every_cut() {
        let name = b"\x05\x01\x00\x05\x01\x00\x03\x09a.example\x01\xbb".as_slice();
        let login = b"\x05\x02\x00\x02\x01\x01u\x02pw\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50".as_slice();
        let v6 =
            [b"\x05\x01\x00\x05\x01\x00\x04\x20\x01\x0d\xb8".as_slice(), &[0; 11], b"\x01\x00\x50"].concat();
        let refused = |code| Step::Refused(Refusal::Reply(code));
        let cases: [Case<'_>; 10] = [
            (
                "a.example",
                443,
                None,
                b"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50ab",
                name,
                Step::Open,
                b"ab",
            ),
            ("a.example", 443, None, b"\x05\x00\x05\x00\x00\x03\x03abc\x00\x50", name, Step::Open, b""),
            (
                "192.0.2.1",
                80,
                Some(("u", "pw")),
                b"\x05\x02\x01\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50x",
                login,
                Step::Open,
                b"x",
            ),
            ("2001:db8::1", 80, None, b"\x05\x00\x05\x05\x00\x01", &v6, refused(5), b"\x00\x01"),
            ("a.example", 443, None, b"\x05\x00\x05\x02", name, refused(2), b""),
            ("a.example", 443, None, b"\x05\xff", b"\x05\x01\x00", Step::Refused(Refusal::NoMethod), b""),
            ("a.example", 443, None, b"\x05\x02", b"\x05\x01\x00", Step::Refused(Refusal::NoMethod), b""),
            (
                "a.example",
                443,
                None,
                b"HTTP/1.1 400",
                b"\x05\x01\x00",
                Step::Refused(Refusal::NotSocks),
                b"TP/1.1 400",
            ),
            (
                "192.0.2.1",
                80,
                Some(("u", "pw")),
                b"\x05\x02\x01\x01",
                &login[..10],
                Step::Refused(Refusal::Login),
                b"",
            ),
            (
                "a.example",
                443,
                None,
                b"\x05\x00\x05\x00\x00\x07",
                name,
                Step::Refused(Refusal::NotSocks),
                b"",
            ),
        ];
        for (host, port, login, answers, said, step, left) in cases {
            for piece_bytes in 1..=answers.len() {
                let client = Client::new(host, port, login).unwrap();
                let (seen_said, seen_step, seen_left) = run(client, answers, piece_bytes);
                assert_eq!(seen_said.escape_ascii().to_string(), said.escape_ascii().to_string(), "{host}");
                assert_eq!((seen_step, seen_left.as_slice()), (step_of(&step), left), "{host} {piece_bytes}");
            }
        }
    }

    #[test]
    fn a_reply_cut_short_is_awaited() {
        let answers = b"\x05\x02\x01\x00\x05\x00\x00\x03\x03abc\x00\x50";
        for end in 0..answers.len() {
            let client = Client::new("a", 80, Some(("u", "pw"))).unwrap();
            let (_, step, _) = run(client, &answers[..end], end.max(1));
            assert_eq!(step, Step::NeedInput, "{end}");
        }
    }

    fn step_of(step: &Step) -> Step {
        match step {
            Step::Open => Step::Open,
            Step::Refused(refusal) => Step::Refused(*refusal),
            Step::NeedInput | Step::Say(_) => Step::NeedInput,
        }
    }

    #[test]
    fn what_has_no_place_in_a_request_is_not_asked_for() {
        let long = "a".repeat(256);
        for (host, login) in
            [(long.as_str(), None), ("", None), ("a", Some((long.as_str(), "b"))), ("a", Some(("u", "")))]
        {
            assert!(Client::new(host, 80, login).is_none(), "{host}");
        }
    }
}
