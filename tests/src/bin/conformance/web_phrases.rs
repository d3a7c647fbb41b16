//! The same pages through e2guardian and through the gateway, with the same lists. Rule: a page on which they differ is listed with
//! what each makes of it.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockgate_tests::e2guardian::{E2guardian, Judged, LISTS};
use lockgate_tests::gateway::Gateway;
use lockgate_tests::wait;

use super::Dice;

/// The limits that e2guardian suggests, for young and older children and for young adults.
const LIMITS: [i32; 3] = [50, 100, 160];
/// Viruses and odd mails are not what is compared.
const ALL_ELSE_PASSES: &str = "[policy.findings]\nvirus = \"pass\"\npua = \"pass\"\nanomaly = \"pass\"\n";
/// How many pages are made of words of the lists.
const MADE: usize = 1600;
/// How many files of the data are taken at most, and how long.
const FILES_MAX: usize = 6000;
const FILE_BYTES_MAX: u64 = 400 << 10;
/// How many differences are printed.
const SHOWN: usize = 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// A page, and what it is of.
struct Page {
    name: String,
    media_type: &'static str,
    bytes: Vec<u8>,
}

/// Both filters over all pages, at each limit. The pages are the texts of the data beside the lists, and others made here.
pub fn check(lists: &Path) -> Vec<String> {
    let data = lists.parent().unwrap_or(lists);
    let mut pages = files(data);
    let from_files = pages.len();
    pages.extend(made(Path::new(LISTS)));
    println!("web-phrases: {from_files} files, {} pages made", pages.len() - from_files);
    let pages = Arc::new(pages);
    let origin = serve(Arc::clone(&pages));
    let mut wrong = Vec::new();
    for limit in LIMITS {
        let ours = ours(limit, origin, pages.len());
        let theirs = theirs(limit, origin, pages.len());
        wrong.extend(compare(limit, origin, &pages, &ours, &theirs));
    }
    wrong
}

fn compare(
    limit: i32,
    origin: SocketAddr,
    pages: &[Page],
    ours: &HashMap<String, Judged>,
    theirs: &HashMap<String, Judged>,
) -> Vec<String> {
    let (mut blocked, mut both_blocked, mut passed, mut both_passed, mut same) = (0, 0, 0, 0, 0);
    let mut shown = 0;
    for (number, page) in pages.iter().enumerate() {
        let url = format!("http://{origin}/{number}");
        let (Some(mine), Some(other)) = (ours.get(&url), theirs.get(&url)) else {
            return vec![format!("limit {limit}: {}: no word of it", page.name)];
        };
        let agree = usize::from(mine.is_blocked == other.is_blocked);
        let (count, agreed) = if other.is_blocked {
            (&mut blocked, &mut both_blocked)
        } else {
            (&mut passed, &mut both_passed)
        };
        *count += 1;
        *agreed += agree;
        same += usize::from(mine.points == other.points);
        if (agree == 0 || mine.points != other.points) && shown < SHOWN {
            shown += 1;
            println!("web-phrases: limit {limit}: {}: {mine:?} beside {other:?}", page.name);
        }
    }
    let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let (of_blocked, of_passed) = (percent(both_blocked, blocked), percent(both_passed, passed));
    let of_points = percent(same, pages.len());
    println!(
        "web-phrases: limit {limit}: of {blocked} blocked {of_blocked:.2} % blocked here, of {passed} passed \
         {of_passed:.2} % passed here, the same points on {of_points:.2} %"
    );
    let enough = blocked >= 300 && passed >= 300;
    let is_well = enough && of_blocked >= 97.0 && of_passed >= 99.0 && of_points >= 95.0;
    if is_well { Vec::new() } else { vec![format!("limit {limit}: too few pages, or too many differ")] }
}

fn ours(limit: i32, origin: SocketAddr, pages: usize) -> HashMap<String, Judged> {
    let section =
        format!("[webfilter]\nlists = [\"{LISTS}\"]\nnaughtynesslimit = {limit}\n{ALL_ELSE_PASSES}");
    let gateway = Gateway::http("", &section);
    let refused = fetch_all(gateway.address, origin, pages);
    let events = wait::within(PATIENCE, || {
        let events: Vec<serde_json::Value> =
            gateway.events().iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let events: Vec<_> = events.into_iter().filter(|event| event["event_type"] == "verdict").collect();
        (events.len() >= pages).then_some(events)
    });
    let of_event = |event: &serde_json::Value| {
        let url = format!("http://{origin}{}", event["http"]["url"].as_str()?);
        let points = event["verdict"]["points"]["sum"].as_i64().unwrap_or(0);
        let is_blocked = refused.contains(&url);
        Some((url, Judged { points, is_blocked, why: event["verdict"]["points"]["terms"].to_string() }))
    };
    events.unwrap_or_default().iter().filter_map(of_event).collect()
}

fn theirs(limit: i32, origin: SocketAddr, pages: usize) -> HashMap<String, Judged> {
    let mut filter = E2guardian::start(limit);
    fetch_all(filter.address, origin, pages);
    filter.judged(pages)
}

/// Asks a proxy for every page; says which the gateway refused.
fn fetch_all(proxy: SocketAddr, origin: SocketAddr, pages: usize) -> Vec<String> {
    let urls = (0..pages).map(|number| format!("http://{origin}/{number}"));
    let status = |url: &String| {
        let mut stream = TcpStream::connect(proxy).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let request = format!("GET {url} HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Some(answer.starts_with(b"HTTP/1.1 403"))
    };
    urls.filter(|url| status(url) == Some(true)).collect()
}

fn serve(pages: Arc<Vec<Page>>) -> SocketAddr {
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

fn answer(mut client: TcpStream, pages: &[Page]) -> Option<()> {
    client.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = client.read(&mut buffer).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&buffer[..count]);
    }
    let line = String::from_utf8_lossy(&request).lines().next()?.to_owned();
    let number: usize = line.split(' ').nth(1)?.rsplit('/').next()?.parse().ok()?;
    let page = pages.get(number)?;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.media_type,
        page.bytes.len()
    );
    client.write_all(head.as_bytes()).ok()?;
    client.write_all(&page.bytes).ok()
}

/// Files of the data that are text, HTML or not.
fn files(data: &Path) -> Vec<Page> {
    let paths = super::files_below(data);
    let step = paths.len().div_ceil(FILES_MAX * 4).max(1);
    let page = |path: &std::path::PathBuf| {
        let length = fs::metadata(path).ok()?.len();
        let is_list = path.to_string_lossy().contains("web-lists");
        if is_list || !(40..FILE_BYTES_MAX).contains(&length) {
            return None;
        }
        let bytes = fs::read(path).ok()?;
        let is_control = |byte: &u8| *byte < 9 || (14..27).contains(byte);
        if bytes.iter().any(is_control) {
            return None;
        }
        let head = bytes.get(..2000).unwrap_or(&bytes).to_ascii_lowercase();
        let is_html = head.windows(5).any(|five| five == b"<html" || five == b"<body");
        let media_type = if is_html { "text/html" } else { "text/plain" };
        Some(Page { name: path.display().to_string(), media_type, bytes })
    };
    paths.iter().step_by(step).filter_map(page).take(FILES_MAX).collect()
}

/// Pages of ordinary words with phrases of the lists among them, so many that their points lie around the limits.
fn made(lists: &Path) -> Vec<Page> {
    let phrases = phrases(lists);
    let mut dice = Dice(50);
    let page = |number: usize| {
        let (count, gap) = (dice.roll(40), 3 + dice.roll(30));
        let mut text = String::from("<html><head><title>A page</title></head>\n<body class=\"text\">\n<p>");
        let mut bytes = Vec::new();
        for _ in 0..count {
            for _ in 0..gap {
                text += WORDS[dice.roll(WORDS.len())];
                text += [" ", " ", " ", ",\n", "</p>\n<p>", " <a href=\"/a\">x</a> "][dice.roll(6)];
            }
            bytes.extend_from_slice(std::mem::take(&mut text).as_bytes());
            bytes.extend_from_slice(&phrases[dice.roll(phrases.len())]);
            bytes.push(b' ');
        }
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(b"</p>\n</body></html>\n");
        Page { name: format!("made {number}"), media_type: "text/html", bytes }
    };
    (0..MADE).map(page).collect()
}

const WORDS: [&str; 24] = [
    "ordinary", "weather", "bread", "garden", "the", "of", "with", "stone", "river", "winter", "table",
    "letter", "was", "seen", "by", "many", "who", "walked", "along", "quiet", "roads", "before", "noon",
    "again",
];

/// The phrases of one line each, whatever their points, of the lists in English that are in use.
fn phrases(lists: &Path) -> Vec<Vec<u8>> {
    let files = [
        "pornography/weighted",
        "goodphrases/weighted_general",
        "proxies/weighted",
        "warezhacking/weighted",
        "nudism/weighted",
    ];
    let mut phrases = Vec::new();
    for file in files {
        let bytes = fs::read(lists.join("phraselists").join(file)).unwrap_or_default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"<")) {
            let mut words = Vec::new();
            for part in line.split(|byte| *byte == b'<').filter(|part| !part.is_empty()) {
                let part = part.split(|byte| *byte == b'>').next().unwrap_or_default();
                if !part.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
                    words.extend_from_slice(part);
                    words.push(b' ');
                }
            }
            phrases.push(words);
        }
    }
    assert!(!phrases.is_empty(), "e2guardian's lists are installed");
    phrases
}
