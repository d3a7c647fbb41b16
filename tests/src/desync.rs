//! Whether the gateway and a server behind it part a client's bytes at the same places: [`Pair`]. Rule: what the server
//! logged is what the gateway logged, an answer is the one to the request that was asked, and who is not the gateway is
//! judged alike.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gateway::Gateway;
use crate::message;
use crate::naive::Naive;
use crate::recorder::{Seen, answer_to};
use crate::reverse::{Make, Server};
use crate::wait::{self, PATIENCE};

/// How long the logs of what has been answered may differ.
const LOGGED_WITHIN: Duration = Duration::from_secs(5);

/// A gateway and a server that it leads to.
#[derive(Debug)]
pub struct Pair {
    /// The server.
    pub server: Server,
    front: Front,
    tried: usize,
    events_read: usize,
    lines_read: usize,
}

/// Who stands between client and server.
#[derive(Debug)]
enum Front {
    Gateway(Gateway),
    Naive(Naive),
}

impl Front {
    fn address(&self) -> SocketAddr {
        match self {
            Self::Gateway(gateway) => gateway.address,
            Self::Naive(naive) => naive.address,
        }
    }

    fn events(&self) -> Vec<String> {
        match self {
            Self::Gateway(gateway) => gateway.events(),
            Self::Naive(naive) => naive.events(),
        }
    }
}

/// What came of one client's bytes.
#[derive(Debug)]
pub struct Tried {
    /// What the client got.
    pub received: Vec<u8>,
    /// What reached the recorder behind the server, without the questions of our own that stood behind the case.
    pub seen: Vec<Seen>,
    /// The statuses of the answers, without those to the questions of our own.
    pub statuses: Vec<u16>,
    /// What is wrong.
    pub wrong: Vec<String>,
}

/// A line of the gateway's log, or the server's: the request as a method and a target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Logged {
    method: String,
    target: String,
    /// Whether the request was sent on, or answered as one.
    is_certain: bool,
}

impl Pair {
    /// Starts both. What does not come is given up soon, so that an incomplete request costs no more.
    pub fn start(make: Make) -> Self {
        let gateway = Gateway::http("command_timeout = \"1 s\"\ndata_block_timeout = \"1 s\"", "");
        Self::of(Server::start(make), Front::Gateway(gateway))
    }

    /// With a relay that trusts lengths in place of the gateway: what is looked for is then there.
    pub fn with_naive(make: Make) -> Self {
        let server = Server::start(make);
        let naive = Naive::start(server.address);
        Self::of(server, Front::Naive(naive))
    }

    fn of(server: Server, front: Front) -> Self {
        Self { server, front, tried: 0, events_read: 0, lines_read: 0 }
    }

    /// Sends a client's bytes, in which `ORIGIN` stands for the server, with a question behind them on the same connection,
    /// then one on another; and compares what everybody made of it.
    pub fn attempt(&mut self, case: &[u8]) -> Tried {
        self.tried += 1;
        let origin = self.server.address.to_string();
        let (same, other) = (format!("/same-{}", self.tried), format!("/other-{}", self.tried));
        let bytes = [replaced(case, b"ORIGIN", origin.as_bytes()), question(&same, &origin)].concat();
        let received = converse(self.front.address(), &bytes, &answer_to("GET", &same));
        let answer = converse(self.front.address(), &question(&other, &origin), &answer_to("GET", &other));
        let mut wrong = Vec::new();
        if !is_answer_to(&answer, &other) {
            wrong.push(format!("another client asked for {other} and got: {}", answer.escape_ascii()));
        }
        let methods = methods_in(&bytes);
        let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
        let statuses = match message::responses(&received, &methods) {
            Ok(responses) => responses.iter().map(|response| response.status).collect(),
            Err(why) => {
                wrong.push(format!(
                    "what the client got has no one reading: {why}: {}",
                    received.escape_ascii()
                ));
                Vec::new()
            }
        };
        wrong.extend(self.compare_logs(&other));
        let mut seen = self.server.recorder.take();
        // What has no end was broken off, so nobody acts on it.
        seen.retain(|seen| seen.is_whole);
        wrong.extend(
            seen.iter()
                .filter(|seen| seen.method == "?")
                .map(|seen| format!("the recorder saw: {}", seen.target)),
        );
        let is_question = |seen: &Seen, target: &str| seen.method == "GET" && seen.target == target;
        let asked =
            |seen: &[Seen], target: &str| seen.iter().filter(|seen| is_question(seen, target)).count();
        if asked(&seen, &other) != 1 || asked(&seen, &same) > 1 {
            wrong.push(format!("a question was not asked once: {seen:?}"));
        }
        if asked(&seen, &same) == 1 && !received.ends_with(answer_to("GET", &same).as_bytes()) {
            wrong.push(format!("{same} was asked, and the client got: {}", received.escape_ascii()));
        }
        seen.retain(|seen| !is_question(seen, &same) && !is_question(seen, &other));
        Tried { received, seen, statuses, wrong }
    }

    /// What is different between what the gateway has logged since the last attempt, and what the server has. Whoever answers
    /// first writes down later that he did, so for a while the two may differ.
    fn compare_logs(&mut self, last: &str) -> Option<String> {
        wait::until_line(|| self.front.events().join("\n"), &["\"verdict\"", &format!("\"url\":\"{last}\"")]);
        let word = format!(" {last} ");
        let is_logged = || self.server.log().iter().any(|line| line.contains(&word)).then_some(());
        let patience = match self.front {
            Front::Gateway(_) => PATIENCE,
            // It is expected to lose some.
            Front::Naive(_) => LOGGED_WITHIN,
        };
        if wait::within(patience, is_logged).is_none() {
            return Some(format!("the server has not logged {last}"));
        }
        let mut found = None;
        let agreed = wait::within(LOGGED_WITHIN, || {
            let (events, lines) = (self.front.events(), self.server.log());
            let mut logged: Vec<Logged> =
                events.iter().skip(self.events_read).filter_map(|line| event(line)).collect();
            let mut requests: Vec<Logged> =
                lines.iter().skip(self.lines_read).map(|line| served(line)).collect();
            // The other client's connection is logged when it pleases.
            logged.retain(|request| request.target != last);
            requests.retain(|request| request.target != last);
            found = difference(&logged, &requests);
            found.is_none().then_some((events.len(), lines.len()))
        });
        let counts = agreed.unwrap_or_else(|| (self.front.events().len(), self.server.log().len()));
        (self.events_read, self.lines_read) = counts;
        found
    }
}

/// A request that can be read in one way.
pub fn question(target: &str, origin: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: {origin}\r\n\r\n").into_bytes()
}

/// Writes bytes and reads what comes, until it ends with these words, or the other side is done.
pub fn converse(address: SocketAddr, bytes: &[u8], last_words: &str) -> Vec<u8> {
    let started = Instant::now();
    let mut received = Vec::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return received };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    // Who refuses early does not read to the end, and has answered all the same.
    let _ = stream.write_all(bytes);
    let mut buffer = [0; 16 << 10];
    while !received.ends_with(last_words.as_bytes()) && started.elapsed() < PATIENCE {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => received.extend_from_slice(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
    received
}

/// Each `from` in the bytes replaced.
pub fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// The methods in lines that look like request lines: a response to HEAD has no body.
pub fn methods_in(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let lines = text.lines().filter(|line| line.contains(" HTTP/1."));
    lines.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

fn is_answer_to(received: &[u8], target: &str) -> bool {
    let responses = message::responses(received, &["GET"]).unwrap_or_default();
    matches!(responses.as_slice(), [one] if one.status == 200 && one.body == answer_to("GET", target).as_bytes())
}

/// The request of an exchange's event.
fn event(line: &str) -> Option<Logged> {
    let event: Value = serde_json::from_str(line).ok()?;
    let verdict = event.get("verdict")?.as_object()?;
    let http = event.get("http")?.as_object()?;
    let text = |name: &str| http.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_refused = http.get("status").and_then(Value::as_u64).is_none_or(|status| status >= 400);
    let is_certain = verdict.get("action").and_then(Value::as_str) == Some("forwarded") && !is_refused;
    Some(Logged { method: text("http_method"), target: unescaped(&text("url")), is_certain })
}

/// The request of a line of a server's log: status, method, target, version.
fn served(line: &str) -> Logged {
    let words: Vec<&str> = line.split(' ').collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    // What the server refused, or what broke off, need not be a request for the gateway.
    let is_certain = word(0).starts_with(['1', '2', '3']);
    Logged { method: word(1).to_owned(), target: unescaped(word(2)), is_certain }
}

/// Without quotes and escapes, of which each log has its own, and `?` for what is not ASCII.
fn unescaped(target: &str) -> String {
    let target = target.replace("\\x", "%").replace('#', "%");
    let mut out = String::new();
    let mut rest = target.as_str();
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        match behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &behind[2..];
            }
            None => {
                out.push('%');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out.retain(|c| !matches!(c, '\\' | '"'));
    out.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// What one has that the other has not, in their order; what neither is certain of may be missing.
fn difference(logged: &[Logged], served: &[Logged]) -> Option<String> {
    let same = |one: &Logged, other: &Logged| one.method == other.method && one.target == other.target;
    let mut rest = logged.iter();
    let each_is_logged = served.iter().all(|line| {
        let mut ahead = rest.clone();
        match ahead.find(|event| same(event, line)) {
            Some(_) => {
                rest = ahead;
                true
            }
            None => !line.is_certain,
        }
    });
    let count_certain =
        |all: &[Logged], of: &Logged| all.iter().filter(|one| one.is_certain && same(one, of)).count();
    let count = |all: &[Logged], of: &Logged| all.iter().filter(|one| same(one, of)).count();
    let each_is_served = logged.iter().all(|event| count_certain(logged, event) <= count(served, event));
    (!each_is_logged || !each_is_served)
        .then(|| format!("the gateway logged {logged:?}, the server {served:?}"))
}
