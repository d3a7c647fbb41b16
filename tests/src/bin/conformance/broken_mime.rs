//! Mails that hide something by odd MIME, and clean mails. Rule: what is hidden is found, and ordinary mail is not suspected.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockgate_tests::gateway::binary;
use lockgate_tests::mail;
use lockgate_tests::temporary::Directory;

use super::{files_below, name_of, scan};

/// How many of the mails that hide EICAR must be found, of a thousand.
const FOUND_MIN: usize = 950;
/// How many of the clean mails may raise a finding of ambiguity, of a thousand.
const SUSPECTED_MAX: usize = 20;

/// What became of the mails of one validity.
#[derive(Clone, Copy, Default)]
struct Row {
    asked: usize,
    seen: usize,
    by_clamscan: usize,
}

/// The mails of the toolkit that bear its name: those that hide EICAR, and those that hide a file's name.
pub fn check(directory: &Path) -> Vec<String> {
    let files = files_below(directory);
    let (content, names): (Vec<PathBuf>, Vec<PathBuf>) = files
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("hide-") && validity(path).is_some())
        .partition(|path| path.to_string_lossy().contains("hide-content"));
    let mut wrong = hidden_content(&content);
    wrong.extend(hidden_names(&names));
    wrong
}

fn hidden_content(files: &[PathBuf]) -> Vec<String> {
    let place = Directory::new("database");
    let database = place.write("test.ndb", mail::eicar_database());
    let clamscan = clamscan(&database, files);
    let (mut rows, mut missed, mut wrong) = ([Row::default(); 4], Vec::new(), Vec::new());
    for path in files {
        let Some((validity, id)) = validity(path) else { continue };
        let row = &mut rows[validity];
        row.asked += 1;
        row.by_clamscan += usize::from(clamscan.iter().flatten().any(|found| found == path));
        let scanned = scan(&database, path);
        if scanned.lines.iter().any(|line| line.contains("Test.Eicar")) {
            row.seen += 1;
        } else if validity > 0 {
            wrong.push(format!("{id}, of validity {validity}, is not found"));
        } else {
            missed.push(id);
        }
    }
    println!("mime-is-broken: EICAR by validity: mails, found, found by clamscan");
    print_rows(&rows, clamscan.is_some());
    println!("mime-is-broken: not found: {missed:?}");
    let (asked, seen) = rows.iter().fold((0, 0), |(asked, seen), row| (asked + row.asked, seen + row.seen));
    if seen * 1000 < asked * FOUND_MIN {
        wrong.push(format!("{seen} of {asked} are found"));
    }
    wrong
}

/// A ban on the name that each hides refuses it.
fn hidden_names(files: &[PathBuf]) -> Vec<String> {
    let place = Directory::new("bans");
    let (mut rows, mut missed, mut wrong) = ([Row::default(); 4], Vec::new(), Vec::new());
    for path in files {
        let Some((validity, id)) = validity(path) else { continue };
        // One of those without a trick is a picture; each other hides a zip file.
        let ban = if id.ends_with(".png") { "*.png" } else { "*.zip" };
        let file = place.write("lockgate.toml", format!("[policy]\nbanned_names = [\"{ban}\"]\n"));
        let output = Command::new(binary()).args(["scan", "--json", "--config"]).arg(file).arg(path).output();
        let printed = output.map(|output| output.stdout).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed);
        rows[validity].asked += 1;
        if printed.contains("\"banned_name\"") && printed.contains("\"verdict\":\"reject\"") {
            rows[validity].seen += 1;
        } else if validity > 0 {
            wrong.push(format!("{id}, of validity {validity}, is not refused by its name"));
        } else {
            missed.push(id);
        }
    }
    println!("mime-is-broken: names by validity: mails, refused");
    print_rows(&rows, false);
    println!("mime-is-broken: not refused: {missed:?}");
    wrong
}

fn print_rows(rows: &[Row], has_clamscan: bool) {
    for (validity, row) in rows.iter().enumerate().rev().filter(|(_, row)| row.asked > 0) {
        let by_clamscan = if has_clamscan { format!(", {}", row.by_clamscan) } else { String::new() };
        println!("  {validity}: {}, {}{by_clamscan}", row.asked, row.seen);
    }
}

/// What the mail itself says of it: its validity, and the name of its trick.
fn validity(path: &Path) -> Option<(usize, String)> {
    let mail = fs::read(path).ok()?;
    let mail = String::from_utf8_lossy(&mail);
    let line = mail.lines().find_map(|line| line.strip_prefix("X-Payload-Id: "))?;
    let (id, rest) = line.split_once(" valid(")?;
    let validity = rest.split_once(')')?.0.parse().ok().filter(|validity| *validity < 4)?;
    Some((validity, id.trim().to_owned()))
}

/// What clamscan finds of these; `None` where it is not installed.
fn clamscan(database: &Path, files: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let output =
        Command::new("clamscan").args(["--no-summary", "-d"]).arg(database).args(files).output().ok()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let found = printed.lines().filter_map(|line| line.strip_suffix(" FOUND"));
    Some(found.filter_map(|line| line.rsplit_once(": ")).map(|(path, _)| path.into()).collect())
}

/// The clean mails of the corpus: next to none of them is ambiguous.
pub fn clean_mails(directory: &Path) -> Vec<String> {
    const BATCH: usize = 200;
    let place = Directory::new("database");
    let database = place.write("test.ndb", mail::eicar_database());
    let files: Vec<PathBuf> =
        files_below(directory).into_iter().filter(|path| path.to_string_lossy().contains("ham")).collect();
    let (mut seen, mut suspected) = (0, Vec::new());
    for batch in files.chunks(BATCH) {
        let output =
            Command::new(binary()).args(["scan", "--json", "--database"]).arg(&database).args(batch).output();
        let printed = output.map(|output| output.stdout).unwrap_or_default();
        for line in String::from_utf8_lossy(&printed).lines() {
            let Ok(object) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            seen += 1;
            let findings = object["findings"].as_array().cloned().unwrap_or_default();
            let anomalies = findings.iter().filter(|finding| finding["class"] == "anomaly");
            let words: Vec<&str> = anomalies.filter_map(|finding| finding["name"].as_str()).collect();
            if !words.is_empty() {
                let path = object["path"].as_str().unwrap_or_default();
                suspected.push(format!("{}: {}", name_of(Path::new(path)), words.join("; ")));
            }
        }
    }
    println!(
        "spam-ambiguity: {seen} clean mails, {} with a finding of ambiguity: {suspected:?}",
        suspected.len()
    );
    let mut wrong = Vec::new();
    if seen != files.len() || files.is_empty() {
        wrong.push(format!("{seen} of {} mails were scanned", files.len()));
    }
    if suspected.len() * 1000 > files.len() * SUSPECTED_MAX {
        wrong.push(format!("{} of {} are said to be ambiguous", suspected.len(), files.len()));
    }
    wrong
}
