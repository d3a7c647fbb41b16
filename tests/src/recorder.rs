//! What stands behind a server under test and writes down what reaches it: [`Recorder`]. Rule: what it reads was written
//! by a server, so it is strict and simple: a message that it does not understand is an entry of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::message::{Framing, Head, bytes, chunks};

/// One request, as a server read it and passed it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The method; `?` where the message could not be read.
    pub method: String,
    /// The target; where the message could not be read, what is wrong.
    pub target: String,
    /// Host, empty where there is none.
    pub host: String,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// Whether its end has come.
    pub is_whole: bool,
}

/// An origin that answers each request with one line that repeats method and target.
#[derive(Debug)]
pub struct Recorder {
    /// Where it listens.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Recorder {
    /// Starts one.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::default();
        let all = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let seen = Arc::clone(&all);
                thread::spawn(move || serve(client, &seen));
            }
        });
        Self { address, seen }
    }

    /// What has reached it since this was asked last.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().expect("no writer panics"))
    }

    /// Whether this target has been asked for since the last [`Recorder::take`].
    pub fn has_seen(&self, target: &str) -> bool {
        self.seen.lock().expect("no writer panics").iter().any(|seen| seen.target == target)
    }
}

/// What the recorder answers to such a request.
pub fn answer_to(method: &str, target: &str) -> String {
    format!("seen {method} {target}\n")
}

fn serve(client: TcpStream, all: &Mutex<Vec<Seen>>) {
    let Ok(mut answers) = client.try_clone() else { return };
    let mut requests = BufReader::new(client);
    loop {
        // Between two requests a server may close as it likes.
        if requests.fill_buf().is_ok_and(<[u8]>::is_empty) || requests.fill_buf().is_err() {
            return;
        }
        let seen = match request(&mut requests) {
            Ok(Some(seen)) => seen,
            Ok(None) => return,
            Err(why) => Seen {
                method: String::from("?"),
                target: why,
                host: String::new(),
                body: Vec::new(),
                is_whole: true,
            },
        };
        let is_served = seen.is_whole && seen.method != "?";
        let line = answer_to(&seen.method, &seen.target);
        let body = if seen.method == "HEAD" { "" } else { &line };
        let length = line.len();
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nContent-Type: text/plain\r\n\r\n{body}");
        all.lock().expect("no writer panics").push(seen);
        if !is_served || answers.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// The next request, if the connection is not at its end.
fn request(from: &mut impl BufRead) -> Result<Option<Seen>, String> {
    let Some(head) = Head::read(from)? else { return Ok(None) };
    let [method, target, version] = head.words.as_slice() else {
        return Err(format!("no request line: {:?}", head.words));
    };
    if !matches!(version.as_str(), "HTTP/1.0" | "HTTP/1.1") {
        return Err(format!("no request line: {:?}", head.words));
    }
    let (body, is_whole) = match head.framing()? {
        Framing::Unsaid => (Vec::new(), true),
        Framing::Chunked => chunks(from)?,
        Framing::Length(length) => {
            let body = bytes(from, length)?;
            let is_whole = body.len() == length;
            (body, is_whole)
        }
    };
    let host = head.field("host").unwrap_or_default().to_owned();
    Ok(Some(Seen { method: method.clone(), target: target.clone(), host, body, is_whole }))
}
