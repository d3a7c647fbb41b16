//! Real lists, and for lines of them drawn by seed a request or a page that each is about. Rule: every line that is drawn is
//! named by `lockgate url` with its file, as what decides or beside it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

use lockgate_tests::e2guardian::LISTS;
use lockgate_tests::gateway::binary;
use lockgate_tests::temporary::Directory;
use serde_json::Value;

use super::web_lines::{Kind, Line, Probe, kind_of, lines_of, probe};

/// How many lines are drawn, and by which seeds.
const DRAWN: usize = 2000;
pub const SEEDS: [u64; 3] = [6, 7, 8];
/// The share of lines that may stay without effect: one in so many.
const FAILED_ONE_IN: u64 = 200;
/// How many URLs are asked for at once.
const AT_ONCE: usize = 400;

/// How the drawn lines of a kind came out.
#[derive(Default)]
struct Tally {
    first: usize,
    beside: usize,
    outweighed: usize,
    not: usize,
}

/// Loads the lists of e2guardian, as its package ships them and as its source has them, and UT1's; then draws from the first
/// and the last.
pub fn check(lists: &Path) -> Vec<String> {
    let place = Directory::new("web-lists");
    let (source, ut1) = (lists.join("e2guardian-lists"), lists.join("ut1-blacklists"));
    let mut wrong = Vec::new();
    let all = loaded(&place, &[Path::new(LISTS), &source, &ut1]);
    let (well, failed) = (all.number("list_lines_loaded"), all.number("list_lines_failed"));
    println!("web-lists: {well} lines loaded, {failed} not:");
    for line in &all.failures {
        println!("web-lists:   {}:{}: {}", line["file"], line["line"], line["reason"]);
    }
    if well == 0 || failed * FAILED_ONE_IN >= well + failed || all.failures.len() as u64 != failed {
        wrong.push(String::from("too many lines are not understood, or not all of these are listed"));
    }
    let in_use = loaded(&place, &[Path::new(LISTS), &ut1]);
    let lines = in_use.lines(&[Path::new(LISTS), &ut1]);
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    for line in &lines {
        *kinds.entry(kind_of(line)).or_default() += 1;
    }
    for (kind, count) in kinds {
        println!("web-lists: {count} lines in use: {}", kind.name());
    }
    for seed in SEEDS {
        let drawn = draw(&lines, seed, &mut wrong);
        wrong.extend(ask(&place, seed, &drawn));
        wrong.extend(super::web_rules::check(seed));
    }
    wrong
}

/// What `lockgate check --json` says.
struct Loaded {
    counts: Value,
    failures: Vec<Value>,
}

fn loaded(place: &Directory, lists: &[&Path]) -> Loaded {
    let names: Vec<_> = lists.iter().map(|path| format!("{:?}", path.display().to_string())).collect();
    let text = format!("[webfilter]\nlists = [{}]\n", names.join(", "));
    let place = place.write("lockgate.toml", text);
    let output = Command::new(binary()).args(["check", "--json", "--config"]).arg(&place).output();
    let output = output.expect("the binary was built");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut values = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let counts = values.next().unwrap_or_default();
    Loaded { counts, failures: values.collect() }
}

impl Loaded {
    fn number(&self, name: &str) -> u64 {
        self.counts[name].as_u64().unwrap_or(0)
    }

    /// All lines in use: those of every file that is not said to decide nothing, but for those that failed.
    fn lines(&self, lists: &[&Path]) -> Vec<Line> {
        let array = |name: &str| self.counts[name].as_array().cloned().unwrap_or_default();
        let idle = array("files_that_decide_nothing").into_iter().map(|idle| idle["file"].clone());
        let idle: Vec<Value> = idle.chain(array("files_not_understood")).collect();
        let failed = |line: &Line| {
            let is_it = |failed: &Value| failed["file"] == line.file && failed["line"] == line.number;
            self.failures.iter().any(is_it)
        };
        let files = lists.iter().flat_map(|list| super::files_below(list));
        let files = files.map(|file| file.display().to_string());
        // Files that are hidden are no lists.
        let files = files.filter(|file| !file.contains("/.") && !idle.iter().any(|idle| idle == file));
        files.flat_map(|file| lines_of(&file)).filter(|line| !failed(line)).collect()
    }
}

/// Takes of each kind in turn a line by chance, so that a kind of few lines is not lost among the sites.
fn draw<'a>(lines: &'a [Line], seed: u64, wrong: &mut Vec<String>) -> Vec<(&'a Line, Probe)> {
    let mut kinds: BTreeMap<Kind, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        kinds.entry(kind_of(line)).or_default().push(line);
    }
    let mut dice = super::Dice(seed);
    let (mut drawn, mut skipped) = (Vec::new(), BTreeMap::<&str, usize>::new());
    while drawn.len() < DRAWN && kinds.values().any(|lines| !lines.is_empty()) {
        for (kind, lines) in &mut kinds {
            if lines.is_empty() || drawn.len() == DRAWN {
                continue;
            }
            let line = lines.swap_remove(dice.roll(lines.len()));
            match probe(*kind, line) {
                Ok(probe) => drawn.push((line, probe)),
                Err(reason) => *skipped.entry(reason).or_default() += 1,
            }
        }
    }
    for (reason, count) in skipped {
        println!("web-lists: seed {seed}: {count} lines not probed: {reason}");
    }
    if drawn.len() < DRAWN {
        wrong.push(format!("seed {seed}: {} lines drawn", drawn.len()));
    }
    drawn
}

/// Asks for every probe, and says which line it is that is not named.
fn ask(place: &Directory, seed: u64, drawn: &[(&Line, Probe)]) -> Vec<String> {
    let config = place.join("lockgate.toml");
    let mut answers: HashMap<usize, Value> = HashMap::new();
    let urls = drawn.iter().enumerate().filter_map(|(at, (_, probe))| match probe {
        Probe::Url(url) => Some((at, url)),
        _ => None,
    });
    for some in urls.collect::<Vec<_>>().chunks(AT_ONCE) {
        let mut command = Command::new(binary());
        command.args(["url", "--json", "--config"]).arg(&config).arg("--");
        let said = answered(command.args(some.iter().map(|(_, url)| *url)));
        let by_url: HashMap<String, Value> =
            said.into_iter().filter_map(|said| Some((said["url"].as_str()?.to_owned(), said))).collect();
        answers.extend(some.iter().filter_map(|(at, url)| Some((*at, by_url.get(*url)?.clone()))));
    }
    for (at, (_, probe)) in drawn.iter().enumerate() {
        let mut command = Command::new(binary());
        command.args(["url", "--json", "--lists", LISTS]);
        match probe {
            Probe::Url(_) => continue,
            Probe::Page(page) => command.arg("--content").arg(place.write("page", page)),
            Probe::MediaType(media_type) => command.args(["--media-type", media_type]),
        };
        answers.extend(answered(command.arg("http://probe.example/")).into_iter().map(|said| (at, said)));
    }
    compare(seed, drawn, &answers)
}

/// What a command says, an object a line.
pub fn answered(command: &mut Command) -> Vec<Value> {
    let output = command.output().expect("the binary was built");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// How a line is named in an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// It decides, or counts.
    First,
    /// Beside one that says the same.
    Beside,
    /// Beside one of a list that goes before, or another phrase that decides by itself.
    Outweighed,
}

/// Whether a line is named with its file, and how.
fn named(line: &Line, answer: &Value) -> Option<Named> {
    let is_it = |said: &Value| said["file"] == *line.file && said["line"] == line.number;
    let phrases = &answer["phrases"];
    let has = |list: &Value| list.as_array().into_iter().flatten().find(|said| is_it(said)).cloned();
    if is_it(answer) || has(&phrases["terms"]).is_some() {
        return Some(Named::First);
    }
    if let Some(said) = has(&answer["also"]) {
        let is_same = said["decision"] == answer["decision"];
        return Some(if is_same { Named::Beside } else { Named::Outweighed });
    }
    let said = has(&phrases["also"])?;
    let terms = phrases["terms"].as_array().into_iter().flatten();
    let is_same = terms.into_iter().any(|term| term["phrase"] == said["phrase"]);
    Some(if is_same { Named::Beside } else { Named::Outweighed })
}

fn compare(seed: u64, drawn: &[(&Line, Probe)], answers: &HashMap<usize, Value>) -> Vec<String> {
    let (mut tallies, mut wrong) = (BTreeMap::<Kind, Tally>::new(), Vec::new());
    for (at, (line, probe)) in drawn.iter().enumerate() {
        let tally = tallies.entry(kind_of(line)).or_default();
        let answer = answers.get(&at).unwrap_or(&Value::Null);
        match named(line, answer) {
            Some(Named::First) => tally.first += 1,
            Some(Named::Beside) => tally.beside += 1,
            Some(Named::Outweighed) => {
                tally.outweighed += 1;
                let by = if answer["file"].is_null() { &answer["phrases"]["by"] } else { answer };
                println!(
                    "web-lists: seed {seed}: {line} is named beside {}:{}, which goes before",
                    by["file"], by["line"]
                );
            }
            None => {
                tally.not += 1;
                wrong.push(format!("seed {seed}: {line}, {probe:?}: {answer}"));
            }
        }
    }
    for (kind, Tally { first, beside, outweighed, not }) in tallies {
        let name = kind.name();
        println!(
            "web-lists: seed {seed}: {name}: {first} decide, {beside} are named beside one that says the same, \
             {outweighed} beside one that goes before, {not} not"
        );
    }
    wrong
}
