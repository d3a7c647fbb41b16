//! A proxy behind this one: [`Parent`], and [`Hosts`] that are gone to without it. Rule: it is asked for what was judged,
//! and what it answers with is relayed only once the way is open.

use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Stream};
use lockgate_model::Network;
use lockgate_proto::http::{Disposition, Frame, Limits, ResponseReader};
use lockgate_proto::socks;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A proxy that connections to the web go through.
#[derive(Clone, PartialEq, Eq)]
pub struct Parent {
    /// What it speaks.
    pub speaks: Speaks,
    /// Its name or address, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    login: Option<Login>,
}

/// What a parent speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaks {
    /// HTTP: requests in absolute-form, CONNECT for what is encrypted.
    Http,
    /// SOCKS5 (RFC 1928): it looks names up.
    Socks5,
}

#[derive(Clone, PartialEq, Eq)]
struct Login {
    user: String,
    password: String,
}

/// Why the parent opens no way.
#[derive(Debug)]
pub enum ParentError {
    /// It was lost, or silent.
    Broken(std::io::Error),
    /// It says no.
    Refused(String),
}

impl fmt::Display for ParentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(e) => write!(f, "the connection to the proxy behind this one broke: {e}"),
            Self::Refused(why) => write!(f, "the proxy behind this one does not connect: {why}"),
        }
    }
}

impl From<std::io::Error> for ParentError {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Without the password, so that no log has it.
impl fmt::Debug for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.speaks {
            Speaks::Http => "http",
            Speaks::Socks5 => "socks5",
        };
        let login = if self.login.is_some() { "…@" } else { "" };
        write!(f, "{scheme}://{login}{}", authority(&self.host, self.port))
    }
}

impl FromStr for Parent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The text may have a password in it: it is not shown.
        let wrong = || {
            "write \"http://HOST:PORT\" or \"socks5://HOST:PORT\", with USER:PASSWORD@ before the host where \
                        one is needed"
                .to_owned()
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let speaks = match scheme {
            "http" => Speaks::Http,
            "socks5" | "socks5h" => Speaks::Socks5,
            _ => return Err(wrong()),
        };
        let (login, place) = match rest.rsplit_once('@') {
            None => (None, rest),
            Some((login, place)) => {
                let (user, password) = login.split_once(':').ok_or_else(wrong)?;
                let word = |word: &str| unescaped(word).filter(|word| !word.is_empty() && word.len() < 256);
                let user = word(user).ok_or_else(wrong)?;
                let password = word(password).ok_or_else(wrong)?;
                (Some(Login { user, password }), place)
            }
        };
        let (host, port) = place.strip_suffix('/').unwrap_or(place).rsplit_once(':').ok_or_else(wrong)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bare {
            Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '/', '[', ']']),
        };
        match port.parse::<u16>() {
            Ok(port @ 1..) if is_host => {
                Ok(Self { speaks, host: bare.unwrap_or(host).to_owned(), port, login })
            }
            _ => Err(wrong()),
        }
    }
}

impl Parent {
    /// What Proxy-Authorization says to it (RFC 7617).
    pub fn authorization(&self) -> Option<String> {
        let login = self.login.as_ref()?;
        Some(format!("Basic {}", base64(format!("{}:{}", login.user, login.password).as_bytes())))
    }

    /// Asks for a way to a host by a connection to the parent; what comes by it from then on is the host's.
    pub async fn open_tunnel(&self, stream: &mut Stream, host: &str, port: u16) -> Result<(), ParentError> {
        match self.speaks {
            Speaks::Http => self.connect(stream, host, port).await,
            Speaks::Socks5 => self.associate(stream, host, port).await,
        }
    }

    async fn connect(&self, stream: &mut Stream, host: &str, port: u16) -> Result<(), ParentError> {
        let target = authority(host, port);
        let authorization = self.authorization().map(|words| format!("Proxy-Authorization: {words}\r\n"));
        let authorization = authorization.unwrap_or_default();
        stream.write(
            format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n").as_bytes(),
        )?;
        stream.flush().await?;
        let mut reader = ResponseReader::new(Disposition::Strict, Limits::default());
        reader.expect(b"CONNECT");
        loop {
            let answer = read(stream, |bytes| {
                let step = reader.step(bytes);
                let answer = match step.frame {
                    Frame::Head(head, _) if head.is_interim() => None,
                    Frame::Head(head, _) if (200..300).contains(&head.status) => Some(Ok(())),
                    Frame::Head(head, _) => {
                        Some(Err(format!("{} {}", head.status, String::from_utf8_lossy(&head.reason))))
                    }
                    Frame::Refused(refusal) => Some(Err(refusal.words().to_owned())),
                    Frame::NeedInput | Frame::Body(_) | Frame::Trailers(_) | Frame::End => None,
                };
                (step.consumed, answer)
            });
            match answer.await? {
                Some(answer) => return answer.map_err(ParentError::Refused),
                None => continue,
            }
        }
    }

    async fn associate(&self, stream: &mut Stream, host: &str, port: u16) -> Result<(), ParentError> {
        let login = self.login.as_ref().map(|login| (login.user.as_str(), login.password.as_str()));
        let client = socks::Client::new(host, port, login);
        let mut client =
            client.ok_or_else(|| ParentError::Refused("the name is too long for SOCKS5".to_owned()))?;
        stream.write(client.greeting())?;
        loop {
            stream.flush().await?;
            match read(stream, |bytes| client.step(bytes)).await? {
                socks::Step::NeedInput => {}
                socks::Step::Say(words) => stream.write(&words)?,
                socks::Step::Open => return Ok(()),
                socks::Step::Refused(refusal) => return Err(ParentError::Refused(refusal.to_string())),
            }
        }
    }
}

/// Reads once, and puts back what was not used.
async fn read<T>(stream: &mut Stream, mut step: impl FnMut(&[u8]) -> (usize, T)) -> Result<T, ParentError> {
    loop {
        let read = with_scratch(|scratch| match stream.try_read(scratch)? {
            ReadOutcome::Bytes(count) => {
                let (consumed, outcome) = step(&scratch[..count]);
                stream.unread(&scratch[consumed..count]);
                Ok(Some(outcome))
            }
            ReadOutcome::WouldBlock => Ok(None),
            ReadOutcome::End => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
        });
        match read? {
            Some(outcome) => return Ok(outcome),
            None => stream.readable().await?,
        }
    }
}

/// Hosts by name, with or without what is below them, and addresses by network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    names: Vec<String>,
    networks: Vec<Network>,
}

impl FromIterator<String> for Hosts {
    fn from_iter<I: IntoIterator<Item = String>>(words: I) -> Self {
        let mut hosts = Self::default();
        for word in words {
            match word.parse() {
                Ok(network) => hosts.networks.push(network),
                Err(_) => hosts.names.push(word.to_ascii_lowercase()),
            }
        }
        hosts
    }
}

impl Hosts {
    /// Whether the host is one of them.
    pub fn contains(&self, host: &str) -> bool {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return self.networks.iter().any(|network| network.contains(address.to_canonical()));
        }
        let host = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
        self.names.iter().any(|name| match name.strip_prefix('.') {
            None => *name == host,
            Some(parent) => host == parent || host.ends_with(name.as_str()),
        })
    }
}

/// `HOST:PORT`, an IPv6 address in brackets.
pub fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Percent escapes undone (RFC 3986 section 2.1); `None` where they are none, or make no text.
fn unescaped(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
        let (high, low) = (digit()?, digit()?);
        out.push(u8::try_from(high << 4 | low).ok()?);
    }
    String::from_utf8(out).ok().filter(|text| !text.contains(char::is_control))
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let is_there = digit <= group.len();
            out.push(if is_there { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    #[test]
    fn a_parent_is_read_as_a_url_and_its_password_is_not_shown() {
        let cases = [
            ("http://proxy.example:3128", Ok(("http://proxy.example:3128", None))),
            ("http://proxy.example:3128/", Ok(("http://proxy.example:3128", None))),
            ("socks5://[::1]:1080", Ok(("socks5://[::1]:1080", None))),
            ("http://u:p%40ss@192.0.2.1:1", Ok(("http://…@192.0.2.1:1", Some("Basic dTpwQHNz")))),
            ("http://u:a:b@192.0.2.1:1", Ok(("http://…@192.0.2.1:1", Some("Basic dTphOmI=")))),
            (
                "http://Aladdin:open sesame@a:1",
                Ok(("http://…@a:1", Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="))),
            ),
            ("proxy.example:3128", Err(())),
            ("https://proxy.example:3128", Err(())),
            ("http://proxy.example", Err(())),
            ("http://proxy.example:0", Err(())),
            ("http://:80", Err(())),
            ("http://a/b:80", Err(())),
            ("http://::1:80", Err(())),
            ("http://user@a:80", Err(())),
            ("http://u:%zz@a:80", Err(())),
            ("http://u:%0a@a:80", Err(())),
        ];
        for (text, expected) in cases {
            match (text.parse::<Parent>(), expected) {
                (Ok(parent), Ok((shown, authorization))) => {
                    assert_eq!(format!("{parent:?}"), shown);
                    assert_eq!(parent.authorization().as_deref(), authorization, "{text}");
                }
                (Err(why), Err(())) => assert!(why.contains("HOST:PORT") && !why.contains("user"), "{why}"),
                (seen, _) => panic!("{text}: {seen:?}"),
            }
        }
    }

    #[test]
    fn hosts_without_it() {
        let hosts: Hosts = ["example.org", ".Example.com", "10.0.0.0/8", "2001:db8::1"]
            .map(str::to_owned)
            .into_iter()
            .collect();
        for (host, expected) in [
            ("example.org", true),
            ("EXAMPLE.org.", true),
            ("www.example.org", false),
            ("example.com", true),
            ("a.b.example.com", true),
            ("badexample.com", false),
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("11.1.2.3", false),
            ("[2001:db8::1]", true),
        ] {
            assert_eq!(hosts.contains(host), expected, "{host}");
        }
    }

    /// What the parent hears, and what comes of its answers; behind them the host says "hello".
    async fn opened(parent: &str, answers: &'static [&'static [u8]]) -> (String, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let parent: Parent = parent.replace("PORT", &port.to_string()).parse().unwrap();
        let mut stream = Stream::new(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
        let serve = async {
            let (mut peer, _) = listener.accept().await.unwrap();
            let (mut heard, mut piece) = (String::new(), [0; 512]);
            for answer in answers {
                let count = peer.read(&mut piece).await.unwrap();
                heard.push_str(&piece[..count].escape_ascii().to_string());
                peer.write_all(answer).await.unwrap();
            }
            (heard, peer)
        };
        let open = async {
            if let Err(e) = parent.open_tunnel(&mut stream, "a.example", 443).await {
                return e.to_string();
            }
            read(&mut stream, |bytes| (bytes.len(), String::from_utf8_lossy(bytes).into_owned()))
                .await
                .unwrap()
        };
        let ((heard, _peer), outcome) = tokio::join!(serve, open);
        (heard, outcome)
    }

    #[tokio::test]
    async fn a_way_is_opened_or_refused_with_its_reason() {
        let no = "the proxy behind this one does not connect: ";
        let asked = "CONNECT a.example:443 HTTP/1.1\\r\\nHost: a.example:443\\r\\n";
        let plain = format!("{asked}\\r\\n");
        let with_login = format!("{asked}Proxy-Authorization: Basic dTpw\\r\\n\\r\\n");
        let socks = "\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\ta.example\\x01\\xbb";
        let cases: [(&str, &[&[u8]], &str, String); 6] = [
            ("http://127.0.0.1:PORT", &[b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello"], &plain, "hello".into()),
            ("http://u:p@127.0.0.1:PORT", &[b"HTTP/1.0 200 Yes\r\n\r\nhello"], &with_login, "hello".into()),
            (
                "http://127.0.0.1:PORT",
                &[b"HTTP/1.1 407 Who are you\r\nContent-Length: 2\r\n\r\nno"],
                &plain,
                format!("{no}407 Who are you"),
            ),
            (
                "http://127.0.0.1:PORT",
                &[b"SSH-2.0-x\r\n\r\n"],
                &plain,
                format!("{no}the first line is none of HTTP"),
            ),
            (
                "socks5://127.0.0.1:PORT",
                &[b"\x05\x00", b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50hello"],
                socks,
                "hello".into(),
            ),
            (
                "socks5://127.0.0.1:PORT",
                &[b"\x05\x00", b"\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00"],
                socks,
                format!("{no}host unreachable"),
            ),
        ];
        for (parent, answers, heard, outcome) in cases {
            let answers: &'static [&'static [u8]] =
                answers.iter().map(|a| &*a.to_vec().leak()).collect::<Vec<_>>().leak();
            assert_eq!(opened(parent, answers).await, (heard.to_owned(), outcome), "{parent}");
        }
    }
}
