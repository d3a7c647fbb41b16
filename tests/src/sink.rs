//! An SMTP server that records what it gets and can fail at any point. Rule: it judges nothing; tests do.
//!
//! It stands in where a real server cannot be made to do a thing: to take any line end for an end of data, or to die
//! between two bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::wait;

/// What it takes for the end of a line in commands and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnds {
    /// CRLF only (RFC 5321 section 2.3.8).
    Strict,
    /// CRLF, a bare LF, a bare CR; NULs are dropped first. No server is as careless as this one.
    Lenient,
}

/// Whether it offers CHUNKING (RFC 3030).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunking {
    /// It does.
    Offered,
    /// It does not.
    Withheld,
}

/// Where in a session something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The client has connected, no greeting yet.
    Connected,
    /// After EHLO.
    Ehlo,
    /// After MAIL.
    Mail,
    /// After RCPT.
    Rcpt,
    /// After DATA, before 354.
    Data,
    /// In the content, after its first bytes.
    Content,
    /// The content has ended; the mail is not recorded.
    EndOfData,
    /// The mail is recorded; the reply is not sent.
    Accepted,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Connected,
        Self::Ehlo,
        Self::Mail,
        Self::Rcpt,
        Self::Data,
        Self::Content,
        Self::EndOfData,
        Self::Accepted,
    ];
}

/// What it does instead of going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It closes the connection.
    Close,
    /// It says nothing more, and keeps the connection.
    Silence,
    /// It replies with this line and goes on; after 421 it closes.
    Reply(&'static str),
}

/// How it behaves.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// What ends a line.
    pub line_ends: LineEnds,
    /// Whether CHUNKING is offered.
    pub chunking: Chunking,
    /// What goes wrong, and where; in every session.
    pub fault: Option<(Stage, Fault)>,
    /// Further EHLO keywords.
    pub keywords: &'static [&'static str],
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            line_ends: LineEnds::Strict,
            chunking: Chunking::Offered,
            fault: None,
            keywords: &["PIPELINING", "SIZE 104857600", "8BITMIME", "ENHANCEDSTATUSCODES"],
        }
    }
}

/// A mail that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The argument of MAIL FROM, as it came.
    pub sender: String,
    /// The arguments of RCPT TO.
    pub recipients: Vec<String>,
    /// The content without dot stuffing.
    pub content: Vec<u8>,
}

#[derive(Debug, Default)]
struct Record {
    taken: Mutex<Vec<Taken>>,
    commands: Mutex<Vec<String>>,
    connections: AtomicUsize,
    open: AtomicUsize,
    faults: AtomicUsize,
    stop: AtomicBool,
}

/// A running sink.
#[derive(Debug)]
pub struct Sink {
    /// Where it listens.
    pub address: SocketAddr,
    record: Arc<Record>,
    behaviour: Arc<Mutex<Behaviour>>,
}

impl Sink {
    /// Starts it.
    pub fn start(behaviour: Behaviour) -> Self {
        let address = wait::free_address();
        let listener = TcpListener::bind(address).expect("the address is free");
        let record = Arc::new(Record::default());
        let behaviour = Arc::new(Mutex::new(behaviour));
        let (shared, how) = (Arc::clone(&record), Arc::clone(&behaviour));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let behaviour = how.lock().expect("no thread panics with it").clone();
                let record = Arc::clone(&shared);
                record.connections.fetch_add(1, Ordering::SeqCst);
                record.open.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    // Whatever ends a session, the record says what came of it.
                    let _ = Session::new(stream, behaviour, &record).run();
                    record.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, record, behaviour }
    }

    /// From the next connection on it behaves like this.
    pub fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().expect("no thread panics with it") = behaviour;
    }

    /// The mails taken so far.
    pub fn taken(&self) -> Vec<Taken> {
        self.record.taken.lock().expect("no thread panics with it").clone()
    }

    /// Waits until so many mails were taken.
    pub fn until_taken(&self, count: usize) -> Vec<Taken> {
        wait::until("the sink has not taken the mail", || {
            Some(self.taken()).filter(|mails| mails.len() >= count)
        })
    }

    /// All commands that came, in the order in which they came.
    pub fn commands(&self) -> Vec<String> {
        self.record.commands.lock().expect("no thread panics with it").clone()
    }

    /// How many connections there have been.
    pub fn connections(&self) -> usize {
        self.record.connections.load(Ordering::SeqCst)
    }

    /// How often its fault has happened.
    pub fn faults(&self) -> usize {
        self.record.faults.load(Ordering::SeqCst)
    }

    /// How many connections there are.
    pub fn open_connections(&self) -> usize {
        self.record.open.load(Ordering::SeqCst)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.record.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// Why a session is over.
enum Over {
    Closed,
    Failed,
}

impl From<std::io::Error> for Over {
    fn from(_: std::io::Error) -> Self {
        Self::Closed
    }
}

struct Session<'a> {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    behaviour: Behaviour,
    record: &'a Record,
    mail: Taken,
    is_spoilt: bool,
}

impl<'a> Session<'a> {
    fn new(stream: TcpStream, behaviour: Behaviour, record: &'a Record) -> Self {
        let writer = stream.try_clone().expect("a descriptor can be had twice");
        let _ = writer.set_nodelay(true);
        Self {
            reader: BufReader::new(stream),
            writer,
            behaviour,
            record,
            mail: Taken::default(),
            is_spoilt: false,
        }
    }

    fn run(&mut self) -> Result<(), Over> {
        self.at(Stage::Connected, "220 sink.example.org ESMTP")?;
        loop {
            let line = self.line()?;
            let command = String::from_utf8_lossy(&line).trim_end().to_owned();
            if command.is_empty() {
                continue;
            }
            self.record.commands.lock().expect("no thread panics with it").push(command.clone());
            let verb = command.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            match verb.as_str() {
                "EHLO" | "HELO" => self.hello()?,
                "MAIL" => {
                    self.is_spoilt = false;
                    self.mail = Taken { sender: argument(&command), ..Taken::default() };
                    self.at(Stage::Mail, "250 2.1.0 ok")?;
                }
                "RCPT" => {
                    self.mail.recipients.push(argument(&command));
                    self.at(Stage::Rcpt, "250 2.1.5 ok")?;
                }
                "DATA" => {
                    self.at(Stage::Data, "354 go ahead")?;
                    self.data()?;
                    self.take()?;
                }
                "BDAT" => self.bdat(&command)?,
                "RSET" => {
                    self.mail = Taken::default();
                    self.say("250 2.0.0 ok")?;
                }
                "NOOP" | "XCLIENT" | "XFORWARD" => self.say("250 2.0.0 ok")?,
                "QUIT" => return self.say("221 2.0.0 bye"),
                _ => self.say("500 5.5.1 what")?,
            }
        }
    }

    fn hello(&mut self) -> Result<(), Over> {
        let mut keywords: Vec<&str> = self.behaviour.keywords.to_vec();
        if self.behaviour.chunking == Chunking::Offered {
            keywords.push("CHUNKING");
        }
        let mut reply = String::from("250-sink.example.org");
        for (index, keyword) in keywords.iter().enumerate() {
            let mark = if index + 1 == keywords.len() { ' ' } else { '-' };
            reply += &format!("\r\n250{mark}{keyword}");
        }
        self.at(Stage::Ehlo, &reply)
    }

    fn bdat(&mut self, command: &str) -> Result<(), Over> {
        let mut words = command.split_whitespace().skip(1);
        let length: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut chunk = vec![0; length];
        self.reader.read_exact(&mut chunk)?;
        if self.is_spoilt {
            return self.say("503 5.5.1 a chunk of this mail was refused");
        }
        self.mail.content.extend_from_slice(&chunk);
        if words.next().is_some_and(|word| word.eq_ignore_ascii_case("LAST")) {
            self.take()
        } else {
            // RFC 3030 section 2: after a chunk that was refused, only RSET helps.
            self.is_spoilt = matches!(self.behaviour.fault, Some((Stage::Content, Fault::Reply(_))));
            self.at(Stage::Content, "250 2.0.0 ok")
        }
    }

    fn take(&mut self) -> Result<(), Over> {
        if let Some((Stage::EndOfData, fault)) = self.behaviour.fault.clone() {
            self.mail = Taken::default();
            return self.fail(&fault);
        }
        let mail = std::mem::take(&mut self.mail);
        self.record.taken.lock().expect("no thread panics with it").push(mail);
        self.at(Stage::Accepted, "250 2.0.0 taken")
    }

    /// Reads content up to what it takes for the end of data.
    fn data(&mut self) -> Result<(), Over> {
        let mut is_first = true;
        loop {
            let line = self.line()?;
            if std::mem::take(&mut is_first) && matches!(self.behaviour.fault, Some((Stage::Content, _))) {
                self.at(Stage::Content, "")?;
            }
            let text = match line.as_slice() {
                [text @ .., b'\r', b'\n'] => text,
                [text @ .., b'\n' | b'\r'] if self.behaviour.line_ends == LineEnds::Lenient => text,
                other => other,
            };
            if text == b"." {
                return Ok(());
            }
            let unstuffed = line.strip_prefix(b".").unwrap_or(&line);
            self.mail.content.extend_from_slice(unstuffed);
        }
    }

    /// A line with its end.
    fn line(&mut self) -> Result<Vec<u8>, Over> {
        let mut line = Vec::new();
        match self.behaviour.line_ends {
            LineEnds::Strict => loop {
                if self.reader.read_until(b'\n', &mut line)? == 0 {
                    return Err(Over::Closed);
                }
                if line.ends_with(b"\r\n") {
                    return Ok(line);
                }
            },
            LineEnds::Lenient => self.lenient_line(&mut line)?,
        }
        Ok(line)
    }

    fn lenient_line(&mut self, line: &mut Vec<u8>) -> Result<(), Over> {
        loop {
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            match byte[0] {
                0 => {}
                b'\n' => {
                    line.push(b'\n');
                    return Ok(());
                }
                // Of a bare CR it is known by the byte after it, which is left where it is. A CR that nothing follows
                // ends a line as well, so nothing is waited for.
                b'\r' => {
                    line.push(b'\r');
                    let next = self.reader.buffer().first().copied();
                    if next.is_some_and(|next| next != b'\n' && next != 0) {
                        return Ok(());
                    }
                }
                other => line.push(other),
            }
        }
    }

    fn say(&mut self, line: &str) -> Result<(), Over> {
        Ok(self.writer.write_all(format!("{line}\r\n").as_bytes())?)
    }

    /// Says the line, unless this is the stage at which it fails.
    fn at(&mut self, stage: Stage, line: &str) -> Result<(), Over> {
        match self.behaviour.fault.clone() {
            Some((when, fault)) if when == stage => self.fail(&fault),
            _ if line.is_empty() => Ok(()),
            _ => self.say(line),
        }
    }

    fn fail_for_good(&mut self) -> Result<(), Over> {
        let _ = self.writer.shutdown(std::net::Shutdown::Both);
        Err(Over::Failed)
    }

    fn fail(&mut self, fault: &Fault) -> Result<(), Over> {
        self.record.faults.fetch_add(1, Ordering::SeqCst);
        match fault {
            Fault::Close => self.fail_for_good(),
            Fault::Silence => {
                // It goes on reading, so that the client's writes succeed, until the client gives up.
                let _ = std::io::copy(&mut self.reader, &mut std::io::sink());
                Err(Over::Failed)
            }
            Fault::Reply(line) => {
                self.say(line)?;
                if line.starts_with("421") { self.fail_for_good() } else { Ok(()) }
            }
        }
    }
}

/// What stands between the angle brackets, else behind the verb.
fn argument(command: &str) -> String {
    let start = command.find('<').map(|at| at + 1).or_else(|| command.find(' ').map(|at| at + 1));
    let rest = command.get(start.unwrap_or(command.len())..).unwrap_or_default();
    rest.split('>').next().unwrap_or_default().to_owned()
}
