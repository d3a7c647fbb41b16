//! The access log in Squid's form. Rule: a line for each exchange, ten words in each, and a full disk under it keeps nobody
//! waiting.

use lockgate_tests::nginx::Nginx;
use lockgate_tests::process::run;
use lockgate_tests::{Directory, Gateway, curl, mail, wait};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

/// A line, taken apart as a program that reads Squid's logs does.
#[derive(Debug)]
struct Line {
    time: f64,
    elapsed: u64,
    client: String,
    bytes: u64,
    request: String,
    user: String,
    hierarchy: String,
    media_type: String,
}

fn parse(line: &str) -> Line {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [time, elapsed, client, result, bytes, method, url, user, hierarchy, media_type] = words[..] else {
        panic!("not ten words: {line}");
    };
    assert!(result.rsplit_once('/').is_some_and(|(_, status)| status.len() == 3), "{line}");
    Line {
        time: time.parse().expect("seconds"),
        elapsed: elapsed.parse().expect("milliseconds"),
        client: client.to_owned(),
        bytes: bytes.parse().expect("a number"),
        request: format!("{method} {url}"),
        user: user.to_owned(),
        hierarchy: hierarchy.to_owned(),
        media_type: media_type.to_owned(),
    }
}

/// Waits for a line about that request.
fn until_logged(path: &Path, result: &str, words: &str) -> Line {
    let read = || std::fs::read_to_string(path).unwrap_or_default();
    parse(&wait::until_line(read, &[&format!(" {result} "), words]))
}

const LOG: &str = "squid_access_log = \"DIRECTORY/access.log\"";

#[test]
fn every_exchange_is_a_line() {
    let nginx = Nginx::start();
    let (url, infected) = (nginx.put("page.html", "hello"), nginx.put("eicar.com", mail::eicar()));
    nginx.put("large", mail::noise(1, 50_000_000));
    let secure = format!("https://localhost:{}/page.html", nginx.https.port());
    let listener = format!("connect_ports = [{}]", nginx.https.port());
    let gateway = Gateway::http(&listener, LOG);
    let log = gateway.directory().join("access.log");
    let ask = |arguments: &[&str]| curl::through(gateway.address, arguments);
    assert_eq!(ask(&[&url]).status, 200);
    let line = until_logged(&log, "TCP_MISS/200", &url);
    let now: f64 = run(Command::new("date").arg("+%s")).trim().parse().expect("seconds");
    assert!((now - line.time).abs() < 120.0 && line.elapsed < 60_000, "{line:?}");
    assert_eq!((line.client.as_str(), line.bytes, line.user.as_str()), ("127.0.0.1", 5, "-"));
    assert_eq!((line.hierarchy.as_str(), line.media_type.as_str()), ("HIER_DIRECT/127.0.0.1", "text/html"));
    assert_eq!(line.request, format!("GET {url}"));

    assert_eq!(ask(&[&infected]).status, 403);
    let line = until_logged(&log, "TCP_DENIED/403", &infected);
    assert!(line.bytes > 500 && line.media_type == "text/html", "{line:?}");
    assert_eq!(ask(&["--insecure", &secure]).text(), "hello");
    let host = format!("localhost:{}", nginx.https.port());
    let line = until_logged(&log, "TCP_TUNNEL/200", &host);
    assert!(line.bytes > 500 && line.request == format!("CONNECT {host}"), "{line:?}");
    assert!(ask(&["https://localhost:1/"]).exit != 0);
    assert_eq!(until_logged(&log, "TCP_DENIED/403", "localhost:1").hierarchy, "HIER_NONE/-");
    assert_eq!(ask(&["http://127.0.0.1:1/"]).status, 502);
    assert_eq!(until_logged(&log, "TCP_MISS/502", "http://127.0.0.1:1/").hierarchy, "HIER_NONE/-");

    // Who goes away, and who says nothing that could be understood.
    let mut client = TcpStream::connect(gateway.address).expect("it listens");
    let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", nginx.url("large"));
    client.write_all(request.as_bytes()).expect("it reads");
    client.read_exact(&mut [0; 1000]).expect("it comes");
    drop(client);
    until_logged(&log, "TCP_MISS_ABORTED/200", "/large");
    let mut client = TcpStream::connect(gateway.address).expect("it listens");
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b c d\r\n\r\n").expect("it reads");
    client.read_to_end(&mut Vec::new()).expect("it answers");
    until_logged(&log, "NONE_NONE/400", "error:invalid-request");
    let text = std::fs::read_to_string(&log).expect("it is there");
    assert_eq!(text.lines().map(parse).count(), 7, "{text}");
}

#[test]
fn names_of_users_and_refused_logins_are_in_it() {
    let nginx = Nginx::start();
    let url = nginx.put("page.html", "hello");
    let gateway = Gateway::http_prepared("users = \"DIRECTORY/users\"", LOG, |directory| {
        let line = run(Command::new("htpasswd").args(["-nbB", "-C", "4", "ann b\u{e4}r", "secret"]));
        directory.write("users", line.trim());
    });
    let log = gateway.directory().join("access.log");
    for (password, result, user) in
        [("wrong", "TCP_DENIED/407", "-"), ("secret", "TCP_MISS/200", "ann%20b%C3%A4r")]
    {
        curl::through(gateway.address, &["-U", &format!("ann b\u{e4}r:{password}"), &url]);
        assert_eq!(until_logged(&log, result, &url).user, user);
    }
}

#[test]
fn each_byte_of_a_url_is_in_its_event() {
    let (gateway, nginx) = (Gateway::http("", LOG), Nginx::start());
    let mut client = TcpStream::connect(gateway.address).expect("it listens");
    let host = nginx.http;
    let request = [
        format!("GET http://{host}/caf").as_bytes(),
        b"\xe9/\xc3\xa9?%C3%A9",
        &[b'x'; 500],
        format!(" HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
    ]
    .concat();
    client.write_all(&request).expect("it reads");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("it closes");
    let written = format!("/caf%E9/%C3%A9?%C3%A9{}", "x".repeat(500));
    gateway.until_event(&["\"verdict\"", &format!("\"url\":\"{written}\"")]);
    until_logged(&gateway.directory().join("access.log"), "TCP_MISS/404", &written);
}

#[test]
fn rotation_goes_on_in_a_new_file() {
    let nginx = Nginx::start();
    let url = nginx.put("page.html", "hello");
    let mut gateway = Gateway::http("", LOG);
    let (log, rotated) = (gateway.directory().join("access.log"), gateway.directory().join("access.log.1"));
    curl::through(gateway.address, &[&url]);
    until_logged(&log, "TCP_MISS/200", &url);
    std::fs::rename(&log, &rotated).expect("both are ours");
    gateway.process().signal("HUP");
    gateway.process().until_printed("reloaded: ");
    curl::through(gateway.address, &[&format!("{url}?again")]);
    until_logged(&log, "TCP_MISS/200", "?again");
    assert_eq!(std::fs::read_to_string(&rotated).expect("it is there").lines().count(), 1);
}

/// A small file system of its own.
struct Disk(Directory);

impl Disk {
    fn new() -> Self {
        let disk = Directory::new("disk");
        let path = disk.path().display().to_string();
        run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=128k", "tmpfs", &path]));
        Self(disk)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_under_the_logs_keeps_nobody_waiting() {
    let nginx = Nginx::start();
    let url = nginx.put("page.html", "hello");
    let disk = Disk::new();
    let log = disk.0.join("access.log");
    let sections = format!("squid_access_log = \"{}\"\nstats_interval = \"100 ms\"", log.display());
    let mut gateway = Gateway::http("", &sections);
    // As much as there is.
    let mut filler = std::fs::File::create(disk.0.join("filler")).expect("it is ours");
    while filler.write(&[0; 4096]).is_ok_and(|count| count > 0) {}
    wait::until("the log says that it cannot be written", || {
        let fetched = curl::through(gateway.address, &[&format!("{url}?{}", "x".repeat(3000))]);
        assert_eq!((fetched.status, fetched.text().as_str()), (200, "hello"), "{fetched:?}");
        let printed = gateway.process().printed();
        printed.contains("the access log: cannot be written: No space left on device").then_some(())
    });
    let is_counted =
        |line: &String| line.contains("\"event_type\":\"stats\"") && !line.contains("\"events_lost\":0");
    wait::until("the figures count what is lost", || gateway.events().iter().any(is_counted).then_some(()));
    // The other log goes on.
    curl::through(gateway.address, &[&format!("{url}?meanwhile")]);
    gateway.until_event(&["?meanwhile", "\"action\":\"forwarded\""]);
    std::fs::remove_file(disk.0.join("filler")).expect("it is there");
    drop(filler);
    curl::through(gateway.address, &[&format!("{url}?afterwards")]);
    until_logged(&log, "TCP_MISS/200", "?afterwards");
    let said = gateway.process().until_printed("the access log: written again; ");
    assert!(said.ends_with(" lines are lost"), "{said}");
}
