//! Every file of the data beside clamscan with the same databases: the same names. Rule: each difference is printed, and what
//! only clamscan finds fails, but for a bomb that is told as one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use lockgate_tests::gateway::binary;
use serde_json::Value;

use crate::{UNPACKED, files_below, name_of};

/// What clamscan's databases end in.
const ENDINGS: [&str; 14] =
    ["ndb", "ldb", "hdb", "hsb", "mdb", "msb", "imp", "idb", "fp", "sfp", "ign", "ign2", "cdb", "yar"];
/// The signatures that other sets are about.
const WITHOUT: &str = "clamav-dbs";
/// What `clamscan` says of a zip whose entries overlap, of which little becomes much. Here what it comes to is told.
const OVERLAPPING: &str = "Heuristics.Zip.OverlappingFiles";

/// The names that are found, by file.
type Found = BTreeMap<PathBuf, BTreeSet<String>>;

/// What is found here, and which files expand too far.
#[derive(Default)]
struct Ours {
    found: Found,
    expanding: BTreeSet<PathBuf>,
}

/// Compares what both find in all the data beside the databases.
pub fn check(databases: &Path) -> Vec<String> {
    let data = databases.parent().unwrap_or(databases);
    let is_database =
        |path: &PathBuf| path.extension().is_some_and(|ending| ENDINGS.contains(&&*ending.to_string_lossy()));
    let databases: Vec<PathBuf> = files_below(databases).into_iter().filter(is_database).collect();
    let mut roots: Vec<PathBuf> =
        std::fs::read_dir(data).into_iter().flatten().flatten().map(|e| e.path()).collect();
    roots.retain(|root| !root.ends_with(WITHOUT));
    let theirs = clamscan(&databases, &roots);
    let Ours { found: ours, expanding } = lockgate(&databases, &roots);
    let files: BTreeSet<&PathBuf> = theirs.keys().chain(ours.keys()).collect();
    let nothing = BTreeSet::new();
    let (mut same, mut packed, mut more, mut bombs, mut wrong) = (0, 0, 0, 0, Vec::new());
    for file in &files {
        let (theirs, ours) = (theirs.get(*file).unwrap_or(&nothing), ours.get(*file).unwrap_or(&nothing));
        if theirs == ours {
            same += 1;
            continue;
        }
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
        let (only_theirs, only_ours) = (only(theirs, ours), only(ours, theirs));
        let shown = file.strip_prefix(data).unwrap_or(file).display();
        if UNPACKED.iter().any(|packer| name_of(file).starts_with(packer)) {
            packed += 1;
        } else if only_theirs.is_empty() {
            more += 1;
            println!("clamav-files: {shown}: clamscan finds less: not {only_ours:?}");
        } else if only_theirs == [OVERLAPPING] && only_ours.is_empty() && expanding.contains(*file) {
            bombs += 1;
            println!(
                "clamav-files: {shown}: clamscan finds {OVERLAPPING}, here it is said to expand too far"
            );
        } else {
            wrong.push(format!("{shown}: only clamscan {only_theirs:?}, only here {only_ours:?}"));
        }
    }
    println!(
        "clamav-files: of {} files in which either finds something, {same} with the same names, {packed} behind packers \
         of programs, {more} in which clamscan finds less, {bombs} that it finds by entries that overlap and that are told \
         as expanding too far, {} in which it finds what is not found here",
        files.len(),
        wrong.len()
    );
    wrong
}

fn clamscan(databases: &[PathBuf], roots: &[PathBuf]) -> Found {
    let mut command = Command::new("clamscan");
    command.args([
        "--allmatch",
        "--recursive",
        "--no-summary",
        "--infected",
        "--max-filesize=200M",
        "--max-scansize=1000M",
    ]);
    for database in databases {
        command.arg("--database").arg(database);
    }
    let output = command.args(roots).output().expect("clamscan is installed");
    let mut found = Found::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((path, name)) = line.strip_suffix(" FOUND").and_then(|line| line.rsplit_once(": ")) else {
            continue;
        };
        let name = name.strip_suffix(".UNOFFICIAL").unwrap_or(name).to_owned();
        found.entry(PathBuf::from(path)).or_default().insert(name);
    }
    found
}

fn lockgate(databases: &[PathBuf], roots: &[PathBuf]) -> Ours {
    let mut command = Command::new(binary());
    command.args(["scan", "--json"]);
    for database in databases {
        command.arg("--database").arg(database);
    }
    let output = command.args(roots).output().expect("the binary was built");
    let mut ours = Ours::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(object) = serde_json::from_str::<Value>(line) else { continue };
        let Some(path) = object["path"].as_str() else { continue };
        for finding in object["findings"].as_array().into_iter().flatten() {
            if finding["engine"] == "antivirus"
                && let Some(name) = finding["name"].as_str()
            {
                ours.found.entry(PathBuf::from(path)).or_default().insert(name.to_owned());
            }
        }
        let mut incomplete = object["incomplete"].as_array().into_iter().flatten();
        if incomplete.any(|part| part["reason"] == "expansion") {
            ours.expanding.insert(PathBuf::from(path));
        }
    }
    ours
}
