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
    println!("http-evader: {counts:?}");
    wrong
}

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
    let number: usize = line.split(' ').nth(1)?.trim_start_matches('/').parse().ok()?;
    client.write_all(&cases.get(number)?.response).ok()?;
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
