//! The gateway as a process: its signals. Rule: every wait is for something that it says, with a limit.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as expected")]

mod common;

use common::{Scratch, eicar};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

struct Gateway {
    process: Child,
    address: String,
    lines: Receiver<String>,
}

impl Gateway {
    fn start(directory: &Path, notify: Option<&Path>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        command.args(["serve", "--config", "lockgate.toml"]).current_dir(directory);
        if let Some(path) = notify {
            command.env("NOTIFY_SOCKET", path);
        }
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let (out, err) = (process.stdout.take().unwrap(), process.stderr.take().unwrap());
        for stream in [Box::new(out) as Box<dyn Read + Send>, Box::new(err)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
        }
        let mut gateway = Self { process, address: String::new(), lines };
        let line = gateway.until("smtp on 127.0.0.1:");
        let address = line.split(" on ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        gateway.address = address.to_owned();
        gateway
    }

    /// The next line that holds these words.
    fn until(&mut self, words: &str) -> String {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("no {words:?} ({error}) after {seen:#?}"),
            }
        }
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Sends one mail and returns the last reply to it.
    fn mail(&self, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut replies = BufReader::new(stream.try_clone().unwrap());
        let mut reply = || {
            let mut line = String::new();
            while {
                line.clear();
                replies.read_line(&mut line).unwrap() > 3
            } && line.as_bytes()[3] == b'-'
            {}
            line
        };
        reply();
        for command in ["EHLO client.example", "MAIL FROM:<a@example.org>", "RCPT TO:<b@example.org>", "DATA"]
        {
            stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
            let answer = reply();
            assert!(answer.starts_with(['2', '3']), "{command}: {answer}");
        }
        stream.write_all(&[b"Subject: test\r\n\r\n", body, b"\r\n.\r\n"].concat()).unwrap();
        reply()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const CONFIG: &str = "[[listen]]\naddress = \"127.0.0.1:0\"\nnext_hop = \"maildir:mail\"\n\
                      [antivirus]\ndatabases = [\"own.ndb\"]\n[events]\neve = \"eve.json\"\n";
const MARKER: &[u8] = b"here is my-own-marker";

fn database(directory: &Scratch, pattern: &[u8]) {
    let hex: String = pattern.iter().map(|byte| format!("{byte:02x}")).collect();
    directory.write("own.ndb", format!("Own.Signature:0:*:{hex}\n"));
}

#[test]
fn a_reload_takes_what_is_good_and_leaves_what_is_broken() {
    let scratch = Scratch::new("reload");
    scratch.write("lockgate.toml", CONFIG);
    database(&scratch, &eicar());
    let mut gateway = Gateway::start(scratch.path(), None);
    assert!(gateway.mail(&eicar()).starts_with("550 5.7.1"));
    assert!(gateway.mail(MARKER).starts_with("250"));

    // A broken database changes nothing, however often it is tried.
    for broken in [&b"\0\0not a database"[..], b"Own.Signature:0:*:zz\n"] {
        scratch.write("own.ndb", broken);
        gateway.signal("HUP");
        let line = gateway.until("reload failed");
        assert!(line.contains("own.ndb"), "{line}");
        assert!(gateway.mail(&eicar()).starts_with("550 5.7.1"));
    }
    std::fs::remove_file(scratch.path().join("own.ndb")).unwrap();
    gateway.signal("HUP");
    gateway.until("own.ndb: cannot be read");
    assert!(gateway.mail(&eicar()).starts_with("550 5.7.1"));

    // So does a broken web list, or one that includes what is not there.
    database(&scratch, &eicar());
    scratch.write("lockgate.toml", format!("{CONFIG}[webfilter]\nlists = [\"bannedsitelist\"]\n"));
    for (broken, words) in [
        ("<html>\n", "bannedsitelist:1: none of the file's lines"),
        ("a.example\n.Include<gone>\n", "gone: cannot be read"),
    ] {
        scratch.write("bannedsitelist", broken);
        gateway.signal("HUP");
        let line = gateway.until("reload failed");
        assert!(line.contains(words), "{line}");
        assert!(gateway.mail(&eicar()).starts_with("550 5.7.1"));
    }

    // So does a broken configuration.
    scratch.write("lockgate.toml", format!("{CONFIG}[limits]\ndepth = 3\n"));
    database(&scratch, b"my-own-marker");
    gateway.signal("HUP");
    gateway.until("did you mean \"depth_max\"?");
    assert!(gateway.mail(&eicar()).starts_with("550 5.7.1"));

    // A good one is taken, and events go on.
    scratch.write("lockgate.toml", CONFIG);
    gateway.signal("HUP");
    gateway.until("reloaded: 1 signatures");
    assert!(gateway.mail(&eicar()).starts_with("250"));
    assert!(gateway.mail(MARKER).starts_with("550 5.7.1"));
    gateway.signal("TERM");
    gateway.until("stopped");
    assert!(gateway.process.wait().unwrap().success());
    let events = std::fs::read_to_string(scratch.path().join("eve.json")).unwrap();
    let count = |words: &str| events.lines().filter(|line| line.contains(words)).count();
    assert_eq!((count("\"event_type\":\"verdict\""), count("\"action\":\"refused\"")), (10, 8), "{events}");
}

#[test]
fn a_rotated_event_file_is_opened_anew() {
    let scratch = Scratch::new("rotate");
    scratch.write("lockgate.toml", CONFIG);
    database(&scratch, b"my-own-marker");
    let mut gateway = Gateway::start(scratch.path(), None);
    gateway.mail(MARKER);
    let (eve, rotated) = (scratch.path().join("eve.json"), scratch.path().join("eve.json.1"));
    gateway.until("reject");
    std::fs::rename(&eve, &rotated).unwrap();
    gateway.signal("HUP");
    gateway.until("reloaded");
    gateway.mail(b"clean");
    gateway.signal("TERM");
    gateway.until("stopped");
    gateway.process.wait().unwrap();
    let read = |path| std::fs::read_to_string(path).unwrap();
    assert!(read(&rotated).contains("Own.Signature") && !read(&eve).contains("Own.Signature"));
    assert!(read(&eve).contains("\"verdict\":\"pass\""));
}

#[test]
fn systemd_is_told() {
    let scratch = Scratch::new("systemd");
    scratch.write("lockgate.toml", CONFIG);
    database(&scratch, b"my-own-marker");
    let path = scratch.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let told = || {
        let mut buffer = [0; 512];
        let bytes = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..bytes]).into_owned()
    };
    let gateway = Gateway::start(scratch.path(), Some(&path));
    assert!(told().starts_with("READY=1"));
    gateway.signal("HUP");
    assert!(told().starts_with("RELOADING=1"));
    assert!(told().starts_with("READY=1"));
    gateway.signal("TERM");
    assert!(told().starts_with("STOPPING=1"));
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let scratch = Scratch::new("refused");
    for (config, words) in [
        ("", "nothing to serve"),
        (
            "[[listen]]\nnext_hop = \"h:1\"\n[antivirus]\ndatabases = [\"none.ndb\"]\n",
            "none.ndb: cannot be read",
        ),
        (
            "[[listen]]\nnext_hop = \"h:1\"\n[events]\neve = \"no/such/eve.json\"\n",
            "events cannot be written",
        ),
        (
            "[[listen]]\nnext_hop = \"h:1\"\ntls = \"offered\"\ncertificate = \"c.pem\"\nkey = \"k.pem\"\n",
            "c.pem",
        ),
        ("[[listen]]\naddress = \"192.0.2.1:25\"\nnext_hop = \"h:1\"\n", "cannot listen on 192.0.2.1:25"),
    ] {
        scratch.write("lockgate.toml", config);
        let output = common::lockgate(&["serve", "--config", "lockgate.toml"], scratch.path());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{config}");
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[test]
fn what_goes_into_quarantine_is_kept_before_it_is_acknowledged() {
    let scratch = Scratch::new("quarantine");
    let policy = "[policy]\nquarantine = \"kept\"\nfindings.virus = \"quarantine\"\n";
    scratch.write("lockgate.toml", format!("{CONFIG}{policy}"));
    database(&scratch, b"my-own-marker");
    let mut gateway = Gateway::start(scratch.path(), None);
    let new = scratch.path().join("kept/new");
    let names = || std::fs::read_dir(&new).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert!(gateway.mail(b"clean").starts_with("250"));
    assert!(names().is_empty());
    assert!(gateway.mail(MARKER).starts_with("250"));
    gateway.until("quarantined");
    let [copy] = &names()[..] else { panic!("one copy") };
    let text = std::fs::read_to_string(copy).unwrap();
    assert!(text.starts_with("Return-Path: <a@example.org>\r\n") && text.contains("my-own-marker"), "{text}");
    // Only the clean one was delivered.
    assert_eq!(std::fs::read_dir(scratch.path().join("mail/new")).unwrap().count(), 1);

    // What cannot be kept is not acknowledged.
    std::fs::remove_dir_all(scratch.path().join("kept")).unwrap();
    scratch.write("kept", "a file in its way");
    assert!(gateway.mail(MARKER).starts_with("452"));
}
