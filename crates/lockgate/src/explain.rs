//! `lockgate explain`: why that verdict, from the events. Rule: reads what was written at the time and judges nothing
//! anew; only what else lists the same is looked up.

use crate::also::Also;
use crate::command::paths;
use crate::config::Config;
use crate::loading;
use crate::report::{EXIT_CLEAN, EXIT_WRONG, print, say_problems};
use crate::url::ALSO_SHOWN;
use clap::ArgMatches;
use lockgate_model::TransactionId;
use lockgate_relay::events::record::plain;
use lockgate_relay::settings::EventsTo;
use serde_json::Value;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Lines of events longer than this are none of ours.
const LINE_BYTES_MAX: u64 = 4 << 20;
/// How much of a signature is shown.
const SIGNATURE_SHOWN: usize = 160;

/// Runs the command.
pub fn run(arguments: &ArgMatches) -> u8 {
    let id: TransactionId = match arguments.get_one::<String>("id").map(|id| id.trim().parse()) {
        Some(Ok(id)) => id,
        Some(Err(wrong)) => return wrong_with(&wrong),
        None => return EXIT_WRONG,
    };
    let path = arguments.get_one::<PathBuf>("config");
    let config = match Config::load(path.map(PathBuf::as_path)) {
        Ok(config) => config,
        Err(problems) => return say_problems(&problems),
    };
    let mut files = paths(arguments, "eve");
    if files.is_empty() {
        match &config.settings.events.eve {
            EventsTo::File(path) => files = with_rotated(path),
            EventsTo::Stderr | EventsTo::Nowhere => {
                return wrong_with("events go to no file: set eve in [events], or name a file with --eve");
            }
        }
    }
    for file in &files {
        match find(file, id) {
            Ok(Some(event)) => {
                let group = event["verdict"]["group"].as_str().unwrap_or_default();
                let signature_at =
                    |rule: &str| loading::line_of(&config, group, rule).map(|line| shortened(&line));
                let also = Also::of(&event, &config);
                let also_at = |rule: &str| also.as_ref().map_or_else(Vec::new, |also| also.banned(rule));
                print(&explained(&event, &Looked { signature_at: &signature_at, also_at: &also_at }));
                return EXIT_CLEAN;
            }
            Ok(None) => {}
            Err(error) => return wrong_with(&format!("{}: cannot be read: {error}", file.display())),
        }
    }
    let searched: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    wrong_with(&format!("no verdict {id} in {}: it may be older than they are", searched.join(", ")))
}

/// What is looked up in the databases and lists as they are now, by a rule's `FILE:LINE`.
struct Looked<'a> {
    signature_at: &'a dyn Fn(&str) -> Option<String>,
    /// Other lines that say the same.
    also_at: &'a dyn Fn(&str) -> Vec<String>,
}

impl Looked<'_> {
    /// A row for each of the other lines, as far as they are shown.
    fn also(&self, rule: &str, row: &mut dyn FnMut(String)) {
        let others = (self.also_at)(rule);
        for other in others.iter().take(ALSO_SHOWN) {
            row(plain(other));
        }
        if others.len() > ALSO_SHOWN {
            row(format!("{} more lines", others.len() - ALSO_SHOWN));
        }
    }
}

fn wrong_with(words: &str) -> u8 {
    eprintln!("lockgate: {words}");
    EXIT_WRONG
}

/// The file and those it was rotated to (`eve.json.1`, `eve.json-20261121`), the newest first; compressed ones are left out.
fn with_rotated(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_owned()];
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return files };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let is_rotated = |other: &Path| {
        let other = other.file_name().unwrap_or_default().as_encoded_bytes();
        let is_packed = [&b".gz"[..], b".xz", b".zst", b".bz2"].iter().any(|ending| other.ends_with(ending));
        other.len() > name.len() && other.starts_with(name.as_encoded_bytes()) && !is_packed
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut rotated: Vec<_> = entries.filter(|path| is_rotated(path)).collect();
    let modified = |path: &PathBuf| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    rotated.sort_by_key(|path| std::cmp::Reverse(modified(path)));
    files.append(&mut rotated);
    files
}

/// The verdict event of that id.
fn find(path: &Path, id: TransactionId) -> io::Result<Option<Value>> {
    let mut reader = BufReader::new(File::open(path)?);
    let wanted = id.to_string();
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = io::Read::take(&mut reader, LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if bytes == 0 {
            return Ok(None);
        }
        // Most lines are about others: they need not be parsed.
        if !line.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
            continue;
        }
        let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
        if event["event_type"] == "verdict" && event["verdict"]["id"] == wanted.as_str() {
            return Ok(Some(event));
        }
    }
}

/// So much of a signature as is worth reading.
fn shortened(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let shown: String = text.trim_end().chars().take(SIGNATURE_SHOWN).collect();
    if shown.len() < text.trim_end().len() { format!("{shown}…") } else { shown }
}

/// A verdict event in words.
fn explained(event: &Value, looked: &Looked<'_>) -> String {
    let verdict = &event["verdict"];
    let word = |value: &Value| plain(value.as_str().unwrap_or("?"));
    let mut out = format!("{} of {}\n", word(&verdict["id"]), word(&event["timestamp"]));
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "  {name:12} {value}");
    };
    row("verdict", format!("{}: {}", word(&verdict["verdict"]), word(&verdict["action"])));
    row("policy", word(&verdict["group"]));
    let ends = (word(&event["src_ip"]), &event["src_port"], word(&event["dest_ip"]), &event["dest_port"]);
    let listener = word(&verdict["listener"]);
    row("connection", format!("{}:{} to {}:{}, listener {listener}", ends.0, ends.1, ends.2, ends.3));
    if let Some(sender) = event["smtp"]["mail_from"].as_str() {
        let recipients: Vec<_> =
            event["smtp"]["rcpt_to"].as_array().into_iter().flatten().map(word).collect();
        row("mail", format!("{} to {}", plain(sender), recipients.join(", ")));
    }
    if let Some(subject) = event["email"]["subject"].as_str() {
        row("subject", plain(subject));
    }
    if let Some(host) = event["http"]["hostname"].as_str() {
        let (http, host) = (&event["http"], plain(host));
        row(
            "request",
            format!("{} {host}:{} {}", word(&http["http_method"]), http["http_port"], word(&http["url"])),
        );
    }
    if let Some(user) = verdict["user"].as_str() {
        row("user", plain(user));
    }
    if verdict["bypassed"] == true {
        row("bypass", "the link past the block page had been followed".to_owned());
    }
    row("bytes", format!("{} received, {} passed on", verdict["wire_bytes"], verdict["released_bytes"]));
    row("reply", word(&verdict["reply"]));
    let deciding = verdict["deciding"].as_u64();
    for (at, finding) in verdict["findings"].as_array().into_iter().flatten().enumerate() {
        out.push_str(&finding_explained(finding, deciding == Some(at as u64), looked));
    }
    out.push_str(&points_explained(&verdict["points"], looked));
    for incomplete in verdict["incomplete"].as_array().into_iter().flatten() {
        let _ =
            writeln!(out, "\nnot inspected: {} ({})", word(&incomplete["part"]), word(&incomplete["reason"]));
    }
    let is_quiet = |field: &str| verdict[field].as_array().is_none_or(Vec::is_empty);
    if is_quiet("findings") && is_quiet("incomplete") {
        out.push_str("\nnothing was found, and everything was inspected\n");
    }
    out
}

/// What phrases came to.
fn points_explained(points: &Value, looked: &Looked<'_>) -> String {
    let (Some(sum), Some(max)) = (points["sum"].as_i64(), points["max"].as_i64()) else {
        return String::new();
    };
    let mut out = format!("\nphrases: {sum} points, {max} are allowed\n");
    for term in points["terms"].as_array().into_iter().flatten() {
        let word = |name: &str| plain(term[name].as_str().unwrap_or("?"));
        let count = match (term["points"].as_i64(), term["times"].as_u64()) {
            (None, _) => "decides".to_owned(),
            (Some(points), Some(times @ 2..)) => format!("{points:+} x {times}"),
            (Some(points), _) => format!("{points:+}"),
        };
        let _ = writeln!(out, "  {count:12} {} ({})", word("name"), word("rule"));
        let mut also = |line| {
            let _ = writeln!(out, "  {:12} also listed at {line}", "");
        };
        looked.also(term["rule"].as_str().unwrap_or_default(), &mut also);
    }
    out
}

fn finding_explained(finding: &Value, decides: bool, looked: &Looked<'_>) -> String {
    let word = |name: &str| plain(finding[name].as_str().unwrap_or("?"));
    let mark = if decides { ", which decided" } else { "" };
    let mut out = format!("\n{}{mark}\n", word("name"));
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "  {name:12} {value}");
    };
    row("engine", format!("{}, class {}", word("engine"), word("class")));
    row("part", word("part"));
    match finding["offset"].as_u64() {
        Some(offset) => row("place", format!("{} at byte {offset}", word("buffer"))),
        None => row("place", word("buffer")),
    }
    row("rule", word("rule"));
    if let Some(signature) = finding["rule"].as_str().and_then(looked.signature_at) {
        row("signature", plain(&signature));
    }
    if finding["engine"] == "webfilter" {
        looked.also(finding["rule"].as_str().unwrap_or_default(), &mut |line| row("also listed", line));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use serde_json::json;

    fn event(id: TransactionId) -> Value {
        json!({
            "timestamp": "2026-11-21T02:40:19.123456+0000", "event_type": "verdict",
            "src_ip": "192.0.2.1", "src_port": 4025, "dest_ip": "192.0.2.25", "dest_port": 25,
            "smtp": {"mail_from": "<>", "rcpt_to": ["<a@example.org>"]},
            "verdict": {
                "id": id.to_string(), "verdict": "reject", "action": "refused", "group": "default",
                "listener": "smtp", "reply": "550 5.7.1 no", "wire_bytes": 10, "released_bytes": 0,
                "deciding": 0,
                "findings": [{"engine": "antivirus", "class": "virus", "rule": "demo.ndb:2", "name": "Demo.X\u{1b}[2J",
                              "part": "1.2/a.zip/b.com", "buffer": "file.data", "offset": 7}],
                "incomplete": [{"part": "1.3", "reason": "encrypted"}],
            },
        })
    }

    fn looked(signature_at: &dyn Fn(&str) -> Option<String>) -> Looked<'_> {
        Looked { signature_at, also_at: &|_| Vec::new() }
    }

    #[test]
    fn a_verdict_is_found_in_rotated_files_and_told() {
        let scratch = Scratch::new("explain");
        let (old, new) = (TransactionId(5), TransactionId(6));
        let other = format!("not json, but {new}\n{}\n", event(TransactionId(7)));
        let path = scratch.write("eve.json", format!("{other}{}\n", event(new)));
        scratch.write("eve.json.1", format!("{}\n", event(old)));
        scratch.write("eve.json.2.gz", "packed");
        let files = with_rotated(&path);
        assert_eq!(files.len(), 2);
        assert!(find(&files[0], new).unwrap().is_some());
        assert!(find(&files[0], old).unwrap().is_none());
        let event = find(&files[1], old).unwrap().unwrap();
        let words = explained(&event, &looked(&|rule| Some(format!("line of {rule}"))));
        for wanted in [
            "reject: refused",
            "192.0.2.1:4025 to 192.0.2.25:25, listener smtp",
            "<> to <a@example.org>",
            "which decided",
            "1.2/a.zip/b.com",
            "file.data at byte 7",
            "line of demo.ndb:2",
            "not inspected: 1.3 (encrypted)",
        ] {
            assert!(words.contains(wanted), "{wanted} in\n{words}");
        }
        assert!(!words.contains('\u{1b}'));
    }

    #[test]
    fn a_web_exchange_is_told_with_who_asked_for_what() {
        let mut event = event(TransactionId(8));
        event["http"] = json!({
            "hostname": "games.example", "http_port": 80, "url": "/chess\u{1b}", "http_method": "GET",
        });
        event["verdict"]["user"] = "ann".into();
        event["verdict"]["bypassed"] = true.into();
        let told = explained(&event, &looked(&|_| None));
        for words in ["GET games.example:80 /chess\u{fffd}", "user         ann", "bypass       the link"] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }

    #[test]
    fn a_long_signature_is_shortened() {
        assert_eq!(shortened(b"two\r"), "two");
        assert_eq!(shortened(&[b'A'; 500]).chars().count(), SIGNATURE_SHOWN + 1);
    }
}
