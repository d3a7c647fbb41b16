//! The same pages through e2guardian and through the gateway, with the same lists. Rule: each page on which they differ is explained by
//! a cause without which they do not, or is listed as unexplained.

mod causes;
mod pages;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockgate_tests::e2guardian::{E2guardian, Judged, LISTS};
use lockgate_tests::gateway::Gateway;
use lockgate_tests::wait;

use causes::{Cause, Listed};
use pages::{Page, Sort};

/// The limits that e2guardian suggests, for young and older children and for young adults.
const LIMITS: [i32; 3] = [50, 100, 160];
/// Viruses and odd mails are not what is compared.
const ALL_ELSE_PASSES: &str = "[policy.findings]\nvirus = \"pass\"\npua = \"pass\"\nanomaly = \"pass\"\n";
/// How many pages must be near each limit.
const NEAR_MIN: usize = 100;
const PATIENCE: Duration = Duration::from_secs(20);

/// Both filters over all pages, at each limit. The pages are the texts of the data beside the lists, and others made here.
pub fn check(lists: &Path) -> Vec<String> {
    let data = lists.parent().unwrap_or(lists);
    let mut pages = pages::files(data);
    pages.extend(pages::made(Path::new(LISTS), &LIMITS));
    let mut sorts: BTreeMap<Sort, usize> = BTreeMap::new();
    for page in &pages {
        *sorts.entry(page.sort).or_default() += 1;
    }
    for (sort, count) in sorts {
        println!("web-phrases: {count} {}", sort.name());
    }
    let mut wrong = Vec::new();
    for limit in LIMITS {
        let mut both = Both::start(limit, pages.clone());
        let all: Vec<usize> = (0..pages.len()).collect();
        let judged = both.judge(&all);
        if judged.len() < pages.len() {
            wrong.push(format!("limit {limit}: {} pages of {} were judged", judged.len(), pages.len()));
            continue;
        }
        wrong.extend(compare(limit, &pages, &judged));
        println!(
            "web-phrases: limit {limit}: {} blocked by cutting them off, the others by a page",
            both.cut
        );
        wrong.extend(explain(limit, &mut both, &pages, &judged));
    }
    wrong
}

/// What the gateway and e2guardian make of a page.
#[derive(Clone, Debug)]
struct Pair {
    ours: Judged,
    theirs: Judged,
}

impl Pair {
    fn agrees(&self) -> bool {
        self.ours.is_blocked == self.theirs.is_blocked && self.ours.points == self.theirs.points
    }
}

/// How often two said the same.
#[derive(Default)]
struct Share {
    of: usize,
    same: usize,
}

impl Share {
    fn count(&mut self, is_same: bool) {
        self.of += 1;
        self.same += usize::from(is_same);
    }

    fn percent(&self) -> f64 {
        100.0 * self.same as f64 / self.of.max(1) as f64
    }
}

fn compare(limit: i32, pages: &[Page], judged: &HashMap<usize, Pair>) -> Vec<String> {
    let (mut blocked, mut passed, mut near, mut points) =
        (Share::default(), Share::default(), Share::default(), Share::default());
    let mut by_sort: BTreeMap<Sort, Share> = BTreeMap::new();
    for (number, Pair { ours, theirs }) in judged {
        let agree = ours.is_blocked == theirs.is_blocked;
        if theirs.is_blocked { &mut blocked } else { &mut passed }.count(agree);
        points.count(ours.points == theirs.points);
        by_sort.entry(pages[*number].sort).or_default().count(ours.points == theirs.points);
        let limit = i64::from(limit);
        if (limit * 7..=limit * 13).contains(&(theirs.points * 10)) {
            near.count(agree);
        }
    }
    println!(
        "web-phrases: limit {limit}: of {} blocked {:.2} % blocked here, of {} passed {:.2} % passed here, of {} within \
         30 % of the limit {:.2} % alike, the same points on {:.2} % of {}",
        blocked.of,
        blocked.percent(),
        passed.of,
        passed.percent(),
        near.of,
        near.percent(),
        points.percent(),
        points.of
    );
    for (sort, share) in by_sort {
        println!(
            "web-phrases: limit {limit}: {}: the same points on {:.2} % of {}",
            sort.name(),
            share.percent(),
            share.of
        );
    }
    let enough = blocked.of >= 300 && passed.of >= 300 && near.of >= NEAR_MIN;
    let is_well = enough && blocked.percent() >= 97.0 && passed.percent() >= 99.0 && points.percent() >= 95.0;
    if is_well { Vec::new() } else { vec![format!("limit {limit}: too few pages, or too many differ")] }
}

/// Shows for each page on which the two differ why; says for which it is not known.
fn explain(limit: i32, both: &mut Both, pages: &[Page], judged: &HashMap<usize, Pair>) -> Vec<String> {
    let mut open: Vec<usize> =
        judged.iter().filter(|(_, pair)| !pair.agrees()).map(|(number, _)| *number).collect();
    open.sort_unstable();
    let differ = open.len();
    let listed = Listed::read(Path::new(LISTS));
    for cause in Cause::ALL {
        let without: Vec<(usize, usize)> = open
            .iter()
            .filter_map(|number| Some((*number, both.add(cause.without(&pages[*number], &listed)?))))
            .collect();
        let again = both.judge(&without.iter().map(|(_, without)| *without).collect::<Vec<_>>());
        let is_it = |(number, without): &&(usize, usize)| {
            // Without it e2guardian says what the gateway says: of the page as it is, or of the same page without it.
            let (Some(before), Some(after)) = (judged.get(number), again.get(without)) else { return false };
            let as_it_is = Pair { ours: before.ours.clone(), theirs: after.theirs.clone() };
            as_it_is.agrees() || after.agrees()
        };
        let explained: HashSet<usize> = without.iter().filter(is_it).map(|(number, _)| *number).collect();
        if !explained.is_empty() {
            let verdicts = explained.iter().filter(|number| {
                let Pair { ours, theirs } = &judged[number];
                ours.is_blocked != theirs.is_blocked
            });
            let verdicts = verdicts.count();
            println!(
                "web-phrases: limit {limit}: {} differ, {verdicts} in the verdict: {}",
                explained.len(),
                cause.name()
            );
        }
        open.retain(|number| !explained.contains(number));
    }
    println!("web-phrases: limit {limit}: {differ} differ, {} unexplained", open.len());
    let told =
        |number: &usize| format!("limit {limit}: {}: {:?}, unexplained", pages[*number].name, judged[number]);
    open.iter().map(told).collect()
}

/// Both filters, and the origin that they ask.
struct Both {
    origin: SocketAddr,
    pages: Arc<Mutex<Vec<Page>>>,
    gateway: Gateway,
    e2guardian: E2guardian,
    /// How many pages they were asked for.
    asked: usize,
    /// Of how many the gateway let the beginning go and not the end: they are longer than what it holds.
    cut: usize,
}

/// What of a page arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrived {
    /// All of it.
    Whole,
    /// A block page in its place.
    Refused,
    /// Its beginning, and less than its head said: it is blocked behind what had left by then.
    Cut,
}

impl Both {
    fn start(limit: i32, pages: Vec<Page>) -> Self {
        let section =
            format!("[webfilter]\nlists = [\"{LISTS}\"]\nnaughtynesslimit = {limit}\n{ALL_ELSE_PASSES}");
        let pages = Arc::new(Mutex::new(pages));
        Self {
            origin: serve(Arc::clone(&pages)),
            pages,
            gateway: Gateway::http("", &section),
            e2guardian: E2guardian::start(limit),
            asked: 0,
            cut: 0,
        }
    }

    /// One page more; its number.
    fn add(&mut self, page: Page) -> usize {
        let mut pages = self.pages.lock().expect("nobody panics with it");
        pages.push(page);
        pages.len() - 1
    }

    /// What both make of some pages.
    fn judge(&mut self, numbers: &[usize]) -> HashMap<usize, Pair> {
        let asked_before = self.asked;
        self.asked += numbers.len();
        // A page that is asked for again is another address.
        let address = |number: &usize| format!("http://{}/{asked_before}/{number}", self.origin);
        let urls: Vec<String> = numbers.iter().map(address).collect();
        let arrived: HashMap<&String, Arrived> =
            urls.iter().filter_map(|url| Some((url, ask(self.gateway.address, self.origin, url)?))).collect();
        for url in &urls {
            ask(self.e2guardian.address, self.origin, url);
        }
        self.cut += arrived.values().filter(|arrived| **arrived == Arrived::Cut).count();
        let points = self.points();
        let theirs = self.e2guardian.judged(self.asked);
        let pair = |(number, url): (&usize, &String)| {
            let (points, why) = points.get(url)?.clone();
            let is_blocked = matches!(arrived.get(url)?, Arrived::Refused | Arrived::Cut);
            let ours = Judged { points, is_blocked, why };
            Some((*number, Pair { ours, theirs: theirs.get(url)?.clone() }))
        };
        numbers.iter().zip(&urls).filter_map(pair).collect()
    }

    /// The points of each URL that the gateway was asked for, and the terms.
    fn points(&self) -> HashMap<String, (i64, String)> {
        let verdicts = wait::within(PATIENCE, || {
            let events = self.gateway.events();
            let verdicts: Vec<String> =
                events.into_iter().filter(|event| event.contains("\"event_type\":\"verdict\"")).collect();
            (verdicts.len() >= self.asked).then_some(verdicts)
        });
        let of_event = |event: &String| {
            let event: serde_json::Value = serde_json::from_str(event).ok()?;
            let url = format!("http://{}{}", self.origin, event["http"]["url"].as_str()?);
            let points = &event["verdict"]["points"];
            Some((url, (points["sum"].as_i64().unwrap_or(0), points["terms"].to_string())))
        };
        verdicts.unwrap_or_default().iter().filter_map(of_event).collect()
    }
}

/// Asks a proxy for a page; nothing where it does not answer.
fn ask(proxy: SocketAddr, origin: SocketAddr, url: &str) -> Option<Arrived> {
    let mut stream = TcpStream::connect(proxy).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {url} HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let is_reset = stream.read_to_end(&mut answer).is_err_and(|e| e.kind() == ErrorKind::ConnectionReset);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4);
    let (head, content) = answer.split_at(end.unwrap_or(0));
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    match length {
        _ if head.starts_with("http/1.1 403") => Some(Arrived::Refused),
        _ if is_reset => Some(Arrived::Cut),
        Some(length) if content.len() < length => Some(Arrived::Cut),
        _ => end.map(|_| Arrived::Whole),
    }
}

fn serve(pages: Arc<Mutex<Vec<Page>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let pages = Arc::clone(&pages);
            std::thread::spawn(move || answer(client, &pages));
        }
    });
    address
}

fn answer(mut client: TcpStream, pages: &Mutex<Vec<Page>>) -> Option<()> {
    client.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = client.read(&mut buffer).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&buffer[..count]);
    }
    let line = String::from_utf8_lossy(&request).lines().next()?.to_owned();
    let number: usize = line.split(' ').nth(1)?.rsplit('/').next()?.parse().ok()?;
    let page = pages.lock().expect("nobody panics with it").get(number)?.clone();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.content_type,
        page.bytes.len()
    );
    client.write_all(head.as_bytes()).ok()?;
    client.write_all(&page.bytes).ok()
}
