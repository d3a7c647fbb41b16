//! A relay that trusts lengths: [`Naive`]. Rule: it has the faults that others are tried for, so that who looks for them can
//! be seen to find them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;

/// How long a server is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a client is that says nothing more, which is less than servers wait for the next request.
const CLIENT_PATIENCE: Duration = Duration::from_millis(300);

/// Ends a message by its first Content-Length, knows of no chunks, asks for all clients by one connection, and passes bytes as
/// they come, but for one thing: servers of today refuse a length beside a coding or close behind it, so where there are both
/// it leaves the length away, as relays have done that knew the rule (RFC 9112 section 6.3) and read by another.
#[derive(Debug)]
pub struct Naive {
    /// Where it listens.
    pub address: SocketAddr,
    log: Log,
}

type Log = Arc<Mutex<Vec<String>>>;
type Shared = Arc<Mutex<Option<BufReader<TcpStream>>>>;

impl Naive {
    /// Starts one before a server.
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (log, shared) = (Log::default(), Shared::default());
        let lines = Arc::clone(&log);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (log, shared) = (Arc::clone(&lines), Arc::clone(&shared));
                thread::spawn(move || serve(client, server, &shared, &log));
            }
        });
        Self { address, log }
    }

    /// An event for each request that it passed, as the gateway writes them.
    pub fn events(&self) -> Vec<String> {
        self.log.lock().expect("no writer panics").clone()
    }
}

fn serve(client: TcpStream, server: SocketAddr, shared: &Shared, log: &Log) -> Option<()> {
    client.set_read_timeout(Some(CLIENT_PATIENCE)).ok()?;
    let mut answers = client.try_clone().ok()?;
    let mut requests = BufReader::new(client);
    loop {
        let request = message(&mut requests, false)?;
        let passed = without_length(&request);
        let answer = asked(&mut shared.lock().expect("nobody panics"), server, &passed)?;
        let line = String::from_utf8_lossy(&request).into_owned();
        let mut words = line.lines().next().unwrap_or_default().split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.strip_prefix("http://").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
        let status = String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|word| word.parse().ok());
        let event = json!({
            "event_type": "verdict",
            "verdict": {"action": "forwarded"},
            "http": {"http_method": method, "url": path.unwrap_or(target), "status": status.unwrap_or(0)},
        });
        log.lock().expect("no writer panics").push(event.to_string());
        answers.write_all(&answer).ok()?;
    }
}

/// Asks by the connection that is there, or by a new one where that has ended.
fn asked(shared: &mut Option<BufReader<TcpStream>>, server: SocketAddr, request: &[u8]) -> Option<Vec<u8>> {
    let has_no_answer = request.starts_with(b"HEAD ");
    for _ in 0..2 {
        if shared.is_none() {
            let stream = TcpStream::connect(server).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            *shared = Some(BufReader::new(stream));
        }
        let connection = shared.as_mut()?;
        let is_sent = connection.get_mut().write_all(request).is_ok();
        let answer = is_sent.then(|| message(connection, has_no_answer)).flatten();
        let Some(answer) = answer else {
            *shared = None;
            continue;
        };
        if field(&answer, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            *shared = None;
        }
        return Some(answer);
    }
    None
}

/// Without its lengths where a coding is named, too.
fn without_length(request: &[u8]) -> Vec<u8> {
    if field(request, "transfer-encoding").is_none() {
        return request.to_vec();
    }
    let mut is_head = true;
    let lines = request.split_inclusive(|byte| *byte == b'\n').filter(|line| {
        is_head &= !line.trim_ascii().is_empty();
        !(is_head && line.to_ascii_lowercase().starts_with(b"content-length:"))
    });
    lines.collect::<Vec<_>>().concat()
}

/// A message as it came: lines to an empty one, then as many bytes as its first Content-Length says.
fn message(from: &mut BufReader<TcpStream>, is_head: bool) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let begun = bytes.len();
        from.read_until(b'\n', &mut bytes).ok()?;
        match &bytes[begun..] {
            [] => return None,
            line if line.trim_ascii().is_empty() && begun > 0 => break,
            _ => {}
        }
    }
    let length = field(&bytes, "content-length").and_then(|length| length.parse().ok());
    if !is_head {
        let length: u64 = length.unwrap_or(0);
        let end = bytes.len() as u64 + length;
        from.take(length).read_to_end(&mut bytes).ok()?;
        if (bytes.len() as u64) < end {
            return None;
        }
    }
    Some(bytes)
}

/// The value of the first such field of a message.
fn field(message: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(message);
    let mut fields = text.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
    fields.find(|field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1.trim().to_owned())
}
