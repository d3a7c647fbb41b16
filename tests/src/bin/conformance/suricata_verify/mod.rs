//! `suricata-verify`: captures with rules and how many alerts are to come of them. Rule: each test is run by `lockgate ids` with
//! what the test itself says; one that fails is listed with its reason, and one that is listed fails.

mod filter;
mod known;
mod options;
mod settings;

use filter::Filter;
use lockgate_tests::gateway::binary;
use lockgate_tests::temporary::Directory;
use lockgate_tests::wait;
use options::options;
use serde_json::Value;
use settings::Settings;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The list of the tests, a line of JSON each, in the directory or beside it.
const INDEX: &str = "suricata-verify.jsonl";
/// How many tests are run at a time.
const PROCESSES: usize = 2;
/// How long one may take.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Those that hide EICAR in a response are counted by themselves.
const EVADER: &str = "http-evader/";

/// One test.
struct Test {
    name: String,
    capture: PathBuf,
    rules: PathBuf,
    /// Where its files are.
    folder: PathBuf,
    arguments: Vec<String>,
    settings: Option<Settings>,
    filters: Vec<Filter>,
}

/// What a test came to: why it failed, if it did.
struct Outcome {
    failure: Option<String>,
}

/// Runs all tests, or with `LOCKGATE_ONLY` those whose names have that in them.
pub fn check(directory: &Path) -> Vec<String> {
    let index =
        [directory.join(INDEX), directory.with_file_name(INDEX)].into_iter().find(|path| path.exists());
    let Some(index) = index else { return vec![format!("no {INDEX} in the directory or beside it")] };
    let only = std::env::var("LOCKGATE_ONLY").unwrap_or_default();
    let text = fs::read_to_string(&index).unwrap_or_default();
    let mut tests = Vec::new();
    for line in text.lines() {
        match test(directory, line) {
            Some(test) if test.name.contains(&only) => tests.push(test),
            Some(_) => {}
            None => return vec![format!("{}: a line that is no test: {line}", index.display())],
        }
    }
    let classes = classes(directory);
    if classes.is_none() {
        println!("suricata-verify: no classification.config: categories and severities are not known");
    }
    let mut wrong = Vec::new();
    let mut counts = [(0, 0); 2];
    for (test, outcome) in tests.iter().zip(run_all(&tests, classes.as_deref())) {
        let (passed, all) = &mut counts[usize::from(!test.name.starts_with(EVADER))];
        *all += 1;
        let reason = known::reason(&test.name);
        match (&outcome.failure, reason) {
            (None, None) => println!("suricata-verify: PASS {}", test.name),
            (None, Some(_)) => wrong.push(format!("{} passes, and is listed as one that fails", test.name)),
            (Some(failure), Some(reason)) => {
                println!("suricata-verify: FAIL {}: {failure}: {reason}", test.name);
            }
            (Some(failure), None) => wrong.push(format!("FAIL {}: {failure}", test.name)),
        }
        *passed += u32::from(outcome.failure.is_none());
    }
    let [(evaders, all_evaders), (others, all_others)] = counts;
    println!(
        "suricata-verify: HTTP Evader {evaders} of {all_evaders}, others {others} of {all_others}, all {} of {}",
        evaders + others,
        all_evaders + all_others
    );
    wrong
}

fn test(directory: &Path, line: &str) -> Option<Test> {
    let described: Value = serde_json::from_str(line).ok()?;
    let name = described["test"].as_str()?;
    let folder = directory.join("tests").join(name);
    let arguments = described["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let here = folder.display().to_string();
    let words = arguments.flat_map(str::split_whitespace);
    let mut arguments: Vec<String> = words.map(|word| word.replace("${TEST_DIR}", &here)).collect();
    if described["ips"].as_bool()? {
        arguments.push("--simulate-ips".to_owned());
    }
    let settings = described["own_yaml"].as_bool()?.then(|| fs::read_to_string(folder.join("suricata.yaml")));
    Some(Test {
        name: name.to_owned(),
        capture: directory.join(described["pcap"].as_str()?),
        rules: directory.join(described["rules"].get(0)?.as_str()?),
        arguments,
        settings: settings.map(|text| Settings::parse(&text.unwrap_or_default())),
        filters: described["alert_filters"].as_array()?.iter().map(Filter::parse).collect::<Option<_>>()?,
        folder,
    })
}

/// What rules' classes are called and weigh: as a rule set of the data has it, or as Debian's package installs it.
fn classes(directory: &Path) -> Option<PathBuf> {
    let of_rules = directory.with_file_name("et-open-2025").join("rules/classification.config");
    [of_rules, PathBuf::from("/etc/suricata/classification.config")].into_iter().find(|path| path.exists())
}

/// What each test comes to, in their order.
fn run_all(tests: &[Test], classes: Option<&Path>) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcomes = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(test) = tests.get(at)
        {
            outcomes.push((at, run(test, classes)));
        }
        outcomes
    };
    let mut outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..PROCESSES).map(|_| scope.spawn(work)).collect();
        let all = workers.into_iter().flat_map(|worker| worker.join().expect("no test panics"));
        all.collect::<Vec<_>>()
    });
    outcomes.sort_by_key(|(at, _)| *at);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn run(test: &Test, classes: Option<&Path>) -> Outcome {
    let place = Directory::new("verify");
    let (eve, log) = (place.join("eve.json"), place.join("log"));
    let mut command = Command::new(binary());
    command
        .arg("ids")
        .arg("--rules")
        .arg(&test.rules)
        .arg("--pcap")
        .arg(&test.capture)
        .arg("--eve")
        .arg(&eve);
    if let Some(classes) = classes {
        command.arg("--rules").arg(classes);
    }
    command.args(options(&test.arguments, test.settings.as_ref()));
    let told = fs::File::create(&log).expect("a file can be written");
    command.current_dir(&test.folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(told);
    let mut child = command.spawn().expect("the binary was built");
    let ended = wait::within(TIME_MAX, || child.try_wait().expect("it is our child"));
    let _ = child.kill();
    let failure = match ended {
        None => Some(format!("no end within {TIME_MAX:?}")),
        Some(status) if !status.success() => {
            Some(format!("{status}: {}", fs::read_to_string(log).unwrap_or_default().trim()))
        }
        Some(_) => missed(test, &fs::read_to_string(eve).unwrap_or_default()),
    };
    Outcome { failure }
}

/// The filters that do not match as many events as they want.
fn missed(test: &Test, events: &str) -> Option<String> {
    let events: Vec<Value> = events.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let counted = test.filters.iter().map(|filter| {
        let count = events.iter().filter(|event| filter.matches(event)).count() as u64;
        (filter, count)
    });
    let missed = counted.filter(|(filter, count)| filter.count != *count);
    let missed: Vec<String> =
        missed.map(|(filter, count)| format!("{filter}: wanted {}, got {count}", filter.count)).collect();
    (!missed.is_empty()).then(|| missed.join("; "))
}
