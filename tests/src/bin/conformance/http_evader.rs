//! Ways to hide content in a response, replayed byte for byte. Rule: EICAR reaches the client in none of them, by any of
//! its readings; each valid one arrives unharmed where nothing is looked for.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lockgate_tests::chromium::Chromium;
use lockgate_tests::gateway::Gateway;
use lockgate_tests::mail;
use lockgate_tests::process::outcome;

/// How long an origin waits for a request, and a client for a response.
const PATIENCE: Duration = Duration::from_secs(5);

/// One response as it goes on the wire.
struct Case {
    name: String,
    is_valid: bool,
    response: Vec<u8>,
}

/// How a client reads what it gets.
const READINGS: [&[&str]; 3] = [&[], &["--compressed"], &["--raw"]];

/// Runs every case that `cases.tsv` (or `http-evader.tsv`) lists: validity in its third column, the file in its fourth.
pub fn check(directory: &Path) -> Vec<String> {
    let cases = match cases(directory) {
        Ok(cases) => Arc::new(cases),
        Err(why) => return vec![why],
    };
    let origin = serve(Arc::clone(&cases));
    let guarded = Gateway::http("", "");
    let open = Gateway::http("", "[policy.findings]\nvirus = \"pass\"\n");
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, case) in cases.iter().enumerate() {
        for reading in READINGS {
            if contains(&fetch(Some(&guarded), origin, number, reading), &mail::eicar()) {
                wrong.push(format!("{}: EICAR reaches curl {reading:?}", case.name));
            }
        }
        if !case.is_valid {
            *counts.entry("not valid, stopped or harmless").or_default() += 1;
            continue;
        }
        let direct = fetch(None, origin, number, &["--compressed"]);
        let through = fetch(Some(&open), origin, number, &["--compressed"]);
        if direct == through {
            *counts.entry("valid, unharmed").or_default() += 1;
        } else if contains(&direct, &mail::eicar()) {
            *counts.entry("valid, but not passed").or_default() += 1;
            println!("http-evader: {}: valid, but not passed", case.name);
        } else {
            *counts.entry("said to be valid, but curl does not read it").or_default() += 1;
        }
    }
    println!("http-evader: with curl: {counts:?}");
    wrong.extend(browsed(&cases, origin, &guarded, &open));
    wrong
}

/// The same with a browser.
fn browsed(cases: &[Case], origin: SocketAddr, guarded: &Gateway, open: &Gateway) -> Vec<String> {
    let shown = fetched_by_a_browser(Some(guarded), origin, cases.len());
    let direct = fetched_by_a_browser(None, origin, cases.len());
    let through = fetched_by_a_browser(Some(open), origin, cases.len());
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, case) in cases.iter().enumerate() {
        if shown[number].as_ref().is_some_and(|body| contains(body, &mail::eicar())) {
            wrong.push(format!("{}: EICAR reaches Chromium", case.name));
        }
        let has_eicar = direct[number].as_ref().is_some_and(|body| contains(body, &mail::eicar()));
        let what = match (case.is_valid, has_eicar) {
            (true, true) if direct[number] == through[number] => "valid, unharmed",
            (true, true) => {
                println!("http-evader: {}: valid, but not passed to Chromium", case.name);
                "valid, but not passed"
            }
            (true, false) => "said to be valid, but Chromium does not read it",
            (false, true) => "not valid, read by Chromium without a gateway, stopped or harmless behind it",
            (false, false) => "not valid, not read by Chromium either",
        };
        *counts.entry(what).or_default() += 1;
    }
    println!("http-evader: with Chromium: {counts:?}");
    wrong
}

/// The content of each case as a page's script gets it, if it gets any.
fn fetched_by_a_browser(through: Option<&Gateway>, origin: SocketAddr, cases: usize) -> Vec<Option<Vec<u8>>> {
    let mut browser = Chromium::start(through.map(|gateway| gateway.address));
    browser.navigate(&format!("http://{origin}/page"));
    let mut all = Vec::new();
    while all.len() < cases {
        let (first, end) = (all.len(), cases.min(all.len() + CASES_AT_ONCE));
        let script = FETCH.replace("FIRST", &first.to_string()).replace("END", &end.to_string());
        let fetched = browser.evaluate(&script);
        let bodies = fetched.as_array().expect("the script makes a list").iter();
        all.extend(bodies.map(|body| body.as_str().map(|text| text.chars().map(|c| c as u8).collect())));
    }
    all
}

/// Asks for some cases, one after another. A byte is a character in what it returns; nothing stands for what is no response.
const FETCH: &str = "(async () => {
    const bodies = [];
    for (let number = FIRST; number < END; number++) {
        try {
            const response = await fetch('/' + number, { cache: 'no-store', signal: AbortSignal.timeout(5000) });
            const bytes = new Uint8Array(await response.arrayBuffer());
            bodies.push(Array.from(bytes, byte => String.fromCharCode(byte)).join(''));
        } catch (error) {
            bodies.push(null);
        }
    }
    return bodies;
})()";
/// What a script fetches before it returns.
const CASES_AT_ONCE: usize = 10;
/// For a page that scripts run in.
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<p>a page</p>";

fn cases(directory: &Path) -> Result<Vec<Case>, String> {
    let table = ["cases.tsv", "http-evader.tsv"].map(|name| directory.join(name));
    let table = table.into_iter().find_map(|path| fs::read_to_string(path).ok());
    let table = table.ok_or("no cases.tsv that says which cases are valid")?;
    let mut cases = Vec::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, _, validity, file, ..] = columns.as_slice() else {
            return Err(format!("cases.tsv: a line of {} columns", columns.len()));
        };
        let path = raw_file(directory, file).ok_or(format!("{file} is not there"))?;
        let response = fs::read(path).map_err(|error| format!("{file}: {error}"))?;
        cases.push(Case { name: (*file).to_owned(), is_valid: is_valid(validity), response });
    }
    Ok(cases)
}

fn is_valid(validity: &str) -> bool {
    !validity.contains("INVALID") && validity.contains("VALID")
}

fn raw_file(directory: &Path, file: &str) -> Option<PathBuf> {
    let below = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    std::iter::once(directory.to_owned()).chain(below).map(|base| base.join(file)).find(|path| path.is_file())
}

/// An origin: the path is the number of the case; it writes the bytes and closes.
fn serve(cases: Arc<Vec<Case>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let cases = Arc::clone(&cases);
            std::thread::spawn(move || answer(client, &cases));
        }
    });
    address
}

fn answer(mut client: TcpStream, cases: &[Case]) -> Option<()> {
    client.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !contains(&request, b"\r\n\r\n") {
        let count = client.read(&mut buffer).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&buffer[..count]);
    }
    let line = String::from_utf8_lossy(&request).lines().next()?.to_owned();
    let path = line.split(' ').nth(1)?.trim_start_matches('/');
    let response = path.parse().ok().and_then(|number: usize| cases.get(number));
    client.write_all(response.map_or(PAGE, |case| &case.response)).ok()?;
    client.shutdown(std::net::Shutdown::Write).ok()?;
    // The client's last words are read, so that no reset overtakes the response.
    while client.read(&mut buffer).is_ok_and(|count| count > 0) {}
    Some(())
}

/// What curl writes to its output, whatever it thinks of it.
fn fetch(through: Option<&Gateway>, origin: SocketAddr, number: usize, reading: &[&str]) -> Vec<u8> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "--max-time", &PATIENCE.as_secs().to_string(), "--noproxy", ""]);
    if let Some(gateway) = through {
        curl.arg("-x").arg(format!("http://{}", gateway.address));
    }
    curl.args(reading).arg(format!("http://{origin}/{number}"));
    outcome(&mut curl).stdout
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
