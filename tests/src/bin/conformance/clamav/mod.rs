//! `clamav`: the same signatures, the same files, the same names as `clamscan`. Rule: the files are made from signatures
//! drawn by seed, some to match and some to miss; each difference is printed with its cause, and one without fails. Both
//! programs load what was drawn: with all signatures `clamscan` needs a tenth of a second for each file.

mod cause;
mod choice;
mod counts;
mod file;
mod pattern;
mod witness;
mod wrap;

use super::{Directory, files_below};
use crate::random::Random;
use cause::Cause;
use lockgate_tests::gateway::binary;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use witness::{Drawn, Witness};

/// How many signatures are drawn.
const DRAWN: usize = 2000;
/// What the draw depends on, unless `LOCKGATE_SEED` says otherwise.
const SEED: u64 = 4;
/// The share of files, in thousandths, whose names must be the same.
const SAME_PER_MILLE: usize = 995;
/// How many files must be hits.
const HITS_MIN: usize = 1000;

/// Names by file.
type Names = BTreeMap<String, BTreeSet<String>>;

pub fn check(directory: &Path) -> Vec<String> {
    let seed = std::env::var("LOCKGATE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    let mut random = Random::new(seed);
    let databases = databases(directory);
    let mut drawn = draw(&databases, &mut random);
    let (place, lists) = (Directory::new("witnesses"), Directory::new("signatures"));
    for kind in ["ldb", "ndb"] {
        let lines = drawn.iter().filter(|signature| signature.kind == kind);
        let lines: Vec<&str> = lines.map(|signature| signature.line.as_str()).collect();
        lists.write(&format!("drawn.{kind}"), lines.join("\n") + "\n");
    }
    let (mut count, mut unmade) = (0, BTreeMap::<String, usize>::new());
    let mut hashed = Vec::new();
    for signature in &mut drawn {
        for witness in signature.witnesses(&mut random) {
            match witness {
                Ok(Witness { bytes, is_hit, hashed_as }) => {
                    let name = format!("{count:05}-{}", if is_hit { "hit" } else { "miss" });
                    let path = place.write(&name, &bytes);
                    hashed.extend(hashed_as.filter(|_| is_hit).map(|name| (path, name)));
                    count += 1;
                }
                Err(reason) => *unmade.entry(reason).or_default() += 1,
            }
        }
    }
    lists.write("generated.hdb", hash_lines(&hashed));
    println!("clamav: seed {seed}: {} signatures drawn, {count} files; not made: {unmade:?}", drawn.len());
    let mut wrong = compare(&place, &lists);
    wrong.extend(counts::compare(&mut random));
    wrong
}

/// The databases to draw from.
fn databases(directory: &Path) -> Vec<PathBuf> {
    let is_wanted = |path: &PathBuf| {
        let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ["ldb", "ndb", "hdb"].contains(&ending.as_str()) && !name.starts_with("eicar")
    };
    files_below(directory).into_iter().filter(is_wanted).collect()
}

fn draw(databases: &[PathBuf], random: &mut Random) -> Vec<Drawn> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for path in databases {
        let bytes = fs::read(path).expect("a database can be read");
        let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        // Half of the draw is from the third parties' databases, which are smaller and stranger.
        let is_official = path.to_string_lossy().contains("official-");
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.starts_with('#')) {
            let weight = if is_official { 1 } else { 8 };
            for _ in 0..weight {
                lines.push((kind.clone(), line.trim_end().to_owned()));
            }
        }
    }
    let mut drawn = BTreeMap::new();
    while drawn.len() < DRAWN {
        let Some((kind, line)) = random.pick(&lines) else { break };
        // Digests cannot be inverted: a few stand for all of them, computed of what is made here.
        let is_digest = kind == "hdb";
        if line.is_empty() || (is_digest && random.below(20) > 0) {
            continue;
        }
        drawn.entry(line.clone()).or_insert_with(|| Drawn { kind: kind.clone(), line: line.clone() });
    }
    drawn.into_values().collect()
}

/// Lines of a `.hdb` for files that were made.
fn hash_lines(hashed: &[(PathBuf, String)]) -> String {
    let mut lines = String::new();
    for chunk in hashed.chunks(100) {
        let paths = chunk.iter().map(|(path, _)| path);
        let output = Command::new("md5sum").args(paths).output().expect("md5sum is there");
        for (line, (path, name)) in String::from_utf8_lossy(&output.stdout).lines().zip(chunk) {
            let digest = line.split_whitespace().next().unwrap_or_default();
            let bytes = fs::metadata(path).map_or(0, |about| about.len());
            lines += &format!("{digest}:{bytes}:{name}\n");
        }
    }
    lines
}

fn compare(place: &Directory, lists: &Directory) -> Vec<String> {
    let theirs = clamscan(place.path(), lists.path(), &[]);
    let ours = lockgate(place.path(), lists.path());
    let (mut same, mut hits, mut wrong) = (0, 0, Vec::new());
    let mut causes = BTreeMap::<Cause, usize>::new();
    let files = files_below(place.path());
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let none = BTreeSet::new();
        let (theirs, ours) = (theirs.get(&name).unwrap_or(&none), ours.get(&name).unwrap_or(&none));
        hits += usize::from(!theirs.is_empty());
        if theirs == ours {
            same += 1;
            continue;
        }
        let only = |of: &BTreeSet<String>, other: &BTreeSet<String>| {
            of.difference(other).cloned().collect::<Vec<_>>().join(" ")
        };
        let (alone, ours_alone) = (only(theirs, ours), only(ours, theirs));
        let difference = format!("{name}: clamscan alone [{alone}], lockgate alone [{ours_alone}]");
        match Cause::of(path, lists.path(), theirs, ours) {
            Some(cause) => {
                println!("clamav: difference: {difference}: {}", cause.words());
                *causes.entry(cause).or_default() += 1;
            }
            None => wrong.push(format!("difference without a cause: {difference}")),
        }
    }
    println!(
        "clamav: {} files, {hits} hits of clamscan, {same} the same, {} differences; explained {causes:?}",
        files.len(),
        files.len() - same
    );
    if std::env::var_os("LOCKGATE_KEEP").is_some() {
        let kept = std::env::temp_dir().join("lockgate-witnesses-kept");
        let _ = Command::new("cp").arg("-r").arg(place.path()).arg(kept).status();
    }
    if same * 1000 < files.len() * SAME_PER_MILLE {
        wrong.push(format!("{same} of {} files are named alike", files.len()));
    }
    if hits < HITS_MIN {
        wrong.push(format!("{hits} hits only"));
    }
    wrong
}

fn clamscan(files: &Path, lists: &Path, options: &[&str]) -> Names {
    let mut command = Command::new("clamscan");
    command.args(["--allmatch", "--no-summary", "--recursive", "--detect-pua=yes", "--database"]);
    command.arg(lists).args(options).arg(files).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().expect("clamscan is there");
    let mut names = Names::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((path, name)) = line.strip_suffix(" FOUND").and_then(|line| line.split_once(": ")) else {
            continue;
        };
        let name = name.strip_suffix(".UNOFFICIAL").unwrap_or(name);
        if !name.starts_with("Heuristics.") {
            names.entry(base(path)).or_default().insert(name.to_owned());
        }
    }
    names
}

fn lockgate(files: &Path, lists: &Path) -> Names {
    let mut command = Command::new(binary());
    command.args(["scan", "--json", "--database"]).arg(lists).arg(files);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().expect("the binary was built");
    let mut names = Names::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(scanned) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let path = scanned["path"].as_str().unwrap_or_default();
        for finding in scanned["findings"].as_array().into_iter().flatten() {
            if finding["engine"] == "antivirus" {
                let name = finding["name"].as_str().unwrap_or_default();
                names.entry(base(path)).or_default().insert(name.to_owned());
            }
        }
    }
    names
}

fn base(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
