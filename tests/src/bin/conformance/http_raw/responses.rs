//! Responses, replayed by an origin. Rule: what the gateway's client receives has one reading, and is what was inspected.

use std::collections::BTreeMap;
use std::process::Command;

use super::cases::Case;
use lockgate_tests::desync::converse;
use lockgate_tests::gateway::Gateway;
use lockgate_tests::message::{self, Response};
use lockgate_tests::origin::origin;
use lockgate_tests::process::{outcome, run};
use lockgate_tests::temporary::Directory;

/// Reads each file that is named as a client of Python's does, and prints its status and body in hexadecimal.
const PYTHON: &str = "
import http.client, io, sys
class Replayed:
    def __init__(self, data): self.data = data
    def makefile(self, *_): return io.BytesIO(self.data)
for name in sys.argv[1:]:
    with open(name, 'rb') as file: data = file.read()
    response = http.client.HTTPResponse(Replayed(data), method='GET')
    try:
        response.begin()
        print(response.status, response.read().hex())
    except http.client.IncompleteRead as error: print(response.status, error.partial.hex(), 'cut')
    except Exception as error: print('error', type(error).__name__)
";

/// What a client made of a response: its status, its body, and whether that is whole. None where it is no response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reading {
    status: u16,
    body: Vec<u8>,
    is_whole: bool,
}

/// Tries all, and prints the table.
pub fn check(cases: &[Case]) -> Vec<String> {
    let gateway =
        Gateway::http("command_timeout = \"2 s\"\ndata_block_timeout = \"2 s\"\nreply_timeout = \"2 s\"", "");
    let mut wrong = Vec::new();
    let mut received = Vec::new();
    let mut tried = Vec::new();
    for case in cases {
        let origin = origin(case.bytes.clone()).to_string();
        let bytes = fetch(&gateway, &origin);
        let by_curl = curl(Some(&gateway), &origin);
        match only_response(&bytes) {
            Ok(response) => {
                let is_same = is_page(&response) || by_curl == reading(&response);
                if !is_same {
                    wrong.push(format!("{}: curl reads {by_curl:?}, not {response:?}", case.name));
                }
                tried.push((case, response, curl(None, &origin)));
                received.push(bytes);
            }
            Err(why) => wrong.push(format!("{}: {why}: {}", case.name, bytes.escape_ascii())),
        }
    }
    let behind = python(&received);
    let directly = python(tried.iter().map(|(case, ..)| &case.bytes));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for ((at, (case, response, by_curl)), alone) in tried.iter().enumerate().zip(&directly) {
        // Python knows of no interim response but 100.
        let has_interim = received[at].starts_with(b"HTTP/1.1 103 ");
        if behind[at] != reading(response) && !has_interim {
            wrong.push(format!("{}: Python reads {:?}, not {response:?}", case.name, behind[at]));
        }
        let is_accepted = alone.is_whole && by_curl.is_whole && alone.body == by_curl.body;
        let what = what_became(is_accepted.then_some(alone), response);
        if what == REFUSED || what == OTHERWISE {
            println!("http-raw: {}: {what}", case.name);
        }
        *counts.entry(what).or_default() += 1;
    }
    println!("http-raw: {} responses", cases.len());
    for (what, count) in &counts {
        println!("http-raw: {count:4} {what}");
    }
    wrong
}

const REFUSED: &str = "read alike by curl and Python, and refused with a page";
const OTHERWISE: &str = "read alike by curl and Python, and otherwise behind the gateway";

fn what_became(alone: Option<&Reading>, response: &Response) -> &'static str {
    match alone {
        Some(_) if is_page(response) => REFUSED,
        Some(alone) if *alone == reading(response) => {
            "read alike by curl and Python, and behind the gateway, too"
        }
        Some(_) => OTHERWISE,
        None if is_page(response) => "not read alike, refused with a page",
        None if response.is_whole => "not read alike, one reading behind the gateway",
        None => "not read alike, cut off behind the gateway",
    }
}

/// The gateway's own.
fn is_page(response: &Response) -> bool {
    response.status >= 400 && response.body.starts_with(b"<!DOCTYPE html>")
}

fn reading(response: &Response) -> Reading {
    Reading { status: response.status, body: response.body.clone(), is_whole: response.is_whole }
}

/// The one final response of a connection.
fn only_response(bytes: &[u8]) -> Result<Response, String> {
    let mut responses = message::responses(bytes, &["GET"])?;
    responses.retain(|response| response.status >= 200);
    match responses.pop() {
        Some(response) if responses.is_empty() => Ok(response),
        _ => Err(format!("{} responses to one request", responses.len())),
    }
}

fn fetch(gateway: &Gateway, origin: &str) -> Vec<u8> {
    let request = format!("GET http://{origin}/ HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n");
    converse(gateway.address, request.as_bytes(), "\0never\0")
}

fn curl(through: Option<&Gateway>, origin: &str) -> Reading {
    let mut curl = Command::new("curl");
    curl.args(["-q", "-s", "--max-time", "10", "--noproxy", "", "--write-out", "%{http_code}"]);
    if let Some(gateway) = through {
        curl.arg("-x").arg(format!("http://{}", gateway.address));
    }
    let output = outcome(curl.arg(format!("http://{origin}/")));
    let mut body = output.stdout;
    let status = body.split_off(body.len().saturating_sub(3));
    let status = String::from_utf8_lossy(&status).parse().unwrap_or(0);
    Reading { status, body, is_whole: output.status.success() }
}

/// What a third reader makes of each.
fn python<B: AsRef<[u8]>>(messages: impl IntoIterator<Item = B>) -> Vec<Reading> {
    let directory = Directory::new("responses");
    let mut command = Command::new("python3");
    command.arg("-c").arg(PYTHON);
    for (number, message) in messages.into_iter().enumerate() {
        command.arg(directory.write(&format!("{number:04}"), message));
    }
    let read = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let status = words.first().and_then(|status| status.parse().ok()).unwrap_or(0);
        let digits = words.get(1).copied().unwrap_or_default().as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        Reading { status, body: digits.filter_map(byte).collect(), is_whole: status > 0 && words.len() == 2 }
    };
    run(&mut command).lines().map(read).collect()
}
