//! An SMTP server that takes every mail and keeps none: [`Sink`]. Rule: as cheap as a server can be, so that it hides nothing.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What a sink offers in EHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offers {
    /// DATA only.
    Data,
    /// CHUNKING too.
    Chunking,
}

/// The field that numbers a mail, at its very beginning.
pub const SEQUENCE_FIELD: &str = "X-Bench-Seq: ";

/// What has arrived.
#[derive(Default)]
pub struct Arrivals {
    times: RefCell<Vec<Option<Instant>>>,
    changed: Notify,
}

impl Arrivals {
    /// Waits until the mail of that number is in.
    pub async fn wait_for(&self, sequence: usize) -> Instant {
        loop {
            let changed = self.changed.notified();
            if let Some(Some(time)) = self.times.borrow().get(sequence) {
                return *time;
            }
            changed.await;
        }
    }

    fn note(&self, sequence: usize) {
        let mut times = self.times.borrow_mut();
        if times.len() <= sequence {
            times.resize(sequence + 1, None);
        }
        times[sequence] = Some(Instant::now());
        self.changed.notify_waiters();
    }
}

/// Listens, and serves on tasks of this thread until the runtime ends.
pub async fn open(address: SocketAddr, offers: Offers, buffer_bytes: usize) -> std::io::Result<Rc<Arrivals>> {
    let listener = TcpListener::bind(address).await?;
    let arrivals = Rc::new(Arrivals::default());
    let shared = Rc::clone(&arrivals);
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let arrivals = Rc::clone(&shared);
            tokio::task::spawn_local(async move {
                let mut session = Session { stream, input: Vec::new(), read: 0, buffer_bytes, arrivals };
                let _ = session.run(offers).await;
            });
        }
    });
    Ok(arrivals)
}

struct Session {
    stream: TcpStream,
    input: Vec<u8>,
    read: usize,
    buffer_bytes: usize,
    arrivals: Rc<Arrivals>,
}

impl Session {
    async fn run(&mut self, offers: Offers) -> std::io::Result<()> {
        self.stream.write_all(b"220 sink ESMTP\r\n").await?;
        let mut head = Vec::new();
        loop {
            let line = self.line().await?;
            let verb = line.get(..4).unwrap_or(&line).to_ascii_uppercase();
            let reply: &[u8] = match verb.as_slice() {
                b"EHLO" if offers == Offers::Chunking => {
                    b"250-sink\r\n250-PIPELINING\r\n250-SIZE 104857600\r\n250-8BITMIME\r\n250 CHUNKING\r\n"
                }
                b"EHLO" => b"250-sink\r\n250-PIPELINING\r\n250-SIZE 104857600\r\n250 8BITMIME\r\n",
                b"DATA" => {
                    self.stream.write_all(b"354 go\r\n").await?;
                    self.data().await?;
                    b"250 2.0.0 ok\r\n"
                }
                b"BDAT" => {
                    self.chunk(&line, &mut head).await?;
                    b"250 2.0.0 ok\r\n"
                }
                b"QUIT" => return self.stream.write_all(b"221 bye\r\n").await,
                _ => b"250 2.1.0 ok\r\n",
            };
            self.stream.write_all(reply).await?;
        }
    }

    async fn line(&mut self) -> std::io::Result<Vec<u8>> {
        loop {
            let unread = &self.input[self.read..];
            if let Some(at) = memchr::memchr(b'\n', unread) {
                let line = unread[..at].trim_ascii_end().to_vec();
                self.read += at + 1;
                return Ok(line);
            }
            self.fill().await?;
        }
    }

    /// Reads more behind what is unread.
    async fn fill(&mut self) -> std::io::Result<()> {
        self.input.drain(..self.read);
        self.read = 0;
        self.input.reserve(self.buffer_bytes);
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn data(&mut self) -> std::io::Result<()> {
        const END: &[u8] = b"\r\n.\r\n";
        let mut head = Vec::new();
        loop {
            let unread = &self.input[self.read..];
            keep_head(&mut head, unread);
            if let Some(at) = memchr::memmem::find(unread, END) {
                self.read += at + END.len();
                self.arrived(&head);
                return Ok(());
            }
            // The end may be cut in two: its beginning stays.
            self.read += unread.len().saturating_sub(END.len() - 1);
            self.fill().await?;
        }
    }

    async fn chunk(&mut self, line: &[u8], head: &mut Vec<u8>) -> std::io::Result<()> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_whitespace().skip(1);
        let mut left: usize = words.next().and_then(|w| w.parse().ok()).unwrap_or(0);
        let is_last = words.next().is_some();
        while left > 0 {
            let unread = &self.input[self.read..];
            let taken = unread.len().min(left);
            keep_head(head, &unread[..taken]);
            self.read += taken;
            left -= taken;
            if left > 0 {
                self.fill().await?;
            }
        }
        if is_last {
            self.arrived(head);
            head.clear();
        }
        Ok(())
    }

    fn arrived(&self, head: &[u8]) {
        let text = String::from_utf8_lossy(head);
        let number =
            text.split(SEQUENCE_FIELD).nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
        if let Some(sequence) = number {
            self.arrivals.note(sequence);
        }
    }
}

/// The number stands within the first few fields, behind what relays put before it.
fn keep_head(head: &mut Vec<u8>, bytes: &[u8]) {
    let room = 4096usize.saturating_sub(head.len());
    head.extend_from_slice(&bytes[..bytes.len().min(room)]);
}
