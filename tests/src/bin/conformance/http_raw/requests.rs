//! Requests, to servers directly and through the gateway. Rule: what two servers accept in one reading, the gateway passes
//! in that reading.

use std::collections::BTreeMap;
use std::thread;

use super::cases::Case;
use lockgate_tests::desync::{Pair, converse, methods_in, question, replaced};
use lockgate_tests::message;
use lockgate_tests::recorder::{Seen, answer_to};
use lockgate_tests::reverse::{Make, Server};

/// Of a hundred requests that nginx and Apache read alike, so many go through and are read so behind the gateway, too.
const PASSED_PERCENT_MIN: usize = 95;

/// How a client's bytes were read: what stood behind the server, and the statuses that the client got.
#[derive(Default)]
struct Reading {
    seen: Vec<Seen>,
    statuses: Vec<u16>,
    wrong: Vec<String>,
}

/// Tries all, and prints the table.
pub fn check(cases: &[Case]) -> Vec<String> {
    let bytes: Vec<Vec<u8>> = cases.iter().map(|case| addressed(&case.bytes)).collect();
    let bytes = &bytes;
    let (direct, through) = thread::scope(|scope| {
        let direct = Make::ALL.map(|make| scope.spawn(move || directly(make, bytes)));
        let through = Make::ALL.map(|make| scope.spawn(move || through_the_gateway(make, bytes)));
        (direct.map(joined), through.map(joined))
    });
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        let [nginx, apache, haproxy] = direct.each_ref().map(|lane| &lane[at]);
        for (make, lane) in Make::ALL.iter().zip(&through) {
            wrong.extend(lane[at].wrong.iter().map(|why| format!("{} to {make:?}: {why}", case.name)));
        }
        let is_accepted = |reading: &Reading| !reading.seen.is_empty();
        if !is_accepted(nginx) || !is_accepted(apache) {
            let passed = through.iter().any(|lane| is_accepted(&lane[at]));
            count(
                &mut counts,
                if passed { "not accepted by both, passed" } else { "not accepted by both, not passed" },
            );
            continue;
        }
        if nginx.seen != apache.seen {
            println!(
                "http-raw: {}: nginx reads {:?}, Apache {:?}",
                case.name,
                brief(&nginx.seen),
                brief(&apache.seen)
            );
            count(&mut counts, "accepted by both, in two readings");
            continue;
        }
        count(&mut counts, "accepted by both, in one reading");
        if haproxy.seen == nginx.seen {
            count(&mut counts, "accepted by both and by HAProxy, in one reading");
        }
        for (make, lane) in Make::ALL.iter().zip(&through) {
            let what = outcome(nginx, &lane[at]);
            count(&mut counts, &format!("through the gateway to {make:?}: {what}"));
            if what != ALIKE {
                println!(
                    "http-raw: {} to {make:?}: {what}: {:?}, {:?}",
                    case.name, nginx.statuses, lane[at].statuses
                );
                println!("    directly {:?}", brief(&nginx.seen));
                println!("    through  {:?}", brief(&lane[at].seen));
            }
        }
    }
    println!("http-raw: {} requests", cases.len());
    for (what, count) in &counts {
        println!("http-raw: {count:4} {what}");
    }
    let accepted = counts.get("accepted by both, in one reading").copied().unwrap_or(0);
    for make in [Make::Nginx, Make::Apache] {
        let alike = counts.get(&format!("through the gateway to {make:?}: {ALIKE}")).copied().unwrap_or(0);
        if accepted == 0 || alike * 100 < accepted * PASSED_PERCENT_MIN {
            wrong.push(format!(
                "of {accepted} requests only {alike} go through to {make:?} in their one reading"
            ));
        }
    }
    wrong
}

const ALIKE: &str = "passed, and read alike";

/// What became of a request, beside what a server made of it alone.
fn outcome(alone: &Reading, behind: &Reading) -> &'static str {
    let is_start_of = |short: &[Seen], long: &[Seen]| long.len() > short.len() && long.starts_with(short);
    if alone.seen == behind.seen {
        ALIKE
    } else if behind.seen.is_empty() {
        "refused"
    } else if is_start_of(&alone.seen, &behind.seen) {
        "passed, and more than the server alone reads"
    } else if is_start_of(&behind.seen, &alone.seen) {
        "passed in part"
    } else {
        "passed, and read otherwise"
    }
}

fn brief(seen: &[Seen]) -> Vec<String> {
    let line = |one: &Seen| format!("{} {} {} {}", one.method, one.target, one.host, one.body.escape_ascii());
    seen.iter().map(|one| line(one).chars().take(300).collect()).collect()
}

fn count(counts: &mut BTreeMap<String, usize>, what: &str) {
    *counts.entry(what.to_owned()).or_default() += 1;
}

fn joined(lane: thread::ScopedJoinHandle<'_, Vec<Reading>>) -> Vec<Reading> {
    lane.join().expect("a lane that panics is a fault of this program")
}

fn directly(make: Make, cases: &[Vec<u8>]) -> Vec<Reading> {
    let server = Server::start(make);
    let origin = server.address.to_string();
    let read = |(at, case): (usize, &Vec<u8>)| {
        // As a pair's attempt asks.
        let same = format!("/same-{}", at + 1);
        let bytes = [replaced(case, b"ORIGIN", origin.as_bytes()), question(&same, &origin)].concat();
        let received = converse(server.address, &bytes, &answer_to("GET", &same));
        let methods = methods_in(&bytes);
        let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
        let responses = message::responses(&received, &methods).unwrap_or_default();
        let mut seen = server.recorder.take();
        seen.retain(|seen| seen.is_whole && (seen.method != "GET" || seen.target != same));
        Reading {
            seen: anonymous(seen, &origin),
            statuses: responses.iter().map(|r| r.status).collect(),
            wrong: Vec::new(),
        }
    };
    cases.iter().enumerate().map(read).collect()
}

fn through_the_gateway(make: Make, cases: &[Vec<u8>]) -> Vec<Reading> {
    let mut pair = Pair::start(make);
    let origin = pair.server.address.to_string();
    let mut read = |case: &Vec<u8>| {
        let tried = pair.attempt(case);
        Reading { seen: anonymous(tried.seen, &origin), statuses: tried.statuses, wrong: tried.wrong }
    };
    cases.iter().map(&mut read).collect()
}

/// Without the address of the server, which is another for each.
fn anonymous(mut seen: Vec<Seen>, origin: &str) -> Vec<Seen> {
    for one in &mut seen {
        one.host = one.host.replace(origin, "ORIGIN");
        one.target = one.target.replace(origin, "ORIGIN");
        // A body that is longer than what was sent takes from the question behind it.
        if let Some(at) = one.body.windows(9).position(|window| window == b"GET /same") {
            let taken = one.body.split_off(at).len();
            one.body.extend(format!("{taken} bytes of the question").bytes());
        }
    }
    seen
}

/// Parsers need no host, and a gateway has to know where a request goes: each request that names none, or a name of its
/// own, names `ORIGIN`. What is no plain name stays as it is, and so does a second Host.
fn addressed(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    let mut awaits_host = false;
    while !rest.is_empty() {
        let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, behind) = rest.split_at(length);
        let text = line.trim_ascii_end();
        let end = &line[text.len()..];
        if let Some(line) = request_line(text) {
            out.extend(line);
            out.extend_from_slice(end);
            awaits_host = names_host(behind);
            if !awaits_host && !end.is_empty() {
                out.extend([b"Host: ORIGIN", end].concat());
            }
        } else if awaits_host && is_host(text) {
            let value = text[5..].trim_ascii();
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".:-=[]".contains(byte);
            let value = if value.iter().all(is_plain) { b"ORIGIN" } else { value };
            out.extend([b"Host: ", value, end].concat());
            awaits_host = false;
        } else {
            out.extend_from_slice(line);
        }
        rest = behind;
    }
    out
}

/// A request line, its target at `ORIGIN` where that is a whole address.
fn request_line(line: &[u8]) -> Option<Vec<u8>> {
    let at = line.windows(8).rposition(|window| window.starts_with(b" HTTP/1."))?;
    let scheme = b" http://";
    let Some(start) = line.windows(scheme.len()).position(|window| window == scheme) else {
        return Some(line.to_vec());
    };
    let authority = start + scheme.len();
    let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b' ');
    let length = line[authority..].iter().position(ends).unwrap_or(0);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".:-".contains(byte);
    let is_address = authority < at && line[authority..authority + length].iter().all(is_plain);
    Some(if is_address {
        [&line[..authority], b"ORIGIN", &line[authority + length..]].concat()
    } else {
        line.to_vec()
    })
}

/// Whether one of the field lines that follow is Host.
fn names_host(behind: &[u8]) -> bool {
    let lines = behind.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    lines.take_while(|line| !line.is_empty()).any(is_host)
}

fn is_host(line: &[u8]) -> bool {
    line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"host:"))
}
