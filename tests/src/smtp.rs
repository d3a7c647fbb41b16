//! An SMTP client that says exactly what it is told to. Rule: bytes go out as they are given, nothing is repaired.

use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::wait::PATIENCE;

/// A reply: its code and the text of all its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Such as 250.
    pub code: u16,
    /// The lines without their codes, joined by `\n`.
    pub text: String,
}

impl Reply {
    /// Whether a keyword stands at the start of one of an EHLO reply's lines.
    pub fn offers(&self, keyword: &str) -> bool {
        self.text.lines().skip(1).any(|line| line.split(' ').next() == Some(keyword))
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    /// Connects and waits for nothing.
    pub fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}")))
    }

    fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time above zero");
        stream.set_nodelay(true).expect("a socket has no delay");
        Self { stream, received: Vec::new() }
    }

    /// Connects from an address of one's own choice; on Linux all of 127.0.0.0/8 is ours.
    pub fn connect_from(source: Ipv4Addr, address: SocketAddr) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there are sockets");
        socket.bind(&SocketAddr::from((source, 0)).into()).expect("the address is ours");
        socket.connect(&address.into()).unwrap_or_else(|error| panic!("{address}: {error}"));
        Self::over(socket.into())
    }

    /// Connects, reads the greeting and says EHLO.
    pub fn greeted(address: SocketAddr) -> Self {
        Self::connect(address).greet()
    }

    /// Reads the greeting and says EHLO.
    pub fn greet(self) -> Self {
        let mut client = self;
        let greeting = client.reply();
        assert_eq!(greeting.code, 220, "{greeting:?}");
        let hello = client.command("EHLO client.example.org");
        assert_eq!(hello.code, 250, "{hello:?}");
        client
    }

    /// The socket itself.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends these bytes; a connection that has gone is told by the reply that does not come.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends a line and waits for its reply.
    pub fn command(&mut self, line: &str) -> Reply {
        self.send(format!("{line}\r\n").as_bytes());
        self.reply()
    }

    /// Waits for a reply.
    ///
    /// # Panics
    ///
    /// Panics where none comes.
    pub fn reply(&mut self) -> Reply {
        self.try_reply().unwrap_or_else(|error| panic!("no reply: {error}"))
    }

    /// Waits for a reply, or for the end of the connection.
    pub fn try_reply(&mut self) -> io::Result<Reply> {
        let mut text = Vec::new();
        loop {
            let line = self.line()?;
            let code = line.get(..3).and_then(|code| code.parse().ok());
            let code: u16 = code.ok_or_else(|| io::Error::other(format!("this is no reply: {line:?}")))?;
            text.push(line.get(4..).unwrap_or_default().to_owned());
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(Reply { code, text: text.join("\n") });
            }
        }
    }

    /// All replies until the connection ends, or nothing comes for so long.
    pub fn replies_within(&mut self, silence: Duration) -> Vec<Reply> {
        self.stream.set_read_timeout(Some(silence)).expect("a time above zero");
        let mut replies = Vec::new();
        while let Ok(reply) = self.try_reply() {
            replies.push(reply);
        }
        self.stream.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
        replies
    }

    /// Envelope and content; returns the reply that ended it, whichever that was.
    pub fn mail(&mut self, sender: &str, recipients: &[&str], content: &[u8]) -> Reply {
        let reply = self.envelope(sender, recipients);
        if reply.code != 354 {
            return reply;
        }
        self.send(&dot_stuffed(content));
        self.reply()
    }

    /// MAIL, RCPT and DATA; returns the reply to the first that was not taken, else that to DATA.
    pub fn envelope(&mut self, sender: &str, recipients: &[&str]) -> Reply {
        let mut lines = vec![format!("MAIL FROM:<{sender}>")];
        lines.extend(recipients.iter().map(|recipient| format!("RCPT TO:<{recipient}>")));
        for line in lines {
            let reply = self.command(&line);
            if reply.code != 250 {
                return reply;
            }
        }
        self.command("DATA")
    }

    /// Ends the connection as a crash does: what is on its way is lost.
    pub fn vanish(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Waits until the other side has closed; what it said last is returned.
    pub fn until_closed(&mut self) -> Vec<Reply> {
        let mut replies = Vec::new();
        loop {
            match self.try_reply() {
                Ok(reply) => replies.push(reply),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("it is not closed"),
                Err(_) => return replies,
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.received.windows(2).position(|window| window == b"\r\n") {
                let line = String::from_utf8_lossy(&self.received[..end]).into_owned();
                self.received.drain(..end + 2);
                return Ok(line);
            }
            let mut chunk = [0; 4096];
            let length = match self.stream.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.received.extend_from_slice(&chunk[..length]);
        }
    }
}

/// The content as DATA carries it (RFC 5321 section 4.5.2), with the end of data.
pub fn dot_stuffed(content: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(content.len() + 8);
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        if line.first() == Some(&b'.') {
            wire.push(b'.');
        }
        wire.extend_from_slice(line);
    }
    if !wire.is_empty() && !wire.ends_with(b"\r\n") {
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b".\r\n");
    wire
}
